import type { Mdast } from "../types.js";

export function fromMarkdown(text: string, options: { extensions: unknown[]; mdastExtensions: unknown[] }): Mdast;
export function gfmTable(): unknown;
export function gfmTableFromMarkdown(): unknown;
export function gfmStrikethrough(options: { singleTilde: boolean }): unknown;
export function gfmStrikethroughFromMarkdown(): unknown;
export function gfmTaskListItem(): unknown;
export function gfmTaskListItemFromMarkdown(): unknown;
export function math(options: { singleDollarTextMath: boolean }): unknown;
export function mathFromMarkdown(): unknown;

// Draws texts as plain text or as Markdown. The parser is loaded if a study has Markdown, the renderer of formulas if
// an item has formulas.

import { h, words } from "../dom.js";
import { message } from "../language.js";
import { TextDrawing } from "./nodes.js";

/** @import { Props } from "../dom.js" */
/** @import { View } from "../types.js" */
/** @import { MarkOf, Source, Span } from "./nodes.js" */
/** @typedef {"plain" | "markdown"} Format */

const TOO_LARGE = message("This text is shown as it was written: it is too large to be formatted.");
const NOT_LOADED = message("This text is shown as it was written: what formats it could not be loaded.");
const FORMULA = /\$|\\[([]/;

/** @type {typeof import("../markdown/render.js") | null} */
let markdown = null;
/** Raw text → its parsed form, for the current item. @type {Map<string, Source>} */
const sources = new Map();

/** The Markdown texts of an item. @param {View} view */
function markdownTexts({ study: { formats }, item: { context, candidates } }) {
  /** @param {{ text: string | null, turns: { text: string }[] }} part */
  const textsOf = ({ text, turns }) => [text ?? "", ...turns.map((turn) => turn.text)];
  return [
    ...(formats.responses === "markdown" ? candidates.flatMap(textsOf) : []),
    ...(formats.context === "markdown" && context ? textsOf(context) : []),
    ...(formats.extra_texts === "markdown" && context ? context.extra_texts.map(({ text }) => text) : []),
  ].filter(Boolean);
}

/** @param {string} file @returns {Promise<void>} */
function style(file) {
  const href = new URL(file, import.meta.url).href;
  if (document.querySelector(`link[href="${href}"]`)) return Promise.resolve();
  return new Promise((done) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href });
    link.onload = link.onerror = () => done();
    document.head.append(link);
  });
}

/**
 * Loads the modules for these Markdown texts; null if they are already loaded. Never rejects: if loading fails, texts
 * are shown as plain text.
 * @param {string[]} texts
 */
export function prepareTexts(texts) {
  const present = new Set(texts);
  for (const raw of sources.keys()) if (!present.has(raw)) sources.delete(raw);
  if (!texts.length) return null;
  const formulas = texts.some((text) => FORMULA.test(text));
  if (markdown && !(formulas && !markdown.hasFormulas())) return null;
  const load = async () => {
    [markdown] = await Promise.all([import("../markdown/render.js"), style("../markdown/markdown.css")]);
    if (formulas) await markdown.loadFormulas();
  };
  return load().catch(() => undefined);
}

/** As `prepareTexts`, for an item. @param {View} view */
export const prepare = (view) => prepareTexts(markdownTexts(view));

/** @param {string} raw @param {Format} format @returns {Source} */
export function read(raw, format) {
  if (format === "plain" || !markdown) return { raw, tree: null };
  let source = sources.get(raw);
  if (!source) sources.set(raw, source = markdown.read(raw));
  return source;
}

/** How the page shows an item's Markdown, as stored with the annotation. @param {View} view */
export function textViewOf(view) {
  const formatted = new Set(markdownTexts(view).map((text) => read(text, "markdown").tree !== null));
  return formatted.size > 1 ? "mixed" : formatted.has(true) ? "formatted" : "written";
}

/** Why Markdown is shown as plain text; null if it is formatted. @param {string} raw @param {Format} format */
export function noteOn(raw, format) {
  if (format === "plain" || read(raw, format).tree) return null;
  return markdown ? TOO_LARGE : NOT_LOADED;
}

/**
 * Draws a text with marks into an element; returns its runs.
 * @param {HTMLElement} box @param {string} raw @param {Format} format @param {Span[]} spans @param {MarkOf} markOf
 */
export function draw(box, raw, format, spans = [], markOf = () => h("mark")) {
  const source = read(raw, format);
  const fragment = document.createDocumentFragment();
  const drawing = markdown && source.tree ? new markdown.MarkdownDrawing(source, spans, markOf)
    : new TextDrawing(raw, spans, markOf);
  drawing.whole(fragment);
  box.classList.toggle("md", source.tree !== null);
  const note = noteOn(raw, format);
  if (note) box.dataset.written = note;
  else delete box.dataset.written;
  box.replaceChildren(fragment);
  return drawing.runs;
}

/**
 * An element as from `words`, with a formatted text.
 * @param {string} raw
 * @param {Format} format
 * @param {Props} props
 */
export function prose(raw, format, props = {}) {
  if (format === "plain") return words(raw, props);
  const box = words("", props);
  draw(box, raw, format);
  return box;
}

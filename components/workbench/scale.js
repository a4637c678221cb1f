// Scales in the browser: their options in order, and the values of keys. Pure.

/** @import { NumberScale, Option, Scale, Value } from "./types.js" */

const SLIDER_FROM = 12; // number of values
const MAX_OPTIONS = 9; // of a choice; with more it becomes a searchable list

/** The key of a value in explanations: "2", "2.5" or the option's key. @param {Value} value */
export const valueKey = (value) => String(value);

/**
 * The number so many steps above the low end, rounded so that 0.1 + 0.2 is 0.3.
 * @param {NumberScale} scale @param {number} steps
 */
export function valueAfter({ low, step }, steps) {
  const decimals = Math.min(100, Math.max(9, 3 - Math.floor(Math.log10(step))));
  return Number((low + steps * step).toFixed(decimals));
}

/**
 * A typed number with the digits and the point that `Number` reads: phones in Arabic and Chinese type others.
 * @param {string} typed
 */
export const inPlainDigits = (typed) => typed.trim()
  .replace(/[٠-٩۰-۹０-９]/g, (digit) => String(digit.charCodeAt(0) & 0xf)).replace(/[٫．]/, ".").replace(/^[−－]/, "-");

/** The number of steps of a scale. @param {NumberScale} scale */
const stepsOf = ({ low, high, step }) => Math.round((high - low) / step);

/** @param {NumberScale} scale @param {number} i @param {number} last */
const edge = (scale, i, last) => (i === 0 ? scale.low_title : i === last ? scale.high_title : "") || "";

/**
 * The options of a scale, in order; empty for a slider (a number scale of twelve or more values) and for `best`.
 * @param {Scale} scale
 * @returns {Option[]}
 */
export function optionsOf(scale) {
  if (scale.kind === "likert") return scale.points;
  if (scale.kind === "choice") return scale.options.map((option) => ({ ...option, value: option.key }));
  if (scale.kind !== "number" || isSlider(scale)) return [];
  const last = stepsOf(scale);
  const values = Array.from({ length: last + 1 }, (_, i) => valueAfter(scale, i));
  return values.map((value, i) => ({ value, title: edge(scale, i, last), definition: "", ask: null }));
}

/** @param {Scale} scale @returns {scale is NumberScale} */
export function isSlider(scale) {
  return scale.kind === "number" && stepsOf(scale) + 1 >= SLIDER_FROM;
}

/** @param {Scale} scale */
export const isPicker = (scale) => scale.kind === "choice" && scale.options.length > MAX_OPTIONS;

/** @param {Scale} scale */
export const isNumeric = (scale) => scale.kind === "likert" || scale.kind === "number";

/** What a value asks for besides itself, or null. @param {Scale} scale @param {Value} value */
export function askFor(scale, value) {
  return optionsOf(scale).find((option) => option.value === value)?.ask ?? null;
}

/**
 * The value for a digit: the point with that number, otherwise the option at that place; undefined if there is none.
 * @param {Scale} scale @param {number} digit
 */
export function valueOfDigit(scale, digit) {
  const options = optionsOf(scale);
  if (isNumeric(scale)) return options.find((option) => option.value === digit)?.value;
  return digit >= 1 ? options[digit - 1]?.value : undefined;
}

/**
 * The point half a step above a value (2 → 2.5); undefined if the scale has none.
 * @param {Scale} scale @param {Value} value
 */
export function halfAbove(scale, value) {
  if (!isNumeric(scale) || typeof value !== "number" || !Number.isInteger(value)) return undefined;
  return optionsOf(scale).find((option) => option.value === value + 0.5)?.value;
}

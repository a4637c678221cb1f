// Scales in the browser: their options in order, and the values of keys. Pure.

/** @import { NumberScale, Option, Scale, Value } from "./types.js" */

const SLIDER_FROM = 12; // number of values
const MAX_OPTIONS = 9; // of a choice; with more it becomes a searchable list

/** The key of a value in explanations: "2", "2.5" or the option's key. @param {Value} value */
export const valueKey = (value) => String(value);

/** The values of a number scale, rounded so that 0.1 + 0.2 is 0.3. @param {NumberScale} scale */
function steps(scale) {
  const count = Math.round((scale.high - scale.low) / scale.step);
  return Array.from({ length: count + 1 }, (_, i) => Number((scale.low + i * scale.step).toFixed(9)));
}

/** @param {NumberScale} scale @param {number} i @param {number} count */
const edge = (scale, i, count) => (i === 0 ? scale.low_title : i === count - 1 ? scale.high_title : "") || "";

/**
 * The options of a scale, in order; empty for a slider (a number scale of twelve or more values) and for `best`.
 * @param {Scale} scale
 * @returns {Option[]}
 */
export function optionsOf(scale) {
  if (scale.kind === "likert") return scale.points;
  if (scale.kind === "choice") return scale.options.map((option) => ({ ...option, value: option.key }));
  if (scale.kind !== "number" || isSlider(scale)) return [];
  const values = steps(scale);
  return values.map((value, i) => ({ value, title: edge(scale, i, values.length), definition: "", ask: null }));
}

/** @param {Scale} scale @returns {scale is NumberScale} */
export function isSlider(scale) {
  return scale.kind === "number" && Math.round((scale.high - scale.low) / scale.step) + 1 >= SLIDER_FROM;
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

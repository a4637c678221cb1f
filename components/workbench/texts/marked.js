// An item's texts with everyone's highlights, read-only, for leads.
import { h } from "../dom.js";
import { draw as drawText, prepareTexts } from "./formatting.js";
import { toUtf16 } from "./textpoints.js";

/** @import { Format } from "./formatting.js" */
/**
 * @typedef {{ key: string, title: string }} Label
 * @typedef {{ start: number, end: number, label: string, annotator: string, comment: string }} Span
 * @typedef {{ speaker: string, text: string, format: Format, spans: Span[] }} Passage
 * @typedef {{ labels: Label[], context: Passage[], candidates: { title: string, passages: Passage[] }[] }} Item
 */

/** @typedef {import("../dom.js").Props} Props */

// a long context scrolls separately, also with keys
const CONTEXT = { class: "tm-card tm-context", tabindex: 0, role: "region", "aria-label": "Context" };
const HINT = "The darker a passage, the more annotators marked it. Point at it to see who, and why.";

/** @type {WeakMap<HTMLElement, HTMLElement>} */
const roots = new WeakMap();
/** The item that each root shows or is loading. @type {WeakMap<HTMLElement, Item>} */
const latest = new WeakMap();

/** @param {number} number of the label, from 1 @param {number} strength */
const colour = (number, strength) =>
  `color-mix(in srgb, var(--label-${(number - 1) % 9}) ${100 * strength}%, transparent)`;

/**
 * The element of a piece of text under some spans: tinted by their most frequent label, underlined once for each label.
 * @param {Span[]} spans @param {Label[]} labels
 */
function markOf(spans, labels) {
  const byLabel = Map.groupBy(spans, ({ label }) => label);
  const ordered = [...byLabel].sort(([, a], [, b]) => b.length - a.length).map(([key]) => key);
  /** @param {string} key */
  const number = (key) => labels.findIndex((label) => label.key === key) + 1 || 9;
  /** @param {Span} span */
  const reason = ({ annotator, label, comment }) =>
    `${annotator}: ${labels.find(({ key }) => key === label)?.title ?? label}${comment ? ` - ${comment}` : ""}`;
  const mark = h("mark", { title: spans.map(reason).join("\n") });
  mark.style.backgroundColor = colour(number(ordered[0]), Math.min(0.16 + 0.12 * spans.length, 0.6));
  mark.style.boxShadow = ordered.map((key, n) => `0 ${2 * (n + 1)}px 0 ${colour(number(key), 1)}`).join(", ");
  return mark;
}

/** @param {Passage} passage @param {Label[]} labels */
function paragraph({ text, format, spans }, labels) {
  const placed = spans.map((span) => ({ ...span, start: toUtf16(text, span.start), end: toUtf16(text, span.end) }));
  const box = h(format === "markdown" ? "div" : "p", { class: "tm-text", dir: "auto" });
  drawText(box, text, format, placed, (indices) => markOf(indices.map((n) => placed[n]), labels));
  return box;
}

/** @param {string} title @param {Passage[]} passages @param {Label[]} labels @param {Props} more further attributes */
function card(title, passages, labels, more = {}) {
  const texts = passages.flatMap((passage) => [
    passage.speaker ? h("p", { class: "tm-who", text: passage.speaker }) : null,
    paragraph(passage, labels),
  ]);
  return h("section", { class: "tm-card", ...more }, h("h3", { text: title }), texts);
}

/** @param {Label} label @param {number} n */
function swatch({ title }, n) {
  const sample = h("span", { class: "tm-swatch", text: title });
  sample.style.backgroundColor = colour(n + 1, 0.28);
  sample.style.boxShadow = `0 2px 0 ${colour(n + 1, 1)}`;
  return sample;
}

/** @param {HTMLElement} root @param {Item} item */
function fill(root, { labels, context, candidates }) {
  const cards = candidates.map(({ title, passages }) => card(title, passages, labels));
  const hint = labels.length ? [h("span", { class: "tm-none", text: HINT })] : [];
  root.replaceChildren(
    h("div", { class: "tm-legend" }, labels.map(swatch), hint),
    ...(context.length ? [card("Context", context, labels, CONTEXT)] : []),
    h("div", { class: "tm-columns" }, cards),
  );
}

/** Called again after every change of the data. @param {{ parentElement: HTMLElement, data: Item }} component */
export default async function marked({ parentElement, data }) {
  const root = roots.get(parentElement) ?? h("div", { class: "tm" });
  roots.set(parentElement, root);
  parentElement.append(root);
  const passages = [data.context, ...data.candidates.map((candidate) => candidate.passages)].flat();
  latest.set(root, data);
  await prepareTexts(passages.flatMap(({ text, format }) => (format === "markdown" ? [text] : [])));
  if (latest.get(root) === data) fill(root, data);
}

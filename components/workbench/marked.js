// An item's texts with everybody's highlights over them, read only, for leads.
import { h } from "./dom.js";
import { pieces, toUtf16 } from "./textpoints.js";

/**
 * @typedef {{ key: string, title: string }} Label
 * @typedef {{ start: number, end: number, label: string, annotator: string, comment: string }} Span
 * @typedef {{ speaker: string, text: string, spans: Span[] }} Passage
 * @typedef {{ labels: Label[], context: Passage[], candidates: { title: string, passages: Passage[] }[] }} Item
 */

const HINT = "The darker a passage, the more annotators marked it. Point at it to see who, and why.";

/** @type {WeakMap<HTMLElement, HTMLElement>} */
const roots = new WeakMap();

/** @param {number} number of the label, from 1 @param {number} strength */
const colour = (number, strength) =>
  `color-mix(in srgb, var(--label-${(number - 1) % 9}) ${100 * strength}%, transparent)`;

/**
 * A piece under some spans: tinted by their most frequent label, underlined once for every label.
 * @param {string} text @param {Span[]} spans @param {Label[]} labels
 */
function markOf(text, spans, labels) {
  const counts = new Map();
  for (const span of spans) counts.set(span.label, (counts.get(span.label) ?? 0) + 1);
  const ordered = [...counts].sort((a, b) => b[1] - a[1]).map(([key]) => key);
  /** @param {string} key */
  const number = (key) => labels.findIndex((label) => label.key === key) + 1 || 9;
  /** @param {Span} span */
  const reason = ({ annotator, label, comment }) =>
    `${annotator}: ${labels.find(({ key }) => key === label)?.title ?? label}${comment ? ` - ${comment}` : ""}`;
  const mark = h("mark", { text, title: spans.map(reason).join("\n") });
  mark.style.backgroundColor = colour(number(ordered[0]), Math.min(0.16 + 0.12 * spans.length, 0.6));
  mark.style.boxShadow = ordered.map((key, n) => `0 ${2 * (n + 1)}px 0 ${colour(number(key), 1)}`).join(", ");
  return mark;
}

/** @param {Passage} passage @param {Label[]} labels */
function paragraph({ text, spans }, labels) {
  const placed = spans.map((span) => ({ ...span, start: toUtf16(text, span.start), end: toUtf16(text, span.end) }));
  const parts = pieces(text.length, placed).map(({ start, end, spans: over }) => {
    const part = text.slice(start, end);
    return over.length ? markOf(part, over.map((n) => placed[n]), labels) : part;
  });
  return h("p", { class: "tm-text", dir: "auto" }, parts);
}

/** @param {string} title @param {Passage[]} passages @param {Label[]} labels @param {string} more a further class */
function card(title, passages, labels, more = "") {
  const texts = passages.flatMap((passage) => [
    passage.speaker ? h("p", { class: "tm-who", text: passage.speaker }) : null,
    paragraph(passage, labels),
  ]);
  return h("section", { class: `tm-card ${more}`.trim() }, h("h4", { text: title }), texts);
}

/** @param {Label} label @param {number} n */
function swatch({ title }, n) {
  const sample = h("span", { class: "tm-swatch", text: title });
  sample.style.backgroundColor = colour(n + 1, 0.28);
  sample.style.boxShadow = `0 2px 0 ${colour(n + 1, 1)}`;
  return sample;
}

/** Called again with every change of the data. @param {{ parentElement: HTMLElement, data: Item }} component */
export default function marked({ parentElement, data: { labels, context, candidates } }) {
  const root = roots.get(parentElement) ?? h("div", { class: "tm" });
  roots.set(parentElement, root);
  parentElement.append(root);
  const cards = candidates.map(({ title, passages }) => card(title, passages, labels));
  const hint = labels.length ? [h("span", { class: "tm-none", text: HINT })] : [];
  root.replaceChildren(
    h("div", { class: "tm-legend" }, labels.map(swatch), hint),
    ...(context.length ? [card("Context", context, labels, "tm-context")] : []),
    h("div", { class: "tm-columns" }, cards),
  );
}

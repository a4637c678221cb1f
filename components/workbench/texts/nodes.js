// A text on the page: nodes that record their position in the raw text, and selections in them. Offsets are UTF-16.
// The words of buttons are in `triptych/languages/`, see language.js.

import { snap } from "./textpoints.js";

/** @import { MarkdownSource } from "../markdown/types.js" */
/**
 * @typedef {{ start: number, end: number }} Span of a raw text, end exclusive
 * @typedef {{ node: Node, start: number, end: number, unit: boolean }} Run a node of the page and its place in the raw
 *   text: a text node whose character i is raw[start + i], or (`unit`) a node that means the whole of raw[start, end)
 * @typedef {{ raw: string, tree: null } | MarkdownSource} Source a text that was read; `tree` is null where it is shown as
 *   it was written
 * @typedef {(indices: number[]) => HTMLElement} MarkOf the element around a piece under these spans
 */

/** Draws a raw text, split into marks where spans begin or end. */
export class TextDrawing {
  /** @param {string} raw @param {Span[]} spans @param {MarkOf} markOf */
  constructor(raw, spans, markOf) {
    this.raw = raw;
    this.spans = spans;
    this.markOf = markOf;
    /** In the order of the raw text. @type {Run[]} */
    this.runs = [];
    this.cuts = [...new Set(spans.flatMap(({ start, end }) => [start, end]))].sort((a, b) => a - b);
  }

  /** Draws the text as it was written. @param {Node} parent */
  whole(parent) {
    this.identity(parent, 0, this.raw.length);
  }

  /** @param {Node} parent @param {Node} node @param {number} start @param {number} end @param {boolean} unit */
  #put(parent, node, start, end, unit) {
    const covering = this.spans.flatMap((span, n) => (span.start < end && span.end > start ? [n] : []));
    if (covering.length) {
      const mark = this.markOf(covering);
      mark.append(node);
      parent.appendChild(mark);
    } else parent.appendChild(node);
    this.runs.push({ node, start, end, unit });
  }

  /**
   * Draws characters that appear unchanged in the raw text.
   * @param {Node} parent @param {number} start @param {number} end
   */
  identity(parent, start, end, text = this.raw.slice(start, end)) {
    let from = start;
    for (const cut of [...this.cuts.filter((at) => at > start && at < end), end]) {
      if (cut > from) this.#put(parent, document.createTextNode(text.slice(from - start, cut - start)), from, cut, false);
      from = cut;
    }
  }

  /**
   * Draws a node that represents a whole range: an entity, an escape, a formula.
   * @param {Node} parent @param {Node} node @param {number} start @param {number} end
   */
  unit(parent, node, start, end) {
    this.#put(parent, node, start, end, true);
  }
}

/**
 * The part of a run that is in a range: [from, to) in the run's node; null if there is none.
 * @param {Run} run @param {Range} range
 */
function covered({ node, unit }, range) {
  if (!range.intersectsNode(node)) return null;
  if (!(node instanceof Text)) { // a formula counts if some of its text is inside
    const inside = document.createRange();
    inside.selectNodeContents(node);
    if (range.compareBoundaryPoints(Range.START_TO_START, inside) > 0) {
      inside.setStart(range.startContainer, range.startOffset);
    }
    if (range.compareBoundaryPoints(Range.END_TO_END, inside) < 0) inside.setEnd(range.endContainer, range.endOffset);
    return inside.toString() ? [0, 1] : null;
  }
  const from = range.startContainer === node ? range.startOffset : 0;
  const to = range.endContainer === node ? range.endOffset : node.length;
  if (from >= to) return null;
  return unit ? [0, node.length] : [from, to];
}

/** The raw span of a range on the page; null if it contains no text. @param {Run[]} runs @param {Range} range */
export function spanOf(runs, range) {
  /** @type {Span | null} */
  let span = null;
  for (const run of runs) {
    const part = covered(run, range);
    if (!part) {
      if (span && range.comparePoint(run.node, 0) > 0) break;
      continue;
    }
    span ??= { start: run.unit ? run.start : run.start + part[0], end: 0 };
    span.end = run.unit ? run.end : run.start + part[1];
  }
  return span;
}

/** @param {Run[]} runs @param {Span} span @returns {Span} */
function widened(runs, { start, end }) {
  const cut = runs.filter((run) => run.unit && run.start < end && run.end > start);
  return { start: Math.min(start, ...cut.map((run) => run.start)), end: Math.max(end, ...cut.map((run) => run.end)) };
}

/**
 * A span extended to whole units and graphemes, without white space and markup at its ends; null if it is empty.
 * @param {string} raw @param {Run[]} runs @param {Span} span
 */
export function tidy(raw, runs, span) {
  const whole = widened(runs, span);
  const ends = snap(raw, whole.start, whole.end);
  if (!ends) return null;
  const neat = widened(runs, { start: ends[0], end: ends[1] });
  const touched = runs.filter((run) => run.start < neat.end && run.end > neat.start);
  const [first, last] = [touched[0], touched.at(-1)];
  return first && last ? { start: Math.max(neat.start, first.start), end: Math.min(neat.end, last.end) } : null;
}

// markup between two runs that does not end a word: emphasis and code
const WITHIN_WORDS = /^[*_~`]*$/;
const OBJECT = "\ufffc";

/**
 * A run's text for finding words; a unit longer than one character, such as a formula, is not part of a word.
 * @param {Run} run
 */
function shownText({ node, unit }) {
  const { data = OBJECT } = /** @type {Partial<Text>} */ (node);
  return unit && data.length > 2 ? OBJECT : data;
}

/**
 * The word around a visible character. Words continue across emphasis, but not across blocks and cells.
 * @param {string} raw @param {Run[]} runs @param {number} at the character's place in the raw text
 * @param {Intl.Segmenter} segmenter @returns {Span}
 */
function wordAround(raw, runs, at, segmenter) {
  const own = runs.findIndex(({ start, end }) => start <= at && at < end);
  /** @param {number} n whether words go on from this run into the next */
  const goesOn = (n) => WITHIN_WORDS.test(raw.slice(runs[n].end, runs[n + 1].start));
  let [first, last] = [own, own];
  while (first > 0 && goesOn(first - 1)) first -= 1;
  while (last + 1 < runs.length && goesOn(last)) last += 1;
  let text = "";
  const shown = runs.slice(first, last + 1).map((run) => {
    const from = text.length;
    text += shownText(run);
    return { run, from, to: text.length };
  });
  const { run, from, to } = shown[own - first];
  const place = Math.min(from + at - run.start, to - 1);
  const { index, segment } = /** @type {Intl.SegmentData} */ (segmenter.segment(text).containing(place));
  /** @param {number} character */
  const rawOf = (character) => {
    const part = shown.findLast((each) => each.from <= character) ?? shown[0];
    const start = part.run.start + character - part.from;
    return part.run.unit ? part.run : { start, end: start + 1 };
  };
  return { start: rawOf(index).start, end: rawOf(index + segment.length - 1).end };
}

/**
 * A tidy span extended to whole words.
 * @param {string} raw @param {Run[]} runs @param {Span} span @param {Intl.Segmenter} segmenter
 */
export const wholeWords = (raw, runs, { start, end }, segmenter) => ({
  start: Math.min(start, wordAround(raw, runs, start, segmenter).start),
  end: Math.max(end, wordAround(raw, runs, end - 1, segmenter).end),
});

/** The raw offset of a position on the page. @param {Run[]} runs @param {Node} node @param {number} offset */
export function offsetAt(runs, node, offset) {
  const own = runs.find((run) => run.node === node || (run.unit && run.node.contains(node)));
  if (own) return own.unit ? (offset ? own.end : own.start) : own.start + offset;
  const caret = document.createRange();
  caret.setStart(node, offset);
  const next = runs.findIndex((run) => caret.comparePoint(run.node, 0) >= 0);
  return next < 0 ? runs.at(-1)?.end ?? 0 : runs[next - 1]?.end ?? runs[next].start;
}

/** The position of a caret on the page for a raw offset. @param {Run[]} runs @param {number} offset */
export function placeAt(runs, offset) {
  const run = runs.find(({ end }) => offset <= end) ?? runs.at(-1);
  if (!run) return null;
  const { node } = run;
  if (node instanceof Text) return { node, offset: run.unit ? node.length : Math.max(0, offset - run.start) };
  const siblings = [...(node.parentNode?.childNodes ?? [])];
  return { node: /** @type {Node} */ (node.parentNode), offset: siblings.indexOf(/** @type {ChildNode} */ (node)) + 1 };
}

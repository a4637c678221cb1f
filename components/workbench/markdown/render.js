// Draws a parsed text as nodes of the page, each with its range in the raw text. Never uses innerHTML: links and images
// become text with their address, and HTML is shown as it was written.

import { h } from "../dom.js";
import { TextDrawing } from "../texts/nodes.js";
import { isParsable } from "./limits.js";
import { parse } from "./parse.js";

/** @import { Props } from "../dom.js" */
/** @import { MarkOf, Source, Span } from "../texts/nodes.js" */
/** @import { Leaf, MarkdownSource, Mdast, Parsed } from "./types.js" */

const MAX_DEPTH = 60; // of nested blocks or marks that are drawn
const MAX_FORMULA = 2_000; // characters
// commands that define others, not after a line break (\\): a short formula could repeat a long text hundreds of times,
// and take the browser minutes
const DEFINES = /(?<!\\)(?:\\\\)*\\(?:[gex]?def|let|futurelet|(?:re)?newcommand|providecommand)(?![a-zA-Z])/;
const MAX_ADDRESS = 60; // characters of an address that are shown
// in a text of one line: characters that may be markup
const MARKED = /[*_`~[\]\\&<$\0\r\n\t\ufeff]|^ | $|^(?:[#>+=-]|\d{1,9}[.)])/;
const FORMULAS = {
  output: "mathml", throwOnError: true, strict: "ignore", trust: false, maxExpand: 300, maxSize: 20,
};

/** @type {typeof import("./vendor/katex.js").katex | null} */
let katex = null;

export const hasFormulas = () => katex !== null;

/** Loads KaTeX. Until then, formulas are shown as they were written. */
export async function loadFormulas() {
  ({ katex } = await import("./vendor/katex.js"));
}

/**
 * The parsed text; `tree` is null if it is too large or cannot be parsed.
 * @param {string} raw @returns {Source}
 */
export function read(raw) {
  if (!isParsable(raw)) return { raw, tree: null };
  if (!MARKED.test(raw)) return { raw, ...asOneParagraph(raw), definitions: new Map() };
  try {
    const parsed = parse(raw);
    return { raw, ...parsed, definitions: definitionsOf(parsed.tree) };
  } catch {
    return { raw, tree: null };
  }
}

/**
 * The parser's result for a text without markup, such as most turns of a conversation, without parsing it.
 * @param {string} raw
 * @returns {Parsed}
 */
function asOneParagraph(raw) {
  const point = { line: 1, column: 1 };
  const position = { start: { ...point, offset: 0 }, end: { ...point, offset: raw.length } };
  const paragraph = { type: "paragraph", position, children: [{ type: "text", position, value: raw }] };
  const leaves = raw ? [{ start: 0, end: raw.length, text: raw }] : [];
  return { tree: { type: "root", position, children: raw ? [paragraph] : [] }, leaves, shift: 0 };
}

/** @param {Mdast} tree */
function definitionsOf(tree) {
  /** @type {MarkdownSource["definitions"]} */
  const definitions = new Map();
  const queue = [tree];
  for (let node = queue.pop(); node; node = queue.pop()) {
    const { type, identifier = "", url, children = [] } = node;
    if (type === "definition" && !definitions.has(identifier)) definitions.set(identifier, url);
    queue.push(...children);
  }
  return definitions;
}

/** @param {string | undefined} url */
const addressOf = (url = "") => (url.length > MAX_ADDRESS ? `${url.slice(0, MAX_ADDRESS)}…` : url);

/** Attributes of an element that scrolls separately, also with keys. @param {string} label @returns {Props} */
const scrolling = (label) => ({ tabindex: 0, role: "group", "aria-label": label });

export class MarkdownDrawing extends TextDrawing {
  /** @param {MarkdownSource} source @param {Span[]} spans @param {MarkOf} markOf */
  constructor(source, spans, markOf) {
    super(source.raw, spans, markOf);
    this.source = source;
  }

  /** @override @param {Node} parent */
  whole(parent) {
    this.children(parent, this.source.tree, 0);
  }

  // ---- text ----

  /** The leaves inside a node's range, in order. @param {number} start @param {number} end */
  #leavesIn(start, end) {
    const { leaves, shift } = this.source;
    let low = 0;
    let high = leaves.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (leaves[middle].start + shift < start) low = middle + 1;
      else high = middle;
    }
    /** @type {Leaf[]} */
    const inside = [];
    const before = leaves[low - 1]; // the tree builder removes the space after a task's box from its text
    if (before && before.end + shift > start && before.text.length === before.end - before.start) {
      const from = start - shift;
      inside.push({ start: from, end: before.end, text: before.text.slice(from - before.start) });
    }
    for (let i = low; i < leaves.length && leaves[i].start + shift < end; i += 1) {
      if (leaves[i].end + shift <= end) inside.push(leaves[i]);
    }
    return inside;
  }

  /**
   * Draws a text node by its leaves. If they do not add up to its value, the whole node is one unit.
   * @param {Node} parent @param {Mdast} node
   */
  text(parent, node) {
    const [start, end] = this.range(node);
    const { value = "" } = node;
    const leaves = this.#leavesIn(start, end);
    if (leaves.map(({ text }) => text).join("") !== value || !leaves.length) this.#aligned(parent, start, end, value);
    else this.#pieces(parent, leaves, value);
  }

  /**
   * Draws code by its leaves, which are lines and line endings. Leaves of the fences are not part of the value.
   * @param {Node} parent @param {Mdast} node
   */
  code(parent, node) {
    const [start, end] = this.range(node);
    const { value = "" } = node;
    const leaves = this.#leavesIn(start, end);
    const texts = leaves.map(({ text }) => text);
    const first = leaves.findIndex((_, i) => texts.slice(i).join("").startsWith(value));
    if (first < 0) this.#aligned(parent, start, end, value);
    else this.#pieces(parent, leaves.slice(first), value);
  }

  /**
   * Draws the leaves that make up the value; leaves that are contiguous in the raw text become one node.
   * @param {Node} parent @param {Leaf[]} leaves @param {string} value
   */
  #pieces(parent, leaves, value) {
    const { shift } = this.source;
    let left = value.length;
    let open = { start: 0, end: 0, text: "" };
    const close = () => {
      this.identity(parent, open.start, open.end, open.text);
      open = { start: 0, end: 0, text: "" };
    };
    for (const leaf of leaves) {
      const [from, to] = [leaf.start + shift, leaf.end + shift];
      const text = leaf.text.slice(0, left);
      left -= text.length;
      if (!text) continue;
      if (!this.#isSame(text, from, to)) {
        close();
        this.#oddLeaf(parent, text, from, to);
      } else if (open.text && open.end === from) open = { start: open.start, end: to, text: open.text + text };
      else {
        close();
        open = { start: from, end: to, text };
      }
    }
    close();
  }

  /**
   * Whether a text appears unchanged in the raw text. NUL is shown as U+FFFD; CR would be drawn as a control character.
   * @param {string} text @param {number} from @param {number} to
   */
  #isSame(text, from, to) {
    const raw = this.raw.slice(from, to);
    return !raw.includes("\r") && (raw === text || raw.replaceAll("\0", "\ufffd") === text);
  }

  /** @param {Node} parent @param {string} text @param {number} from @param {number} to */
  #oddLeaf(parent, text, from, to) {
    const raw = this.raw.slice(from, to);
    if (/^\r\n?$/.test(raw)) return this.unit(parent, document.createTextNode("\n"), from, to);
    const pad = text.length - raw.length;
    if (pad > 0 && text.endsWith(raw) && !text.slice(0, pad).trim()) { // the rest of a tab has no position
      parent.appendChild(document.createTextNode(text.slice(0, pad)));
      return this.identity(parent, from, to, raw);
    }
    return this.unit(parent, document.createTextNode(text), from, to);
  }

  /**
   * Draws a value that the tree builder has changed: `\|` in code of a table cell. Anything else is one unit.
   * @param {Node} parent @param {number} start @param {number} end @param {string} value
   */
  #aligned(parent, start, end, value) {
    const raw = this.raw.slice(start, end);
    const at = raw.indexOf(value);
    if (at >= 0) return this.identity(parent, start + at, start + at + value.length, value);
    /** @type {[number, number, string][]} */
    const pieces = [];
    const inner = raw.replace(/^`+ ?| ?`+$/g, (fence) => " ".repeat(fence.length));
    let done = 0;
    for (let i = 0; i < raw.length && done < value.length; i += 1) {
      if (inner.startsWith("\\|", i) && value[done] === "|") {
        pieces.push([i, i + 2, "|"]);
        i += 1;
        done += 1;
      } else if (inner[i] === value[done]) {
        pieces.push([i, i + 1, value[done]]);
        done += 1;
      } else if (done > 0) break;
    }
    if (done < value.length) return this.unit(parent, document.createTextNode(value), start, end);
    for (const [from, to, text] of pieces) {
      if (to - from === 1) this.identity(parent, start + from, start + to, text);
      else this.unit(parent, document.createTextNode(text), start + from, start + to);
    }
  }

  // ---- nodes ----

  /** @param {Mdast} node */
  range({ position }) {
    const { shift } = this.source;
    return [position.start.offset + shift, position.end.offset + shift];
  }

  /** @param {Node} parent @param {Mdast} node @param {number} depth */
  children(parent, { children = [] }, depth) {
    for (const child of children) {
      const draw = depth < MAX_DEPTH ? NODES[child.type] : null;
      if (draw) draw(this, parent, child, depth + 1);
      else this.asWritten(parent, child); // unknown node types
    }
  }

  /** @param {Node} parent @param {Mdast} node */
  asWritten(parent, node) {
    const [start, end] = this.range(node);
    this.identity(parent, start, end);
  }

  /** @param {Node} parent @param {HTMLElement} element @param {Mdast} node @param {number} depth */
  into(parent, element, node, depth) {
    parent.appendChild(element);
    this.children(element, node, depth);
  }

  /**
   * KaTeX builds its MathML here node by node, not from a string.
   * @param {Node} parent @param {Mdast} node @param {string} tex
   */
  formula(parent, node, tex, display = false) {
    const [start, end] = this.range(node);
    const box = h("span", { class: display ? "md-math md-display" : "md-math" });
    try {
      if (!katex || tex.length > MAX_FORMULA || DEFINES.test(tex)) throw new RangeError("not to be drawn");
      katex.render(tex, box, { ...FORMULAS, displayMode: display });
      box.firstElementChild?.setAttribute("title", tex);
      this.unit(parent, box, start, end);
    } catch {
      const code = h("code", { class: "md-raw" });
      parent.appendChild(code);
      this.identity(code, start, end);
    }
  }
}

/** @typedef {(drawing: MarkdownDrawing, parent: Node, node: Mdast, depth: number) => void} DrawNode */

/** @param {"p" | "blockquote"} tag @returns {DrawNode} */
const block = (tag) => (drawing, parent, node, depth) => drawing.into(parent, h(tag, { dir: "auto" }), node, depth);

/** @param {"strong" | "em" | "del"} tag @returns {DrawNode} */
const inline = (tag) => (drawing, parent, node, depth) => drawing.into(parent, h(tag), node, depth);

/**
 * Draws a link as text; the style sheet shows its address behind it. It never leads anywhere.
 * @param {MarkdownDrawing} drawing @param {Node} parent @param {Mdast} node @param {number} depth
 * @param {string | undefined} url
 */
function link(drawing, parent, node, depth, url) {
  const element = h("span", { class: "md-link", title: url });
  drawing.into(parent, element, node, depth);
  const text = element.textContent ?? "";
  if (url && url.replace(/^mailto:/, "") !== text) element.dataset.address = ` (${addressOf(url)})`;
}

/**
 * Draws an image as its text and its address; nothing is fetched.
 * @param {MarkdownDrawing} drawing @param {Node} parent @param {Mdast} node @param {string | undefined} url
 */
function image(drawing, parent, node, url) {
  const address = url ? ` (${addressOf(url)})` : null;
  const element = h("span", { class: "md-image", title: url, data: { address } });
  parent.appendChild(element);
  const [start, end] = drawing.range(node);
  if (node.alt) drawing.unit(element, document.createTextNode(node.alt), start, end);
  else drawing.asWritten(element, node);
}

/** @type {Record<string, DrawNode>} */
const NODES = {
  paragraph: block("p"),
  blockquote: block("blockquote"),
  strong: inline("strong"),
  emphasis: inline("em"),
  delete: inline("del"),
  text: (drawing, parent, node) => drawing.text(parent, node),
  break: (_, parent) => parent.appendChild(h("br")),
  thematicBreak: (_, parent) => parent.appendChild(h("hr")),

  // headings in a text must not count as headings of the page
  heading(drawing, parent, node, depth) {
    drawing.into(parent, h("p", { class: `md-h md-h${node.depth}`, dir: "auto" }), node, depth);
  },

  list(drawing, parent, node, depth) {
    const start = node.ordered && node.start !== 1 ? node.start : null;
    const props = { class: node.spread ? "md-loose" : null, dir: "auto", start };
    drawing.into(parent, h(node.ordered ? "ol" : "ul", props), node, depth);
  },

  listItem(drawing, parent, node, depth) {
    const isTask = typeof node.checked === "boolean";
    const box = h("span", { class: "md-check", role: "img", "aria-label": node.checked ? "ticked" : "not ticked" });
    const state = node.checked ? "md-task md-done" : "md-task";
    drawing.into(parent, h("li", { class: isTask ? state : null }, isTask ? box : null), node, depth);
  },

  inlineCode(drawing, parent, node) {
    const code = h("code");
    parent.appendChild(code);
    drawing.text(code, node);
  },

  code(drawing, parent, node) {
    const code = h("code");
    const label = node.lang ? `Code in ${node.lang}` : "Code";
    parent.appendChild(h("pre", { dir: "ltr", data: { lang: node.lang }, ...scrolling(label) }, code));
    if (node.value) drawing.code(code, node);
  },

  html(drawing, parent, node, depth) {
    const isBlock = depth === 1;
    const box = h(isBlock ? "pre" : "code", { class: "md-raw", ...(isBlock ? scrolling("Mark-up") : {}) });
    parent.appendChild(box);
    drawing.asWritten(box, node);
  },

  definition(drawing, parent, node) {
    const line = h("p", { class: "md-definition" });
    parent.appendChild(line);
    drawing.asWritten(line, node);
  },

  link: (drawing, parent, node, depth) => link(drawing, parent, node, depth, node.url),
  linkReference(drawing, parent, node, depth) {
    link(drawing, parent, node, depth, drawing.source.definitions.get(node.identifier ?? ""));
  },
  image: (drawing, parent, node) => image(drawing, parent, node, node.url),
  imageReference(drawing, parent, node) {
    image(drawing, parent, node, drawing.source.definitions.get(node.identifier ?? ""));
  },

  table(drawing, parent, node, depth) {
    const table = h("table");
    parent.appendChild(h("div", { class: "md-table", ...scrolling("Table") }, table));
    const [head, ...rows] = node.children ?? [];
    /** @param {"th" | "td"} tag @param {Mdast} row */
    const line = (tag, row) => {
      const element = h("tr");
      for (const [column, cell] of (row.children ?? []).entries()) {
        const align = node.align?.[column];
        drawing.into(element, h(tag, { class: align ? `md-${align}` : null, dir: "auto" }), cell, depth + 2);
      }
      return element;
    };
    table.append(h("thead", {}, line("th", head)));
    if (rows.length) table.append(h("tbody", {}, rows.map((row) => line("td", row))));
  },

  inlineMath(drawing, parent, node) {
    const [start] = drawing.range(node);
    const isDisplay = drawing.raw.startsWith("$$", start) || drawing.raw.startsWith("\\[", start);
    drawing.formula(parent, node, node.value ?? "", isDisplay);
  },

  math: (drawing, parent, node) => drawing.formula(parent, node, node.value ?? "", true),
};

// Runs in the browser, for test_markdown.py: offsets of drawn texts, round trips of selections, hostile texts.
import { draw, prepareTexts, read } from "/workbench/texts/formatting.js";
import { toCodePoints, toUtf16, wordSegmenter } from "/workbench/texts/textpoints.js";
import { spanOf, tidy, wholeWords } from "/workbench/texts/nodes.js";
import { HOSTILE, TEXTS, TOO_LARGE } from "./texts.js";

const stored = (raw, { start, end }) => ({ start: toCodePoints(raw, start), end: toCodePoints(raw, end) });
const shownSpan = (raw, { start, end }) => ({ start: toUtf16(raw, start), end: toUtf16(raw, end) });

/** Ranges of the page that show a raw span: one per text node or formula that it touches. */
function rangesOf(runs, { start, end }) {
  return runs.filter((run) => run.start < end && run.end > start).map((run) => {
    const range = document.createRange();
    if (run.unit) range.selectNodeContents(run.node);
    else {
      range.setStart(run.node, Math.max(0, start - run.start));
      range.setEnd(run.node, Math.min(run.node.length, end - run.start));
    }
    return range;
  });
}

const SELECTIONS = 40; // per text
let seed = 20260101;
const random = () => {
  seed = (seed * 1664525 + 1013904223) >>> 0;
  return seed / 2 ** 32;
};
const below = (n) => Math.floor(random() * n);

function textNodes(box) {
  const found = [];
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) found.push(walker.currentNode);
  return found;
}

function fill(box, raw, spans = []) {
  const runs = draw(box, raw, "markdown", spans);
  return { source: read(raw, "markdown"), runs };
}

/** Every text node has one run; runs are in order and do not overlap; what is not the raw text itself is listed. */
function checkRuns(name, raw, box, runs, report) {
  const owner = new Map(runs.map((run) => [run.node, run]));
  const insideFormula = (node) => node.parentElement.closest(".md-math");
  let last = 0;
  for (const node of textNodes(box)) {
    report.nodes += 1;
    const run = owner.get(node) ?? owner.get(insideFormula(node));
    if (!run) {
      if (/^ +$/.test(node.data)) report.exceptions.push([name, "rest of a tab", "", node.data]);
      else report.failures.push([name, "text node without a range", node.data]);
      continue;
    }
    const slice = raw.slice(run.start, run.end);
    if (run.node !== node) continue; // a formula
    if (run.start < last) report.failures.push([name, "ranges overlap or go back", slice]);
    last = run.end;
    if (!run.unit) {
      if (slice === node.data) report.identical += 1;
      else if (slice.replaceAll("\0", "\ufffd") === node.data) report.exceptions.push([name, "NUL shown as U+FFFD", slice, node.data]);
      else report.failures.push([name, "differs from raw", slice, node.data]);
      continue;
    }
    report.units += 1;
    const kind = /^\\[!-/:-@[-`{-~]$/.test(slice) && slice[1] === node.data ? "escape"
      : /^&[#\w]+;$/.test(slice) ? "entity"
      : /^\r\n?$/.test(slice) && node.data === "\n" ? "line end"
      : /^!\[/.test(slice) ? "image" : null;
    if (kind) report.exceptions.push([name, kind, slice, node.data]);
    else report.failures.push([name, "unit without a reason", slice, node.data]);
  }
  for (const { node, start, end } of runs) {
    if (node.nodeType === 1) report.exceptions.push([name, "formula", raw.slice(start, end), node.querySelector("annotation")?.textContent]);
    if (start > end || end > raw.length) report.failures.push([name, "range outside the text", start, end]);
  }
}

/** The text that a range covers, formulas whole: independent of spanOf. */
function coveredText(box, runs, range) {
  const wide = range.cloneRange();
  for (const { node, unit } of runs) {
    if (!unit || !range.intersectsNode(node)) continue;
    const inner = document.createRange();
    inner.selectNodeContents(node);
    const cut = range.cloneRange();
    if (cut.compareBoundaryPoints(Range.START_TO_START, inner) < 0) cut.setStart(inner.startContainer, inner.startOffset);
    if (cut.compareBoundaryPoints(Range.END_TO_END, inner) > 0) cut.setEnd(inner.endContainer, inner.endOffset);
    if (!cut.toString()) continue;
    if (wide.compareBoundaryPoints(Range.START_TO_START, inner) > 0) wide.setStart(inner.startContainer, inner.startOffset);
    if (wide.compareBoundaryPoints(Range.END_TO_END, inner) < 0) wide.setEnd(inner.endContainer, inner.endOffset);
  }
  return wide.toString();
}

/** Whether a span begins or ends between two letters of a run. */
const cutsWord = (raw, runs, { start, end }) => [start, end].some((at) =>
  /^[a-z]{2}$/i.test(raw.slice(at - 1, at + 1)) && runs.some((run) => !run.unit && run.start < at && at < run.end));

function checkSelections(name, raw, box, report, count = SELECTIONS) {
  const { runs } = fill(box, raw);
  const nodes = textNodes(box);
  const owned = new Set(runs.map(({ node }) => node));
  const anchors = nodes.filter((node) => owned.has(node) || node.parentElement.closest(".md-math"));
  if (!anchors.length) return;
  const tabs = nodes.length !== anchors.length;
  const expected = [];
  for (let i = 0; i < count; i += 1) {
    const range = document.createRange();
    const [a, b] = [anchors[below(anchors.length)], anchors[below(anchors.length)]];
    const [x, y] = [below(a.length + 1), below(b.length + 1)];
    range.setStart(a, x);
    range.setEnd(b, y); // a backward pair collapses: turn it
    if (range.collapsed) {
      range.setStart(b, y);
      range.setEnd(a, x);
    }
    const text = coveredText(box, runs, range);
    const span = spanOf(runs, range);
    if (!text) {
      if (span) report.failures.push([name, "span for an empty selection", span]);
      continue;
    }
    report.selections += 1;
    if (!span) {
      if (!tabs) report.failures.push([name, "no span", text]);
      continue;
    }
    const shown = rangesOf(runs, span).map(String).join("");
    if (shown !== text && !tabs) report.failures.push([name, "ranges cover another text", text, shown]);
    const points = stored(raw, span);
    const chars = [...raw];
    if (chars.slice(points.start, points.end).join("") !== raw.slice(span.start, span.end) && !/[\ud800-\udfff]/.test(text.at(0) + text.at(-1))) {
      report.failures.push([name, "code points", points, span]);
    }
    const neat = tidy(raw, runs, span);
    if (neat) {
      const back = shownSpan(raw, stored(raw, neat));
      if (back.start !== neat.start || back.end !== neat.end) report.failures.push([name, "code points do not come back", neat, back]);
      const whole = wholeWords(raw, runs, neat, wordSegmenter("en"));
      if (whole.start > neat.start || whole.end < neat.end || cutsWord(raw, runs, whole)) report.failures.push([name, "no whole words", neat, whole]);
      const drawn = i % 2 ? neat : whole;
      expected.push([drawn, rangesOf(runs, drawn).map(String).join("")]);
    }
  }
  // drawn again, as marks in the text
  const whole = box.textContent;
  for (const [span, text] of expected) {
    report.redraws += 1;
    const { runs: marked } = fill(box, raw, [span]);
    const got = [...box.querySelectorAll("mark")].map((mark) => mark.textContent).join("");
    if (got !== text) report.failures.push([name, "marks cover another text", text, got]);
    if (box.textContent !== whole) report.failures.push([name, "marks change the text"]);
    const again = rangesOf(marked, span);
    if (again.length) { // a selection of just what is marked gives the same span, but for markup at its ends
      const range = document.createRange();
      range.setStart(again[0].startContainer, again[0].startOffset);
      range.setEnd(again.at(-1).endContainer, again.at(-1).endOffset);
      const twice = spanOf(marked, range);
      const same = twice && rangesOf(marked, twice).map(String).join("");
      if (same !== text) report.failures.push([name, "second round differs", text, same]);
    }
  }
}

const PIECES = [
  "word", " ", " ", "\n", "\n", "\n\n", "**", "*", "_", "~~", "`", "``", "```\n", "# ", "- ", "1. ", "> ", "    ", "\t", "  \n", "\\\n", "\\*", "\\", "&amp;",
  "&#65;", "&", "[", "]", "(", ")", "](http://a.b/c)", "![", "[r]: /x\n", "[r]", "<b>", "</b>", "<!-- c -->", "$", "$$", "$x$", "\\(", "\\)", "\\[", "\\]",
  "|", "|a|b|\n|-|-|\n", "\\|", "---\n", "===\n", "- [x] ", "😀", "👩‍🚀", "שלום", "5", "é", "\r\n", "a b c", "<http://a.b>", "{", "}", "^2",
];

/** Random texts out of all the markup: the same rules for every text node. */
function checkRandom(box, count, report) {
  const before = report.exceptions.length;
  for (let n = 0; n < count; n += 1) {
    const raw = Array.from({ length: 3 + below(40) }, () => PIECES[below(PIECES.length)]).join("");
    try {
      const { runs, source } = fill(box, raw);
      if (!source.tree) report.failures.push(["random", "was not parsed", raw]);
      checkRuns(`random ${JSON.stringify(raw)}`, raw, box, runs, report);
      if (n % 10 === 0) checkSelections("random", raw, box, report, 6);
      report.random += 1;
    } catch (error) {
      report.failures.push(["random", raw, String(error.stack)]);
    }
  }
  report.randomExceptions = report.exceptions.splice(before).map(([, kind]) => kind);
}

function checkOverlap(box, report) {
  const raw = TEXTS.longMix;
  const spans = [{ start: 3, end: 40 }, { start: 20, end: 90 }, { start: 60, end: raw.length }];
  const seen = [];
  draw(box, raw, "markdown", spans, (at) => {
    seen.push(at.length);
    return document.createElement("mark");
  });
  if (!seen.includes(2) || !seen.includes(1)) report.failures.push(["overlap", "two marks on one piece are missing"]);
}

async function checkHostile(box, report) {
  for (const [name, raw] of Object.entries({ ...HOSTILE, ...TOO_LARGE })) {
    const { source, runs } = fill(box, raw);
    if ((source.tree === null) !== name in TOO_LARGE) report.failures.push([name, source.tree ? "was parsed" : "was not parsed"]);
    box.getBoundingClientRect();
    const bad = box.querySelector("script,img,iframe,object,embed,link,style,a,form,input,svg,video,audio,[src],[href],[onerror],[onload],[onclick],[onmouseover],[onfocus],[style*=url]");
    if (bad) report.failures.push([name, "forbidden element", bad.outerHTML.slice(0, 200)]);
    for (const element of box.querySelectorAll("*")) {
      for (const { name: attribute } of element.attributes) {
        if (/^on|src|href/.test(attribute)) report.failures.push([name, "forbidden attribute", attribute]);
      }
    }
    for (const run of runs) {
      if (!run.unit && raw.slice(run.start, run.end) !== run.node.data) {
        report.failures.push([name, "differs from raw", raw.slice(run.start, run.end).slice(0, 80), run.node.data.slice(0, 80)]);
        break;
      }
    }
    if (name === "mathCopies" && box.querySelector("math")) report.failures.push([name, "a formula that copies a text was drawn"]);
    report.hostile += 1;
    box.replaceChildren();
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  if (window.hit) report.failures.push(["hostile", "a script ran"]);
}

export async function run(box, count) {
  await prepareTexts(["$"]);
  const report = { texts: 0, nodes: 0, identical: 0, units: 0, selections: 0, redraws: 0, random: 0, exceptions: [], failures: [], hostile: 0 };
  for (const [name, raw] of Object.entries(TEXTS)) {
    report.texts += 1;
    try {
      const { runs, source } = fill(box, raw);
      if (!source.tree) report.failures.push([name, "was not parsed"]);
      checkRuns(name, raw, box, runs, report);
      checkSelections(name, raw, box, report);
    } catch (error) {
      report.failures.push([name, String(error.stack)]);
    }
  }
  checkOverlap(box, report);
  report.main = { nodes: report.nodes, identical: report.identical, units: report.units, selections: report.selections };
  checkRandom(box, count, report);
  await checkHostile(box, report);
  return report;
}

/** The visible characters of each written text, as [start, end) of code points; a formula counts with all it is. */
export async function visibleCharacters(box) {
  await prepareTexts(["$"]);
  return Object.entries(TEXTS).map(([name, raw]) => {
    const characters = [];
    for (const { node, start, end, unit } of fill(box, raw).runs) {
      const points = stored(raw, { start, end });
      if (unit && node instanceof Text) characters.push([points.start, points.end]);
      else for (let at = points.start; at < points.end; at += 1) characters.push([at, at + 1]);
    }
    return { name, raw, characters };
  });
}

/** Hostile texts: those that are formatted, and those that are too large for it. */
export const hostileTexts = () => [HOSTILE, TOO_LARGE].map((texts) => Object.values(texts));

// Limits on the texts that are parsed: the parser is slow for long texts, and quadratic for a few artificial patterns.
// triptych/formats/texts/markdown.py has the same limits.

const MAX_CHARACTERS = 25_000;
const MAX_MARKS = 800; // brackets, stars, … in one paragraph
const MAX_MARKS_IN_ALL = 6_000;
const MAX_BARS = 2_000; // of tables
const MAX_LINES = 1_000; // each may continue all open blocks
const MAX_CELLS = 10_000; // of a table, whose short rows are filled up with empty cells
const WIDE_TABLE = /(?:\|[^\n|]*){200}/;
const MARKS = /[[\]*_`~<!$\\&]/g;
const LINE = /\r\n?|\n/;
const NESTED = /^(?:[ \t]*(?:>|[-+*]|\d{1,9}[.)])){30}/m;
const DEEP = /^[ \t]{60,}(?:>|[-+*]|\d{1,9}[.)])/m;

/** @param {string} raw */
export function isParsable(raw) {
  if (raw.length > MAX_CHARACTERS) return false;
  const lines = raw.split(LINE);
  const widest = Math.max(...lines.map((line) => line.split("|").length - 1));
  if (lines.length > MAX_LINES || widest * lines.length > MAX_CELLS) return false;
  if (raw.split("|").length - 1 > MAX_BARS || WIDE_TABLE.test(raw)) return false;
  let all = 0;
  for (const paragraph of raw.split(/\n[ \t]*\n/)) {
    const marks = paragraph.match(MARKS)?.length ?? 0;
    all += marks;
    if (marks > MAX_MARKS || all > MAX_MARKS_IN_ALL) return false;
  }
  return !NESTED.test(raw) && !DEEP.test(raw);
}

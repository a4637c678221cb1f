// The workbench's modules without a page: node --test tests/browser/workbench/*.test.mjs
import assert from "node:assert/strict";
import { test } from "node:test";

import { createActivity } from "../../../components/workbench/activity.js";
import { canonical, createAnswers } from "../../../components/workbench/answers.js";
import { clock } from "../../../components/workbench/dialogs.js";
import { factsOf } from "../../../components/workbench/instructions.js";
import { characterOf, digitOf } from "../../../components/workbench/keyboard.js";
import { placesOf } from "../../../components/workbench/layout.js";
import { typedValue } from "../../../components/workbench/question.js";
import { patternOf } from "../../../components/workbench/texts/reading.js";
import { halfAbove, isPicker, isSlider, optionsOf, valueOfDigit } from "../../../components/workbench/scale.js";
import { createLocalDrafts, localKey, penOf, randomId } from "../../../components/workbench/store.js";
import { createSubmission } from "../../../components/workbench/sending.js";
import { blocks, lengthInWords, snap, toCodePoints, toUtf16, wordCount, wordSegmenter } from "../../../components/workbench/texts/textpoints.js";
import { tidy, wholeWords } from "../../../components/workbench/texts/nodes.js";
import { isComplete, problems } from "../../../components/workbench/validate.js";
import { judgeLocal } from "../../../components/workbench/drafts.js";
import * as views from "./views.js";

const FAMILY = "👩‍👩‍👧‍👦";

const halves = { kind: "likert", points: [0, 0.5, 1, 1.5, 2, 2.5, 3].map((value) => ({ value, title: "", ask: null })) };
const seven = { kind: "likert", points: [1, 2, 3, 4, 5, 6, 7].map((value) => ({ value, title: "", ask: null })) };
const choice = { kind: "choice", options: ["a", "b", "c"].map((key) => ({ key, title: key, ask: null })) };

test("a digit is the point of that number, not the place", () => {
  assert.equal(valueOfDigit(halves, 2), 2);
  assert.equal(valueOfDigit(halves, 0), 0);
  assert.equal(valueOfDigit(halves, 4), undefined);
  assert.equal(valueOfDigit(seven, 7), 7);
});

test("a digit is the option of that place where options are no numbers", () => {
  assert.equal(valueOfDigit(choice, 1), "a");
  assert.equal(valueOfDigit(choice, 3), "c");
  assert.equal(valueOfDigit(choice, 0), undefined);
  assert.equal(valueOfDigit(choice, 4), undefined);
});

test("a mean time is rounded before it is split into minutes and seconds", () => {
  assert.deepEqual([0, 5.4, 59.7, 60, 119.6, 3599.5].map(clock), ["0:00", "0:05", "1:00", "1:00", "2:00", "60:00"]);
});

test("the time of all items is that of one times their number", () => {
  const told = [0.02, 0.4, 1.47, 1.5, 3.4].map((minutes) => factsOf({ items: 10, minutes, pay: "", training: 0 })[1]);
  assert.deepEqual(told.map((words) => words.replace("about ", "")), ["5 s each, 50 s in all", "25 s each, 4 min in all",
    "90 s each, 15 min in all", "2 min each, 20 min in all", "3 min each, 30 min in all"]);
});

test("a half is offered only where the scale has it", () => {
  assert.equal(halfAbove(halves, 2), 2.5);
  assert.equal(halfAbove(halves, 3), undefined);
  assert.equal(halfAbove(seven, 2), undefined);
  assert.equal(halfAbove(choice, "a"), undefined);
});

test("eleven values are radios and twelve are a slider", () => {
  assert.equal(isSlider({ kind: "number", low: 0, high: 10, step: 1 }), false);
  assert.equal(isSlider({ kind: "number", low: 0, high: 11, step: 1 }), true);
  assert.deepEqual(optionsOf({ kind: "number", low: 0, high: 0.3, step: 0.1 }).map((o) => o.value), [0, 0.1, 0.2, 0.3]);
});

test("the window and the rubric decide the layout", () => {
  const places = (width, more = {}) => placesOf({
    width, panes: 3, abreast: true, hasContext: true, longest: 120, letters: (pixels) => pixels / 7, ...more,
  });
  const shown = (...asked) => {
    const { layout, context, columns } = places(...asked);
    return `${layout} ${context} ${columns}`;
  };
  assert.equal(shown(390), "phone top 1");
  assert.equal(shown(850), "single top 1");
  assert.equal(shown(1256), "dock top 1");
  assert.equal(shown(1256, { longest: 40 }), "dock left 1");
  assert.equal(shown(1896), "dock left 1");
  assert.equal(shown(1256, { abreast: false }), "single left 3");
  assert.equal(shown(1256, { panes: 1, hasContext: false }), "single top 2");
  assert.equal(places(1256, { panes: 4 }).fits, false, "four panes of 40 letters");
  assert.equal(places(1896, { panes: 4 }).fits, true);
  assert.equal(places(3000, { panes: 5 }).fits, false);
});

test("a typed number becomes the nearest value of the slider", () => {
  const scale = { kind: "number", low: 0, high: 100, step: 5 };
  assert.deepEqual(["52", "53", "900", "-1", "7,5", "", "a"].map((typed) => typedValue(scale, typed)), [50, 55, 100, 0, 10, undefined, undefined]);
});

test("a number typed in Arabic, Persian or full-width digits is read", () => {
  const scale = { kind: "number", low: -100, high: 100, step: 0.5 };
  const typed = ["٥٢", "۵۲", "５２", "٧٫٥", "７．５", "-٥", "−5", "－５"];
  assert.deepEqual(typed.map((text) => typedValue(scale, text)), [52, 52, 52, 7.5, 7.5, -5, -5, -5]);
});

test("numbers of very fine scales are those of the scale", () => {
  const tiny = { kind: "number", low: 0, high: 1e-9, step: 2.5e-10 };
  assert.deepEqual(optionsOf(tiny).map((o) => o.value), [0, 2.5e-10, 5e-10, 7.5e-10, 1e-9]);
  assert.equal(typedValue({ ...tiny, step: 1e-300 }, "0"), 0);
  assert.equal(typedValue({ ...tiny, low: 1e9, high: 1e9 + 1, step: 0.001 }, "1000000000.0012"), 1000000000.001);
});

test("a typed number that may be a thousand is no answer", () => {
  const scale = { kind: "number", low: -500000, high: 1000000, step: 1 };
  const typed = ["250,000", "250.000", "-250,000", "+250,000", "250,5", "0,125", "900,500,000", "2500,000"];
  const read = [undefined, undefined, undefined, undefined, 251, 0, undefined, 2500];
  assert.deepEqual(typed.map((text) => typedValue(scale, text)), read);
  assert.equal(typedValue({ ...scale, low: 0, high: 5, step: 0.125 }, "1,125"), 1.125, "1125 is not on this scale");
});

test("more than nine options are a list to search", () => {
  const choice = (count) => ({ kind: "choice", options: Array.from({ length: count }, (_, i) => ({ key: `o${i}`, title: `${i}` })) });
  assert.deepEqual([isPicker(choice(9)), isPicker(choice(10))], [false, true]);
});

test("offsets count code points like Python, and back", () => {
  const text = `a😀${FAMILY}é e\u0301 שלום`;
  const points = [...text].length;
  assert.equal(toCodePoints(text, text.length), points);
  for (let n = 0; n <= points; n += 1) assert.equal(toCodePoints(text, toUtf16(text, n)), n);
});

test("a selection never splits a grapheme", () => {
  const text = `x${FAMILY}y`;
  assert.deepEqual(snap(text, 2, 4), [1, 1 + FAMILY.length]);
  assert.deepEqual(snap("e\u0301t", 1, 2), [0, 2]);
});

test("a backward selection is the same, without white space at its ends", () => {
  assert.deepEqual(snap("one two three", 8, 3), [4, 7]);
  assert.equal(snap("one   two", 3, 6), null);
  assert.equal(snap("one", 2, 2), null);
});

test("words are counted as Python counts them", () => {
  assert.equal(wordCount("  one\u00a0two\n\tthree "), 3);
  assert.equal(wordCount(""), 0);
  assert.equal(wordCount("a\ufeffb"), 1); // Python's split() does not part at U+FEFF
});

test("limits take two Chinese characters for a word", () => {
  assert.equal(lengthInWords("语气轻松，与病人的担忧不符。"), 6);
  assert.equal(lengthInWords("第3句 is off"), 5);
  assert.equal(lengthInWords("one two"), 2);
  assert.equal(lengthInWords("。"), 0);
});

test("a long text is cut at line ends and joins to itself", () => {
  const text = "line of text\n".repeat(5000);
  const cut = blocks(text);
  assert.ok(cut.length > 3);
  assert.equal(cut.join("\n"), text);
});

test("words are found in any case, over line ends, with signs as typed", () => {
  const found = (typed, text) => text.match(patternOf(typed)) ?? [];
  assert.deepEqual(found(" the  Lake ", "THE\nlake, the lakes"), ["THE\nlake", "the lake"]);
  assert.deepEqual(found("a.b (c)", "a.b (c) axb (c)"), ["a.b (c)"]);
  assert.deepEqual(found("😀", "😀😀"), ["😀", "😀"]);
});

test("undo reverts every kind of change, redo restores them", () => {
  const answers = createAnswers(null);
  answers.rate("A", "fluency", 5, "Fluency");
  answers.rate("A", "fluency", 6, "Fluency");
  answers.setReasons("A", "fluency", 6, ["r1"], "reasons");
  answers.addHighlight({ slot: "A", turn: null, start: 0, end: 4, label: "x" }, "highlight");
  answers.put(["set_aside", "B"], "blank", "set aside");
  const full = canonical(answers.draft);
  for (let n = 0; n < 5; n += 1) assert.ok(answers.undo());
  assert.equal(canonical(answers.draft), canonical({}));
  assert.equal(answers.undo(), null);
  while (answers.redo());
  assert.equal(canonical(answers.draft), full);
});

test("undo of a rating keeps text typed since", () => {
  const answers = createAnswers(null);
  answers.rate("A", "c", "no", "C");
  answers.setText("A", "c", "no", "because of it");
  answers.undo();
  assert.equal(answers.rating("A", "c"), undefined);
  assert.equal(answers.explanation("A", "c", "no").text, "because of it");
});

test("each option has its own reasons", () => {
  const answers = createAnswers(null);
  answers.rate("A", "c", "no", "C");
  answers.setReasons("A", "c", "no", ["r1"], "reasons");
  answers.rate("A", "c", "yes", "C");
  assert.deepEqual(answers.explanation("A", "c", "yes").reasons, []);
  answers.rate("A", "c", "no", "C");
  assert.deepEqual(answers.explanation("A", "c", "no").reasons, ["r1"]);
});

test("a sent draft has no empty explanations and shares nothing with the live one", () => {
  const answers = createAnswers(null);
  answers.setText("A", "c", "no", "x");
  answers.setText("A", "c", "no", "");
  const sent = answers.snapshot();
  assert.deepEqual(sent.explanations.A.c, {});
  sent.ratings.A = { c: 1 };
  assert.equal(answers.rating("A", "c"), undefined);
});

test("the same highlight twice is one highlight", () => {
  const answers = createAnswers(null);
  const span = { slot: "A", turn: 2, start: 0, end: 4, label: "x" };
  assert.equal(answers.addHighlight(span, "h"), true);
  assert.equal(answers.addHighlight({ ...span }, "h"), false);
  assert.equal(answers.highlightsOf("A", 2).length, 1);
  assert.equal(answers.highlightsOf("A", null).length, 0);
});

/** A text as the page has it, out of pieces: text, [hidden signs], or { raw, shown } for what is one unit. */
function drawn(...pieces) {
  const runs = [];
  let raw = "";
  for (const piece of pieces) {
    const start = raw.length;
    raw += piece.raw ?? (Array.isArray(piece) ? piece[0] : piece);
    if (Array.isArray(piece)) continue;
    const node = piece.raw && !piece.shown ? {} : { data: piece.shown ?? piece };
    runs.push({ node, start, end: raw.length, unit: piece.raw !== undefined });
  }
  return { raw, runs };
}

/** What is marked when the first place of `selected` is selected in the raw text. */
function marked({ raw, runs }, selected, language = "en") {
  const start = raw.indexOf(selected);
  const span = tidy(raw, runs, { start, end: start + selected.length });
  const whole = wholeWords(raw, runs, span, wordSegmenter(language));
  return raw.slice(whole.start, whole.end);
}

const FORMULA = { raw: "$x^2$" };
const IMAGE = { raw: "![a cat](x)", shown: "a cat" };
const AMPERSAND = { raw: "&amp;", shown: "&" };

test("a selection grows to the words that it touches", () => {
  assert.equal(marked(drawn("The rent was paid, twice."), "nt wa"), "rent was");
  assert.equal(marked(drawn("The rent was paid, twice."), "aid,"), "paid,");
  assert.equal(marked(drawn("un", ["**"], "believ", ["**"], "able, really"), "lie"), "un**believ**able");
  assert.equal(marked(drawn("cell one", ["|"], "two cells"), "ne|t"), "one|two");
  assert.equal(marked(drawn("cell one", ["|"], "two cells"), "on"), "one");
  assert.equal(marked(drawn("end", ["\n\n"], "begin"), "eg"), "begin");
  assert.equal(marked(drawn("see ", ["["], "guides", ["](http://a.b)"], "!"), "uid"), "guides");
  assert.equal(marked(drawn("costs ", FORMULA, " a month"), "^2$ a m"), "$x^2$ a month");
  assert.equal(marked(drawn("R", AMPERSAND, "D team"), "tea"), "team");
  assert.equal(marked(drawn("by", IMAGE, "side"), "de"), "side");
});

test("words are those of the language", () => {
  const chinese = "我们今天去公园散步";
  const own = [...new Intl.Segmenter("zh", { granularity: "word" }).segment(chinese)].map(({ segment }) => segment);
  assert.ok(own.length < chinese.length && own.some((word) => word.length > 1));
  for (const word of own) assert.equal(marked(drawn(chinese), word[0], "zh"), word);
  assert.equal(marked(drawn("دفعنا الإيجار مرتين"), "يجا", "ar"), "الإيجار");
  assert.equal(marked(drawn("naïve 👩‍🚀 plan"), "aï", "no language"), "naïve");
});

const PIECES = [
  "word", "two words ", " ", "don't", "3.14", ", ", "é", "😀", FAMILY, "我们今天去公园", "שלום עולם", "دفعنا ", "नमस्ते", "\n",
  ["**"], ["`"], ["_"], ["~~"], ["\n\n"], [" | "], ["](x)"], FORMULA, AMPERSAND, { raw: "\\*", shown: "*" },
  IMAGE,
];

/** Where words begin and end on the page, as places in the raw text; found by walking through all of it. */
function wordEnds({ raw, runs }, language) {
  const ends = { starts: new Set(), ends: new Set() };
  let text = "";
  let places = [];
  const close = () => {
    for (const { index, segment } of wordSegmenter(language).segment(text)) {
      ends.starts.add(places[index].start);
      ends.ends.add(places[index + segment.length - 1].end);
    }
    [text, places] = ["", []];
  };
  for (const [n, { node, start, end, unit }] of runs.entries()) {
    if (n && /[^*_~`]/.test(raw.slice(runs[n - 1].end, start))) close();
    const shown = unit && node.data !== "&" && node.data !== "*" ? "\ufffc" : node.data;
    for (let i = 0; i < shown.length; i += 1) places.push(unit ? { start, end } : { start: start + i, end: start + i + 1 });
    text += shown;
  }
  close();
  return ends;
}

test("random selections grow to the nearest ends of words, and quote the raw text", () => {
  let seed = 7;
  const below = (n) => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % n;
  let grown = 0;
  for (let round = 0; round < 600; round += 1) {
    const language = ["en", "zh", "ar"][round % 3];
    const text = drawn(...Array.from({ length: 1 + below(14) }, () => PIECES[below(PIECES.length)]));
    const { raw, runs } = text;
    const places = [below(raw.length + 1), below(raw.length + 1)].sort((a, b) => a - b);
    const span = tidy(raw, runs, { start: places[0], end: places[1] });
    if (!span) continue;
    const whole = wholeWords(raw, runs, span, wordSegmenter(language));
    const { starts, ends } = wordEnds(text, language);
    const shown = JSON.stringify([raw, span, whole]);
    const nearest = [Math.max(...[...starts].filter((at) => at <= span.start)), Math.min(...[...ends].filter((at) => at >= span.end))];
    assert.deepEqual([whole.start, whole.end], nearest, shown);
    assert.deepEqual(wholeWords(raw, runs, whole, wordSegmenter(language)), whole, shown);
    const points = [toCodePoints(raw, whole.start), toCodePoints(raw, whole.end)];
    assert.equal([...raw].slice(...points).join(""), raw.slice(whole.start, whole.end), shown);
    grown += whole.start < span.start || whole.end > span.end ? 1 : 0;
  }
  assert.ok(grown > 150, String(grown));
});

test("a response that is set aside has no missing answers", () => {
  const view = views.reviews();
  const answers = createAnswers(null);
  assert.equal(problems({ view, answers }).length, 15);
  answers.put(["set_aside", "B"], "unsuitable", "set aside");
  assert.equal(problems({ view, answers }).length, 10);
  assert.ok(isComplete({ view, answers }, "B"));
});

test("zero is an answer", () => {
  const view = views.conversation();
  const answers = createAnswers({ ratings: { A: { fluency: 0 } } });
  assert.ok(!problems({ view, answers }).some(({ id }) => id === "A:fluency"));
});

test("an optional question may stay empty", () => {
  assert.ok(!problems({ view: views.conversation(), answers: createAnswers(null) }).some(({ id }) => id === "A:effort"));
});

test("an explanation needs its reason and its number of words", () => {
  const view = views.dialogue();
  const answers = createAnswers(null);
  const about = () => problems({ view, answers }).find(({ id }) => id === "A:appropriate")?.problem;
  answers.rate("A", "appropriate", "no", "a");
  assert.equal(about(), "needs a reason or a few words");
  answers.setText("A", "appropriate", "no", "too short");
  assert.equal(about(), "needs at least 3 words (now 2)");
  answers.setText("A", "appropriate", "no", "word ".repeat(31));
  assert.equal(about(), "takes at most 30 words (now 31)");
  answers.setText("A", "appropriate", "no", "just long enough");
  assert.equal(about(), undefined);
  answers.setText("A", "appropriate", "no", "");
  answers.setReasons("A", "appropriate", "no", ["r1"], "r");
  assert.equal(about(), undefined);
  answers.rate("A", "appropriate", "unknown", "a");
  assert.equal(about(), "needs an explanation");
});

test("best needs a response unless none of them is an answer", () => {
  const strict = views.dialogue();
  assert.ok(problems({ view: strict, answers: createAnswers({ ratings: { item: { best: [] } } }) }).some(({ id }) => id === "item:best"));
  const lenient = views.succession();
  assert.ok(!problems({ view: lenient, answers: createAnswers({ ratings: { item: { best: [] } } }) }).some(({ id }) => id === "item:best"));
});

test("digits are read from the key or, without Shift, from its place", () => {
  assert.equal(digitOf({ key: "5" }), 5);
  assert.equal(digitOf({ key: "&", code: "Digit1" }), 1);
  assert.equal(digitOf({ key: "!", code: "Digit1", shiftKey: true }), null);
  assert.equal(digitOf({ key: "a", code: "KeyA" }), null);
});

test("shortcuts are keys by their place on keyboards of another script", () => {
  const keys = [["j", "KeyJ"], ["J", "KeyJ"], ["ت", "KeyJ"], ["О", "KeyJ"], ["ئ", "KeyZ"], ["ё", "Backquote"]];
  assert.deepEqual(keys.map(([key, code]) => characterOf({ key, code })), ["j", "j", "j", "j", "z", "ё"]);
  assert.deepEqual([["z", "KeyY"], ["ğ", "KeyE"], ["é", "Digit2"]].map(([key, code]) => characterOf({ key, code })), ["z", "ğ", "é"]);
  assert.equal(characterOf({ key: "؟", code: "Slash" }), "?");
});

class MemoryStorage {
  map = new Map();
  get length() { return this.map.size; }
  key(i) { return [...this.map.keys()][i]; }
  getItem(key) { return this.map.get(key) ?? null; }
  setItem(key, value) { this.map.set(key, value); }
  removeItem(key) { this.map.delete(key); }
}

test("a reload keeps the pen, another tab gets its own", () => {
  const storage = new MemoryStorage();
  const session = () => storage;
  const first = penOf({}, session, "navigate");
  assert.equal(penOf({}, session, "reload"), first);
  assert.notEqual(penOf({}, session, "navigate"), first);
});

test("the same document keeps its pen, also where storage is forbidden", () => {
  const forbidden = () => { throw new Error("forbidden"); };
  for (const session of [() => new MemoryStorage(), forbidden]) {
    const page = {};
    assert.equal(penOf(page, session, "navigate"), penOf(page, session, "reload"));
  }
});

test("a random id is 128 bits as hex", () => {
  assert.match(randomId(), /^[0-9a-f]{32}$/);
});

test("only this assignment's drafts are found, old ones of other people are removed", () => {
  const storage = new MemoryStorage();
  let now = 1_000_000_000;
  const local = createLocalDrafts(() => storage, () => now);
  local.write(localKey("this", "p"), { base: 1, seq: 2, draft: { note: "x" } });
  local.write(localKey("other", "p"), { base: 1, seq: 2, draft: { note: "y" } });
  storage.setItem("unrelated", "text");
  assert.equal(local.find("this").draft.note, "x");
  assert.equal(local.find("none"), null);
  now += 8 * 24 * 3600 * 1000;
  local.sweep("this"); // its clock may have been wrong before
  assert.equal(local.find("this").draft.note, "x");
  local.sweep("somebody else");
  assert.deepEqual([...storage.map.keys()], ["unrelated"]);
});

test("a full storage raises no error", () => {
  const local = createLocalDrafts(() => ({ setItem() { throw new Error("full"); } }));
  assert.equal(local.write("k", { draft: {} }), false);
});

test("a local draft is adopted when nothing was stored since", () => {
  assert.equal(judgeLocal(null, 3, false), "none");
  assert.equal(judgeLocal({ base: 3 }, 3, false), "adopt");
  assert.equal(judgeLocal({ base: 2 }, 3, false), "choose");
  assert.equal(judgeLocal({ base: 2 }, 3, true), "same");
});

test("idle and hidden time is not counted", () => {
  let now = 0;
  const activity = createActivity(() => now);
  now += 10_000; activity.mark();
  now += 600_000; activity.mark();
  now += 5_000; activity.mark();
  activity.setHidden(true);
  now += 30_000;
  activity.setHidden(false);
  assert.equal(activity.seconds(), 15);
});

test("a pause is due once after 45 minutes", () => {
  let now = 0;
  const activity = createActivity(() => now);
  for (let minute = 0; minute < 45; minute += 1) { now += 60_000; activity.mark(); }
  assert.ok(activity.pauseDue());
  assert.ok(!activity.pauseDue());
});

test("a break restarts the count to the pause", () => {
  let now = 0;
  const activity = createActivity(() => now);
  for (let minute = 0; minute < 44; minute += 1) { now += 60_000; activity.mark(); }
  now += 400_000; activity.mark();
  now += 60_000; activity.mark();
  assert.ok(!activity.pauseDue());
});

test("a reservation is renewed every five minutes at most", () => {
  let now = 0;
  const activity = createActivity(() => now);
  now += 299_000;
  assert.ok(!activity.renewDue());
  now += 2_000;
  assert.ok(activity.renewDue());
  assert.ok(!activity.renewDue());
});

test("a submit is repeated with the same id until it is answered", () => {
  const sent = [];
  let repeat = null;
  const submission = createSubmission((action) => sent.push(action.submission), { later: (fn) => (repeat = fn), cancel: () => (repeat = null) });
  submission.start({ submission: "s1", assignment: "t1" });
  repeat();
  repeat();
  assert.deepEqual(sent, ["s1", "s1", "s1"]);
  assert.equal(submission.answeredBy({ work: { receipt: null, token: "t1" } }), false);
  assert.equal(submission.answeredBy({ work: { receipt: "s1", token: "t1" } }), true);
  assert.equal(submission.answeredBy({ work: { receipt: null, token: "t2" } }), true);
  submission.stop();
  assert.equal(repeat, null);
});

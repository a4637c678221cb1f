// Building blocks of instructions: scales with the meaning of their points, reminders, rated examples. Used by the page
// before the first item and by the workbench's guidelines.

import { chat, exampleContext } from "./context.js";
import { h, nameOf, nounOf, words } from "./dom.js";
import { _, around, keepOriginal, language, ngettext } from "./language.js";
import { isNumeric, optionsOf } from "./scale.js";

/** @import { Criterion, Formats, Label, Leaving, Option, RatedExample, Rubric, Scale } from "./types.js" */

/** @param {...string} parts */
export const joined = (...parts) => parts.filter(Boolean).join(": ");

/** Whether a rubric's texts are in the page's language, apart from missing translations. @param {Rubric} rubric */
const isTranslated = ({ wording }) => !wording || wording.split("-", 1)[0] === language();

/** @param {unknown} part @returns {string[]} */
const textsIn = (part) => {
  if (typeof part === "string") return part ? [part] : [];
  return part && typeof part === "object" ? Object.values(part).flatMap(textsIn) : [];
};

/**
 * Marks the texts that get a lang attribute, since they are in another language than the page; examples always are.
 * @param {Rubric} rubric
 */
export function markOriginals(rubric) {
  const { criteria, language: code, training, untranslated, worked_example: worked } = rubric;
  const rated = [worked, ...training].flatMap((example) => example?.scores ?? []);
  const reasons = [...rated, ...criteria.flatMap(({ examples }) => examples.flatMap(({ candidates }) => candidates))];
  const others = () => [...untranslated ?? [], ...reasons.map(({ reason }) => reason)];
  keepOriginal(code, code.split("-", 1)[0] === language() ? [] : isTranslated(rubric) ? others() : textsIn(rubric));
}

/** A note that some of the wording is in another language than the page. @param {Rubric} rubric */
export const untranslatedNote = (rubric) => (rubric.untranslated?.length || !isTranslated(rubric) ? h("p", {
  class: "tw-aside",
  text: _("This study's wording is not, or not all, translated into your language. What is missing is shown in the original language."),
}) : null);

// ---- scales

/** @param {Option} option */
const isHalf = ({ value }) => typeof value === "number" && !Number.isInteger(value);

/** The criteria with numeric scales, grouped by the numbers, since equal scales are shown once. @param {Rubric} rubric */
function numericGroups({ criteria }) {
  const numeric = criteria.filter(({ scale }) => isNumeric(scale) && optionsOf(scale).length > 0);
  /** @param {Criterion} criterion */
  const numbersOf = ({ scale }) => JSON.stringify(optionsOf(scale).map(({ value, sparing }) => [value, sparing]));
  return [...Map.groupBy(numeric, numbersOf).values()];
}

/** @param {Scale} scale */
const namesOf = (scale) => JSON.stringify(optionsOf(scale).map(({ title }) => title));

/** A point as it appears at a question. @param {Option} option */
const cell = ({ value, sparing = false }) =>
  h("span", { class: `tw-cell${sparing ? " tw-sparing" : ""}` }, h("span", { class: "tw-mark", text: String(value) }));

/** @param {Option} option @param {(string | HTMLElement)[]} explanation */
const legendLine = (option, ...explanation) => h("div", { class: "tw-legend" }, cell(option), h("p", {}, explanation));

/** @param {string} text */
const strong = (text) => h("strong", { text });

/**
 * A numeric scale with the names of its points, and an explanation of dashed and half points.
 * @param {Rubric} rubric
 */
export function scaleSections(rubric) {
  const groups = numericGroups(rubric);
  return groups.map((criteria) => {
    const { scale } = criteria[0];
    const options = optionsOf(scale);
    const isShared = criteria.every((criterion) => namesOf(criterion.scale) === namesOf(scale));
    const title = groups.length === 1 ? _("The scale")
      : _("The scale of {criteria}", { criteria: criteria.map((each) => each.title).join(", ") });
    const sparing = options.find((option) => option.sparing);
    const half = options.find((option) => isHalf(option) && !option.sparing);
    const note = scale.kind === "likert" ? scale.sparing_note : "";
    const row = h("div", { class: "tw-scale-row" }, options.map((option) => h("div", {},
      cell(option), words(option.title, { class: "tw-scale-name" }, "span"))));
    return h("section", { class: "tw-scale-section" }, h("h3", { dir: "auto", text: title }),
      isShared ? null : h("p", { class: "tw-aside", dir: "auto", text: _("For example, {criterion}:", { criterion: criteria[0].title }) }),
      row,
      sparing ? legendLine(sparing, strong(_("Dashed means: use sparingly.")), " ", note) : null,
      half ? legendLine(half, strong(_("Half points are ordinary answers.")), " ",
        _("Give one where your answer is between the two points next to it.")) : null);
  });
}

/** The meaning of a question's answers. @param {Scale} scale */
export function meaningsOf(scale) {
  const options = optionsOf(scale).filter(({ title, definition }) => title || definition);
  if (!options.length) return null;
  const named = isNumeric(scale);
  return h("dl", { class: "tw-meanings", role: "note" }, options.map(({ value, title, definition }) => h("div", {},
    named ? h("dt", { text: String(value) }) : words(title, {}, "dt"),
    words(joined(named ? title : "", definition), {}, "dd"))));
}

// ---- what is judged, and reminders

/** @param {Rubric} rubric */
export function judgedList({ criteria }) {
  return h("dl", { class: "tw-judged-list" }, criteria.map(({ title, question, definition, note, scale }) => h("div", {},
    words(title, {}, "dt"),
    h("dd", {},
      question ? words(question, {}, "span") : null, " ",
      words(definition, { class: "tw-aside" }, "span"),
      note ? words(note, { class: "tw-note" }) : null,
      scale.kind === "choice" ? meaningsOf(scale) : null))));
}

/** @param {Leaving | null} leaving @param {string} then */
const leavingLine = (leaving, then) =>
  leaving && h("li", {}, words(leaving.title, { class: "tw-strong" }, "span"), `: ${then}`);

/** @param {Rubric} rubric */
export function reminders(rubric) {
  const { skip, ignore_item: ignore, set_aside_response: aside, highlights, explanation, criteria } = rubric;
  const options = criteria.flatMap(({ scale }) => optionsOf(scale));
  const apart = options.find((option) => option.apart);
  const asks = options.some(({ ask }) => ask);
  const inContext = highlights.filter(({ marked_in: place }) => place === "context");
  const { min_words: low, max_words: high, sample } = explanation;
  return h("ul", { class: "tw-reminders" },
    rubric.guidelines.map(({ title, text }) => h("li", {},
      words(title, { class: "tw-strong" }, "span"), ": ", words(text.replaceAll(/\s*\n\s*/g, " "), {}, "span"))),
    apart ? h("li", {}, around(
      _("{answer} is an answer like the others. What it means is written at each question."),
      { answer: words(quoted(apart.title), { class: "tw-strong" }, "span") })) : null,
    asks ? h("li", {}, strong(_("Some answers ask why.")), " ",
      low ? ngettext("Tick a reason, or write {low} to {count} word.", "Tick a reason, or write {low} to {count} words.", high, { low })
        : ngettext("Tick a reason, or write up to {count} word.", "Tick a reason, or write up to {count} words.", high), " ",
      sample ? sampleLine(sample) : null) : null,
    leavingLine(ignore, _("leaves the whole item out.")), leavingLine(aside, _("leaves one out; rate the others.")),
    leavingLine(skip, _("it goes to somebody else.")),
    highlights.length ? h("li", {}, strong(_("Highlighting:")), " ", around(_("{labels}; welcome, never required."),
      { labels: titlesOf(highlights) }), inContext.length ? " " : null,
    ...(inContext.length ? around(_("Mark {labels} in the text that comes with the item, not in what you rate."),
      { labels: titlesOf(inContext) }) : [])) : null);
}

/** @param {Label[]} labels */
const titlesOf = (labels) => words(labels.map(({ title }) => title).join(", "), {}, "span");

/** A text in the language's quotation marks. @param {string} text */
const quoted = (text) => _("“{text}”", { text });

/** @param {string} sample */
export const sampleLine = (sample) =>
  h("span", { class: "tw-sample" }, around(_("For example: {text}"), { text: words(quoted(sample), {}, "span") }));

// ---- rated examples

/** @type {Formats} */
const PLAIN = { context: "plain", responses: "plain", extra_texts: "plain" };

/** An item with its scores and the reasons for them. @param {RatedExample} example @param {Rubric} rubric */
export function ratedExample({ context, candidates, scores }, { judged, language }) {
  const noun = nounOf({ judged });
  const several = candidates.length > 1;
  const texts = candidates.map(({ letter, text, turns }) => h("div", {},
    h("h4", { text: several ? nameOf(letter, false, noun) : _(noun) }),
    turns.length ? chat(turns, "plain", language)
      : words(text ?? "", { class: "tw-example-text", lang: language || null })));
  const rows = scores.map(({ criterion, slot, score, reason }) => h("tr", {},
    h("th", { scope: "row", dir: "auto", text: several && slot ? `${slot} · ${criterion}` : criterion }),
    h("td", {}, words(score, { class: "tw-given" }, "span"), " ", words(reason, {}, "span"))));
  return h("div", { class: "tw-example tw-rated" },
    context ? exampleContext(context, PLAIN, language) : null, texts,
    h("table", { "aria-label": _("The scores of the example and why") }, h("tbody", {}, rows)));
}

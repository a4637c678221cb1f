// What is shown next to the responses: a dialogue as a chat, a text with stars and facts, or the feedback of training.

import { h, quietButton, words } from "./dom.js";
import { _, message } from "./language.js";
import { noteOn, prose } from "./texts/formatting.js";
import { blocks } from "./texts/textpoints.js";

/** @import { Format } from "./texts/formatting.js" */
/** @import { Context, Formats, Turn, View } from "./types.js" */
/** @typedef {(turn: number | null, label: string) => HTMLElement} BoxOf the box of a text in which passages are marked */

const LONG_TEXT = 20_000; // characters
const COLUMNS_BELOW = 900; // characters; a shorter text above the responses is set in two columns
const COLUMNS = [message("Criterion"), message("You"), message("Reference"), "", message("Why")];
/** @type {Record<string, string>} */
const VERDICTS = { same: message("same"), close: message("close"), different: message("different") };

/**
 * One turn as a bubble around its text.
 * @param {Turn} turn @param {HTMLElement} body
 */
const turnBubble = ({ speaker, side }, body) => h("div", { class: `tw-turn${side === "right" ? " tw-right" : ""}` },
  h("div", { class: "tw-speaker", dir: "auto", text: speaker }), body);

/** @param {Turn[]} turns @param {Format} format @param {string} language */
export const chat = (turns, format, language) => h("div", { class: "tw-chat" }, turns.map((turn) =>
  turnBubble(turn, prose(turn.text, format, { class: "tw-bubble", lang: language || null }))));

/**
 * A text; a very long one is split into blocks, which the browser lays out only when they are scrolled into view.
 * @param {string} text @param {Format} format @param {string} language
 */
function longText(text, format, language) {
  const note = noteOn(text, format);
  const isFormatted = format === "markdown" && !note;
  const attributes = { class: "tw-prose", lang: language || null };
  if (isFormatted || text.length < LONG_TEXT) return prose(text, format, attributes);
  return h("div", { ...attributes, data: { written: note } },
    blocks(text).map((block) => words(block, { class: "tw-block" })));
}

/** @param {number} number */
function stars(number) {
  const full = Math.round(number);
  return h("div", { class: "tw-stars", role: "img", "aria-label": _("{number} of 5 stars", { number }) },
    "★".repeat(full), h("span", { class: "tw-stars-off", text: "★".repeat(Math.max(0, 5 - full)) }));
}

/** @param {Context} context */
const contextHead = ({ title, stars: rating, facts }) => [
  h("h2", { class: "tw-panel-title", dir: "auto", text: title }),
  rating === null ? null : stars(rating),
  facts.length ? h("dl", { class: "tw-facts" }, facts.map((fact) =>
    h("div", {}, h("dt", { dir: "auto", text: fact.title }), words(fact.value, {}, "dd")))) : null,
];

/** @param {Turn[]} turns @param {BoxOf} boxOf @param {string} name */
export const markedChat = (turns, boxOf, name) => turns.map((turn, i) => {
  const body = boxOf(i, _("{name}, turn {number}", { name, number: i + 1 }));
  body.classList.add("tw-bubble");
  return turnBubble(turn, body);
});

/** @param {Context} context @param {Formats} formats @param {string} language @param {BoxOf | null} boxOf */
const contextTexts = ({ title, text, turns, extra_texts: extras }, formats, language, boxOf = null) => [
  text ? boxOf?.(null, title) ?? longText(text, formats.context, language) : null,
  turns.length && boxOf ? h("div", { class: "tw-chat" }, markedChat(turns, boxOf, title)) : null,
  turns.length && !boxOf ? chat(turns, formats.context, language) : null,
  ...extras.flatMap((extra) => [
    h("h3", { class: "tw-extra-title", dir: "auto", text: extra.title }),
    longText(extra.text, formats.extra_texts, language),
  ]),
];

/**
 * @param {Context} context @param {Formats} formats @param {string} language
 * @param {BoxOf | null} boxOf where passages of it are marked
 */
export function contextPanel(context, formats, language, boxOf) {
  const { title, text, turns, extra_texts: extras } = context;
  const isShort = text !== null && text.length < COLUMNS_BELOW && !turns.length && !extras.length
    && formats.context === "plain";
  return h("section", { class: `tw-context${isShort ? " tw-short" : ""}` },
    h("div", { class: "tw-context-head" }, contextHead(context),
      quietButton(_("Show in full"), { data: { "tw-context-more": "1" }, hidden: true, "aria-expanded": "false" })),
    h("div", { class: "tw-context-body", tabindex: "0", role: "region", "aria-label": title },
      contextTexts(context, formats, language, boxOf)));
}

/**
 * The context of a rated example, in full.
 * @param {Context} context
 * @param {Formats} formats
 * @param {string} language
 */
export const exampleContext = (context, formats, language) =>
  h("div", {}, h("div", { class: "tw-context-head" }, contextHead(context)), contextTexts(context, formats, language));

/** Training: the annotator's answers next to the reference answers, with their reasons. @param {View} view */
export function feedbackTable({ feedback, item, rubric }) {
  const titles = Object.fromEntries(rubric.criteria.map(({ key, title }) => [key, title]));
  const several = item.candidates.length > 1;
  const rows = feedback?.rows.map(({ criterion, slot, given: answer, reference, verdict, reason }) => {
    const title = titles[criterion] ?? criterion;
    return h("tr", {},
      h("th", { scope: "row", dir: "auto", text: several && slot ? `${slot} · ${title}` : title }),
      words(answer, {}, "td"), words(reference, {}, "td"),
      h("td", {}, h("span", { class: `tw-verdict tw-verdict-${verdict}`, text: _(VERDICTS[verdict] ?? verdict) })),
      words(reason, { lang: rubric.language || null }, "td"));
  });
  return h("section", { class: "tw-feedback", "aria-label": _("Feedback"), data: { "tw-feedback": "1" } },
    h("h2", { class: "tw-panel-title", text: _("Your answers and the reference") }),
    h("table", {},
      h("thead", {}, h("tr", {}, COLUMNS.map((text) => h("th", { scope: "col", text: text && _(text) })))),
      h("tbody", {}, rows)));
}

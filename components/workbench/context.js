// What is shown next to the responses: a dialogue as a chat, a text with stars and facts, or a training's feedback.

import { h, words } from "./dom.js";
import { blocks } from "./textpoints.js";

/** @import { Context, Turn, View } from "./types.js" */

const LONG_TEXT = 20_000; // characters
const COLUMNS = ["Criterion", "You", "Reference", "", "Why"];

/**
 * One turn as a bubble; `body` replaces its text where it is judged.
 * @param {Turn} turn @param {string | null} language
 */
export function turnBubble(turn, language, body = words(turn.text, { class: "tw-bubble", lang: language || null })) {
  const side = turn.side === "right" ? "tw-right" : "tw-left";
  return h("div", { class: `tw-turn ${side}` },
    h("div", { class: "tw-speaker", dir: "auto", text: turn.speaker }), body);
}

/** @param {Turn[]} turns @param {string | null} language */
export const chat = (turns, language) =>
  h("div", { class: "tw-chat" }, turns.map((turn) => turnBubble(turn, language)));

/**
 * A text; a very long one in few blocks, which the browser lays out only when they come into view.
 * @param {string} text @param {string} language
 */
function longText(text, language) {
  if (text.length < LONG_TEXT) return words(text, { class: "tw-prose", lang: language || null });
  return h("div", { class: "tw-prose", lang: language || null },
    blocks(text).map((block) => words(block, { class: "tw-block" })));
}

/** @param {number} number */
function stars(number) {
  const full = Math.round(number);
  return h("div", { class: "tw-stars", role: "img", "aria-label": `${number} of 5 stars` },
    "★".repeat(full), h("span", { class: "tw-stars-off", text: "★".repeat(Math.max(0, 5 - full)) }));
}

/** @param {Context} context @param {string} language */
export function contextPanel({ title, text, turns, stars: rating, facts, extra_texts: extras }, language) {
  return h("section", { class: "tw-context", tabindex: "0", "aria-label": title },
    h("h2", { class: "tw-panel-title", dir: "auto", text: title }),
    rating === null ? null : stars(rating),
    facts.length ? h("dl", { class: "tw-facts" }, facts.map((fact) =>
      h("div", {}, h("dt", { dir: "auto", text: fact.title }), words(fact.value, {}, "dd")))) : null,
    text ? longText(text, language) : null,
    turns.length ? chat(turns, language) : null,
    extras.flatMap((extra) => [
      h("h3", { class: "tw-extra-title", dir: "auto", text: extra.title }), longText(extra.text, language),
    ]));
}

/** Training: the annotator's answers next to the reference, with its reason. @param {View} view */
export function feedbackTable({ feedback, item, rubric }) {
  const titles = Object.fromEntries(rubric.criteria.map(({ key, title }) => [key, title]));
  const several = item.candidates.length > 1;
  const rows = feedback?.rows.map(({ criterion, slot, given: answer, reference, verdict, reason }) => {
    const title = titles[criterion] ?? criterion;
    return h("tr", {},
      h("th", { scope: "row", dir: "auto", text: several && slot ? `${slot} · ${title}` : title }),
      words(answer, {}, "td"), words(reference, {}, "td"),
      h("td", {}, h("span", { class: `tw-verdict tw-verdict-${verdict}`, text: verdict })),
      words(reason, {}, "td"));
  });
  return h("section", { class: "tw-feedback", "aria-label": "Feedback", data: { "tw-feedback": "1" } },
    h("h2", { class: "tw-panel-title", text: "Your answers and the reference" }),
    h("table", {},
      h("thead", {}, h("tr", {}, COLUMNS.map((text) => h("th", { scope: "col", text })))),
      h("tbody", {}, rows)));
}

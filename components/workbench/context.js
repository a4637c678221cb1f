// What stands beside the responses: a dialogue as a chat, or a text with stars and facts.

import { h, words } from "./dom.js";
import { blocks } from "./textpoints.js";

const LONG = 20_000;

/** One turn as a bubble; `body` replaces its text where it is judged. */
export function turnBubble(turn, language, body = null) {
  const side = turn.side === "right" ? "tw-right" : "tw-left";
  return h("div", { class: `tw-turn ${side}` },
    h("div", { class: "tw-speaker", dir: "auto", text: turn.speaker }),
    body ?? words(turn.text, { class: "tw-bubble", lang: language || null }));
}

/** A text; a very long one in few blocks, which the browser lays out only when they come into view. */
function longText(text, language) {
  if (text.length < LONG) return words(text, { class: "tw-prose", lang: language || null });
  return h("div", { class: "tw-prose", lang: language || null },
    blocks(text).map((block) => words(block, { class: "tw-block" })));
}

function stars(number) {
  const full = Math.round(number);
  return h("div", { class: "tw-stars", role: "img", "aria-label": `${number} of 5 stars` },
    "★".repeat(full), h("span", { class: "tw-stars-off", text: "★".repeat(Math.max(0, 5 - full)) }));
}

function facts(list) {
  return h("dl", { class: "tw-facts" }, list.map(({ title, value }) =>
    h("div", {}, h("dt", { dir: "auto", text: title }), words(value, {}, "dd"))));
}

export function contextPanel(context, language) {
  const parts = [h("h2", { class: "tw-panel-title", dir: "auto", text: context.title })];
  if (context.stars !== null && context.stars !== undefined) parts.push(stars(context.stars));
  if (context.facts?.length) parts.push(facts(context.facts));
  if (context.text) parts.push(longText(context.text, language));
  if (context.turns?.length) {
    parts.push(h("div", { class: "tw-chat" }, context.turns.map((turn) => turnBubble(turn, language))));
  }
  for (const extra of context.extra_texts ?? []) {
    parts.push(h("h3", { class: "tw-extra-title", dir: "auto", text: extra.title }), longText(extra.text, language));
  }
  return h("section", { class: "tw-context", tabindex: "0", "aria-label": context.title }, parts);
}

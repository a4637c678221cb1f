// The page before the first item, which Streamlit mounts as a component of its own: what is judged and how. The lead's
// texts come first; a tick and Start go on.

import { button, h, part, words } from "./dom.js";
import { judgedList, ratedExample, reminders, scaleSections } from "./teaching.js";

/** @import { Component, Instructions } from "./types.js" */

const KEYS = [
  [["1", "2", "3"], "answer, then the next question"], [["J", "K"], "next and previous question"],
  [["H"], "then a digit: highlight"], [["U"], "undo"], [["G"], "this page again"], [["Ctrl", "Enter"], "submit"],
  [["?"], "all keys"],
];
const AGAIN_MS = 4000; // Streamlit drops an event while its websocket is down

/** @param {number} minutes */
function duration(minutes) {
  if (minutes < 60) return `${Math.max(1, Math.round(minutes))} min`;
  const quarters = Math.round(minutes / 15);
  return [`${Math.floor(quarters / 4)} h`, quarters % 4 ? `${(quarters % 4) * 15} min` : ""].join(" ").trim();
}

/** @param {Instructions} instructions */
function factsOf({ items, minutes, pay, training }) {
  return [
    training ? `${training} practice ${training === 1 ? "item" : "items"} with feedback` : "",
    `up to ${items} ${items === 1 ? "item" : "items"}`,
    minutes === null ? "" : `about ${duration(minutes)} each, ${duration(minutes * items)} in all`,
    pay && `${pay} per item`,
    "stop and return whenever you like",
  ].filter(Boolean);
}

/** @param {string} title @param {...(Node | string | null)} content */
const section = (title, ...content) => h("section", {}, h("h3", { text: title }), ...content);

/** @param {Instructions} instructions */
export function instructionsPage(instructions) {
  const { rubric, own, contact, changed, study } = instructions;
  const tick = h("input", { type: "checkbox", data: { "tw-read": "1" } });
  const start = button(changed ? "Continue" : "Start", { class: "tw-button tw-primary", disabled: true, data: { "tw-start": "1" } });
  tick.addEventListener("change", () => (start.disabled = !tick.checked));
  const changes = "The lead has changed the wording since you read this page. What you have rated stays as it is.";
  const page = h("article", { class: "tw-teach", lang: rubric.language || null },
    h("h1", { class: "tw-aside", dir: "auto", text: study }),
    h("h2", { class: "tw-teach-title", tabindex: "-1", text: "What you do here" }),
    changed ? h("p", { class: "tw-banner", role: "status", text: changes }) : null,
    own.map(({ title, text }) => h("section", { class: "tw-own" }, h("h3", { text: title }), words(text))),
    words(rubric.instructions, { class: "tw-task" }),
    h("p", { class: "tw-facts-line" }, factsOf(instructions).map((text) => h("span", { text }))),
    h("div", { class: "tw-teach-columns" },
      h("div", {}, scaleSections(rubric), section("What you judge", judgedList(rubric))),
      h("div", {},
        rubric.worked_example ? section("A worked example", ratedExample(rubric.worked_example, rubric),
          h("p", { class: "tw-aside", text: "What matters is the same yardstick from item to item." })) : null,
        section("Please remember", reminders(rubric)),
        contact ? section("Questions?", words(contact)) : null)),
    h("section", { class: "tw-teach-keys" }, h("h3", { text: "Keys, if you like them" }),
      h("dl", {}, KEYS.map(([keys, effect]) => h("div", {},
        h("dt", {}, [...keys].map((key) => h("kbd", { text: key }))), h("dd", { text: String(effect) }))))),
    h("footer", { class: "tw-teach-foot" },
      h("label", { class: "tw-reason" }, tick, h("span", { class: "tw-strong", text: "I have read this" })),
      start,
      h("span", { class: "tw-aside tw-wide-only", text: "All of it stays under Guidelines while you work." })));
  return { page, start };
}

/** @param {Component<string, string>} component */
export default function instructions({ parentElement, data, setTriggerValue }) {
  if (parentElement.dataset.instructions === data) return;
  parentElement.dataset.instructions = data;
  /** @type {Instructions} */
  const content = JSON.parse(data);
  const { page, start } = instructionsPage(content);
  start.addEventListener("click", () => {
    start.disabled = true;
    setTimeout(() => (start.disabled = false), AGAIN_MS);
    setTriggerValue("read", content.version);
  });
  const root = h("div", { class: "tw" }, page);
  parentElement.querySelector(".tw")?.remove();
  parentElement.append(root);
  if (document.activeElement === document.body) part(root, ".tw-teach-title").focus({ preventScroll: true });
}

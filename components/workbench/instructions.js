// The page before the first item: what is judged and how. The lead's own texts come first; a checkbox and Start
// continue. Streamlit mounts it as a separate component.

import { button, h, part, words } from "./dom.js";
import { _, direction, language, ngettext, speak } from "./language.js";
import { judgedList, markOriginals, ratedExample, reminders, scaleSections, untranslatedNote } from "./teaching.js";

/** @import { Component, Instructions } from "./types.js" */

/** The most useful keys and their functions. @returns {[string[], string][]} */
const keyList = () => [
  [["1", "2", "3"], _("answer, then the next question")], [["J", "K"], _("next and previous question")],
  [["H"], _("then a digit: highlight")], [["U"], _("undo")], [["G"], _("this page again")], [["Ctrl", "Enter"], _("submit")],
  [["?"], _("all keys")],
];
const AGAIN_MS = 4000; // Streamlit drops an event while its websocket is down

/** Rounds as `duration` does, so that the times of one item and of all items match. @param {number} minutes */
const rounded = (minutes) => (minutes < 1.5 ? Math.max(1, Math.round(minutes * 12)) / 12 : Math.round(minutes));

/** @param {number} minutes */
function duration(minutes) {
  if (minutes <= 1.5) return _("{seconds} s", { seconds: Math.round(minutes * 60) });
  if (minutes < 60) return _("{minutes} min", { minutes: Math.round(minutes) });
  const quarters = Math.round(minutes / 15);
  const values = { hours: Math.floor(quarters / 4), minutes: (quarters % 4) * 15 };
  return values.minutes ? _("{hours} h {minutes} min", values) : _("{hours} h", values);
}

/** @param {Instructions} instructions */
export function factsOf({ items, minutes, pay, training }) {
  const each = rounded(minutes ?? 0);
  return [
    training ? ngettext("{count} practice item with feedback", "{count} practice items with feedback", training) : "",
    ngettext("up to {count} item", "up to {count} items", items),
    minutes === null ? "" : _("about {each} each, {all} in all", { each: duration(each), all: duration(each * items) }),
    pay && _("{pay} per item", { pay }),
    _("stop and return whenever you like"),
  ].filter(Boolean);
}

/** @param {string} title @param {...(Node | string | null)} content */
const section = (title, ...content) => h("section", {}, h("h3", { text: title }), ...content);

/** @param {Instructions["own"][number]} text */
const ownText = ({ title, text }) => h("section", { class: "tw-own" }, h("h3", { text: title }), words(text));

/** @param {Instructions} instructions */
export function instructionsPage(instructions) {
  const { rubric, own, contact, changed, study } = instructions;
  markOriginals(rubric);
  const tick = h("input", { type: "checkbox", data: { "tw-read": "1" } });
  const start = button(changed ? _("Continue") : _("Start"), { class: "tw-button tw-primary", disabled: true, data: { "tw-start": "1" } });
  tick.addEventListener("change", () => (start.disabled = !tick.checked));
  const task = words(rubric.instructions, { class: "tw-task" });
  const remember = reminders(rubric);
  if (contact) {
    remember.append(h("li", {}, h("strong", { text: _("Questions?") }), " ", words(contact, {}, "span")));
  }
  const changes = _("The lead has changed the wording since you read this page. What you have rated stays as it is.");
  const page = h("article", { class: "tw-teach" },
    h("h1", { class: "tw-aside", dir: "auto", text: study }),
    h("h2", { class: "tw-teach-title", tabindex: "-1", text: _("What you do here") }),
    changed ? h("p", { class: "tw-banner", role: "status", text: changes }) : null,
    untranslatedNote(rubric),
    own.length ? h("div", { class: "tw-teach-columns" }, h("div", {}, own.map(ownText)), task) : task,
    h("p", { class: "tw-facts-line" }, factsOf(instructions).map((text) => h("span", { text }))),
    h("div", { class: "tw-teach-columns" },
      h("div", {}, scaleSections(rubric), section(_("What you judge"), judgedList(rubric))),
      h("div", {},
        rubric.worked_example ? section(_("A worked example"), ratedExample(rubric.worked_example, rubric),
          h("p", { class: "tw-aside", text: _("What matters is the same yardstick from item to item.") })) : null)),
    h("section", { class: "tw-remember" }, h("h3", { text: _("Please remember") }), remember),
    h("section", { class: "tw-teach-keys" }, h("h3", { text: _("Keys, if you like them") }),
      h("dl", {}, keyList().map(([keys, effect]) => h("div", {},
        h("dt", {}, [...keys].map((key) => h("kbd", { text: key }))), h("dd", { text: effect }))))),
    h("footer", { class: "tw-teach-foot" },
      h("label", { class: "tw-reason" }, tick, h("span", { class: "tw-strong", text: _("I have read this") })),
      start,
      h("span", { class: "tw-aside tw-wide-only", text: _("All of it stays under Guidelines while you work.") })));
  return { page, start };
}

/** @param {Component<string, string>} component */
export default async function instructions({ parentElement, data, setTriggerValue }) {
  if (parentElement.dataset.instructions === data) return;
  parentElement.dataset.instructions = data;
  /** @type {Instructions} */
  const content = JSON.parse(data);
  await speak(content.language);
  const { page, start } = instructionsPage(content);
  start.addEventListener("click", () => {
    start.disabled = true;
    setTimeout(() => (start.disabled = false), AGAIN_MS);
    setTriggerValue("read", content.version);
  });
  const root = h("div", { class: "tw-instructions tw", lang: language(), dir: direction() }, page);
  parentElement.querySelector(".tw")?.remove();
  parentElement.append(root);
  if (document.activeElement === document.body) part(root, ".tw-teach-title").focus({ preventScroll: true });
}

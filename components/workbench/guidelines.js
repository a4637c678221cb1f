// The guidelines next to the task.

import { chat } from "./context.js";
import { find, h, part, quietButton, words } from "./dom.js";
import { optionsOf } from "./scale.js";

/** @import { Criterion, Label, Page, Rubric, Scale } from "./types.js" */

/** @param {...string} parts */
const joined = (...parts) => parts.filter(Boolean).join(": ");

/** @param {Scale} scale */
function optionList(scale) {
  const options = optionsOf(scale).filter(({ title, definition }) => title || definition);
  if (!options.length) return null;
  const isChoice = scale.kind === "choice";
  return h("dl", { class: "tw-guide-points" }, options.map(({ value, title, definition }) => h("div", {},
    h("dt", {}, isChoice ? words(title, {}, "span") : String(value)),
    words(joined(isChoice ? "" : title, definition), {}, "dd"))));
}

/** @param {Criterion["examples"][number]} example */
function exampleBox({ context, candidates }) {
  return h("div", { class: "tw-example" },
    h("div", { class: "tw-example-lead", text: "Example" }),
    context.length ? chat(context, null) : null,
    candidates.map(({ text, rating, reason }) => h("div", { class: "tw-example-candidate" },
      words(text, { class: "tw-example-text" }),
      h("div", { class: "tw-example-rating" },
        words(rating, { class: "tw-strong" }, "span"), " ", words(reason, {}, "span")))));
}

/** @param {Criterion} criterion */
function criterionGuide({ key, title, question, definition, note, scale, examples }) {
  return h("section", { class: "tw-guide-criterion", data: { "tw-guide": key }, tabindex: "-1" },
    h("h3", { dir: "auto", text: title }),
    question ? words(question, { class: "tw-guide-question" }) : null,
    words(definition),
    note ? words(note, { class: "tw-guide-note" }) : null,
    optionList(scale),
    examples.map(exampleBox));
}

/** The number of a label on its colour; the first is 1. @param {number} number */
export const swatch = (number) => h("span", {
  class: "tw-swatch", style: `--tw-swatch: var(--label-${number - 1})`, "aria-hidden": "true", text: String(number),
});

/** @param {Label[]} labels */
function labelGuide(labels) {
  if (!labels.length) return null;
  return h("section", {}, h("h3", { text: "Highlights" }), h("dl", { class: "tw-guide-points" },
    labels.map(({ title, definition }, i) =>
      h("div", {}, h("dt", {}, swatch(i + 1)), words(joined(title, definition), {}, "dd")))));
}

/** @param {Rubric} rubric */
export function guidelinesPanel(rubric) {
  const data = { "tw-guidelines": "1" };
  return h("aside", { class: "tw-guidelines", "aria-label": "Guidelines", data, hidden: true },
    h("div", { class: "tw-guide-head" }, h("h2", { class: "tw-panel-title", tabindex: "-1", text: "Guidelines" }),
      quietButton("Close", { data: { "tw-guidelines-close": "1" } })),
    h("div", { class: "tw-guide-body" },
      words(rubric.instructions),
      rubric.guidelines.map(({ title, text }) => h("section", {}, h("h3", { dir: "auto", text: title }), words(text))),
      rubric.criteria.map(criterionGuide), labelGuide(rubric.highlights)));
}

/** @typedef {ReturnType<typeof createGuidelines>} Guidelines */

/** Opens and closes the panel. @param {{ page: () => Page, refocus: () => void }} needs */
export function createGuidelines({ page, refocus }) {
  /** @param {boolean} open */
  function setOpen(open) {
    const { guidelines, head } = page();
    guidelines.hidden = !open;
    part(head, "[data-tw-guidelines-open]").setAttribute("aria-expanded", String(open));
  }

  /** Opens them, at a criterion or at the top. */
  function open(criterion = "") {
    const { guidelines } = page();
    setOpen(true);
    const section = criterion ? find(guidelines, `[data-tw-guide="${CSS.escape(criterion)}"]`) : null;
    const body = part(guidelines, ".tw-guide-body");
    body.scrollTop = section ? section.offsetTop - body.offsetTop : 0;
    (section ?? part(guidelines, "h2")).focus({ preventScroll: true });
  }

  /** Closes them; returns whether they were open. */
  function close() {
    const { guidelines } = page();
    if (guidelines.hidden) return false;
    const hadFocus = guidelines.contains(document.activeElement);
    setOpen(false);
    if (hadFocus) refocus();
    return true;
  }

  return {
    open,
    close,
    toggle: () => close() || open(),

    /** Another item begins with the guidelines closed. */
    reset: () => setOpen(false),
  };
}

// The guidelines next to the task.

import { chat } from "./context.js";
import { find, h, inputs, part, quietButton, words } from "./dom.js";
import { _ } from "./language.js";
import { joined, meaningsOf, ratedExample, scaleSections, untranslatedNote } from "./teaching.js";

/** @import { Criterion, Label, Page, Rubric } from "./types.js" */
/** @import { Preferences } from "./store.js" */

/** @param {Criterion["examples"][number]} example @param {string} language */
function exampleBox({ context, candidates }, language) {
  return h("div", { class: "tw-example" },
    h("div", { class: "tw-example-lead", text: _("Example") }),
    context.length ? chat(context, "plain", language) : null,
    candidates.map(({ text, rating, reason }) => h("div", { class: "tw-example-candidate" },
      words(text, { class: "tw-example-text", lang: language || null }),
      h("div", { class: "tw-example-rating" },
        words(rating, { class: "tw-strong" }, "span"), " ", words(reason, {}, "span")))));
}

/** @param {Criterion} criterion @param {string} language of its examples */
function criterionGuide({ key, title, question, definition, note, scale, examples }, language) {
  return h("section", { class: "tw-guide-criterion", data: { "tw-guide": key }, tabindex: "-1" },
    h("h3", { dir: "auto", text: title }),
    question ? words(question, { class: "tw-guide-question" }) : null,
    words(definition),
    note ? words(note, { class: "tw-guide-note" }) : null,
    meaningsOf(scale),
    examples.map((example) => exampleBox(example, language)));
}

/** A label's number on its colour; the first is 1. @param {number} number */
export const swatch = (number) => h("span", {
  class: "tw-swatch", style: `--tw-swatch: var(--label-${number - 1})`, "aria-hidden": "true", text: String(number),
});

/** What a label means, and in which text it is used. @param {Label} label */
export const meaningOf = ({ definition, marked_in: place }) =>
  [definition, place === "context" ? _("For the text that comes with the item.") : ""].filter(Boolean).join(" ");

/** @param {Label[]} labels */
function labelGuide(labels) {
  if (!labels.length) return null;
  return h("section", {}, h("h3", { text: _("Highlights") }), h("dl", { class: "tw-meanings" },
    labels.map((label, i) =>
      h("div", {}, h("dt", {}, swatch(i + 1)), words(joined(label.title, meaningOf(label)), {}, "dd")))));
}

/** @param {Rubric} rubric */
export function guidelinesPanel(rubric) {
  /** @param {string} title @param {Rubric["training"]} list */
  const examples = (title, list) => (list.length
    ? h("section", {}, h("h3", { text: title }), list.map((example) => ratedExample(example, rubric))) : null);
  const data = { "tw-guidelines": "1" };
  return h("aside", { class: "tw-guidelines", "aria-label": _("Guidelines"), data, hidden: true },
    h("div", { class: "tw-guide-head" }, h("h2", { class: "tw-panel-title", tabindex: "-1", text: _("Guidelines") }),
      h("label", { class: "tw-keep-open" }, h("input", { type: "checkbox", data: { "tw-keep-open": "1" } }), _("Keep open")),
      quietButton(_("Close"), { data: { "tw-guidelines-close": "1" } })),
    h("div", { class: "tw-guide-body" },
      untranslatedNote(rubric),
      words(rubric.instructions),
      rubric.guidelines.map(({ title, text }) => h("section", {}, h("h3", { dir: "auto", text: title }), words(text))),
      scaleSections(rubric),
      rubric.criteria.map((criterion) => criterionGuide(criterion, rubric.language)), labelGuide(rubric.highlights),
      examples(_("A worked example"), rubric.worked_example ? [rubric.worked_example] : []),
      examples(_("Training items with their scores"), rubric.training)));
}

/** @typedef {ReturnType<typeof createGuidelines>} Guidelines */

/**
 * Opens and closes the panel of guidelines.
 * @param {object} needs
 * @param {() => Page} needs.page
 * @param {() => void} needs.refocus
 * @param {() => boolean} needs.isPhone where the panel covers the item
 * @param {Preferences} needs.preferences
 */
export function createGuidelines({ page, refocus, isPhone, preferences }) {
  let isOpen = false;
  const staysOpen = () => preferences.get("guidelines", "") === "open";

  /** @param {boolean} open */
  function setOpen(open) {
    const { guidelines, head } = page();
    isOpen = open;
    guidelines.hidden = !open;
    part(head, "[data-tw-guidelines-open]").setAttribute("aria-expanded", String(open));
  }

  /** Opens the panel at a criterion, or at the top. */
  function open(criterion = "") {
    const { guidelines } = page();
    setOpen(true);
    const section = criterion ? find(guidelines, `[data-tw-guide="${CSS.escape(criterion)}"]`) : null;
    const body = part(guidelines, ".tw-guide-body");
    body.scrollTop = section ? section.offsetTop - body.offsetTop : 0;
    (section ?? part(guidelines, "h2")).focus({ preventScroll: true });
  }

  /** Closes the panel; returns whether it was open. */
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

    /** Keeps the panel open for the next items, or not. @param {boolean} stay */
    keepOpen: (stay) => preferences.set("guidelines", stay ? "open" : "closed"),

    /** Called for another item: closes the panel unless the annotator keeps it open. */
    restore() {
      const [box] = inputs(page().guidelines, "[data-tw-keep-open]");
      box.checked = staysOpen();
      setOpen(isOpen && staysOpen() && !isPhone());
    },
  };
}

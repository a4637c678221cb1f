// Guidelines beside the task, the content note, and small dialogs.

import { button, h, words } from "./dom.js";
import { optionsOf } from "./scale.js";
import { turnBubble } from "./context.js";

function optionList(scale) {
  const named = optionsOf(scale).filter((option) => option.title || option.definition);
  if (!named.length) return null;
  return h("dl", { class: "tw-guide-points" }, named.map((option) => h("div", {},
    h("dt", {}, scale.kind === "choice" ? words(option.title, {}, "span") : `${option.value}`),
    words([scale.kind === "choice" ? "" : option.title, option.definition].filter(Boolean).join(": "), {}, "dd"))));
}

function example({ context, candidates }) {
  return h("div", { class: "tw-example" },
    h("div", { class: "tw-example-lead", text: "Example" }),
    context.length ? h("div", { class: "tw-chat" }, context.map((turn) => turnBubble(turn, null))) : null,
    candidates.map((candidate) => h("div", { class: "tw-example-one" },
      words(candidate.text, { class: "tw-example-text" }),
      h("div", { class: "tw-example-rating" }, words(candidate.rating, { class: "tw-strong" }, "span"), " ", words(candidate.reason, {}, "span")))));
}

function criterionGuide(criterion) {
  return h("section", { class: "tw-guide-criterion", data: { "tw-guide": criterion.key }, tabindex: "-1" },
    h("h3", { dir: "auto", text: criterion.title }),
    criterion.question ? words(criterion.question, { class: "tw-guide-question" }) : null,
    words(criterion.definition),
    criterion.note ? words(criterion.note, { class: "tw-guide-note" }) : null,
    optionList(criterion.scale),
    (criterion.examples ?? []).map(example));
}

function labelGuide(labels) {
  if (!labels.length) return null;
  return h("section", {}, h("h3", { text: "Highlights" }), h("dl", { class: "tw-guide-points" }, labels.map((label, i) =>
    h("div", {}, h("dt", {}, h("span", { class: "tw-swatch", style: `--tw-c: var(--tw-hl-${i + 1})`, text: String(i + 1) })),
      words([label.title, label.definition].filter(Boolean).join(": "), {}, "dd")))));
}

export function guidelinesPanel(rubric) {
  return h("aside", { class: "tw-guidelines", "aria-label": "Guidelines", data: { "tw-guidelines": "1" }, hidden: true },
    h("div", { class: "tw-guide-head" }, h("h2", { class: "tw-panel-title", tabindex: "-1", text: "Guidelines" }),
      button("Close", { class: "tw-button tw-quiet tw-small", data: { "tw-guidelines-close": "1" } })),
    h("div", { class: "tw-guide-body" },
      words(rubric.instructions),
      rubric.guidelines.map((part) => h("section", {}, h("h3", { dir: "auto", text: part.title }), words(part.text))),
      rubric.criteria.map(criterionGuide), labelGuide(rubric.highlights)));
}

export function banner(kind, text, extra = []) {
  return h("div", { class: `tw-banner tw-banner-${kind}`, role: "status" }, words(text, { class: "tw-banner-text" }), ...extra);
}

/** A small modal dialog; `ok` gives the label of its main button. Nothing is chosen in advance. */
export function dialog(name, title, body, ok, okData = {}) {
  const problem = h("div", { class: "tw-dialog-problem", role: "alert" });
  return h("dialog", { class: "tw-dialog", data: { "tw-dialog": name }, "aria-label": title },
    h("h2", { class: "tw-panel-title", dir: "auto", text: title }), h("div", { class: "tw-dialog-body" }, body), problem,
    h("div", { class: "tw-dialog-foot" },
      button(ok ? "Cancel" : "Close", { data: { "tw-dialog-close": "1" } }),
      ok ? button(ok, { class: "tw-button tw-primary", data: { "tw-dialog-ok": "1", ...okData } }) : null));
}

/** Reasons as radios and a line of text. */
export function reasonsBody(uid, reasons, withText) {
  return [
    h("fieldset", { class: "tw-reasons" }, h("legend", { class: "tw-ask-lead", text: "Why?" }), reasons.map((reason) =>
      h("label", { class: "tw-reason" }, h("input", { type: "radio", name: `${uid}-reason`, value: reason.key }), words(reason.title, {}, "span")))),
    withText ? h("textarea", { rows: 2, class: "tw-area", dir: "auto", maxlength: 2000, "aria-label": "More, if you like", placeholder: "More, if you like" }) : null,
  ];
}

const KEYS = [
  ["1 2 3 …", "answer the outlined question, then go to the next"],
  [".", "after a digit: half a point more, where the scale has it"],
  ["Tab, J, K", "next and previous question"],
  ["← →", "move within a question"],
  ["Delete", "clear an answer, or remove the highlight at the caret"],
  ["E", "explain the last answer"],
  ["H, then a digit", "label the selected text"],
  ["U or Ctrl+Z", "undo (Ctrl+Shift+Z: redo)"],
  ["G", "guidelines"],
  ["Ctrl+Enter", "submit"],
  ["Esc", "leave a text box or close a panel"],
  ["?", "this list"],
];

export function keysBody(on) {
  const box = h("input", { type: "checkbox", data: { "tw-keys-on": "1" } });
  box.checked = on;
  return [
    h("dl", { class: "tw-keys" }, KEYS.map(([key, what]) => h("div", {}, h("dt", {}, h("kbd", { text: key })), h("dd", { text: what })))),
    h("label", { class: "tw-reason" }, box, "Single keys work (digits and letters, outside text boxes)"),
  ];
}

const VERDICTS = { same: "same", close: "close", different: "different" };

/** Training: what was given beside the reference, with its reason. */
export function feedbackTable(view) {
  const title = (row) => view.rubric.criteria.find((criterion) => criterion.key === row.criterion)?.title ?? row.criterion;
  const several = view.item.candidates.length > 1;
  return h("section", { class: "tw-feedback", "aria-label": "Feedback", data: { "tw-feedback": "1" } },
    h("h2", { class: "tw-panel-title", text: "Your answers beside the reference" }),
    h("table", {},
      h("thead", {}, h("tr", {}, ["Criterion", "You", "Reference", "", "Why"].map((text) => h("th", { scope: "col", text })))),
      h("tbody", {}, view.feedback.rows.map((row) => h("tr", {},
        h("th", { scope: "row", dir: "auto", text: several && row.slot ? `${row.slot} · ${title(row)}` : title(row) }),
        words(row.given ?? "–", {}, "td"), words(row.reference, {}, "td"),
        h("td", {}, h("span", { class: `tw-verdict tw-verdict-${row.verdict}`, text: VERDICTS[row.verdict] ?? "" })),
        words(row.reason, {}, "td"))))));
}

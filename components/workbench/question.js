// One question: a fieldset of the browser's own radios, checkboxes or a slider, and the explanation it opens.

import { MAX_TEXT } from "./answers.js";
import { all, find, h, inputs, nameOf, part, words, write } from "./dom.js";
import { hintOf, isNumeric, isSlider, optionsOf, valueKey } from "./scale.js";
import { wordCount } from "./textpoints.js";
import { isAnswered } from "./validate.js";

/** @import { Answers } from "./answers.js" */
/** @import { Props } from "./dom.js" */
/** @import { Ask, Criterion, Limits, NumberScale, Option, Question, Scale, Value } from "./types.js" */

const ROW_CHARACTERS = 34; // of all options that fit one row of a narrow column

/** Title, ⓘ and question of a criterion: the head of its row of cells. @param {Criterion} criterion */
export function criterionHead(criterion) {
  const info = h("button", {
    type: "button", class: "tw-info", data: { "tw-info": criterion.key, "tw-tip": criterion.definition },
    "aria-label": `Guidelines for ${criterion.title}`, text: "i",
  });
  return h("div", { class: "tw-criterion" },
    h("h3", { class: "tw-criterion-title", dir: "auto", text: criterion.title }),
    info,
    criterion.question ? words(criterion.question, { class: "tw-criterion-question" }, "span") : null,
    criterion.required ? null : h("span", { class: "tw-optional", text: "optional" }));
}

/** One point of a numeric scale. @param {string} name @param {Option} option */
function point(name, { value, title, definition, sparing }) {
  const label = title ? `${value}, ${title}` : null;
  const input = h("input", { type: "radio", name, value: valueKey(value), "aria-label": label });
  const kind = `tw-cell${Number.isInteger(value) ? "" : " tw-half"}${sparing ? " tw-sparing" : ""}`;
  return h("label", { class: kind, data: { "tw-tip": definition || null, "tw-title": title || null } },
    input, h("span", { class: "tw-mark", dir: "auto", text: String(value) }));
}

/** One option of a choice. @param {string} name @param {Option} option @param {number | null} digit */
function choiceOption(name, { value, title, definition }, digit) {
  return h("label", { class: "tw-option", data: { "tw-tip": definition || null, digit } },
    h("input", { type: "radio", name, value: valueKey(value) }),
    h("span", { class: "tw-mark", dir: "auto", text: title }));
}

/** @param {string} name @param {Scale} scale */
function points(name, scale) {
  const options = optionsOf(scale);
  const titles = options.map(({ title }) => title);
  const row = h("div", { class: "tw-points" }, options.map((option) => point(name, option)));
  return [row, caption(titles[0], titles[titles.length - 1], hintOf(scale), titles.some(Boolean))];
}

/** @param {string} name @param {Scale} scale */
function choices(name, scale) {
  const options = optionsOf(scale);
  const long = options.reduce((sum, { title }) => sum + title.length + 4, 0) > ROW_CHARACTERS;
  return h("div", { class: `tw-options${long ? " tw-list" : ""}` },
    options.map((option, i) => choiceOption(name, option, i > 8 ? null : i + 1)));
}

/** @param {string} low @param {string} high @param {string} hint */
function caption(low, high, hint, named = true) {
  return h("div", { class: "tw-caption", "aria-hidden": "true", hidden: !named },
    h("span", { class: "tw-low", dir: "auto", text: low || "" }),
    h("span", { class: "tw-middle", dir: "auto", data: { hint } }),
    h("span", { class: "tw-high", dir: "auto", text: high || "" }));
}

/** @param {NumberScale} scale */
function slider(scale) {
  const input = h("input", {
    type: "range", class: "tw-range", min: scale.low, max: scale.high, step: scale.step,
    "aria-valuetext": "not answered",
  });
  return [
    h("div", { class: "tw-slider" }, input,
      h("output", { class: "tw-output", data: { unit: scale.unit || null }, text: "–" })),
    caption(scale.low_title || String(scale.low), scale.high_title || String(scale.high), hintOf(scale)),
  ];
}

/** @param {string} name @param {string[]} letters @param {boolean} noneOption */
function bestBoxes(name, letters, noneOption) {
  /** @param {string} value @param {string} label @param {number | null} digit @param {Props} props */
  const box = (value, label, digit, props = {}) => h("label", { class: "tw-option", data: { digit } },
    h("input", { type: "checkbox", name, value, ...props }), h("span", { class: "tw-mark", text: label }));
  return [h("div", { class: "tw-options" },
    letters.map((letter, i) => box(letter, `Response ${letter}`, i + 1)),
    noneOption ? box("", "None of them", null, { data: { "tw-none": "1" } }) : null)];
}

/**
 * The fieldset of one question. `uid` keeps radio groups of several surfaces apart.
 * @param {Question} question
 * @param {{ uid: string, letters: string[] }} place
 */
export function buildQuestion({ id, slot, criterion }, { uid, letters }) {
  const { scale } = criterion;
  const name = `${uid}-${id}`;
  const body = scale.kind === "best" ? bestBoxes(name, letters, scale.none_option)
    : isSlider(scale) ? slider(scale) : isNumeric(scale) ? points(name, scale) : choices(name, scale);
  const ask = [criterion.title, criterion.question].filter(Boolean).join(". ");
  const about = slot === "item" || letters.length === 1 ? ask : `${nameOf(slot, false)}: ${ask}`;
  return h("fieldset", { class: `tw-q tw-q-${scale.kind}`, "aria-label": about, data: { "tw-question": id } },
    body, h("div", { class: "tw-ask", hidden: true }));
}

/** @param {Element | null | undefined} label */
const isChosen = (label) => Boolean(/** @type {HTMLInputElement | undefined} */ (label?.firstChild)?.checked);

/**
 * The title of the hovered or chosen point, under the points.
 * @param {HTMLElement} fieldset @param {HTMLElement | null} hovered
 */
export function showCaption(fieldset, hovered = null) {
  const caption = find(fieldset, ".tw-caption");
  if (!caption || find(fieldset, ".tw-range")) return;
  const labels = all(fieldset, ".tw-cell");
  const label = hovered ?? labels.find(isChosen);
  const title = label?.dataset.twTitle ?? "";
  const isFirst = label === labels[0];
  const isLast = label === labels.at(-1);
  caption.classList.toggle("tw-preview", Boolean(label) && !isChosen(label));
  part(caption, ".tw-low").classList.toggle("tw-on", isFirst && title !== "");
  part(caption, ".tw-high").classList.toggle("tw-on", isLast && title !== "");
  write(part(caption, ".tw-middle"), isFirst || isLast ? "" : title);
}

/** @param {HTMLElement} fieldset @param {Value} value */
function syncSlider(fieldset, value) {
  const [input] = inputs(fieldset, ".tw-range");
  const output = part(fieldset, ".tw-output");
  const unset = value === undefined;
  input.classList.toggle("tw-unset", unset);
  input.value = String(unset ? (Number(input.min) + Number(input.max)) / 2 : value);
  const text = unset ? "" : [value, output.dataset.unit].filter((word) => word !== undefined).join(" ");
  input.setAttribute("aria-valuetext", text || "not answered");
  output.textContent = text || "–";
}

/** @param {HTMLElement} fieldset @param {Value} value */
function syncBoxes(fieldset, value) {
  const letters = Array.isArray(value) ? value : null;
  for (const input of inputs(fieldset, "input[type=checkbox][name]")) {
    input.checked = input.dataset.twNone ? letters?.length === 0 : Boolean(letters?.includes(input.value));
  }
}

/** @param {HTMLElement} fieldset @param {Value} value */
function syncRadios(fieldset, value) {
  const key = value === undefined ? null : valueKey(value);
  for (const input of inputs(fieldset, ":scope > div > label > input[type=radio]")) input.checked = input.value === key;
  showCaption(fieldset);
}

/** Another item: nothing of the last one stays, not even what a text box could undo. @param {HTMLElement} fieldset */
export function resetQuestion(fieldset) {
  fieldset.classList.remove("tw-problem");
  const box = part(fieldset, ".tw-ask");
  delete box.dataset.for;
  if (box.firstChild) box.replaceChildren();
  box.hidden = true;
}

/**
 * Makes a fieldset show the answers.
 * @param {HTMLElement} fieldset @param {Question} question @param {Answers} answers @param {Limits} limits
 */
export function syncQuestion(fieldset, question, answers, limits) {
  const { slot, criterion } = question;
  const value = answers.rating(slot, criterion.key);
  if (criterion.scale.kind === "best") syncBoxes(fieldset, value);
  else if (isSlider(criterion.scale)) syncSlider(fieldset, value);
  else syncRadios(fieldset, value);
  fieldset.toggleAttribute("data-answered", isAnswered(answers, question));
  syncAsk(fieldset, question, answers, limits);
}

/** @param {HTMLElement} fieldset @param {Question} question @param {Answers} answers @param {Limits} limits */
function syncAsk(fieldset, { id, slot, criterion }, answers, limits) {
  const box = part(fieldset, ".tw-ask");
  const ask = answers.asked(slot, criterion);
  const value = answers.rating(slot, criterion.key);
  const key = ask ? valueKey(value) : "";
  if ((box.dataset.for ?? "") !== key) {
    box.dataset.for = key;
    box.replaceChildren(...(ask ? askParts(id, ask, limits) : []));
    box.hidden = !ask;
  }
  if (!ask) return;
  const { reasons, text } = answers.explanation(slot, criterion.key, value);
  for (const input of inputs(box, "input")) input.checked = reasons.includes(input.value);
  const area = box.querySelector("textarea");
  if (!area) return;
  if (area.value !== text) area.value = text;
  showCount(box, text, limits);
}

/** @param {string} id @param {Ask} ask @param {Limits} limits */
function askParts(id, ask, { min_words: low, max_words: high }) {
  const reasons = ask.reasons.map((reason) => h("label", { class: "tw-reason" },
    h("input", { type: "checkbox", value: reason.key, data: { "tw-reason": reason.key } }),
    words(reason.text, {}, "span")));
  const lead = !ask.reasons.length ? "Why? Please write a few words."
    : ask.free_text === "none" ? "Why? Tick what applies." : "Why? Tick what applies or write a few words.";
  const area = ask.free_text === "none" ? [] : [
    h("textarea", {
      rows: 2, dir: "auto", class: "tw-area", maxlength: MAX_TEXT, data: { "tw-explain": id },
      "aria-label": ask.free_text === "required" ? "Explanation (required)" : "Explanation in your own words",
      placeholder: low ? `${low}–${high} words` : `up to ${high} words`,
    }),
    h("div", { class: "tw-count" }),
  ];
  return [h("div", { class: "tw-ask-lead", text: lead }), ...reasons, ...area];
}

/**
 * The number of words next to its limits, while they are typed.
 * @param {HTMLElement} box @param {string} text @param {Limits} limits
 */
export function showCount(box, text, { min_words: low, max_words: high }) {
  const count = wordCount(text);
  const line = part(box, ".tw-count");
  line.textContent = low ? `${count} of ${low}–${high} words` : `${count} of at most ${high} words`;
  line.classList.toggle("tw-wrong", count > high || (count > 0 && count < low));
}

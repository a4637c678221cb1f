// One question: a fieldset of the browser's own radios, checkboxes or a slider, and the explanation it opens.

import { LONGEST_TEXT } from "./answers.js";
import { h, nameOf, words, write } from "./dom.js";
import { hintOf, isNumeric, isSlider, optionsOf, valueKey } from "./scale.js";
import { wordCount } from "./textpoints.js";
import { isAnswered } from "./validate.js";

const LONG_OPTIONS = 34; // characters of all options that fit one row of a narrow column

/** Title, ⓘ and question of a criterion: the head of its row of cells. */
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

const tipOf = (option, shown) => [shown ? "" : option.title, option.definition].filter(Boolean).join(": ");

function point(name, option, scale, digit = null) {
  const shown = isNumeric(scale) ? String(option.value) : option.title;
  const half = isNumeric(scale) && !Number.isInteger(option.value);
  const input = h("input", {
    type: "radio", name, value: valueKey(option.value),
    "aria-label": isNumeric(scale) && option.title ? `${shown}, ${option.title}` : null,
  });
  const kind = isNumeric(scale) ? `tw-cell${half ? " tw-half" : ""}${option.sparing ? " tw-sparing" : ""}` : "tw-option";
  const tip = isNumeric(scale) ? option.definition : tipOf(option, true);
  const data = { "tw-tip": tip || null, "tw-title": isNumeric(scale) ? option.title || null : null, digit };
  return h("label", { class: kind, data }, input, h("span", { class: "tw-mark", dir: "auto", text: shown }));
}

function cells(name, scale) {
  const options = optionsOf(scale);
  const numeric = isNumeric(scale);
  const long = !numeric && options.reduce((sum, o) => sum + o.title.length + 4, 0) > LONG_OPTIONS;
  const row = h("div", { class: numeric ? "tw-points" : `tw-options${long ? " tw-list" : ""}` }, options.map((o, i) => point(name, o, scale, numeric || i > 8 ? null : i + 1)));
  if (numeric) row.style.setProperty("--tw-count", Math.min(options.length, 11));
  return numeric ? [row, caption(options[0].title, options.at(-1).title, hintOf(scale), options.some(({ title }) => title))] : [row];
}

function caption(low, high, hint, named = true) {
  return h("div", { class: "tw-caption", "aria-hidden": "true", hidden: !named },
    h("span", { class: "tw-low", dir: "auto", text: low || "" }),
    h("span", { class: "tw-here", dir: "auto", data: { hint } }),
    h("span", { class: "tw-high", dir: "auto", text: high || "" }));
}

function slider(scale) {
  const input = h("input", {
    type: "range", class: "tw-range", min: scale.low, max: scale.high, step: scale.step,
    "aria-valuetext": "not answered",
  });
  return [
    h("div", { class: "tw-slider" }, input, h("output", { class: "tw-output", data: { unit: scale.unit || null }, text: "–" })),
    caption(scale.low_title || String(scale.low), scale.high_title || String(scale.high), hintOf(scale)),
  ];
}

function bestBoxes(name, letters, noneOption) {
  const box = (value, label, digit, props = {}) => h("label", { class: "tw-option", data: { digit } },
    h("input", { type: "checkbox", name, value, ...props }), h("span", { class: "tw-mark", text: label }));
  return [h("div", { class: "tw-options" },
    letters.map((letter, i) => box(letter, `Response ${letter}`, i + 1)),
    noneOption ? box("", "None of them", null, { data: { "tw-none": "1" } }) : null)];
}

/** The fieldset of one question. `uid` keeps radio groups of several surfaces apart. */
export function buildQuestion(question, { uid, letters, alone }) {
  const { id, slot, criterion } = question;
  const { scale } = criterion;
  const name = `${uid}-${id}`;
  const body = scale.kind === "best" ? bestBoxes(name, letters, scale.none_option)
    : isSlider(scale) ? slider(scale) : cells(name, scale);
  const ask = [criterion.title, criterion.question].filter(Boolean).join(". ");
  const about = slot === "item" || alone ? ask : `${nameOf(slot)}: ${ask}`;
  return h("fieldset", { class: `tw-q tw-q-${scale.kind}`, "aria-label": about, data: { "tw-question": id } }, body, h("div", { class: "tw-ask", hidden: true }));
}

/** Where the pointer or the answer is: its title under the points. */
export function showCaption(fieldset, hovered = null) {
  const caption = fieldset.querySelector(".tw-caption");
  if (!caption || fieldset.querySelector(".tw-range")) return;
  const labels = [...fieldset.querySelectorAll(".tw-cell")];
  const shown = hovered ?? labels.find((label) => label.firstChild.checked) ?? null;
  const title = shown?.dataset.twTitle ?? "";
  caption.classList.toggle("tw-preview", Boolean(shown && !shown.firstChild.checked));
  const first = shown && shown === labels[0];
  const last = shown && shown === labels.at(-1);
  caption.querySelector(".tw-low").classList.toggle("tw-on", Boolean(first && title));
  caption.querySelector(".tw-high").classList.toggle("tw-on", Boolean(last && title));
  write(caption.querySelector(".tw-here"), first || last ? "" : title);
}

function syncSlider(fieldset, value) {
  const input = fieldset.querySelector(".tw-range");
  const unset = value === undefined;
  input.classList.toggle("tw-unset", unset);
  if (unset) input.value = String((Number(input.min) + Number(input.max)) / 2);
  else input.value = String(value);
  const output = fieldset.querySelector(".tw-output");
  const shown = unset ? "" : [value, output.dataset.unit].filter((part) => part !== undefined).join(" ");
  input.setAttribute("aria-valuetext", shown || "not answered");
  output.textContent = shown || "–";
}

function syncBoxes(fieldset, value) {
  for (const input of fieldset.querySelectorAll("input[type=checkbox][name]")) {
    input.checked = input.dataset.twNone ? Array.isArray(value) && value.length === 0 : Boolean(value?.includes(input.value));
  }
}

function syncRadios(fieldset, value) {
  const wanted = value === undefined ? null : valueKey(value);
  for (const input of fieldset.querySelectorAll(":scope > div > label > input[type=radio]")) input.checked = input.value === wanted;
  showCaption(fieldset);
}

/** Another item: nothing of the last one stays, not even what a text box could undo. */
export function resetQuestion(fieldset) {
  fieldset.classList.remove("tw-problem");
  const ask = fieldset.querySelector(".tw-ask");
  delete ask.dataset.for;
  if (ask.firstChild) ask.replaceChildren();
  ask.hidden = true;
}

/** Makes a fieldset show the answers. */
export function syncQuestion(fieldset, question, answers, limits) {
  const { slot, criterion } = question;
  const value = answers.rating(slot, criterion.key);
  if (criterion.scale.kind === "best") syncBoxes(fieldset, value);
  else if (isSlider(criterion.scale)) syncSlider(fieldset, value);
  else syncRadios(fieldset, value);
  fieldset.toggleAttribute("data-answered", isAnswered(answers, question));
  syncAsk(fieldset, question, answers, limits);
}

function syncAsk(fieldset, question, answers, limits) {
  const { slot, criterion } = question;
  const box = fieldset.querySelector(".tw-ask");
  const ask = answers.asked(slot, criterion);
  const value = answers.rating(slot, criterion.key);
  const wanted = ask ? valueKey(value) : "";
  if ((box.dataset.for ?? "") !== wanted) {
    box.dataset.for = wanted;
    box.replaceChildren(...(ask ? askParts(question, ask, limits) : []));
    box.hidden = !ask;
  }
  if (!ask) return;
  const given = answers.explanation(slot, criterion.key, value);
  for (const input of box.querySelectorAll("input")) input.checked = given.reasons.includes(input.value);
  const area = box.querySelector("textarea");
  if (area && area.value !== given.text) area.value = given.text;
  if (area) showCount(box, given.text, limits);
}

function askParts({ id }, ask, limits) {
  const reasons = ask.reasons.map((reason) => h("label", { class: "tw-reason" },
    h("input", { type: "checkbox", value: reason.key, data: { "tw-reason": reason.key } }), words(reason.text, {}, "span")));
  const lead = ask.reasons.length ? "Why? Tick what applies" + (ask.free_text === "none" ? "." : " or write a few words.")
    : "Why? Please write a few words.";
  const area = ask.free_text === "none" ? [] : [
    h("textarea", {
      rows: 2, dir: "auto", class: "tw-area", maxlength: LONGEST_TEXT, data: { "tw-explain": id },
      "aria-label": ask.free_text === "required" ? "Explanation (required)" : "Explanation in your own words",
      placeholder: limits.min_words ? `${limits.min_words}–${limits.max_words} words` : `up to ${limits.max_words} words`,
    }),
    h("div", { class: "tw-count" }),
  ];
  return [h("div", { class: "tw-ask-lead", text: lead }), ...reasons, ...area];
}

/** Words typed against the limits, live. */
export function showCount(box, text, { min_words: low, max_words: high }) {
  const count = wordCount(text);
  const line = box.querySelector(".tw-count");
  const wrong = count > high || (count > 0 && count < low);
  line.textContent = low ? `${count} of ${low}–${high} words` : `${count} of at most ${high} words`;
  line.classList.toggle("tw-wrong", wrong);
}

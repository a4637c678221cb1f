// One question: a fieldset of native radio buttons, checkboxes or a slider, and the explanation that answers may open.

import { MAX_TEXT } from "./answers.js";
import { all, find, h, inputs, nameOf, part, words } from "./dom.js";
import { _, ngettext } from "./language.js";
import { inPlainDigits, isNumeric, isPicker, isSlider, optionsOf, valueAfter, valueKey } from "./scale.js";
import { sampleLine } from "./teaching.js";
import { lengthInWords } from "./texts/textpoints.js";
import { isAnswered } from "./validate.js";

/** @import { Answers } from "./answers.js" */
/** @import { Props } from "./dom.js" */
/** @import { Ask, Criterion, Limits, NumberScale, Option, Question, Scale, Value } from "./types.js" */

/** A point's value and title: "1 Not at all". @param {Option} option */
const named = ({ value, title }) => (title ? `${value} ${title}` : String(value));

/**
 * The id of the text that explains an option.
 * @param {string} uid
 * @param {Criterion} criterion
 * @param {Option} option
 */
const meaningId = (uid, { key }, { value }) => `${uid}-means-${key}-${valueKey(value)}`;

/** The head of a criterion's row: title, ⓘ and question. @param {Criterion} criterion */
export function criterionHead(criterion) {
  const info = h("button", {
    type: "button", class: "tw-info", data: { "tw-info": criterion.key, "tw-tip": criterion.definition },
    "aria-label": _("Guidelines for {criterion}", { criterion: criterion.title }), text: "i",
  });
  return h("div", { class: "tw-criterion" },
    h("h3", { class: "tw-criterion-title", dir: "auto", text: criterion.title }),
    info,
    criterion.question ? words(criterion.question, { class: "tw-criterion-question" }, "span") : null,
    criterion.note ? words(criterion.note, { class: "tw-criterion-note" }, "span") : null,
    criterion.required ? null : h("span", { class: "tw-optional", text: _("optional") }),
    scaleEnds(criterion.scale));
}

/** The ends of a numeric scale and what they mean; the names of an active row's points replace them. @param {Scale} scale */
function scaleEnds(scale) {
  const options = isNumeric(scale) ? optionsOf(scale) : [];
  if (!isSlider(scale) && !options.some(({ title }) => title)) return null;
  const ends = isSlider(scale) ? sliderEnds(/** @type {NumberScale} */ (scale)).join(" – ")
    : `${named(options[0])} – ${named(/** @type {Option} */ (options.at(-1)))}`;
  return h("span", { class: "tw-ends", "aria-hidden": "true", dir: "auto", text: ends });
}

/**
 * The names of the active row's points, unless only the ends have names, which the head shows; if descriptions are on,
 * also the meaning of points and criterion.
 * @param {Criterion} criterion @param {string} uid
 */
export function meanings(criterion, uid) {
  const { definition, scale } = criterion;
  const options = isPicker(scale) ? [] : optionsOf(scale);
  const titled = isNumeric(scale) ? options.filter(({ title }) => title) : [];
  const areEnds = titled.every((option) => option === options[0] || option === options.at(-1));
  const described = options.filter((option) => option.definition);
  return [
    definition ? words(definition, { class: "tw-definition" }, "p") : null,
    titled.length && !areEnds ? h("ol", { class: `tw-names${described.length ? " tw-described" : ""}`, "aria-hidden": "true" }, titled.map((option) =>
      h("li", { class: option.sparing ? "tw-sparing-name" : null, dir: "auto" },
        h("b", { text: String(option.value) }), ` ${option.title}`))) : null,
    described.length ? h("ol", { class: "tw-means" }, described.map((option) => h("li", {},
      h("b", { dir: "auto", text: isNumeric(scale) ? named(option) : option.title }), " ",
      words(option.definition, { id: meaningId(uid, criterion, option) }, "span")))) : null,
  ];
}

/** A group of radio buttons. @typedef {{ name: string, meaning: (option: Option) => string | null }} Group */

/** One point of a numeric scale. @param {Group} group @param {Option} option */
function point({ name, meaning }, option) {
  const { value, title, definition, sparing } = option;
  const label = [value, title, sparing ? _("use sparingly") : ""].filter((word) => word !== "").join(", ");
  const kind = `tw-cell${Number.isInteger(value) ? "" : " tw-half"}${sparing ? " tw-sparing" : ""}`;
  return h("label", { class: kind, data: { "tw-tip": [title, definition].filter(Boolean).join(": ") || null } },
    h("input", {
      type: "radio", name, value: valueKey(value), "aria-label": label, "aria-describedby": meaning(option),
    }), h("span", { class: "tw-mark", dir: "auto", text: String(value) }));
}

/** One option of a choice. @param {Group} group @param {Option} option @param {number | null} digit */
function choiceOption({ name, meaning }, option, digit) {
  const { value, title, definition } = option;
  return h("label", { class: "tw-option", data: { "tw-tip": definition || null, digit } },
    h("input", { type: "radio", name, value: valueKey(value), "aria-describedby": meaning(option) }),
    h("span", { class: "tw-mark", dir: "auto", text: title }));
}

/** @param {Group} group @param {Scale} scale */
const points = (group, scale) => h("div", { class: "tw-points" }, optionsOf(scale).map((option) => point(group, option)));

/** @param {Group} group @param {Scale} scale */
const choices = (group, scale) => h("div", { class: "tw-options" },
  optionsOf(scale).map((option, i) => choiceOption(group, option, i > 8 ? null : i + 1)));

/**
 * A long list with a search box. @param {Group} group @param {Scale} scale @param {string} about
 */
function picker(group, scale, about) {
  const options = optionsOf(scale);
  return [
    h("input", {
      type: "text", class: "tw-line tw-search", autocomplete: "off", spellcheck: "false", dir: "auto",
      placeholder: ngettext("Search {count} option", "Search {count} options", options.length), "aria-label": _("{question}: search", { question: about }),
    }),
    h("div", { class: "tw-options tw-picks" }, options.map((option) => {
      const label = choiceOption(group, option, null);
      label.append(option.definition ? words(option.definition, { class: "tw-pick-meaning" }, "span") : "");
      return label;
    })),
    h("div", { class: "tw-no-match", hidden: true, text: _("Nothing found") }),
  ];
}

/** A text for comparison: without accents, in small letters; ı is an i, whatever the browser's language. @param {string} text */
const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replaceAll("ı", "i");

/** Hides the options that do not contain the typed text. @param {HTMLElement} fieldset @param {string} typed */
export function searchOptions(fieldset, typed) {
  const wanted = folded(typed.trim());
  const labels = all(fieldset, ".tw-picks .tw-option");
  for (const label of labels) label.hidden = !folded(label.textContent ?? "").includes(wanted);
  part(fieldset, ".tw-no-match").hidden = labels.some((label) => !label.hidden);
}

/** The first option that matches the search, which Enter chooses. @param {HTMLElement} fieldset */
export const firstMatch = (fieldset) =>
  /** @type {HTMLInputElement | null} */ (find(fieldset, ".tw-picks .tw-option:not([hidden]) input"));

/** @param {NumberScale} scale */
const sliderEnds = ({ low, high, unit, low_title: lowTitle, high_title: highTitle }) =>
  [[low, lowTitle], [high, unit, highTitle]].map((words) => words.filter((word) => word !== "").join(" "));

/** @param {NumberScale} scale @param {string} about */
function slider(scale, about) {
  const { low, high, step, unit } = scale;
  const ends = sliderEnds(scale);
  return h("div", { class: "tw-slider" },
    h("input", {
      type: "range", class: "tw-range", min: low, max: high, step, "aria-valuetext": _("not answered"),
      "aria-label": _("{question}: {low} to {high}", { question: about, low: ends[0], high: ends[1] }), data: { unit: unit || null },
    }),
    h("input", {
      // an iPhone's keys for numbers have no minus
      type: "text", inputmode: low < 0 ? "text" : "decimal", class: "tw-line tw-number-box", autocomplete: "off", placeholder: "–",
      "aria-label": _("{question}: number from {low} to {high}", { question: about, low, high }),
    }));
}

/**
 * The value of a slider's scale nearest to a typed number; undefined if the text is no number, or may be one or a
 * thousand of them, as 1,000 and 1.000 where both are on the scale.
 * @param {NumberScale} scale
 * @param {string} typed
 */
export function typedValue(scale, typed) {
  const { low, high, step } = scale;
  const text = inPlainDigits(typed);
  const number = Number(text.replace(",", "."));
  if (text === "" || !Number.isFinite(number)) return undefined;
  const thousands = Number(text.replace(/[.,]/, ""));
  if (/^[+-]?[1-9]\d{0,2}[.,]\d{3}$/.test(text) && low <= thousands && thousands <= high) return undefined;
  const inside = Math.min(high, Math.max(low, number));
  return valueAfter(scale, Math.round((inside - low) / step));
}

/** @param {string} name @param {string[]} letters @param {boolean} noneOption @param {string} noun */
function bestBoxes(name, letters, noneOption, noun) {
  /** @param {string} value @param {string} label @param {number | null} digit @param {Props} props */
  const box = (value, label, digit, props = {}) => h("label", { class: "tw-option", data: { digit } },
    h("input", { type: "checkbox", name, value, ...props }), h("span", { class: "tw-mark", text: label }));
  return h("div", { class: "tw-options" },
    letters.map((letter, i) => box(letter, nameOf(letter, false, noun), i + 1)),
    noneOption ? box("", _("None of them"), null, { data: { "tw-none": "1" } }) : null);
}

/**
 * Builds the fieldset of one question. `uid` separates the radio groups of several surfaces.
 * @param {Question} question
 * @param {{ uid: string, letters: string[], noun: string }} place
 */
export function buildQuestion({ id, slot, criterion }, { uid, letters, noun }) {
  const { scale } = criterion;
  const ask = [criterion.title, criterion.question].filter(Boolean).join(". ");
  const about = slot === "item" || letters.length === 1 ? ask : `${nameOf(slot, false, noun)}: ${ask}`;
  const group = {
    name: `${uid}-${id}`,
    meaning: (/** @type {Option} */ option) =>
      (option.definition && !isPicker(scale) ? meaningId(uid, criterion, option) : null),
  };
  const body = scale.kind === "best" ? bestBoxes(group.name, letters, scale.none_option, noun)
    : isSlider(scale) ? slider(scale, about) : isNumeric(scale) ? points(group, scale)
      : isPicker(scale) ? picker(group, scale, about) : choices(group, scale);
  const badge = slot === "item" || letters.length === 1 ? null
    : h("span", { class: "tw-badge", "aria-hidden": "true", text: slot });
  return h("fieldset", {
    class: `tw-q tw-q-${scale.kind}${badge ? " tw-badged" : ""}`, "aria-label": about, data: { "tw-question": id, slot }, tabindex: "-1",
  }, badge, body, h("div", { class: "tw-ask", hidden: true }));
}

/** An answer as text, for a folded row; "" without an answer. @param {Scale} scale @param {Value} value */
export function answerText(scale, value) {
  if (value === undefined) return "";
  if (Array.isArray(value)) return value.length ? value.join(", ") : _("None");
  const option = optionsOf(scale).find((other) => other.value === value);
  if (!option) return String(value);
  return isNumeric(scale) ? named(option) : option.title;
}

/** @param {HTMLElement} fieldset @param {Value} value */
function syncSlider(fieldset, value) {
  const [input] = inputs(fieldset, ".tw-range");
  const [box] = inputs(fieldset, ".tw-number-box");
  const unset = value === undefined;
  input.classList.toggle("tw-unset", unset);
  input.value = String(unset ? (Number(input.min) + Number(input.max)) / 2 : value);
  const text = unset ? "" : [value, input.dataset.unit].filter((word) => word !== undefined).join(" ");
  input.setAttribute("aria-valuetext", text || _("not answered"));
  // do not overwrite a text while it is being typed
  if (document.activeElement !== box) box.value = unset ? "" : String(value);
}

/** The choice is a class of the label too: `:has(:checked)` would restyle every ancestor. @param {HTMLInputElement} input @param {boolean} isChosen */
function check(input, isChosen) {
  input.checked = isChosen;
  input.closest(".tw-option")?.classList.toggle("tw-chosen", isChosen);
}

/** @param {HTMLElement} fieldset @param {Value} value */
function syncBoxes(fieldset, value) {
  const letters = Array.isArray(value) ? value : null;
  for (const input of inputs(fieldset, "input[type=checkbox][name]")) {
    check(input, input.dataset.twNone ? letters?.length === 0 : Boolean(letters?.includes(input.value)));
  }
}

/** @param {HTMLElement} fieldset @param {Value} value */
function syncRadios(fieldset, value) {
  const key = value === undefined ? null : valueKey(value);
  for (const input of inputs(fieldset, ":scope > div > label > input[type=radio]")) check(input, input.value === key);
}

/**
 * Another item: clears everything of the previous one, including the undo history of a text box.
 * @param {HTMLElement} fieldset
 */
export function resetQuestion(fieldset) {
  fieldset.classList.remove("tw-problem");
  const search = inputs(fieldset, ".tw-search").at(0);
  if (search?.value) {
    search.value = "";
    searchOptions(fieldset, "");
  }
  const box = part(fieldset, ".tw-ask");
  if (box.hidden) return;
  delete box.dataset.for;
  box.replaceChildren();
  box.hidden = true;
}

/**
 * Updates a fieldset to the current answers.
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
function syncAsk(fieldset, { slot, criterion }, answers, limits) {
  const box = part(fieldset, ".tw-ask");
  const ask = answers.asked(slot, criterion);
  const value = answers.rating(slot, criterion.key);
  const key = ask ? valueKey(value) : "";
  if ((box.dataset.for ?? "") !== key) {
    box.dataset.for = key;
    box.replaceChildren(...(ask ? askParts(ask, limits) : []));
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

/** @param {Ask} ask @param {Limits} limits */
function askParts(ask, { min_words: low, max_words: high, sample }) {
  const reasons = ask.reasons.map((reason) => h("label", { class: "tw-reason" },
    h("input", { type: "checkbox", value: reason.key, data: { "tw-reason": reason.key } }),
    words(reason.text, {}, "span")));
  const open = ask.free_text === "required" ? _("Why? Please write a few words.") : _("A comment, if you like.");
  const lead = !ask.reasons.length ? open
    : ask.free_text === "none" ? _("Why? Tick what applies.") : _("Why? Tick what applies or write a few words.");
  const area = ask.free_text === "none" ? [] : [
    h("textarea", {
      rows: 2, dir: "auto", class: "tw-area", maxlength: MAX_TEXT,
      "aria-label": ask.free_text === "required" ? _("Explanation (required)") : _("Explanation in your own words"),
      placeholder: low ? ngettext("{low}–{count} word", "{low}–{count} words", high, { low })
        : ngettext("up to {count} word", "up to {count} words", high),
    }),
    h("div", { class: "tw-count" }),
  ];
  const example = sample && ask.free_text !== "none" ? [sampleLine(sample)] : [];
  return [h("div", { class: "tw-ask-lead", text: lead }), ...reasons, ...example, ...area];
}

/**
 * Shows the number of words and its limits while the text is typed.
 * @param {HTMLElement} box @param {string} text @param {Limits} limits
 */
export function showCount(box, text, { min_words: low, max_words: high }) {
  const count = lengthInWords(text);
  const line = part(box, ".tw-count");
  line.textContent = low
    ? ngettext("{written} of {low}–{count} word", "{written} of {low}–{count} words", high, { written: count, low })
    : ngettext("{written} of at most {count} word", "{written} of at most {count} words", high, { written: count });
  line.classList.toggle("tw-wrong", count > high || (count > 0 && count < low));
}

// The responses and their questions, in one of four layouts: side by side, one at a time, alone, or stacked.

import { chat, turnBubble } from "./context.js";
import { all, button, find, h, nameOf, part } from "./dom.js";
import { textBox } from "./highlighter.js";
import { buildQuestion, criterionHead } from "./question.js";

/** @import { Item } from "./item.js" */
/** @import { Candidate, Layout, Question, View } from "./types.js" */

const MAX_SIDE_BY_SIDE = 3; // responses

/**
 * "grid" side by side, "steps" one response at a time, "single" one response, "stack" on narrow screens.
 * @param {View} view @param {boolean} narrow @returns {Layout}
 */
export function layoutOf({ item, rubric }, narrow) {
  const count = item.candidates.length;
  if (count > MAX_SIDE_BY_SIDE || (count > 1 && rubric.presentation === "succession")) return "steps";
  if (narrow) return "stack";
  return count === 1 ? "single" : "grid";
}

/** Slots in the order of steps; the item's own questions come last. @param {View} view */
export function stepsOf({ item, rubric }) {
  const letters = item.candidates.map(({ letter }) => letter);
  return rubric.criteria.some(({ about }) => about === "item") ? [...letters, "item"] : letters;
}

/** @param {string} slot @param {number} step */
function nextButton(slot, step) {
  const label = slot === "item" ? "Next: all responses together →" : `Next: response ${slot} →`;
  return h("div", { class: "tw-next-row" }, button(label, { class: "tw-button tw-next", data: { "tw-step": step } }));
}

/**
 * Draws the board of an item. `refill` draws another item of the same shape into the same elements.
 * @param {object} needs
 * @param {() => Item} needs.item
 * @param {string} needs.uid
 * @param {Layout} needs.layout
 * @param {() => HTMLElement[]} needs.chips a button for each highlight label
 */
export function createBoard({ item, uid, layout, chips }) {
  const { alone, readOnly, questions } = item();
  const { rubric } = item().view;
  const candidates = () => item().view.item.candidates;
  const letters = candidates().map(({ letter }) => letter);
  /** @type {Map<string, HTMLFieldSetElement>} */
  const fieldsets = new Map();

  /** @param {Question} question */
  function fieldset(question) {
    const element = buildQuestion(question, { uid, letters });
    fieldsets.set(question.id, element);
    return element;
  }

  /** @param {Question} question */
  const asked = (question) => [criterionHead(question.criterion), fieldset(question)];

  /** @param {string} slot @param {string} className */
  const questionsOf = (slot, className) => questions.filter((question) => question.slot === slot)
    .map((question) => h("div", { class: className }, asked(question)));

  /** @param {Candidate} candidate */
  function judgedText({ letter, turns }) {
    const name = nameOf(letter, alone);
    /** @param {number | null} turn @param {string} label */
    const box = (turn, label) => textBox({
      slot: letter, turn, label, editable: rubric.highlights.length > 0 && !readOnly, language: rubric.language,
    });
    if (!turns.length) return box(null, name);
    return h("div", { class: "tw-chat tw-chat-judged" }, turns.map((turn, i) => {
      const body = box(i, `${name}, turn ${i + 1}`);
      body.classList.add("tw-bubble");
      return turnBubble(turn, rubric.language, body);
    }));
  }

  function tools() {
    if (!rubric.highlights.length || readOnly) return null;
    return h("div", { class: "tw-tools", role: "group", "aria-label": "Highlight labels" },
      h("span", { class: "tw-tools-lead", text: "Mark" }), chips());
  }

  /** @param {string} letter */
  function shownName(letter) {
    if (alone) return rubric.judged === "conversation" ? "Conversation" : "Response";
    return layout === "grid" ? letter : `Response ${letter}`;
  }

  /** @param {Candidate} candidate */
  function letterHead({ letter }) {
    const setAside = rubric.set_aside_response;
    const name = nameOf(letter, alone);
    return h("div", { class: "tw-letter", data: { slot: letter } },
      h("h2", { class: "tw-letter-name", "aria-label": name, text: shownName(letter) }),
      h("span", { class: "tw-aside-note", data: { "tw-aside-note": letter } }),
      setAside && !readOnly ? button("Set aside", {
        class: "tw-button tw-quiet tw-small", data: { "tw-set-aside": letter, "tw-tip": setAside.title },
        "aria-label": `${setAside.title}: ${name}`,
      }) : null);
  }

  /** @param {Candidate} candidate */
  const responseCell = (candidate) =>
    h("div", { class: "tw-response", data: { slot: candidate.letter } }, judgedText(candidate), tools());

  function itemQuestions() {
    const blocks = questionsOf("item", "tw-item-question");
    if (!blocks.length) return null;
    return h("section", { class: "tw-item-questions", "aria-label": "About the item" },
      alone ? null : h("h2", { class: "tw-panel-title", text: "All responses together" }), blocks);
  }

  /** The texts once more, for questions that compare them. */
  function recall() {
    const { language } = rubric;
    return h("div", { class: "tw-recall" }, candidates().map(({ letter, text, turns }) => h("section", {},
      h("h2", { class: "tw-letter-name", text: letter }),
      turns.length ? chat(turns, language)
        : h("div", { class: "tw-words tw-recall-text", dir: "auto", lang: language || null, text: text ?? "" }))));
  }

  /**
   * @param {Candidate} candidate
   * @param {() => HTMLElement | null} last built after the candidate's questions, as it is read
   */
  const pair = (candidate, last) => h("div", { class: "tw-pair" },
    h("div", { class: "tw-pair-text" }, letterHead(candidate), responseCell(candidate)),
    h("div", { class: "tw-pair-questions" }, questionsOf(candidate.letter, "tw-question"), last()));

  function gridBoard() {
    const rows = rubric.criteria.filter(({ about }) => about === "candidate").flatMap((criterion) =>
      [criterionHead(criterion), ...questions.filter((question) => question.criterion === criterion).map(fieldset)]);
    const board = h("div", { class: "tw-board tw-grid" },
      candidates().map(letterHead), candidates().map(responseCell), rows, itemQuestions());
    board.style.setProperty("--tw-n", String(letters.length));
    return board;
  }

  function stackBoard() {
    const sections = candidates().map((candidate) => h("section", { class: "tw-stacked" },
      letterHead(candidate), responseCell(candidate), questionsOf(candidate.letter, "tw-question")));
    return h("div", { class: "tw-board tw-stack" }, sections, itemQuestions());
  }

  function stepsBoard() {
    const steps = stepsOf(item().view);
    const tabs = steps.map((slot, i) => h("button", {
      type: "button", class: "tw-tab", data: { "tw-step": i },
      "aria-label": slot === "item" ? "All responses together" : `Response ${slot}`,
      text: slot === "item" ? "All" : slot,
    }));
    const panels = steps.map((slot, i) => {
      const candidate = candidates()[i];
      const next = () => (i < steps.length - 1 ? nextButton(steps[i + 1], i + 1) : null);
      const body = candidate ? pair(candidate, next) : h("div", { class: "tw-last" }, recall(), itemQuestions());
      return h("div", { class: "tw-step", data: { "tw-step-panel": i }, hidden: true }, body);
    });
    return h("div", { class: "tw-board tw-steps" },
      h("div", { class: "tw-tabs", role: "group", "aria-label": "Responses" }, tabs), panels);
  }

  const build = {
    grid: gridBoard, steps: stepsBoard, stack: stackBoard,
    single: () => h("div", { class: "tw-board tw-single" }, pair(candidates()[0], itemQuestions)),
  };
  const element = build[layout]();

  return {
    element,
    fieldsets,

    /** A plain text stays in its box, turns are as many as they are. */
    refill() {
      for (const candidate of candidates()) {
        const cell = part(element, `.tw-response[data-slot="${candidate.letter}"]`);
        const hasBox = find(cell, `[data-tw-text="${candidate.letter}"]`);
        if (candidate.turns.length || !hasBox) cell.replaceWith(responseCell(candidate));
      }
      for (const texts of all(element, ".tw-recall")) texts.replaceWith(recall());
    },
  };
}

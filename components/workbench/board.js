// The responses in panes, and their questions in rows, one row per criterion. Every layout uses the same elements: the
// style sheet positions them, layout.js chooses the layout, moves.js the current response and row.

import { markedChat } from "./context.js";
import { button, find, h, nameOf, nounOf, part, write } from "./dom.js";
import { _ } from "./language.js";
import { answerText, buildQuestion, criterionHead, meanings } from "./question.js";
import { textBox } from "./texts/highlighter.js";
import { problemOf } from "./validate.js";

/** @import { Item } from "./item.js" */
/** @import { Candidate, Criterion, Question, View } from "./types.js" */

const MANY_TABS = 5; // from this many tabs on, they are narrow

/** Slots in the order of steps; the item's own questions come last. @param {View} view */
export function stepsOf({ item, rubric }) {
  const letters = item.candidates.map(({ letter }) => letter);
  return rubric.criteria.some(({ about }) => about === "item") ? [...letters, "item"] : letters;
}

/** @param {string} noun */
const allOf = (noun) => (noun === "Conversation" ? _("All conversations together") : _("All responses together"));

/** A step's name for people: "Response B". @param {string} slot @param {string} noun see `nounOf` */
export const stepName = (slot, noun) => (slot === "item" ? allOf(noun) : nameOf(slot, false, noun));

/** Whether the protocol opens the responses one after another. @param {View} view */
export const isSuccession = ({ item, rubric }) => item.candidates.length > 1 && rubric.presentation === "succession";

/**
 * Whether the server has sent a response's text; in succession it sends each text when the response is opened.
 * @param {Candidate} candidate
 */
export const isSent = ({ text, turns }) => text !== null || turns.length > 0;

/**
 * Draws the board of an item. `refill` draws another item with the same shape into the same elements.
 * @param {object} needs
 * @param {() => Item} needs.item
 * @param {string} needs.uid
 * @param {HTMLElement | null} needs.feedback of a training item, above the questions
 */
export function createBoard({ item, uid, feedback }) {
  const { alone, readOnly, questions } = item();
  const { rubric } = item().view;
  const noun = nounOf(rubric);
  const candidates = () => item().view.item.candidates;
  const letters = candidates().map(({ letter }) => letter);
  const steps = stepsOf(item().view);
  /** @type {Map<string, HTMLFieldSetElement>} */
  const fieldsets = new Map();
  /** @type {Map<string, HTMLElement>} */
  const answerTexts = new Map();

  // ---- texts ----

  /** @param {Candidate} candidate */
  function judgedText({ letter, turns }) {
    const name = nameOf(letter, alone, noun);
    /** @param {number | null} turn @param {string} label */
    const box = (turn, label) => textBox({
      slot: letter, turn, label, editable: item().labelsIn(letter).length > 0 && !readOnly, language: rubric.language,
    });
    if (!turns.length) return box(null, name);
    return h("div", { class: "tw-chat tw-chat-judged" }, markedChat(turns, box, name));
  }

  /** @param {Candidate} candidate */
  const responseCell = (candidate) =>
    h("div", { class: "tw-response", data: { slot: candidate.letter } }, isSent(candidate) ? judgedText(candidate) : null);

  /** @param {Candidate} candidate */
  function pane(candidate) {
    const { letter } = candidate;
    const setAside = rubric.set_aside_response;
    const name = nameOf(letter, alone, noun);
    return h("section", { class: "tw-pane", data: { slot: letter } },
      h("div", { class: "tw-letter", data: { slot: letter } },
        h("h2", { class: "tw-letter-name", "aria-label": name, text: alone ? _(noun) : letter }),
        h("span", { class: "tw-aside-note", data: { "tw-aside-note": letter } }),
        h("span", { class: "tw-seen" }),
        setAside && !readOnly ? button(_("Set aside"), {
          class: "tw-button tw-quiet tw-small", data: { "tw-set-aside": letter, "tw-tip": setAside.title },
          "aria-label": _("Set aside {name}: {title}", { name, title: setAside.title }),
        }) : null),
      h("div", { class: "tw-pane-body", tabindex: "0", role: "region", "aria-label": name }, responseCell(candidate)));
  }

  const tabs = () => h("div", { class: `tw-tabs${steps.length > MANY_TABS ? " tw-many" : ""}`, role: "group", "aria-label": noun === "Conversation" ? _("Conversations") : _("Responses"), hidden: steps.length < 2 },
    steps.map((slot, i) => h("button", {
      type: "button", class: "tw-tab", data: { "tw-step": i, slot, "tw-later": _("later") },
      "aria-label": stepName(slot, noun), text: slot === "item" ? _("All") : slot,
    })));

  // ---- questions ----

  /** @param {Question} question */
  function fieldset(question) {
    const element = buildQuestion(question, { uid, letters, noun });
    fieldsets.set(question.id, element);
    return element;
  }

  /** @param {Question} question */
  function said({ id, slot }) {
    const element = h("span", { class: "tw-said", data: { slot } });
    answerTexts.set(id, element);
    return element;
  }

  /** One row: folded to its answers, or open with its scales. @param {Criterion} criterion */
  function row(criterion) {
    const own = questions.filter((question) => question.criterion === criterion);
    const folded = h("button", {
      type: "button", class: "tw-fold", data: { "tw-fold": criterion.key }, "aria-expanded": "false",
    }, h("span", { class: "tw-fold-title", dir: "auto", text: criterion.title }), own.map(said));
    const open = h("div", { class: "tw-open" }, criterionHead(criterion), meanings(criterion, uid),
      h("div", { class: "tw-scales" }, own.map(fieldset)));
    return h("div", {
      class: `tw-row${criterion.about === "item" ? " tw-of-item" : ""}`, data: { "tw-row": criterion.key },
    }, folded, open);
  }

  /** On a phone: one button per question. */
  const numbers = () => h("div", { class: "tw-numbers", role: "group", "aria-label": _("Questions"), hidden: rubric.criteria.length < 2 },
    rubric.criteria.map(({ key, title, about }, i) => h("button", {
      type: "button", class: `tw-number${about === "item" ? " tw-of-item" : ""}`, data: { "tw-fold": key },
      "aria-label": _("Question {number}: {title}", { number: i + 1, title }), text: String(i + 1),
    })));

  function nextButton() {
    if (alone || readOnly) return null;
    return button("", { class: "tw-button tw-next", data: { "tw-step": 1 } });
  }

  const rows = h("div", { class: "tw-rows" }, feedback,
    rubric.criteria.map(row), nextButton());
  const panes = h("div", { class: `tw-panes${rubric.set_aside_response && !readOnly ? " tw-may-set-aside" : ""}` }, tabs(), candidates().map(pane));
  const split = h("div", {
    class: "tw-split", role: "separator", tabindex: "0", "aria-label": _("Divider between texts and questions"),
    "aria-valuemin": "10", "aria-valuemax": "75", data: { "tw-tip": _("Drag, or use the arrow keys; double click resets") },
  });
  const element = h("div", { class: `tw-main tw-board${steps.length > 1 ? " tw-several" : ""}` }, panes, split,
    h("section", { class: "tw-questions", "aria-label": _("Questions") }, numbers(), rows));
  element.style.setProperty("--tw-n", String(Math.max(1, letters.length)));

  return {
    element,
    fieldsets,

    /** Updates the answer of a folded row. @param {Question} question */
    syncAnswer(question) {
      const { answers } = item();
      const line = answerTexts.get(question.id);
      if (!line) return;
      const text = answerText(question.criterion.scale, answers.rating(question.slot, question.criterion.key));
      const lacks = text !== "" && problemOf(item(), question) !== "";
      const badge = alone || question.slot === "item" ? "" : `${question.slot} `;
      write(line, badge + (lacks ? _("{answer}, reason missing", { answer: text }) : text || "–"));
      line.classList.toggle("tw-lacks", lacks);
      line.classList.toggle("tw-empty", text === "");
    },

    /** Reuses the element of a plain text; turns are drawn again, since their number may differ. */
    refill() {
      for (const candidate of candidates()) {
        const cell = part(element, `.tw-response[data-slot="${candidate.letter}"]`);
        const hasBox = find(cell, `[data-tw-text="${candidate.letter}"]`);
        if (candidate.turns.length || !hasBox || !isSent(candidate)) cell.replaceWith(responseCell(candidate));
      }
    },
  };
}

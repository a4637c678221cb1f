// Draws the item, reusing the previous item's elements if possible, since creating new ones takes a frame or two.

import { CONTEXT } from "./answers.js";
import { createBoard } from "./board.js";
import { contextPanel, feedbackTable } from "./context.js";
import { all, find, h, part, write } from "./dom.js";
import { buildFoot, buildHead, showSaved, syncHead } from "./frame.js";
import { guidelinesPanel } from "./guidelines.js";
import { _, ngettext } from "./language.js";
import { resetQuestion, syncQuestion } from "./question.js";
import { markOriginals } from "./teaching.js";
import { textBox } from "./texts/highlighter.js";
import { isAnswered, problemOf } from "./validate.js";

/** @import { Item } from "./item.js" */
/** @import { Change, Page, Question, View } from "./types.js" */

/**
 * A key of everything that determines a view's elements; views with equal keys differ only in texts and answers.
 * @param {View} view
 */
function shapeOf({ study, rubric, work, item, feedback }) {
  const letters = item.candidates.map(({ letter }) => letter);
  return JSON.stringify([
    letters, Boolean(item.context), work.state, work.can_go_back, feedback ? work.token : null, study, rubric,
  ]);
}

/**
 * @param {object} needs
 * @param {HTMLElement} needs.root
 * @param {string} needs.uid
 * @param {() => Item} needs.item
 * @param {() => HTMLElement[]} needs.tools for highlights
 * @param {{ find: HTMLElement, notices: HTMLElement, problems: HTMLElement, floating: HTMLElement[] }} needs.boxes of other parts
 * @param {() => void} needs.onRefill closes what belongs to the previous item
 * @param {(page: Page) => void} needs.onLaid
 * @param {() => void} needs.onSync
 * @param {() => void} needs.drawTexts
 */
export function createDrawing({ root, uid, item, tools, boxes, onRefill, onLaid, onSync, drawTexts }) {
  /** @type {Page} */
  let page;
  /** @type {ReturnType<typeof createBoard>} */
  let board;
  /** @type {HTMLElement | null} */
  let context = null;
  let shape = "";

  function lay() {
    const { view } = item();
    const nextShape = shapeOf(view);
    if (nextShape === shape) refill();
    else draw();
    shape = nextShape;
    syncHead(page.head, view);
    root.dataset.token = view.work.token;
    syncAll();
    onLaid(page);
  }

  function drawContext() {
    const { view, readOnly } = item();
    const { language } = view.rubric;
    /** @type {import("./context.js").BoxOf} */
    const box = (turn, label) => textBox({ slot: CONTEXT, turn, label, editable: !readOnly, language, look: "tw-prose" });
    const boxOf = item().labelsIn(CONTEXT).length ? box : null;
    return view.item.context && contextPanel(view.item.context, view.study.formats, language, boxOf);
  }

  function draw() {
    const { view, readOnly } = item();
    markOriginals(view.rubric);
    context = drawContext();
    const guidelines = guidelinesPanel(view.rubric);
    board = createBoard({ item, uid, feedback: view.feedback && feedbackTable(view) });
    const { element, fieldsets } = board;
    const work = h("div", { class: `tw-work${context ? "" : " tw-no-context"}` }, context, guidelines, element);
    const labelling = view.rubric.highlights.length && !readOnly ? tools() : [];
    page = { head: buildHead(view), work, guidelines, board: element, foot: buildFoot(view, labelling), fieldsets };
    root.replaceChildren(page.head, boxes.find, boxes.notices, work, boxes.problems, page.foot, ...boxes.floating);
  }

  function refill() {
    onRefill();
    showSaved(page.head, "saved");
    const next = drawContext();
    if (next) context?.replaceWith(next);
    context = next;
    for (const fieldset of page.fieldsets.values()) resetQuestion(fieldset);
    board.refill();
  }

  function syncAll() {
    for (const question of item().questions) sync(question);
    drawTexts();
    syncAside();
    syncCounts();
  }

  /** @param {Question} question */
  function sync(question) {
    const { answers, view, readOnly } = item();
    const fieldset = page.fieldsets.get(question.id);
    if (!fieldset) return;
    syncQuestion(fieldset, question, answers, view.rubric.explanation);
    board.syncAnswer(question);
    if (readOnly) fieldset.disabled = true;
    const { classList } = fieldset;
    if (classList.contains("tw-problem") && !problemOf(item(), question)) classList.remove("tw-problem");
  }

  function syncAside() {
    const { answers, questions, view, readOnly } = item();
    const setAside = view.rubric.set_aside_response;
    if (!setAside) return;
    for (const { letter } of view.item.candidates) {
      const reason = answers.draft.set_aside[letter];
      const aside = reason !== undefined;
      const title = setAside.reasons.find(({ key }) => key === reason)?.title ?? reason;
      write(part(root, `[data-tw-aside-note="${letter}"]`), aside ? _("set aside: {reason}", { reason: title }) : "");
      const control = find(root, `[data-tw-set-aside="${letter}"]`);
      if (control) write(control, aside ? _("Rate it after all") : _("Set aside"));
      for (const { slot, id } of questions) {
        const fieldset = slot === letter && page.fieldsets.get(id);
        if (!fieldset) continue;
        fieldset.classList.toggle("tw-is-aside", aside);
        fieldset.disabled = readOnly || aside;
      }
      for (const cell of all(root, `.tw-response[data-slot="${letter}"]`)) cell.classList.toggle("tw-is-aside", aside);
    }
  }

  function syncCounts() {
    const { answers, questions } = item();
    const required = questions.filter(({ slot, criterion }) => criterion.required && !answers.isSetAside(slot));
    const done = required.filter((question) => isAnswered(answers, question)).length;
    const lacking = questions.filter((question) => isAnswered(answers, question) && problemOf(item(), question)).length;
    const counted = _("{done} of {total} answered", { done, total: required.length });
    const line = find(page.foot, "[data-tw-answered]");
    if (line) {
      write(line, lacking ? ngettext("{answered}, {count} reason missing", "{answered}, {count} reasons missing", lacking, { answered: counted }) : counted);
    }
    onSync();
  }

  return {
    lay,
    syncAll,
    page: () => page,

    /** Updates the controls after a change of an answer. @param {Change} change */
    show({ path, undone }) {
      const [branch, slot, criterion] = path;
      if (branch === "highlights") drawTexts();
      else if (branch === "set_aside") syncAside();
      else if (branch !== "note") {
        const question = item().question(`${slot}:${criterion}`);
        if (question && (undone || path.at(-1) !== "text")) sync(question);
        else if (question) board.syncAnswer(question);
      }
      syncCounts();
    },

    /** Draws the text of a response that the server has just sent. */
    fillTexts() {
      board.refill();
      drawTexts();
    },
  };
}

// The annotator's position: the outlined question, and in succession the response that is open.

import { isSent, isSuccession, stepName, stepsOf } from "./board.js";
import { all, find, nounOf, write } from "./dom.js";
import { _ } from "./language.js";
import { isAnswered, isComplete, problemOf, problems } from "./validate.js";

/** @import { Item } from "./item.js" */
/** @import { Page, Problem, Question } from "./types.js" */

/** Scrolls as little as necessary. @param {Element | null | undefined} element */
const reveal = (element) => element?.scrollIntoView({ block: "nearest", behavior: "instant" });

/** @typedef {ReturnType<typeof createMoves>} Moves */

/**
 * @param {object} needs
 * @param {HTMLElement} needs.root
 * @param {() => Item} needs.item
 * @param {() => Page} needs.page
 * @param {() => void} needs.toTop
 * @param {(problems: Problem[]) => void} needs.showProblems lists them and goes to the first
 * @param {() => void} needs.hideProblems
 * @param {() => void} needs.openNext requests the text of the next response
 */
export function createMoves({ root, item, page, toTop, showProblems, hideProblems, openNext }) {
  /** @type {string[]} */
  let steps = [];
  let step = 0;
  /** The last step that the annotator has reached. */
  let opened = 0;
  /** The outlined question. @type {string | null} */
  let current = null;
  /** The question whose reasons are ticked by digits. @type {string | null} */
  let reasoning = null;
  /** The step to open when its text arrives. @type {number | null} */
  let awaited = null;

  /** Whether one of several responses is shown at a time. */
  const inSteps = () => root.dataset.layout !== "dock" && !item().alone && steps.length > 1;
  const inTurn = () => isSuccession(item().view) && !item().readOnly;

  /** Whether only the current question can be answered: the others are folded or hidden. */
  const isFolded = () => root.dataset.layout === "phone" || page().board.classList.contains("tw-folding");

  /** @param {Question} question */
  const isShown = ({ slot }) => !inSteps() || steps[step] === slot;

  /** @param {Question[]} questions */
  const firstUnanswered = (questions) => questions.find((question) => !isAnswered(item().answers, question));

  /** The outlined question, if it is shown. */
  function currentQuestion() {
    const question = current === null ? null : item().question(current);
    return question && isShown(question) ? question : null;
  }

  /** The questions in display order: by row, or by response if one is shown at a time. */
  function questionsInOrder() {
    const { question, answers } = item();
    const rows = [...page().fieldsets.keys()].flatMap((id) => question(id) ?? []);
    const questions = inSteps() ? item().questions : rows;
    return questions.filter(({ slot }) => !answers.isSetAside(slot));
  }

  /** @param {string | null} id */
  function setCurrent(id) {
    if (current === id) return;
    current = id;
    reasoning = null;
    outline();
  }

  function outline() {
    const { board, fieldsets } = page();
    find(board, ".tw-current")?.classList.remove("tw-current");
    const fieldset = current === null ? null : fieldsets.get(current);
    if (!fieldset) return;
    if (!item().readOnly) fieldset.classList.add("tw-current");
    const row = fieldset.closest(".tw-row");
    if (row?.classList.contains("tw-here")) return;
    find(board, ".tw-row.tw-here")?.classList.remove("tw-here");
    row?.classList.add("tw-here");
    const key = item().question(current ?? "")?.criterion.key;
    for (const control of all(board, "[data-tw-fold]")) {
      const name = control.classList.contains("tw-fold") ? "aria-expanded" : "aria-pressed";
      control.setAttribute(name, String(control.dataset.twFold === key));
    }
  }

  /** Scrolls the whole active row into view or, if it is too high, its question. @param {HTMLElement} fieldset */
  function revealRow(fieldset) {
    const row = fieldset.closest(".tw-row");
    reveal(row);
    const rows = fieldset.closest(".tw-rows");
    if (rows && row && row.clientHeight > rows.clientHeight) reveal(fieldset);
  }

  /** Outlines a question, shows it and focuses it. @param {string} id */
  function goTo(id) {
    const place = steps.indexOf(item().question(id)?.slot ?? "");
    if (inSteps() && place !== step) showStep(place);
    setCurrent(id);
    const fieldset = page().fieldsets.get(id);
    if (!fieldset) return;
    (find(fieldset, "input:checked") ?? find(fieldset, "input:not([type=text])") ?? fieldset).focus({ preventScroll: true });
    revealRow(fieldset);
  }

  /**
   * The next incomplete question after this one, continuing from the first.
   * @param {Question} question
   */
  function nextAfter(question) {
    const { answers } = item();
    const order = questionsInOrder().filter((other) => !inTurn() || isShown(other));
    const place = order.indexOf(question);
    return [...order.slice(place + 1), ...order.slice(0, place)].find((other) =>
      !isAnswered(answers, other) || problemOf(item(), other));
  }

  /** After a click: goes to the next question if it would otherwise not be visible. @param {Question} question */
  function followUp(question) {
    const next = nextAfter(question);
    if (!next) return focusNext();
    const isElsewhere = next.criterion !== question.criterion || next.slot !== question.slot;
    if (isElsewhere && (isFolded() ? next.criterion !== question.criterion || inSteps() : !isShown(next))) goTo(next.id);
  }

  function focusNext() {
    setCurrent(null);
    const next = (inTurn() ? find(page().board, ".tw-next:not([hidden])") : null) ?? find(page().foot, "[data-tw-submit]");
    next?.focus({ preventScroll: true });
    reveal(next);
  }

  /** @param {number} next */
  function showStep(next) {
    step = next;
    opened = Math.max(opened, step);
    const { board } = page();
    const slot = steps[step];
    board.dataset.step = slot;
    for (const element of all(board, "[data-slot]")) element.classList.toggle("tw-shown", element.dataset.slot === slot);
    const { question, questions } = item();
    if (inSteps() && (current === null || question(current)?.slot !== slot)) {
      const ofStep = questions.filter(isShown);
      setCurrent((firstUnanswered(ofStep) ?? ofStep[0])?.id ?? null);
    }
    syncTabs();
  }

  function syncTabs() {
    const { board } = page();
    syncNumbers();
    if (!inSteps()) return;
    const complete = steps.map((slot) => isComplete(item(), slot));
    const next = find(board, ".tw-next");
    if (next) {
      const slot = steps[step + 1];
      next.hidden = !slot;
      next.dataset.twStep = String(step + 1);
      next.classList.toggle("tw-ready", complete[step]);
      write(next, _("Next: {name} →", { name: slot ? stepName(slot, nounOf(item().view.rubric)) : "" }));
    }
    for (const tab of all(board, ".tw-tab")) {
      const place = Number(tab.dataset.twStep);
      const open = !inTurn() || place <= opened || complete.slice(0, place).every(Boolean);
      tab.setAttribute("aria-current", place === step ? "step" : "false");
      tab.setAttribute("aria-disabled", String(!open));
      tab.classList.toggle("tw-tab-done", complete[place]);
    }
  }

  /** On a phone: marks the buttons of complete questions. */
  function syncNumbers() {
    if (root.dataset.layout !== "phone") return;
    const { questions } = item();
    for (const number of all(page().board, ".tw-number")) {
      const own = questions.filter((question) => question.criterion.key === number.dataset.twFold
        && (question.slot === steps[step] || question.slot === "item"));
      number.classList.toggle("tw-done", own.every((question) => !problemOf(item(), question)));
    }
  }

  return {
    currentQuestion,
    setCurrent,
    goTo,
    syncTabs,

    /** Another item: starts at the first unanswered question and the first incomplete response. */
    start() {
      const { view, questions, readOnly } = item();
      steps = stepsOf(view);
      const first = steps.findIndex((slot) => !isComplete(item(), slot));
      opened = first < 0 ? steps.length - 1 : first;
      awaited = null;
      reasoning = null;
      step = view.work.state === "submitted" || readOnly ? 0 : opened;
      current = (firstUnanswered(questions) ?? questions[0])?.id ?? null;
    },

    /** Called after the item was drawn, in any layout: shows the current question. */
    restore() {
      const slot = current === null ? undefined : item().question(current)?.slot;
      const place = slot === undefined ? -1 : steps.indexOf(slot);
      showStep(place >= 0 && (!inTurn() || place <= opened) ? place : step);
      outline();
    },

    /** Called when the server has sent the text of a response. */
    textsSent() {
      if (awaited === null) return;
      showStep(awaited);
      awaited = null;
      toTop();
    },

    /** Called when the server is reachable again: requests a text again that did not arrive. */
    askAgain() {
      if (awaited !== null) openNext();
    },

    /** Shows an open response that another one hides. @param {string} slot */
    showResponse(slot) {
      const place = steps.indexOf(slot);
      if (inSteps() && place >= 0 && place !== step && (!inTurn() || place <= opened)) showStep(place);
    },

    /** A folded row or its number was clicked: goes to its first incomplete question. @param {string} key */
    unfold(key) {
      const { questions } = item();
      const own = questions.filter((question) => question.criterion.key === key && (question.slot === "item" || isShown(question)));
      const asked = own.find((question) => problemOf(item(), question)) ?? own[0];
      if (asked) goTo(asked.id);
    },

    /**
     * An answer was given by pointer: goes on if the next question would otherwise not be visible.
     * @param {Question} question
     */
    goOn(question) {
      if (problemOf(item(), question)) {
        const fieldset = page().fieldsets.get(question.id);
        if (fieldset) revealRow(fieldset);
      } else if (isFolded() || (inSteps() && !inTurn())) followUp(question);
    },

    /** A reason was given: shows the button to the next response if this one is complete. */
    showNext() {
      if (inSteps()) reveal(find(page().board, ".tw-next.tw-ready:not([hidden])"));
    },

    /** J and K: the next or previous question; after the last one, the button below it. @param {number} by */
    move(by) {
      const order = questionsInOrder();
      const afterLast = order.findLastIndex(isShown) + 1;
      const target = current === null ? order[afterLast + Math.min(by, 0)]
        : order[order.findIndex(({ id }) => id === current) + by];
      if (!target) return;
      if (inTurn() && steps.indexOf(target.slot) > opened) focusNext();
      else goTo(target.id);
    },

    /** An answer was given by key: goes on, unless it asks for a reason. @param {Question} question */
    toNextUnanswered(question) {
      const { answers } = item();
      const fieldset = page().fieldsets.get(question.id);
      if (fieldset && isAnswered(answers, question) && problemOf(item(), question)) {
        reasoning = answers.asked(question.slot, question.criterion)?.reasons.length ? question.id : null;
        return goTo(question.id);
      }
      const next = nextAfter(question);
      if (next) goTo(next.id);
      else focusNext();
    },

    /** Enter on a question: goes to the next incomplete one. @param {HTMLElement} target */
    goOnFrom(target) {
      const question = currentQuestion();
      if (!question || target.matches("button, input[type=checkbox]")) return false;
      this.toNextUnanswered(question);
      return true;
    },

    /**
     * Whether digits tick reasons of this question: it was answered by key and is still current.
     * @param {Question} question
     */
    isAskedWhy: ({ id }) => reasoning === id,

    /** Puts the caret into the current text, so that it can be marked by keyboard. */
    focusText() {
      const slot = page().board.dataset.step;
      const pane = find(page().board, `.tw-pane[data-slot="${slot}"]`) ?? find(page().board, ".tw-pane");
      if (pane) (find(pane, "[contenteditable]") ?? find(pane, ".tw-pane-body"))?.focus({ preventScroll: true });
    },

    focusSearch() {
      const fieldset = current === null ? null : page().fieldsets.get(current);
      if (fieldset) find(fieldset, ".tw-search")?.focus({ preventScroll: true });
    },

    /** A digit at a slider is the first one of a number, which its box takes. @param {number} digit */
    typeNumber(digit) {
      const fieldset = current === null ? null : page().fieldsets.get(current);
      const box = fieldset && /** @type {HTMLInputElement | null} */ (find(fieldset, ".tw-number-box"));
      if (!box) return;
      box.focus({ preventScroll: true });
      box.value = String(digit);
      box.dispatchEvent(new Event("input", { bubbles: true }));
    },

    focusExplanation() {
      const { question } = item();
      const boxes = all(root, "[data-tw-question] .tw-ask:not([hidden])").filter((box) => box.offsetParent);
      const open = boxes.filter((box) => {
        const asked = question(box.parentElement?.dataset.twQuestion ?? "");
        return asked && problemOf(item(), asked);
      });
      const box = open.at(-1) ?? boxes.at(-1);
      if (box) find(box, "input, textarea")?.focus();
    },

    refocus() {
      const question = currentQuestion();
      if (question) goTo(question.id);
      else root.focus({ preventScroll: true });
    },

    /**
     * A tab or "Next" was clicked. In succession, a response opens when the ones before it are complete.
     * @param {number} next
     */
    askStep(next) {
      const { view } = item();
      const blocked = inTurn() && next > opened
        ? steps.slice(0, next).find((slot) => !isComplete(item(), slot)) : undefined;
      if (blocked) return showProblems(problems(item()).filter(({ slot }) => slot === blocked));
      hideProblems();
      const candidate = view.item.candidates[next];
      if (candidate && !isSent(candidate)) {
        awaited = next;
        return openNext();
      }
      showStep(next);
      const question = currentQuestion();
      if (inTurn() || !question) toTop();
      else goTo(question.id);
    },
  };
}

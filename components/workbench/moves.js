// Where the annotator is: the outlined question, and the response that is open in succession.

import { stepsOf } from "./board.js";
import { all, find } from "./dom.js";
import { isAnswered, isComplete, problemOf, problems } from "./validate.js";

/** @import { Item } from "./item.js" */
/** @import { Page, Problem, Question } from "./types.js" */

/** Scrolls just enough; the style sheet says how far from head and foot. @param {HTMLElement | null} element */
const reveal = (element) => element?.scrollIntoView({ block: "nearest", behavior: "instant" });

/** @typedef {ReturnType<typeof createMoves>} Moves */

/**
 * @param {object} needs
 * @param {HTMLElement} needs.root
 * @param {() => Item} needs.item
 * @param {() => Page} needs.page
 * @param {() => void} needs.toTop
 * @param {(problems: Problem[]) => void} needs.showProblems and goes to the first
 * @param {() => void} needs.hideProblems
 */
export function createMoves({ root, item, page, toTop, showProblems, hideProblems }) {
  /** @type {string[]} */
  let steps = [];
  let step = 0;
  /** The last step that may be opened. */
  let opened = 0;
  /** The outlined question. @type {string | null} */
  let current = null;

  const inSteps = () => page().layout === "steps";

  /** @param {Question} question */
  const isShown = ({ slot }) => !inSteps() || steps[step] === slot;

  /** @param {Question[]} questions */
  const firstUnanswered = (questions) => questions.find((question) => !isAnswered(item().answers, question));

  /** The outlined question, if it is shown. */
  function currentQuestion() {
    const question = current === null ? null : item().question(current);
    return question && isShown(question) ? question : null;
  }

  /** The questions in the order of the screen. */
  function questionsInOrder() {
    const { question, answers } = item();
    const questions = [...page().fieldsets.keys()].flatMap((id) => question(id) ?? []);
    return questions.filter(({ slot }) => !answers.isSetAside(slot));
  }

  /** @param {string | null} id */
  function setCurrent(id) {
    if (current === id) return;
    current = id;
    outline();
  }

  function outline() {
    find(page().board, ".tw-current")?.classList.remove("tw-current");
    if (current !== null && !item().readOnly) page().fieldsets.get(current)?.classList.add("tw-current");
  }

  /** Outlines a question, shows it and puts the focus into it. @param {string} id */
  function goTo(id) {
    const place = steps.indexOf(item().question(id)?.slot ?? "");
    if (inSteps() && place !== step) showStep(place);
    setCurrent(id);
    const fieldset = page().fieldsets.get(id);
    if (!fieldset) return;
    (find(fieldset, "input:checked") ?? find(fieldset, "input"))?.focus({ preventScroll: true });
    reveal(fieldset);
  }

  const submitButton = () => find(page().foot, "[data-tw-submit]");

  function focusNext() {
    setCurrent(null);
    const next = find(page().board, `[data-tw-step-panel="${step}"] .tw-next`) ?? submitButton();
    next?.focus({ preventScroll: true });
    reveal(next);
  }

  /** @param {number} next */
  function showStep(next) {
    step = next;
    opened = Math.max(opened, step);
    for (const panel of all(page().board, "[data-tw-step-panel]")) {
      panel.hidden = Number(panel.dataset.twStepPanel) !== step;
    }
    const { question, questions } = item();
    if (current === null || question(current)?.slot !== steps[step]) {
      const ofStep = questions.filter(isShown);
      setCurrent((firstUnanswered(ofStep) ?? ofStep[0])?.id ?? null);
    }
    syncTabs();
  }

  function syncTabs() {
    if (!inSteps()) return;
    const { view, answers, readOnly } = item();
    const complete = steps.map((slot) => isComplete(view, answers, slot));
    for (const tab of all(page().board, ".tw-tab")) {
      const place = Number(tab.dataset.twStep);
      const open = readOnly || place <= opened || complete.slice(0, place).every(Boolean);
      tab.setAttribute("aria-current", place === step ? "step" : "false");
      tab.setAttribute("aria-disabled", String(!open));
      tab.classList.toggle("tw-tab-done", complete[place]);
    }
  }

  return {
    currentQuestion,
    setCurrent,
    goTo,
    syncTabs,

    /** Another item: the first question without an answer, on the first response that is not complete. */
    start() {
      const { view, answers, questions, readOnly } = item();
      steps = stepsOf(view);
      const first = steps.findIndex((slot) => !isComplete(view, answers, slot));
      opened = first < 0 ? steps.length - 1 : first;
      step = view.work.state === "submitted" || readOnly ? 0 : opened;
      current = (firstUnanswered(questions) ?? questions[0])?.id ?? null;
    },

    /** The item was drawn. */
    restore() {
      if (inSteps()) showStep(step);
      outline();
    },

    /** J and K. @param {number} by */
    move(by) {
      const order = questionsInOrder();
      const target = order[order.findIndex(({ id }) => id === current) + by];
      if (!target) return;
      if (inSteps() && steps.indexOf(target.slot) > opened) focusNext();
      else goTo(target.id);
    },

    /** @param {Question} question */
    toNextUnanswered(question) {
      const order = questionsInOrder().filter(isShown);
      const place = order.indexOf(question);
      const next = firstUnanswered([...order.slice(place + 1), ...order.slice(0, place)]);
      if (next) goTo(next.id);
      else if (inSteps()) focusNext();
      else {
        setCurrent(null);
        submitButton()?.focus({ preventScroll: true });
      }
    },

    focusExplanation() {
      const { answers, question, view } = item();
      const boxes = all(root, "[data-tw-question] .tw-ask:not([hidden])").filter((box) => box.offsetParent);
      const open = boxes.filter((box) => {
        const asked = question(box.parentElement?.dataset.twQuestion ?? "");
        return asked && problemOf(answers, asked, view.rubric.explanation);
      });
      const box = open.at(-1) ?? boxes.at(-1);
      if (box) find(box, "input, textarea")?.focus();
    },

    refocus() {
      const question = currentQuestion();
      if (question) goTo(question.id);
      else root.focus({ preventScroll: true });
    },

    /** A tab or "Next" was used. @param {number} next */
    askStep(next) {
      const { view, answers, readOnly } = item();
      const blocked = steps.slice(0, next).find((slot) => !isComplete(view, answers, slot));
      if (next > opened && blocked && !readOnly) {
        showProblems(problems(view, answers).filter(({ slot }) => slot === blocked));
        return;
      }
      hideProblems();
      showStep(next);
      toTop();
    },
  };
}

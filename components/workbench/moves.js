// Where the annotator is: the outlined question, and the response that is open in succession.

import { splitQuestion } from "./answers.js";
import { stepsOf } from "./board.js";
import { scroller } from "./dom.js";
import { isAnswered, isComplete, problemOf, problems } from "./validate.js";

export class Moves {
  /** @param ui the surface */
  constructor(ui) {
    this.ui = ui;
  }

  get #inSteps() {
    return this.ui.layout === "steps";
  }

  /** Another item: the first question without an answer, on the first response that is not complete. */
  start() {
    const { view, answers, questions, readOnly } = this.ui;
    this.steps = stepsOf(view);
    const first = this.steps.findIndex((slot) => !isComplete(view, answers, slot));
    this.opened = first < 0 ? this.steps.length - 1 : first;
    this.step = view.work.state === "submitted" || readOnly ? 0 : this.opened;
    this.current = questions.find((q) => !isAnswered(answers, q))?.id ?? questions[0]?.id ?? null;
  }

  toTop() {
    const frame = scroller(this.ui.root);
    if (frame.scrollTop) frame.scrollTop = 0;
    this.ui.head.querySelector(".tw-heading").focus({ preventScroll: true });
  }

  // ---- the outlined question ----

  currentQuestion() {
    const question = this.current && this.ui.question(this.current);
    return question && this.#isShown(question) ? question : null;
  }

  #isShown({ slot }) {
    return !this.#inSteps || this.steps[this.step] === slot;
  }

  /** The questions in the order in which they stand on the screen. */
  #order() {
    const { ui } = this;
    const shown = [...ui.root.querySelectorAll("[data-tw-question]")].map(({ dataset }) => ui.question(dataset.twQuestion));
    return shown.filter((question) => !ui.answers.isSetAside(question.slot));
  }

  setCurrent(id) {
    if (this.current === id) return;
    this.current = id;
    this.outline();
  }

  outline() {
    const { ui } = this;
    const wanted = this.current && !ui.readOnly ? ui.fieldsets.get(this.current) ?? null : null;
    if (this.outlined === wanted) return;
    this.outlined?.classList.remove("tw-current");
    wanted?.classList.add("tw-current");
    this.outlined = wanted;
  }

  /** Outlines a question, shows it and puts the focus into it. */
  goTo(id) {
    const at = this.steps.indexOf(this.ui.question(id).slot);
    if (this.#inSteps && at !== this.step) this.showStep(at);
    this.setCurrent(id);
    const fieldset = this.ui.fieldsets.get(id);
    const target = fieldset.querySelector("input:checked") ?? fieldset.querySelector("input");
    target?.focus({ preventScroll: true });
    this.ui.events.reveal(fieldset);
  }

  /** J and K. */
  move(by) {
    const order = this.#order();
    const at = order.findIndex(({ id }) => id === this.current);
    const target = order[at + by];
    if (!target) return true;
    if (this.#inSteps && this.steps.indexOf(target.slot) > this.opened) this.#focusNext();
    else this.goTo(target.id);
    return true;
  }

  toNextUnanswered(question) {
    const order = this.#order().filter((q) => this.#isShown(q));
    const at = order.indexOf(question);
    const next = [...order.slice(at + 1), ...order.slice(0, at)].find((q) => !isAnswered(this.ui.answers, q));
    if (next) this.goTo(next.id);
    else if (this.#inSteps) this.#focusNext();
    else {
      this.setCurrent(null);
      this.#submitButton()?.focus({ preventScroll: true });
    }
  }

  #submitButton() {
    return this.ui.foot.querySelector("[data-tw-submit]");
  }

  #focusNext() {
    this.setCurrent(null);
    const next = this.ui.board.querySelector(`[data-tw-step-panel="${this.step}"] .tw-next`) ?? this.#submitButton();
    next?.focus({ preventScroll: true });
    if (next) this.ui.events.reveal(next);
  }

  focusExplanation() {
    const { ui } = this;
    const asked = [...ui.root.querySelectorAll("[data-tw-question] .tw-ask:not([hidden])")].filter((box) => box.offsetParent);
    const isOpen = (box) => problemOf(ui.answers, ui.question(box.parentElement.dataset.twQuestion), ui.view.rubric.explanation);
    const box = asked.filter(isOpen).at(-1) ?? asked.at(-1);
    box?.querySelector("input, textarea")?.focus();
    return true;
  }

  refocus() {
    const id = this.currentQuestion()?.id;
    if (id) this.goTo(id);
    else this.ui.root.focus({ preventScroll: true });
  }

  // ---- one response after another ----

  showStep(step) {
    const { ui } = this;
    this.step = step;
    this.opened = Math.max(this.opened, step);
    for (const panel of ui.board.querySelectorAll("[data-tw-step-panel]")) panel.hidden = Number(panel.dataset.twStepPanel) !== step;
    const slot = this.steps[step];
    if (this.current === null || splitQuestion(this.current)[0] !== slot) {
      const here = ui.questions.filter((q) => q.slot === slot);
      this.setCurrent((here.find((q) => !isAnswered(ui.answers, q)) ?? here[0])?.id ?? null);
    }
    this.syncTabs();
  }

  /** A tab or "Next" was used. */
  askStep(step) {
    const { view, answers, readOnly, sending } = this.ui;
    const blocked = this.steps.slice(0, step).find((slot) => !isComplete(view, answers, slot));
    if (step > this.opened && blocked && !readOnly) {
      sending.point(problems(view, answers).filter(({ slot }) => slot === blocked));
      return;
    }
    sending.problems.hidden = true;
    this.showStep(step);
    this.toTop();
  }

  syncTabs() {
    const { ui } = this;
    const complete = this.steps.map((slot) => isComplete(ui.view, ui.answers, slot));
    for (const tab of ui.board.querySelectorAll(".tw-tab")) {
      const step = Number(tab.dataset.twStep);
      const open = ui.readOnly || step <= this.opened || complete.slice(0, step).every(Boolean);
      tab.setAttribute("aria-current", step === this.step ? "step" : "false");
      tab.setAttribute("aria-disabled", String(!open));
      tab.classList.toggle("tw-tab-done", complete[step]);
    }
  }
}

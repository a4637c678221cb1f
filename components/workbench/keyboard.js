// Keys. They act only while focus is inside the surface and outside text boxes, and can be switched off.

import { halfAbove, isSlider, valueOfDigit } from "./scale.js";

const TYPED = "textarea, input[type=text], select";
const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"];

const isPlain = (event) => !event.ctrlKey && !event.metaKey && !event.altKey;
const isPrintable = (event) => event.key.length === 1;

/** The digit of a key, also on keyboards where digits need Shift; null if it is none. */
export function digitOf(event) {
  if (/^[0-9]$/.test(event.key)) return Number(event.key);
  const code = /^(?:Digit|Numpad)([0-9])$/.exec(event.code ?? "");
  return code && !event.shiftKey && event.key.length === 1 ? Number(code[1]) : null;
}

export class Keyboard {
  /** @param ui the surface */
  constructor(ui) {
    this.ui = ui;
    this.lastDigit = null;
    this.labelNext = false;
  }

  /** Another item or any other change: there is no digit left to add a half to, and no label to wait for. */
  reset() {
    this.lastDigit = null;
    this.labelNext = false;
  }

  handle(event) {
    if (event.isComposing || event.defaultPrevented) return;
    // Streamlit listens for plain C and R further up; nothing typed here may reach it.
    if (isPlain(event) && isPrintable(event)) event.stopPropagation();
    const { target } = event;
    if (target.closest("dialog")) return;
    const done = target.matches(TYPED) ? this.#inTextBox(event) : this.#outside(event);
    if (!done) return;
    event.preventDefault();
    event.stopPropagation();
  }

  #inTextBox(event) {
    if (event.key !== "Escape") return false;
    this.ui.closeFloating();
    this.ui.moves.refocus();
    return true;
  }

  #outside(event) {
    if (this.#undo(event)) return true;
    if (!isPlain(event)) return false;
    if (event.key === "Escape") return this.#escape();
    if (event.target.matches(".tw-range.tw-unset")) {
      if (event.key === "Enter" || ARROWS.includes(event.key)) return this.ui.rating.takeSlider(event.target);
    }
    if (event.key === "Delete" || event.key === "Backspace") return this.#delete(event);
    if (event.target.closest("[data-tw-text]") && event.key === "Enter") return this.ui.highlighter.openAtCaret();
    return this.ui.reading.keysOn && !event.repeat && this.#single(event);
  }

  #undo(event) {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return false;
    const key = event.key.toLowerCase();
    if (key === "z") return this.ui.rating.undo(event.shiftKey);
    return key === "y" && this.ui.rating.undo(true);
  }

  #escape() {
    this.labelNext = false;
    return this.ui.closeFloating() || this.ui.reading.showGuidelines(false);
  }

  #delete({ target }) {
    if (target.closest("[data-tw-text]")) {
      this.ui.highlighter.removeAtCaret();
      return true;
    }
    const fieldset = target.closest("[data-tw-question]");
    if (!fieldset || target.closest(".tw-ask")) return false;
    return this.ui.rating.clear(fieldset.dataset.twQuestion);
  }

  #single(event) {
    const digit = digitOf(event);
    if (digit !== null) return this.#digit(digit, event);
    const key = event.key.toLowerCase();
    if (key === ".") return this.#half();
    const actions = {
      j: () => this.ui.moves.move(1), k: () => this.ui.moves.move(-1), u: () => this.ui.rating.undo(event.shiftKey),
      g: () => this.ui.reading.showGuidelines(), e: () => this.ui.moves.focusExplanation(), "?": () => this.ui.dialogs.keys(),
      h: () => this.#label(),
    };
    if (!actions[key]) return false;
    this.lastDigit = null;
    actions[key]();
    return true;
  }

  #label() {
    this.labelNext = this.ui.view.rubric.highlights.length > 0 && !this.ui.readOnly;
    if (this.labelNext) this.ui.notices.announce("Now the label's digit", true);
  }

  /** In a text with something selected, digits are labels; everywhere else they answer. */
  #digit(digit, { target }) {
    const labels = this.ui.view.rubric.highlights;
    const selecting = target.closest("[data-tw-text]") && this.ui.highlighter.selection();
    if (this.labelNext || selecting) {
      this.labelNext = false;
      const label = labels[digit - 1];
      if (label) this.ui.highlighter.choose(label.key);
      return true;
    }
    return this.#answer(digit);
  }

  #answer(digit) {
    const question = this.ui.moves.currentQuestion();
    if (!question || this.ui.readOnly || this.ui.answers.isSetAside(question.slot)) return true;
    const { criterion } = question;
    if (criterion.scale.kind === "best") return this.ui.rating.toggleBest(question, digit);
    if (isSlider(criterion.scale)) return true;
    const value = valueOfDigit(criterion.scale, digit);
    if (value === undefined) return true;
    this.ui.rating.rate(question, value);
    this.lastDigit = { question, value };
    this.ui.moves.toNextUnanswered(question);
    return true;
  }

  #half() {
    const last = this.lastDigit;
    this.lastDigit = null;
    const value = last && halfAbove(last.question.criterion.scale, last.value);
    if (value !== undefined && value !== null) this.ui.rating.rate(last.question, value);
    return true;
  }
}

// Keyboard shortcuts. They act only while the focus is in the surface and outside text boxes; single keys can be
// switched off.

import { targetOf } from "./dom.js";
import { _ } from "./language.js";
import { halfAbove, inPlainDigits, isSlider, valueOfDigit } from "./scale.js";

/** @import { Guidelines } from "./guidelines.js" */
/** @import { Item } from "./item.js" */
/** @import { Arrangement } from "./layout.js" */
/** @import { Moves } from "./moves.js" */
/** @import { Rating } from "./rating.js" */
/** @import { Preferences } from "./store.js" */
/** @import { Highlighter } from "./texts/highlighter.js" */
/** @import { Question, Value } from "./types.js" */

const TYPED = "textarea, input[type=text], select";
const SLIDER_KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown", "Enter"];

/** @param {KeyboardEvent} event */
const isPlain = (event) => !event.ctrlKey && !event.metaKey && !event.altKey;

/**
 * The digit of a key, even on keyboards where digits need Shift; null if it is not a digit.
 * @param {Pick<KeyboardEvent, "key" | "code" | "shiftKey">} event
 */
export function digitOf({ key, code, shiftKey }) {
  if (/^[0-9]$/.test(key)) return Number(key);
  const place = /^(?:Digit|Numpad)([0-9])$/.exec(code ?? "");
  return place && !shiftKey && key.length === 1 ? Number(place[1]) : null;
}

/**
 * The character of a key in lower case; by the key's place where the keyboard has letters of another script.
 * @param {Pick<KeyboardEvent, "key" | "code">} event
 */
export function characterOf({ key, code }) {
  if (key === "؟") return "?";
  const place = /^Key([A-Z])$/.exec(code ?? "");
  const isOfAnotherScript = /^[^\0-\x7f\p{Script=Latin}]$/u.test(key);
  return (place && isOfAnotherScript ? place[1] : key).toLowerCase();
}

/** Leaves a number's box; whether it then shows another number than was typed. @param {HTMLInputElement} box */
function leaveCorrected(box) {
  const typed = Number(inPlainDigits(box.value).replace(",", "."));
  box.blur();
  return box.value !== "" && Number(box.value) !== typed;
}

/**
 * @param {object} needs
 * @param {HTMLElement} needs.root
 * @param {Preferences} needs.preferences
 * @param {() => Item} needs.item
 * @param {Rating} needs.rating
 * @param {Moves} needs.moves
 * @param {Highlighter} needs.highlighter
 * @param {Guidelines} needs.guidelines
 * @param {Arrangement} needs.layout
 * @param {() => void} needs.showKeys
 * @param {() => void} needs.find opens the box that finds words in the texts
 * @param {() => void} needs.confirm Ctrl+Enter
 * @param {(input: HTMLInputElement) => void} needs.takeSlider
 * @param {() => boolean} needs.closeFloating returns whether anything was open
 * @param {(text: string, visible: boolean) => void} needs.announce
 */
export function createKeyboard({
  root, preferences, item, rating, moves, highlighter, guidelines, layout, showKeys, find, confirm, takeSlider,
  closeFloating, announce,
}) {
  let on = preferences.get("keys", "on") === "on";
  /** The answer to which a full stop adds a half. @type {{ question: Question, value: Value } | null} */
  let lastDigit = null;
  let labelNext = false;
  const apply = () => root.classList.toggle("tw-keys-off", !on);
  apply();

  /** @param {KeyboardEvent} event @returns {boolean} whether the key was used */
  function inTextBox({ key, target: box }) {
    const target = /** @type {HTMLElement} */ (box);
    const question = moves.currentQuestion();
    if (key === "Enter" && question && target.matches(".tw-number-box")) {
      if (leaveCorrected(/** @type {HTMLInputElement} */ (target))) moves.refocus();
      else moves.toNextUnanswered(question);
      return true;
    }
    if (key !== "Escape") return false;
    if (closeFloating() || !question || !target.closest(".tw-ask")) moves.refocus();
    else moves.toNextUnanswered(question);
    return true;
  }

  /** @param {KeyboardEvent} event @returns {boolean} */
  function outside(event) {
    const { key } = event;
    const target = targetOf(event);
    if (isUndo(event)) return true;
    if (!isPlain(event)) return false;
    if (key === "Escape") return escape();
    if (target.matches(".tw-range.tw-unset") && SLIDER_KEYS.includes(key)) {
      takeSlider(/** @type {HTMLInputElement} */ (target));
      return true;
    }
    if (key === "Delete" || key === "Backspace") return remove(target);
    if (key === "Enter" && target.closest("[data-tw-text]")) return highlighter.openAtCaret();
    if (key === "Enter" && on && target.closest("[data-tw-question]")) return moves.goOnFrom(target);
    return on && !event.repeat && single(event);
  }

  /** @param {KeyboardEvent} event */
  function isUndo(event) {
    const { ctrlKey, metaKey, altKey, shiftKey } = event;
    const letter = characterOf(event);
    if (!(ctrlKey || metaKey) || altKey || (letter !== "z" && letter !== "y")) return false;
    rating.undo(letter === "y" || shiftKey);
    return true;
  }

  function escape() {
    const wasLabelling = [highlighter.disarm(), labelNext].includes(true);
    labelNext = false;
    return [closeFloating(), wasLabelling].includes(true) || guidelines.close();
  }

  /** @param {HTMLElement} target */
  function remove(target) {
    if (target.closest("[data-tw-text]")) {
      highlighter.removeAtCaret();
      return true;
    }
    const fieldset = /** @type {HTMLElement | null} */ (target.closest("[data-tw-question]"));
    if (!fieldset || target.closest(".tw-ask")) return false;
    const question = item().question(fieldset.dataset.twQuestion ?? "");
    if (question) rating.clear(question);
    return true;
  }

  /** @param {KeyboardEvent} event */
  function single(event) {
    const digit = digitOf(event);
    if (digit !== null) {
      useDigit(digit, targetOf(event));
      return true;
    }
    /** @type {Record<string, () => void>} */
    const actions = {
      j: () => moves.move(1), k: () => moves.move(-1), u: () => rating.undo(event.shiftKey), g: guidelines.toggle,
      e: moves.focusExplanation, h: awaitLabel, "?": showKeys, ".": addHalf, c: layout.toggleContext,
      d: layout.toggleDescriptions, t: moves.focusText, f: find, "/": moves.focusSearch,
    };
    const act = actions[characterOf(event)];
    if (!act) return false;
    if (act !== addHalf) lastDigit = null;
    act();
    return true;
  }

  function awaitLabel() {
    const { view, readOnly } = item();
    labelNext = view.rubric.highlights.length > 0 && !readOnly;
    if (labelNext) announce(_("Press the digit of a label"), true);
  }

  /**
   * With a selection in a text, a digit is a label; otherwise it answers the current question.
   * @param {number} digit @param {HTMLElement} target
   */
  function useDigit(digit, target) {
    if (labelNext || (target.closest("[data-tw-text]") && highlighter.selection())) {
      labelNext = false;
      const label = item().view.rubric.highlights[digit - 1];
      if (label) highlighter.choose(label.key);
    } else answer(digit);
  }

  /** @param {number} digit */
  function answer(digit) {
    const question = moves.currentQuestion();
    const { answers, readOnly } = item();
    if (!question || readOnly || answers.isSetAside(question.slot)) return;
    const { scale } = question.criterion;
    if (moves.isAskedWhy(question)) {
      const reason = answers.asked(question.slot, question.criterion)?.reasons[digit - 1];
      return reason && rating.toggleReason(question, reason.key);
    }
    if (scale.kind === "best") return rating.toggleBest(question, digit);
    if (isSlider(scale)) return moves.typeNumber(digit);
    const value = valueOfDigit(scale, digit);
    if (value === undefined) return;
    rating.rate(question, value);
    lastDigit = { question, value };
    moves.toNextUnanswered(question);
  }

  function addHalf() {
    const value = lastDigit ? halfAbove(lastDigit.question.criterion.scale, lastDigit.value) : undefined;
    if (lastDigit && value !== undefined) rating.rate(lastDigit.question, value);
    lastDigit = null;
  }

  return {
    get isOn() {
      return on;
    },

    /** @param {boolean} next */
    setOn(next) {
      on = next;
      preferences.set("keys", on ? "on" : "off");
      apply();
    },

    /** Called for another item or any other change: the next full stop adds no half, and no label is expected. */
    reset() {
      lastDigit = null;
      labelNext = false;
    },

    /** Handles Ctrl+Enter first, since radio buttons and buttons use Enter. @param {KeyboardEvent} event */
    handleFirst(event) {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.repeat) return;
      const focused = document.activeElement;
      if (focused !== document.body && !root.contains(focused)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      // nobody has seen the corrected number yet
      if (focused instanceof HTMLInputElement && focused.matches(".tw-number-box") && leaveCorrected(focused)) return;
      confirm();
    },

    /** @param {KeyboardEvent} event */
    handle(event) {
      if (event.isComposing || event.defaultPrevented) return;
      // Streamlit has shortcuts on plain C and R; no key used here may reach it.
      if (isPlain(event) && event.key.length === 1) event.stopPropagation();
      const target = targetOf(event);
      if (target.closest("dialog")) return;
      const done = target.matches(TYPED) ? inTextBox(event) : outside(event);
      if (!done) return;
      event.preventDefault();
      event.stopPropagation();
    },
  };
}

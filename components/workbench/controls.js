// Clicks, changes and selections on a surface: a few listeners on its root call the other parts.

import { targetOf } from "./dom.js";
import { firstMatch, searchOptions, showCount, typedValue } from "./question.js";

/** @import { Item } from "./item.js" */
/** @import { Tips } from "./notices.js" */
/** @import { Rating } from "./rating.js" */
/** @import { Highlighter } from "./texts/highlighter.js" */
/** @import { NumberScale, Question } from "./types.js" */
/**
 * @typedef {(target: EventTarget, type: string, act: (event: any) => void, options?: AddEventListenerOptions) => void
 * } Listen
 */

const SELECTION_RESTS_MS = 300;

/** @param {HTMLElement} element @param {string} selector */
const closest = (element, selector) => /** @type {HTMLElement | null} */ (element.closest(selector));

/**
 * @param {object} needs
 * @param {HTMLElement} needs.root
 * @param {Listen} needs.listen
 * @param {() => Item} needs.item
 * @param {Rating} needs.rating
 * @param {Highlighter} needs.highlighter
 * @param {Tips} needs.tips
 * @param {(id: string) => void} needs.setCurrent
 * @param {(question: Question) => void} needs.goOn called after an answer by pointer or from a list
 * @param {() => void} needs.showNext called after a reason
 * @param {(on: boolean) => void} needs.setKeys
 * @param {(stay: boolean) => void} needs.keepGuidelines whether they stay open for the next items
 * @param {Record<string, (value: string) => void>} needs.buttons actions of buttons, by data attribute
 */
export function createControls({
  root, listen, item, rating, highlighter, tips, setCurrent, goOn, showNext, setKeys, keepGuidelines, buttons,
}) {
  let pointerDown = false;
  /** Whether a key was the last that was pressed, rather than the pointer. */
  let byKeys = false;
  /** The chosen radio that was pressed: a click on it clears the answer. @type {HTMLElement | null} */
  let pressed = null;
  /** The radio that a click is choosing. @type {HTMLElement | null} */
  let pointed = null;
  /** The unanswered slider that was pressed. @type {HTMLInputElement | null} */
  let slider = null;
  /** The question that the first click of a row of clicks was in. @type {Question | null} */
  let clicked = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let rest;

  /** @param {HTMLElement} target */
  function questionOf(target) {
    const fieldset = closest(target, "[data-tw-question]");
    return fieldset ? item().question(fieldset.dataset.twQuestion ?? "") : null;
  }

  /** Gives an unanswered slider the value under its hidden thumb. @param {HTMLInputElement} input */
  function takeSlider(input) {
    const question = questionOf(input);
    if (question) rating.rate(question, Number(input.value));
  }

  // ---- pointer ----

  /** @param {PointerEvent} event */
  function press(event) {
    const target = /** @type {HTMLInputElement} */ (targetOf(event));
    pointerDown = true;
    byKeys = false;
    tips.hide();
    if (target.closest("[data-tw-label], [data-tw-whole-words]")) event.preventDefault(); // keeps the selection
    pressed = target.matches("input[type=radio]") && target.checked ? target : null;
    if (!target.closest(".tw-popover, mark")) highlighter.hidePopover();
    slider = event.button === 0 && target.matches(".tw-range.tw-unset") ? target : null;
  }

  function release() {
    const input = slider;
    pointerDown = false;
    slider = null;
    // no input event fires if the thumb did not move
    if (input) setTimeout(() => input.classList.contains("tw-unset") && takeSlider(input));
    setTimeout(highlighter.settle);
  }

  /** @param {MouseEvent} event */
  function click(event) {
    const target = targetOf(event);
    // a complete row folds, so the second click of a double click could hit the row that moves into its place
    const question = questionOf(target);
    if (event.detail > 1 && question && question !== clicked) return event.preventDefault();
    if (event.detail === 1) clicked = question;
    if (question && !item().readOnly) setCurrent(question.id);
    pointed = event.detail > 0 && target.matches("input") ? target : null; // the change event follows
    if (target === pressed && event.detail === 1) {
      pressed = null;
      if (question) return rating.clear(question);
    }
    const mark = closest(target, "mark");
    if (mark && !item().readOnly && document.getSelection()?.isCollapsed) return highlighter.openAtMark(mark);
    const control = closest(target, "button");
    const name = control && Object.keys(buttons).find((key) => control.dataset[key] !== undefined);
    if (name) buttons[name](control.dataset[name] ?? "");
  }

  /** @param {PointerEvent} event */
  function over(event) {
    const target = targetOf(event);
    if (event.pointerType !== "touch" && !pointerDown) tips.point(tipped(target));
  }

  /**
   * The element whose tooltip to show; an answer has none if its meaning is already visible at the question.
   * @param {HTMLElement} target
   */
  function tipped(target) {
    const element = closest(target, "[data-tw-tip]");
    return element?.matches(".tw-descriptions .tw-here .tw-scales *") ? null : element;
  }

  // ---- answers ----

  const fieldsetOf = (/** @type {HTMLElement} */ target) => /** @type {HTMLElement} */ (target.closest("fieldset"));

  /** @param {Question} question @param {HTMLInputElement} box */
  function typeNumber(question, box) {
    const scale = /** @type {NumberScale} */ (question.criterion.scale);
    const value = typedValue(scale, box.value);
    rating.rate(question, value);
    if (document.activeElement !== box && value !== undefined) box.value = String(value);
  }

  /** In a search box, Enter chooses the first match and arrow down moves to the list. @param {KeyboardEvent} event */
  function searchKey(event) {
    const target = targetOf(event);
    if (!target.matches(".tw-search") || !["Enter", "ArrowDown"].includes(event.key) || event.ctrlKey) return;
    if (event.isComposing) return; // the key is for the list of an input method
    event.preventDefault();
    event.stopPropagation();
    const match = firstMatch(fieldsetOf(target));
    const question = questionOf(target);
    if (!match || !question) return;
    if (event.key === "ArrowDown") return match.focus();
    rating.rate(question, match.value);
    goOn(question);
  }

  /** @param {Event} event */
  function change(event) {
    const target = /** @type {HTMLInputElement} */ (targetOf(event));
    const byPointer = pointed === target;
    pointed = null;
    if (target.dataset.twKeysOn !== undefined) return setKeys(target.checked);
    if (target.dataset.twKeepOpen !== undefined) return keepGuidelines(target.checked);
    const question = questionOf(target);
    if (!question) return;
    const ask = closest(target, ".tw-ask");
    if (target.type === "checkbox") {
      if (ask) rating.toggleReason(question, target.value);
      else rating.pickBest(question, target);
    } else if (target.type === "radio") {
      rating.rate(question, question.criterion.scale.kind === "choice" ? target.value : Number(target.value));
      if (byPointer) goOn(question);
    } else if (target.matches(".tw-number-box")) typeNumber(question, target);
    if (ask) showNext();
  }

  /** @param {Event} event */
  function input(event) {
    const target = /** @type {HTMLInputElement} */ (targetOf(event));
    const question = questionOf(target);
    if (!question) return;
    if (target.type === "range") rating.rate(question, Number(target.value));
    else if (target.matches(".tw-number-box")) typeNumber(question, target);
    else if (target.matches(".tw-search")) searchOptions(fieldsetOf(target), target.value);
    const ask = target.matches("textarea") && closest(target, ".tw-ask");
    if (!ask) return;
    rating.setText(question, target.value);
    showCount(ask, target.value, item().view.rubric.explanation);
  }

  /** @param {Event} event */
  function focus(event) {
    const target = targetOf(event);
    const question = questionOf(target);
    // activating a row moves elements under the pointer, so wait until the click is complete
    if (question && !item().readOnly && !pointerDown) setCurrent(question.id);
    const element = tipped(target);
    if (element && target.matches(":focus-visible") && !pointerDown) tips.show(element);
  }

  // ---- judged texts ----

  /** Judged texts show a caret, but cannot be edited. @param {Event} event */
  function refuseText(event) {
    if (targetOf(event).closest("[data-tw-text]")) event.preventDefault();
  }

  /** @param {Event} event */
  function redraw(event) {
    const box = closest(targetOf(event), "[data-tw-text]");
    if (box) highlighter.draw(box);
  }

  function selectionChanged() {
    clearTimeout(rest);
    if (item().readOnly || !item().view.rubric.highlights.length) return;
    highlighter.changed(byKeys);
    // touch fires no pointerup after a long press, and keyboards never do
    rest = setTimeout(() => !pointerDown && highlighter.settle(), SELECTION_RESTS_MS);
  }

  listen(root, "click", click);
  listen(root, "change", change);
  listen(root, "input", input);
  listen(root, "keydown", searchKey);
  listen(root, "keydown", () => (byKeys = true), { capture: true });
  listen(root, "focusin", focus);
  listen(root, "focusout", tips.hide);
  listen(root, "pointerdown", press);
  listen(root, "pointerover", over);
  listen(root, "beforeinput", refuseText);
  listen(root, "drop", refuseText);
  listen(root, "compositionend", redraw);
  listen(document, "pointerup", release);
  listen(document, "pointercancel", () => {
    slider = null; // the touch turned into a scroll, which answers nothing
    release();
  });
  listen(document, "selectionchange", selectionChanged);

  return {
    takeSlider,

    close() {
      clearTimeout(rest);
      tips.hide();
    },
  };
}

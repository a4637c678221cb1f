// Turns the use of controls into answers, which can be undone.

import { _ } from "./language.js";

/** @import { Item } from "./item.js" */
/** @import { Draft, Question, Value } from "./types.js" */

/** @typedef {ReturnType<typeof createRating>} Rating */

/**
 * @param {object} needs
 * @param {() => Item} needs.item
 * @param {(text: string, undoable?: boolean) => void} needs.toast
 * @param {(text: string, visible: boolean) => void} needs.announce
 * @param {(id: string) => void} needs.goTo
 * @param {() => void} needs.syncAll
 * @param {() => boolean} needs.isBusy
 */
export function createRating({ item, toast, announce, goTo, syncAll, isBusy }) {
  /** @param {Question} question */
  const valueOf = ({ slot, criterion }) => item().answers.rating(slot, criterion.key);

  /** @param {Question} question @param {Value} value */
  function rate(question, value) {
    item().answers.rate(question.slot, question.criterion.key, value, item().nameOf(question));
  }

  /** @param {Question} question @param {string} letter */
  function toggleLetter(question, letter) {
    const value = valueOf(question);
    const letters = Array.isArray(value) ? value : [];
    const next = letters.includes(letter) ? letters.filter((other) => other !== letter) : [...letters, letter].sort();
    rate(question, next.length ? next : undefined);
  }

  return {
    rate,

    /** @param {Question} question */
    clear(question) {
      if (item().readOnly || valueOf(question) === undefined) return;
      rate(question, undefined);
      toast(_("Cleared: {question}", { question: item().nameOf(question) }), true);
    },

    /** A response by its place, or 0 for none of them. @param {Question} question @param {number} digit */
    toggleBest(question, digit) {
      const { scale } = question.criterion, value = valueOf(question);
      const isNone = Array.isArray(value) && !value.length;
      if (digit === 0 && scale.kind === "best" && scale.none_option) return rate(question, isNone ? undefined : []);
      const letter = item().view.item.candidates[digit - 1]?.letter;
      if (letter) toggleLetter(question, letter);
    },

    /**
     * A checkbox of `best` was clicked: a letter, or "none of them".
     * @param {Question} question @param {HTMLInputElement} input
     */
    pickBest(question, input) {
      if (input.dataset.twNone) rate(question, input.checked ? [] : undefined);
      else toggleLetter(question, input.value);
    },

    /** Ticks or unticks a reason. @param {Question} question @param {string} reason */
    toggleReason(question, reason) {
      const { answers, nameOf } = item();
      const { slot, criterion: { key } } = question;
      const value = valueOf(question);
      const { reasons } = answers.explanation(slot, key, value);
      const next = reasons.includes(reason) ? reasons.filter((other) => other !== reason) : [...reasons, reason];
      answers.setReasons(slot, key, value, next, _("reasons for {question}", { question: nameOf(question) }));
    },

    /** @param {Question} question @param {string} text */
    setText(question, text) {
      item().answers.setText(question.slot, question.criterion.key, valueOf(question), text);
    },

    /** Replaces all answers by those of another version. @param {Partial<Draft> | null} draft */
    adopt(draft) {
      if (!draft) return;
      const { answers } = item();
      for (const branch of /** @type {const} */ (["ratings", "explanations", "highlights", "set_aside"])) {
        answers.put([branch], draft[branch] ?? (branch === "highlights" ? [] : {}), _("all answers"));
      }
      answers.put(["note"], draft.note ?? "");
      syncAll();
    },

    undo(redo = false) {
      const { answers, readOnly, question } = item();
      if (readOnly || isBusy()) return;
      const change = redo ? answers.redo() : answers.undo();
      if (!change) return announce(redo ? _("Nothing to redo") : _("Nothing to undo"), true);
      const [branch, slot, criterion] = change.path;
      if (!slot) syncAll();
      const id = `${slot}:${criterion}`;
      if ((branch === "ratings" || branch === "explanations") && question(id)) goTo(id);
      toast(redo ? _("Redone: {change}", { change: change.name }) : _("Undone: {change}", { change: change.name }));
    },
  };
}

// What is done to a control becomes an answer, and can be undone.

import { nameOf } from "./dom.js";

export class Rating {
  /** @param ui the surface */
  constructor(ui) {
    this.ui = ui;
  }

  /** A question in words: "Fluency, Response B". */
  nameIn({ slot, criterion }) {
    if (slot === "item") return criterion.title;
    return `${criterion.title}, ${nameOf(slot, this.ui.view.item.candidates.length === 1)}`;
  }

  rate(question, value) {
    this.ui.answers.rate(question.slot, question.criterion.key, value, this.nameIn(question));
  }

  clear(id) {
    const { ui } = this;
    const question = ui.question(id);
    if (!question || ui.readOnly || ui.answers.rating(question.slot, question.criterion.key) === undefined) return true;
    this.rate(question, undefined);
    ui.notices.toast(`Cleared: ${this.nameIn(question)}`, true);
    return true;
  }

  toggleBest(question, digit) {
    const letter = this.ui.view.item.candidates[digit - 1]?.letter;
    if (letter) this.#setBest(question, letter);
    return true;
  }

  #setBest(question, letter) {
    const { slot, criterion } = question;
    const picked = this.ui.answers.rating(slot, criterion.key) ?? [];
    const next = picked.includes(letter) ? picked.filter((l) => l !== letter) : [...picked, letter].sort();
    this.rate(question, next.length ? next : undefined);
  }

  /** A checkbox of `best` was used: a letter, or "none of them". */
  pickBest(question, input) {
    if (!input.dataset.twNone) return this.#setBest(question, input.value);
    return this.rate(question, input.checked ? [] : undefined);
  }

  takeSlider(input) {
    const question = this.ui.question(input.closest("[data-tw-question]").dataset.twQuestion);
    this.rate(question, Number(input.value));
    return true;
  }

  setReasons(question, box) {
    const chosen = [...box.querySelectorAll("input:checked")].map((input) => input.value);
    const { slot, criterion } = question;
    const { answers } = this.ui;
    answers.setReasons(slot, criterion.key, answers.rating(slot, criterion.key), chosen, `reasons for ${this.nameIn(question)}`);
  }

  setText(question, text) {
    const { slot, criterion } = question;
    const { answers } = this.ui;
    answers.setText(slot, criterion.key, answers.rating(slot, criterion.key), text);
  }

  /** All answers of another version in the place of these. */
  adopt(draft) {
    const { ui } = this;
    if (!draft) return;
    for (const part of ["ratings", "explanations", "highlights", "set_aside"]) {
      ui.answers.put([part], draft[part] ?? (part === "highlights" ? [] : {}), "all answers");
    }
    ui.answers.put(["note"], draft.note ?? "");
    ui.syncAll();
  }

  undo(again = false) {
    const { ui } = this;
    if (ui.readOnly || ui.sending.busy) return true;
    const change = again ? ui.answers.redo() : ui.answers.undo();
    if (!change) {
      ui.notices.announce(again ? "Nothing to redo" : "Nothing to undo", true);
      return true;
    }
    if (change.path.length === 1) ui.syncAll();
    const id = ["ratings", "explanations"].includes(change.path[0]) ? `${change.path[1]}:${change.path[2]}` : null;
    if (id && ui.question(id)) ui.moves.goTo(id);
    ui.notices.toast(`${again ? "Done again" : "Undone"}: ${change.name}`);
    return true;
  }
}

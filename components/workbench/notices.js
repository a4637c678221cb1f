// What the surface says besides the item: notices above it, the toast, and words for screen readers.

import { button, h } from "./dom.js";
import { banner } from "./panels.js";

const TOAST = 6000;

const closable = (kind, text) =>
  banner(kind, text, [button("Close", { class: "tw-button tw-quiet tw-small", data: { "tw-banner-close": "1" } })]);

export class Notices {
  /** @param ui the surface */
  constructor(ui) {
    this.ui = ui;
    this.box = h("div", { class: "tw-notices" });
    this.toastBox = h("div", { class: "tw-toast", role: "status", hidden: true });
    this.live = h("div", { class: "tw-sr", "aria-live": "polite" });
  }

  /** Another item: nothing of the last one is said any more. */
  clear() {
    clearTimeout(this.toastTimer);
    this.said = null;
    this.box.replaceChildren();
    this.toastBox.hidden = true;
    this.live.textContent = "";
  }

  /** A banner whose buttons, [label, act, data], take it away. */
  tell(kind, text, buttons = []) {
    const shown = banner(kind, text, buttons.map(([label, act, data]) => {
      const made = button(label, { class: "tw-button tw-small", data });
      made.addEventListener("click", () => {
        shown.remove();
        act();
      });
      return made;
    }));
    this.box.append(shown);
    return shown;
  }

  /** What the server says about this item, once: a page drawn again does not repeat it. */
  showNotice({ notice }) {
    if (notice === this.said) return;
    this.said = notice;
    this.box.querySelector("[data-tw-notice]")?.remove();
    if (!notice) return;
    const shown = closable(notice.kind, notice.text);
    shown.dataset.twNotice = "1";
    this.box.prepend(shown);
  }

  /** The content note is open before the first item, unless it was seen. */
  showContentNote(open) {
    const text = this.ui.view.rubric.content_note;
    this.box.querySelector("[data-tw-content-note]")?.remove();
    if (!open || !text) return;
    this.noteSeen = true;
    const note = closable("info", text);
    note.dataset.twContentNote = "1";
    this.box.prepend(note);
  }

  toggleContentNote() {
    this.showContentNote(!this.box.querySelector("[data-tw-content-note]"));
    this.box.scrollIntoView({ block: "nearest" });
  }

  /** Offers an older version of these answers that this computer holds. */
  showOlder(older, settle) {
    const time = new Date(older.time).toLocaleString();
    this.tell("warning", `This computer holds another version of these answers, of ${time}, that was never stored.`, [
      ["Use that version", () => settle(true), { "tw-older": "use" }],
      ["Keep what is shown", () => settle(false), { "tw-older": "drop" }],
    ]);
  }

  /** A draft was refused: why, in words; with `takeOver`, how to write on here. */
  showRefusal(text, takeOver = null) {
    this.refusal?.remove();
    this.box.querySelector("[data-tw-notice]")?.remove(); // it told the same of a submit
    this.refusal = this.tell("warning", text, takeOver ? [["Continue here", takeOver, { "tw-take": "1" }]] : []);
    this.refusal.querySelector("button")?.focus();
  }

  remindOfPause() {
    this.tell("info", "Three quarters of an hour. A few minutes away from the screen help; everything is saved.", [
      ["Close", () => {}, {}],
    ]);
  }

  toast(text, undoable = false) {
    clearTimeout(this.toastTimer);
    const undo = undoable ? button("Undo", { class: "tw-button tw-small", data: { "tw-undo": "1" } }) : "";
    this.toastBox.replaceChildren(h("span", { text }), undo);
    this.toastBox.hidden = false;
    this.toastTimer = setTimeout(() => (this.toastBox.hidden = true), TOAST);
  }

  announce(text, visible = false) {
    this.live.textContent = text;
    if (visible) this.toast(text);
  }

  close() {
    clearTimeout(this.toastTimer);
  }
}

// Skip, ignore, set aside, note, keys: small dialogs of the browser's own kind.

import { h } from "./dom.js";
import { dialog, keysBody, reasonsBody } from "./panels.js";

export class Dialogs {
  /** @param ui the surface */
  constructor(ui) {
    this.ui = ui;
  }

  #show(element, onOk = () => true) {
    const opener = document.activeElement;
    this.open?.close();
    this.open = element;
    this.onOk = onOk;
    this.ui.root.append(element);
    element.addEventListener("close", () => {
      element.remove();
      this.open = null;
      if (opener?.isConnected) opener.focus({ preventScroll: true });
      else this.ui.moves.refocus();
    });
    element.showModal();
  }

  /** Another item: a dialog about the last one goes with it. */
  drop() {
    this.open?.remove();
    this.open = null;
  }

  /** The main button was used; a returned sentence says what is missing. */
  confirm() {
    const element = this.open;
    if (!element) return;
    const problem = this.onOk(element);
    if (typeof problem === "string") element.querySelector(".tw-dialog-problem").textContent = problem;
    else element.close();
  }

  cancel() {
    this.open?.close();
  }

  #reason(name, { title, reasons }, ok, withText, act) {
    const element = dialog(name, title, reasonsBody(this.ui.uid, reasons, withText), ok);
    this.#show(element, () => {
      const chosen = element.querySelector("input:checked");
      if (!chosen) return "Please choose a reason.";
      act(chosen.value, element.querySelector("textarea")?.value.trim() ?? "");
      return true;
    });
  }

  skip() {
    this.#reason("skip", this.ui.view.rubric.skip, "Skip this item", true, (reason, text) => this.ui.sending.leaveOut("skip", reason, text));
  }

  ignore() {
    this.#reason("ignore", this.ui.view.rubric.ignore_item, "Ignore this item", true, (reason, text) => this.ui.sending.leaveOut("ignore", reason, text));
  }

  setAside(letter) {
    const name = `setting aside Response ${letter}`;
    if (this.ui.answers.isSetAside(letter)) {
      this.ui.answers.put(["set_aside", letter], undefined, name);
      return;
    }
    this.#reason("set-aside", this.ui.view.rubric.set_aside_response, "Set aside", false,
      (reason) => this.ui.answers.put(["set_aside", letter], reason, name));
  }

  note() {
    const area = h("textarea", { rows: 4, class: "tw-area", dir: "auto", maxlength: 5000, "aria-label": "Note to the lead" });
    area.value = this.ui.answers.draft.note;
    const lead = h("p", { class: "tw-ask-lead", text: "Is something wrong with this item? The note is not a rating; it goes to the lead with your answers." });
    this.#show(dialog("note", "Note to the lead", [lead, area], "Keep the note"), () => {
      this.ui.answers.put(["note"], area.value);
      return true;
    });
  }

  keys() {
    this.#show(dialog("keys", "Keys", keysBody(this.ui.reading.keysOn), null));
  }
}

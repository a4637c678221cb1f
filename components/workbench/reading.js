// How she reads and works: guidelines beside the task, the size of the text, single keys on or off.

import { preferences } from "./store.js";

const SIZES = [0.9, 1, 1.12, 1.25, 1.4];

export class Reading {
  /** @param ui the surface */
  constructor(ui) {
    this.ui = ui;
    this.keysOn = preferences.get("keys", "on") === "on";
    this.size = Number(preferences.get("text-size", "1"));
    this.#apply();
  }

  /** Opens or closes the guidelines; with a criterion, at its place. Returns whether anything happened. */
  showGuidelines(open = this.ui.guidelines.hidden, criterion = null) {
    const { guidelines, work, head } = this.ui;
    if (!open && guidelines.hidden) return false;
    const inside = guidelines.contains(document.activeElement);
    guidelines.hidden = !open;
    work.classList.toggle("tw-with-guidelines", open);
    head.querySelector("[data-tw-guidelines-open]").setAttribute("aria-expanded", String(open));
    if (open) this.#turnTo(criterion);
    else if (inside) this.ui.moves.refocus();
    return true;
  }

  /** Another item begins with the guidelines closed. */
  closeGuidelines() {
    const { guidelines, work, head } = this.ui;
    guidelines.hidden = true;
    work.classList.remove("tw-with-guidelines");
    head.querySelector("[data-tw-guidelines-open]").setAttribute("aria-expanded", "false");
  }

  #turnTo(criterion) {
    const { guidelines } = this.ui;
    const part = criterion ? guidelines.querySelector(`[data-tw-guide="${CSS.escape(criterion)}"]`) : null;
    const body = guidelines.querySelector(".tw-guide-body");
    body.scrollTop = part ? part.offsetTop - body.offsetTop : 0;
    (part ?? guidelines.querySelector("h2")).focus({ preventScroll: true });
  }

  setKeys(on) {
    this.keysOn = on;
    preferences.set("keys", on ? "on" : "off");
    this.#apply();
  }

  changeSize(by) {
    const at = SIZES.indexOf(this.size);
    this.size = SIZES[Math.min(SIZES.length - 1, Math.max(0, (at < 0 ? 1 : at) + by))];
    preferences.set("text-size", String(this.size));
    this.#apply();
  }

  #apply() {
    this.ui.root.style.setProperty("--tw-scale", this.size);
    this.ui.root.classList.toggle("tw-keys-off", !this.keysOn);
  }
}

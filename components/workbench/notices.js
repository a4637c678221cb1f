// Messages of the surface: notices above the item, the toast, tooltips, and texts for screen readers.

import { button, find, h, placeNear, words } from "./dom.js";
import { _, locale } from "./language.js";

/** @import { Props } from "./dom.js" */
/** @import { Notice } from "./types.js" */
/** @typedef {{ label: string, act?: () => void, data?: Props["data"] }} Choice a button that closes its banner */

const TOAST_MS = 6000;
const TIP_AFTER_MS = 250;

/** @typedef {ReturnType<typeof createNotices>} Notices */

export function createNotices() {
  const box = h("div", { class: "tw-notices" });
  const toastBox = h("div", { class: "tw-toast", role: "status", hidden: true });
  const live = h("div", { class: "tw-sr", "aria-live": "polite" });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let toastTimer;
  /** @type {Notice | null} */
  let latest = null;
  /** @type {HTMLElement | null} */
  let refusal = null;

  /**
   * A banner with buttons that close it.
   * @param {string} kind @param {string} text @param {Choice[]} choices @param {Props["data"]} data
   */
  function banner(kind, text, choices = [], data = {}) {
    const element = h("div", { class: `tw-banner tw-banner-${kind}`, role: "status", data },
      words(text, { class: "tw-banner-text" }),
      choices.map(({ label, act, data: marks }) => {
        const control = button(label, { class: `tw-button ${act ? "" : "tw-quiet "}tw-small`, data: marks });
        control.addEventListener("click", () => {
          element.remove();
          act?.();
        });
        return control;
      }));
    return element;
  }

  /** @returns {Choice} */
  const close = () => ({ label: _("Close"), data: { "tw-banner-close": "1" } });

  /** @param {string} kind @param {string} text @param {Choice[]} choices */
  function show(kind, text, choices = []) {
    const element = banner(kind, text, choices);
    box.append(element);
    return element;
  }

  function toast(text = "", undoable = false) {
    clearTimeout(toastTimer);
    const undo = undoable ? [button(_("Undo"), { class: "tw-button tw-small", data: { "tw-undo": "1" } })] : [];
    toastBox.replaceChildren(h("span", { text }), ...undo);
    toastBox.hidden = false;
    toastTimer = setTimeout(() => (toastBox.hidden = true), TOAST_MS);
  }

  return {
    box,
    toastBox,
    live,
    show,
    toast,

    /** Another item: removes all messages about the previous one. */
    clear() {
      clearTimeout(toastTimer);
      latest = null;
      box.replaceChildren();
      toastBox.hidden = true;
      live.textContent = "";
    },

    /**
     * Shows the server's notice about this item once; drawing the page again does not repeat it.
     * @param {Notice | null} notice
     */
    showNotice(notice) {
      if (notice === latest) return;
      latest = notice;
      find(box, "[data-tw-notice]")?.remove();
      if (notice) box.prepend(banner(notice.kind, notice.text, [close()], { "tw-notice": "1" }));
    },

    /** @param {string} text */
    toggleContentNote(text) {
      const note = find(box, "[data-tw-content-note]");
      if (note) note.remove();
      else box.prepend(banner("info", text, [close()], { "tw-content-note": "1" }));
      box.scrollIntoView({ block: "nearest" });
    },

    /**
     * Offers an older version of these answers that is stored on this computer.
     * @param {number} time @param {(use: boolean) => void} settle
     */
    showOlder(time, settle) {
      const date = new Date(time).toLocaleString(locale());
      show("warning", _("This computer has another version of these answers, from {date}, that was never saved.", { date }), [
        { label: _("Use that version"), act: () => settle(true), data: { "tw-older": "use" } },
        { label: _("Keep this version"), act: () => settle(false), data: { "tw-older": "drop" } },
      ]);
    },

    /**
     * Shows why a draft was refused, and with `remedy` a button.
     * @param {string} text @param {Choice} [remedy]
     */
    showRefusal(text, remedy) {
      refusal?.remove();
      find(box, "[data-tw-notice]")?.remove(); // the notice of a refused submit, which states the same reason
      refusal = show("warning", text, remedy ? [remedy] : []);
      find(refusal, "[data-tw-take]")?.focus(); // other refusals must not interrupt typing
    },

    /** The answers are stored after all. */
    endRefusal: () => refusal?.remove(),

    /**
     * Two tabs have answers: shows the differences, and lets the annotator choose.
     * @param {HTMLElement} table @param {(keepMine: boolean) => void} settle
     */
    showBoth(table, settle) {
      const element = show("warning", _("There are answers in both tabs. Which ones do you want to keep?"), [
        { label: _("Those of this tab"), act: () => settle(true), data: { "tw-both": "here" } },
        { label: _("Those of the other tab"), act: () => settle(false), data: { "tw-both": "there" } },
      ]);
      find(element, ".tw-banner-text")?.append(table);
      find(element, "button")?.focus();
    },

    remindOfPause() {
      show("info", _("You have worked for 45 minutes. A short break helps; everything is saved."), [close()]);
    },

    /** Announces a text to screen readers; `visible` also shows it. @param {string} text */
    announce(text, visible = false) {
      live.textContent = text;
      if (visible) toast(text);
    },

    close: () => clearTimeout(toastTimer),
  };
}

/** @typedef {ReturnType<typeof createTips>} Tips */

/** Tooltips of elements with data-tw-tip, when hovered or focused. */
export function createTips() {
  const box = h("div", { class: "tw-tip", role: "tooltip", dir: "auto", hidden: true });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {HTMLElement | null} */
  let pointed = null;

  /** Hides the tooltip; returns whether one was shown. */
  function hide() {
    const wasShown = !box.hidden;
    clearTimeout(timer);
    pointed = null;
    box.hidden = true;
    return wasShown;
  }

  /** @param {HTMLElement} element */
  function show(element) {
    if (!element.isConnected) return;
    box.textContent = element.dataset.twTip ?? "";
    box.hidden = false;
    placeNear(box, element.getBoundingClientRect());
  }

  return {
    box,
    hide,
    show,

    /** Called when the pointer moves to an element with a tooltip, or to none. @param {HTMLElement | null} element */
    point(element) {
      if (element === pointed) return;
      hide();
      pointed = element;
      if (element) timer = setTimeout(() => show(element), TIP_AFTER_MS);
    },
  };
}

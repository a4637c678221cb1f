// Around the board: the head with progress and saved state, the foot with the actions, and the space between them.

import { all, button, find, h, part, quietButton, scroller, write } from "./dom.js";
import { _, message, ngettext } from "./language.js";
import { joined } from "./teaching.js";

/** @import { Props } from "./dom.js" */
/** @import { Page, SaveState, View } from "./types.js" */

const SAVED = { saved: message("Saved ✓"), saving: message("Saving…"), waiting: message("Not saved yet, trying again") };
const PREVIEW = message("Preview: nothing is saved");
const PLACES = [["my_work", message("My work")], ["my_data", message("My data")]];
/** @type {Record<string, string>} */
const NAMES = {
  training: message("Training item {number} of {total}"), entry_test: message("Test item {number} of {total}"),
};
/** @type {Record<string, string>} */
const OUTCOMES = { rated: message("Rated"), ignored: message("Ignored"), skipped: message("Skipped") };

/** Which item this is: "Item 8 of 40". @param {View} view */
function itemName({ work, progress }) {
  const { number } = work;
  const values = { number, total: Math.max(progress.total, number) };
  return NAMES[work.purpose] ? _(NAMES[work.purpose], values) : _("Item {number} of {total}", values);
}

/** The outcome of an item that is shown again. @param {View["work"]} work */
const outcomeOf = ({ outcome, reason }) =>
  joined(outcome && _(OUTCOMES[outcome] ?? outcome), reason);

/** @param {View} view */
export function buildHead({ study, rubric, routes }) {
  const preview = routes.draft === "";
  return h("header", { class: "tw-head" },
    h("h1", { class: "tw-heading", tabindex: "-1", data: { "tw-progress": "1" } }),
    h("span", { class: "tw-outcome", dir: "auto", data: { "tw-outcome": "1" } }),
    h("div", { class: "tw-bar", "aria-hidden": "true" }, h("div", { class: "tw-bar-done" })),
    h("span", { class: "tw-head-study", dir: "auto", text: study.title }),
    h("span", {
      class: "tw-saved", role: "status", "aria-live": "polite",
      data: { "tw-saved": "1", state: "saved", preview: preview ? "1" : null }, text: _(preview ? PREVIEW : SAVED.saved),
    }),
    h("div", { class: "tw-segments", role: "group", "aria-label": _("Arrangement of the responses") },
      button(_("Side by side"), { class: "tw-button tw-small", data: { "tw-view": "dock" } }),
      button(_("One at a time"), { class: "tw-button tw-small", data: { "tw-view": "single" } })),
    h("div", { class: "tw-head-tools" },
      quietButton(_("Descriptions"), {
        data: { "tw-descriptions": "1", "tw-tip": _("What each answer means (D)") }, "aria-pressed": "false",
      }),
      quietButton("A−", {
        dir: "ltr", data: { "tw-size": "-1" }, "aria-label": _("A−, smaller text") }),
      quietButton("A+", {
        dir: "ltr", data: { "tw-size": "1" }, "aria-label": _("A+, larger text") }),
      rubric.content_note ? quietButton(_("Content note"), { data: { "tw-note-toggle": "1" } }) : null,
      routes.items ? quietButton(_("My items"), { data: { "tw-items": "1" } }) : null,
      quietButton(_("Find"), { data: { "tw-find": "1", "tw-tip": _("Find in the open texts (F)") } }),
      quietButton(_("Keys"), { data: { "tw-keys": "1" } }),
      quietButton(_("Stop for today"), { data: { "tw-stop": "1" } }),
      preview ? null : placesMenu()),
    quietButton(_("Guidelines"), { data: { "tw-guidelines-open": "1" }, "aria-expanded": "false" }),
    quietButton(_("Menu"), { class: "tw-button tw-quiet tw-small tw-menu-button", data: { "tw-menu": "1" }, "aria-expanded": "false" }));
}

/** The annotator's other pages and signing out, since *Annotate* shows no other head. */
const placesMenu = () => h("nav", { class: "tw-places", "aria-label": "Triptych" },
  h("span", { class: "tw-account", text: find(document, ".triptych-account-name")?.textContent ?? "" }),
  PLACES.map(([href, title]) => h("a", { class: "tw-button tw-quiet tw-small", href, text: _(title) })),
  quietButton(_("Sign out"), { data: { "tw-sign-out": "1" } }));

/** Clicks the account's own sign-out button, which is hidden on this page. @param {HTMLElement} head */
export function signOut(head) {
  const account = find(document, ".triptych-account-out");
  if (!account) return;
  const own = part(head, "[data-tw-sign-out]");
  new MutationObserver(() => write(own, account.textContent ?? "")).observe(account, { childList: true });
  account.click();
}

/** @param {HTMLElement} head @param {View} view */
export function syncHead(head, view) {
  const { progress, study } = view;
  const heading = part(head, ".tw-heading");
  write(heading, itemName(view));
  const outcome = part(head, "[data-tw-outcome]");
  write(outcome, outcomeOf(view.work));
  outcome.title = outcome.textContent ?? "";
  const percent = progress.total ? Math.round((100 * progress.done) / progress.total) : 0;
  const values = { study: study.title, done: progress.done, total: progress.total, minutes: progress.minutes_left ?? 0 };
  heading.title = progress.minutes_left ? _("{study}: {done} of {total} done, about {minutes} min left", values)
    : _("{study}: {done} of {total} done", values);
  part(head, ".tw-bar-done").style.inlineSize = `${percent}%`;
  part(head, ".tw-bar").title = heading.title;
}

/** @param {HTMLElement} head @param {SaveState} state */
export function showSaved(head, state, text = _(SAVED[state])) {
  const line = part(head, "[data-tw-saved]");
  line.dataset.state = state;
  if (!line.dataset.preview) write(line, text);
}

/**
 * The head's text while the server cannot be reached.
 * @param {number} count of answers that it does not have @param {boolean} isSubmitted whether the item waits to be sent
 */
export function offlineText(count, isSubmitted) {
  if (isSubmitted) return _("Working offline, this item will be submitted by itself");
  if (count === 0) return _("Working offline");
  return ngettext("Working offline, {count} answer kept here", "Working offline, {count} answers kept here", count);
}

/** @param {View} view @param {HTMLElement[]} tools for highlights */
export function buildFoot({ rubric: { skip, ignore_item: ignore }, work, item, feedback }, tools) {
  /** @param {string} label @param {Props} props */
  const primary = (label, props) => button(label, { class: "tw-button tw-primary", ...props });
  if (feedback) {
    return h("footer", { class: "tw-foot" },
      h("div", { class: "tw-foot-right" }, primary(_("Continue"), { data: { "tw-continue": "1" } })));
  }
  const done = work.state === "submitted";
  return h("footer", { class: "tw-foot" },
    item.context ? button(item.context.title, {
      class: "tw-button tw-drawer", data: { "tw-context": "1" }, "aria-expanded": "false", dir: "auto",
    }) : null,
    button(_("More"), { class: "tw-button tw-more", data: { "tw-more": "1" }, "aria-expanded": "false" }),
    h("div", { class: "tw-foot-left" },
      work.can_go_back ? quietButton(_("← Back"), { data: { "tw-back": "1" } }) : null,
      skip ? quietButton(`${skip.title}…`, { dir: "auto", data: { "tw-skip": "1" } }) : null,
      ignore ? quietButton(`${ignore.title}…`, { dir: "auto", data: { "tw-ignore": "1" } }) : null,
      quietButton(_("Note to the lead"), { data: { "tw-lead-note": "1" } })),
    h("div", { class: "tw-foot-right" },
      tools.length ? h("div", { class: "tw-tools", role: "group", "aria-label": _("Highlight labels") }, tools) : null,
      h("span", { class: "tw-answered", data: { "tw-answered": "1" } }),
      done ? button(_("Leave unchanged"), { data: { "tw-forward": "1" } }) : null,
      primary(done ? _("Submit changes") : _("Submit"), { data: { "tw-submit": "1" }, title: "Ctrl+Enter" })));
}

/**
 * The room that a surface has in the window.
 * @param {{ root: HTMLElement, page: () => Page, onResize: () => void }} needs
 */
export function createRoom({ root, page, onResize }) {
  const observer = new ResizeObserver(() => {
    measure();
    onResize();
  });

  function measure() {
    root.style.setProperty("--tw-foot", `${page().foot.offsetHeight}px`);
    root.style.setProperty("--tw-room", `${height()}px`);
  }

  /** The height from the surface's top to the window's end, so that Submit stays in its place from item to item. */
  function height() {
    const frame = scroller(root);
    const top = frame === document.scrollingElement ? 0 : frame.getBoundingClientRect().top;
    let room = frame.clientHeight - (root.getBoundingClientRect().top + frame.scrollTop - top);
    for (let node = root.parentElement; node && node !== frame; node = node.parentElement) {
      room -= parseFloat(getComputedStyle(node).paddingBottom);
    }
    return Math.max(0, Math.floor(room) - 1);
  }

  /** @param {"menu" | "more" | ""} name of the open menu: in the head, in the foot, or none */
  function showMenu(name) {
    root.dataset.menu = name;
    for (const control of all(root, "[data-tw-menu], [data-tw-more]")) {
      control.setAttribute("aria-expanded", String(name === (control.dataset.twMenu ? "menu" : "more")));
    }
  }

  return {
    /**
     * Measures again when the surface, its head or its foot changes its size, before the browser paints.
     * @param {...HTMLElement} elements
     */
    watch(...elements) {
      observer.disconnect();
      for (const element of [root, ...elements]) observer.observe(element);
    },

    toTop() {
      const frame = scroller(root);
      if (frame.scrollTop) frame.scrollTop = 0;
      part(page().head, ".tw-heading").focus({ preventScroll: true });
    },

    /** Opens a menu, or closes it if it is open. @param {"menu" | "more"} name */
    toggleMenu: (name) => showMenu(root.dataset.menu === name ? "" : name),

    /** Closes the open menu; returns whether there was one. */
    closeMenus() {
      const wasOpen = Boolean(root.dataset.menu);
      if (wasOpen) showMenu("");
      return wasOpen;
    },

    close: () => observer.disconnect(),
  };
}

// The annotation surface: draws a blinded view and handles every click, key and change in the browser. It creates the
// parts and passes each what it needs; nothing else knows all parts.

import { createActivity } from "./activity.js";
import { isSent } from "./board.js";
import { createControls } from "./controls.js";
import { createDialogs } from "./dialogs.js";
import { h } from "./dom.js";
import { createDrawing } from "./drawing.js";
import { createRoom, offlineText, showSaved, signOut, syncHead } from "./frame.js";
import { createGuidelines } from "./guidelines.js";
import { allSettled, createItem, giveUp, sendHeld, wouldLose } from "./item.js";
import { createKeyboard } from "./keyboard.js";
import { _, direction, language } from "./language.js";
import { createLayout, createTextSize } from "./layout.js";
import { createMoves } from "./moves.js";
import { renew, watchConnection } from "./network.js";
import { createNotices, createTips } from "./notices.js";
import { createRating } from "./rating.js";
import { createSending } from "./sending.js";
import { penOf, preferences } from "./store.js";
import { createHighlighter } from "./texts/highlighter.js";
import { createFinding, createPlaceMarks } from "./texts/reading.js";

/** @import { Listen } from "./controls.js" */
/** @import { Item } from "./item.js" */
/** @import { Action, View } from "./types.js" */

const PAUSE_CHECK_MS = 60_000;
const SIGN_OUT_WAIT_MS = 3500; // less than the page that signs out waits
let count = 0;

/** @typedef {ReturnType<typeof createSurface>} Surface */

// The page waits for detail.waitUntil(isSafe) before signing out, and asks if it is not. Nothing is discarded here: the
// annotator may stay signed in.
window.addEventListener("triptych:sign-out", (event) => {
  const { detail } = /** @type {CustomEvent<{ waitUntil: (isSafe: Promise<boolean>) => void }>} */ (event);
  detail.waitUntil(allSettled(SIGN_OUT_WAIT_MS));
});

// Data of a person who has signed out is neither stored nor sent.
window.addEventListener("triptych:signed-out", giveUp);

/** @param {BeforeUnloadEvent} event */
const askToStay = (event) => wouldLose() && event.preventDefault();
window.addEventListener("beforeunload", askToStay);
// Another tab ended the login: this page closes without a question, since the next person could stay on it.
window.addEventListener("triptych:login-ended", () => window.removeEventListener("beforeunload", askToStay));

/** @param {HTMLElement} parent @param {View} firstView @param {(action: Action) => void} act */
export function createSurface(parent, firstView, act) {
  const uid = `tw${(count += 1)}`;
  const root = h("div", { class: "tw", tabindex: "-1", lang: language(), dir: direction() });
  parent.append(root);
  // on Annotate the workbench's head is the only one; a preview is part of another page
  document.body.classList.toggle("tw-whole", firstView.routes.draft !== "");
  const [navigation] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
  const pen = penOf(/** @type {any} */ (document), () => sessionStorage, navigation?.type ?? "navigate");
  const abort = new AbortController();
  /** @type {Listen} */
  const listen = (target, type, act, options = {}) =>
    target.addEventListener(type, act, { signal: abort.signal, ...options });

  let isOffline = false;
  /** @type {Item} */
  let current;
  const item = () => current;

  // ---- the parts; those created later are passed as functions ----

  const activity = createActivity(() => performance.now());
  const notices = createNotices();
  const tips = createTips();
  const changeTextSize = createTextSize({ root, preferences });
  const room = createRoom({ root, page: () => drawing.page(), onResize: () => layout.resized() });
  const moves = createMoves({
    root, item, page: () => drawing.page(), toTop: room.toTop,
    showProblems: (problems) => sending.showProblems(problems), hideProblems: () => sending.hideProblems(),
    openNext: () => sending.openNext(),
  });
  const layout = createLayout({
    root, listen, preferences, item, page: () => drawing.page(), onLaid: moves.restore, refocus: moves.refocus,
  });
  const guidelines = createGuidelines({
    page: () => drawing.page(), refocus: moves.refocus, isPhone: () => root.dataset.layout === "phone", preferences,
  });
  const highlighter = createHighlighter({ root, item, announce: notices.announce, refocus: moves.refocus });
  const finding = createFinding({
    item, page: () => drawing.page(), refocus: moves.refocus,
    show(place) {
      const isContext = place === "context";
      if (!isContext || root.dataset.layout === "phone") layout.openContext(isContext);
      if (isContext) guidelines.close();
      else moves.showResponse(place);
    },
  });
  const marks = createPlaceMarks({ root, item, preferences });
  const rating = createRating({
    item, toast: notices.toast, announce: notices.announce, goTo: moves.goTo, syncAll: () => drawing.syncAll(),
    isBusy: () => sending.isBusy,
  });
  const sending = createSending({
    root, pen, item, page: () => drawing.page(), seconds: activity.seconds,
    trigger: act, notices, goTo: moves.goTo, arrangement: layout.arrangement,
    hidePopover: highlighter.hidePopover, adopt: rating.adopt, syncAll: () => drawing.syncAll(),
    onBusy: () => isOffline && showState(),
  });
  const dialogs = createDialogs({
    root, uid, item, leaveOut: sending.leaveOut, keysOn: () => keyboard.isOn, refocus: moves.refocus,
  });
  const drawing = createDrawing({
    root, uid, item, tools: highlighter.tools,
    drawTexts() {
      highlighter.drawAll();
      finding.redrawn();
    },
    boxes: {
      find: finding.box, notices: notices.box, problems: sending.box,
      floating: [highlighter.float, highlighter.popover, tips.box, notices.toastBox, notices.live],
    },
    onRefill() {
      tips.hide();
    },
    onSync() {
      moves.syncTabs();
      sending.syncProblems();
    },
    onLaid({ head, work, foot }) {
      dialogs.drop();
      guidelines.restore();
      moves.restore();
      layout.start();
      marks.restore();
      room.watch(head, work, foot);
    },
  });
  const controls = createControls({
    root, listen, item, rating, highlighter, tips, setCurrent: moves.setCurrent, goOn: moves.goOn,
    showNext: moves.showNext,
    setKeys: (on) => keyboard.setOn(on), keepGuidelines: guidelines.keepOpen,
    buttons: {
      twSubmit: sending.submit, twContinue: sending.submit, twBack: () => sending.act("back"),
      twForward: () => sending.act("forward"), twStop: () => sending.act("stop"), twSkip: dialogs.skip,
      twIgnore: dialogs.ignore, twLeadNote: dialogs.note, twKeys: dialogs.keys, twSetAside: dialogs.setAside,
      twDialogClose: dialogs.cancel, twDialogOk: dialogs.confirm, twGuidelinesOpen: guidelines.toggle,
      twGuidelinesClose: guidelines.close, twInfo: guidelines.open,
      twNoteToggle: () => notices.toggleContentNote(current.view.rubric.content_note), twLabel: highlighter.choose,
      twWholeWords: highlighter.toggleWords,
      twStep: (step) => moves.askStep(Number(step)), twGo: sending.goToProblem, twFind: finding.open, twFindClose: finding.close,
      twFindStep: (by) => finding.step(Number(by)),
      twSize(steps) {
        changeTextSize(Number(steps));
        layout.arrange();
      },
      twItems: dialogs.items,
      twOpen(token) {
        dialogs.cancel();
        sending.openItem(token);
      },
      twUndo: () => rating.undo(), twFold: moves.unfold, twView: layout.choose, twContext: layout.toggleContext,
      twContextMore: layout.toggleContext, twDescriptions: layout.toggleDescriptions, twMore: () => room.toggleMenu("more"),
      twMenu: () => room.toggleMenu("menu"), twSignOut: () => signOut(drawing.page().head),
    },
  });
  const keyboard = createKeyboard({
    root, preferences, item, rating, moves, highlighter, guidelines, layout, showKeys: dialogs.keys, find: finding.open,
    takeSlider: controls.takeSlider, announce: notices.announce,
    confirm: () => (dialogs.isOpen ? dialogs.confirm() : sending.submit()),
    closeFloating: () =>
      [tips.hide(), highlighter.close(), finding.close(), room.closeMenus(), layout.openContext(false)].includes(true),
  });

  // ---- the surrounding page ----

  function alive() {
    activity.mark();
    const { view, readOnly } = current;
    if (!readOnly && activity.renewDue()) renew(view.routes.renew, view.work.token);
  }

  function isBack() {
    current.drafts.hurry();
    moves.askAgain();
  }

  function showState() {
    const { head } = drawing.page();
    const isSafe = current.unsent.size === 0 || current.drafts.isKept;
    showSaved(head, current.saved, isOffline && isSafe ? offlineText(current.unsent.size, sending.isBusy) : undefined);
  }

  listen(root, "keydown", keyboard.handle);
  listen(window, "keydown", keyboard.handleFirst, { capture: true });
  // nothing has the focus, for example after the focused element was removed: on Annotate the workbench gets the keys
  listen(window, "keydown", (event) => {
    const isOurs = document.body.classList.contains("tw-whole") && !dialogs.isOpen;
    if (isOurs && event.target === document.body) keyboard.handle(event);
  }, { capture: true });
  listen(window, "pagehide", () => current.drafts.leave());
  listen(window, "online", isBack);
  watchConnection((isLost) => {
    if (isLost === isOffline) return;
    isOffline = isLost;
    if (!isLost) isBack();
    showState();
  }, abort.signal);
  for (const type of ["pointermove", "pointerdown", "keydown", "scroll"]) {
    listen(document, type, alive, { passive: true, capture: true });
  }
  listen(document, "scroll", ({ target }) => {
    marks.scrolled(target);
    tips.hide();
    highlighter.hideFloat();
  }, { passive: true, capture: true });
  listen(root, "click", ({ target }) => !target.closest(".tw-menu-button, .tw-more, [data-tw-sign-out]") && room.closeMenus());
  listen(document, "visibilitychange", () => {
    activity.setHidden(document.hidden);
    if (document.hidden) current.drafts.leave();
  });
  const pauses = setInterval(() => activity.pauseDue() && notices.remindOfPause(), PAUSE_CHECK_MS);

  // ---- data from the server ----

  /** Another item: resets the parts, scrolls to the top and focuses the heading. @param {View} view */
  function open(view) {
    const isFirst = current === undefined;
    current?.leave();
    activity.nextItem(view.work.active_seconds);
    current = keep(view);
    sending.reset(isFirst);
    highlighter.reset();
    finding.reset();
    keyboard.reset();
    moves.start();
    notices.clear();
    drawing.lay();
    if (isOffline) showState();
    notices.showNotice(view.notice);
    if (current.older) notices.showOlder(current.older.time, (use) => rating.adopt(current.settleOlder(use)));
    current.sendAgain();
    sending.sendAgain();
    // keys act only on the focused element; the first item takes the focus only if nothing else has it
    if (!isFirst || document.activeElement === document.body) room.toTop();
  }

  /** @param {View} view */
  function keep(view) {
    // ignore reports from drafts of an item that was left
    const isShown = () => current === next;
    const next = createItem(view, {
      pen, seconds: activity.seconds,
      on: {
        changed(change) {
          if (!isShown()) return;
          keyboard.reset();
          drawing.show(change);
          if (isOffline) showState();
        },
        saved() {
          if (!isShown()) return;
          showState();
          if (current.saved === "saved") notices.endRefusal();
        },
        refused: (answer) => isShown() && sending.draftRefused(answer),
      },
    });
    return next;
  }

  open(firstView);
  sendHeld(firstView, (why) => notices.show("warning", why, [{ label: _("Close") }]));

  return {
    /** @param {View} view */
    update(view) {
      if (current.view !== view) sending.receive(view);
      if (!current.isOf(view)) return open(view);
      const texts = () => current.view.item.candidates.filter(isSent).length;
      const before = texts();
      current.view = view;
      if (texts() > before) {
        drawing.fillTexts();
        layout.arrange();
        moves.textsSent();
      }
      syncHead(drawing.page().head, view);
      notices.showNotice(view.notice);
    },

    close() {
      current.leave();
      sending.close();
      controls.close();
      finding.reset();
      marks.close();
      room.close();
      notices.close();
      abort.abort();
      clearInterval(pauses);
      document.body.classList.remove("tw-whole");
      root.remove();
    },
  };
}

// The annotation surface: draws a blinded view and answers every click, key and change in the browser. Here its parts
// are made and handed what they need of each other; nothing else knows them all.

import { createActivity } from "./activity.js";
import { createControls } from "./controls.js";
import { createDialogs } from "./dialogs.js";
import { h } from "./dom.js";
import { createDrawing } from "./drawing.js";
import { createRoom, showSaved, syncHead } from "./frame.js";
import { createGuidelines } from "./guidelines.js";
import { createHighlighter } from "./highlighter.js";
import { createItem } from "./item.js";
import { createKeyboard } from "./keyboard.js";
import { createMoves } from "./moves.js";
import { renew } from "./network.js";
import { createNotices, createTips } from "./notices.js";
import { createRating } from "./rating.js";
import { createSending } from "./sending.js";
import { penOf, preferences } from "./store.js";
import { applyTheme, createTextSize, untilStyled } from "./theme.js";

/** @import { Listen } from "./controls.js" */
/** @import { Item } from "./item.js" */
/** @import { Action, Component, View } from "./types.js" */

const PAUSE_CHECK_MS = 60_000;
let count = 0;

/** @typedef {ReturnType<typeof createSurface>} Surface */

/** @param {Component<View, Action>} component */
export function createSurface(component) {
  const uid = `tw${(count += 1)}`;
  const root = h("div", { class: "tw", tabindex: "-1" });
  component.parentElement.append(root);
  const styled = untilStyled(root);
  const [navigation] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
  const pen = penOf(/** @type {any} */ (document), sessionStorage, navigation?.type ?? "navigate");
  const abort = new AbortController();
  /** @type {Listen} */
  const listen = (target, type, act, options = {}) =>
    target.addEventListener(type, act, { signal: abort.signal, ...options });

  /** @type {Item} */
  let current;
  let { setTriggerValue } = component;
  const item = () => current;

  // ---- the parts: what is made later is handed in as a function ----

  const activity = createActivity(() => performance.now());
  const notices = createNotices();
  const tips = createTips();
  const changeTextSize = createTextSize({ root, preferences });
  const room = createRoom({ root, page: () => drawing.page(), onResize: relayout });
  const moves = createMoves({
    root, item, page: () => drawing.page(), reveal: room.reveal, toTop: room.toTop,
    showProblems: (problems) => sending.showProblems(problems), hideProblems: () => sending.hideProblems(),
  });
  const guidelines = createGuidelines({ page: () => drawing.page(), refocus: moves.refocus });
  const highlighter = createHighlighter({ root, item, announce: notices.announce, refocus: moves.refocus });
  const rating = createRating({
    item, toast: notices.toast, announce: notices.announce, goTo: moves.goTo, syncAll: () => drawing.syncAll(),
    isBusy: () => sending.isBusy,
  });
  const sending = createSending({
    root, pen, item, page: () => drawing.page(), seconds: activity.seconds,
    trigger: (action) => setTriggerValue("action", action), notices, goTo: moves.goTo,
    hidePopover: highlighter.hidePopover, adopt: rating.adopt, syncAll: () => drawing.syncAll(),
  });
  const dialogs = createDialogs({
    root, uid, item, leaveOut: sending.leaveOut, keysOn: () => keyboard.isOn, refocus: moves.refocus,
  });
  const drawing = createDrawing({
    root, uid, item, chips: highlighter.chips, isNarrow: room.isNarrow, drawTexts: highlighter.drawAll,
    boxes: {
      notices: notices.box, problems: sending.box,
      floating: [highlighter.float, highlighter.popover, tips.box, notices.toastBox, notices.live],
    },
    onRefill() {
      guidelines.reset();
      tips.hide();
    },
    onSync() {
      moves.syncTabs();
      sending.syncProblems();
    },
    onLaid({ head, foot }) {
      dialogs.drop();
      moves.restore();
      room.watch(head, foot);
    },
  });
  const controls = createControls({
    root, listen, item, rating, highlighter, tips, setCurrent: moves.setCurrent, setKeys: (on) => keyboard.setOn(on),
    buttons: {
      twSubmit: sending.submit, twContinue: () => sending.act("continue"), twBack: () => sending.act("back"),
      twForward: () => sending.act("forward"), twStop: () => sending.act("stop"), twSkip: dialogs.skip,
      twIgnore: dialogs.ignore, twLeadNote: dialogs.note, twKeys: dialogs.keys, twSetAside: dialogs.setAside,
      twDialogClose: dialogs.cancel, twDialogOk: dialogs.confirm, twGuidelinesOpen: guidelines.toggle,
      twGuidelinesClose: guidelines.close, twInfo: guidelines.open,
      twNoteToggle: () => notices.toggleContentNote(current.view.rubric.content_note), twLabel: highlighter.choose,
      twStep: (step) => moves.askStep(Number(step)), twGo: sending.goToProblem,
      twSize: (steps) => changeTextSize(Number(steps)), twUndo: () => rating.undo(),
    },
  });
  const keyboard = createKeyboard({
    root, preferences, item, rating, moves, highlighter, guidelines, showKeys: dialogs.keys,
    takeSlider: controls.takeSlider, announce: notices.announce,
    confirm: () => (dialogs.isOpen ? dialogs.confirm() : sending.submit()),
    closeFloating: () => [tips.hide(), highlighter.close()].includes(true),
  });

  // ---- the page around ----

  function alive() {
    activity.mark();
    const { view, readOnly } = current;
    if (!readOnly && activity.renewDue()) renew(view.routes.renew, view.work.token);
  }

  function relayout() {
    const hadFocus = root.contains(document.activeElement);
    if (drawing.relayout() && hadFocus) moves.refocus();
  }

  listen(root, "keydown", keyboard.handle);
  listen(window, "keydown", keyboard.handleFirst, { capture: true });
  listen(window, "pagehide", () => current.drafts.leave());
  listen(window, "online", () => current.drafts.hurry());
  listen(matchMedia("(prefers-color-scheme: dark)"), "change", () => applyTheme(root));
  for (const type of ["pointermove", "pointerdown", "keydown", "scroll"]) {
    listen(document, type, alive, { passive: true, capture: true });
  }
  listen(document, "scroll", () => {
    tips.hide();
    highlighter.hideFloat();
  }, { passive: true, capture: true });
  listen(document, "visibilitychange", () => {
    if (document.visibilityState === "visible") return activity.show();
    activity.hide();
    current.drafts.leave();
  });
  const pauses = setInterval(() => activity.pauseDue() && notices.remindOfPause(), PAUSE_CHECK_MS);

  // ---- data from the server ----

  /** Another item: everything fresh, from the top, with its heading focused. @param {View} view */
  function open(view) {
    const isFirst = current === undefined;
    current?.leave();
    activity.nextItem(view.work.active_seconds);
    current = keep(view);
    sending.reset();
    highlighter.reset();
    keyboard.reset();
    moves.start();
    notices.clear();
    drawing.lay();
    notices.showNotice(view.notice);
    if (view.progress.done === 0) notices.openContentNote(view.rubric.content_note);
    if (current.older) notices.showOlder(current.older.time, (use) => rating.adopt(current.settleOlder(use)));
    current.sendAgain();
    applyTheme(root);
    if (!isFirst) room.toTop();
    // keys act only where the focus is; the first item takes it only if nothing has it
    else styled.then(() => document.activeElement === document.body && room.toTop());
  }

  /** @param {View} view */
  function keep(view) {
    // drafts of an item that was left report nothing any more
    const isShown = () => current === next;
    const next = createItem(view, {
      pen, seconds: activity.seconds,
      on: {
        changed(change) {
          if (!isShown()) return;
          keyboard.reset();
          drawing.show(change);
        },
        saved: (state) => isShown() && showSaved(drawing.page().head, state),
        refused: (answer) => isShown() && sending.draftRefused(answer),
      },
    });
    return next;
  }

  open(component.data);

  return {
    /** @param {Component<View, Action>} component */
    update({ data, ...others }) {
      ({ setTriggerValue } = others);
      if (current.view !== data) sending.receive(data);
      if (!current.isOf(data)) return open(data);
      current.view = data;
      applyTheme(root);
      syncHead(drawing.page().head, data);
      notices.showNotice(data.notice);
    },

    close() {
      current.leave();
      sending.close();
      controls.close();
      room.close();
      notices.close();
      abort.abort();
      clearInterval(pauses);
      root.remove();
    },
  };
}

// The annotation surface: draws a blinded view and answers every click, key and change in the browser.

import { Activity } from "./activity.js";
import { buildBoard, layoutOf, refillBoard } from "./board.js";
import { contextPanel } from "./context.js";
import { Dialogs } from "./dialogs.js";
import { h, write } from "./dom.js";
import { Events } from "./events.js";
import { buildFoot, buildHead, showSaved, syncHead } from "./frame.js";
import { Highlighter } from "./highlighter.js";
import { Keeping } from "./keeping.js";
import { Moves } from "./moves.js";
import { renew } from "./network.js";
import { Notices } from "./notices.js";
import { feedbackTable, guidelinesPanel } from "./panels.js";
import { resetQuestion, syncQuestion } from "./question.js";
import { Rating } from "./rating.js";
import { Reading } from "./reading.js";
import { Sending } from "./sending.js";
import { penOf } from "./store.js";
import { applyTheme } from "./theme.js";
import { isAnswered, problemOf, questionsOf } from "./validate.js";

const NARROW = 900;
let count = 0;

/** Everything that decides which elements a view needs; views alike in it differ in texts and answers only. */
function shapeOf({ study, rubric, work, item, feedback }, layout) {
  const letters = item.candidates.map(({ letter }) => letter);
  return JSON.stringify([
    layout, letters, Boolean(item.context), work.state, work.can_go_back, feedback ? work.token : null, study, rubric,
  ]);
}

export class Surface {
  constructor(component) {
    this.uid = `tw${(count += 1)}`;
    this.root = h("div", { class: "tw", tabindex: "-1" });
    component.parentElement.append(this.root);
    this.styled = this.#waitForStyle();
    const navigation = performance.getEntriesByType?.("navigation")[0]?.type ?? "navigate";
    this.pen = penOf(document, window.sessionStorage, navigation);
    this.activity = new Activity(() => performance.now());
    this.notices = new Notices(this);
    this.rating = new Rating(this);
    this.moves = new Moves(this);
    this.sending = new Sending(this);
    this.reading = new Reading(this);
    this.highlighter = new Highlighter(this);
    this.dialogs = new Dialogs(this);
    this.events = new Events(this);
  }

  /** Hides the surface until its style sheet is there, so that nobody sees it unstyled. */
  async #waitForStyle() {
    const link = document.querySelector("link[data-tw-style]");
    if (!link || link.sheet) return;
    this.root.style.visibility = "hidden";
    await new Promise((resolve) => {
      for (const type of ["load", "error"]) link.addEventListener(type, resolve, { once: true });
    });
    this.root.style.removeProperty("visibility");
  }

  // ---- what the parts ask for ----

  get answers() {
    return this.keeping.answers;
  }

  get labels() {
    return this.view.rubric.highlights;
  }

  get readOnly() {
    return Boolean(this.view.feedback);
  }

  textOf(slot, turn) {
    const candidate = this.view.item.candidates.find(({ letter }) => letter === slot);
    return (turn === null ? candidate.text : candidate.turns[turn].text) ?? "";
  }

  question(id) {
    return this.questions.find((question) => question.id === id) ?? null;
  }

  // ---- data from the server ----

  update({ data, setTriggerValue }) {
    this.trigger = (action) => setTriggerValue("action", action);
    const before = this.view;
    if (before !== data) this.sending.hear(data);
    this.view = data;
    const same = before && before.work.token === data.work.token && before.work.version === data.work.version
      && Boolean(before.feedback) === Boolean(data.feedback);
    if (same) {
      applyTheme(this.root);
      syncHead(this.head, data);
      this.notices.showNotice(data);
    } else this.#open(before);
  }

  /** Another item: everything fresh, from the top, with its heading focused. */
  #open(before) {
    if (this.keeping) this.keeping.leave();
    this.activity.nextItem(this.view.work.active_seconds ?? 0);
    this.keeping = this.#keep();
    this.sending.reset();
    this.questions = questionsOf(this.view);
    this.highlighter.reset();
    this.events.keyboard.reset();
    this.moves.start();
    this.notices.clear();
    this.#lay();
    this.notices.showContentNote(this.view.progress.done === 0 && !this.notices.noteSeen);
    this.#showOlder();
    this.keeping.sendAgain();
    applyTheme(this.root);
    if (before) this.moves.toTop();
    // keys act only where the focus is; the first item takes it from nobody
    else this.styled.then(() => document.activeElement === document.body && this.moves.toTop());
  }

  #keep() {
    const here = (act) => (...given) => this.keeping === keeping && this.head && act(...given);
    const keeping = new Keeping(this.view, {
      pen: this.pen, seconds: () => this.activity.seconds(),
      on: {
        changed: here((change) => this.#changed(change)),
        saved: here((state) => showSaved(this.head, state)),
        refused: here((status, answer) => this.#refused(answer)),
      },
    });
    return keeping;
  }

  #showOlder() {
    const { keeping } = this;
    if (!keeping.older) return;
    this.notices.showOlder(keeping.older, (use) => this.rating.adopt(keeping.settleOlder(use)));
  }

  /** A draft was refused: the server says why, in words. */
  #refused({ refused, message, draft, draft_seq: number }) {
    if (refused === "submitted" && this.sending.busy) return;
    const { sender } = this.keeping;
    showSaved(this.head, "waiting", "Not saved");
    if (refused === "invalid") sender.awaitChange();
    const text = message || "Your answers could not be stored. Reload the page; they are kept on this computer.";
    this.notices.showRefusal(text, refused === "open_elsewhere" && (() => {
      if (this.sending.busy) this.sending.release();
      this.rating.adopt(draft ?? {});
      sender.takeOver(number);
    }));
  }

  renew() {
    renew(this.view.routes.renew, this.view.work.token);
  }

  // ---- drawing ----

  /** The item in its layout: in the elements of the last one where they fit, for new ones cost a frame or two. */
  #lay() {
    this.narrow ??= this.events.isNarrow(NARROW);
    this.layout = layoutOf(this.view, this.narrow);
    const shape = shapeOf(this.view, this.layout);
    if (shape === this.shape) this.#refill();
    else this.#draw();
    this.shape = shape;
    this.root.dataset.token = this.view.work.token;
    this.syncAll();
    if (this.layout === "steps") this.moves.showStep(this.moves.step);
    this.moves.outline();
  }

  #draw() {
    const { view } = this;
    const { context } = view.item;
    this.fieldsets = new Map();
    this.head = buildHead(view);
    syncHead(this.head, view);
    this.guidelines = guidelinesPanel(view.rubric);
    this.board = buildBoard(this);
    this.foot = buildFoot(view);
    this.context = context ? contextPanel(context, view.rubric.language) : null;
    const main = h("div", { class: "tw-main" }, view.feedback ? feedbackTable(view) : null, this.board);
    this.work = h("div", { class: `tw-work${context ? "" : " tw-no-context"}` }, this.context, main, this.guidelines);
    this.root.dataset.layout = this.layout;
    this.root.classList.toggle("tw-narrow", this.narrow);
    this.root.classList.toggle("tw-read-only", this.readOnly);
    this.notices.showNotice(view);
    this.dialogs.drop();
    this.root.replaceChildren(this.head, this.notices.box, this.work, this.sending.problems, this.foot,
      this.highlighter.float, this.highlighter.popover, this.events.tip, this.notices.toastBox, this.notices.live);
    this.events.watch(this.head, this.foot);
  }

  #refill() {
    const { view } = this;
    const { context } = view.item;
    this.reading.closeGuidelines();
    this.dialogs.drop();
    this.events.hideTip();
    syncHead(this.head, view);
    showSaved(this.head, "saved");
    this.notices.showNotice(view);
    if (context) {
      const next = contextPanel(context, view.rubric.language);
      this.context.replaceWith(next);
      this.context = next;
    }
    for (const fieldset of this.fieldsets.values()) resetQuestion(fieldset);
    refillBoard(this);
  }

  /** The window became narrow or wide: the same answers in another layout. */
  relayout() {
    const narrow = this.events.isNarrow(NARROW);
    if (!this.view || narrow === this.narrow) return;
    const hadFocus = this.root.contains(document.activeElement);
    this.narrow = narrow;
    this.shape = null;
    this.#lay();
    if (hadFocus) this.moves.refocus();
  }

  retheme() {
    applyTheme(this.root);
  }

  syncAll() {
    for (const question of this.questions) this.sync(question);
    this.highlighter.drawAll();
    this.#syncAside();
    this.#syncCounts();
  }

  sync(question) {
    const fieldset = this.fieldsets.get(question.id);
    if (!fieldset) return;
    const limits = this.view.rubric.explanation;
    syncQuestion(fieldset, question, this.answers, limits);
    if (this.readOnly) fieldset.disabled = true;
    if (fieldset.classList.contains("tw-problem") && !problemOf(this.answers, question, limits)) {
      fieldset.classList.remove("tw-problem");
    }
  }

  #changed({ path, undone }) {
    this.events.keyboard.reset();
    if (path[0] === "highlights") this.highlighter.drawAll();
    else if (path[0] === "set_aside") this.#syncAside();
    else if (path[0] !== "note" && !(path.at(-1) === "text" && !undone)) {
      const question = this.question(`${path[1]}:${path[2]}`);
      if (question) this.sync(question);
    }
    this.#syncCounts();
  }

  #syncAside() {
    const setAside = this.view.rubric.set_aside_response;
    if (!setAside) return;
    for (const { letter } of this.view.item.candidates) {
      const reason = this.answers.draft.set_aside[letter];
      const aside = reason !== undefined;
      const title = setAside.reasons.find(({ key }) => key === reason)?.title;
      write(this.root.querySelector(`[data-tw-aside-note="${letter}"]`), aside ? `set aside: ${title ?? reason}` : "");
      const control = this.root.querySelector(`[data-tw-set-aside="${letter}"]`);
      if (control) write(control, aside ? "Rate it after all" : "Set aside");
      for (const question of this.questions.filter((q) => q.slot === letter)) {
        const fieldset = this.fieldsets.get(question.id);
        fieldset.classList.toggle("tw-is-aside", aside);
        fieldset.disabled = this.readOnly || aside;
      }
      for (const cell of this.root.querySelectorAll(`.tw-response[data-slot="${letter}"]`)) {
        cell.classList.toggle("tw-is-aside", aside);
      }
    }
  }

  #syncCounts() {
    const asked = this.questions.filter((q) => q.criterion.required && !this.answers.isSetAside(q.slot));
    const done = asked.filter((q) => isAnswered(this.answers, q)).length;
    const line = this.foot.querySelector("[data-tw-answered]");
    if (line) write(line, `${done} of ${asked.length} answered`);
    if (this.layout === "steps") this.moves.syncTabs();
    this.sending.syncProblems();
  }

  // ---- the end of it ----

  settled(ms) {
    return this.keeping ? this.keeping.sender.settled(ms) : Promise.resolve(true);
  }

  closeFloating() {
    const any = !this.highlighter.float.hidden || !this.highlighter.popover.hidden || !this.events.tip.hidden;
    this.highlighter.forget();
    this.highlighter.hidePopover();
    this.events.hideTip();
    return any;
  }

  close() {
    this.closed = true;
    this.keeping?.leave();
    this.sending.close();
    this.events.close();
    this.notices.close();
    this.root.remove();
  }
}

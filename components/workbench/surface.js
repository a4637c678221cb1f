// The annotation surface: draws a blinded view and answers every click, key and change in the browser.

import { Activity } from "./activity.js";
import { splitQuestion } from "./answers.js";
import { buildBoard, layoutOf, stepsOf } from "./board.js";
import { contextPanel } from "./context.js";
import { Dialogs } from "./dialogs.js";
import { button, h, nameOf, scroller } from "./dom.js";
import { Events } from "./events.js";
import { buildFoot, buildHead, showSaved, syncHead } from "./frame.js";
import { Highlighter } from "./highlighter.js";
import { Keeping } from "./keeping.js";
import { browserClock, renew } from "./network.js";
import { banner, feedbackTable, guidelinesPanel } from "./panels.js";
import { syncQuestion } from "./question.js";
import { preferences, penOf, uuid } from "./store.js";
import { Submission } from "./submission.js";
import { applyTheme } from "./theme.js";
import { isAnswered, isComplete, problemOf, problems, questionsOf } from "./validate.js";

const SIZES = [0.9, 1, 1.12, 1.25, 1.4];
const NARROW = 900;
const PATIENCE = 10_000;
let count = 0;

export class Surface {
  constructor(component) {
    this.uid = `tw${(count += 1)}`;
    this.root = h("div", { class: "tw", tabindex: "-1" });
    component.parentElement.append(this.root);
    this.#waitForStyle();
    const navigation = performance.getEntriesByType?.("navigation")[0]?.type ?? "navigate";
    this.pen = penOf(document, window.sessionStorage, navigation);
    this.activity = new Activity(() => performance.now());
    this.submission = new Submission((action) => this.trigger(action), browserClock);
    this.keysOn = preferences.get("keys", "on") === "on";
    this.size = Number(preferences.get("text-size", "1"));
    this.highlighter = new Highlighter(this);
    this.dialogs = new Dialogs(this);
    this.events = new Events(this);
  }

  /** Hides the surface until its style sheet is there, so that nobody sees it unstyled. */
  #waitForStyle() {
    const link = document.querySelector("link[data-tw-style]");
    if (!link || link.sheet) return;
    const show = () => this.root.style.removeProperty("visibility");
    this.root.style.visibility = "hidden";
    link.addEventListener("load", show, { once: true });
    link.addEventListener("error", show, { once: true });
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
    const answered = this.submission.answeredBy(data);
    const refused = this.submission.pending && !answered && Boolean(data.notice) && before !== data;
    if (answered) this.#acknowledged();
    else if (refused) this.#release();
    this.view = data;
    applyTheme(this.root);
    const same = before && before.work.token === data.work.token && before.work.version === data.work.version
      && Boolean(before.feedback) === Boolean(data.feedback);
    if (same) this.#refresh();
    else this.#open(before);
  }

  #acknowledged() {
    this.keeping.sender.done();
    this.submission.stop();
    this.#setBusy(false);
  }

  #release() {
    this.submission.stop();
    this.keeping.sender.resume();
    this.#setBusy(false);
  }

  #refresh() {
    syncHead(this.head, this.view);
    this.#showNotice();
  }

  /** Another item: everything fresh, from the top, with its heading focused. */
  #open(before) {
    if (before && this.keeping) this.keeping.sender.leave();
    this.submission.stop();
    this.busy = false;
    this.activity.nextItem(this.view.work.active_seconds ?? 0);
    const keeping = new Keeping(this.view, {
      pen: this.pen, seconds: () => this.activity.seconds(),
      on: {
        changed: (change) => this.keeping === keeping && this.#changed(change),
        saved: (state) => this.keeping === keeping && this.head && showSaved(this.head, state),
        refused: (status, answer) => this.keeping === keeping && this.#refused(status, answer),
      },
    });
    this.keeping = keeping;
    this.questions = questionsOf(this.view);
    this.highlighter.forget();
    this.highlighter.armed = null;
    this.#startPlace();
    this.#draw();
    this.#showOlder();
    keeping.sendAgain();
    if (before) this.#toTop();
  }

  #startPlace() {
    this.steps = stepsOf(this.view);
    const first = this.steps.findIndex((slot) => !isComplete(this.view, this.answers, slot));
    this.opened = first < 0 ? this.steps.length - 1 : first;
    this.step = this.view.work.state === "submitted" || this.readOnly ? 0 : this.opened;
    if (this.step === 0 && first < 0) this.opened = this.steps.length - 1;
    this.current = this.questions.find((q) => !isAnswered(this.answers, q))?.id ?? this.questions[0]?.id ?? null;
  }

  #toTop() {
    scroller(this.root).scrollTop = 0;
    this.head.querySelector(".tw-heading").focus({ preventScroll: true });
  }

  // ---- drawing ----

  #draw() {
    const { view } = this;
    this.fieldsets = new Map();
    this.narrow = this.events.isNarrow(NARROW);
    this.layout = layoutOf(view, this.narrow);
    this.head = buildHead(view);
    this.notices = h("div", { class: "tw-notices" });
    this.guidelines = guidelinesPanel(view.rubric);
    this.board = buildBoard(this);
    this.problems = h("div", { class: "tw-problems", role: "alert", hidden: true });
    this.foot = buildFoot(view);
    this.toastBox = h("div", { class: "tw-toast", role: "status", hidden: true });
    this.live = h("div", { class: "tw-sr", "aria-live": "polite" });
    const { context } = view.item;
    const main = h("div", { class: "tw-main" }, view.feedback ? feedbackTable(view) : null, this.board);
    this.work = h("div", { class: `tw-work${context ? "" : " tw-no-context"}` },
      context ? contextPanel(context, view.rubric.language) : null, main, this.guidelines);
    this.root.dataset.token = view.work.token;
    this.root.dataset.layout = this.layout;
    this.root.classList.toggle("tw-narrow", this.narrow);
    this.root.classList.toggle("tw-read-only", this.readOnly);
    this.root.replaceChildren(this.head, this.notices, this.work, this.problems, this.foot,
      this.highlighter.float, this.highlighter.popover, this.events.tip, this.toastBox, this.live);
    this.#applySize();
    this.#showContentNote(view.progress.done === 0 && !this.noteSeen);
    this.#refresh();
    this.syncAll();
    if (this.layout === "steps") this.showStep(this.step);
    this.#outline();
    this.events.measure();
  }

  /** The window became narrow or wide: the same answers in another layout. */
  relayout() {
    if (!this.view || this.events.isNarrow(NARROW) === this.narrow) return;
    const hadFocus = this.root.contains(document.activeElement);
    this.#draw();
    if (hadFocus) this.refocus();
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
    syncQuestion(fieldset, question, this.answers, this.view.rubric.explanation);
    if (this.readOnly) fieldset.disabled = true;
    if (fieldset.classList.contains("tw-problem") && !problemOf(this.answers, question, this.view.rubric.explanation)) {
      fieldset.classList.remove("tw-problem");
    }
  }

  #changed({ path, undone }) {
    if (path[0] === "highlights") this.highlighter.drawAll();
    else if (path[0] === "set_aside") this.#syncAside();
    else if (path[0] !== "note" && !(path.at(-1) === "text" && !undone)) {
      const question = this.question(`${path[1]}:${path[2]}`);
      if (question) this.sync(question);
    }
    this.#syncCounts();
  }

  #syncAside() {
    const reasons = this.view.rubric.set_aside_response?.reasons ?? [];
    for (const { letter } of this.view.item.candidates) {
      const reason = this.answers.draft.set_aside[letter];
      const title = reasons.find(({ key }) => key === reason)?.title;
      const note = this.root.querySelector(`[data-tw-aside-note="${letter}"]`);
      if (note) note.textContent = reason === undefined ? "" : `set aside: ${title ?? reason}`;
      const control = this.root.querySelector(`[data-tw-set-aside="${letter}"]`);
      if (control) control.textContent = reason === undefined ? "Set aside" : "Rate it after all";
      for (const question of this.questions.filter((q) => q.slot === letter)) {
        const fieldset = this.fieldsets.get(question.id);
        if (!fieldset) continue;
        fieldset.classList.toggle("tw-is-aside", reason !== undefined);
        fieldset.disabled = this.readOnly || reason !== undefined;
      }
      for (const cell of this.root.querySelectorAll(`.tw-response[data-slot="${letter}"]`)) {
        cell.classList.toggle("tw-is-aside", reason !== undefined);
      }
    }
  }

  #syncCounts() {
    const asked = this.questions.filter((q) => q.criterion.required && !this.answers.isSetAside(q.slot));
    const done = asked.filter((q) => isAnswered(this.answers, q)).length;
    const line = this.foot.querySelector("[data-tw-answered]");
    if (line) line.textContent = `${done} of ${asked.length} answered`;
    if (this.layout === "steps") this.#syncTabs();
    if (!this.problems.hidden) this.#showProblems(this.#missing());
  }

  // ---- notices ----

  #showNotice() {
    this.notices.querySelector("[data-tw-notice]")?.remove();
    if (!this.view.notice) return;
    const shown = banner(this.view.notice.kind, this.view.notice.text, [button("Close", { class: "tw-button tw-quiet tw-small", data: { "tw-banner-close": "1" } })]);
    shown.dataset.twNotice = "1";
    this.notices.prepend(shown);
  }

  #tell(kind, text, buttons = []) {
    const shown = banner(kind, text, buttons.map(([label, act, data]) => {
      const made = button(label, { class: "tw-button tw-small", data });
      made.addEventListener("click", () => {
        shown.remove();
        act();
      });
      return made;
    }));
    this.notices.append(shown);
    return shown;
  }

  #showContentNote(open) {
    this.notices.querySelector("[data-tw-content-note]")?.remove();
    if (!open || !this.view.rubric.content_note) return;
    this.noteSeen = true;
    const note = banner("info", this.view.rubric.content_note, [button("Close", { class: "tw-button tw-quiet tw-small", data: { "tw-banner-close": "1" } })]);
    note.dataset.twContentNote = "1";
    this.notices.prepend(note);
  }

  toggleContentNote() {
    this.#showContentNote(!this.notices.querySelector("[data-tw-content-note]"));
    this.notices.scrollIntoView({ block: "nearest" });
  }

  #showOlder() {
    if (!this.keeping.older) return;
    const time = new Date(this.keeping.older.time).toLocaleString();
    this.#tell("warning", `This computer holds another version of these answers, of ${time}, that was never stored.`, [
      ["Use that version", () => this.#adopt(this.keeping.settleOlder(true)), { "tw-older": "use" }],
      ["Keep what is shown", () => this.keeping.settleOlder(false), { "tw-older": "drop" }],
    ]);
  }

  #adopt(draft) {
    if (!draft) return;
    for (const part of ["ratings", "explanations", "highlights", "set_aside"]) {
      this.answers.put([part], draft[part] ?? (part === "highlights" ? [] : {}), "all answers");
    }
    this.answers.put(["note"], draft.note ?? "");
    this.syncAll();
  }

  /** A draft was refused: the server says why, in words. */
  #refused(status, answer) {
    if (answer.refused === "submitted" && this.submission.pending) return;
    const message = answer.message || "Your answers could not be stored. Reload the page; they are kept on this computer.";
    showSaved(this.head, "waiting", "Not saved");
    if (answer.refused === "invalid") this.keeping.sender.awaitChange();
    this.refusal?.remove();
    if (answer.refused !== "open_elsewhere") {
      this.refusal = this.#tell("warning", message);
      return;
    }
    this.refusal = this.#tell("warning", message, [["Continue here", () => {
      this.#adopt(answer.draft ?? {});
      this.keeping.sender.takeOver(answer.draft_seq);
    }, { "tw-take": "1" }]]);
    this.refusal.querySelector("button").focus();
  }

  toast(text, undoable = false) {
    clearTimeout(this.toastTimer);
    this.toastBox.replaceChildren(h("span", { text }), undoable ? button("Undo", { class: "tw-button tw-small", data: { "tw-undo": "1" } }) : "");
    this.toastBox.hidden = false;
    this.toastTimer = setTimeout(() => (this.toastBox.hidden = true), 6000);
  }

  announce(text, visible = false) {
    this.live.textContent = text;
    if (visible) this.toast(text);
  }

  remindOfPause() {
    this.#tell("info", "Three quarters of an hour. A few minutes away from the screen help; everything is saved.", [
      ["Close", () => {}, {}],
    ]);
  }

  renew() {
    renew(this.view.routes.renew, this.view.work.token);
  }

  // ---- answering ----

  #nameIn({ slot, criterion }) {
    return slot === "item" ? criterion.title : `${criterion.title}, ${nameOf(slot, this.view.item.candidates.length === 1)}`;
  }

  rate(question, value) {
    this.answers.rate(question.slot, question.criterion.key, value, this.#nameIn(question));
  }

  clearAnswer(id) {
    const question = this.question(id);
    if (!question || this.readOnly || this.answers.rating(question.slot, question.criterion.key) === undefined) return true;
    this.rate(question, undefined);
    this.toast(`Cleared: ${this.#nameIn(question)}`, true);
    return true;
  }

  toggleBest(question, digit) {
    const letter = this.view.item.candidates[digit - 1]?.letter;
    if (letter) this.#setBest(question, letter);
    return true;
  }

  #setBest(question, letter) {
    const { slot, criterion } = question;
    const picked = this.answers.rating(slot, criterion.key) ?? [];
    const next = picked.includes(letter) ? picked.filter((l) => l !== letter) : [...picked, letter].sort();
    this.rate(question, next.length ? next : undefined);
  }

  /** A checkbox of `best` was used: a letter, or "none of them". */
  pickBest(question, input) {
    if (!input.dataset.twNone) return this.#setBest(question, input.value);
    return this.rate(question, input.checked ? [] : undefined);
  }

  takeSlider(input) {
    const question = this.question(input.closest("[data-tw-question]").dataset.twQuestion);
    this.rate(question, Number(input.value));
    return true;
  }

  setReasons(question, box) {
    const chosen = [...box.querySelectorAll("input:checked")].map((input) => input.value);
    const { slot, criterion } = question;
    this.answers.setReasons(slot, criterion.key, this.answers.rating(slot, criterion.key), chosen, `reasons for ${this.#nameIn(question)}`);
  }

  setText(question, text) {
    const { slot, criterion } = question;
    this.answers.setText(slot, criterion.key, this.answers.rating(slot, criterion.key), text);
  }

  undo(again = false) {
    if (this.readOnly || this.busy) return true;
    const change = again ? this.answers.redo() : this.answers.undo();
    if (!change) {
      this.announce(again ? "Nothing to redo" : "Nothing to undo", true);
      return true;
    }
    if (change.path.length === 1) this.syncAll();
    const id = ["ratings", "explanations"].includes(change.path[0]) ? `${change.path[1]}:${change.path[2]}` : null;
    if (id && this.question(id)) this.goTo(id);
    this.toast(`${again ? "Done again" : "Undone"}: ${change.name}`);
    return true;
  }

  // ---- moving ----

  currentQuestion() {
    const question = this.current && this.question(this.current);
    return question && this.#isShown(question) ? question : null;
  }

  #isShown({ slot }) {
    return this.layout !== "steps" || this.steps[this.step] === slot;
  }

  /** The questions in the order in which they stand on the screen. */
  #order() {
    const shown = [...this.root.querySelectorAll("[data-tw-question]")].map((fieldset) => this.question(fieldset.dataset.twQuestion));
    return shown.filter((question) => !this.answers.isSetAside(question.slot));
  }

  setCurrent(id) {
    if (this.current === id) return;
    this.current = id;
    this.#outline();
  }

  #outline() {
    this.root.querySelector(".tw-current")?.classList.remove("tw-current");
    if (this.current && !this.readOnly) this.fieldsets.get(this.current)?.classList.add("tw-current");
  }

  /** Outlines a question, shows it and puts the focus into it. */
  goTo(id) {
    const question = this.question(id);
    const at = this.steps.indexOf(question.slot);
    if (this.layout === "steps" && at !== this.step) this.showStep(at);
    this.setCurrent(id);
    const fieldset = this.fieldsets.get(id);
    const target = fieldset.querySelector("input:checked") ?? fieldset.querySelector("input");
    target?.focus({ preventScroll: true });
    this.events.reveal(fieldset);
  }

  /** J and K. */
  move(by) {
    const order = this.#order();
    const at = order.findIndex(({ id }) => id === this.current);
    const target = order[at + by];
    if (!target) return true;
    if (this.layout === "steps" && this.steps.indexOf(target.slot) > this.opened) this.#focusNext();
    else this.goTo(target.id);
    return true;
  }

  outlineNextUnanswered(question) {
    const order = this.#order().filter((q) => this.#isShown(q));
    const at = order.indexOf(question);
    const next = [...order.slice(at + 1), ...order.slice(0, at)].find((q) => !isAnswered(this.answers, q));
    if (next) this.goTo(next.id);
    else if (this.layout === "steps") this.#focusNext();
    else {
      this.setCurrent(null);
      this.foot.querySelector("[data-tw-submit]")?.focus({ preventScroll: true });
    }
  }

  #focusNext() {
    this.setCurrent(null);
    const next = this.board.querySelector(`[data-tw-step-panel="${this.step}"] .tw-next`) ?? this.foot.querySelector("[data-tw-submit]");
    next?.focus({ preventScroll: true });
    if (next) this.events.reveal(next);
  }

  focusExplanation() {
    const asked = [...this.root.querySelectorAll("[data-tw-question] .tw-ask:not([hidden])")].filter((box) => box.offsetParent);
    const open = asked.filter((box) => problemOf(this.answers, this.question(box.parentElement.dataset.twQuestion), this.view.rubric.explanation));
    const box = open.at(-1) ?? asked.at(-1);
    box?.querySelector("input, textarea")?.focus();
    return true;
  }

  refocus() {
    const id = this.currentQuestion()?.id;
    if (id) this.goTo(id);
    else this.root.focus({ preventScroll: true });
  }

  // ---- one response after another ----

  showStep(step) {
    this.step = step;
    this.opened = Math.max(this.opened, step);
    for (const panel of this.board.querySelectorAll("[data-tw-step-panel]")) panel.hidden = Number(panel.dataset.twStepPanel) !== step;
    const slot = this.steps[step];
    if (this.current === null || splitQuestion(this.current)[0] !== slot) {
      const here = this.questions.filter((q) => q.slot === slot);
      this.setCurrent((here.find((q) => !isAnswered(this.answers, q)) ?? here[0])?.id ?? null);
    }
    this.#syncTabs();
  }

  /** A tab or "Next" was used. */
  askStep(step) {
    const blocked = this.steps.slice(0, step).find((slot) => !isComplete(this.view, this.answers, slot));
    if (step > this.opened && blocked && !this.readOnly) {
      const missing = problems(this.view, this.answers).filter(({ slot }) => slot === blocked);
      this.#showProblems(missing);
      this.#point(missing[0]);
      return;
    }
    this.problems.hidden = true;
    this.showStep(step);
    this.#toTop();
  }

  #syncTabs() {
    for (const tab of this.board.querySelectorAll(".tw-tab")) {
      const step = Number(tab.dataset.twStep);
      const complete = isComplete(this.view, this.answers, this.steps[step]);
      const open = this.readOnly || step <= this.opened || this.steps.slice(0, step).every((slot) => isComplete(this.view, this.answers, slot));
      tab.setAttribute("aria-current", step === this.step ? "step" : "false");
      tab.setAttribute("aria-disabled", String(!open));
      tab.classList.toggle("tw-tab-done", complete);
    }
  }

  // ---- submitting and the other actions ----

  #showProblems(list) {
    this.problems.hidden = list.length === 0;
    const lines = list.slice(0, 6).map((problem) => h("li", {},
      button(`${this.#nameIn(problem)} ${problem.problem}`, { class: "tw-link", data: { "tw-go": problem.id } })));
    const more = list.length > 6 ? [h("li", { text: `and ${list.length - 6} more` })] : [];
    const lead = list.length === 1 ? "One thing is missing:" : `${list.length} things are missing:`;
    this.problems.replaceChildren(h("span", { class: "tw-strong", text: lead }), h("ul", {}, lines, more));
  }

  #point({ id, slot, criterion }) {
    this.fieldsets.get(id)?.classList.add("tw-problem");
    this.goTo(id);
    const answered = this.answers.rating(slot, criterion.key) !== undefined;
    if (answered) this.fieldsets.get(id).querySelector(".tw-ask input, .tw-ask textarea")?.focus({ preventScroll: true });
  }

  /** What is missing, in the order in which it stands on the screen. */
  #missing() {
    const places = [...this.fieldsets.keys()];
    return problems(this.view, this.answers).sort((a, b) => places.indexOf(a.id) - places.indexOf(b.id));
  }

  goToProblem(id) {
    this.#point(this.question(id));
  }

  submit() {
    if (this.busy) return;
    if (this.readOnly) {
      this.act("continue");
      return;
    }
    this.highlighter.hidePopover();
    const missing = this.#missing();
    this.#showProblems(missing);
    for (const { id } of missing) this.fieldsets.get(id)?.classList.add("tw-problem");
    if (missing.length) {
      this.#point(missing[0]);
      return;
    }
    this.#send({ kind: "submit", answers: this.answers.snapshot() });
  }

  /** Skip or ignore the item, with a reason. */
  leaveOut(kind, reason, text) {
    this.#send({ kind, reason, text });
  }

  #send(action) {
    this.keeping.sender.stop();
    this.#setBusy(true);
    const { token: assignment, version } = this.view.work;
    const { base } = this.keeping.sender;
    const common = { assignment, version, base, pen: this.pen, submission: uuid(), active_seconds: this.activity.seconds() };
    this.submission.start({ ...common, ...action });
  }

  /** Back, forward, continue, stop: leave this item, with everything stored first if that is quick. */
  async act(kind) {
    if (this.busy) return;
    if (kind === "stop") await this.settled(2000);
    else this.keeping.sender.send();
    this.trigger(kind === "stop" ? { kind } : { kind, assignment: this.view.work.token });
  }

  settled(ms) {
    return this.keeping ? this.keeping.sender.settled(ms) : Promise.resolve(true);
  }

  #setBusy(busy) {
    this.busy = busy;
    clearTimeout(this.patience);
    this.work.inert = busy;
    this.root.setAttribute("aria-busy", String(busy));
    const submit = this.foot.querySelector("[data-tw-submit]");
    if (submit) {
      this.submitLabel ??= new WeakMap();
      if (!this.submitLabel.has(submit)) this.submitLabel.set(submit, submit.textContent);
      submit.textContent = busy ? "Submitting…" : this.submitLabel.get(submit);
    }
    this.slow?.remove();
    this.slow = null;
    if (busy) this.patience = setTimeout(() => this.#showSlow(), PATIENCE);
  }

  #showSlow() {
    this.slow = this.#tell("warning", "The server has not answered yet. Your answers are kept on this computer and sent again.", [
      ["Go on editing", () => this.#release(), { "tw-go-on": "1" }],
    ]);
  }

  // ---- panels ----

  /** Opens or closes the guidelines; with a criterion, at its place. Returns whether anything happened. */
  showGuidelines(open = this.guidelines.hidden, criterion = null) {
    if (!open && this.guidelines.hidden) return false;
    const inside = this.guidelines.contains(document.activeElement);
    this.guidelines.hidden = !open;
    this.work.classList.toggle("tw-with-guidelines", open);
    this.head.querySelector("[data-tw-guidelines-open]").setAttribute("aria-expanded", String(open));
    if (open) {
      const part = criterion ? this.guidelines.querySelector(`[data-tw-guide="${CSS.escape(criterion)}"]`) : null;
      const body = this.guidelines.querySelector(".tw-guide-body");
      body.scrollTop = part ? part.offsetTop - body.offsetTop : 0;
      (part ?? this.guidelines.querySelector("h2")).focus({ preventScroll: true });
    } else if (inside) this.refocus();
    return true;
  }

  openKeys() {
    this.dialogs.keys();
    return true;
  }

  setKeys(on) {
    this.keysOn = on;
    this.root.classList.toggle("tw-keys-off", !on);
    preferences.set("keys", on ? "on" : "off");
  }

  changeSize(by) {
    const at = SIZES.indexOf(this.size);
    this.size = SIZES[Math.min(SIZES.length - 1, Math.max(0, (at < 0 ? 1 : at) + by))];
    preferences.set("text-size", String(this.size));
    this.#applySize();
  }

  #applySize() {
    this.root.style.setProperty("--tw-scale", this.size);
    this.root.classList.toggle("tw-keys-off", !this.keysOn);
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
    this.keeping?.sender.leave();
    this.submission.stop();
    this.events.close();
    clearTimeout(this.patience);
    clearTimeout(this.toastTimer);
    this.root.remove();
  }
}

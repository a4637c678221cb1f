// Leaving an item: submit and what stands in its way, skip, back, stop, and waiting for the server.

import { button, h } from "./dom.js";
import { uuid } from "./store.js";
import { browserClock } from "./network.js";
import { Submission } from "./submission.js";
import { problems } from "./validate.js";

const SHOWN_FROM = 200; // ms; most answers come sooner, and drawing the wait would hold them up
const PATIENCE = 10_000;
const MOST_PROBLEMS = 6;

export class Sending {
  /** @param ui the surface */
  constructor(ui) {
    this.ui = ui;
    this.busy = false;
    this.submission = new Submission((action) => ui.trigger(action), browserClock);
    this.problems = h("div", { class: "tw-problems", role: "alert", hidden: true });
  }

  // ---- what the server answers ----

  /** Looks at new data: was what is under way received, or refused? Returns nothing; the surface then draws. */
  hear(data) {
    if (!this.submission.pending) return;
    const { submission, version } = this.submission.pending;
    if (this.submission.answeredBy(data)) {
      // another item without our receipt: it was refused, and what this computer keeps is all there is
      if (data.work.receipt === submission) this.ui.keeping.sender.done();
      this.#end();
    } else if (data.notice) {
      // if another tab wrote meanwhile, the answer to a draft brings what it wrote, and the way to go on here
      if (data.work.version === version) this.ui.keeping.sender.dirty = true;
      this.release();
    }
  }

  /** The annotator goes on editing: what was sent is not repeated. */
  release() {
    this.#end();
    this.ui.keeping.sender.resume();
    this.ui.syncAll();
  }

  #end() {
    this.submission.stop();
    this.#setBusy(false);
  }

  /** Another item lies here. */
  reset() {
    this.#end();
    this.problems.hidden = true;
  }

  // ---- what is missing ----

  /** What is missing, in the order in which it stands on the screen. */
  #missing() {
    const places = [...this.ui.fieldsets.keys()];
    return problems(this.ui.view, this.ui.answers).sort((a, b) => places.indexOf(a.id) - places.indexOf(b.id));
  }

  /** Keeps an open list of problems true. */
  syncProblems() {
    if (!this.problems.hidden) this.#show(this.#missing());
  }

  #show(list) {
    this.problems.hidden = list.length === 0;
    if (this.problems.hidden) return;
    const lines = list.slice(0, MOST_PROBLEMS).map((problem) => h("li", {},
      button(`${this.ui.rating.nameIn(problem)} ${problem.problem}`, { class: "tw-link", data: { "tw-go": problem.id } })));
    const more = list.length > MOST_PROBLEMS ? [h("li", { text: `and ${list.length - MOST_PROBLEMS} more` })] : [];
    const lead = list.length === 1 ? "One thing is missing:" : `${list.length} things are missing:`;
    this.problems.replaceChildren(h("span", { class: "tw-strong", text: lead }), h("ul", {}, lines, more));
  }

  /** Names problems and goes to the first. */
  point(list) {
    this.#show(list);
    this.goTo(list[0].id);
  }

  goTo(id) {
    const { ui } = this;
    const { slot, criterion } = ui.question(id);
    const fieldset = ui.fieldsets.get(id);
    fieldset.classList.add("tw-problem");
    ui.moves.goTo(id);
    const answered = ui.answers.rating(slot, criterion.key) !== undefined;
    if (answered) fieldset.querySelector(".tw-ask input, .tw-ask textarea")?.focus({ preventScroll: true });
  }

  // ---- actions ----

  submit() {
    const { ui } = this;
    if (this.busy) return;
    if (ui.readOnly) {
      this.act("continue");
      return;
    }
    ui.highlighter.hidePopover();
    const missing = this.#missing();
    if (missing.length) {
      for (const { id } of missing) ui.fieldsets.get(id)?.classList.add("tw-problem");
      this.point(missing);
      return;
    }
    this.problems.hidden = true;
    this.#send({ kind: "submit", answers: ui.answers.snapshot() });
  }

  /** Skip or ignore the item, with a reason; a note to the lead about it goes along. */
  leaveOut(kind, reason, text) {
    const { note } = this.ui.answers.draft;
    this.#send({ kind, reason, text: [text, note].filter(Boolean).join("\n") });
  }

  #send(action) {
    const { ui } = this;
    ui.keeping.sender.stop();
    const { token: assignment, version } = ui.view.work;
    const { base } = ui.keeping.sender;
    const common = { assignment, version, base, pen: ui.pen, submission: uuid(), active_seconds: ui.activity.seconds() };
    this.submission.start({ ...common, ...action });
    this.#setBusy(true);
  }

  /** Back, forward, continue, stop: leave this item, with everything stored first if that is quick. */
  async act(kind) {
    const { ui } = this;
    if (this.busy) return;
    if (kind === "stop") await ui.settled(2000);
    else ui.keeping.sender.send();
    ui.trigger(kind === "stop" ? { kind } : { kind, assignment: ui.view.work.token });
  }

  // ---- waiting ----

  /** From the moment of sending no answer changes; that it waits is shown when the wait can be noticed. */
  #setBusy(busy) {
    this.busy = busy;
    this.ui.answers.locked = busy;
    clearTimeout(this.soon);
    clearTimeout(this.patience);
    this.slow?.remove();
    this.slow = null;
    if (!busy) return this.#showBusy(false);
    this.soon = setTimeout(() => this.#showBusy(true), SHOWN_FROM);
    this.patience = setTimeout(() => this.#showSlow(), PATIENCE);
  }

  #showBusy(busy) {
    const { root, work, foot } = this.ui;
    if (!work || work.inert === busy) return;
    work.inert = busy;
    root.setAttribute("aria-busy", String(busy));
    const submit = foot.querySelector("[data-tw-submit]");
    if (!submit) return;
    if (busy) this.label = submit.textContent;
    submit.textContent = busy ? "Submitting…" : this.label;
  }

  #showSlow() {
    this.slow = this.ui.notices.tell("warning", "The server has not answered yet. Your answers are kept on this computer and sent again.", [
      ["Go on editing", () => this.release(), { "tw-go-on": "1" }],
    ]);
  }

  close() {
    this.submission.stop();
    clearTimeout(this.soon);
    clearTimeout(this.patience);
  }
}

// Leaving an item: submit and what prevents it, skip, back, stop, and waiting for the server.

import { differences, differenceTable } from "./choosing.js";
import { button, find, h } from "./dom.js";
import { showSaved } from "./frame.js";
import { _, language, ngettext } from "./language.js";
import { browserClock } from "./network.js";
import { randomId } from "./store.js";
import { textViewOf } from "./texts/formatting.js";
import { problems } from "./validate.js";

/** @import { Item } from "./item.js" */
/** @import { Notices } from "./notices.js" */
/** @import { Action, Answer, Clock, Draft, FinalAction, Page, Problem, Timer, View } from "./types.js" */

const REPEAT_MS = 3000;
const BUSY_AFTER_MS = 200; // most responses are faster, and showing the wait would delay them
const PATIENCE_MS = 10_000;
const MEANT_MS = 500; // the second click of a double click comes earlier; it was meant for the item before
const STOP_WAIT_MS = 2000; // to save drafts before leaving for today
const MAX_PROBLEMS = 6; // in the list; on a phone only one, since the list replaces the question

/**
 * An action that must arrive: repeated with the same submission id until the server answers. No DOM.
 * @param {(action: FinalAction) => void} trigger
 * @param {Pick<Clock, "later" | "cancel">} clock
 */
export function createSubmission(trigger, clock) {
  /** @type {FinalAction | null} */
  let pending = null;
  /** @type {Timer} */
  let timer;

  function send() {
    if (!pending) return;
    trigger(pending);
    timer = clock.later(send, REPEAT_MS);
  }

  function stop() {
    clock.cancel(timer);
    pending = null;
  }

  return {
    stop,

    get pending() {
      return pending;
    },

    /** @param {FinalAction} action */
    start(action) {
      stop();
      pending = action;
      send();
    },

    /**
     * Whether the view answers the pending action: with its receipt, another item, or training feedback.
     * @param {View} view
     */
    answeredBy({ work, feedback }) {
      if (!pending) return false;
      return work.receipt === pending.submission || work.token !== pending.assignment || Boolean(feedback);
    },
  };
}

/** @typedef {ReturnType<typeof createSending>} Sending */

/**
 * @param {object} needs
 * @param {HTMLElement} needs.root
 * @param {string} needs.pen
 * @param {() => Item} needs.item
 * @param {() => Page} needs.page
 * @param {() => number} needs.seconds of activity on this item
 * @param {(action: Action) => void} needs.trigger
 * @param {Notices} needs.notices
 * @param {(id: string) => void} needs.goTo
 * @param {() => string | null} needs.arrangement of the responses
 * @param {() => void} needs.hidePopover
 * @param {(draft: Partial<Draft>) => void} needs.adopt
 * @param {() => void} needs.syncAll
 * @param {() => void} needs.onBusy called when waiting begins or ends
 */
export function createSending({
  root, pen, item, page, seconds, trigger, notices, goTo, arrangement, hidePopover, adopt, syncAll, onBusy,
}) {
  const submission = createSubmission(trigger, browserClock);
  const box = h("div", { class: "tw-problems", role: "alert", hidden: true });
  let busy = false;
  /** When this item replaced another one. */
  let opened = -Infinity;
  let submitLabel = "";
  /** @type {Timer} */
  let busyTimer;
  /** @type {Timer} */
  let slowTimer;
  /** @type {HTMLElement | null} */
  let slow = null;

  // ---- what is missing ----

  /** The problems in display order: by row, or by response if one is shown at a time. */
  function missing() {
    const places = [...page().fieldsets.keys()];
    const list = problems(item());
    return root.dataset.layout !== "dock" ? list : list.sort((a, b) => places.indexOf(a.id) - places.indexOf(b.id));
  }

  /** @param {Problem[]} list */
  function showList(list) {
    box.hidden = list.length === 0;
    if (box.hidden) return;
    const shown = root.dataset.layout === "phone" ? 1 : MAX_PROBLEMS;
    const lines = list.slice(0, shown).map((problem) => h("li", {},
      button(_("{question} {problem}", { question: item().nameOf(problem), problem: problem.problem }), { class: "tw-link", data: { "tw-go": problem.id } })));
    const rest = list.length - shown;
    const more = rest > 0 ? [h("li", { text: ngettext("and {count} more", "and {count} more", rest) })] : [];
    const lead = ngettext("One thing is missing:", "{count} things are missing:", list.length);
    box.replaceChildren(h("span", { class: "tw-strong", text: lead }), h("ul", {}, lines, more));
  }

  /** @param {string} id */
  function goToProblem(id) {
    const fieldset = page().fieldsets.get(id);
    const question = item().question(id);
    if (!fieldset || !question) return;
    fieldset.classList.add("tw-problem");
    goTo(id);
    const isRated = item().answers.rating(question.slot, question.criterion.key) !== undefined;
    if (isRated) find(fieldset, ".tw-ask input, .tw-ask textarea")?.focus({ preventScroll: true });
  }

  /** Lists problems and goes to the first. @param {Problem[]} list */
  function showProblems(list) {
    showList(list);
    goToProblem(list[0].id);
  }

  function hideProblems() {
    box.hidden = true;
  }

  // ---- actions ----

  /** @param {Pick<FinalAction, "kind" | "answers" | "arrangement" | "reason" | "text">} action */
  function send(action) {
    const { drafts, view } = item();
    const { token: assignment, version } = view.work;
    deliver({
      assignment, version, base: drafts.base, pen, submission: randomId(), active_seconds: seconds(),
      text_view: textViewOf(view), language: language(), ...action,
    });
  }

  /** @param {FinalAction} action */
  function deliver(action) {
    item().drafts.hold(action);
    submission.start(action);
    setBusy(true);
  }

  /**
   * Back, forward, continue, stop: leaves this item. Drafts are sent first; only "stop" waits for them, briefly.
   * @param {"back" | "forward" | "continue" | "stop"} kind
   */
  async function act(kind) {
    if (busy) return;
    if (kind === "stop") {
      await item().drafts.settled(STOP_WAIT_MS);
      trigger({ kind });
    } else {
      item().drafts.send();
      trigger({ kind, assignment: item().view.work.token });
    }
  }

  // ---- waiting ----

  /**
   * While an action is being sent, answers are locked; the wait is shown only if it is long enough to notice.
   * @param {boolean} next
   */
  function setBusy(next) {
    busy = next;
    item().answers.lock(busy);
    onBusy();
    stopTimers();
    slow?.remove();
    slow = null;
    if (!busy) return showBusy(false);
    busyTimer = browserClock.later(() => showBusy(true), BUSY_AFTER_MS);
    slowTimer = browserClock.later(showSlow, PATIENCE_MS);
  }

  function stopTimers() {
    browserClock.cancel(busyTimer);
    browserClock.cancel(slowTimer);
  }

  /** @param {boolean} shown */
  function showBusy(shown) {
    const { work, foot } = page();
    if (work.inert === shown) return;
    work.inert = shown;
    root.setAttribute("aria-busy", String(shown));
    const submit = find(foot, "[data-tw-submit]");
    if (!submit) return;
    if (shown) submitLabel = submit.textContent ?? "";
    submit.textContent = shown ? _("Submitting…") : submitLabel;
  }

  function showSlow() {
    const text = item().drafts.isKept
      ? _("The server has not answered yet. Your answers are saved on this computer and will be sent again.")
      : _("The server has not answered yet. Keep this page open: your answers are only here, and will be sent again.");
    slow = notices.show("warning", text, [{ label: _("Continue editing"), act: release }]);
  }

  function end() {
    submission.stop();
    setBusy(false);
  }

  /** The annotator continues editing: the action is not repeated, and a late answer to it opens no other item. */
  function release() {
    end();
    trigger({ kind: "stay" });
    item().drafts.resume();
    syncAll();
  }

  /** Opens another of the annotator's items. @param {string} token */
  function openItem(token) {
    if (busy || token === item().view.work.token) return;
    item().drafts.send();
    trigger({ kind: "open", assignment: item().view.work.token, item: token });
  }

  return {
    box,
    act,
    openItem,
    goToProblem,
    showProblems,
    hideProblems,

    get isBusy() {
      return busy;
    },

    /** Handles the server's next view: the pending action was received, or refused. @param {View} view */
    receive(view) {
      const { pending } = submission;
      if (!pending) return;
      const { drafts } = item();
      if (submission.answeredBy(view)) {
        // a view of another item without our receipt: the action was refused, and only this computer has a copy
        if (view.work.receipt === pending.submission) drafts.done();
        end();
      } else if (view.notice) {
        // if another tab stored answers meanwhile, the response to a draft contains them and offers to continue here
        if (view.work.version === pending.version) drafts.markUnsent();
        release();
      }
    },

    /** Called when another item is shown. @param {boolean} isFirst whether none was before it */
    reset(isFirst) {
      opened = isFirst ? -Infinity : performance.now();
      if (busy) end();
      hideProblems();
    },

    /** Sends an action again that left this item in an earlier visit. */
    sendAgain() {
      const { held } = item();
      if (held) deliver(held);
    },

    /** Requests the text of the next response. */
    openNext() {
      const { answers, drafts, view } = item();
      drafts.send();
      trigger({ kind: "next_response", assignment: view.work.token, answers: answers.snapshot() });
    },

    /** The server refused a draft: shows why. @param {Answer} answer */
    draftRefused({ refused, message, draft, draft_seq: stored }) {
      if (refused === "submitted" && busy) return;
      const { drafts } = item();
      showSaved(page().head, "waiting", _("Not saved"));
      if (refused === "invalid") drafts.awaitChange();
      const fallback = drafts.isKept
        ? _("Your answers could not be saved. Reload the page; there is a copy on this computer.")
        : _("Your answers could not be saved, and only this page has them. Write them down before you leave it.");
      const isMessageTrue = drafts.isKept || refused !== "signed_out"; // which says that this browser has a copy
      const text = (isMessageTrue && message) || fallback;
      /** @param {boolean} keepMine */
      const continueHere = (keepMine) => {
        if (busy) release();
        if (!keepMine) adopt(draft ?? {});
        drafts.takeOver(stored ?? 0);
      };
      const takeOver = () => {
        const list = item().unsent.size ? differences(item(), draft ?? {}) : [];
        if (list.length) notices.showBoth(differenceTable(list), continueHere);
        else continueHere(false);
      };
      if (refused === "open_elsewhere") notices.showRefusal(text, { label: _("Continue here"), act: takeOver, data: { "tw-take": "1" } });
      else if (refused === "signed_out") notices.showRefusal(text, { label: _("Sign in"), act: () => location.reload() });
      else notices.showRefusal(text);
    },

    /** Updates the list of problems if it is open. */
    syncProblems() {
      if (!box.hidden) showList(missing());
    },

    /** Submits, or leaves an item that was read only. */
    submit() {
      const { answers, readOnly } = item();
      if (busy || (!answers.isChanged && performance.now() - opened < MEANT_MS)) return;
      if (readOnly) return void act("continue");
      hidePopover();
      const problems = missing();
      if (problems.length) {
        for (const { id } of problems) page().fieldsets.get(id)?.classList.add("tw-problem");
        showProblems(problems);
        return;
      }
      hideProblems();
      send({ kind: "submit", answers: answers.snapshot(), arrangement: arrangement() });
    },

    /**
     * Skips or ignores the item with a reason, and sends the annotator's note to the lead along.
     * @param {"skip" | "ignore"} kind @param {string} reason @param {string} text
     */
    leaveOut(kind, reason, text) {
      send({ kind, reason, text: [text, item().answers.draft.note].filter(Boolean).join("\n") });
    },

    close() {
      submission.stop();
      stopTimers();
    },
  };
}

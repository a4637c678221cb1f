// Sends the drafts of one assignment: one request at a time, rate-limited, repeated until acknowledged. No DOM.

/** @import { Answer, Clock, DraftMessage, FinalAction, LocalDraft, Post, Reply, SaveState, Timer } from "./types.js" */
/** @typedef {{ seq: number, abort: AbortController }} Flight */

const QUIET_MS = 400; // after the last change
const PACE_MS = 1000; // between drafts while the annotator makes changes
const KEEP_MS = 60; // delay, so that serialising a long draft does not hold up the frame that paints the click
const PATIENCE_MS = 3000; // after which the header shows that the draft is not saved yet
const KEEPALIVE_LIMIT = 60_000; // bytes; browsers refuse larger keepalive bodies (64 KiB)
const BACKOFF_MS = [500, 1000, 2000, 4000, 8000, 15_000];
const RETRIED_STATUSES = [404, 408, 425, 429];

/** @typedef {ReturnType<typeof createDraftSender>} DraftSender */

/**
 * @param {object} needs
 * @param {() => Omit<DraftMessage, "seq" | "base" | "take">} needs.body
 * @param {Post} needs.post
 * @param {(entry: Omit<LocalDraft, "time"> | null) => boolean | void} needs.keep stores the unacknowledged draft on
 *   this computer, or removes it; returns whether the draft was stored
 * @param {(state: SaveState) => void} needs.onState
 * @param {(answer: Answer) => void} needs.onRefused
 * @param {Clock} needs.clock
 * @param {number} [needs.seq] the number of the last stored draft
 */
export function createDraftSender({ body, post, keep, onState, onRefused, clock, seq = 0 }) {
  let base = seq; // the last number known to be stored; `seq` is the last one used
  let take = false;
  let dirty = false;
  let stopped = false;
  let retrying = false;
  /** Whether this computer has the unacknowledged draft: its storage may be full or forbidden. */
  let isKept = true;
  let attempt = 0;
  let lastSent = -Infinity;
  /** @type {number | null} */
  let firstChange = null;
  /** @type {Flight | null} */
  let flying = null;
  /** A final action (such as submit) without an answer so far. @type {FinalAction | undefined} */
  let held;
  /** @type {SaveState | null} */
  let state = null;
  /** @type {Timer} */
  let timer;
  /** @type {Timer} */
  let keepTimer;
  /** Resolve functions of the promises of `settled`. @type {((saved: boolean) => void)[]} */
  const waiters = [];

  /** The draft changed: store it on this computer and send it soon. */
  function changed() {
    const now = clock.now();
    dirty = true;
    firstChange ??= now;
    keepTimer ??= clock.later(keepNow, KEEP_MS);
    if (stopped) return;
    setState(state === "waiting" ? "waiting" : "saving");
    const due = Math.max(Math.min(now + QUIET_MS, firstChange + PACE_MS), lastSent + PACE_MS);
    if (!flying && !retrying) plan(due - now);
  }

  function cancelKeeping() {
    clock.cancel(keepTimer);
    keepTimer = undefined;
  }

  function keepNow() {
    cancelKeeping();
    if (!dirty && !held) return;
    const wasKept = isKept;
    // The next number may already be in use when the page closes, so it counts as used.
    isKept = Boolean(keep({ base, seq: seq + 1, draft: body().draft, action: held }));
    if (isKept !== wasKept && state) onState(state); // what is shown says where the answers are
  }

  /** @param {SaveState} next */
  function setState(next) {
    if (state === next) return;
    state = next;
    onState(next);
  }

  /** @param {number} ms */
  function plan(ms) {
    clock.cancel(timer);
    timer = clock.later(send, Math.max(0, ms));
  }

  /** Sends now; if a request is running, the draft is sent after it, unless `keepalive`. */
  function send({ keepalive = false } = {}) {
    clock.cancel(timer);
    if (stopped || !dirty || (flying && !keepalive)) return;
    seq += 1;
    const text = JSON.stringify({ ...body(), seq, base, take });
    if (keepalive && text.length * 3 > KEEPALIVE_LIMIT && new TextEncoder().encode(text).length > KEEPALIVE_LIMIT) {
      if (!flying) plan(0);
      return;
    }
    dirty = false;
    retrying = false;
    firstChange = null;
    lastSent = clock.now();
    fly(text, keepalive);
  }

  /** @param {string} text @param {boolean} keepalive */
  async function fly(text, keepalive) {
    const flight = { seq, abort: new AbortController() };
    flying = flight;
    const late = clock.later(() => setState("waiting"), PATIENCE_MS);
    const dead = clock.later(() => flight.abort.abort(), PATIENCE_MS * 2 ** Math.min(attempt, 3));
    const reply = await post(text, { keepalive, signal: flight.abort.signal }).catch(() => null);
    clock.cancel(late);
    clock.cancel(dead);
    const stored = reply?.status === 200 ? reply.answer?.stored ?? flight.seq : null;
    if (flying !== flight) {
      // a later (keepalive) request has replaced this one
      if (stored !== null) base = Math.max(base, stored);
      return;
    }
    flying = null;
    if (stored !== null) acknowledge(stored);
    else if (!reply || reply.status >= 500 || RETRIED_STATUSES.includes(reply.status)) again();
    else refuse(reply);
  }

  /** @param {number} stored */
  function acknowledge(stored) {
    base = Math.max(base, stored);
    take = false;
    attempt = 0;
    if (dirty) {
      setState("saving");
      plan(Math.max(QUIET_MS / 2, lastSent + PACE_MS - clock.now()));
      return;
    }
    setState("saved");
    if (held) return keepNow();
    cancelKeeping();
    keep(null);
    wake(true);
  }

  function again() {
    dirty = true;
    retrying = true;
    keepNow();
    // A single lost request may be chance; the header shows the problem from the second one on.
    if (attempt > 0) setState("waiting");
    const wait = BACKOFF_MS[Math.min(attempt, BACKOFF_MS.length - 1)];
    attempt += 1;
    if (!stopped) plan(wait);
  }

  /** @param {Reply} reply */
  function refuse({ answer }) {
    dirty = true;
    keepNow();
    stopped = true;
    setState("waiting");
    wake(false);
    onRefused(answer ?? {});
  }

  function resume() {
    if (held && !dirty) keep(null);
    held = undefined;
    stopped = false;
    if (dirty && !flying) plan(QUIET_MS);
  }

  /** @param {boolean} saved */
  function wake(saved) {
    for (const resolve of waiters.splice(0)) resolve(saved);
  }

  return {
    changed,
    send,
    resume,

    /**
     * The annotator is leaving the item: drafts stop, and the final action is stored on this computer until it is
     * acknowledged, so that it survives the tab. Ends with `resume` or `done`.
     * @param {FinalAction} action
     */
    hold(action) {
      held = action;
      stopped = true;
      clock.cancel(timer);
      keepTimer ??= clock.later(keepNow, KEEP_MS);
    },

    /** The last draft number known to be stored. */
    get base() {
      return base;
    },

    get isSettled() {
      return !dirty && !flying;
    },

    get isKept() {
      return isKept;
    },

    /** Whether closing the tab would lose answers: neither the server nor this computer has them. */
    wouldLose() {
      if (keepTimer !== undefined || !isKept) keepNow(); // a copy that another page dealt with meanwhile stays away
      return !isKept && (dirty || flying !== null || held !== undefined);
    },

    /** The connection is back: sends without waiting for the backoff. */
    hurry() {
      if (dirty && !flying) send();
    },

    /** The tab is closing: sends unsent data even if a request is running, and stores a copy on this computer. */
    leave() {
      keepNow();
      if (dirty) send({ keepalive: true });
    },

    /** Continues after the numbers that an earlier visit used for an unsent draft. @param {number} used */
    continueFrom(used) {
      seq = Math.max(seq, used);
      changed();
    },

    /** Continues after another tab held the pen; the next draft takes it over. @param {number} stored */
    takeOver(stored) {
      base = stored;
      seq = Math.max(seq, stored);
      take = true;
      resume();
      dirty = true;
      send();
    },

    /** The server refused this draft and would refuse it again: the next one is sent after the next change. */
    awaitChange() {
      stopped = false;
    },

    /** The server may no longer have the acknowledged draft: the next `resume` sends it again. */
    markUnsent() {
      dirty = true;
    },

    /** A receipt confirms that everything is stored: stops, and ignores a running request. */
    done() {
      dirty = false;
      held = undefined;
      flying?.abort.abort();
      flying = null;
      stopped = true;
      clock.cancel(timer);
      cancelKeeping();
      keep(null);
      wake(true);
    },

    /**
     * Resolves to true when everything is stored, to false after `ms` or a refusal.
     * @param {number} ms @returns {Promise<boolean>}
     */
    settled(ms) {
      if (!dirty && !flying && !held) return Promise.resolve(true);
      if (stopped && !held) return Promise.resolve(false);
      send();
      return new Promise((resolve) => {
        waiters.push(resolve);
        clock.later(() => resolve(false), ms);
      });
    },
  };
}

/**
 * How to treat a draft found on this computer.
 * @param {{ base: number } | null} entry @param {number} storedSeq @param {boolean} same
 * @returns {"none" | "adopt" | "same" | "choose"}
 */
export function judgeLocal(entry, storedSeq, same) {
  if (!entry) return "none";
  if (same) return "same";
  return entry.base === storedSeq ? "adopt" : "choose";
}

// Sends drafts of one assignment: one request at a time, paced, repeated until acknowledged. No DOM.

const QUIET = 400; // ms after the last change
const PACE = 1000; // at most one draft per second while changes go on
const PATIENCE = 3000; // then the header says that nothing is saved yet
const KEEPALIVE_LIMIT = 60_000; // browsers refuse larger keepalive bodies (64 KiB)
const BACKOFF = [500, 1000, 2000, 4000, 8000, 15_000];

/**
 * @param body     () => the request's fields besides seq, base and take
 * @param post     (body, {keepalive, signal}) => Promise<{status, answer}>; rejects when the network does
 * @param keep     (entry | null) => void: remember the unacknowledged draft on this computer, or forget it
 * @param onState  ("saved" | "saving" | "waiting") => void
 * @param onRefused (status, answer) => void
 * @param clock    {now(), later(fn, ms) → handle, cancel(handle)}
 */
export class DraftSender {
  constructor({ body, post, keep, onState, onRefused, clock, seq = 0 }) {
    Object.assign(this, { body, post, keep, onState, onRefused, clock });
    this.seq = seq; // the last number used
    this.base = seq; // the last number known to be stored
    this.take = false;
    this.dirty = false;
    this.stopped = false;
    this.flying = null;
    this.attempt = 0;
    this.firstChange = null;
    this.lastSent = -Infinity;
    this.waiters = [];
  }

  /** Something changed: remember it here, send it soon. */
  changed() {
    const now = this.clock.now();
    this.dirty = true;
    this.firstChange ??= now;
    this.#keepSoon();
    if (this.stopped) return;
    this.#setState(this.state === "waiting" ? "waiting" : "saving");
    const due = Math.max(Math.min(now + QUIET, this.firstChange + PACE), this.lastSent + PACE);
    if (!this.flying && !this.retrying) this.#plan(due - now);
  }

  #keepSoon() {
    // Serialising a long draft is kept out of the frame that paints the click.
    this.keepTimer ??= this.clock.later(() => this.keepNow(), 60);
  }

  keepNow() {
    this.clock.cancel(this.keepTimer);
    this.keepTimer = undefined;
    // The next number may be on its way when the page goes, so it counts as used.
    if (this.dirty) this.keep({ base: this.base, seq: this.seq + 1, draft: this.body().draft });
  }

  #setState(state) {
    if (this.state === state) return;
    this.state = state;
    this.onState(state);
  }

  #plan(ms) {
    this.clock.cancel(this.timer);
    this.timer = this.clock.later(() => this.send(), Math.max(0, ms));
  }

  /** Sends now, unless a request is under way; it then follows that one. */
  send({ keepalive = false } = {}) {
    this.clock.cancel(this.timer);
    this.timer = undefined;
    if (this.stopped || !this.dirty) return;
    if (this.flying && !keepalive) return;
    this.seq += 1;
    const fields = { ...this.body(), seq: this.seq, base: this.base, take: this.take };
    const text = JSON.stringify(fields);
    if (keepalive && text.length * 3 > KEEPALIVE_LIMIT && new TextEncoder().encode(text).length > KEEPALIVE_LIMIT) {
      if (!this.flying) this.#plan(0);
      return;
    }
    this.dirty = false;
    this.retrying = false;
    this.firstChange = null;
    this.lastSent = this.clock.now();
    this.#fly(text, fields, keepalive);
  }

  async #fly(text, fields, keepalive) {
    const abort = new AbortController();
    const flight = { seq: fields.seq, abort };
    this.flying = flight;
    const limit = PATIENCE * 2 ** Math.min(this.attempt, 3);
    const late = this.clock.later(() => this.#setState("waiting"), PATIENCE);
    const dead = this.clock.later(() => abort.abort(), limit);
    let result = null;
    try {
      result = await this.post(text, { keepalive, signal: abort.signal });
    } catch {
      result = null;
    }
    this.clock.cancel(late);
    this.clock.cancel(dead);
    if (this.flying !== flight) return this.#overtaken(result, flight);
    this.flying = null;
    if (result === null || result.status >= 500 || [404, 408, 425, 429].includes(result.status)) return this.#again();
    if (result.status === 200) return this.#stored(result.answer?.stored ?? flight.seq);
    return this.#refuse(result);
  }

  /** An answer that a later (keepalive) request has overtaken. */
  #overtaken(result, flight) {
    if (result?.status === 200) this.base = Math.max(this.base, result.answer?.stored ?? flight.seq);
  }

  #stored(number) {
    this.base = Math.max(this.base, number);
    this.take = false;
    this.attempt = 0;
    if (this.dirty) {
      this.#setState("saving");
      this.#plan(Math.max(QUIET / 2, this.lastSent + PACE - this.clock.now()));
      return;
    }
    this.clock.cancel(this.keepTimer);
    this.keepTimer = undefined;
    this.keep(null);
    this.#setState("saved");
    this.#wake(true);
  }

  #again() {
    this.dirty = true;
    this.retrying = true;
    this.keepNow();
    if (this.attempt > 0 || this.state === "waiting") this.#setState("waiting");
    const wait = BACKOFF[Math.min(this.attempt, BACKOFF.length - 1)];
    this.attempt += 1;
    // One lost request may be chance; from the second on the annotator is told.
    if (this.attempt > 1) this.#setState("waiting");
    if (!this.stopped) this.#plan(wait);
  }

  #refuse({ status, answer }) {
    this.dirty = true;
    this.keepNow();
    this.stopped = true;
    this.#setState("waiting");
    this.#wake(false);
    this.onRefused(status, answer ?? {});
  }

  /** The network is back: do not wait for the backoff. */
  hurry() {
    if (this.dirty && !this.flying) this.send();
  }

  /** The tab is going: send what is unsent even if a request is under way, and keep a copy here. */
  leave() {
    this.keepNow();
    if (this.dirty) this.send({ keepalive: true });
  }

  /** Writes on after another tab had the pen; the next draft takes it. */
  takeOver(number) {
    this.base = number;
    this.seq = Math.max(this.seq, number);
    this.take = true;
    this.resume();
    this.dirty = true;
    this.send();
  }

  /** The draft itself was refused: the same one would be again, so the next change is waited for. */
  awaitChange() {
    this.stopped = false;
  }

  stop() {
    this.stopped = true;
    this.clock.cancel(this.timer);
    this.keepNow();
  }

  resume() {
    this.stopped = false;
    if (this.dirty && !this.flying) this.#plan(QUIET);
  }

  /** Everything acknowledged elsewhere (a receipt came): nothing is left to keep, whatever a request under way says. */
  done() {
    this.dirty = false;
    this.flying?.abort.abort();
    this.flying = null;
    this.stop();
    this.clock.cancel(this.keepTimer);
    this.keep(null);
    this.#wake(true);
  }

  #wake(saved) {
    for (const { resolve, timer } of this.waiters.splice(0)) {
      this.clock.cancel(timer);
      resolve(saved);
    }
  }

  get isSettled() {
    return !this.dirty && !this.flying;
  }

  /** Resolves to true once all is stored, to false after `ms` or a refusal. */
  settled(ms) {
    if (this.isSettled) return Promise.resolve(true);
    if (this.stopped) return Promise.resolve(false);
    this.send();
    return new Promise((resolve) => {
      const waiter = { resolve };
      waiter.timer = this.clock.later(() => {
        this.waiters = this.waiters.filter((other) => other !== waiter);
        resolve(false);
      }, ms);
      this.waiters.push(waiter);
    });
  }
}

/** What to do with a draft found on this computer: "none", "adopt", "same" or "choose". */
export function judgeLocal(entry, storedSeq, same) {
  if (!entry) return "none";
  if (same) return "same";
  return entry.base === storedSeq ? "adopt" : "choose";
}

// Time spent on an item, the pause reminder, and when to renew a reservation. No DOM; the clock is given.

const IDLE = 120_000;
const PAUSE_AFTER = 45 * 60_000;
const BREAK = 5 * 60_000;
const RENEW_EVERY = 5 * 60_000;

export class Activity {
  /** @param now monotonic milliseconds (performance.now) */
  constructor(now) {
    this.now = now;
    this.item = 0;
    this.sinceBreak = 0;
    this.last = now();
    this.hidden = false;
    this.renewed = now();
  }

  /** Scroll, pointer or key: counts the time since the last sign of life, if that was not long ago. */
  mark() {
    const now = this.now();
    this.#add(now);
    if (now - this.last >= BREAK) this.sinceBreak = 0;
    this.last = now;
  }

  #add(now) {
    const gap = now - this.last;
    if (this.hidden || gap > IDLE) return;
    this.item += gap;
    this.sinceBreak += gap;
  }

  hide() {
    this.#add(this.now());
    this.last = this.now();
    this.hidden = true;
  }

  show() {
    if (this.now() - this.last >= BREAK) this.sinceBreak = 0;
    this.hidden = false;
    this.last = this.now();
  }

  /** Another item lies here, on which she has spent so many seconds before. */
  nextItem(seconds = 0) {
    this.mark();
    this.item = 1000 * seconds;
    this.renewed = this.now();
  }

  /** Seconds of activity on this item, to a tenth. */
  seconds() {
    const gap = this.now() - this.last;
    const open = this.hidden || gap > IDLE ? 0 : gap;
    return Math.round((this.item + open) / 100) / 10;
  }

  /** Whether a pause is due; asks again only after another such stretch. */
  pauseDue() {
    if (this.sinceBreak < PAUSE_AFTER) return false;
    this.sinceBreak = 0;
    return true;
  }

  renewDue() {
    if (this.hidden || this.now() - this.renewed < RENEW_EVERY) return false;
    this.renewed = this.now();
    return true;
  }
}

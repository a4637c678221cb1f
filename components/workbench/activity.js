// Time spent on an item, when to suggest a break, and when to renew a reservation. No DOM; the clock is a parameter.

const IDLE_MS = 120_000;
const PAUSE_AFTER_MS = 45 * 60_000;
const BREAK_MS = 5 * 60_000;
const RENEW_EVERY_MS = 5 * 60_000;

/** @param {() => number} now monotonic milliseconds (performance.now) */
export function createActivity(now) {
  let onItem = 0;
  let sinceBreak = 0;
  let last = now();
  let hidden = false;
  let renewed = now();

  /** The time since the last activity if it counts as working time, otherwise 0. */
  function worked() {
    const gap = now() - last;
    return hidden || gap > IDLE_MS ? 0 : gap;
  }

  /** Called on scroll, pointer or key: adds the time since the last activity, unless that was long ago. */
  function mark() {
    onItem += worked();
    sinceBreak = now() - last >= BREAK_MS ? 0 : sinceBreak + worked();
    last = now();
  }

  /** @param {boolean} next */
  function setHidden(next) {
    mark();
    hidden = next;
  }

  return {
    mark,
    setHidden,

    /** Starts another item, with the seconds already spent on it. */
    nextItem(seconds = 0) {
      mark();
      onItem = 1000 * seconds;
      renewed = now();
    },

    /** Seconds of activity on this item, rounded to a tenth. */
    seconds: () => Math.round((onItem + worked()) / 100) / 10,

    /** Whether to suggest a break; true again only after another such period. */
    pauseDue() {
      if (sinceBreak < PAUSE_AFTER_MS) return false;
      sinceBreak = 0;
      return true;
    },

    renewDue() {
      if (hidden || now() - renewed < RENEW_EVERY_MS) return false;
      renewed = now();
      return true;
    },
  };
}

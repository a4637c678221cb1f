// What this tab and this computer store: the pen, preferences, and one unacknowledged draft per assignment.

/** @import { LocalDraft } from "./types.js" */

const PREFIX = "triptych:";
const PEN = "triptych-pen";
const PEN_OF_DOCUMENT = Symbol.for("triptych.pen");
const WEEK_MS = 7 * 24 * 3600 * 1000;

/** 128 random bits as hex. crypto.randomUUID is not available over plain http on a local network. */
export const randomId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/**
 * The result of `act`, or `fallback` if storage is full or forbidden.
 * @template Result
 * @param {() => Result} act @param {Result} fallback
 */
export function orElse(act, fallback) {
  try {
    return act();
  } catch {
    return fallback;
  }
}

/**
 * This tab's pen. A reload keeps it; a new tab, or a duplicated one, which copies sessionStorage, gets its own.
 * @param {{ [PEN_OF_DOCUMENT]?: string }} document stores the pen if storage is forbidden
 * @param {() => Pick<Storage, "getItem" | "setItem">} session may throw
 * @param {string} navigationType
 * @returns {string}
 */
export function penOf(document, session, navigationType) {
  const stored = navigationType === "reload" ? orElse(() => session().getItem(PEN), null) : null;
  const pen = document[PEN_OF_DOCUMENT] ?? stored ?? randomId();
  orElse(() => session().setItem(PEN, pen), undefined);
  document[PEN_OF_DOCUMENT] = pen;
  return pen;
}

/** The person in a store key "<person>.<assignment>", both opaque. @param {string} storeKey */
export const personOf = (storeKey) => storeKey.split(/[.:]/, 1)[0];

/** @param {string} storeKey @param {string} pen */
export const localKey = (storeKey, pen) => `${PREFIX}${storeKey}:${pen}`;

/**
 * Unacknowledged drafts in a Storage. No function fails if storage is full or forbidden.
 * @param {() => Pick<Storage, "length" | "key" | "getItem" | "setItem" | "removeItem">} storage may throw
 */
export function createLocalDrafts(storage, now = () => Date.now()) {
  const keys = () => orElse(() => Array.from({ length: storage().length }, (_, i) => storage().key(i) ?? ""), [])
    .filter((key) => key.startsWith(PREFIX));

  /**
   * The entry, or an empty list if it is unreadable.
   * @param {string} key
   * @returns {(LocalDraft & { key: string })[]}
   */
  function read(key) {
    const entry = orElse(() => JSON.parse(storage().getItem(key) ?? "null"), null);
    return entry && typeof entry.time === "number" && entry.draft ? [{ ...entry, key }] : [];
  }

  /** @param {string} key */
  const remove = (key) => orElse(() => storage().removeItem(key), undefined);

  return {
    remove,

    /** Stores one draft; returns whether that worked. @param {string} key @param {Omit<LocalDraft, "time">} entry */
    write: (key, entry) => orElse(() => {
      storage().setItem(key, JSON.stringify({ time: now(), ...entry }));
      return true;
    }, false),

    /**
     * Removes entries of people other than this one that are unreadable or older than seven days.
     * This one's may only seem old, on a computer whose clock was wrong.
     * @param {string} person
     */
    sweep(person) {
      for (const key of keys().filter((each) => personOf(each.slice(PREFIX.length)) !== person)) {
        if (!read(key).some(({ time }) => now() - time <= WEEK_MS)) remove(key);
      }
    },

    /**
     * The newest entry of this person and assignment, with its key; null if there is none. Ignores other people's.
     * @param {string} storeKey
     */
    find(storeKey) {
      const entries = keys().filter((key) => key.startsWith(localKey(storeKey, ""))).flatMap(read);
      return entries.sort((a, b) => b.time - a.time)[0] ?? null;
    },

    /** One person's entries, among them those with an unanswered final action. @param {string} person */
    heldBy: (person) => keys().filter((key) => personOf(key.slice(PREFIX.length)) === person).flatMap(read)
      .flatMap(({ action, ...entry }) => (action ? [{ ...entry, action }] : [])),

    /** Stores an entry under another key. @param {LocalDraft & { key: string }} entry @param {string} to */
    move({ key, ...entry }, to) {
      if (key !== to && this.write(to, entry)) remove(key);
    },

    /**
     * Removes one person's data, written by any tab, from this computer; other people's data is kept.
     * @param {string} person
     */
    forgetPerson(person) {
      for (const key of keys()) if (personOf(key.slice(PREFIX.length)) === person) remove(key);
    },
  };
}

/** Preferences on this computer (text size, keys on or off); no answers, no names. */
export const preferences = {
  /** @param {string} name @param {string} fallback */
  get: (name, fallback) => orElse(() => localStorage.getItem(`triptych-${name}`), null) ?? fallback,

  /** @param {string} name @param {string} value */
  set: (name, value) => orElse(() => localStorage.setItem(`triptych-${name}`, value), undefined),
};
/** @typedef {typeof preferences} Preferences */

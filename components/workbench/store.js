// What this tab and this computer remember: the pen, preferences, one unacknowledged draft per assignment.

/** @import { LocalDraft } from "./types.js" */

const PREFIX = "triptych:";
const PEN = "triptych-pen";
const PEN_OF_DOCUMENT = Symbol.for("triptych.pen");
const WEEK_MS = 7 * 24 * 3600 * 1000;

/** 128 random bits as hex. Plain http on a LAN has no crypto.randomUUID, so it is not used. */
const randomId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** A random UUID (version 4). */
export function uuid() {
  const hex = randomId();
  const variant = ((parseInt(hex[16], 16) & 3) | 8).toString(16);
  const tail = `${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${tail}`;
}

/**
 * This tab's pen. A reload keeps it; a new or duplicated tab (which copies sessionStorage) gets its own.
 * @param {{ [PEN_OF_DOCUMENT]?: string }} document
 * @param {Pick<Storage, "getItem" | "setItem">} session
 * @param {string} navigationType
 * @returns {string}
 */
export function penOf(document, session, navigationType) {
  let pen = document[PEN_OF_DOCUMENT];
  if (pen) return pen;
  try {
    pen = (navigationType === "reload" && session.getItem(PEN)) || randomId();
    session.setItem(PEN, pen);
  } catch {
    pen ??= randomId(); // storage can be forbidden; the pen then lives as long as the document
  }
  document[PEN_OF_DOCUMENT] = pen;
  return pen;
}

/** Forgets this tab's pen. */
export function dropPen() {
  try {
    sessionStorage.removeItem(PEN);
  } catch {
    // nothing is stored where storage is forbidden
  }
}

/** Whose a store key is: "<person>.<assignment>", both opaque. @param {string} storeKey */
export const personOf = (storeKey) => storeKey.split(/[.:]/, 1)[0];

/** @param {string} storeKey @param {string} pen */
export const localKey = (storeKey, pen) => `${PREFIX}${storeKey}:${pen}`;

/**
 * Unacknowledged drafts in a Storage. Every function survives a storage that is full or forbidden.
 * @param {Pick<Storage, "length" | "key" | "getItem" | "setItem" | "removeItem">} storage
 */
export function createLocalDrafts(storage, now = () => Date.now()) {
  function keys() {
    try {
      const names = Array.from({ length: storage.length }, (_, i) => storage.key(i) ?? "");
      return names.filter((name) => name.startsWith(PREFIX));
    } catch {
      return [];
    }
  }

  /** @param {string} key @returns {(LocalDraft & { key: string })[]} the entry, if it is readable */
  function read(key) {
    try {
      const entry = JSON.parse(storage.getItem(key) ?? "null");
      return entry && typeof entry.time === "number" && entry.draft ? [{ ...entry, key }] : [];
    } catch {
      return [];
    }
  }

  /** @param {string} key */
  function remove(key) {
    try {
      storage.removeItem(key);
    } catch {
      // nothing to remove where nothing can be stored
    }
  }

  return {
    remove,

    /** Stores one draft; returns whether it worked. @param {string} key @param {Omit<LocalDraft, "time">} entry */
    write(key, entry) {
      try {
        storage.setItem(key, JSON.stringify({ time: now(), ...entry }));
        return true;
      } catch {
        return false;
      }
    },

    /** Removes unreadable entries and those older than seven days, of all people. */
    sweep() {
      for (const key of keys()) {
        if (!read(key).some(({ time }) => now() - time <= WEEK_MS)) remove(key);
      }
    },

    /**
     * The newest entry of this person and assignment, with its key; null if none. Other people's are never read.
     * @param {string} storeKey
     */
    find(storeKey) {
      const entries = keys().filter((key) => key.startsWith(localKey(storeKey, ""))).flatMap(read);
      return entries.sort((a, b) => b.time - a.time)[0] ?? null;
    },

    /**
     * Removes what one person left on this computer, from whatever tab; other people's stays.
     * @param {string} person
     */
    forgetPerson(person) {
      for (const key of keys()) if (personOf(key.slice(PREFIX.length)) === person) remove(key);
    },
  };
}

/** Preferences of this computer (text size, keys on or off); no answers, no names. */
export const preferences = {
  /** @param {string} name @param {string} fallback */
  get(name, fallback) {
    try {
      return localStorage.getItem(`triptych-${name}`) ?? fallback;
    } catch {
      return fallback;
    }
  },
  /** @param {string} name @param {string} value */
  set(name, value) {
    try {
      localStorage.setItem(`triptych-${name}`, value);
    } catch {
      // the choice then lasts as long as the page
    }
  },
};
/** @typedef {typeof preferences} Preferences */

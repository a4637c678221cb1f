// What this tab and this computer remember: the pen, preferences, one unacknowledged draft per assignment.

const PREFIX = "triptych:";
const PEN = "triptych-pen";
const PEN_HERE = Symbol.for("triptych.pen");
const WEEK = 7 * 24 * 3600 * 1000;

/** 128 random bits as hex. Plain http on a LAN has no crypto.randomUUID, so it is not used. */
export function randomId(random = globalThis.crypto) {
  return Array.from(random.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A random UUID (version 4). */
export function uuid(random = globalThis.crypto) {
  const hex = randomId(random);
  const variant = ((parseInt(hex[16], 16) & 3) | 8).toString(16);
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, variant + hex.slice(17, 20), hex.slice(20)].join("-");
}

/**
 * This tab's pen. A reload keeps it; a new or duplicated tab (which copies sessionStorage) gets its own.
 */
export function penOf(doc, session, navigationType) {
  if (doc[PEN_HERE]) return doc[PEN_HERE];
  let pen = null;
  try {
    pen = navigationType === "reload" ? session.getItem(PEN) : null;
    pen ??= randomId();
    session.setItem(PEN, pen);
  } catch {
    pen ??= randomId(); // storage can be forbidden; the pen then lives as long as the document
  }
  doc[PEN_HERE] = pen;
  return pen;
}

/** Whose a store key is: "<person>.<assignment>", both opaque. */
export const personOf = (storeKey) => storeKey.split(/[.:]/, 1)[0];

/** Unacknowledged drafts in a Storage. Every method survives a storage that is full or forbidden. */
export class LocalDrafts {
  constructor(storage, now = () => Date.now()) {
    this.storage = storage;
    this.now = now;
  }

  #keys() {
    try {
      return Array.from({ length: this.storage.length }, (_, i) => this.storage.key(i)).filter((k) => k?.startsWith(PREFIX));
    } catch {
      return [];
    }
  }

  #read(key) {
    try {
      const entry = JSON.parse(this.storage.getItem(key));
      return entry && typeof entry.time === "number" && entry.draft ? entry : null;
    } catch {
      return null;
    }
  }

  remove(key) {
    try {
      this.storage.removeItem(key);
    } catch {
      // nothing to remove where nothing can be stored
    }
  }

  static key(storeKey, pen) {
    return `${PREFIX}${storeKey}:${pen}`;
  }

  /** Stores one draft; returns whether it worked. */
  write(key, entry) {
    try {
      this.storage.setItem(key, JSON.stringify({ time: this.now(), ...entry }));
      return true;
    } catch {
      return false;
    }
  }

  /** Removes entries older than seven days and unreadable ones, whoever's they are. */
  sweep() {
    for (const key of this.#keys()) {
      const entry = this.#read(key);
      if (!entry || this.now() - entry.time > WEEK) this.remove(key);
    }
  }

  /** The newest entry of this person and assignment, with its key; null if none. Other people's are never read. */
  find(storeKey) {
    const own = this.#keys().filter((key) => key.startsWith(`${PREFIX}${storeKey}:`));
    const entries = own.map((key) => ({ key, ...this.#read(key) })).filter((entry) => entry.draft);
    return entries.sort((a, b) => b.time - a.time)[0] ?? null;
  }

  /** Removes what one person left here, from whatever tab; other people's stays. */
  forgetPerson(person) {
    for (const key of this.#keys()) if (personOf(key.slice(PREFIX.length)) === person) this.remove(key);
  }
}

/** Preferences of this computer (text size, keys on or off); no answers, no names. */
export const preferences = {
  get(name, fallback) {
    try {
      return localStorage.getItem(`triptych-${name}`) ?? fallback;
    } catch {
      return fallback;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem(`triptych-${name}`, value);
    } catch {
      // the choice then lasts as long as the page
    }
  },
};

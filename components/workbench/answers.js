// One annotation in progress: the draft that is sent to the server, its changes, and undo. No DOM.

import { askFor, valueKey } from "./scale.js";

/** @import { Change, Criterion, Draft, Explanation, Highlight, Value } from "./types.js" */
/** @typedef {{ path: string[], before: unknown, after: unknown, name: string }} Step */

/** @type {Draft} */
const EMPTY = { ratings: {}, explanations: {}, highlights: [], set_aside: {}, note: "" };
const UNDO_LIMIT = 500;

/** The slot of a highlight that is in the item's context. */
export const CONTEXT = "context";

/** Maximum characters of an explanation or a comment, as on the server. */
export const MAX_TEXT = 10_000;

/**
 * A question's name on the page: "A:fluency", or "item:best" for a question about the item.
 * @param {string} slot @param {string} criterion
 */
export const questionId = (slot, criterion) => `${slot}:${criterion}`;

/** @param {unknown} a @param {unknown} b */
const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isBranch = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/**
 * The draft without empty branches and with sorted keys, for comparing two drafts.
 * @param {Partial<Draft>} draft
 */
export function canonical(draft) {
  /** @type {(value: unknown) => unknown} */
  const tidy = (value) => {
    if (!isBranch(value)) return value;
    const entries = Object.keys(value).sort().map((key) => [key, tidy(value[key])]);
    return Object.fromEntries(entries.filter(([, branch]) => !isBranch(branch) || Object.keys(branch).length));
  };
  return JSON.stringify(tidy({ ...EMPTY, ...draft }));
}

/** @param {Pick<Highlight, "slot" | "turn">} highlight @param {string} slot @param {number | null} turn */
const isIn = (highlight, slot, turn) => highlight.slot === slot && (highlight.turn ?? null) === turn;

/** @typedef {ReturnType<typeof createAnswers>} Answers */

/**
 * @param {Partial<Draft> | null} stored
 * @param {(change: Change) => void} onChange called after every change
 */
export function createAnswers(stored, onChange = () => {}) {
  const draft = structuredClone({ ...EMPTY, ...stored });
  /** @type {Step[]} */
  let past = [];
  /** @type {Step[]} */
  let future = [];
  let locked = false;

  /** @param {string[]} path @returns {any} */
  const at = (path) => path.reduce((/** @type {any} */ node, key) => node?.[key], draft);

  /** @param {string[]} path @param {unknown} value */
  function write(path, value) {
    const key = path[path.length - 1];
    /** @type {any} */
    let node = draft;
    for (const parent of path.slice(0, -1)) node = node[parent] ??= {};
    if (value === undefined) delete node[key];
    else node[key] = value;
  }

  /**
   * Changes the value at a path; returns whether it differed. `name` describes the change for undo; without it there is
   * none.
   * @param {string[]} path @param {unknown} value
   */
  function put(path, value, name = "") {
    const before = at(path);
    if (locked || isSame(before, value)) return false;
    write(path, value);
    if (name) {
      past = [...past, { path, before, after: value, name }].slice(-UNDO_LIMIT);
      future = [];
    }
    onChange({ path, undone: false });
    return true;
  }

  /** @param {Step[]} from @param {Step[]} to @param {"before" | "after"} side */
  function step(from, to, side) {
    const change = from.pop();
    if (!change) return null;
    write(change.path, change[side]);
    to.push(change);
    onChange({ path: change.path, undone: true });
    return change;
  }

  /** @param {string} slot @param {string} criterion @returns {Value} */
  const rating = (slot, criterion) => draft.ratings[slot]?.[criterion];

  return {
    draft,
    put,
    rating,

    get isChanged() {
      return past.length > 0;
    },

    /** While answers are being submitted, nothing may change them. @param {boolean} lock */
    lock(lock) {
      locked = lock;
    },

    /** Undoes the last change and returns it; null if there is none. */
    undo: () => step(past, future, "before"),
    redo: () => step(future, past, "after"),

    /** @param {string} slot @param {string} criterion @param {Value} value @param {string} name */
    rate: (slot, criterion, value, name) => put(["ratings", slot, criterion], value, name),

    /**
     * Reasons and text for one option; each option has its own explanation.
     * @param {string} slot @param {string} criterion @param {Value} value @returns {Explanation}
     */
    explanation: (slot, criterion, value) =>
      ({ reasons: [], text: "", ...draft.explanations[slot]?.[criterion]?.[valueKey(value)] }),

    /**
     * @param {string} slot @param {string} criterion @param {Value} value @param {string[]} reasons
     * @param {string} name
     */
    setReasons: (slot, criterion, value, reasons, name) =>
      put(["explanations", slot, criterion, valueKey(value), "reasons"], reasons, name),

    /**
     * Our undo ignores typed text: the text box undoes it itself.
     * @param {string} slot @param {string} criterion @param {Value} value @param {string} text
     */
    setText: (slot, criterion, value, text) => put(["explanations", slot, criterion, valueKey(value), "text"], text),

    /** @param {string} slot */
    isSetAside: (slot) => draft.set_aside[slot] !== undefined,

    /** @param {string} slot @param {number | null} turn */
    highlightsOf: (slot, turn) => draft.highlights.filter((highlight) => isIn(highlight, slot, turn)),

    /** @param {Omit<Highlight, "comment">} span @param {string} name */
    addHighlight(span, name) {
      const exists = draft.highlights.some((highlight) => isIn(highlight, span.slot, span.turn)
        && highlight.start === span.start && highlight.end === span.end && highlight.label === span.label);
      return !exists && put(["highlights"], [...draft.highlights, { ...span, comment: "" }], name);
    },

    /** @param {Highlight} old @param {Highlight | null} changed null removes it @param {string} name */
    replaceHighlight(old, changed, name) {
      const next = draft.highlights.map((highlight) => (highlight === old ? changed : highlight));
      return put(["highlights"], next.filter(Boolean), name);
    },

    /** The draft as it is sent, without empty explanations. */
    snapshot() {
      const copy = structuredClone(draft);
      for (const criteria of Object.values(copy.explanations)) {
        for (const [criterion, values] of Object.entries(criteria)) {
          const entries = Object.entries(values).filter(([, { reasons, text }]) => reasons?.length || text);
          criteria[criterion] = Object.fromEntries(entries.map(([key, own]) => [key, { reasons: [], text: "", ...own }]));
        }
      }
      return copy;
    },

    /**
     * What the current answer asks for besides its value, or null. @param {string} slot @param {Criterion} criterion
     */
    asked(slot, { key, scale }) {
      const value = rating(slot, key);
      return value === undefined ? null : askFor(scale, value);
    },
  };
}

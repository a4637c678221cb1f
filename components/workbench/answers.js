// One annotation in the making: the draft of the contract, its changes and their undo. No DOM.

import { askFor, valueKey } from "./scale.js";

const EMPTY = { ratings: {}, explanations: {}, highlights: [], set_aside: {}, note: "" };
const UNDO_LIMIT = 500;

/** Characters of an explanation or a comment that the server takes. */
export const LONGEST_TEXT = 10_000;

/** A question's name on the page: "A:fluency", or "item:best" for a question about the item. */
export const questionId = (slot, criterion) => `${slot}:${criterion}`;

export function splitQuestion(id) {
  const at = id.indexOf(":");
  return [id.slice(0, at), id.slice(at + 1)];
}

export const sameValue = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** The same draft with empty branches and key order evened out, for comparing two of them. */
export function canonical(draft) {
  const tidy = (value) => {
    if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
    const entries = Object.keys(value).sort().map((key) => [key, tidy(value[key])]);
    const kept = entries.filter(([, v]) => !(v && typeof v === "object" && !Array.isArray(v) && !Object.keys(v).length));
    return Object.fromEntries(kept);
  };
  return JSON.stringify(tidy({ ...EMPTY, ...draft }));
}

export class Answers {
  /** @param onChange called with {path, undone} after every change */
  constructor(draft, onChange = () => {}) {
    this.draft = structuredClone({ ...EMPTY, ...draft });
    this.onChange = onChange;
    this.past = [];
    this.future = [];
    this.locked = false; // while they are on their way to the server
  }

  at(path) {
    return path.reduce((node, key) => node?.[key], this.draft);
  }

  #write(path, value) {
    const parents = path.slice(0, -1);
    let node = this.draft;
    for (const key of parents) node = node[key] ??= {};
    if (value === undefined) delete node[path.at(-1)];
    else node[path.at(-1)] = value;
  }

  /** Change one place. `name` says in words what changed; without it the change takes no part in undo. */
  put(path, value, name = "") {
    const before = this.at(path);
    if (this.locked || sameValue(before, value)) return false;
    this.#write(path, value);
    if (name) {
      this.past.push({ path, before, after: value, name });
      if (this.past.length > UNDO_LIMIT) this.past.shift();
      this.future = [];
    }
    this.onChange({ path, undone: false });
    return true;
  }

  #step(from, to, side) {
    const change = from.pop();
    if (!change) return null;
    this.#write(change.path, change[side]);
    to.push(change);
    this.onChange({ path: change.path, undone: true });
    return change;
  }

  /** Takes the last change back; returns it, or null where there is none. */
  undo() {
    return this.#step(this.past, this.future, "before");
  }

  redo() {
    return this.#step(this.future, this.past, "after");
  }

  rating(slot, criterion) {
    return this.draft.ratings[slot]?.[criterion];
  }

  rate(slot, criterion, value, name) {
    return this.put(["ratings", slot, criterion], value, name);
  }

  /** Reasons and text given for one option; each option keeps its own. */
  explanation(slot, criterion, value) {
    return { reasons: [], text: "", ...this.draft.explanations[slot]?.[criterion]?.[valueKey(value)] };
  }

  setReasons(slot, criterion, value, reasons, name) {
    return this.put(["explanations", slot, criterion, valueKey(value), "reasons"], reasons, name);
  }

  /** Typed text undoes by itself in its box, so it stays out of our undo. */
  setText(slot, criterion, value, text) {
    return this.put(["explanations", slot, criterion, valueKey(value), "text"], text);
  }

  isSetAside(slot) {
    return this.draft.set_aside[slot] !== undefined;
  }

  highlightsOf(slot, turn) {
    return this.draft.highlights.filter((h) => h.slot === slot && (h.turn ?? null) === turn);
  }

  addHighlight(highlight, name) {
    const known = this.draft.highlights.some((h) =>
      ["slot", "start", "end", "label"].every((key) => h[key] === highlight[key]) && (h.turn ?? null) === highlight.turn);
    return !known && this.put(["highlights"], [...this.draft.highlights, { comment: "", ...highlight }], name);
  }

  replaceHighlight(old, changed, name) {
    const next = this.draft.highlights.flatMap((h) => (h === old ? (changed ? [changed] : []) : [h]));
    return this.put(["highlights"], next, name);
  }

  /** The draft as it is sent: explanation skeletons without content stay behind. */
  snapshot() {
    const draft = structuredClone(this.draft);
    for (const slots of Object.values(draft.explanations)) {
      for (const [criterion, values] of Object.entries(slots)) {
        const given = Object.entries(values).map(([key, e]) => [key, { reasons: e.reasons ?? [], text: e.text ?? "" }]);
        slots[criterion] = Object.fromEntries(given.filter(([, e]) => e.reasons.length || e.text));
      }
    }
    return draft;
  }

  /** What the current answer asks for, or null. */
  asked(slot, criterion) {
    const value = this.rating(slot, criterion.key);
    return value === undefined ? null : askFor(criterion.scale, value);
  }
}

// Undo and redo of a rubric's text, and short names for its parts. Pure: no page, no network.

const MAX_STEPS = 40;

/** @typedef {ReturnType<typeof createHistory>} History */

/**
 * @param {string[]} texts oldest first
 * @param {number} at index of the text that is shown
 */
export function createHistory(texts, at = texts.length - 1) {
  return {
    /** Adds a text after the current one; undone texts are discarded. @param {string} text */
    push(text) {
      if (texts[at] === text) return;
      texts = [...texts.slice(0, at + 1), text].slice(-MAX_STEPS);
      at = texts.length - 1;
    },
    undo: () => (at > 0 ? texts[(at -= 1)] : undefined),
    redo: () => (at < texts.length - 1 ? texts[(at += 1)] : undefined),
    canUndo: () => at > 0,
    canRedo: () => at < texts.length - 1,
    stored: () => ({ texts, at }),
  };
}

/**
 * A short name made from a title, which no other part has: "Next step" → next_step.
 * @param {string} title
 * @param {string[]} taken
 */
export function shortName(title, taken) {
  const withoutAccents = title.normalize("NFKD").replace(/\p{M}/gu, "").replace(/ß/g, "ss");
  const plain = withoutAccents.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^[_0-9]+|_+$/g, "");
  const base = plain.slice(0, 36) || "part";
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? base : `${base}_${number}`;
    if (!taken.includes(name)) return name;
  }
}

// The rubric as text, with line numbers; lines with mistakes are marked.

import { h } from "../workbench/dom.js";

/** @param {{ changed: (text: string) => void, locked: boolean }} needs */
export function createYaml({ changed, locked }) {
  const lines = h("div", { class: "rb-lines", "aria-hidden": "true" });
  const box = h("textarea", { class: "rb-source", spellcheck: "false", "aria-label": "The rubric as YAML", wrap: "off", readonly: locked });
  const note = "Form and YAML are the same rubric. What you type is saved when the text has no mistake; until then form and preview keep the last one.";
  const root = h("div", {}, h("div", { class: "rb-yaml" }, lines, box), h("p", { class: "rb-hint", text: note }));
  /** @type {Set<number | null>} */
  let wrong = new Set();

  function redraw() {
    const count = box.value.split("\n").length;
    box.rows = Math.max(20, count + 1);
    lines.replaceChildren(...Array.from({ length: count }, (_, n) => h("span", { class: wrong.has(n + 1) ? "rb-bad" : "", text: String(n + 1) })));
  }

  box.addEventListener("input", () => {
    redraw();
    changed(box.value);
  });

  return {
    root,
    redraw,

    /** @param {string} text @param {{ line: number | null }[]} mistakes */
    show(text, mistakes) {
      wrong = new Set(mistakes.map(({ line }) => line));
      // while the user types, the server's text is out of date
      if (box.value !== text && document.activeElement !== box) box.value = text;
      redraw();
    },

    /** @param {number} line */
    goTo(line) {
      const start = box.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
      box.focus();
      box.setSelectionRange(start, box.value.indexOf("\n", start) < 0 ? box.value.length : box.value.indexOf("\n", start));
      lines.children[line - 1]?.scrollIntoView({ block: "center" });
    },

    /** The text with a misspelt word replaced. @param {{ line: number, cure: [string, string] }} mistake */
    cured({ line, cure: [wrongWord, rightWord] }) {
      const parts = box.value.split("\n");
      parts[line - 1] = parts[line - 1].replace(wrongWord, rightWord);
      box.value = parts.join("\n");
      return box.value;
    },
  };
}

// Highlights in responses and contexts: selections become labelled spans, spans become marks.

import { CONTEXT, MAX_TEXT } from "../answers.js";
import { all, button, find, h, paint, placeNear, words } from "../dom.js";
import { meaningOf, swatch } from "../guidelines.js";
import { _ } from "../language.js";
import { draw as drawText } from "./formatting.js";
import { offsetAt, placeAt, spanOf, tidy, wholeWords } from "./nodes.js";
import { toCodePoints, toUtf16, wordSegmenter } from "./textpoints.js";

/** @import { Item } from "../item.js" */
/** @import { Highlight, MarkUnit } from "../types.js" */
/** @import { Run } from "./nodes.js" */
/**
 * @typedef {{ slot: string, turn: number | null }} Place of a text that can be marked
 * @typedef {Place & { box: HTMLElement, start: number, end: number, unit: MarkUnit, rect: DOMRect }} Selected
 */

const MAX_UNDERLINES = 3;
const TO_BE_MARKED = "tw-to-mark"; // the style sheet's name for the words that a label would mark

/**
 * The box of a text that can be marked; the highlighter draws into it. It has a caret, so that keyboards can select
 * text.
 * @param {{ slot: string, turn: number | null, label: string, editable: boolean, language: string, look?: string }} place
 */
export function textBox({ slot, turn, label, editable, language, look = "tw-judged" }) {
  const editing = editable ? {
    contenteditable: "true", role: "textbox", "aria-multiline": "true", "aria-readonly": "true",
    inputmode: "none", spellcheck: "false", autocorrect: "off", autocapitalize: "off", "aria-label": label,
  } : {};
  const id = turn === null ? slot : `${slot}:${turn}`;
  return words("", { ...editing, class: look, lang: language || null, data: { "tw-text": id } });
}

/** @param {HTMLElement} box */
function placeOf(box) {
  const [slot, turn] = (box.dataset.twText ?? "").split(":");
  return { slot, turn: turn === undefined ? null : Number(turn) };
}

/** The box around a node; null outside every box. @param {Node | null | undefined} node */
function boxOf(node) {
  const element = node instanceof Element ? node : node?.parentElement;
  return /** @type {HTMLElement | null} */ (element?.closest("[data-tw-text]") ?? null);
}

/** @param {Pick<Highlight, "slot">} highlight */
const changeOf = ({ slot }) =>
  (slot === CONTEXT ? _("highlight in the context") : _("highlight in response {letter}", { letter: slot }));

/** @typedef {ReturnType<typeof createHighlighter>} Highlighter */

/** @param {{ root: HTMLElement, item: () => Item, announce: (text: string, visible?: boolean) => void, refocus: () => void }} needs */
export function createHighlighter({ root, item, announce, refocus }) {
  const float = h("div", { class: "tw-float", hidden: true, role: "group", "aria-label": _("Label the selection") });
  const popover = h("div", { class: "tw-popover", hidden: true, role: "dialog", "aria-label": _("Highlight") });
  /** The label for the next selection. @type {string | null} */
  let armed = null;
  /** The last selection, which a click may have cleared. @type {Selected | null} */
  let saved = null;
  /**
   * What a pointer selection is extended to: the study's default until the annotator changes it.
   * @type {MarkUnit | null}
   */
  let chosenUnit = null;
  /** Whether the selection was made by keys, which always mark letters. */
  let isByKeys = false;
  /** The runs drawn into each box. @type {WeakMap<HTMLElement, Run[]>} */
  const drawn = new WeakMap();

  const labels = () => item().view.rubric.highlights;

  /** @param {string} key */
  const titleOf = (key) => labels().find((label) => label.key === key)?.title ?? key;

  /** Whether a label may be used in a text. @param {string} key @param {string} slot */
  const isFor = (key, slot) => item().labelsIn(slot).some((label) => label.key === key);

  /** The text of a box, and its highlights with UTF-16 offsets. @param {HTMLElement} box */
  function contentOf(box) {
    const { slot, turn } = placeOf(box);
    const text = item().textOf(slot, turn);
    const spans = item().answers.highlightsOf(slot, turn).map((highlight) =>
      ({ highlight, start: toUtf16(text, highlight.start), end: toUtf16(text, highlight.end) }));
    return { slot, turn, text, spans };
  }

  /** @param {HTMLElement} box */
  const runsOf = (box) => drawn.get(box) ?? [];

  /** Draws a box again, with its marks. @param {HTMLElement} box */
  function draw(box) {
    const { slot, text, spans } = contentOf(box);
    const { context, responses } = item().view.study.formats;
    /** @param {number[]} indices */
    const mark = (indices) => markOf(indices.map((i) => spans[i].highlight));
    drawn.set(box, drawText(box, text, slot === CONTEXT ? context : responses, spans, mark));
  }

  /** @param {Highlight[]} highlights */
  function markOf(highlights) {
    const colours = highlights.map(({ label }) => `var(--label-${labels().findIndex(({ key }) => key === label)})`);
    const titles = highlights.map(({ label, comment }) => titleOf(label) + (comment ? `: ${comment}` : ""));
    const mark = h("mark", { class: "tw-hl", data: { n: highlights.length, "tw-tip": titles.join(" · ") } });
    for (const [i, colour] of colours.slice(0, 2).entries()) mark.style.setProperty(`--tw-mark-${i}`, colour);
    const lines = colours.slice(0, MAX_UNDERLINES).map((colour, i) => `inset 0 -${2 * i + 2}px 0 ${colour}`);
    mark.style.boxShadow = lines.join(", ");
    return mark;
  }

  function drawAll() {
    for (const box of all(root, "[data-tw-text]")) draw(box);
  }

  /** One button per label; `pressable` buttons show which label is chosen. */
  const chips = (pressable = true, shown = labels()) => shown.map((label) => h("button", {
    type: "button", class: "tw-chip", "aria-pressed": pressable ? "false" : null,
    data: { "tw-label": label.key, "tw-tip": meaningOf(label) || null },
  }, swatch(labels().indexOf(label) + 1), h("span", { dir: "auto", text: label.title })));

  const pointerUnit = () => chosenUnit ?? item().view.study.mark_unit;

  /** The labels, and the switch between words and letters. */
  function tools(pressable = true, shown = labels()) {
    const toggle = button(_("Words"), {
      class: "tw-button tw-small", "aria-pressed": String(pointerUnit() === "words"),
      data: { "tw-whole-words": "1", "tw-tip": _("A selection by mouse or touch grows to whole words; keys mark by letters") },
    });
    return [...chips(pressable, shown), toggle];
  }

  /** The current selection, as UTF-16 offsets, in a text that has labels. @returns {Selected | null} */
  function selection() {
    const live = document.getSelection();
    if (!live || live.rangeCount === 0 || live.isCollapsed) return null;
    const box = boxOf(live.anchorNode);
    if (!box || !root.contains(box)) return null;
    const range = live.getRangeAt(0);
    const { slot, turn, text } = contentOf(box);
    if (!item().labelsIn(slot).length) return null;
    const runs = runsOf(box);
    const span = spanOf(runs, range);
    const neat = span && tidy(text, runs, span);
    if (!neat) return null;
    const segmenter = isByKeys || pointerUnit() === "letters" ? null : wordSegmenter(box.lang);
    const marked = segmenter ? wholeWords(text, runs, neat, segmenter) : neat;
    return { box, slot, turn, ...marked, unit: segmenter ? "words" : "letters", rect: range.getBoundingClientRect() };
  }

  /** Shows the words that a label would mark. @param {Selected} selected */
  function preview({ box, start, end, unit }) {
    const [from, to] = [placeAt(runsOf(box), start + 1), placeAt(runsOf(box), end)];
    const range = document.createRange();
    if (unit === "letters" || !from || !to) return paint(TO_BE_MARKED, []);
    range.setStart(from.node, Math.max(0, from.offset - 1));
    range.setEnd(to.node, to.offset);
    paint(TO_BE_MARKED, [range]);
  }

  function forget() {
    saved = null;
    float.hidden = true;
    paint(TO_BE_MARKED, []);
  }

  /** @param {string} key */
  function apply(key) {
    const selected = selection() ?? saved;
    if (!selected) return;
    const { box, slot, turn, start, end, unit } = selected;
    if (!isFor(key, slot)) return announce(_("{label} is not for this text", { label: titleOf(key) }), true);
    const text = item().textOf(slot, turn);
    const span = { slot, turn, start: toCodePoints(text, start), end: toCodePoints(text, end), label: key, unit };
    document.getSelection()?.collapse(box, 0);
    forget();
    item().answers.addHighlight(span, changeOf(span));
    caretAt(box, end);
    announce(_("Marked as {label}", { label: titleOf(key) }));
  }

  /**
   * Places the caret after a new mark, so that keyboard users continue from there.
   * @param {HTMLElement} box @param {number} offset of the raw text
   */
  function caretAt(box, offset) {
    const place = document.activeElement === box ? placeAt(runsOf(box), offset) : null;
    if (place) document.getSelection()?.collapse(place.node, place.offset);
  }

  /** @param {string | null} key of the label for the next selection */
  function arm(key) {
    armed = key;
    for (const chip of all(root, ".tw-tools [data-tw-label]")) {
      chip.setAttribute("aria-pressed", String(chip.dataset.twLabel === armed));
    }
  }

  /** Highlights at an UTF-16 offset of a box's raw text. @param {HTMLElement} box @param {number} offset */
  function highlightsAt(box, offset) {
    const inside = contentOf(box).spans.filter(({ start, end }) => start <= offset && offset <= end);
    return inside.map(({ highlight }) => highlight);
  }

  function caret() {
    const live = document.getSelection();
    const box = boxOf(live?.anchorNode);
    return live?.anchorNode && box ? { box, offset: offsetAt(runsOf(box), live.anchorNode, live.anchorOffset) } : null;
  }

  /** Called when the selection has stopped changing. */
  function settle() {
    const selected = selection();
    if (!selected) return;
    saved = selected;
    if (armed && isFor(armed, selected.slot)) return apply(armed);
    hidePopover();
    float.replaceChildren(...tools(false, item().labelsIn(selected.slot)));
    float.hidden = false;
    placeNear(float, selected.rect);
    preview(selected);
  }

  /** @param {Highlight[]} highlights @param {DOMRect} rect */
  function openPopover(highlights, rect) {
    if (!highlights.length) return;
    forget();
    popover.replaceChildren(...highlights.map(cardOf));
    popover.hidden = false;
    placeNear(popover, rect);
  }

  /** A card to change a highlight's label and comment, or to remove it. @param {Highlight} highlight */
  function cardOf(highlight) {
    let current = highlight;
    /** @param {Partial<Highlight>} changed */
    const change = (changed) => {
      const next = { ...current, ...changed };
      item().answers.replaceHighlight(current, next, changeOf(highlight));
      current = next;
    };
    const choices = chips(true, item().labelsIn(highlight.slot));
    for (const chip of choices) {
      chip.setAttribute("aria-pressed", String(chip.dataset.twLabel === current.label));
      chip.addEventListener("click", (event) => {
        event.stopPropagation();
        change({ label: chip.dataset.twLabel });
        for (const other of choices) other.setAttribute("aria-pressed", String(other === chip));
      });
    }
    const comment = h("input", {
      type: "text", class: "tw-line", dir: "auto", maxlength: MAX_TEXT,
      placeholder: _("Comment (optional)"), "aria-label": _("Comment on this highlight"),
    });
    comment.value = current.comment ?? "";
    comment.addEventListener("change", () => change({ comment: comment.value }));
    const remove = button(_("Remove"), { class: "tw-button tw-quiet", data: { "tw-unmark": "1" } });
    remove.addEventListener("click", () => {
      item().answers.replaceHighlight(current, null, changeOf(highlight));
      hidePopover();
    });
    return h("div", { class: "tw-card" },
      h("div", { class: "tw-chips" }, choices), h("div", { class: "tw-card-row" }, comment, remove));
  }

  function hidePopover() {
    if (popover.hidden) return;
    const focused = /** @type {HTMLElement | null} */ (document.activeElement);
    const hadFocus = popover.contains(focused);
    if (hadFocus) focused?.blur(); // fires the change event of a comment
    popover.hidden = true;
    popover.replaceChildren();
    if (hadFocus) refocus();
  }

  return {
    float,
    popover,
    draw,
    drawAll,
    tools,
    selection,
    hidePopover,
    settle,

    /** Called when the selection changes. @param {boolean} byKeys */
    changed(byKeys) {
      isByKeys = byKeys;
      if (document.getSelection()?.isCollapsed) forget();
    },

    /** Switches between words and letters, for later pointer selections. */
    toggleWords() {
      chosenUnit = pointerUnit() === "words" ? "letters" : "words";
      for (const toggle of all(root, "[data-tw-whole-words]")) {
        toggle.setAttribute("aria-pressed", String(chosenUnit === "words"));
      }
      settle();
    },

    hideFloat() {
      float.hidden = true;
    },

    /** Closes floating elements; returns whether any was open. */
    close() {
      const wasOpen = !float.hidden || !popover.hidden;
      forget();
      hidePopover();
      return wasOpen;
    },

    /** Another item: clears the selection and the label for the next one. */
    reset() {
      forget();
      popover.hidden = true;
      popover.replaceChildren();
      arm(null);
    },

    /** Labels the selection; without one, sets or clears the label for the next selection. @param {string} key */
    choose(key) {
      if (selection() ?? saved) return apply(key);
      arm(armed === key ? null : key);
      announce(armed ? _("{label}: select text to mark it", { label: titleOf(key) }) : _("Marking is off"));
    },

    /** Clears the label for the next selection; returns whether there was one. */
    disarm() {
      if (!armed) return false;
      arm(null);
      announce(_("Marking is off"));
      return true;
    },

    removeAtCaret() {
      const place = caret();
      const highlight = place && highlightsAt(place.box, place.offset).at(-1);
      if (!highlight) return;
      item().answers.replaceHighlight(highlight, null, changeOf(highlight));
      caretAt(place.box, place.offset);
    },

    /** Opens the popover of a clicked mark. @param {HTMLElement} mark */
    openAtMark(mark) {
      const box = boxOf(mark);
      if (!box) return;
      const run = runsOf(box).find(({ node }) => mark.contains(node));
      if (run) openPopover(highlightsAt(box, run.start + 0.5), mark.getClientRects()[0] ?? mark.getBoundingClientRect());
    },

    /** Opens the popover of the highlights at the caret; returns whether there are any. */
    openAtCaret() {
      const place = caret();
      const highlights = place ? highlightsAt(place.box, place.offset) : [];
      const live = document.getSelection();
      if (!place || !live || !highlights.length) return false;
      const rect = live.getRangeAt(0).getBoundingClientRect();
      openPopover(highlights, rect.width || rect.height ? rect : place.box.getBoundingClientRect());
      find(popover, "button, input")?.focus();
      return true;
    },
  };
}

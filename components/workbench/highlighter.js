// Highlights in judged texts: selections become labelled spans, spans become marks.

import { LONGEST_TEXT } from "./answers.js";
import { button, h, placeNear, words } from "./dom.js";
import { pieces, snap, toCodePoints, toUtf16 } from "./textpoints.js";

const REACH = 1; // characters beside the caret that still count as on a highlight

/** The box of a judged text, which `Highlighter.draw` fills. It takes a caret so that keyboards can select in it. */
export function textBox({ slot, turn, label, editable, language }) {
  const id = turn === null ? slot : `${slot}:${turn}`;
  const props = editable ? {
    contenteditable: "true", role: "textbox", "aria-multiline": "true", "aria-readonly": "true",
    inputmode: "none", spellcheck: "false", autocorrect: "off", autocapitalize: "off", "aria-label": label,
  } : {};
  return words("", { ...props, class: "tw-judged", lang: language || null, data: { "tw-text": id } });
}

export class Highlighter {
  /** @param surface {root, answers, labels, language, announce(text), textOf(slot, turn)} */
  constructor(surface) {
    this.surface = surface;
    this.armed = null;
    this.saved = null;
    this.float = h("div", { class: "tw-float", hidden: true, role: "group", "aria-label": "Label the selection" });
    this.popover = h("div", { class: "tw-popover", hidden: true, role: "dialog", "aria-label": "Highlight" });
  }

  get labels() {
    return this.surface.labels;
  }

  boxOf(node) {
    const element = node?.nodeType === 1 ? node : node?.parentElement;
    return element?.closest("[data-tw-text]") ?? null;
  }

  placeOf(box) {
    const [slot, turn] = box.dataset.twText.split(":");
    return { slot, turn: turn === undefined ? null : Number(turn) };
  }

  /** Draws a box anew: its text cut into marks. */
  draw(box) {
    const { slot, turn } = this.placeOf(box);
    const text = this.surface.textOf(slot, turn);
    const found = this.surface.answers.highlightsOf(slot, turn);
    const spans = found.map((s) => ({ start: toUtf16(text, s.start), end: toUtf16(text, s.end) }));
    const parts = pieces(text.length, spans).map(({ start, end, spans: at }) => {
      const part = text.slice(start, end);
      return at.length ? this.#mark(part, at.map((n) => found[n])) : document.createTextNode(part);
    });
    box.replaceChildren(...parts);
  }

  #number(key) {
    return this.labels.findIndex((label) => label.key === key) + 1;
  }

  #mark(text, highlights) {
    const numbers = highlights.map((highlight) => this.#number(highlight.label));
    const titles = highlights.map(({ label, comment }) => this.titleOf(label) + (comment ? `: ${comment}` : ""));
    const mark = h("mark", { class: "tw-hl", text, data: { n: highlights.length, "tw-tip": titles.join(" · ") } });
    const ink = (n) => `var(--tw-hl-${n})`;
    mark.style.setProperty("--tw-wash", `color-mix(in srgb, ${ink(numbers[0])} var(--tw-wash-strength), transparent)`);
    if (numbers.length > 1) {
      const second = `color-mix(in srgb, ${ink(numbers[1])} var(--tw-wash-strength), transparent)`;
      mark.style.setProperty("--tw-wash-2", second);
    }
    const lines = numbers.slice(0, 3).map((n, i) => `inset 0 -${2 * i + 2}px 0 ${ink(n)}`);
    mark.style.boxShadow = lines.join(", ");
    return mark;
  }

  titleOf(key) {
    return this.labels.find((label) => label.key === key)?.title ?? key;
  }

  drawAll() {
    for (const box of this.surface.root.querySelectorAll("[data-tw-text]")) this.draw(box);
  }

  /** One button per label; `pressable` ones show which is chosen. */
  chips(pressable = true) {
    return this.labels.map((label, i) => h("button", {
      type: "button", class: "tw-chip", "aria-pressed": pressable ? "false" : null,
      data: { "tw-label": label.key, "tw-tip": label.definition || null },
    }, h("span", { class: "tw-swatch", style: `--tw-c: var(--tw-hl-${i + 1})`, "aria-hidden": "true", text: String(i + 1) }),
    h("span", { dir: "auto", text: label.title })));
  }

  /** The live selection in a judged text, as UTF-16 offsets; null without one. */
  selection() {
    const live = document.getSelection();
    if (!live || live.rangeCount === 0 || live.isCollapsed) return null;
    const box = this.boxOf(live.anchorNode);
    if (!box || !this.surface.root.contains(box)) return null;
    const range = live.getRangeAt(0);
    const start = this.#offset(box, range.startContainer, range.startOffset, 0);
    const end = this.#offset(box, range.endContainer, range.endOffset, Infinity);
    const { slot, turn } = this.placeOf(box);
    const snapped = snap(this.surface.textOf(slot, turn), start, end);
    return snapped && { box, slot, turn, start: snapped[0], end: snapped[1], rect: range.getBoundingClientRect() };
  }

  #offset(box, node, offset, outside) {
    if (!box.contains(node)) return outside;
    const range = document.createRange();
    range.setStart(box, 0);
    range.setEnd(node, offset);
    return range.toString().length;
  }

  /** Called when the selection has changed and come to rest. */
  settle() {
    const found = this.selection();
    if (!found) return;
    this.saved = found;
    if (this.armed) this.apply(this.armed);
    else this.#offer(found.rect);
  }

  #offer(rect) {
    this.hidePopover();
    this.float.replaceChildren(...this.chips(false));
    this.float.hidden = false;
    placeNear(this.float, rect);
  }

  selectionGone() {
    const live = document.getSelection();
    if (live?.isCollapsed) this.forget();
  }

  /** Another item: nothing is selected, no label armed. */
  reset() {
    this.forget();
    this.popover.hidden = true;
    this.popover.replaceChildren();
    this.armed = null;
    this.showArmed();
  }

  forget() {
    this.saved = null;
    this.float.hidden = true;
  }

  /** Labels the selection; without one arms the label for the next, or disarms it. */
  choose(key) {
    if (this.selection() ?? this.saved) return this.apply(key);
    this.armed = this.armed === key ? null : key;
    this.showArmed();
    this.surface.notices.announce(this.armed ? `${this.titleOf(key)}: select text to mark it` : "Marking off");
    return true;
  }

  showArmed() {
    for (const chip of this.surface.root.querySelectorAll(".tw-tools [data-tw-label]")) {
      chip.setAttribute("aria-pressed", String(chip.dataset.twLabel === this.armed));
    }
  }

  apply(key) {
    const found = this.selection() ?? this.saved;
    if (!found) return false;
    const { slot, turn, start, end } = found;
    const text = this.surface.textOf(slot, turn);
    const span = { slot, turn, start: toCodePoints(text, start), end: toCodePoints(text, end), label: key, comment: "" };
    document.getSelection()?.collapse(found.box, 0);
    this.forget();
    this.surface.answers.addHighlight(span, `highlight in response ${slot}`);
    this.#caretAt(found.box, end);
    this.surface.notices.announce(`Marked as ${this.titleOf(key)}`);
    return true;
  }

  /** Leaves the caret behind the new mark, so that keyboards go on from there. */
  #caretAt(box, offset) {
    if (document.activeElement !== box) return;
    let left = offset;
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { length } = walker.currentNode;
      if (left <= length) return document.getSelection()?.collapse(walker.currentNode, left);
      left -= length;
    }
  }

  /** Highlights at an UTF-16 offset of a box. */
  at(box, offset) {
    const { slot, turn } = this.placeOf(box);
    const text = this.surface.textOf(slot, turn);
    return this.surface.answers.highlightsOf(slot, turn).filter((highlight) =>
      toUtf16(text, highlight.start) <= offset && offset <= toUtf16(text, highlight.end) + REACH - 1);
  }

  caret() {
    const live = document.getSelection();
    const box = this.boxOf(live?.anchorNode);
    return box ? { box, offset: this.#offset(box, live.anchorNode, live.anchorOffset, 0) } : null;
  }

  removeAtCaret() {
    const caret = this.caret();
    const last = caret && this.at(caret.box, caret.offset).at(-1);
    if (!last) return false;
    this.surface.answers.replaceHighlight(last, null, `highlight in response ${last.slot}`);
    this.#caretAt(caret.box, caret.offset);
    return true;
  }

  /** Opens the popover for a clicked mark. */
  openAtMark(mark) {
    const box = this.boxOf(mark);
    const start = this.#offset(box, mark, 0, 0);
    const middle = start + Math.min(1, mark.textContent.length) / 2;
    this.#open(this.at(box, middle), mark.getClientRects()[0] ?? mark.getBoundingClientRect());
  }

  openAtCaret() {
    const caret = this.caret();
    const found = caret ? this.at(caret.box, caret.offset) : [];
    if (!found.length) return false;
    const rect = document.getSelection().getRangeAt(0).getBoundingClientRect();
    this.#open(found, rect.width || rect.height ? rect : caret.box.getBoundingClientRect());
    this.popover.querySelector("button, input")?.focus();
    return true;
  }

  #open(highlights, rect) {
    if (!highlights.length) return;
    this.forget();
    this.popover.replaceChildren(...highlights.map((highlight) => this.#card(highlight)));
    this.popover.hidden = false;
    placeNear(this.popover, rect);
  }

  #card(highlight) {
    const card = h("div", { class: "tw-card" });
    let current = highlight;
    const change = (changed, name) => {
      this.surface.answers.replaceHighlight(current, changed, name);
      current = changed;
    };
    const where = `highlight in response ${highlight.slot}`;
    const chips = this.chips();
    for (const chip of chips) {
      chip.setAttribute("aria-pressed", String(chip.dataset.twLabel === current.label));
      chip.addEventListener("click", (event) => {
        event.stopPropagation();
        change({ ...current, label: chip.dataset.twLabel }, where);
        for (const other of chips) other.setAttribute("aria-pressed", String(other === chip));
      });
    }
    const comment = h("input", {
      type: "text", class: "tw-line", dir: "auto", maxlength: LONGEST_TEXT,
      placeholder: "Comment (optional)", "aria-label": "Comment on this highlight",
    });
    comment.value = current.comment ?? "";
    comment.addEventListener("change", () => current && change({ ...current, comment: comment.value }, where));
    const remove = button("Remove", { class: "tw-button tw-quiet", data: { "tw-unmark": "1" } });
    remove.addEventListener("click", () => {
      change(null, where);
      this.hidePopover();
    });
    card.append(h("div", { class: "tw-chips" }, chips), h("div", { class: "tw-card-row" }, comment, remove));
    return card;
  }

  hidePopover() {
    if (this.popover.hidden) return;
    const inside = this.popover.contains(document.activeElement);
    if (inside) document.activeElement.blur(); // lets a comment's change through
    this.popover.hidden = true;
    this.popover.replaceChildren();
    if (inside) this.surface.moves.refocus();
  }
}

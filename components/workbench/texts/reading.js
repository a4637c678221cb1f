// Help with long texts: searching the open texts, and remembering the reading position.

import { CONTEXT } from "../answers.js";
import { all, button, find, h, nameOf, nounOf, paint, write } from "../dom.js";
import { _ } from "../language.js";
import { orElse } from "../store.js";

/** @import { Item } from "../item.js" */
/** @import { Preferences } from "../store.js" */
/** @import { Page } from "../types.js" */
/** @typedef {{ place: string, range: Range }} Hit `place` is the letter of a response, or "context" */
/** @typedef {{ place: string, name: string, text: HTMLElement }} Open a text that is open */
/** @typedef {[number, number]} Mark the topmost part of a text that was in view, and how much of it was above the window */

const MAX_HITS = 2000; // in one text
const PART = "p, li, td, th, pre, blockquote, h1, h2, h3, h4, h5, h6, dd, dt, [data-tw-text], .tw-bubble, .tw-block, .tw-prose";
const SCROLLING = ".tw-context-body, .tw-pane-body";
const MARKED_PARTS = ".tw-turn, .tw-block, .tw-prose:not(:has(.tw-block)), .tw-judged:not(.tw-bubble)";
const MARKED_ITEMS = 30; // for which this computer stores positions
const SCROLL_RESTS_MS = 150;

/** A regular expression for the typed text, ignoring case and the kind of white space. @param {string} typed */
export const patternOf = (typed) =>
  new RegExp(typed.trim().split(/\s+/u).map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("\\s+"), "giu");

/**
 * Matches of the typed text in a text on the page, also across marks and emphasis.
 * @param {HTMLElement} text
 * @param {string} typed
 */
function rangesIn(text, typed) {
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT, ({ parentElement }) =>
    (parentElement?.closest(".katex, .tw-speaker") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT));
  /** @type {{ node: Text, start: number }[]} */
  const nodes = [];
  let joined = "";
  /** @type {Element | null | undefined} */
  let before = null;
  for (let node = /** @type {Text | null} */ (walker.nextNode()); node; node = /** @type {Text | null} */ (walker.nextNode())) {
    const part = node.parentElement?.closest(PART);
    if (before && part !== before) joined += "\n\0"; // words do not continue in the next paragraph
    before = part;
    nodes.push({ node, start: joined.length });
    joined += node.data;
  }
  let n = 0;
  /** @param {number} at @returns {[Text, number]} */
  const placeAt = (at) => {
    while (n + 1 < nodes.length && nodes[n + 1].start <= at) n += 1;
    return [nodes[n].node, at - nodes[n].start];
  };
  const ranges = [];
  for (const { index, 0: found } of joined.matchAll(patternOf(typed))) {
    const range = document.createRange();
    range.setStart(...placeAt(index));
    const [last, offset] = placeAt(index + found.length - 1);
    range.setEnd(last, offset + 1);
    ranges.push(range);
    if (ranges.length === MAX_HITS) break;
  }
  return ranges;
}

/** @param {Range} range */
function reveal(range) {
  range.startContainer.parentElement?.scrollIntoView({ block: "nearest", behavior: "instant" });
  const body = range.startContainer.parentElement?.closest(`${SCROLLING}, .tw-panes`);
  if (!body) return;
  const [box, own] = [body.getBoundingClientRect(), range.getBoundingClientRect()];
  if (own.top < box.top + 8 || own.bottom > box.bottom - 24) body.scrollTop += own.top - box.top - box.height / 3;
}

/** @typedef {ReturnType<typeof createFinding>} Finding */

/**
 * A search box for the context and the open responses. The text of a response that is not open is not on the page, so
 * it cannot be found.
 * @param {object} needs
 * @param {() => Item} needs.item
 * @param {() => Page} needs.page
 * @param {(place: string) => void} needs.show shows a text that another one hides
 * @param {() => void} needs.refocus
 */
export function createFinding({ item, page, show, refocus }) {
  const input = h("input", {
    type: "text", class: "tw-line", dir: "auto", autocomplete: "off", spellcheck: "false", data: { "tw-find-words": "1" },
    placeholder: _("Find in the open texts"), "aria-label": _("Find in the open texts"),
  });
  const counts = h("span", { class: "tw-find-counts", role: "status", dir: "auto", data: { "tw-find-counts": "1" } });
  const box = h("div", { class: "tw-find", role: "search", hidden: true }, input,
    button("↑", { class: "tw-button tw-small", "aria-label": _("Previous hit"), data: { "tw-find-step": "-1" } }),
    button("↓", { class: "tw-button tw-small", "aria-label": _("Next hit"), data: { "tw-find-step": "1" } }),
    button(_("Close"), { class: "tw-button tw-quiet tw-small", data: { "tw-find-close": "1" } }), counts);
  /** @type {Hit[]} */
  let hits = [];
  let at = -1;
  let summary = "";

  /** @returns {Open[]} */
  function openTexts() {
    const { alone, view } = item();
    const noun = nounOf(view.rubric);
    const context = find(page().work, ".tw-context-body");
    const responses = all(page().board, ".tw-response").flatMap((text) => {
      const place = text.dataset.slot ?? "";
      return text.firstChild ? [{ place, name: nameOf(place, alone, noun), text }] : [];
    });
    return [...(context ? [{ place: CONTEXT, name: view.item.context?.title ?? "", text: context }] : []), ...responses];
  }

  /** Searches again after a change of the typed text or of the page. */
  function search() {
    const typed = input.value.trim();
    const texts = box.hidden || !typed ? [] : openTexts();
    hits = texts.flatMap(({ place, text }) => rangesIn(text, typed).map((range) => ({ place, range })));
    at = Math.min(at, hits.length - 1);
    paint("tw-found", hits.map(({ range }) => range));
    const own = texts.map(({ place, name }) => `${name}: ${hits.filter((hit) => hit.place === place).length}`);
    summary = texts.length && !hits.length ? _("Nothing found") : own.join(" · ");
    say();
  }

  function say() {
    const where = at < 0 ? "" : _("hit {number} of {total}", { number: at + 1, total: hits.length });
    write(counts, [summary, where].filter(Boolean).join(" · "));
    paint("tw-found-here", at < 0 ? [] : [hits[at].range]);
  }

  /** @param {number} by */
  function step(by) {
    if (!hits.length) return;
    at = at < 0 && by < 0 ? hits.length - 1 : (at + by + hits.length) % hits.length;
    const focused = /** @type {HTMLElement | null} */ (document.activeElement);
    show(hits[at].place);
    reveal(hits[at].range);
    say();
    if (focused && box.contains(focused)) focused.focus({ preventScroll: true });
  }

  function hide() {
    const wasOpen = !box.hidden;
    box.hidden = true;
    input.value = "";
    at = -1;
    search();
    return wasOpen;
  }

  input.addEventListener("input", () => {
    at = -1;
    search();
  });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    step(event.shiftKey ? -1 : 1);
  });

  return {
    box,
    step,

    open() {
      box.hidden = false;
      input.focus();
      input.select();
    },

    /** Closes the box; returns whether it was open. */
    close() {
      const hadFocus = box.contains(document.activeElement);
      const wasOpen = hide();
      if (hadFocus) refocus();
      return wasOpen;
    },

    /** Called after texts were drawn again. */
    redrawn() {
      if (!box.hidden) search();
    },

    /** Another item: closes the box. */
    reset: hide,
  };
}

/** The part of a text at the upper edge of its scrolling container. @param {HTMLElement} body @returns {Mark} */
function markOf(body) {
  const top = body.getBoundingClientRect().top;
  const parts = all(body, MARKED_PARTS);
  const part = parts.find((each) => each.getBoundingClientRect().bottom > top + 1) ?? parts.at(-1);
  if (!part) return [0, 0];
  const { top: own, height } = part.getBoundingClientRect();
  return [parts.indexOf(part), height ? Number(((top - own) / height).toFixed(4)) : 0];
}

/** @param {HTMLElement} body @param {Mark} mark */
function restoreMark(body, [place, share]) {
  const part = all(body, MARKED_PARTS)[place];
  if (!part) return;
  part.style.contentVisibility = "visible"; // otherwise its height is an estimate
  const { top, height } = part.getBoundingClientRect();
  body.scrollTop += top + share * height - body.getBoundingClientRect().top;
}

/**
 * Remembers the position in each text that scrolls, by item, on this computer.
 * @param {object} needs
 * @param {HTMLElement} needs.root
 * @param {() => Item} needs.item
 * @param {Preferences} needs.preferences
 */
export function createPlaceMarks({ root, item, preferences }) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let rest;
  /** Positions to restore when their text is shown. @type {Map<Element, Mark>} */
  const waiting = new Map();
  const shown = new ResizeObserver((entries) => {
    for (const { target, contentRect: { height } } of entries) {
      const mark = waiting.get(target);
      if (!mark || !height) continue;
      waiting.delete(target);
      shown.unobserve(target);
      restoreMark(/** @type {HTMLElement} */ (target), mark);
    }
  });

  const bodies = () => all(root, SCROLLING);

  /** Stored positions by item, the latest last. @returns {Record<string, Record<string, Mark>>} */
  const kept = () => orElse(() => JSON.parse(preferences.get("places", "{}")), {});

  /** @param {HTMLElement} body */
  const nameIn = (body) => find(body, ".tw-response")?.dataset.slot ?? CONTEXT;

  function keep() {
    const { routes, work: { store_key: key } } = item().view;
    if (!routes.draft) return; // a preview stores nothing
    const { [key]: own = {}, ...others } = kept();
    for (const body of bodies()) {
      if (body.clientHeight && !waiting.has(body)) own[nameIn(body)] = markOf(body);
    }
    const entries = [...Object.entries(others), [key, own]].slice(-MARKED_ITEMS);
    preferences.set("places", JSON.stringify(Object.fromEntries(entries)));
  }

  return {
    /** Called after scrolling. @param {HTMLElement} target */
    scrolled(target) {
      if (!target.matches?.(SCROLLING)) return;
      clearTimeout(rest);
      rest = setTimeout(keep, SCROLL_RESTS_MS);
    },

    /** Called after another item was laid out. */
    restore() {
      clearTimeout(rest);
      shown.disconnect();
      waiting.clear();
      const own = kept()[item().view.work.store_key] ?? {};
      for (const body of bodies()) {
        const mark = own[nameIn(body)];
        if (!mark) continue;
        waiting.set(body, mark);
        shown.observe(body);
      }
    },

    close() {
      clearTimeout(rest);
      shown.disconnect();
    },
  };
}

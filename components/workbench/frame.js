// Around the board: the head with progress and saved state, the foot with the actions, and the room between them.

import { button, h, part, quietButton, scroller, write } from "./dom.js";

/** @import { Props } from "./dom.js" */
/** @import { Page, SaveState, View } from "./types.js" */

const SAVED = { saved: "Saved ✓", saving: "Saving…", waiting: "Not saved yet, trying again" };
const PREVIEW = "Preview: nothing is saved";
/** @type {Record<string, string>} */
const NAMES = { training: "Training item", entry_test: "Test item" };
const NARROW = 900; // pixels

/** Which item this is: "Item 8 of 40". @param {View} view */
function itemName({ work, progress }) {
  if (work.state === "submitted") return "An item you submitted";
  const number = Math.min(progress.done + 1, progress.total || progress.done + 1);
  return `${NAMES[work.purpose] ?? "Item"} ${number} of ${progress.total}`;
}

/** @param {View} view */
export function buildHead({ study, rubric, routes }) {
  const preview = routes.draft === "";
  return h("header", { class: "tw-head" },
    h("h1", { class: "tw-heading", tabindex: "-1", data: { "tw-progress": "1" } }),
    h("div", { class: "tw-bar", "aria-hidden": "true" }, h("div", { class: "tw-bar-done" })),
    h("span", { class: "tw-head-study", dir: "auto", text: study.title }),
    h("span", {
      class: "tw-saved", role: "status", "aria-live": "polite",
      data: { "tw-saved": "1", state: "saved", preview: preview ? "1" : null }, text: preview ? PREVIEW : SAVED.saved,
    }),
    h("div", { class: "tw-head-tools" },
      quietButton("A−", { data: { "tw-size": "-1" }, "aria-label": "Smaller text" }),
      quietButton("A+", { data: { "tw-size": "1" }, "aria-label": "Larger text" }),
      rubric.content_note ? quietButton("Content note", { data: { "tw-note-toggle": "1" } }) : null,
      quietButton("Guidelines", { data: { "tw-guidelines-open": "1" }, "aria-expanded": "false" }),
      quietButton("Keys", { data: { "tw-keys": "1" } }),
      quietButton("Stop for today", { data: { "tw-stop": "1" } })));
}

/** @param {HTMLElement} head @param {View} view */
export function syncHead(head, view) {
  const { progress, study } = view;
  const heading = part(head, ".tw-heading");
  write(heading, itemName(view));
  const left = progress.minutes_left ? `, about ${progress.minutes_left} min left` : "";
  const percent = progress.total ? Math.round((100 * progress.done) / progress.total) : 0;
  heading.title = `${study.title}: ${progress.done} of ${progress.total} done${left}`;
  part(head, ".tw-bar-done").style.inlineSize = `${percent}%`;
  part(head, ".tw-bar").title = heading.title;
}

/** @param {HTMLElement} head @param {SaveState} state */
export function showSaved(head, state, text = SAVED[state]) {
  const line = part(head, "[data-tw-saved]");
  line.dataset.state = state;
  if (!line.dataset.preview) write(line, text);
}

/** @param {View} view */
export function buildFoot({ rubric: { skip, ignore_item: ignore }, work, feedback }) {
  /** @param {string} label @param {Props} props */
  const primary = (label, props) => button(label, { class: "tw-button tw-primary", ...props });
  if (feedback) {
    return h("footer", { class: "tw-foot" },
      h("div", { class: "tw-foot-right" }, primary("Continue", { data: { "tw-continue": "1" } })));
  }
  const done = work.state === "submitted";
  return h("footer", { class: "tw-foot" },
    h("div", { class: "tw-foot-left" },
      skip && !done ? quietButton(`${skip.title}…`, { data: { "tw-skip": "1" } }) : null,
      ignore && !done ? quietButton(`${ignore.title}…`, { data: { "tw-ignore": "1" } }) : null,
      quietButton("Note to the lead", { data: { "tw-lead-note": "1" } })),
    h("div", { class: "tw-foot-right" },
      h("span", { class: "tw-answered", data: { "tw-answered": "1" } }),
      work.can_go_back ? button("← Back", { data: { "tw-back": "1" } }) : null,
      done ? button("Leave unchanged", { data: { "tw-forward": "1" } }) : null,
      primary(done ? "Submit changes" : "Submit", { data: { "tw-submit": "1" }, title: "Ctrl+Enter" })));
}

/** @param {Element} frame what scrolls */
const topOf = (frame) => (frame === document.scrollingElement ? 0 : frame.getBoundingClientRect().top);

/**
 * The room of a surface: what sticky parts and scrolling must keep clear of.
 * @param {{ root: HTMLElement, page: () => Page, onResize: () => void }} needs
 */
export function createRoom({ root, page, onResize }) {
  let margin = 0;
  const observer = new ResizeObserver(() => {
    onResize();
    measure();
  });

  function measure() {
    const { head, foot } = page();
    const frame = scroller(root);
    const top = barHeight(frame);
    // the head sticks below that bar; without this margin it would cover the first lines before any scrolling
    margin = Math.max(0, Math.round(top - offset(frame) + margin));
    root.style.marginBlockStart = `${margin}px`;
    const sizes = { top, head: top + head.offsetHeight, foot: foot.offsetHeight, room: height(frame) };
    for (const [name, pixels] of Object.entries(sizes)) root.style.setProperty(`--tw-${name}`, `${pixels}px`);
  }

  /**
   * Height from the surface's top to the window's end, so that Submit stays in its place from item to item.
   * @param {Element} frame
   */
  function height(frame) {
    let room = frame.clientHeight - offset(frame);
    for (let node = root.parentElement; node && node !== frame; node = node.parentElement) {
      room -= parseFloat(getComputedStyle(node).paddingBottom);
    }
    return Math.max(0, Math.floor(room) - 1);
  }

  /** Where the surface begins in what scrolls. @param {Element} frame */
  const offset = (frame) => root.getBoundingClientRect().top + frame.scrollTop - topOf(frame);

  /** How far Streamlit's own bar, where it shows anything, covers what scrolls. @param {Element} frame */
  function barHeight(frame) {
    const bar = document.querySelector('[data-testid="stHeader"]');
    if (!bar || getComputedStyle(bar).position === "static" || !bar.querySelector("a, button, img")) return 0;
    return Math.max(0, Math.round(bar.getBoundingClientRect().bottom - topOf(frame)));
  }

  return {
    isNarrow: () => innerWidth < NARROW || (root.clientWidth > 0 && root.clientWidth < NARROW - 140),

    /**
     * Measures again when the surface, its head or its foot change their size, after the browser's layout and before
     * it paints.
     * @param {...HTMLElement} elements
     */
    watch(...elements) {
      observer.disconnect();
      for (const element of [root, ...elements]) observer.observe(element);
    },

    toTop() {
      const frame = scroller(root);
      if (frame.scrollTop) frame.scrollTop = 0;
      part(page().head, ".tw-heading").focus({ preventScroll: true });
    },

    close: () => observer.disconnect(),
  };
}

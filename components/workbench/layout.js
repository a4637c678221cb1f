// The layout. `placesOf` decides how responses, context and questions share the window. It depends on the rubric, the
// window and two limits on words, so that the layout does not change from item to item. Heights are then measured: the
// space for the questions, and whether inactive rows are folded to their answers.

import { isSuccession } from "./board.js";
import { all, find, part, write } from "./dom.js";
import { _ } from "./language.js";
import { optionsOf } from "./scale.js";
import { personOf } from "./store.js";
import { lengthInWords } from "./texts/textpoints.js";

/** @import { Listen } from "./controls.js" */
/** @import { Item } from "./item.js" */
/** @import { Preferences } from "./store.js" */
/** @import { Criterion, Layout, Page, View } from "./types.js" */

const PHONE = 700; // px; below, one response and one question at a time, and the context in a drawer
const COMPACT = 1170; // px; below, the head's tools are in its menu
const NARROW = 900; // px; below, the questions are under the text instead of next to it
const MIN_LETTERS = 45; // in a line of a response; with fewer, one response at a time
const MIN_LETTERS_SHORT = 35; // enough next to a context if no response has more than SHORT_WORDS
const SHORT_WORDS = 60;
const LONG_WORDS = 350; // above, one response at a time is the default
const MAX_ABREAST = 4;
const LINES = 10; // of text that a pane shows at least
const MIN_CONTEXT = 100; // px
const MAX_QUESTIONS = 0.46; // of the height, unless the texts leave more space
const GAP = 12; // px between panes, for the divider
const PANE_PADDING = 30; // px, including the scrollbar
const PANE_HEAD = 44; // px, including padding
const ASK_ROOM = 134; // px for the text box of an explanation
const REASON_ROOM = 30; // px for each reason
const SPLIT_STEP = 0.03;
const DESCRIBED_ITEMS = 3; // for which a new annotator sees descriptions
const SAMPLE = "The quick answer is that most people read a line of fifty or sixty letters with ease, and lose their "
  + "place in longer ones.";

/** The text sizes that annotators can choose. */
const TEXT_SIZES = [0.9, 1, 1.12, 1.25, 1.4];

/** @typedef {{ layout: Layout, context: "left" | "top", fits: boolean, columns: number, side: number, questions: number, letters: number }} Places */

/**
 * The layout rule. `letters` returns how many letters fit into a line of a given width in pixels.
 * @param {object} asked
 * @param {number} asked.width of the surface
 * @param {number} asked.panes responses shown at once, if they fit; 1 for a succession, a conversation or one response
 * @param {boolean} asked.abreast whether side by side is chosen
 * @param {boolean} asked.hasContext
 * @param {number} asked.longest words of the longest response
 * @param {(pixels: number) => number} asked.letters
 * @returns {Places}
 */
export function placesOf({ width, panes, abreast, hasContext, longest, letters }) {
  const side = Math.min(520, Math.max(280, width * 0.26));
  const questions = Math.min(640, Math.max(400, width * 0.36));
  /** @param {number} room */
  const inPane = (room) => letters((room - GAP * (panes - 1)) / panes - PANE_PADDING);
  const fits = width >= PHONE && panes > 1 && panes <= MAX_ABREAST && inPane(width) >= MIN_LETTERS;
  const places = { fits, side, questions, letters: inPane(width) };
  if (width < PHONE) return { ...places, layout: "phone", columns: 1, context: "top" };
  if (fits && abreast) {
    const column = Math.min(420, side);
    const least = longest <= SHORT_WORDS ? MIN_LETTERS_SHORT : MIN_LETTERS;
    const beside = hasContext && inPane(width - column - 16) >= least;
    return { ...places, layout: "dock", side: column, columns: 1, context: beside ? "left" : "top" };
  }
  if (width < NARROW) return { ...places, layout: "single", columns: 1, context: "top" };
  const beside = hasContext && letters(width - side - questions - PANE_PADDING - 40) >= MIN_LETTERS;
  return { ...places, layout: "single", columns: beside ? 3 : 2, context: beside ? "left" : "top" };
}

/** Number of words in an item's longest response. @param {View} view */
function longestWords({ item }) {
  const texts = item.candidates.map(({ text, turns }) => text ?? turns.map((turn) => turn.text).join(" "));
  return Math.max(0, ...texts.map(lengthInWords));
}

/** @typedef {ReturnType<typeof createLayout>} Arrangement */

/**
 * @param {object} needs
 * @param {HTMLElement} needs.root
 * @param {Listen} needs.listen
 * @param {Preferences} needs.preferences
 * @param {() => Item} needs.item
 * @param {() => Page} needs.page
 * @param {() => void} needs.onLaid called after a change of layout, to show the current question
 * @param {() => void} needs.refocus
 */
export function createLayout({ root, listen, preferences, item, page, onLaid, refocus }) {
  const canvas = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  /** Heights of rows, by everything that determines them. @type {Map<string, ReturnType<typeof measureRows>>} */
  const heights = new Map();
  /** @type {unknown} */
  let measured;
  let contextOpen = false;
  let size = "";

  const work = () => page().work;
  const rowsBox = () => part(page().board, ".tw-rows");
  const contextBody = () => find(work(), ".tw-context-body");

  /** @param {number} pixels */
  function letters(pixels) {
    const { fontFamily } = getComputedStyle(part(page().board, ".tw-panes"));
    canvas.font = `${16 * Number(preferences.get("text-size", "1"))}px ${fontFamily}`;
    return pixels / (canvas.measureText(SAMPLE).width / SAMPLE.length);
  }

  // ---- the annotator's choices ----

  const longest = () => item().view.study.longest_words ?? longestWords(item().view);

  /** The choice of layout is stored separately for long and short texts. */
  const viewName = () => (longest() > LONG_WORDS ? "view-long" : "view");

  const isFixed = () => ["side_by_side", "one_at_a_time"].includes(item().view.study.arrangement);

  function isAbreast() {
    const { arrangement } = item().view.study;
    if (isFixed()) return arrangement === "side_by_side";
    return preferences.get(viewName(), longest() > LONG_WORDS ? "single" : "dock") === "dock";
  }

  const hasDescriptions = () => {
    const early = item().view.progress.done < DESCRIBED_ITEMS ? "on" : "off";
    return preferences.get("descriptions", early) === "on";
  };

  const splitName = () =>
    `split-${personOf(item().view.work.store_key)}-${root.dataset.layout}-${item().view.rubric.criteria.length}`;

  // ---- applying the rule ----

  function arrange() {
    const { view } = item();
    const width = work().clientWidth;
    if (!width) return;
    const { candidates, context } = view.item;
    const places = placesOf({
      width, hasContext: context !== null, longest: longest(), letters, abreast: isAbreast(),
      panes: isSuccession(view) ? 1 : candidates.length,
    });
    const isOther = root.dataset.layout !== places.layout;
    const beside = places.layout === "single" && places.columns > 1;
    Object.assign(root.dataset, { layout: places.layout, context: places.context, beside: beside ? "1" : "0" });
    work().dataset.columns = String(places.columns);
    work().style.setProperty("--tw-side", `${Math.round(places.side)}px`);
    root.classList.toggle("tw-descriptions", hasDescriptions());
    root.classList.toggle("tw-compact", width < COMPACT);
    part(page().board, ".tw-split").setAttribute("aria-orientation", beside ? "vertical" : "horizontal");
    syncTools(places);
    if (isOther) onLaid();
    measure(places);
  }

  /** @param {Places} places */
  function syncTools({ layout, fits, letters: perLine }) {
    const { head } = page();
    const { candidates } = item().view.item;
    const several = candidates.length > 1 && !isSuccession(item().view);
    const segments = part(head, ".tw-segments");
    segments.hidden = !several || layout === "phone" || isFixed();
    for (const control of all(segments, "button")) {
      control.setAttribute("aria-pressed", String((control.dataset.twView === "dock") === (layout === "dock")));
      if (control.dataset.twView !== "dock") continue;
      control.toggleAttribute("disabled", !fits);
      control.title = fits ? "" : _("Side by side would leave {count} letters a line", { count: Math.floor(perLine) });
    }
    part(head, "[data-tw-descriptions]").setAttribute("aria-pressed", String(hasDescriptions()));
    showContext();
  }

  /**
   * The space that all rows need: all open; folded around an open row with its explanation; and without the
   * explanation.
   * @param {Criterion[]} criteria
   */
  function measureRows(criteria) {
    const { board } = page();
    const rows = all(board, ".tw-row");
    const inHand = rows.map((row) => row.classList.contains("tw-here"));
    const folding = board.classList.contains("tw-folding");
    const size = () => rows.map((row) => row.offsetHeight);
    /** @param {boolean} here */
    const each = (here) => rows.forEach((row) => row.classList.toggle("tw-here", here));
    root.classList.add("tw-measuring");
    board.classList.remove("tw-folding");
    each(false);
    const plain = size();
    each(true);
    const bare = size();
    board.classList.add("tw-folding");
    each(false);
    const folded = size();
    const others = [...rowsBox().children].filter((child) => !child.classList.contains("tw-row"));
    const rest = others.reduce((sum, child) => sum + /** @type {HTMLElement} */ (child).offsetHeight, 4);
    root.classList.remove("tw-measuring");
    board.classList.toggle("tw-folding", folding);
    rows.forEach((row, i) => row.classList.toggle("tw-here", inHand[i]));
    const open = criteria.map(({ scale }, i) => {
      const asks = optionsOf(scale).flatMap(({ ask }) => ask ?? []);
      if (!asks.length || !bare[i]) return bare[i];
      return bare[i] + ASK_ROOM + REASON_ROOM * Math.max(...asks.map(({ reasons }) => reasons.length));
    });
    /**
     * The height if one row is active and the others are low.
     * @param {number[]} low
     * @param {number[]} high heights of active rows
     */
    const one = (low, high) =>
      low.reduce((sum, height) => sum + height, rest) + Math.max(0, ...high.map((height, i) => height - low[i]));
    return { all: one(plain, open), folded: one(folded, open), least: one(folded, bare) };
  }

  function rowNeeds() {
    const { rubric, feedback } = item().view;
    if (measured !== rubric) heights.clear();
    measured = rubric;
    const { layout, beside } = root.dataset;
    const step = page().board.dataset.step === "item" && layout !== "dock";
    const key = [layout, beside, step, rowsBox().clientWidth, hasDescriptions(), Boolean(feedback)].join();
    let needs = heights.get(key);
    if (!needs) heights.set(key, needs = measureRows(rubric.criteria));
    return needs;
  }

  /** @param {Places} places */
  function measure({ layout, context, columns, questions: wide }) {
    const { board } = page();
    const { style } = work();
    board.classList.toggle("tw-folding", false);
    if (layout === "phone") return shadeSoon();
    const height = work().clientHeight;
    const kept = Number(preferences.get(splitName(), "0")) || null;
    const body = context === "top" ? contextBody() : null;
    let share = 0;
    let room = height;
    if (layout === "single" && columns > 1) {
      const size = Math.round(kept === null ? wide : kept * work().clientWidth);
      style.setProperty("--tw-q", `${size}px`);
      if (body) style.setProperty("--tw-ctx", `${Math.min(height * 0.4, body.scrollHeight + 34)}px`);
      share = size / work().clientWidth;
    } else {
      const needs = rowNeeds();
      const shown = all(board, ".tw-response").map((cell) => cell.offsetHeight);
      const texts = Math.max(0, ...shown) + PANE_HEAD;
      const line = 23 * Number(preferences.get("text-size", "1"));
      const wanted = body ? body.scrollHeight + 30 : 0;
      const least = Math.min(wanted, MIN_CONTEXT);
      room = height - Math.min(texts, LINES * line + PANE_HEAD) - least - GAP;
      const free = height - wanted - texts - GAP; // left over if all texts are shown in full
      const generous = Math.max(height * MAX_QUESTIONS, free);
      const fair = needs.all <= Math.min(room, generous) ? needs.all
        : Math.min(needs.folded, Math.max(free, Math.min(needs.least, height * MAX_QUESTIONS)));
      const asked = kept === null ? Math.max(150, Math.min(fair, room)) : kept * height;
      room = Math.max(90, Math.min(asked, height - least - 90));
      style.setProperty("--tw-q", `${Math.round(room)}px`);
      const given = Math.max(least, Math.min(wanted, height - room - GAP - texts));
      style.setProperty("--tw-ctx", `${Math.round(body ? given : 0)}px`);
      share = room / height;
    }
    for (const list of all(board, ".tw-picks")) {
      list.style.setProperty("--tw-picks", `${Math.round(Math.min(420, Math.max(110, room - 120)))}px`);
    }
    board.classList.toggle("tw-folding", rowNeeds().all > room + 2);
    part(board, ".tw-split").setAttribute("aria-valuenow", String(Math.round(share * 100)));
    shadeSoon();
  }

  // ---- how much was read ----

  function shadeSoon() {
    requestAnimationFrame(() => {
      if (!root.isConnected) return;
      for (const body of all(page().board, ".tw-pane-body")) shade(body);
      const body = contextBody();
      const more = find(work(), "[data-tw-context-more]");
      if (body && more) more.hidden = !contextOpen && body.scrollHeight <= body.clientHeight + 2;
    });
  }

  /** Shows how much of a text has been in view. @param {HTMLElement} body */
  function shade(body) {
    const below = body.scrollHeight - body.clientHeight - body.scrollTop;
    const seen = Math.min(100, Math.round((100 * (body.scrollTop + body.clientHeight)) / body.scrollHeight));
    const line = find(/** @type {HTMLElement} */ (body.parentElement), ".tw-seen");
    body.classList.toggle("tw-more-below", below > 4);
    if (line) write(line, below > 4 ? _("{percent} % seen ↓", { percent: seen }) : "");
  }

  // ---- the divider ----

  /** @param {number | null} share */
  function moveSplit(share) {
    preferences.set(splitName(), share === null ? "0" : String(Math.min(0.75, Math.max(0.1, share)).toFixed(3)));
    arrange();
  }

  const isSplit = (/** @type {Event} */ event) => /** @type {HTMLElement} */ (event.target).matches(".tw-split");

  listen(root, "pointerdown", (/** @type {PointerEvent} */ event) => {
    if (!isSplit(event)) return;
    event.preventDefault();
    const split = /** @type {HTMLElement} */ (event.target);
    const box = work().getBoundingClientRect();
    split.setPointerCapture(event.pointerId);
    split.focus({ preventScroll: true });
    split.onpointermove = ({ clientX, clientY }) => moveSplit(root.dataset.beside === "1"
      ? (box.right - clientX) / box.width : (box.bottom - clientY) / box.height);
    split.onpointerup = split.onpointercancel = () => (split.onpointermove = null);
  });
  listen(root, "dblclick", (event) => isSplit(event) && moveSplit(null));
  listen(root, "keydown", (/** @type {KeyboardEvent} */ event) => {
    if (!isSplit(event)) return;
    const step = { ArrowUp: 1, ArrowLeft: 1, ArrowDown: -1, ArrowRight: -1 }[event.key];
    if (step) moveSplit(Number(part(root, ".tw-split").getAttribute("aria-valuenow")) / 100 + step * SPLIT_STEP);
    else if (event.key === "Home") moveSplit(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  listen(root, "scroll", ({ target }) => target.matches?.(".tw-pane-body") && shade(target), { capture: true });

  // ---- the context ----

  function showContext() {
    root.classList.toggle("tw-context-open", contextOpen);
    for (const control of all(root, "[data-tw-context-more], [data-tw-context]")) {
      control.setAttribute("aria-expanded", String(contextOpen));
      if (control.dataset.twContextMore) write(control, contextOpen ? _("Show less") : _("Show in full"));
    }
  }

  /** Returns whether anything changed. @param {boolean} open */
  function openContext(open) {
    if (open === contextOpen || !item().view.item.context) return false;
    contextOpen = open;
    showContext();
    shadeSoon();
    const body = contextBody();
    // if passages can be marked, the text gets the caret; in a dialogue, the last turn
    if (open && body) (all(body, "[contenteditable]").at(-1) ?? body).focus({ preventScroll: true });
    if (!open) refocus();
    return true;
  }

  // a tap outside the drawer closes it
  listen(root, "click", ({ target }) => root.dataset.layout === "phone" && target.closest(".tw-panes") && openContext(false));

  return {
    arrange,
    openContext,

    /** Called after the browser's layout and before it paints. */
    resized() {
      const { clientWidth, clientHeight } = work();
      if (size !== `${clientWidth}×${clientHeight}`) arrange();
      size = `${clientWidth}×${clientHeight}`;
    },

    toggleContext: () => openContext(!contextOpen),

    /** Another item: closes the context, and scrolls a dialogue to its end. */
    start() {
      contextOpen = false;
      arrange();
      // not while the item is drawn, which would lay it out twice
      for (const scrolling of all(page().board, ".tw-pane-body, .tw-rows")) scrolling.scrollTop = 0;
      const body = contextBody();
      if (body && item().view.item.context?.turns.length) body.scrollTop = body.scrollHeight;
    },

    /** How several responses are shown, as stored with the annotation; null if only one way is possible. */
    arrangement() {
      if (item().alone || isSuccession(item().view)) return null;
      return root.dataset.layout === "dock" ? "side_by_side" : "one_at_a_time";
    },

    /** @param {string} layout "dock" or "single" */
    choose(layout) {
      preferences.set(viewName(), layout);
      arrange();
      refocus();
    },

    toggleDescriptions() {
      preferences.set("descriptions", hasDescriptions() ? "off" : "on");
      arrange();
    },
  };
}

/**
 * Applies and changes the text size stored on this computer.
 * @param {{ root: HTMLElement, preferences: Preferences }} needs
 */
export function createTextSize({ root, preferences }) {
  let size = Number(preferences.get("text-size", "1"));
  const apply = () => root.style.setProperty("--tw-scale", String(size));
  apply();

  /** @param {number} steps */
  return function changeSize(steps) {
    const place = TEXT_SIZES.includes(size) ? TEXT_SIZES.indexOf(size) : 1;
    size = TEXT_SIZES[Math.min(TEXT_SIZES.length - 1, Math.max(0, place + steps))];
    preferences.set("text-size", String(size));
    apply();
  };
}

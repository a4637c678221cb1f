// All listeners of a surface, a few for the whole tree, and what belongs to the window: tips, sizes, scrolling.

import { h, placeNear, scroller } from "./dom.js";
import { Keyboard } from "./keyboard.js";
import { showCaption, showCount } from "./question.js";

const TIP_AFTER = 250;
const SELECTION_RESTS = 300;
const PAUSE_CHECK = 60_000;

const frameTop = (frame) => (frame === document.scrollingElement ? 0 : frame.getBoundingClientRect().top);

export class Events {
  /** @param ui the surface */
  constructor(ui) {
    this.ui = ui;
    this.keyboard = new Keyboard(ui);
    this.abort = new AbortController();
    this.tip = h("div", { class: "tw-tip", role: "tooltip", hidden: true });
    this.pressed = null;
    this.pointerDown = false;
    this.clear = 0;
    this.#listen();
  }

  #listen() {
    const { root } = this.ui;
    const on = (target, type, handler, options = {}) => target.addEventListener(type, handler, { signal: this.abort.signal, ...options });
    on(root, "click", (event) => this.#click(event));
    on(root, "change", (event) => this.#change(event));
    on(root, "input", (event) => this.#input(event));
    on(root, "keydown", (event) => this.keyboard.handle(event));
    on(root, "focusin", (event) => this.#focus(event));
    on(root, "pointerdown", (event) => this.#press(event));
    on(root, "pointerover", (event) => this.#over(event));
    on(root, "focusout", () => this.hideTip());
    on(root, "beforeinput", (event) => this.#keepText(event));
    on(root, "drop", (event) => this.#keepText(event));
    on(root, "compositionend", (event) => this.#redraw(event));
    on(window, "keydown", (event) => this.#windowKey(event), { capture: true });
    on(document, "pointerup", () => this.#release());
    on(document, "pointercancel", () => this.#release(null)); // a scroll began there, which answers nothing
    on(document, "selectionchange", () => this.#selection());
    on(document, "visibilitychange", () => this.#visibility());
    on(window, "pagehide", () => this.ui.keeping?.sender.leave());
    on(window, "online", () => this.ui.keeping?.sender.hurry());
    on(document, "scroll", () => this.#scrolled(), { capture: true, passive: true });
    for (const type of ["pointermove", "pointerdown", "keydown"]) on(document, type, () => this.#alive(), { passive: true, capture: true });
    on(matchMedia("(prefers-color-scheme: dark)"), "change", () => this.ui.retheme());
    this.resize = new ResizeObserver(() => {
      this.ui.relayout();
      this.measure();
    });
    this.resize.observe(root);
    this.pauses = setInterval(() => this.ui.activity.pauseDue() && this.ui.notices.remindOfPause(), PAUSE_CHECK);
  }

  /** Measures anew when head or foot change their size, after the browser's layout and before it paints. */
  watch(...elements) {
    for (const element of this.watched ?? []) this.resize.unobserve(element);
    for (const element of elements) this.resize.observe(element);
    this.watched = elements;
  }

  close() {
    this.abort.abort();
    this.resize.disconnect();
    clearInterval(this.pauses);
    clearTimeout(this.tipTimer);
    clearTimeout(this.rest);
  }

  #questionOf(target) {
    const fieldset = target.closest?.("[data-tw-question]");
    return fieldset ? this.ui.question(fieldset.dataset.twQuestion) : null;
  }

  // ---- pointer ----

  #press(event) {
    this.pointerDown = true;
    const { target } = event;
    this.hideTip();
    if (target.closest("[data-tw-label]")) event.preventDefault(); // a click on a chip must not drop the selection
    this.pressed = target.matches("input[type=radio]") && target.checked ? target : null;
    if (!target.closest(".tw-popover, mark")) this.ui.highlighter.hidePopover();
    this.slider = event.button === 0 && target.matches(".tw-range.tw-unset") ? target : null;
  }

  #release(slider = this.slider) {
    this.pointerDown = false;
    this.slider = null;
    // the value under the hidden thumb: no input event comes where nothing moved
    if (slider) setTimeout(() => slider.classList.contains("tw-unset") && this.ui.rating.takeSlider(slider));
    setTimeout(() => this.ui.view && this.ui.highlighter.settle());
  }

  #click(event) {
    const { target } = event;
    if (target === this.pressed && event.detail === 1 && target.matches("[data-tw-question] input[type=radio]")) {
      this.pressed = null;
      const question = this.#questionOf(target);
      if (question) this.ui.rating.clear(question.id);
      return;
    }
    const mark = target.closest("mark");
    if (mark && !this.ui.readOnly && document.getSelection()?.isCollapsed) return this.ui.highlighter.openAtMark(mark);
    const control = target.closest("button");
    if (control) this.#button(control);
  }

  #button(control) {
    const { ui } = this;
    const { dataset } = control;
    const actions = {
      twSubmit: () => ui.sending.submit(), twContinue: () => ui.sending.act("continue"), twBack: () => ui.sending.act("back"),
      twForward: () => ui.sending.act("forward"), twStop: () => ui.sending.act("stop"), twSkip: () => ui.dialogs.skip(),
      twIgnore: () => ui.dialogs.ignore(), twLeadNote: () => ui.dialogs.note(), twKeys: () => ui.dialogs.keys(),
      twSetAside: (letter) => ui.dialogs.setAside(letter), twDialogClose: () => ui.dialogs.cancel(),
      twDialogOk: () => ui.dialogs.confirm(), twGuidelinesOpen: () => ui.reading.showGuidelines(),
      twGuidelinesClose: () => ui.reading.showGuidelines(false), twInfo: (key) => ui.reading.showGuidelines(true, key),
      twNoteToggle: () => ui.notices.toggleContentNote(), twBannerClose: () => control.closest(".tw-banner").remove(),
      twLabel: (key) => ui.highlighter.choose(key), twStep: (step) => ui.moves.askStep(Number(step)),
      twGo: (id) => ui.sending.goTo(id), twSize: (by) => ui.reading.changeSize(Number(by)), twUndo: () => ui.rating.undo(),
    };
    const name = Object.keys(actions).find((key) => dataset[key] !== undefined);
    if (name) actions[name](dataset[name]);
  }

  #over({ target, pointerType }) {
    const cell = target.closest?.(".tw-cell");
    if (this.hovered !== cell) {
      if (this.hovered?.isConnected) showCaption(this.hovered.closest("fieldset"));
      this.hovered = cell ?? null;
      if (cell) showCaption(cell.closest("fieldset"), cell);
    }
    if (pointerType === "touch") return;
    const tipped = target.closest?.("[data-tw-tip]") ?? null;
    if (tipped === this.tipped) return;
    this.hideTip();
    if (!tipped) return;
    this.tipped = tipped;
    this.tipTimer = setTimeout(() => this.#showTip(tipped), TIP_AFTER);
  }

  #showTip(element) {
    if (!element.isConnected || this.pointerDown) return;
    this.tip.textContent = element.dataset.twTip;
    this.tip.dir = "auto";
    this.tip.hidden = false;
    placeNear(this.tip, element.getBoundingClientRect());
  }

  hideTip() {
    clearTimeout(this.tipTimer);
    this.tipped = null;
    this.tip.hidden = true;
  }

  // ---- answers ----

  #change({ target }) {
    if (target.dataset.twKeysOn !== undefined) return this.ui.reading.setKeys(target.checked);
    const question = this.#questionOf(target);
    if (!question) return;
    const ask = target.closest(".tw-ask");
    if (ask) {
      if (target.type === "checkbox") this.ui.rating.setReasons(question, ask);
      return;
    }
    if (target.type === "checkbox") this.ui.rating.pickBest(question, target);
    else if (target.type === "radio") this.ui.rating.rate(question, this.#valueOf(question, target));
  }

  #valueOf({ criterion }, input) {
    return criterion.scale.kind === "choice" ? input.value : Number(input.value);
  }

  #input({ target }) {
    const question = this.#questionOf(target);
    if (!question) return;
    if (target.type === "range") {
      this.ui.rating.rate(question, Number(target.value));
    } else if (target.matches("textarea")) {
      this.ui.rating.setText(question, target.value);
      showCount(target.closest(".tw-ask"), target.value, this.ui.view.rubric.explanation);
    }
  }

  #focus({ target }) {
    const question = this.#questionOf(target);
    if (question && !this.ui.readOnly) this.ui.moves.setCurrent(question.id);
    const tipped = target.closest?.("[data-tw-tip]");
    if (tipped && target.matches(":focus-visible") && !this.pointerDown) this.#showTip(tipped);
  }

  // ---- judged texts ----

  /** Judged texts take a caret but no change. */
  #keepText(event) {
    if (event.target.closest?.("[data-tw-text]")) event.preventDefault();
  }

  #redraw({ target }) {
    const box = target.closest?.("[data-tw-text]");
    if (box) this.ui.highlighter.draw(box);
  }

  #selection() {
    clearTimeout(this.rest);
    if (!this.ui.view || this.ui.readOnly || !this.ui.labels.length) return;
    this.ui.highlighter.selectionGone();
    // touch sends no pointerup after a long press, keyboards never do
    this.rest = setTimeout(() => !this.pointerDown && this.ui.highlighter.settle(), SELECTION_RESTS);
  }

  // ---- keys, window ----

  /** Ctrl+Enter before anybody else takes it: radios and buttons swallow Enter. */
  #windowKey(event) {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.repeat) return;
    const focus = document.activeElement;
    if (!this.ui.view || !(focus === document.body || this.ui.root.contains(focus))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (this.ui.dialogs.open) this.ui.dialogs.confirm();
    else this.ui.sending.submit();
  }

  #alive() {
    const { ui } = this;
    ui.activity.mark();
    if (ui.view && !ui.readOnly && ui.activity.renewDue()) ui.renew();
  }

  #scrolled() {
    this.#alive();
    this.hideTip();
    this.ui.highlighter.float.hidden = true;
  }

  #visibility() {
    if (document.visibilityState === "hidden") {
      this.ui.activity.hide();
      this.ui.keeping?.sender.leave();
    } else {
      this.ui.activity.show();
    }
  }

  isNarrow(limit) {
    return innerWidth < limit || (this.ui.root.clientWidth > 0 && this.ui.root.clientWidth < limit - 140);
  }

  /** Heights that sticky parts and scrolling must keep clear of. */
  measure() {
    const { root, head, foot } = this.ui;
    if (!head) return;
    const top = this.#overlap();
    root.style.setProperty("--tw-top", `${top}px`);
    // the head sticks below that bar; without this margin it would cover the first lines before any scrolling
    this.clear = Math.max(0, Math.round(top - this.#offset() + this.clear));
    root.style.marginBlockStart = `${this.clear}px`;
    root.style.setProperty("--tw-head", `${top + head.offsetHeight}px`);
    root.style.setProperty("--tw-foot", `${foot.offsetHeight}px`);
    root.style.setProperty("--tw-room", `${this.#room()}px`);
  }

  /** Height from the surface's top to the window's end, so that Submit keeps its place from item to item. */
  #room() {
    const frame = scroller(this.ui.root);
    let room = frame.clientHeight - this.#offset();
    for (let node = this.ui.root.parentElement; node && node !== frame; node = node.parentElement) {
      room -= parseFloat(getComputedStyle(node).paddingBottom);
    }
    return Math.max(0, Math.floor(room) - 1);
  }

  /** Where the surface begins in what scrolls. */
  #offset() {
    const frame = scroller(this.ui.root);
    return this.ui.root.getBoundingClientRect().top + frame.scrollTop - frameTop(frame);
  }

  /** How far Streamlit's own bar, where it shows anything, lies over what scrolls. */
  #overlap() {
    const bar = document.querySelector('[data-testid="stHeader"]');
    if (!bar || getComputedStyle(bar).position === "static" || !bar.querySelector("a, button, img")) return 0;
    return Math.max(0, Math.round(bar.getBoundingClientRect().bottom - frameTop(scroller(this.ui.root))));
  }

  /** Scrolls just enough to show an element between head and foot. */
  reveal(element) {
    const rect = element.getBoundingClientRect();
    const style = this.ui.root.style;
    const top = this.ui.head.getBoundingClientRect().bottom + 56;
    const bottom = innerHeight - parseInt(style.getPropertyValue("--tw-foot"), 10) - 16;
    const by = rect.top < top ? rect.top - top : rect.bottom > bottom ? Math.min(rect.bottom - bottom, rect.top - top) : 0;
    if (by) scroller(this.ui.root).scrollBy({ top: by, behavior: "instant" });
  }
}

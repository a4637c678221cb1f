// The entry point that Streamlit loads: the form, its YAML, and the workbench with the first item, side by side. Input
// is sent to the server after a short pause; the answer contains the parsed rubric or its mistakes. While there are
// mistakes, the preview shows the last rubric without any, and this tab stores the text.

import { h } from "../workbench/dom.js";
import { postTo } from "../workbench/network.js";
import { orElse } from "../workbench/store.js";
import { mountedOnce, workbench } from "../workbench/workbench.js";
import { button, createForm } from "./form.js";
import { createHistory } from "./history.js";
import { createYaml } from "./yaml.js";

/** @import { Component } from "../workbench/types.js" */
/** @import { Mistake, Part, Schema } from "./form.js" */
/** @typedef {{ version: string, stored: boolean, text: string, value: Part | null, mistakes: Mistake[], view: string | null, changed?: boolean, message?: string }} State */
/** @typedef {Schema & { stored: string, study: string, locked: boolean, sources: [string, string][], state: State }} Data */

const PAUSE_MS = 500;
const AGAIN_MS = 3000;
const REST_MS = 2000; // after which the page around the form redraws its checklist
const WIDE = 980; // pixels that the workbench needs for responses side by side

const style = h("link", { rel: "stylesheet", href: new URL("./builder.css", import.meta.url).href });
document.head.append(style);

const PLAIN = { class: "rb-button" };
const QUIET = { class: "rb-button rb-quiet" };

/** Buttons of which one is pressed. @param {string} name @param {string[]} labels @param {(n: number) => void} choose */
function segments(name, labels, choose) {
  const tabs = labels.map((label, n) => button(label, { class: "rb-tab", "aria-pressed": String(n === 0) }, () => {
    for (const [place, tab] of tabs.entries()) tab.setAttribute("aria-pressed", String(place === n));
    choose(n);
  }));
  return h("span", { class: "rb-tabs", role: "group", "aria-label": name }, tabs);
}

/** @param {HTMLElement} parent @param {Data} data @param {(name: string, value: string) => void} tell */
function mount(parent, data, tell) {
  const post = postTo("lead/rubric");
  const name = `triptych-rubric-${data.stored}`;
  let { version, text, value } = data.state;
  let rubric = value ?? {};
  /** The next message, besides study and version. @type {Record<string, any> | null} */
  let pending = null;
  let isSending = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let rest;
  let history = createHistory([text]);

  // ---- parts of the page

  const form = createForm({ schema: data, rubric: () => rubric, changed: (isTyping) => send({ text, value: rubric }, isTyping) });
  const yaml = createYaml({ changed: (typed) => send({ text: typed }, true), locked: data.locked });
  const saved = h("span", { class: "rb-saved", role: "status" });
  const undo = button("Undo", QUIET, () => go(history.undo()));
  const redo = button("Redo", QUIET, () => go(history.redo()));
  const mistakes = h("ul", { class: "rb-mistakes", "aria-label": "What is to be put right" });
  const notice = h("div", { class: "rb-notice", role: "alert", hidden: true });
  const start = h("select", { "aria-label": "Start from another rubric" },
    h("option", { value: "", text: "Start from …" }), data.sources.map(([key, title]) => h("option", { value: key, text: title })));
  const file = h("input", { type: "file", accept: ".yaml,.yml", "aria-label": "Open a YAML file", class: "rb-file" });
  const views = segments("View", ["Form", "YAML"], (n) => {
    fields.hidden = n === 1;
    yaml.root.hidden = n === 0;
    listMistakes(listed);
    yaml.redraw();
  });
  const widths = segments("Width", ["Screen", "Phone"], (n) => {
    isPhone = n === 1;
    fit();
  });
  const download = button("Download YAML", QUIET, () => {
    const address = URL.createObjectURL(new Blob([text], { type: "application/yaml" }));
    h("a", { href: address, download: `${data.study}.yaml` }).click();
    URL.revokeObjectURL(address);
  });
  const fields = h("fieldset", { disabled: data.locked }, h("legend", { class: "tw-sr", text: "Rubric" }), form.root);
  yaml.root.hidden = true;
  const stage = h("div", { class: "rb-stage" });
  const pane = h("div", { class: "rb-pane" }, stage);
  const root = h("div", { class: "rb" },
    h("div", { class: "rb-bar" },
      views, undo, redo, saved,
      h("span", { class: "rb-gap" }), data.locked ? null : start, data.locked ? null : h("label", { class: "rb-button rb-quiet" }, "Open YAML", file), download),
    notice,
    h("div", { class: "rb-build" },
      h("section", { "aria-label": "Rubric" }, mistakes, fields, yaml.root),
      h("section", { class: "rb-side", "aria-label": "As annotators see it" },
        h("div", { class: "rb-bar" }, h("h2", { class: "rb-title", text: "As annotators see it" }), h("span", { class: "rb-gap" }), widths),
        pane)));

  // ---- the workbench

  /** @type {Mistake[]} */
  let listed = [];
  let closeStage = () => {};
  let shown = "";
  let isPhone = false;

  /** @param {string | null} view */
  function preview(view) {
    if (!view || view === shown) return;
    shown = view;
    const { scrollTop } = pane;
    const active = document.activeElement;
    const box = h("div", {});
    closeStage();
    stage.replaceChildren(box);
    closeStage = workbench({ parentElement: box, data: { view, showing: null, language: "en" }, setTriggerValue() {} });
    pane.scrollTop = scrollTop;
    // a new surface takes the focus if nothing else has it
    if (active !== document.activeElement) /** @type {HTMLElement} */ (document.activeElement).blur();
  }

  function fit() {
    stage.style.inlineSize = isPhone ? "390px" : "";
    stage.style.setProperty("zoom", isPhone ? "1" : String(Math.min(1, pane.clientWidth / WIDE)));
  }
  const observer = new ResizeObserver(fit);
  observer.observe(pane);

  // ---- the server's answers

  /** @param {State} state @param {boolean} isFormKept */
  function show(state, isFormKept) {
    const isForm = !fields.hidden;
    ({ version, text } = state);
    if (state.value && !isFormKept && (state.mistakes.length === 0 || isForm)) {
      rubric = state.value;
      form.draw();
    }
    yaml.show(text, state.mistakes);
    form.mark(state.mistakes);
    listMistakes(state.mistakes);
    const time = new Date().toTimeString().slice(0, 5);
    const word = state.stored ? `Saved ${time}` : "Not saved: put right what is listed";
    showState(state.stored ? "saved" : "waiting", data.locked ? "Fixed since launch" : word);
    undo.disabled = !history.canUndo();
    redo.disabled = !history.canRedo();
    const copy = JSON.stringify({ version, text, ...history.stored() });
    if (!data.locked) orElse(() => sessionStorage.setItem(name, copy), undefined);
    preview(state.view);
  }

  /**
   * Lists mistakes. The form hides those of short names that are empty because a title is missing.
   * @param {Mistake[]} all
   */
  function listMistakes(all) {
    listed = all;
    const isEmpty = (/** @type {Mistake} */ { path }) => path.at(-1) === "key" && all.some((other) => String(other.path) === String([...path.slice(0, -1), "title"]));
    const those = fields.hidden ? all : all.filter((mistake) => !isEmpty(mistake));
    mistakes.replaceChildren(...those.slice(0, 10).map((mistake) => mistakeLine(mistake)));
  }

  /** @param {any} mistake */
  function mistakeLine(mistake) {
    const label = fields.hidden && mistake.line ? `Line ${mistake.line}` : "Show";
    const show = button(label, QUIET, () => (fields.hidden ? yaml.goTo(mistake.line ?? 1) : form.show(mistake.path)));
    const cure = mistake.cure && button(`Write “${mistake.cure[1]}”`, PLAIN, () => send({ text: yaml.cured(mistake) }, false));
    return h("li", {}, show, h("span", {}, h("b", { text: mistake.place ? `${mistake.place}: ` : "" }), mistake.message), cure);
  }

  /** @param {string} state @param {string} label */
  function showState(state, label) {
    saved.dataset.state = state;
    saved.textContent = label;
  }

  // ---- messages to the server

  /** @param {Record<string, any>} what @param {boolean} isTyping */
  function send(what, isTyping) {
    if (data.locked) return;
    pending = what;
    showState("saving", "Saving …");
    clearTimeout(timer);
    clearTimeout(rest);
    timer = setTimeout(flush, isTyping ? PAUSE_MS : 0);
  }

  async function flush() {
    if (isSending || !pending) return;
    isSending = true;
    const message = pending;
    pending = null;
    // the form's values are written into the current text
    if (message.value) message.text = text;
    const { status, answer } = await post(JSON.stringify({ study: data.study, form: data.stored, base: version, ...message }))
      .catch(() => ({ status: 0, answer: null }));
    isSending = false;
    answered(message, status, /** @type {any} */ (answer));
    if (pending) flush();
  }

  /** @param {Record<string, any>} message @param {number} status @param {State | null} answer */
  function answered(message, status, answer) {
    notice.hidden = true;
    if (status === 200 && answer?.changed) return ask(message, answer);
    if (status === 200 && answer) {
      if (!message.isStep) history.push(answer.text);
      if (answer.stored) rest = setTimeout(() => tell("stored", answer.version), REST_MS);
      return show(answer, Boolean(message.value) || (pending !== null && "value" in pending));
    }
    if (status === 0 || status >= 500 || status === 429) {
      showState("waiting", "Not saved yet, trying again");
      pending ??= message;
      timer = setTimeout(flush, AGAIN_MS);
      return;
    }
    notice.replaceChildren(answer?.message ?? "The server did not take this.");
    notice.hidden = false;
    showState("waiting", "Not saved");
  }

  /**
   * Another lead changed the rubric first: lets the user choose.
   * @param {Record<string, any>} message
   * @param {State} theirs
   */
  function ask(message, theirs) {
    const take = button("Show their version", PLAIN, () => {
      notice.hidden = true;
      history.push(theirs.text);
      show(theirs, false);
    });
    const keep = button("Save mine instead", PLAIN, () => {
      version = theirs.version;
      send(message, false);
    });
    notice.replaceChildren("Somebody else changed this rubric meanwhile. ", take, keep);
    notice.hidden = false;
    saved.textContent = "Not saved";
  }

  /** @param {string | undefined} step */
  const go = (step) => step !== undefined && send({ text: step, isStep: true }, false);

  // ---- events

  root.addEventListener("keydown", (event) => {
    const isText = event.target instanceof HTMLTextAreaElement || (event.target instanceof HTMLInputElement && event.target.type === "text");
    if (isText || pane.contains(/** @type {Node} */ (event.target)) || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
    event.preventDefault();
    go(event.shiftKey ? history.redo() : history.undo());
  });
  start.addEventListener("change", () => {
    if (start.value) send({ start: start.value }, false);
    start.value = "";
  });
  file.addEventListener("change", async () => {
    const [first] = file.files ?? [];
    if (first) send({ text: await first.text() }, false);
    file.value = "";
  });

  // ---- start: restores this tab's unsent input

  parent.append(root);
  if (data.locked) orElse(() => sessionStorage.removeItem(name), undefined);
  const before = JSON.parse(orElse(() => sessionStorage.getItem(name), null) ?? "null");
  if (before?.version === version && before.texts?.length) {
    history = createHistory(before.texts, before.at);
    if (before.text !== text) send({ text: before.text, isStep: true }, false);
  }
  form.draw();
  show(data.state, false);
  fit();
  return {
    again() {}, // the form has newer values than the page
    close() {
      clearTimeout(timer);
      clearTimeout(rest);
      if (pending) flush();
      observer.disconnect();
      closeStage();
      root.remove();
    },
  };
}

/** @param {Component<{ json: string }, string>} component */
export default mountedOnce(({ parentElement, data, setTriggerValue }) => mount(parentElement, JSON.parse(data.json), setTriggerValue));

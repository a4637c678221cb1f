// The responses and their questions, in one of three layouts: side by side, one after another, or stacked.

import { button, h, nameOf } from "./dom.js";
import { turnBubble } from "./context.js";
import { textBox } from "./highlighter.js";
import { buildQuestion, criterionHead } from "./question.js";

const WIDEST_SIDE_BY_SIDE = 3;

/** "grid" side by side, "steps" one response at a time, "single" one response, "stack" on narrow screens. */
export function layoutOf(view, narrow) {
  const count = view.item.candidates.length;
  if (count > WIDEST_SIDE_BY_SIDE || (count > 1 && view.rubric.presentation === "succession")) return "steps";
  if (narrow) return "stack";
  return count === 1 ? "single" : "grid";
}

/** Builds the board of a surface. @param ui the surface: view, questions, uid, highlighter, layout, step */
export function buildBoard(ui) {
  const build = { grid: gridBoard, steps: stepsBoard, single: singleBoard, stack: stackBoard }[ui.layout];
  return build(ui);
}

const alone = (ui) => ui.view.item.candidates.length === 1;

const aboutItem = (ui) => ui.questions.filter((question) => question.slot === "item");

function fieldset(ui, question) {
  const letters = ui.view.item.candidates.map(({ letter }) => letter);
  const built = buildQuestion(question, { uid: ui.uid, letters, alone: alone(ui) });
  ui.fieldsets.set(question.id, built);
  return built;
}

const asked = (ui, question) => [criterionHead(question.criterion), fieldset(ui, question)];

function judgedText(ui, candidate) {
  const { language, highlights } = ui.view.rubric;
  const label = nameOf(candidate.letter, alone(ui));
  const box = (turn) => textBox({
    slot: candidate.letter, turn, editable: highlights.length > 0 && !ui.readOnly, language,
    label: turn === null ? label : `${label}, turn ${turn + 1}`,
  });
  const turns = candidate.turns ?? [];
  if (!turns.length) return box(null);
  return h("div", { class: "tw-chat tw-chat-judged" }, turns.map((turn, i) => {
    const body = box(i);
    body.classList.add("tw-bubble");
    return turnBubble(turn, language, body);
  }));
}

function tools(ui) {
  if (!ui.view.rubric.highlights.length || ui.readOnly) return null;
  return h("div", { class: "tw-tools", role: "group", "aria-label": "Highlight labels" },
    h("span", { class: "tw-tools-lead", text: "Mark" }), ui.highlighter.chips());
}

function letterHead(ui, candidate) {
  const { letter } = candidate;
  const setAside = ui.view.rubric.set_aside_response;
  return h("div", { class: "tw-letter", data: { slot: letter } },
    h("h2", { class: "tw-letter-name", "aria-label": nameOf(letter, alone(ui)), text: shownName(ui, letter) }),
    h("span", { class: "tw-aside-note", data: { "tw-aside-note": letter } }),
    setAside && !ui.readOnly ? button("Set aside", {
      class: "tw-button tw-quiet tw-small", data: { "tw-set-aside": letter, "tw-tip": setAside.title },
      "aria-label": `${setAside.title}: ${nameOf(letter, alone(ui))}`,
    }) : null);
}

function shownName(ui, letter) {
  if (alone(ui)) return ui.view.rubric.judged === "conversation" ? "Conversation" : "Response";
  return ui.layout === "grid" ? letter : `Response ${letter}`;
}

function responseCell(ui, candidate) {
  return h("div", { class: "tw-response", data: { slot: candidate.letter } }, judgedText(ui, candidate), tools(ui));
}

/** The next item on the same board: a plain text keeps its box, turns are as many as they are. */
export function refillBoard(ui) {
  for (const candidate of ui.view.item.candidates) {
    const cell = ui.board.querySelector(`.tw-response[data-slot="${candidate.letter}"]`);
    if (candidate.turns?.length || !cell.querySelector(`[data-tw-text="${candidate.letter}"]`)) cell.replaceWith(responseCell(ui, candidate));
  }
  ui.board.querySelector(".tw-recall")?.replaceWith(recall(ui));
}

function itemQuestions(ui) {
  const questions = aboutItem(ui);
  if (!questions.length) return null;
  return h("section", { class: "tw-item-questions", "aria-label": "About the item" },
    alone(ui) ? null : h("h2", { class: "tw-panel-title", text: "All responses together" }),
    questions.map((question) => h("div", { class: "tw-item-question" }, asked(ui, question))));
}

function gridBoard(ui) {
  const { candidates } = ui.view.item;
  const rows = ui.view.rubric.criteria.filter((criterion) => criterion.about === "candidate").map((criterion) => [
    criterionHead(criterion),
    candidates.map(({ letter }) => fieldset(ui, ui.questions.find((q) => q.slot === letter && q.criterion === criterion))),
  ]);
  const board = h("div", { class: "tw-board tw-grid" },
    candidates.map((candidate) => letterHead(ui, candidate)),
    candidates.map((candidate) => responseCell(ui, candidate)),
    rows.flat(2), itemQuestions(ui));
  board.style.setProperty("--tw-n", candidates.length);
  return board;
}

function questionsFor(ui, letter) {
  return ui.questions.filter((question) => question.slot === letter).map((question) =>
    h("div", { class: "tw-one" }, asked(ui, question)));
}

function pair(ui, candidate, last) {
  return h("div", { class: "tw-pair" },
    h("div", { class: "tw-pair-text" }, letterHead(ui, candidate), responseCell(ui, candidate)),
    h("div", { class: "tw-pair-questions" }, questionsFor(ui, candidate.letter), last));
}

function singleBoard(ui) {
  return h("div", { class: "tw-board tw-single" }, pair(ui, ui.view.item.candidates[0], itemQuestions(ui)));
}

function stackBoard(ui) {
  const sections = ui.view.item.candidates.map((candidate) => h("section", { class: "tw-stacked" },
    letterHead(ui, candidate), responseCell(ui, candidate), questionsFor(ui, candidate.letter)));
  return h("div", { class: "tw-board tw-stack" }, sections, itemQuestions(ui));
}

/** Slots in the order of steps; the item's own questions come last. */
export function stepsOf(view) {
  const letters = view.item.candidates.map(({ letter }) => letter);
  return view.rubric.criteria.some((criterion) => criterion.about === "item") ? [...letters, "item"] : letters;
}

function stepsBoard(ui) {
  const steps = stepsOf(ui.view);
  const tabs = h("div", { class: "tw-tabs", role: "group", "aria-label": "Responses" }, steps.map((slot, i) => h("button", {
    type: "button", class: "tw-tab", data: { "tw-step": i },
    "aria-label": slot === "item" ? "All responses together" : `Response ${slot}`, text: slot === "item" ? "All" : slot,
  })));
  const panels = steps.map((slot, i) => {
    const candidate = ui.view.item.candidates.find(({ letter }) => letter === slot);
    const next = i < steps.length - 1 ? nextButton(steps[i + 1], i + 1) : null;
    const body = candidate ? pair(ui, candidate, next) : h("div", { class: "tw-last" }, recall(ui), itemQuestions(ui));
    return h("div", { class: "tw-step", data: { "tw-step-panel": i }, hidden: true }, body);
  });
  return h("div", { class: "tw-board tw-steps" }, tabs, panels);
}

function nextButton(slot, step) {
  const label = slot === "item" ? "Next: all responses together" : `Next: response ${slot}`;
  return h("div", { class: "tw-next-row" }, button(`${label} →`, { class: "tw-button tw-next", data: { "tw-step": step } }));
}

/** The texts once more, for questions that compare them. */
function recall(ui) {
  const texts = ui.view.item.candidates.map((candidate) => h("section", { class: "tw-recall-one" },
    h("h2", { class: "tw-letter-name", text: candidate.letter }),
    (candidate.turns ?? []).length
      ? h("div", { class: "tw-chat" }, candidate.turns.map((turn) => turnBubble(turn, ui.view.rubric.language)))
      : h("div", { class: "tw-words tw-recall-text", dir: "auto", lang: ui.view.rubric.language || null, text: candidate.text ?? "" })));
  return h("div", { class: "tw-recall" }, texts);
}

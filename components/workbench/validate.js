// What is still missing before an item can be submitted. Pure; the server checks everything again.

import { questionId } from "./answers.js";
import { wordCount } from "./textpoints.js";

/** All questions of a view in the order of reading: [{id, slot, criterion}]. */
export function questionsOf(view) {
  const { criteria } = view.rubric;
  const about = (kind) => criteria.filter((criterion) => criterion.about === kind);
  const list = (slot, criterion) => ({ id: questionId(slot, criterion.key), slot, criterion });
  const rated = view.item.candidates.flatMap(({ letter }) => about("candidate").map((c) => list(letter, c)));
  return [...rated, ...about("item").map((c) => list("item", c))];
}

export function isAnswered(answers, { slot, criterion }) {
  const value = answers.rating(slot, criterion.key);
  if (Array.isArray(value)) return value.length > 0 || criterion.scale.none_option === true;
  return value !== undefined;
}

/** What is wrong with the explanation of the given answer, in words; "" if nothing. */
export function explanationProblem(answers, { slot, criterion }, limits) {
  const ask = answers.asked(slot, criterion);
  if (!ask) return "";
  const { reasons, text } = answers.explanation(slot, criterion.key, answers.rating(slot, criterion.key));
  const words = ask.free_text === "none" ? 0 : wordCount(text);
  if (ask.free_text === "required" && words === 0) return "needs an explanation";
  if (ask.reasons.length && !reasons.length && words === 0) {
    return ask.free_text === "none" ? "needs at least one reason" : "needs a reason or a few words";
  }
  if (words > 0 && words < limits.min_words) return `needs at least ${limits.min_words} words (now ${words})`;
  if (words > limits.max_words) return `takes at most ${limits.max_words} words (now ${words})`;
  return "";
}

/** Problem with one question, in words; "" if it is complete or need not be answered. */
export function problemOf(answers, question, limits) {
  if (answers.isSetAside(question.slot)) return "";
  if (isAnswered(answers, question)) return explanationProblem(answers, question, limits);
  return question.criterion.required ? "is not answered" : "";
}

/** Everything that stands in the way of a submit: [{id, slot, criterion, problem}], in the order of reading. */
export function problems(view, answers) {
  return questionsOf(view).flatMap((question) => {
    const problem = problemOf(answers, question, view.rubric.explanation);
    return problem ? [{ ...question, problem }] : [];
  });
}

/** Whether all of one response (or of the item's own questions) is complete. */
export function isComplete(view, answers, slot) {
  return questionsOf(view).every((q) => q.slot !== slot || !problemOf(answers, q, view.rubric.explanation));
}

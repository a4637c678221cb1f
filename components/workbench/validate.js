// What is missing before an item can be submitted. Pure; the server checks everything again.

import { questionId } from "./answers.js";
import { _, ngettext } from "./language.js";
import { lengthInWords } from "./texts/textpoints.js";

/** @import { Answers } from "./answers.js" */
/** @import { Criterion, Limits, Problem, Question, View } from "./types.js" */
/** @typedef {{ view: View, answers: Answers }} Answering an item and the answers to it */

/** All questions of a view in the order of reading. @param {View} view @returns {Question[]} */
export function questionsOf({ rubric, item }) {
  /** @param {string} slot @param {Criterion["about"]} about */
  const about = (slot, about) => rubric.criteria.filter((criterion) => criterion.about === about)
    .map((criterion) => ({ id: questionId(slot, criterion.key), slot, criterion }));
  return [...item.candidates.flatMap(({ letter }) => about(letter, "candidate")), ...about("item", "item")];
}

/** @param {Answers} answers @param {Question} question */
export function isAnswered(answers, { slot, criterion: { key, scale } }) {
  const value = answers.rating(slot, key);
  if (Array.isArray(value)) return value.length > 0 || (scale.kind === "best" && scale.none_option);
  return value !== undefined;
}

/**
 * What is wrong with the current answer's explanation; "" if nothing is.
 * @param {Answers} answers @param {Question} question @param {Limits} limits
 */
function explanationProblem(answers, { slot, criterion }, limits) {
  const ask = answers.asked(slot, criterion);
  if (!ask) return "";
  const { reasons, text } = answers.explanation(slot, criterion.key, answers.rating(slot, criterion.key));
  const words = ask.free_text === "none" ? 0 : lengthInWords(text);
  if (ask.free_text === "required" && words === 0) return _("needs an explanation");
  if (ask.reasons.length && !reasons.length && words === 0) {
    return ask.free_text === "none" ? _("needs at least one reason") : _("needs a reason or a few words");
  }
  if (words > 0 && words < limits.min_words) return ngettext("needs at least {count} word (now {now})",
    "needs at least {count} words (now {now})", limits.min_words, { now: words });
  if (words > limits.max_words) return ngettext("takes at most {count} word (now {now})",
    "takes at most {count} words (now {now})", limits.max_words, { now: words });
  return "";
}

/**
 * The problem of one question; "" if it is complete or may stay unanswered.
 * @param {Answering} item @param {Question} question
 */
export function problemOf({ view, answers }, question) {
  if (answers.isSetAside(question.slot)) return "";
  if (isAnswered(answers, question)) return explanationProblem(answers, question, view.rubric.explanation);
  return question.criterion.required ? _("is not answered") : "";
}

/** All problems that prevent a submit, in reading order. @param {Answering} item @returns {Problem[]} */
export function problems(item) {
  return questionsOf(item.view).flatMap((question) => {
    const problem = problemOf(item, question);
    return problem ? [{ ...question, problem }] : [];
  });
}

/** Whether all questions of one response, or about the item, are complete. @param {Answering} item @param {string} slot */
export const isComplete = (item, slot) => !problems(item).some((problem) => problem.slot === slot);

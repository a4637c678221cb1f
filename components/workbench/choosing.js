// Two tabs have answers to one item: shows the differences before one version is discarded.

import { h, words } from "./dom.js";
import { _ } from "./language.js";
import { answerText } from "./question.js";

/** @import { Item } from "./item.js" */
/** @import { Draft, Scale, Value } from "./types.js" */
/** @typedef {{ name: string, here: string, there: string }} Difference */

/** @param {Scale} scale @param {Value} value */
const inWords = (scale, value) =>
  (Array.isArray(value) && !value.length ? _("none of them") : answerText(scale, value) || "–");

/** @param {unknown} value */
const isSet = (value) => Boolean(value) && JSON.stringify(value) !== "{}" && JSON.stringify(value) !== "[]";

/**
 * The differences between the answers of this tab and of the other one.
 * @param {Pick<Item, "questions" | "answers" | "nameOf">} item @param {Partial<Draft>} other @returns {Difference[]}
 */
export function differences({ questions, answers, nameOf }, other) {
  const ratings = questions.flatMap((question) => {
    const { slot, criterion: { key, scale } } = question;
    const here = inWords(scale, answers.rating(slot, key));
    const there = inWords(scale, other.ratings?.[slot]?.[key]);
    return here === there ? [] : [{ name: nameOf(question), here, there }];
  });
  const draft = answers.snapshot();
  /** @type {[string, keyof Draft][]} */
  const parts = [
    [_("Explanations"), "explanations"], [_("Highlights"), "highlights"], [_("Set aside"), "set_aside"], [_("Note to the lead"), "note"],
  ];
  /** @param {unknown} value */
  const state = (value) => (isSet(value) ? JSON.stringify(value) : "");
  const rest = parts.filter(([, part]) => state(draft[part]) !== state(other[part])).map(([name, part]) =>
    ({ name, here: isSet(draft[part]) ? _("as in this tab") : "–", there: isSet(other[part]) ? _("as in the other tab") : "–" }));
  return [...ratings, ...rest];
}

/** @param {Difference[]} list */
export const differenceTable = (list) => h("table", { class: "tw-items tw-both" },
  h("thead", {}, h("tr", {}, ["", _("This tab"), _("The other tab")].map((text) => h("th", { scope: "col", text })))),
  h("tbody", {}, list.map(({ name, here, there }) =>
    h("tr", {}, h("th", { scope: "row", dir: "auto", text: name }), words(here, {}, "td"), words(there, {}, "td")))));

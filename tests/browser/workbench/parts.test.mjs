// Parts of the workbench with made-up needs: no page, no surface.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { createItem } from "../../../components/workbench/item.js";
import { createMoves } from "../../../components/workbench/moves.js";
import { createRating } from "../../../components/workbench/rating.js";
import * as views from "./views.js";

const ignore = () => {};

function itemOf(view) {
  const on = { changed: ignore, saved: ignore, refused: ignore };
  return createItem({ ...view, routes: { draft: "", renew: "", act: "" } }, { pen: "p", seconds: () => 0, on });
}

function ratingOf(item, needs = {}) {
  const calls = [];
  const log = (name) => (...args) => calls.push([name, ...args]);
  const rating = createRating({
    item: () => item, toast: log("toast"), announce: log("announce"), goTo: log("goTo"), syncAll: log("syncAll"),
    isBusy: () => false, ...needs,
  });
  return { rating, calls };
}

test("undo goes to the question and names the change", () => {
  const item = itemOf(views.reviews());
  const { rating, calls } = ratingOf(item);
  rating.rate(item.question("B:fluency"), 5);
  rating.undo();
  assert.equal(item.answers.rating("B", "fluency"), undefined);
  assert.deepEqual(calls, [["goTo", "B:fluency"], ["toast", "Undone: Fluency, Response B"]]);
});

test("nothing is undone while a submission is under way", () => {
  const item = itemOf(views.reviews());
  const { rating } = ratingOf(item, { isBusy: () => true });
  rating.rate(item.question("A:fluency"), 5);
  rating.undo();
  assert.equal(item.answers.rating("A", "fluency"), 5);
});

test("adopting another version replaces all answers", () => {
  const item = itemOf(views.reviews({ draft: { ratings: { A: { fluency: 1 } }, note: "old" } }));
  const { rating, calls } = ratingOf(item);
  rating.adopt({ ratings: { B: { fluency: 2 } } });
  assert.deepEqual([item.answers.draft.ratings, item.answers.draft.note], [{ B: { fluency: 2 } }, ""]);
  assert.deepEqual(calls, [["syncAll"]]);
});

test("a second response stays closed until the first is complete", () => {
  const item = itemOf(views.succession());
  const named = [];
  const moves = createMoves({
    item: () => item, page: () => ({ layout: "steps" }),
    showProblems: (problems) => named.push(...problems.map(({ id }) => id)),
  });
  moves.start();
  moves.askStep(1);
  assert.deepEqual(named, ["A:relevance", "A:fluency"]);
});

test("no part imports the surface that makes the parts", () => {
  const folder = new URL("../../../components/workbench/", import.meta.url);
  const users = readdirSync(folder).filter((name) =>
    name.endsWith(".js") && readFileSync(new URL(name, folder), "utf-8").includes('"./surface.js"'));
  assert.deepEqual(users, ["workbench.js"]);
});

// The answers of the server to an action, and their effects.
import assert from "node:assert/strict";
import { test } from "node:test";

import { createDesk } from "../../../components/workbench/desk.js";
import { postTo } from "../../../components/workbench/network.js";

const RUBRIC = { criteria: [] };
const view = (token, more = {}) => ({ rubric: RUBRIC, work: { token, version: 1, receipt: null }, notice: null, routes: { act: "desk/act" }, ...more });
const seen = (token, more) => {
  const { rubric, ...rest } = view(token, more);
  return rest;
};
const submit = { kind: "submit", assignment: "t-1", version: 1, submission: "s-1" };

/** A desk with item t-1 on it; `answers` are the server's in turn, an Error where it is not reached. */
function deskWith(...answers) {
  const shown = [];
  const left = [];
  const asked = [];
  const desk = createDesk({
    post: async (text) => {
      asked.push(JSON.parse(text));
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
    show: (next) => shown.push(next),
    leave: (why) => left.push(why),
  });
  desk.open(view("t-1"));
  shown.pop();
  return { desk, shown, left, asked };
}

test("the next view is shown with the rubric of the first", async () => {
  const { desk, shown } = deskWith({ status: 200, answer: { showing: null, view: seen("t-2") } });
  await desk.act(submit);
  assert.deepEqual(shown, [view("t-2")]);
});

test("an action names the earlier item that is shown", async () => {
  const { desk, asked } = deskWith(
    { status: 200, answer: { showing: "t-0", view: seen("t-0") } },
    { status: 200, answer: { showing: null, view: seen("t-1") } },
  );
  await desk.act({ kind: "back", assignment: "t-1" });
  await desk.act({ kind: "forward", assignment: "t-0" });
  assert.deepEqual(asked.map(({ showing }) => showing), [null, "t-0"]);
});

test("the last submission is acknowledged before the annotator leaves", async () => {
  const { desk, shown, left } = deskWith({ status: 200, answer: { nothing: "finished" } });
  await desk.act(submit);
  assert.equal(shown[0].work.receipt, "s-1");
  assert.deepEqual(left, ["nothing"]);
});

test("a late answer is ignored once the annotator has continued editing", async () => {
  let late;
  const { desk, shown, asked } = deskWith(new Promise((resolve) => { late = resolve; }));
  const first = desk.act(submit);
  await desk.act({ kind: "stay" });
  late({ status: 200, answer: { showing: null, view: seen("t-2") } });
  await first;
  assert.deepEqual([shown, asked.length], [[], 1]);
});

test("a second answer to a repeated submission is ignored", async () => {
  let late;
  const { desk, shown } = deskWith(
    new Promise((resolve) => { late = resolve; }),
    { status: 200, answer: { showing: null, view: seen("t-2") } },
  );
  const first = desk.act(submit);
  await desk.act(submit);
  late({ status: 200, answer: { showing: null, view: seen("t-9") } });
  await first;
  assert.deepEqual(shown.map(({ work }) => work.token), ["t-2"]);
});

test("a submission that did not arrive shows no notice", async () => {
  const { desk, shown, left } = deskWith(new Error("offline"), { status: 503, answer: { message: "away" } });
  await desk.act(submit);
  await desk.act(submit);
  assert.deepEqual([shown, left], [[], []]);
});

test("going back without a network shows a notice", async () => {
  const { desk, shown } = deskWith(new Error("offline"));
  await desk.act({ kind: "back", assignment: "t-1" });
  assert.match(shown[0].notice.text, /did not answer/);
});

test("a refusal shows the server's message", async () => {
  const { desk, shown } = deskWith({ status: 409, answer: { message: "This study is closed." } });
  await desk.act(submit);
  assert.equal(shown[0].notice.text, "This study is closed.");
});

test("being signed out leaves, and stopping needs no server", async () => {
  const { desk, left, asked } = deskWith({ status: 401, answer: { message: "signed out" } });
  await desk.act(submit);
  await desk.act({ kind: "stop" });
  assert.deepEqual(left, ["signed out", "stop"]);
  assert.equal(asked.length, 1);
});

test("a refused submission is not acknowledged when no item is left", async () => {
  const { desk, shown, left } = deskWith({ status: 409, answer: { nothing: "closed", message: "Closed." } });
  await desk.act(submit);
  assert.deepEqual(shown.map(({ work, notice }) => [work.receipt, notice.text]), [[null, "Closed."]]);
  assert.deepEqual(left, ["nothing"]);
});

test("the answer to going back is ignored after a submit", async () => {
  let late;
  const { desk, shown } = deskWith(
    new Promise((resolve) => { late = resolve; }),
    { status: 200, answer: { showing: null, view: seen("t-2") } },
  );
  const back = desk.act({ kind: "back", assignment: "t-1" });
  const sent = desk.act(submit);
  late({ status: 200, answer: { showing: "t-0", view: seen("t-0") } });
  await Promise.all([back, sent]);
  assert.deepEqual(shown.map(({ work }) => work.token), ["t-2"]);
});

test("a preview stores no drafts and stays open after submit and stop", async () => {
  const notices = [];
  const left = [];
  const preview = { ...view("t-1"), routes: { draft: "", renew: "", act: "" } };
  const desk = createDesk({ post: postTo(""), show: (next) => notices.push(next.notice?.text), leave: (why) => left.push(why) });
  desk.open(preview);
  await desk.act(submit);
  await desk.act({ kind: "stop" });
  assert.deepEqual(notices.slice(1), Array(2).fill("This is a preview: nothing you do here is sent or saved."));
  assert.deepEqual(left, []);
  assert.equal((await postTo("")(JSON.stringify({ draft: {} }))).status, 200);
});

test("a rubric that comes with a view replaces the first", async () => {
  const rubric = { criteria: [], training: [{}] };
  const { desk, shown } = deskWith({ status: 200, answer: { showing: null, view: view("t-2", { rubric }) } });
  await desk.act({ kind: "continue", assignment: "t-1" });
  assert.deepEqual(shown[0].rubric, rubric);
});

// The sender of drafts on a clock of its own.
import assert from "node:assert/strict";
import { test } from "node:test";

import { createDraftSender } from "../../../components/workbench/drafts.js";

class Clock {
  time = 0;
  jobs = [];
  now() { return this.time; }
  later(fn, ms) {
    const job = { fn, at: this.time + ms };
    this.jobs.push(job);
    return job;
  }
  cancel(job) { this.jobs = this.jobs.filter((other) => other !== job); }
  async run(ms) {
    const end = this.time + ms;
    for (;;) {
      await settle();
      const next = this.jobs.filter((job) => job.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.cancel(next);
      this.time = Math.max(this.time, next.at);
      next.fn();
    }
    this.time = end;
    await settle();
  }
}

const settle = async () => { for (let n = 0; n < 10; n += 1) await Promise.resolve(); };

function setUp({ reply = (body) => ({ status: 200, answer: { stored: body.seq } }), seq = 0 } = {}) {
  const world = { clock: new Clock(), posts: [], copy: undefined, states: [], refused: [], reply, note: "" };
  world.sender = createDraftSender({
    body: () => ({ assignment: "t", draft: { note: world.note } }),
    post: async (text, options) => {
      const body = JSON.parse(text);
      world.posts.push({ at: world.clock.now(), body, keepalive: options.keepalive });
      return world.reply(body, options);
    },
    keep: (entry) => world.storage !== "full" && (world.copy = entry), onState: (state) => world.states.push(state),
    onRefused: (answer) => world.refused.push(answer), clock: world.clock, seq,
  });
  world.type = (note) => {
    world.note = note;
    world.sender.changed();
  };
  return world;
}

const hang = (body, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));

test("a change is sent after 400 ms and its copy removed once acknowledged", async () => {
  const world = setUp({ seq: 4 });
  world.type("a");
  await world.clock.run(399);
  assert.equal(world.posts.length, 0);
  assert.equal(world.copy.draft.note, "a");
  await world.clock.run(1);
  assert.deepEqual([world.posts.length, world.posts[0].body.seq, world.posts[0].body.base], [1, 5, 4]);
  assert.equal(world.copy, null);
  assert.deepEqual(world.states, ["saving", "saved"]);
});

test("at most one draft a second is sent while changes go on", async () => {
  const world = setUp();
  for (let n = 0; n < 50; n += 1) {
    world.type(`text ${n}`);
    await world.clock.run(100);
  }
  await world.clock.run(2000);
  const gaps = world.posts.slice(1).map(({ at }, i) => at - world.posts[i].at);
  assert.ok(gaps.every((gap) => gap >= 1000), String(gaps));
  assert.ok(world.posts.length >= 5 && world.posts.length <= 7);
  assert.equal(world.posts.at(-1).body.draft.note, "text 49");
  assert.equal(world.states.at(-1), "saved");
});

test("one request is under way at a time", async () => {
  let open = 0;
  let most = 0;
  const world = setUp({
    reply: async (body) => {
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => world.clock.later(resolve, 1500));
      open -= 1;
      return { status: 200, answer: { stored: body.seq } };
    },
  });
  for (let n = 0; n < 40; n += 1) {
    world.type(`t${n}`);
    await world.clock.run(200);
  }
  await world.clock.run(6000);
  assert.equal(most, 1);
  assert.equal(world.states.at(-1), "saved");
  assert.equal(world.copy, null);
});

test("three seconds without an answer show as waiting and keep the copy", async () => {
  const world = setUp({ reply: hang });
  world.type("a");
  await world.clock.run(3399);
  assert.equal(world.states.at(-1), "saving");
  await world.clock.run(1);
  assert.equal(world.states.at(-1), "waiting");
  assert.equal(world.copy.draft.note, "a");
  await world.clock.run(1000);
  assert.equal(world.posts.length, 2);
  world.reply = (body) => ({ status: 200, answer: { stored: body.seq } });
  await world.clock.run(60_000);
  assert.equal(world.states.at(-1), "saved");
  assert.equal(world.copy, null);
});

test("retries slow down, and start at once when the network is back", async () => {
  const world = setUp({ reply: () => Promise.reject(new Error("offline")) });
  world.type("a");
  await world.clock.run(60_000);
  assert.ok(world.posts.length >= 5 && world.posts.length <= 10);
  assert.equal(world.states.at(-1), "waiting");
  world.reply = (body) => ({ status: 200, answer: { stored: body.seq } });
  world.sender.hurry();
  await world.clock.run(0);
  assert.equal(world.states.at(-1), "saved");
});

test("a server error counts as no answer", async () => {
  const world = setUp({ reply: () => ({ status: 503, answer: null }) });
  world.type("a");
  await world.clock.run(5000);
  assert.ok(world.posts.length >= 2);
  assert.equal(world.refused.length, 0);
});

test("numbers rise with every attempt", async () => {
  const world = setUp({ reply: () => ({ status: 502, answer: null }) });
  world.type("a");
  await world.clock.run(10_000);
  const numbers = world.posts.map(({ body }) => body.seq);
  assert.deepEqual(numbers, numbers.map((_, i) => i + 1));
});

test("a refusal stops the drafts, keeps the copy and is reported once", async () => {
  const world = setUp({ reply: () => ({ status: 409, answer: { refused: "open_elsewhere", draft: {}, draft_seq: 9, message: "m" } }) });
  world.type("a");
  await world.clock.run(2000);
  world.type("b");
  await world.clock.run(5000);
  assert.equal(world.posts.length, 1);
  assert.equal(world.refused.length, 1);
  assert.equal(world.copy.draft.note, "b");
});

test("the state is reported again when storing on this computer fails", async () => {
  const world = setUp({ reply: hang });
  world.type("a");
  await world.clock.run(100);
  assert.deepEqual([world.states, world.sender.isKept], [["saving"], true]);
  world.storage = "full";
  world.type("b");
  await world.clock.run(100);
  assert.deepEqual([world.states, world.sender.isKept], [["saving", "saving"], false]);
});

test("asking what closing would lose brings no removed copy back", async () => {
  const world = setUp({ reply: () => ({ status: 409, answer: { refused: "open_elsewhere" } }) });
  world.type("a");
  assert.equal(world.sender.wouldLose(), false);
  assert.equal(world.copy.draft.note, "a");
  await world.clock.run(2000);
  world.copy = null; // the annotator decided about it when the item was opened again
  assert.equal(world.sender.wouldLose(), false);
  assert.equal(world.copy, null);
});

test("taking over continues from the stored number", async () => {
  const world = setUp({ reply: () => ({ status: 409, answer: { refused: "open_elsewhere", draft_seq: 9 } }) });
  world.type("a");
  await world.clock.run(2000);
  world.reply = (body) => ({ status: 200, answer: { stored: body.seq } });
  world.sender.takeOver(9);
  await world.clock.run(0);
  assert.deepEqual([world.posts.at(-1).body.take, world.posts.at(-1).body.base, world.posts.at(-1).body.seq], [true, 9, 10]);
  world.type("c");
  await world.clock.run(3000);
  assert.equal(world.posts.at(-1).body.take, false);
});

test("leaving the page sends the last draft with keepalive", async () => {
  const world = setUp({ reply: hang });
  world.type("a");
  await world.clock.run(500);
  world.type("b");
  world.sender.leave();
  assert.equal(world.posts.at(-1).keepalive, true);
  assert.equal(world.posts.at(-1).body.draft.note, "b");
  assert.ok(world.copy.seq >= world.posts.at(-1).body.seq);
});

test("a draft too large for keepalive is only stored on this computer", async () => {
  const world = setUp();
  world.type("x".repeat(70_000));
  world.sender.leave();
  assert.equal(world.posts.length, 0);
  assert.equal(world.copy.draft.note.length, 70_000);
});

test("settled waits for the acknowledgement until its limit", async () => {
  const world = setUp({ reply: hang });
  world.type("a");
  let result;
  world.sender.settled(2000).then((saved) => (result = saved));
  await world.clock.run(1999);
  assert.equal(result, undefined);
  await world.clock.run(1);
  assert.equal(result, false);
  const other = setUp();
  other.type("a");
  const saved = other.sender.settled(2000);
  await other.clock.run(10);
  assert.equal(await saved, true);
});

for (const [fate, reply] of [
  ["lost", hang],
  ["refused", (body, options) => new Promise((resolve) => {
    options.signal.addEventListener("abort", () => resolve({ status: 409, answer: { refused: "submitted" } }));
  })],
]) {
  test(`a draft that is ${fate} after the receipt leaves no copy`, async () => {
    const world = setUp({ reply });
    world.type("a");
    await world.clock.run(500);
    assert.equal(world.posts.length, 1);
    world.sender.done();
    await world.clock.run(120_000);
    assert.deepEqual([world.copy, world.posts.length, world.refused, world.sender.isSettled], [null, 1, [], true]);
  });
}

test("after a receipt nothing is stored and nothing sent", async () => {
  const world = setUp();
  world.type("a");
  world.sender.done();
  await world.clock.run(5000);
  assert.equal(world.posts.length, 0);
  assert.equal(world.copy, null);
});

const action = { kind: "submit", submission: "s".repeat(8) };

test("what left the item is kept until it is answered", async () => {
  const world = setUp({ reply: hang });
  world.type("a");
  await world.clock.run(500);
  world.sender.hold(action);
  await world.clock.run(120_000);
  assert.deepEqual([world.copy.action, world.copy.draft.note, world.posts.length], [action, "a", 1]);
  world.sender.done();
  assert.equal(world.copy, null);
});

test("a draft that arrives late leaves what left the item on this computer", async () => {
  const world = setUp({ reply: (body) => new Promise((resolve) => world.clock.later(() => resolve({ status: 200, answer: { stored: body.seq } }), 300)) });
  world.type("a");
  await world.clock.run(500);
  world.sender.hold(action);
  await world.clock.run(1000);
  assert.deepEqual([world.copy.action, world.copy.base], [action, 1]);
  world.sender.resume();
  assert.equal(world.copy, null);
});

test("signing out waits for what left the item", async () => {
  const world = setUp();
  world.sender.hold(action);
  let result;
  world.sender.settled(2000).then((saved) => (result = saved));
  await world.clock.run(2000);
  assert.equal(result, false);
  world.sender.settled(2000).then((saved) => (result = saved));
  world.sender.done();
  await world.clock.run(0);
  assert.equal(result, true);
});

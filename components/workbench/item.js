// The current item: its view, the answers in progress, and their drafts on the server and on this computer.

import { CONTEXT, canonical, createAnswers } from "./answers.js";
import { nameOf, nounOf } from "./dom.js";
import { createDraftSender, judgeLocal } from "./drafts.js";
import { browserClock, postTo } from "./network.js";
import { createLocalDrafts, localKey, personOf } from "./store.js";
import { questionsOf } from "./validate.js";

/** @import { DraftSender } from "./drafts.js" */
/** @import { Answer, Change, FinalAction, Question, SaveState, View } from "./types.js" */

/** Drafts on this computer; if storage is forbidden, only the server stores drafts. */
const localDrafts = createLocalDrafts(() => localStorage);

/**
 * The senders of the current item and of items that were left before their draft had arrived → whether it was left.
 * @type {Map<DraftSender, boolean>}
 */
const senders = new Map();
/** People who worked in this page; several only if they signed in one after the other. @type {Set<string>} */
const people = new Set();

/** Whether leaving the page would lose answers, since neither the server nor this computer has them. */
export const wouldLose = () => [...senders.keys()].some((sender) => sender.wouldLose());

/** Waits for storing, at most `ms`; resolves to whether leaving the page then loses nothing. @param {number} ms */
export async function allSettled(ms) {
  await Promise.all([...senders.keys()].map((sender) => sender.settled(ms)));
  return !wouldLose();
}

/**
 * Sends final actions of other items whose tab closed before the response. A refused one becomes a draft on this
 * computer.
 * @param {View} view of the current item, whose action is not sent here
 * @param {(why: string) => void} onRefused
 */
export async function sendHeld({ work, routes }, onRefused) {
  for (const { key, action, ...entry } of localDrafts.heldBy(personOf(work.store_key))) {
    if (action.assignment === work.token) continue;
    const reply = await postTo(routes.act)(JSON.stringify({ action, showing: null })).catch(() => null);
    if (reply?.status !== 200 && reply?.status !== 409) return; // the next visit tries again
    const { view, nothing, message = view?.notice?.text ?? "" } = reply.answer ?? {};
    if (view?.work.receipt === action.submission || (reply.status === 200 && nothing)) {
      localDrafts.remove(key);
      continue;
    }
    localDrafts.write(key, entry);
    onRefused(message);
  }
}

/** Stops sending and storing, and deletes this computer's drafts of the people in this page. */
export function giveUp() {
  for (const sender of senders.keys()) sender.done();
  senders.clear();
  for (const person of people) localDrafts.forgetPerson(person);
  people.clear();
}

/** @typedef {ReturnType<typeof createItem>} Item */

/**
 * @param {View} view
 * @param {object} needs
 * @param {string} needs.pen this tab's
 * @param {() => number} needs.seconds of activity on this item
 * @param {object} needs.on
 * @param {(change: Change) => void} needs.on.changed
 * @param {() => void} needs.on.saved called when the state of saving changes
 * @param {(answer: Answer) => void} needs.on.refused
 */
export function createItem(view, { pen, seconds, on }) {
  const { work, routes } = view;
  const person = personOf(work.store_key);
  people.add(person);
  localDrafts.sweep(person);
  const key = localKey(work.store_key, pen);
  const entry = localDrafts.find(work.store_key);
  const same = entry !== null && canonical(entry.draft) === canonical(view.draft ?? {});
  const verdict = judgeLocal(entry, work.draft_seq, same);
  let adopted = verdict === "adopt" ? entry : null;
  /** The final action of an earlier visit that has no answer. @type {FinalAction | null} */
  const held = verdict !== "choose" && entry?.action?.version === work.version ? entry.action : null;
  if (entry && (adopted || held)) localDrafts.move(entry, key);
  else if (entry && verdict === "same") localDrafts.remove(entry.key);
  /** The places of answers that the server has not acknowledged. @type {Set<string>} */
  const unsent = new Set();
  /** @type {SaveState} */
  let saved = "saved";
  const answers = createAnswers(adopted ? adopted.draft : view.draft, (change) => {
    unsent.add(change.path.slice(-2).join(".")); // a rating and its reason are one answer
    drafts.changed();
    on.changed(change);
  });
  const drafts = createDraftSender({
    body: () => ({
      assignment: work.token, version: work.version, pen, draft: answers.snapshot(), active_seconds: seconds(),
    }),
    post: postTo(routes.draft),
    keep(draft) {
      if (routes.draft === "") return true; // a preview has nothing to lose
      if (draft) return localDrafts.write(key, draft);
      localDrafts.remove(key);
    },
    onState(state) {
      saved = state;
      if (state === "saved") unsent.clear();
      on.saved();
    },
    onRefused: on.refused, clock: browserClock, seq: work.draft_seq,
  });
  for (const [sender, left] of senders) if (left && sender.isSettled) senders.delete(sender);
  senders.set(drafts, false);
  const { candidates } = view.item;
  const alone = candidates.length === 1;
  const questions = questionsOf(view);
  const noun = nounOf(view.rubric);

  return {
    view,
    questions,
    answers,
    drafts,
    alone,
    unsent,
    held,
    get saved() {
      return saved;
    },
    readOnly: Boolean(view.feedback),

    /** A different version of these answers on this computer, about which the annotator must decide. */
    older: verdict === "choose" ? entry : null,

    /** Whether another view shows this item at the same version. @param {View} other */
    isOf: (other) => other.work.token === work.token && other.work.version === work.version
      && Boolean(other.feedback) === Boolean(view.feedback),

    /** @param {string} id */
    question: (id) => questions.find((question) => question.id === id) ?? null,

    /** A question's name for people: "Fluency, Response B". @param {Question} question */
    nameOf: ({ slot, criterion }) => (slot === "item" ? criterion.title : `${criterion.title}, ${nameOf(slot, alone, noun)}`),

    /**
     * The text of a response or of the context, in which passages can be marked.
     * @param {string} slot
     * @param {number | null} turn
     */
    textOf(slot, turn) {
      const { context, candidates: shown } = this.view.item;
      const part = slot === CONTEXT ? context : shown.find(({ letter }) => letter === slot);
      return (turn === null ? part?.text : part?.turns[turn].text) ?? "";
    },

    /** The labels for a response, or for the context. @param {string} slot */
    labelsIn(slot) {
      const inContext = slot === CONTEXT;
      return this.view.rubric.highlights.filter((label) => (label.marked_in === "context") === inContext);
    },

    /** The annotator leaves the item or the page: unacknowledged data is still sent. */
    leave() {
      senders.set(drafts, true);
      drafts.leave();
    },

    /** Resends an earlier visit's draft that was not acknowledged. */
    sendAgain() {
      if (!adopted) return;
      drafts.continueFrom(adopted.seq);
      adopted = null;
    },

    /**
     * The annotator decided about the older version: returns its draft, or null to discard it.
     * @param {boolean} use
     */
    settleOlder(use) {
      const { older } = this;
      this.older = null;
      if (older) localDrafts.remove(older.key);
      return use ? older?.draft ?? null : null;
    },
  };
}

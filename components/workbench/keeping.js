// Keeps one annotation: drafts to the server, a copy here until they are acknowledged, and what was left from before.

import { Answers, canonical } from "./answers.js";
import { DraftSender, judgeLocal } from "./drafts.js";
import { browserClock, postTo } from "./network.js";
import { LocalDrafts } from "./store.js";

/** Drafts of this computer; null where storage is forbidden (then only the server keeps them). */
export function localDrafts() {
  try {
    return new LocalDrafts(window.localStorage);
  } catch {
    return new LocalDrafts({ length: 0, key: () => null, getItem: () => null, setItem: () => {}, removeItem: () => {} });
  }
}

const keepings = new Set(); // of the item that lies here, and of items left before their draft had arrived

/** Resolves to whether everything has arrived within `ms`, of items left on the way as well. */
export async function allSettled(ms) {
  const settled = await Promise.all([...keepings].map(({ sender }) => sender.settled(ms)));
  return settled.every(Boolean);
}

/** Nothing is sent or kept any more. */
export function giveUp() {
  for (const { sender } of keepings) sender.done();
  keepings.clear();
}

export class Keeping {
  /**
   * @param view the blinded view, `pen` this tab's pen, `seconds` () => active seconds
   * @param on   {changed({path, undone}), saved(state), refused(status, answer)}
   */
  constructor(view, { pen, seconds, on }) {
    const { work, routes } = view;
    this.stored = routes.draft !== ""; // a preview keeps nothing
    this.local = localDrafts();
    this.local.sweep();
    this.key = LocalDrafts.key(work.store_key, pen);
    const found = this.local.find(work.store_key);
    const same = found !== null && canonical(found.draft) === canonical(view.draft ?? {});
    const verdict = judgeLocal(found, work.draft_seq, same);
    const adopted = verdict === "adopt";
    /** An older version of these answers, kept on this computer, that the annotator must choose about. */
    this.older = verdict === "choose" ? found : null;
    if (found && !this.older) this.local.remove(found.key);
    this.answers = new Answers(adopted ? found.draft : view.draft, (change) => {
      this.sender.changed();
      on.changed(change);
    });
    this.sender = new DraftSender({
      body: () => ({
        assignment: work.token, version: work.version, pen,
        draft: this.answers.snapshot(), active_seconds: seconds(),
      }),
      post: postTo(routes.draft), keep: (entry) => this.#keep(entry),
      onState: on.saved, onRefused: on.refused, clock: browserClock, seq: work.draft_seq,
    });
    this.adopted = adopted ? found.seq : null;
    for (const other of keepings) if (other.left && other.sender.isSettled) keepings.delete(other);
    keepings.add(this);
  }

  /** The item or the page is left; what has not arrived is sent on. */
  leave() {
    this.left = true;
    this.sender.leave();
  }

  /** Sends again what an earlier visit left unacknowledged on this computer. */
  sendAgain() {
    if (this.adopted === null) return;
    this.sender.seq = Math.max(this.sender.seq, this.adopted);
    this.adopted = null;
    this.sender.changed();
  }

  #keep(entry) {
    if (!this.stored) return;
    if (entry) this.local.write(this.key, entry);
    else this.local.remove(this.key);
  }

  /** The annotator decided about the older version: its draft, or null when it is dropped. */
  settleOlder(use) {
    const { older } = this;
    this.older = null;
    if (older) this.local.remove(older.key);
    return use ? older?.draft ?? null : null;
  }
}

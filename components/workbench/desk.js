// Handles the workbench's actions: the server answers with the next view, or the annotator leaves. No DOM.

import { _, message } from "./language.js";
import { PREVIEW } from "./network.js";

/** @import { Action, Post, Reply, View } from "./types.js" */
/** @typedef {"stop" | "nothing" | "signed out"} Reason why the annotator leaves: "stop" is for today, "nothing" means that no item is left */

const UNREACHED = message("The server did not answer. Nothing is lost; please try again.");

/** @typedef {ReturnType<typeof createDesk>} Desk */

/**
 * @param {object} needs
 * @param {Post} needs.post
 * @param {(view: View) => void} needs.show draws a view
 * @param {(why: Reason) => void} needs.leave
 */
export function createDesk({ post, show, leave }) {
  /** @type {View} */
  let view;
  /** The token of an earlier item or of training feedback; null is the current item. @type {string | null} */
  let showing = null;
  /** @type {Action} */
  let last;

  /** @param {View} next @param {string | null} token */
  function open(next, token = null) {
    view = next;
    showing = token;
    show(view);
  }

  /**
   * Draws the same item with some changes to its view; a page drawn again shows this view.
   * @param {Partial<View>} changed
   */
  function redraw(changed) {
    view = { ...view, ...changed };
    show(view);
  }

  /** @param {string} text */
  const warn = (text) => redraw({ notice: { kind: "warning", text } });

  /** @param {Exclude<Action, { kind: "stop" }>} action @param {Reply} reply */
  function answered({ submission }, { status, answer }) {
    if (answer?.view) return open({ ...answer.view, rubric: answer.view.rubric ?? view.rubric }, answer.showing);
    if (answer?.nothing) {
      if (submission && status === 200) redraw({ work: { ...view.work, receipt: submission } });
      else if (answer.message) warn(answer.message);
      return leave("nothing");
    }
    if (status === 401) {
      if (answer?.message) warn(answer.message);
      return leave("signed out");
    }
    if (status > 0 && status < 500 && answer?.message) return warn(answer.message);
    // actions with a submission id are repeated automatically
    if (!submission) warn(_(UNREACHED));
  }

  return {
    open,

    /** Draws the current view again. */
    redraw: () => show(view),

    /** A submission is repeated as the same object. @param {Action} action */
    async act(action) {
      if (action.kind === "stop") return view.routes.act === "" ? warn(_(PREVIEW)) : leave("stop");
      last = action;
      if (action.kind === "stay") return; // sends nothing: an answer to the action before is not awaited any more
      const reply = await post(JSON.stringify({ action, showing })).catch(() => ({ status: 0, answer: null }));
      // a repeated submission may be answered twice, the second time after a later item has appeared
      const { token, version } = view.work;
      const isAwaited = last === action && token === action.assignment && version === (action.version ?? version);
      if (isAwaited) answered(action, reply);
    },
  };
}

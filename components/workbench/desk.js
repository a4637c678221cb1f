// What happens to an action of the workbench: the server answers with the next view, or the annotator leaves. No DOM.

import { PREVIEW } from "./network.js";

const UNREACHED = "The server did not answer. Nothing is lost; please try again.";

export class Desk {
  /**
   * @param post  (text) => Promise<{status, answer}>; rejects when the network does
   * @param show  (view) => void: the surface draws it
   * @param leave (why) => void: "stop" for today, "nothing" left, "signed out"
   */
  constructor({ post, show, leave }) {
    Object.assign(this, { post, show, leave });
    this.showing = null; // the token of an earlier item or of training feedback; null is the current item
  }

  open(view, showing = null) {
    this.view = view;
    this.showing = showing;
    this.show(view);
  }

  async act(action) {
    if (action.kind === "stop") return this.view.routes?.act === "" ? this.#tell(PREVIEW) : this.leave("stop");
    this.last = action; // a submission is repeated as the same object
    const result = await this.#ask(action);
    if (this.last !== action) return undefined;
    const { work } = this.view;
    // a repeated submission may be answered twice, the second time when she is further on
    if (work.token !== action.assignment || work.version !== (action.version ?? work.version)) return undefined;
    return this.#hear(action, result);
  }

  async #ask(action) {
    try {
      return await this.post(JSON.stringify({ action, showing: this.showing }));
    } catch {
      return { status: 0, answer: null };
    }
  }

  #hear(action, { status, answer }) {
    if (answer?.view) return this.open({ ...answer.view, rubric: this.view.rubric }, answer.showing);
    if (answer?.nothing) {
      if (action.submission && status === 200) this.#redraw({ work: { ...this.view.work, receipt: action.submission } });
      else if (answer.message) this.#tell(answer.message);
      return this.leave("nothing");
    }
    if (status === 401) {
      if (answer?.message) this.#tell(answer.message);
      return this.leave("signed out");
    }
    if (status > 0 && status < 500 && answer?.message) return this.#tell(answer.message);
    // what carries a submission id is sent again by itself
    return action.submission ? undefined : this.#tell(UNREACHED);
  }

  #tell(text) {
    return this.#redraw({ notice: { kind: "warning", text } });
  }

  /** The same item with something changed about it; a page drawn again shows just this. */
  #redraw(changed) {
    this.view = { ...this.view, ...changed };
    this.show(this.view);
  }
}

// What happens to an action of the workbench: the server answers with the next view, or the annotator leaves. No DOM.

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
    if (action.kind === "stop") return this.leave("stop");
    const result = await this.#ask(action);
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
      if (action.submission) this.show({ ...this.view, work: { ...this.view.work, receipt: action.submission } });
      return this.leave("nothing");
    }
    if (status === 401) return this.leave("signed out");
    if (status > 0 && status < 500 && answer?.message) return this.#tell(answer.message);
    // what carries a submission id is sent again by itself
    return action.submission ? undefined : this.#tell(UNREACHED);
  }

  #tell(text) {
    return this.show({ ...this.view, notice: { kind: "warning", text } });
  }
}

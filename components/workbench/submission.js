// Messages to the server that must arrive: repeated with the same id until acknowledged. No DOM.

const REPEAT = 3000;

export class Submission {
  /** @param trigger (action) => void, clock {later, cancel} */
  constructor(trigger, clock) {
    this.trigger = trigger;
    this.clock = clock;
    this.pending = null;
  }

  /** Sends an action with a submission id and repeats it every three seconds. */
  start(action) {
    this.stop();
    this.pending = action;
    this.#send();
  }

  #send() {
    if (!this.pending) return;
    this.trigger(this.pending);
    this.timer = this.clock.later(() => this.#send(), REPEAT);
  }

  /** Whether the view answers the pending action: its receipt, another item, or a notice that says why not. */
  answeredBy(view) {
    if (!this.pending) return false;
    const { receipt, token } = view.work;
    return receipt === this.pending.submission || token !== this.pending.assignment || Boolean(view.feedback);
  }

  stop() {
    this.clock.cancel(this.timer);
    this.pending = null;
  }
}

// Text typed into a study's settings: submitted while it is typed, and stored in this browser until the server has it.

const QUIET_MS = 800; // without a key press: Streamlit sends a text only when its field loses the focus
const AGAIN_MS = 4000; // without an answer: a run takes less, even on a busy machine
const TEXTS = "input:not([role=combobox]), textarea";

/**
 * The typed text, the stored value it is based on, and the texts already sent.
 * @typedef {{ text: string, seen: unknown, sent: string[],
 *   session: string, at: number }} Entry */
/** @typedef {{ path: string, stored: string, seen: unknown }} Shown */
/** @typedef {{ name: string, session: string, savedAt: string | null, hint: string, fields: Record<string, Shown>,
 *   settled: Record<string, string>, stopped: string[], goTo: string,
 *   summaries: Record<string, string> }} Data */

/** Whether two texts or numbers are equal. @param {string} first @param {string} [second] */
const alike = (first, second) =>
  second !== undefined &&
  (first.trim() === second.trim() || (first !== "" && second !== "" && Number(first) === Number(second)));

/** @param {HTMLElement} root @param {(name: string, value: unknown) => void} send */
function watch(root, send) {
  const line = /** @type {HTMLElement} */ (root.querySelector(".triptych-saved"));
  /** @type {Data} */
  let data;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let quiet;

  /** @returns {Record<string, Entry>} */
  const entries = () => {
    try {
      return JSON.parse(localStorage.getItem(data.name) ?? "{}");
    } catch {
      return {}; // storage may be forbidden, or contain something else
    }
  };
  /** @param {Record<string, Entry>} pending */
  const store = (pending) => {
    try {
      if (Object.keys(pending).length) localStorage.setItem(data.name, JSON.stringify(pending));
      else localStorage.removeItem(data.name);
    } catch {
      // storage is forbidden: input is safe only once the server has it
    }
  };
  /** @param {EventTarget | null} target */
  const fieldOf = (target) => {
    const isText = target instanceof Element && target.matches(TEXTS) && !target.closest("[data-testid=stDateInput]");
    const box = isText && target.closest("[class*='st-key-set-']");
    const name = box && [...box.classList].find((each) => each.startsWith("st-key-set-"));
    return name ? data.fields[name.slice("st-key-".length)] : undefined;
  };

  function show() {
    const isWaiting = Object.keys(entries()).length > 0;
    const stopped = data.stopped.length;
    const time = data.savedAt && new Date(data.savedAt).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
    const saved = time ? `Saved ${time}` : data.hint;
    line.textContent = stopped ? `${stopped} not saved` : isWaiting ? "Saving…" : saved;
  }

  function summarize() {
    // a launched study has no summaries
    for (const name of document.querySelectorAll("[data-triptych-summary]")) name.removeAttribute("data-triptych-summary");
    for (const [key, text] of Object.entries(data.summaries)) {
      const name = document.querySelector(`.st-key-${CSS.escape(key)} summary`);
      if (name instanceof HTMLElement) name.dataset.triptychSummary = text;
    }
  }

  function again() {
    const app = document.querySelector('[data-testid="stApp"]');
    if (!(app instanceof HTMLElement) || app.dataset.testConnectionState !== "CONNECTED") return;
    const pending = entries();
    const focused = fieldOf(document.activeElement)?.path;
    const paths = Object.values(data.fields).map((shown) => shown.path);
    const due = paths.filter((path) => {
      const entry = pending[path];
      if (!entry || data.stopped.includes(path)) return false;
      // Streamlit sends input of this session itself, unless the connection or the server was down; input of another
      // one may still be typed, in another tab
      return (entry.session !== data.session || path !== focused) && Date.now() - entry.at > AGAIN_MS;
    });
    if (!due.length) return;
    send("again", Object.fromEntries(due.map((path) => [path, pending[path]])));
    for (const path of due) Object.assign(pending[path], { at: Date.now(), session: data.session });
    store(pending);
  }

  document.addEventListener("input", (event) => {
    const shown = fieldOf(event.target);
    const field = /** @type {HTMLInputElement} */ (event.target);
    if (!shown || !line.isConnected) return;
    const pending = entries();
    const { seen, sent } = pending[shown.path] ?? { seen: shown.seen, sent: [] };
    store({ ...pending, [shown.path]: { text: field.value, seen, sent, session: data.session, at: Date.now() } });
    show();
    clearTimeout(quiet);
    // makes React commit the text, while the focus stays
    quiet = setTimeout(() => field.dispatchEvent(new FocusEvent("focusout", { bubbles: true })), QUIET_MS);
  });
  document.addEventListener("focusout", (event) => {
    const pending = line.isConnected ? entries() : {};
    const entry = pending[fieldOf(event.target)?.path ?? ""];
    if (!entry) return;
    entry.sent.push(entry.text);
    store(pending);
  });
  setInterval(() => line.isConnected && (again(), summarize()), 1000);

  return (/** @type {Data} */ next) => {
    data = next;
    const pending = entries();
    const stored = Object.fromEntries(Object.values(data.fields).map((shown) => [shown.path, shown.stored]));
    for (const [path, { text }] of Object.entries(pending)) {
      if (alike(text, stored[path]) || alike(text, data.settled[path])) delete pending[path];
    }
    store(pending);
    show();
    again();
    setTimeout(summarize);
    if (data.goTo) setTimeout(() => document.querySelector(`.st-key-${CSS.escape(data.goTo)}`)?.scrollIntoView());
  };
}

/** @type {WeakMap<HTMLElement, (data: Data) => void>} */
const watching = new WeakMap();

/** @param {{ data: { text: string }, parentElement: HTMLElement, setTriggerValue: (name: string, value: unknown) => void }} component */
export default ({ data, parentElement, setTriggerValue }) => {
  let take = watching.get(parentElement);
  if (!take) watching.set(parentElement, (take = watch(parentElement, setTriggerValue)));
  take(JSON.parse(data.text));
};

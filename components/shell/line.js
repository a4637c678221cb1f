// Shows the content of Streamlit's dialogs without blocking keys, clicks or the focus.

// Streamlit's dialogs whose message appears elsewhere: here and in line.py
const SAID_ELSEWHERE = ["Connection error", "Page not found"];
// for the style sheets of the whole page
const COLOURS = ["--st-background-color", "--st-border-color", "--st-primary-color", "--st-link-color"];

/** @type {WeakMap<Element, AbortController>} */
const watches = new WeakMap();

/** @typedef {{ down: string, broken: string, language: string, direction: string }} Words */

/** @param {{ data: Words, parentElement: HTMLElement, setTriggerValue: (name: string, value: boolean) => void }} component */
export default function ({ data: { down, broken, language, direction }, parentElement, setTriggerValue }) {
  Object.assign(document.documentElement, { lang: language, dir: direction });
  // only components can read Streamlit's colours
  const own = getComputedStyle(parentElement);
  for (const name of COLOURS) document.body.style.setProperty(name, own.getPropertyValue(name));
  const line = /** @type {HTMLElement} */ (parentElement.querySelector(".triptych-line"));
  const app = document.querySelector('[data-testid="stApp"]');
  if (!app) return;
  watches.get(parentElement)?.abort();
  const watch = new AbortController();
  watches.set(parentElement, watch);
  let hasBeenUp = false;
  let isLost = false;
  let isBroken = false;

  function write() {
    const isUp = app?.getAttribute("data-test-connection-state") === "CONNECTED";
    // clicks made meanwhile were lost, and the login may have ended; an annotator's workbench stores and sends its own
    // data, a preview has none
    const isWorking = document.body.classList.contains("tw-whole");
    if (isUp && isLost && !isWorking) setTriggerValue("returned", true);
    isLost = hasBeenUp && !isUp;
    hasBeenUp ||= isUp;
    const text = isLost ? down : isBroken ? broken : "";
    line.classList.toggle("triptych-line-down", text === down);
    if (line.textContent !== text) line.textContent = text;
  }

  const observer = new MutationObserver(write);
  observer.observe(app, { attributes: true, attributeFilter: ["data-test-connection-state"] });
  watch.signal.addEventListener("abort", () => observer.disconnect());
  // Streamlit reports each dialog to the surrounding page, which is this one
  window.addEventListener("message", ({ source, data }) => {
    if (source !== window || data?.type !== "CLIENT_ERROR_DIALOG" || SAID_ELSEWHERE.includes(data.error)) return;
    isBroken = true;
    write();
  }, { signal: watch.signal });
  write();
  return () => watch.abort();
}

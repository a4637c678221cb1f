// Adds what Streamlit's elements lack: the mark of the current page, the role of a navigation, and a whole title.

/** The observer of each frame, by the component's element. @type {WeakMap<Element, MutationObserver>} */
const observers = new WeakMap();
const SETTLED_MS = 200; // until everything above the container has been drawn, too

/**
 * The last parts of the addresses of the page and of its place, the study's title, and the key of a container to scroll
 * into view once.
 * @typedef {{ path: string, place: string, study: string, shown: string }} Where
 */

/** @param {string} row its class @param {string} path of the link to mark */
function markLink(row, path) {
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(`${row} a`))) {
    const { pathname, searchParams } = new URL(link.href);
    const isCurrent = pathname.split("/").pop() === path && !searchParams.has("section");
    if (isCurrent) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** @param {Where} where */
function mark({ path, place, study }) {
  markLink(".st-key-frame-bar", path);
  markLink(".st-key-frame-places", place);
  markLink(".st-key-heading", path);
  const frame = /** @type {HTMLElement | null} */ (document.querySelector(".st-key-frame"));
  document.body.style.setProperty("--frame-height", `${frame?.offsetHeight ?? 0}px`);
  const places = document.querySelector(".st-key-frame-places");
  places?.setAttribute("role", "navigation");
  places?.setAttribute("aria-label", study);
  // the box cuts long titles
  document.querySelector(".st-key-frame-bar [class*=st-key-study-]")?.setAttribute("title", study);
}

/** The key of the container to scroll into view, until it is drawn. */
let sought = "";

function bringIntoView() {
  const found = sought && document.querySelector(`.st-key-${CSS.escape(sought)}`);
  if (!found) return;
  sought = "";
  setTimeout(() => found.scrollIntoView({ block: "center" }), SETTLED_MS);
}

/** @param {{ data: Where, parentElement: HTMLElement }} component */
export default function ({ data, parentElement }) {
  observers.get(parentElement)?.disconnect();
  // links are drawn later than this, and again on another page
  if (data.shown) sought = data.shown;
  const observer = new MutationObserver(() => {
    mark(data);
    bringIntoView();
  });
  observers.set(parentElement, observer);
  observer.observe(parentElement.closest("section") ?? document.body, { childList: true, subtree: true });
  mark(data);
  bringIntoView();
  return () => observer.disconnect();
}

// Requests to the workbench's HTTP routes: drafts, renewals, actions.

import { _, language, message } from "./language.js";

/** @import { Clock, Post } from "./types.js" */

const HEADERS = { "Content-Type": "application/json", "X-Triptych": "1" };

export const PREVIEW = message("This is a preview: nothing you do here is sent or saved.");

/** @param {string} route @returns {Post} */
export const postTo = (route) => async (text, options = {}) => {
  // a preview has no routes: drafts are discarded, and an action that would leave the item gets a message
  if (!route) return { status: JSON.parse(text).action ? 409 : 200, answer: { message: _(PREVIEW) } };
  const response = await fetch(new URL(route, document.baseURI), {
    method: "POST", headers: { ...HEADERS, "Accept-Language": language() }, credentials: "same-origin", body: text, ...options,
  });
  // a proxy's page is not JSON: of an error the status suffices, and its sign-in page is no answer, whatever its status
  const answer = await response.json().catch(() => null);
  return { status: answer === null && response.ok ? 502 : response.status, answer };
};

/**
 * Renews the reservation of an item. Failures are ignored, since the next draft renews it as well.
 * @param {string} route @param {string} assignment
 */
export const renew = (route, assignment) => postTo(route)(JSON.stringify({ assignment })).catch(() => null);

/**
 * Calls `act` whenever Streamlit's connection is lost or restored, until the signal. Does nothing on a page without
 * Streamlit.
 * @param {(isLost: boolean) => void} act @param {AbortSignal} signal
 */
export function watchConnection(act, signal) {
  const app = document.querySelector('[data-testid="stApp"]');
  if (!app) return;
  const state = "data-test-connection-state";
  const observer = new MutationObserver(() => act(app.getAttribute(state) !== "CONNECTED"));
  observer.observe(app, { attributes: true, attributeFilter: [state] });
  signal.addEventListener("abort", () => observer.disconnect());
}

/** @type {Clock} */
export const browserClock = {
  now: () => performance.now(),
  later: (act, ms) => setTimeout(act, ms),
  cancel: (timer) => clearTimeout(/** @type {number | undefined} */ (timer)),
};

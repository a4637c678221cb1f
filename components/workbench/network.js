// The workbench's HTTP routes: drafts, renewals, actions.

const HEADERS = { "Content-Type": "application/json", "X-Triptych": "1" };

export const PREVIEW = "This is a preview: nothing you do here is sent or kept.";

async function post(route, text, options = {}) {
  // a preview has no routes: drafts vanish, and what would leave the item says so
  if (!route) return { status: JSON.parse(text).action ? 409 : 200, answer: { message: PREVIEW } };
  const response = await fetch(new URL(route, document.baseURI), {
    method: "POST", headers: HEADERS, credentials: "same-origin", body: text, ...options,
  });
  let answer = null;
  try {
    answer = await response.json();
  } catch {
    // a proxy's error page is no JSON; the status says enough
  }
  return { status: response.status, answer };
}

export const postTo = (route) => (text, options) => post(route, text, options);

/** Asks for more time on an item; failures are silent, the next draft renews as well. */
export async function renew(route, assignment) {
  try {
    return await post(route, JSON.stringify({ assignment }));
  } catch {
    return null;
  }
}

export const browserClock = {
  now: () => performance.now(),
  later: (fn, ms) => setTimeout(fn, ms),
  cancel: (handle) => clearTimeout(handle),
};

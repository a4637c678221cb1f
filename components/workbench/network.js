// The workbench's HTTP routes: drafts, renewals, actions.

const HEADERS = { "Content-Type": "application/json", "X-Triptych": "1" };

async function post(route, text, options = {}) {
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

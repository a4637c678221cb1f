// Exchanges a ticket from Python for the session cookie, then opens the page without secrets in its address.

/**
 * The messages of this component.
 * @typedef {{ noAnswer: string, noCookies: string, failed: string, arriving: string }} Words
 */

/** Ticket → a promise of null, or of the error. @type {Map<string, Promise<string | null>>} */
const used = new Map();

/** @param {string} ticket @param {Words} words @returns {Promise<string | null>} */
async function post(ticket, words) {
  const answer = await fetch(new URL("auth/ticket", document.baseURI), {
    method: "POST",
    headers: { "X-Triptych": "1", "X-Triptych-Ticket": ticket, "Accept-Language": document.documentElement.lang },
    credentials: "same-origin",
  });
  if (answer.ok && navigator.cookieEnabled) {
    // a login before this one has ended, so its tabs leave its pages (account.js)
    new BroadcastChannel(LOGIN_CHANNEL).postMessage("signed in");
    return null;
  }
  if (answer.ok) return words.noCookies;
  const body = await answer.json().catch(() => ({}));
  return body.message ?? words.failed;
}

/** @param {string[]} drop parameters @param {string} study */
function cleanAddress(drop, study) {
  const url = new URL(location.href);
  for (const name of drop) url.searchParams.delete(name);
  if (study) url.searchParams.set("study", study);
  return url.href;
}

/** @typedef {Words & { ticket: string, drop: string, study: string, go: boolean }} Data `drop` is a list as JSON */

/** @param {{ data?: Data, parentElement: HTMLElement }} component */
export default function ({ data, parentElement }) {
  if (!data?.ticket) return;
  const { ticket, drop, study, go } = data;
  const line = /** @type {HTMLElement} */ (parentElement.querySelector(".triptych-arriving"));
  line.textContent = data.arriving;
  const signedIn = used.get(ticket) ?? post(ticket, data).catch(() => data.noAnswer);
  used.set(ticket, signedIn);
  signedIn.then((problem) => {
    if (!problem && go) location.replace(cleanAddress(JSON.parse(drop), study));
    else line.textContent = problem ?? "";
  });
}

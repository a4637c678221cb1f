// Turns a ticket that Python issued into the session cookie, then opens the page without secrets in its address.

const NO_ANSWER = "The server did not answer. Reload the page and try again.";
const NO_COOKIES = "Your browser stores no cookies for this site, so you cannot stay signed in. Allow them and reload.";

/** By ticket: null, or what went wrong. @type {Map<string, Promise<string | null>>} */
const used = new Map();

/** @param {string} ticket @returns {Promise<string | null>} */
async function post(ticket) {
  const answer = await fetch(new URL("auth/ticket", document.baseURI), {
    method: "POST",
    headers: { "X-Triptych": "1", "X-Triptych-Ticket": ticket },
    credentials: "same-origin",
  });
  if (answer.ok) return navigator.cookieEnabled ? null : NO_COOKIES;
  const body = await answer.json().catch(() => ({}));
  return body.message ?? "Signing in did not work. Reload the page and try again.";
}

/** @param {string[]} drop parameters */
function cleanAddress(drop) {
  const url = new URL(location.href);
  for (const name of drop) url.searchParams.delete(name);
  return url.href;
}

/** @param {{ data?: { ticket: string, drop: string[], go: boolean }, parentElement: HTMLElement }} component */
export default function ({ data, parentElement }) {
  if (!data?.ticket) return;
  const { ticket, drop, go } = data;
  const signedIn = used.get(ticket) ?? post(ticket).catch(() => NO_ANSWER);
  used.set(ticket, signedIn);
  signedIn.then((problem) => {
    const line = /** @type {HTMLElement} */ (parentElement.querySelector(".triptych-arriving"));
    if (!problem && go) location.replace(cleanAddress(drop));
    else line.textContent = problem ?? "";
  });
}

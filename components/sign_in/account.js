// The account menu in the corner of the top bar, and signing out.

const FLUSH_WAIT_MS = 4000; // for the workbench to send unacknowledged data
const RUBRIC = "triptych-rubric-"; // keys in sessionStorage; the pseudonym follows
const SIGNED_OUT = "signed out";
/** Tells the other tabs of this browser that its login ended: by a sign-out, or as somebody signed in (sign_in.js). */
const endedLogins = new BroadcastChannel(LOGIN_CHANNEL);
/** The account menu on this page. @type {HTMLElement | undefined} */
let menu;

// Streamlit connects a tab again without a run: the page would stay, for the next person to go on in this one's name.
// A page that signs somebody in has no menu, and opens another page itself.
endedLogins.onmessage = (/** @type {MessageEvent} */ event) => {
  if (event.data === SIGNED_OUT) dropRubrics(() => true);
  if (!menu?.isConnected) return;
  window.dispatchEvent(new CustomEvent("triptych:login-ended"));
  location.reload();
};

/** If storage is forbidden, nothing was stored. @param {() => void} change */
function ifAllowed(change) {
  try {
    change();
  } catch {}
}

/** This tab's drafts in localStorage that the server has not acknowledged. */
function unsentDrafts() {
  try {
    const pen = sessionStorage.getItem("triptych-pen");
    if (!pen) return [];
    return Object.keys(localStorage).filter((key) => key.startsWith("triptych:") && key.endsWith(`:${pen}`));
  } catch {
    return []; // storage may be forbidden; then nothing was stored here
  }
}

/** Lets the workbench send its last draft, and asks it by `detail.waitUntil` whether signing out would lose nothing. */
async function flush() {
  /** @type {Promise<boolean>[]} */
  const pending = [];
  /** @param {Promise<boolean>} isSafe */
  const waitUntil = (isSafe) => pending.push(isSafe);
  window.dispatchEvent(new CustomEvent("triptych:sign-out", { detail: { waitUntil } }));
  const late = new Promise((resolve) => setTimeout(resolve, FLUSH_WAIT_MS, [false]));
  return /** @type {boolean[]} */ (await Promise.race([Promise.all(pending), late])).every(Boolean);
}

/** The texts of this component. @typedef {{ group: string, out: string, unsent: string, failed: string }} Words */

/** @param {HTMLButtonElement} button @param {Words} words */
async function signOut(button, words) {
  button.disabled = true;
  const isSafe = await flush();
  const drafts = unsentDrafts();
  if ((drafts.length || !isSafe) && !confirm(words.unsent)) {
    button.disabled = false;
    return;
  }
  try {
    const answer = await fetch(new URL("auth/sign-out", document.baseURI), {
      method: "POST",
      headers: { "X-Triptych": "1" },
      credentials: "same-origin",
    });
    // a page of a proxy is no answer of ours, and then nothing ended
    if (!answer.ok || !(await answer.json()).message) throw new Error(String(answer.status));
    drafts.forEach((key) => localStorage.removeItem(key));
    ifAllowed(() => sessionStorage.clear());
    endedLogins.postMessage(SIGNED_OUT);
    window.dispatchEvent(new CustomEvent("triptych:signed-out"));
    location.replace(new URL(".", document.baseURI).href);
  } catch {
    button.disabled = false;
    button.textContent = words.failed;
  }
}

/** Deletes rubrics that this tab stores. @param {(key: string) => boolean} isDue */
function dropRubrics(isDue) {
  const isDropped = (/** @type {string} */ key) => key.startsWith(RUBRIC) && isDue(key);
  ifAllowed(() => Object.keys(sessionStorage).filter(isDropped).forEach((key) => sessionStorage.removeItem(key)));
}

/** @param {{ data: Words & { pseudonym: string }, parentElement: HTMLElement }} component */
export default function ({ data, parentElement }) {
  const name = /** @type {HTMLElement} */ (parentElement.querySelector(".triptych-account-name"));
  const button = /** @type {HTMLButtonElement} */ (parentElement.querySelector(".triptych-account-out"));
  dropRubrics((key) => !key.startsWith(`${RUBRIC}${data.pseudonym}-`)); // of who was signed in in this tab before
  menu = name;
  name.textContent = data.pseudonym;
  button.textContent = data.out;
  button.parentElement?.setAttribute("aria-label", data.group);
  button.onclick = () => signOut(button, data);
}

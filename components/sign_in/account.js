// The signed-in person's corner of the top bar, and signing out.

const WAIT = 4000; // for the workbench to send what the server does not have yet

/** This tab's drafts in localStorage that no server has acknowledged. */
function unsent() {
  try {
    const pen = sessionStorage.getItem("triptych-pen");
    if (!pen) return [];
    return Object.keys(localStorage).filter((key) => key.startsWith("triptych:") && key.endsWith(`:${pen}`));
  } catch {
    return []; // storage can be forbidden; then nothing was kept
  }
}

/** Lets the workbench send its last draft; it says with `detail.waitUntil(promise)` what to wait for. */
async function flush() {
  const waits = [];
  const waitUntil = (promise) => waits.push(promise);
  window.dispatchEvent(new CustomEvent("triptych:sign-out", { detail: { waitUntil } }));
  await Promise.race([Promise.allSettled(waits), new Promise((done) => setTimeout(done, WAIT))]);
}

async function signOut(button) {
  button.disabled = true;
  await flush();
  const left = unsent();
  if (left.length && !confirm("Some answers have not reached the server. Sign out and lose them?")) {
    button.disabled = false;
    return;
  }
  try {
    const answer = await fetch(new URL("auth/sign-out", document.baseURI), {
      method: "POST",
      headers: { "X-Triptych": "1" },
      credentials: "same-origin",
    });
    if (!answer.ok) throw new Error(answer.status);
    left.forEach((key) => localStorage.removeItem(key));
    window.dispatchEvent(new CustomEvent("triptych:signed-out"));
    location.replace(new URL(".", document.baseURI).href);
  } catch {
    button.disabled = false;
    button.textContent = "Not signed out: no answer. Try again";
  }
}

export default function ({ data, parentElement }) {
  parentElement.querySelector(".triptych-account-name").textContent = data.pseudonym;
  const button = parentElement.querySelector(".triptych-account-out");
  button.onclick = () => signOut(button);
}

// Turns a ticket that Python issued into the session cookie, then opens the page without secrets in its address.

const used = new Map(); // ticket -> Promise of null, or of a message

async function post(ticket) {
  const answer = await fetch(new URL("auth/ticket", document.baseURI), {
    method: "POST",
    headers: { "X-Triptych": "1", "X-Triptych-Ticket": ticket },
    credentials: "same-origin",
  });
  if (answer.ok) return navigator.cookieEnabled ? null : "Your browser keeps no cookies for this site, so you cannot stay signed in. Allow them and reload.";
  const body = await answer.json().catch(() => ({}));
  return body.message ?? "Signing in did not work. Reload the page and try again.";
}

function cleanAddress(drop) {
  const url = new URL(location.href);
  for (const name of drop) url.searchParams.delete(name);
  return url.href;
}

export default function ({ data, parentElement }) {
  if (!data?.ticket) return;
  if (!used.has(data.ticket)) {
    used.set(data.ticket, post(data.ticket).catch(() => "The server did not answer. Reload the page and try again."));
  }
  used.get(data.ticket).then((problem) => {
    const line = parentElement.querySelector(".triptych-arriving");
    if (problem) line.textContent = problem;
    else if (data.go) location.replace(cleanAddress(data.drop));
    else line.textContent = "";
  });
}

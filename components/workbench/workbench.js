// The annotation surface: the default function is called at every change of data or theme,
// with the same parent element; the surface lives on, and only what changed is drawn.

import { allSettled, giveUp, localDrafts } from "./keeping.js";
import { personOf } from "./store.js";
import { Surface } from "./surface.js";

const surfaces = new WeakMap();
const people = new Set(); // who worked in this page: one, unless two signed in after one another

export default function workbench(component) {
  const { parentElement, data } = component;
  people.add(personOf(data.work.store_key));
  let surface = surfaces.get(parentElement);
  if (!surface || surface.closed) {
    surface = new Surface(component);
    surfaces.set(parentElement, surface);
  }
  surface.update(component);
  return () => {
    surface.close();
    surfaces.delete(parentElement);
  };
}

/** Forgets the answers that who worked here kept on this computer, and this tab's pen. */
export function clearLocal() {
  for (const person of people) localDrafts().forgetPerson(person);
  people.clear();
  try {
    sessionStorage.removeItem("triptych-pen");
  } catch {
    // nothing is kept where storage is forbidden
  }
}

const WAIT = 3500; // less than the page that signs out waits

// The page that signs out hears when it may go on, by detail.waitUntil(promise) or a list detail.waits. Nothing is given
// up here: she may yet stay, or not be heard.
window.addEventListener("triptych:sign-out", (event) => {
  const done = allSettled(WAIT);
  event.detail?.waitUntil?.(done);
  event.detail?.waits?.push(done);
});

// It happened: what is left belongs to somebody who is gone, and is neither kept nor sent.
window.addEventListener("triptych:signed-out", () => {
  giveUp();
  clearLocal();
});

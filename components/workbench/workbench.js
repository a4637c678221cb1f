// The annotation surface: the default function is called at every change of data or theme,
// with the same parent element; the surface lives on, and only what changed is drawn.

import { allSettled, giveUp, localDrafts } from "./item.js";
import { dropPen, personOf } from "./store.js";
import { createSurface } from "./surface.js";

/** @import { Surface } from "./surface.js" */
/** @import { Action, Component, View } from "./types.js" */

const SIGN_OUT_WAIT_MS = 3500; // less than the page that signs out waits
/** @type {WeakMap<HTMLElement, Surface>} */
const surfaces = new WeakMap();
const people = new Set(); // who worked in this page: one person, unless two signed in one after the other

/** @param {Component<View, Action>} component */
export default function workbench(component) {
  const { parentElement, data } = component;
  people.add(personOf(data.work.store_key));
  const existing = surfaces.get(parentElement);
  existing?.update(component);
  const surface = existing ?? createSurface(component);
  surfaces.set(parentElement, surface);
  return () => {
    surface.close();
    surfaces.delete(parentElement);
  };
}

// The page that signs out learns when it may go on, by detail.waitUntil(promise). Nothing is given up here: the
// annotator may yet stay signed in.
window.addEventListener("triptych:sign-out", (event) => {
  const { detail } = /** @type {CustomEvent<{ waitUntil: (done: Promise<unknown>) => void }>} */ (event);
  detail.waitUntil(allSettled(SIGN_OUT_WAIT_MS));
});

// What is left belongs to a person who signed out, and is neither stored nor sent.
window.addEventListener("triptych:signed-out", () => {
  giveUp();
  for (const person of people) localDrafts.forgetPerson(person);
  people.clear();
  dropPen();
});

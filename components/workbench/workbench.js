// Entry of the annotation surface. Streamlit calls the default function at every change of data or theme,
// with the same parent element; the surface lives on, and only what changed is drawn.

import { localDrafts } from "./keeping.js";
import { Surface } from "./surface.js";

const surfaces = new WeakMap();
const mounted = new Set();

export default function workbench(component) {
  const { parentElement } = component;
  let surface = surfaces.get(parentElement);
  if (!surface || surface.closed) {
    surface = new Surface(component);
    surfaces.set(parentElement, surface);
    mounted.add(surface);
  }
  surface.update(component);
  return () => {
    surface.close();
    mounted.delete(surface);
    surfaces.delete(parentElement);
  };
}

/** Forgets all answers kept on this computer, and this tab's pen. */
export function clearLocal() {
  localDrafts().clear();
  try {
    sessionStorage.removeItem("triptych-pen");
  } catch {
    // nothing is kept where storage is forbidden
  }
}

/** Waits for what is unsaved (at most five seconds), then clears; resolves to whether all was saved. */
async function signOut() {
  const saved = await Promise.all([...mounted].map((surface) => surface.settled(5000)));
  for (const surface of mounted) surface.keeping.sender.stop();
  clearLocal();
  return saved.every(Boolean);
}

// The page that signs out may pass detail.waitUntil(promise) to hear when it may go on.
window.addEventListener("triptych:sign-out", (event) => {
  const done = signOut();
  event.detail?.waitUntil?.(done);
});

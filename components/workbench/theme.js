// The size of the surface's texts. Its colours are CSS alone: they follow Streamlit's custom properties and color-scheme.

/** @import { Preferences } from "./store.js" */

const SIZES = [0.9, 1, 1.12, 1.25, 1.4];

/** The size of the texts, on this computer. @param {{ root: HTMLElement, preferences: Preferences }} needs */
export function createTextSize({ root, preferences }) {
  let size = Number(preferences.get("text-size", "1"));
  const apply = () => root.style.setProperty("--tw-scale", String(size));
  apply();

  /** @param {number} steps */
  return function changeSize(steps) {
    const place = SIZES.includes(size) ? SIZES.indexOf(size) : 1;
    size = SIZES[Math.min(SIZES.length - 1, Math.max(0, place + steps))];
    preferences.set("text-size", String(size));
    apply();
  };
}

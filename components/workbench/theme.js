// How the surface looks: light or dark, from the page's own colours (Streamlit gives them as custom properties and
// switches them live), and the size of its texts.

/** @import { Preferences } from "./store.js" */

const SIZES = [0.9, 1, 1.12, 1.25, 1.4];

/** [r, g, b] of a hex or rgb() colour, null if it is neither. @param {string} text */
export function parseColour(text) {
  const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})(?:[0-9a-f]{2})?$/i.exec(text.trim());
  if (hex) {
    const digits = hex[1].length === 3 ? [...hex[1]].map((d) => d + d) : hex[1].match(/../g) ?? [];
    return digits.map((pair) => parseInt(pair, 16));
  }
  const rgb = /^rgba?\(\s*([\d.]+)[\s,]+([\d.]+)[\s,]+([\d.]+)/.exec(text.trim());
  return rgb ? rgb.slice(1, 4).map(Number) : null;
}

/** Relative luminance (WCAG 2), 0 to 1. @param {number[]} rgb */
export function luminance(rgb) {
  const [r, g, b] = rgb.map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** @param {number[]} rgb */
const inkOn = (rgb) => (luminance(rgb) > 0.22 ? "#1b1714" : "#ffffff");

/** Marks the root as light or dark and picks a legible ink for the accent. @param {HTMLElement} root */
export function applyTheme(root) {
  const style = getComputedStyle(root);
  const paper = parseColour(style.getPropertyValue("--st-background-color"));
  const dark = paper ? luminance(paper) < 0.2 : matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = dark ? "dark" : "light";
  if (root.dataset.twTheme !== theme) root.dataset.twTheme = theme;
  const accent = parseColour(getComputedStyle(root).getPropertyValue("--st-primary-color"));
  root.style.setProperty("--tw-on-accent", accent ? inkOn(accent) : dark ? "#1b1714" : "#ffffff");
}

/** Hides a surface until its style sheet is there, so that it never shows unstyled. @param {HTMLElement} root */
export async function untilStyled(root) {
  const link = /** @type {HTMLLinkElement | null} */ (document.querySelector("link[data-tw-style]"));
  if (!link || link.sheet) return;
  root.style.visibility = "hidden";
  await new Promise((resolve) => {
    for (const type of ["load", "error"]) link.addEventListener(type, resolve, { once: true });
  });
  root.style.removeProperty("visibility");
}

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

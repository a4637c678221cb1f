// Small helpers for building the page. Data becomes text nodes and attributes only, never markup.

import { _, message, originalLanguage } from "./language.js";

/** @typedef {string | number | boolean | null | undefined} Attribute */
/**
 * @typedef {Record<string, Attribute>} Attributes
 * @typedef {{ text?: string, data?: Attributes, [name: string]: Attribute | Attributes }} Props
 */
/** @typedef {Node | string | null | undefined} Child */

/** @param {Element} element @param {string} name @param {Attribute} value */
function setAttribute(element, name, value) {
  if (value === false || value === null || value === undefined) return;
  element.setAttribute(name, value === true ? "" : String(value));
}

/**
 * Creates an element. `props`: text, data (data-… attributes) and other attributes; true writes an empty attribute;
 * false, null and undefined write none. Children: nodes, strings or null. A text in another language than the page's
 * gets a lang attribute.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Props} props
 * @param {...(Child | Child[])} children
 */
export function h(tag, { text, data = {}, ...attributes } = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, /** @type {Attribute} */ (value));
  for (const [name, value] of Object.entries(data)) setAttribute(element, `data-${name}`, value);
  if (text !== undefined) element.textContent = text;
  const own = originalLanguage(text ?? children[0]);
  if (own && !element.lang) Object.assign(element, { lang: own, dir: "auto" });
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** @param {string} label @param {Props} props */
export const button = (label, props = {}) => h("button", { type: "button", class: "tw-button", ...props }, label);

/** @param {string} label @param {Props} props */
export const quietButton = (label, props) => button(label, { class: "tw-button tw-quiet tw-small", ...props });

/**
 * An element with a text of the data, which determines its own direction.
 * @param {string} text @param {Props} props @param {keyof HTMLElementTagNameMap} tag
 */
export const words = (text, props = {}, tag = "div") =>
  h(tag, { ...props, class: `tw-words ${props.class ?? ""}`.trim(), dir: "auto", text });

/** @type {(root: ParentNode, selector: string) => HTMLElement | null} */
export const find = (root, selector) => root.querySelector(selector);

/** The first match, which must exist. @type {(root: ParentNode, selector: string) => HTMLElement} */
export const part = (root, selector) => /** @type {HTMLElement} */ (root.querySelector(selector));

/** @type {(root: ParentNode, selector: string) => HTMLElement[]} */
export const all = (root, selector) => [...root.querySelectorAll(/** @type {"div"} */ (selector))];

/** @type {(root: ParentNode, selector: string) => HTMLInputElement[]} */
export const inputs = (root, selector) => [...root.querySelectorAll(/** @type {"input"} */ (selector))];

/** The target of an event in a tree of HTML elements. @param {Event} event */
export const targetOf = (event) => /** @type {HTMLElement} */ (event.target);

/**
 * Sets a text; if it is unchanged, the DOM is not touched, so the browser lays out nothing.
 * @param {HTMLElement} element @param {string} text
 */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** What is judged, as a text of the catalogue. @param {{ judged: "response" | "conversation" }} rubric */
export const nounOf = ({ judged }) => (judged === "conversation" ? message("Conversation") : message("Response"));

/** @param {string} slot @param {boolean} alone whether it is the only one @param {string} noun see `nounOf` */
export function nameOf(slot, alone, noun) {
  if (slot === "item") return _("The item");
  if (noun === "Conversation") return alone ? _("The conversation") : _("Conversation {letter}", { letter: slot });
  return alone ? _("The response") : _("Response {letter}", { letter: slot });
}

/** The nearest ancestor that scrolls, or the document's scrolling element. @param {HTMLElement} element */
export function scroller(element) {
  for (let node = element.parentElement; node; node = node.parentElement) {
    const { overflowY } = getComputedStyle(node);
    if ((overflowY === "auto" || overflowY === "scroll") && node !== document.body) return node;
  }
  return document.scrollingElement ?? document.documentElement;
}

/**
 * Places a fixed element below a rectangle, or above it if there is no room, inside the window.
 * @param {HTMLElement} element @param {DOMRect} rect
 */
export function placeNear(element, rect) {
  const { offsetWidth: width, offsetHeight: height } = element;
  const left = Math.max(8, Math.min(rect.left, innerWidth - width - 8));
  const gap = matchMedia("(pointer: coarse)").matches ? 32 : 8; // on a phone, a selection's handles hang below it
  const below = rect.bottom + gap;
  const top = below + height < innerHeight - 8 ? below : Math.max(8, rect.top - height - gap);
  element.style.left = `${left}px`;
  element.style.top = `${top}px`;
}

/** Highlights ranges, if the browser supports it. @param {string} name @param {Range[]} ranges */
export function paint(name, ranges) {
  if (typeof Highlight === "undefined") return;
  if (ranges.length) CSS.highlights.set(name, new Highlight(...ranges));
  else CSS.highlights.delete(name);
}

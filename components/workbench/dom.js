// Small helpers for building the page. Data reach it as text nodes and attributes only, never as markup.

/**
 * An element. `props`: class, text, data (dataset), on-less attributes; true writes an empty attribute,
 * false, null and undefined write none. Children: elements, strings, null.
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "class") element.className = value;
    else if (name === "text") element.textContent = value;
    else if (name === "data") for (const [key, v] of Object.entries(value)) setData(element, key, v);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

function setData(element, key, value) {
  if (value !== null && value !== undefined && value !== false) element.setAttribute(`data-${key}`, String(value));
}

export const button = (label, props = {}) => h("button", { type: "button", class: "tw-button", ...props }, label);

/** Text of the data: its own direction, kept apart from what stands around it. */
export const words = (text, props = {}, tag = "div") =>
  h(tag, { ...props, class: `tw-words ${props.class ?? ""}`.trim(), dir: "auto", text });

/** Sets a text; the same text again changes nothing, not even for the browser's layout. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export const nameOf = (slot, alone) => (slot === "item" ? "The item" : alone ? "The text" : `Response ${slot}`);

/** The nearest ancestor that scrolls, or the document's own. */
export function scroller(element) {
  for (let node = element.parentElement; node; node = node.parentElement) {
    const { overflowY } = getComputedStyle(node);
    if ((overflowY === "auto" || overflowY === "scroll") && node !== document.body) return node;
  }
  return document.scrollingElement;
}

/** Puts a fixed element under (or, without room, above) a rectangle, inside the window. */
export function placeNear(element, rect) {
  const { offsetWidth: width, offsetHeight: height } = element;
  const left = Math.max(8, Math.min(rect.left, innerWidth - width - 8));
  const below = rect.bottom + 8;
  const top = below + height < innerHeight - 8 ? below : Math.max(8, rect.top - height - 8);
  element.style.left = `${left}px`;
  element.style.top = `${top}px`;
}

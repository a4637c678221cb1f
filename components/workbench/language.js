// The app's texts in the current language. English needs no catalogue; the server makes the others from .po files.

/**
 * @typedef {object} Catalogue
 * @property {string} language
 * @property {"ltr" | "rtl"} direction
 * @property {string[]} plurals the categories of Intl.PluralRules, in the order of the forms
 * @property {Record<string, string | string[]>} texts English → translation, or its plural forms
 * @typedef {Record<string, string | number>} Values by placeholder
 */

/** @type {Catalogue} */
const ENGLISH = { language: "en", direction: "ltr", plurals: ["one", "other"], texts: {} };
let catalogue = ENGLISH;
let rules = new Intl.PluralRules("en");

/** The current language, which every request names to the server. */
export const language = () => catalogue.language;
export const direction = () => catalogue.direction;
/** The locale of times: the current language with the country of the browser's, and digits as on the keys. */
export function locale() {
  const [country] = navigator.languages.filter((name) => name.split("-", 1)[0] === catalogue.language);
  return new Intl.Locale(country ?? catalogue.language, { numberingSystem: "latn" }).toString();
}

/**
 * Texts of the study that are not in the page's language, and the language that they are in.
 * @type {{ language: string, texts: Set<unknown> }}
 */
let original = { language: "", texts: new Set() };

/** @param {string} code @param {string[]} texts */
export function keepOriginal(code, texts) {
  original = { language: code, texts: new Set(texts) };
}

/** The language of a study's text if it is not the page's, otherwise "". @param {unknown} text */
export const originalLanguage = (text) => (original.texts.has(text) ? original.language : "");

/** @param {Catalogue} next */
export function use(next) {
  catalogue = next;
  rules = new Intl.PluralRules(next.language);
}

/** Loads and uses a language; English if it cannot be loaded. @param {string} code */
export async function speak(code = "en") {
  if (code === language()) return;
  const load = async () => (await fetch(new URL(`../language/${code}.json`, import.meta.url))).json();
  use(code === "en" ? ENGLISH : await load().catch(() => ENGLISH));
}

/** @param {string} text @param {Values} values */
const filled = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));

/** A text in the current language, with its placeholders filled. @param {string} text @param {Values} values */
export function _(text, values = {}) {
  const translated = catalogue.texts[text];
  return filled(typeof translated === "string" ? translated : text, values);
}

/** Marks a text for the catalogue; the text is translated when it is shown. @param {string} text */
export const message = (text) => text;

/**
 * As `_`, with a plural form chosen by a number, which also fills the placeholder `count`.
 * @param {string} one @param {string} other @param {number} count @param {Values} values
 */
export function ngettext(one, other, count, values = {}) {
  const forms = catalogue.texts[one];
  // without a form of its own, a number has the last one
  const form = Array.isArray(forms) ? forms.at(catalogue.plurals.indexOf(rules.select(count))) : undefined;
  return filled(form ?? (count === 1 ? one : other), { count, ...values });
}

/**
 * A text with elements instead of its placeholders.
 * @param {string} text @param {Record<string, Node | string>} parts @returns {(Node | string)[]}
 */
export const around = (text, parts) => text.split(/\{(\w+)\}/).map((piece, i) => (i % 2 ? parts[piece] : piece));

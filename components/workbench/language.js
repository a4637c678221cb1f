// The app's own words in the language in use. English needs no catalogue; the server makes one from its .po file.

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
/** @type {Map<string, Promise<Catalogue>>} */
const loaded = new Map([["en", Promise.resolve(ENGLISH)]]);
let catalogue = ENGLISH;
let rules = new Intl.PluralRules("en");

/** What the server reads of every request: the language on the page. */
export const language = () => catalogue.language;
export const direction = () => catalogue.direction;
/** For times: the language's words, in the order of the annotator's country, with the digits that are on the keys. */
export function locale() {
  const [country] = navigator.languages.filter((name) => name.split("-", 1)[0] === catalogue.language);
  return new Intl.Locale(country ?? catalogue.language, { numberingSystem: "latn" }).toString();
}

/**
 * Texts of the study on the page that are not in the page's language, but in their own.
 * @type {{ language: string, texts: Set<unknown> }}
 */
let original = { language: "", texts: new Set() };

/** @param {string} code @param {string[]} texts */
export function keepOriginal(code, texts) {
  original = { language: code, texts: new Set(texts) };
}

/** The language of a text of the study that is not in the page's. @param {unknown} text */
export const originalLanguage = (text) => (original.texts.has(text) ? original.language : "");

/** @param {Catalogue} next */
export function use(next) {
  catalogue = next;
  rules = new Intl.PluralRules(next.language);
}

/** Loads a language and uses it; one that cannot be loaded leaves English. @param {string} code */
export async function speak(code = "en") {
  const loading = loaded.get(code) ?? fetch(new URL(`../language/${code}.json`, import.meta.url)).then((answer) => answer.json());
  loaded.set(code, loading);
  use(await loading.catch(() => {
    loaded.delete(code);
    return ENGLISH;
  }));
}

/** @param {string} text @param {Values} values */
const filled = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));

/** A text in the language in use, with its placeholders filled. @param {string} text @param {Values} values */
export function _(text, values = {}) {
  const translated = catalogue.texts[text];
  return filled(typeof translated === "string" ? translated : text, values);
}

/** Marks a text for the catalogue; it is translated when shown. @param {string} text */
export const message = (text) => text;

/**
 * Which of a catalogue's forms a number takes.
 * @param {Catalogue} from
 * @param {number} count
 * @param {Intl.PluralRules} by
 */
export const formOf = ({ plurals }, count, by = rules) => {
  const place = plurals.indexOf(by.select(count));
  return place < 0 ? plurals.length - 1 : place;
};

/**
 * As `_`, by a number, which is also the placeholder `count`.
 * @param {string} one @param {string} other @param {number} count @param {Values} values
 */
export function ngettext(one, other, count, values = {}) {
  const forms = catalogue.texts[one];
  const text = Array.isArray(forms) ? forms[formOf(catalogue, count)] : count === 1 ? one : other;
  return filled(text, { count, ...values });
}

/**
 * A text with elements in place of its placeholders.
 * @param {string} text @param {Record<string, Node | string>} parts @returns {(Node | string)[]}
 */
export const around = (text, parts) => text.split(/\{(\w+)\}/).map((piece, i) => (i % 2 ? parts[piece] : piece));

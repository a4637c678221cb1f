// The form of a rubric, drawn from the table of its schema, which lists each part's fields and their kinds. No key of
// the schema has code of its own here; only the kinds of fields do.

import { h } from "../workbench/dom.js";
import { shortName } from "./history.js";

/** @import { Props } from "../workbench/dom.js" */
/**
 * @typedef {object} Field
 * @property {string} key
 * @property {string} control
 * @property {string} label
 * @property {string} hint
 * @property {boolean} more
 * @property {boolean} required
 * @property {boolean} nullable
 * @property {any} default
 * @property {string} of
 * @property {[any, string][]} options
 */
/** @typedef {Record<string, any>} Part a part of the rubric, as JSON */
/** @typedef {{ form: Record<string, Field[]>, kinds: Record<string, string>, nouns: Record<string, string> }} Schema */
/** @typedef {{ path: (string | number)[], message: string, place: string, line: number | null }} Mistake */

/** Parts that fit on one line; others are folded under their name. */
const ROWS = ["Point", "ChoiceOption", "Reason", "Choosable", "QuestionOption", "HighlightLabel", "Speaker"];
/** @type {Record<string, Part>} */
const SCALES = {
  likert: { kind: "likert", points: [1, 2, 3, 4, 5].map((value) => ({ value })) },
  choice: { kind: "choice", options: [{ key: "yes", title: "Yes", positive: true }, { key: "no", title: "No" }] },
  number: { kind: "number", low: 0, high: 100 },
  best: { kind: "best" },
};
const copyOf = (/** @type {any} */ value) => JSON.parse(JSON.stringify(value));

/** @param {string} text @param {Props} props @param {() => void} act on a click */
export function button(text, props, act) {
  const element = h("button", { type: "button", text, ...props });
  element.addEventListener("click", act);
  return element;
}

/** @param {Part[]} parts @param {number} from @param {number} to */
const moved = (parts, from, to) => parts.toSpliced(from, 1).toSpliced(to, 0, parts[from]);

/** The number that a text is, otherwise the text, whose mistake the server names. @param {string} text */
const numberIn = (text) => (text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text));

/** Whether a part's short name follows this field. @param {Field} field */
const isName = ({ key, control }) => control === "line" && (key === "title" || key === "text");

/** A copy of a scale without reasons and comments, for the next criterion. @param {Part} scale @returns {Part} */
function withoutAsking(scale) {
  const copy = copyOf(scale);
  for (const answer of copy.points ?? copy.options ?? []) delete answer.ask;
  return copy;
}

/**
 * @param {object} needs
 * @param {Schema} needs.schema
 * @param {() => Part} needs.rubric the value that is shown; the form changes it in place
 * @param {(isTyping: boolean) => void} needs.changed
 */
export function createForm({ schema, rubric, changed }) {
  const root = h("div", { class: "rb-form" });
  /** Paths of the parts that are unfolded. */
  const open = new Set(["criteria.0"]);
  /** What keeps each choice of a part up to date while names are typed. @type {(() => void)[]} */
  let followers = [];
  let drag = "";

  /**
   * Draws the form again after parts were added, removed or moved.
   * @param {string} [focus] the path of the field to focus
   */
  function rebuilt(focus) {
    draw();
    if (focus) goTo(focus);
    changed(false);
  }

  // ---- values

  /**
   * Writes a value; empty and default values are omitted.
   * @param {Part} part
   * @param {Field} field
   * @param {any} value
   */
  function put(part, field, value) {
    const isUsual = value === "" || JSON.stringify(value) === JSON.stringify(field.default);
    if (isUsual && !field.required) delete part[field.key];
    else part[field.key] = value;
  }

  /** A new part with its required fields. @param {string} type @param {Part[]} others @returns {Part} */
  function started(type, others = []) {
    const last = others[others.length - 1];
    if (type === "Ask") return { free_text: "required" };
    /** @type {Part} */
    const part = {};
    for (const field of schema.form[type]) {
      if (!field.required) continue;
      if (field.control === "parts") part[field.key] = [started(field.of)];
      else if (field.control === "scale") part[field.key] = withoutAsking(last?.[field.key] ?? SCALES.likert);
      else if (field.control === "number") part[field.key] = last ? Number(last[field.key]) + 1 : 1;
      else if (field.control === "words") part[field.key] = [];
      else if (field.key === "key" && !schema.form[type].some(isName)) part.key = shortName(schema.nouns[type], others.map(({ key }) => key));
      else part[field.key] = field.options[0]?.[0] ?? "";
    }
    return part;
  }

  // ---- fields

  /** @param {Field} field @param {...(Node | string)} inner */
  const labelled = (field, ...inner) =>
    h("label", { class: `rb-field rb-${field.control}` },
      h("span", { class: "rb-label" }, field.label),
      ...inner,
      field.hint ? h("small", { class: "rb-hint", text: field.hint }) : null);

  /** @param {Field} field @param {string} path @param {unknown} value @param {(text: string) => void} act */
  function textBox(field, path, value, act, lines = false) {
    const box = lines ? h("textarea", { rows: 3 }) : h("input", { type: "text" });
    box.value = String(value ?? "");
    box.dataset.rbPath = path;
    box.addEventListener("input", () => {
      act(box.value);
      for (const follow of followers) follow();
      changed(true);
    });
    return labelled(field, box);
  }

  /**
   * A checkbox with its label.
   * @param {string} label @param {boolean} isOn @param {(isOn: boolean) => void} act
   * @param {string | null} [path] @param {string} [hint]
   */
  function tickBox(label, isOn, act, path = null, hint = "") {
    const box = h("input", { type: "checkbox", data: { "rb-path": path } });
    box.checked = isOn;
    box.addEventListener("change", () => act(box.checked));
    return h("label", { class: "rb-tick", title: hint || null }, box, label);
  }

  /**
   * Derives key and tag from the title, unless the lead has changed them.
   * @param {Part} part
   * @param {string} type
   * @param {string} old
   * @param {string} path
   * @param {Part[]} others
   */
  function nameAfter(part, type, old, path, others) {
    for (const { key, control } of schema.form[type]) {
      if (control !== "key" || (part[key] && part[key] !== shortName(old, []) && !/^part(_\d+)?$/.test(part[key]))) continue;
      const taken = key === "key" ? others.filter((other) => other !== part).map((other) => other.key) : [];
      part[key] = shortName(part.title ?? part.text ?? "", taken);
      const box = root.querySelector(`[data-rb-path="${path}.${key}"]`);
      if (box instanceof HTMLInputElement) box.value = part[key];
    }
  }

  /** @typedef {{ part: Part, type: string, path: string, others: Part[] }} Place */
  /** @type {Record<string, (field: Field, at: string, place: Place) => Node>} */
  const controls = {
    line: (field, at, { part, type, path, others }) =>
      textBox(field, at, part[field.key], (text) => {
        const old = String(part[field.key] ?? "");
        put(part, field, text);
        if (isName(field)) nameAfter(part, type, old, path, others);
        const name = root.querySelector(`[data-rb-name="${path}"]`);
        if (name && field.key === "title") name.textContent = text || `New ${schema.nouns[type] ?? "part"}`;
        for (const tool of root.querySelectorAll(`[data-rb-of="${path}"]`)) tool.setAttribute("aria-label", `${tool.getAttribute("title")}: ${text}`);
      }),
    text: (field, at, { part }) => textBox(field, at, part[field.key], (text) => put(part, field, text), true),
    key: (field, at, { part }) => textBox(field, at, part[field.key], (text) => (part[field.key] = text)),
    kind: () => document.createTextNode(""),
    number: (field, at, { part }) =>
      textBox(field, at, part[field.key] ?? field.default, (text) => put(part, field, numberIn(text))),
    value: (field, at, { part }) => textBox(field, at, part[field.key], (text) => (part[field.key] = numberIn(text))),
    words: (field, at, { part }) => textBox(field, at, (part[field.key] ?? []).join(", "), (text) =>
      put(part, field, text.split(",").map((word) => word.trim()).filter(Boolean))),
    pairs: (field, at, { part }) => {
      const lines = Object.entries(part[field.key] ?? {}).map(([name, text]) => `${name}: ${text}`);
      return textBox(field, at, lines.join("\n"), (text) => {
        const pairs = text.split("\n").map((line) => line.split(/:(.*)/s)).filter(([name]) => name.trim());
        put(part, field, Object.fromEntries(pairs.map(([name, value = ""]) => [name.trim(), value.trim()])));
      }, true);
    },
    flag: (field, at, { part }) => tickBox(field.label, Boolean(part[field.key] ?? field.default), (isOn) => {
      put(part, field, isOn);
      changed(false);
    }, at, field.hint),
    choice: (field, at, { part }) => {
      const shown = field.key in part ? part[field.key] : field.default;
      return selectBox(field, at, field.options, shown, (value) => {
        if (value === field.default && !field.required) delete part[field.key];
        else part[field.key] = value;
      });
    },
    one_of: (field, at, { part }) => {
      /** @type {Part[]} */
      const parts = part[field.of] ?? rubric()[field.of] ?? [];
      const nameOf = (/** @type {Part | undefined} */ other) => (other ? other.title || other.key : "Choose …");
      let chosen = parts.find(({ key }) => key && key === part[field.key]);
      const follow = () => {
        if (chosen) part[field.key] = chosen.key;
        for (const line of box.querySelectorAll("option")) line.text = nameOf(options[Number(line.value)][0]);
      };
      /** @type {[any, string][]} */
      const options = parts.map((other) => [other, nameOf(other)]);
      if (!chosen) options.unshift([undefined, nameOf(undefined)]);
      const box = selectBox(field, at, options, chosen, (other) => {
        chosen = other;
        follow();
      });
      followers.push(follow);
      return box;
    },
    ticks: (field, at, { part }) => {
      const chosen = new Set(part[field.key]);
      const boxes = field.options.map(([value, label]) => tickBox(label, chosen.has(value), (isOn) => {
        if (isOn) chosen.add(value);
        else chosen.delete(value);
        put(part, field, field.options.map(([other]) => other).filter((other) => chosen.has(other)));
        changed(false);
      }));
      return h("fieldset", { class: "rb-ticks", data: { "rb-path": at } }, h("legend", { text: field.label }),
        boxes, h("small", { class: "rb-hint", text: field.hint }));
    },
    part: (field, at, { part }) => {
      const value = field.key in part ? part[field.key] : copyOf(field.default);
      const isOn = value !== null && value !== undefined;
      const inner = h("div", { class: "rb-inner" }, isOn ? fieldsOf(field.of, value, at, []) : []);
      // a part that was left out is added with its first change
      for (const type of ["input", "change", "click"]) {
        inner.addEventListener(type, ({ target }) => {
          if (type !== "click" || target instanceof HTMLButtonElement) part[field.key] = value;
        }, true);
      }
      if (!field.nullable) {
        return h("details", { class: "rb-group", open: open.has(at), data: { "rb-open": at } }, h("summary", { text: field.label }), inner);
      }
      const tick = tickBox(field.label, isOn, (next) => {
        if (!next && field.default === null) delete part[field.key];
        else part[field.key] = next ? (field.default ?? started(field.of)) : null;
        rebuilt(at);
      }, at, field.hint);
      return isOn ? h("div", { class: "rb-part" }, tick, inner) : tick;
    },
    parts: (field, at, { part }) => list(field, at, part),
    scale: (field, at, { part }) => {
      const scale = part[field.key];
      const kinds = field.options.map(([kind, label]) => {
        const box = h("input", { type: "radio", name: `rb-${at}`, value: kind, data: { "rb-path": kind === scale.kind ? `${at}.kind` : null } });
        box.checked = kind === scale.kind;
        box.addEventListener("change", () => {
          part[field.key] = copyOf(SCALES[kind]);
          if (kind === "best") part.about = "item";
          rebuilt(`${at}.kind`);
        });
        return h("label", { class: "rb-kind" }, box, h("span", { text: label }));
      });
      const type = schema.kinds[scale.kind];
      return h("div", { class: "rb-scale" },
        h("fieldset", { class: "rb-kinds" }, h("legend", { class: "rb-label", text: "How it is asked" }), kinds),
        type ? fieldsOf(type, scale, at, []) : "");
    },
    text_or_parts: (field, at, { part }) => {
      const isList = Array.isArray(part[field.key]);
      const place = { part, type: "", path: at, others: [] };
      return h("div", { class: "rb-part" }, (isList ? controls.parts : controls.text)(field, at, place),
        tickBox("In turns", isList, (inTurns) => {
          part[field.key] = inTurns ? [started(field.of)] : "";
          rebuilt();
        }));
    },
  };

  /**
   * @param {Field} field
   * @param {string} at
   * @param {[any, string][]} options
   * @param {any} shown
   * @param {(value: any) => void} act
   */
  function selectBox(field, at, options, shown, act) {
    const box = h("select", { data: { "rb-path": at } }, options.map(([, label], n) => h("option", { value: n, text: label })));
    box.value = String(Math.max(0, options.findIndex(([value]) => value === shown)));
    box.addEventListener("change", () => {
      act(options[Number(box.value)][0]);
      changed(false);
    });
    return labelled(field, box);
  }

  // ---- lists

  /** @param {Field} field @param {string} at @param {Part} part */
  function list(field, at, part) {
    /** @type {Part[]} */
    const parts = part[field.key] ?? field.default ?? [];
    const noun = schema.nouns[field.of] ?? "part";
    const label = `+ Add ${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
    const add = button(label, { class: "rb-button", data: { "rb-path": `${at}.add` } }, () => {
      part[field.key] = [...parts, started(field.of, parts)];
      const path = `${at}.${parts.length}`;
      if (field.of === "Criterion") for (const other of parts.keys()) open.delete(`${at}.${other}`);
      open.add(path);
      rebuilt(`${path}.${schema.form[field.of].find(({ more }) => !more)?.key}`);
    });
    const body = h("div", { class: "rb-list" },
      parts.map((_, n) => listed(field, at, part, parts, n)));
    const mayAsk = schema.form[field.of].some(({ key }) => key === "ask");
    const tools = [add, field.of === "Point" ? halves(part, parts) : null, mayAsk ? comments(parts) : null];
    const name = h("div", { class: "rb-list-name" }, field.label, field.hint ? h("small", { class: "rb-hint", text: field.hint }) : null);
    return h("div", { class: "rb-list-box", role: "group", "aria-label": field.label, data: { "rb-path": at } }, name, body, h("div", { class: "rb-tools" }, tools));
  }

  /** @param {Part} part @param {Part[]} points */
  function halves(part, points) {
    return button("Half points", { class: "rb-button rb-quiet" }, () => {
      const halved = points.filter(({ value }) => !Number.isInteger(value));
      part.points = halved.length
        ? points.filter(({ value }) => Number.isInteger(value))
        : points.flatMap((point, n) => (n ? [{ value: (points[n - 1].value + point.value) / 2 }, point] : [point]));
      rebuilt();
    });
  }

  /** @param {Part[]} parts */
  const comments = (parts) => button("Optional comment at each", { class: "rb-button rb-quiet" }, () => {
    for (const part of parts) part.ask ??= { free_text: "optional" };
    rebuilt();
  });

  /** @param {Field} field @param {string} at @param {Part} part @param {Part[]} parts @param {number} n */
  function listed(field, at, part, parts, n) {
    const path = `${at}.${n}`;
    const noun = schema.nouns[field.of] ?? "part";
    const label = parts[n].title || parts[n].text || `${noun} ${n + 1}`;
    /** @param {Part[]} next @param {string} focus */
    const keep = (next, focus) => {
      part[field.key] = next;
      rebuilt(focus);
    };
    /** @param {number} to */
    const move = (to) => keep(moved(parts, n, to), `${at}.${to}.up`);
    /** @param {string} name @param {string} sign @param {boolean} isOff @param {() => void} act */
    const tool = (name, sign, isOff, act) => button(sign, {
      class: name === "Copy" ? "rb-icon rb-copy" : "rb-icon", title: name, "aria-label": `${name}: ${label}`, disabled: isOff,
      data: { "rb-of": path, "rb-path": name === "Move up" ? `${path}.up` : null },
    }, act);
    const tools = h("span", { class: "rb-item-tools" },
      tool("Move up", "↑", n === 0, () => move(n - 1)),
      tool("Move down", "↓", n === parts.length - 1, () => move(n + 1)),
      tool("Copy", "Copy", false, () => {
        const copy = copyOf(parts[n]);
        if (copy.key) copy.key = shortName(copy.key, parts.map(({ key }) => key));
        keep(parts.toSpliced(n + 1, 0, copy), `${at}.${n + 1}`);
      }),
      tool("Delete", "✕", field.required && parts.length === 1, () => keep(parts.toSpliced(n, 1), `${at}.add`)));
    const fields = () => fieldsOf(field.of, parts[n], path, parts);
    if (ROWS.includes(field.of)) return h("div", { class: "rb-row", data: { "rb-path": path } }, fields(), tools);
    const isOpen = open.has(path);
    const title = parts[n].title || parts[n].key || `${noun} ${n + 1}`;
    const fold = () => {
      if (!open.delete(path)) open.add(path);
      draw();
      goTo(path);
    };
    const name = button(title, { class: "rb-name", "aria-expanded": String(isOpen), data: { "rb-name": path, "rb-path": path } }, fold);
    const sum = h("span", { class: "rb-sum", text: isOpen ? "" : summary(parts[n]) });
    sum.addEventListener("click", fold);
    const grip = h("span", { class: "rb-grip", draggable: "true", "aria-hidden": "true", title: "Drag to move", text: "⋮⋮" });
    grip.addEventListener("dragstart", () => (drag = path));
    const card = h("article", { class: `rb-card ${isOpen ? "rb-open" : ""}` },
      h("header", {}, grip, name, sum, tools), isOpen ? h("div", { class: "rb-body" }, fields()) : null);
    card.addEventListener("dragover", (event) => drag.startsWith(`${at}.`) && event.preventDefault());
    card.addEventListener("drop", () => {
      const from = Number(drag.slice(at.length + 1));
      if (!drag.startsWith(`${at}.`) || !Number.isInteger(from) || from === n) return; // a card of an inner list
      drag = "";
      keep(moved(parts, from, n), path);
    });
    return card;
  }

  /** @param {Part} part */
  function summary({ scale, question, text }) {
    const answers = scale?.points ?? scale?.options ?? [];
    const asks = answers.some((/** @type {Part} */ answer) => answer.ask) ? " · asks why" : "";
    if (!scale) return String(text ?? "");
    const size = scale.kind === "number" ? `${scale.low} to ${scale.high}` : answers.length ? `${answers.length} ${scale.points ? "points" : "options"}` : "pick the best";
    return `${size}${asks}${question ? ` · ${question}` : ""}`;
  }

  /**
   * The fields of a part; those that are rarely needed are folded.
   * @param {string} type
   * @param {Part} part
   * @param {string} path
   * @param {Part[]} others
   */
  function fieldsOf(type, part, path, others) {
    const place = { part, type, path, others };
    const at = (/** @type {Field} */ field) => (path ? `${path}.${field.key}` : field.key);
    const drawn = (/** @type {Field} */ field) => controls[field.control](field, at(field), place);
    const fields = schema.form[type];
    const more = fields.filter((field) => field.more);
    const foldedAt = `${path}.more`;
    const fold = more.length ? h("details", { class: "rb-more", open: open.has(foldedAt), data: { "rb-open": foldedAt } },
      h("summary", { text: Object.values(schema.kinds).includes(type) ? "More on the scale" : "More" }), h("div", { class: "rb-inner" }, more.map(drawn))) : null;
    return [...fields.filter((field) => !field.more).map(drawn), ...(fold ? [fold] : [])];
  }

  root.addEventListener("toggle", ({ target }) => {
    if (!(target instanceof HTMLDetailsElement) || !target.dataset.rbOpen) return;
    if (target.open) open.add(target.dataset.rbOpen);
    else open.delete(target.dataset.rbOpen);
  }, true);

  // ---- the whole

  function draw() {
    followers = [];
    root.replaceChildren(...fieldsOf("Rubric", rubric(), "", []));
  }

  /** Unfolds and focuses the field at a path, or the nearest one around it. @param {string} path */
  function goTo(path) {
    const steps = path.split(".");
    if (!path.endsWith(".up")) steps.forEach((_, n) => n > 0 && open.add(steps.slice(0, n + 1).join(".")));
    if (!find(path)) draw();
    const field = find(path);
    for (const fold of root.querySelectorAll("details")) if (fold.contains(field)) fold.open = true;
    const first = field?.matches("input, textarea, select, button") ? field : field?.querySelector("input, textarea, select, button");
    if (first instanceof HTMLElement) first.focus();
    return Boolean(first);
  }

  /** @param {string} path @returns {HTMLElement | null} */
  const find = (path) =>
    [...root.querySelectorAll(/** @type {"div"} */ ("[data-rb-path]"))].find(({ dataset }) => dataset.rbPath === path) ?? null;

  return {
    root,
    draw,

    /** Goes to the field of a mistake, or to the nearest one. @param {(string | number)[]} path */
    show(path) {
      for (let length = path.length; length > 0; length -= 1) if (goTo(path.slice(0, length).join("."))) return;
    },

    /** @param {Mistake[]} mistakes */
    mark(mistakes) {
      for (const field of root.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
      for (const { path } of mistakes) find(path.join("."))?.setAttribute("aria-invalid", "true");
    },
  };
}

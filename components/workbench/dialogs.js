// Small modal dialogs: skip, ignore, set aside, note, keys, and the list of the annotator's items.

import { button, h, nameOf, nounOf, part, words } from "./dom.js";
import { _, locale, message, ngettext } from "./language.js";
import { postTo } from "./network.js";

/** @import { Child, Props } from "./dom.js" */
/** @import { Item } from "./item.js" */
/** @import { Leaving, OwnItems, View } from "./types.js" */

const MAX_REASON_TEXT = 2000; // characters
const MAX_NOTE = 5000; // characters
/** Keys and their functions. @param {boolean} labels whether the rubric has highlight labels */
const keyList = (labels) => [
  ["1 2 3 …", _("answer the outlined question, then go to the next")],
  [".", _("after a digit: half a point more, where the scale has it")],
  [_("Tab, J, K"), _("next and previous question")],
  ["← →", _("move within a question")],
  [_("Delete"), _("clear an answer, or remove the highlight at the caret")],
  ["1 2 3 …", _("after an answer that asks why: tick its reasons")],
  ["E", _("explain the last answer")],
  ...(labels ? [[_("H, then a digit"), _("label the selected text")]] : []),
  [_("U or Ctrl+Z"), _("undo (Ctrl+Shift+Z: redo)")],
  ["G", _("guidelines")],
  ["D", _("what each answer means")],
  ["C", _("the context in full")],
  ["T", labels ? _("into the text, to label it by keyboard") : _("into the text, to scroll it by keyboard")],
  ["F", _("find in the texts that are open")],
  ["/", _("search a long list of options")],
  ["Ctrl+Enter", _("submit")],
  [_("Esc"), _("leave a text box, close a panel or put a label down")],
  ["?", _("this list")],
];

/**
 * A dialog; `ok` is the label of its main button.
 * @param {string} name @param {string} title @param {Child[]} body @param {string} [ok]
 */
function dialog(name, title, body, ok) {
  return h("dialog", { class: "tw-dialog", data: { "tw-dialog": name }, "aria-label": title },
    h("h2", { class: "tw-panel-title", dir: "auto", text: title }), h("div", {}, body),
    h("div", { class: "tw-dialog-problem", role: "alert" }),
    h("div", { class: "tw-dialog-foot" },
      button(ok ? _("Cancel") : _("Close"), { data: { "tw-dialog-close": "1" } }),
      ok ? button(ok, { class: "tw-button tw-primary", data: { "tw-dialog-ok": "1" } }) : null));
}

/** Reasons as radio buttons, none of them selected. @param {string} uid @param {Leaving["reasons"]} reasons */
const reasonList = (uid, reasons) => h("fieldset", {},
  h("legend", { class: "tw-ask-lead", text: _("Why?") }),
  reasons.map(({ key, title }) => h("label", { class: "tw-reason" },
    h("input", { type: "radio", name: `${uid}-reason`, value: key }), words(title, {}, "span"))));

/** @param {number} rows @param {number} maxlength @param {string} label @param {Props} props */
const textArea = (rows, maxlength, label, props = {}) =>
  h("textarea", { rows, class: "tw-area", dir: "auto", maxlength, "aria-label": label, ...props });

// ---- the list of the annotator's items ----

const STATES = {
  open: message("Begun"), rated: message("Rated"), ignored: message("Ignored"), skipped: message("Skipped"),
};
const UNREACHED = message("The list could not be loaded. Please try again.");

/** Minutes and seconds, as in "1:05". @param {number} seconds */
export function clock(seconds) {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

/** "today 16:50", in this computer's time zone. @param {string} at */
function localTime(at) {
  const date = new Date(at);
  const time = date.toLocaleTimeString(locale(), { hour: "numeric", minute: "2-digit" });
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? _("today {time}", { time }) : `${date.toLocaleDateString(locale())} ${time}`;
}

/** @param {OwnItems} own */
function summary({ done, total, minutes_left: left, seconds_per_item: pace }) {
  return [
    _("{done} of {total} done", { done, total }), pace === null ? "" : _("{time} per item", { time: clock(pace) }),
    left === null ? "" : _("about {minutes} min left", { minutes: Math.max(1, left) }),
  ].filter(Boolean).join(" · ");
}

/** @param {OwnItems["items"][number]} item @param {string} shown token of the item on the screen */
function row({ number, token, state, reason, noted, begins, at, seconds }, shown) {
  const isShown = token === shown;
  return h("tr", { "aria-current": isShown ? "true" : null },
    h("th", { scope: "row", text: String(number) }),
    words(begins, { class: "tw-begins" }, "td"),
    h("td", {}, h("span", { class: "tw-strong", text: _(STATES[state]) }), reason ? ": " : null,
      reason ? words(reason, {}, "span") : null, noted ? h("span", { class: "tw-chip-note", text: _("note") }) : null),
    h("td", { class: "tw-when", text: at ? `${localTime(at)} · ${clock(seconds)}` : "" }),
    h("td", {}, isShown ? h("span", { class: "tw-aside", text: _("on the screen") })
      : button(_("Open"), { class: "tw-button tw-small", data: { "tw-open": token }, "aria-label": _("Open item {number}", { number }) })));
}

/**
 * The annotator's items with their state, numbered as they were shown; each opens on a click.
 * @param {OwnItems} own
 * @param {string} shown
 */
function itemList(own, shown) {
  const more = own.total - own.items.length;
  const end = more > 0
    ? ngettext("This is the end of your list so far. Up to {count} more comes.",
      "This is the end of your list so far. Up to {count} more come one by one.", more)
    : _("This is the end of your list: you have been given all your items.");
  const note = _("Times are those of this computer. What you change replaces your answer when you submit it.");
  return [
    h("p", { class: "tw-items-sum", text: summary(own) }),
    h("table", { class: "tw-items" },
      h("thead", {}, h("tr", {}, [_("Item"), _("Begins with"), _("State"), _("When, time taken"), ""].map((text) => h("th", { scope: "col", text })))),
      h("tbody", {}, own.items.toReversed().map((item) => row(item, shown)))),
    h("p", { class: "tw-aside", text: `${end} ${note}` }),
  ];
}

/** The list, or the reason why it cannot be shown. @param {View} view @returns {Promise<(Node | string)[]>} */
async function loadItems({ routes, work }) {
  const reply = await postTo(routes.items)(JSON.stringify({ assignment: work.token })).catch(() => null);
  if (!reply?.answer?.items) return [reply?.answer?.message ?? _(UNREACHED)];
  return itemList(/** @type {OwnItems} */ (/** @type {unknown} */ (reply.answer)), work.token);
}

/** @typedef {ReturnType<typeof createDialogs>} Dialogs */

/**
 * @param {object} needs
 * @param {HTMLElement} needs.root
 * @param {string} needs.uid keeps radio groups of several surfaces apart
 * @param {() => Item} needs.item
 * @param {(kind: "skip" | "ignore", reason: string, text: string) => void} needs.leaveOut
 * @param {() => boolean} needs.keysOn
 * @param {() => void} needs.refocus
 */
export function createDialogs({ root, uid, item, leaveOut, keysOn, refocus }) {
  /** @type {HTMLDialogElement | null} */
  let open = null;
  /** Returns what is missing; "" if nothing is. @type {() => string} */
  let confirmed;

  /** @param {HTMLDialogElement} element @param {() => string} onOk */
  function show(element, onOk = () => "") {
    const opener = /** @type {HTMLElement | null} */ (document.activeElement);
    open?.close();
    open = element;
    confirmed = onOk;
    root.append(element);
    element.addEventListener("close", () => {
      element.remove();
      open = null;
      if (opener?.isConnected) opener.focus({ preventScroll: true });
      else refocus();
    });
    element.showModal();
  }

  /**
   * @param {string} name @param {Leaving} leaving @param {string} ok @param {HTMLTextAreaElement | null} area
   * @param {(reason: string) => void} act
   */
  function askReason(name, { title, reasons }, ok, area, act) {
    const list = reasonList(uid, reasons);
    show(dialog(name, title, [list, area], ok), () => {
      const chosen = list.querySelector("input:checked");
      if (!chosen) return _("Please choose a reason.");
      act(/** @type {HTMLInputElement} */ (chosen).value);
      return "";
    });
  }

  /** @param {"skip" | "ignore"} kind @param {Leaving | null} leaving */
  function askToLeaveOut(kind, leaving) {
    if (!leaving) return;
    const area = textArea(2, MAX_REASON_TEXT, _("Comment (optional)"), { placeholder: _("Comment (optional)") });
    askReason(kind, leaving, kind === "skip" ? _("Skip this item") : _("Ignore this item"), area,
      (reason) => leaveOut(kind, reason, area.value.trim()));
  }

  return {
    skip: () => askToLeaveOut("skip", item().view.rubric.skip),
    ignore: () => askToLeaveOut("ignore", item().view.rubric.ignore_item),

    /** @param {string} letter */
    setAside(letter) {
      const { answers, view } = item();
      const leaving = view.rubric.set_aside_response;
      const name = nameOf(letter, false, nounOf(view.rubric));
      /** @param {string} [reason] */
      const put = (reason) => answers.put(["set_aside", letter], reason, _("setting aside {name}", { name }));
      if (answers.isSetAside(letter)) put();
      else if (leaving) askReason("set-aside", leaving, _("Set aside"), null, put);
    },

    note() {
      const { answers } = item();
      const area = textArea(4, MAX_NOTE, _("Note to the lead"));
      area.value = answers.draft.note;
      const text = _("Is something wrong with this item? The note is no rating; the lead gets it with your answers.");
      show(dialog("note", _("Note to the lead"), [h("p", { class: "tw-ask-lead", text }), area], _("Save note")), () => {
        answers.put(["note"], area.value);
        return "";
      });
    },

    async items() {
      const { view } = item();
      const list = await loadItems(view);
      if (item().view.work.token === view.work.token) show(dialog("items", _("My items"), list));
    },

    keys() {
      const box = h("input", { type: "checkbox", data: { "tw-keys-on": "1" } });
      box.checked = keysOn();
      show(dialog("keys", _("Keys"), [
        h("dl", { class: "tw-keys" }, keyList(item().view.rubric.highlights.length > 0).map(([key, effect]) =>
          h("div", {}, h("dt", {}, h("kbd", { text: key })), h("dd", { text: effect })))),
        h("label", { class: "tw-reason" }, box, _("Use single keys (digits and letters, outside text boxes)")),
      ]));
    },

    get isOpen() {
      return open !== null;
    },

    /** The main button was pressed: runs the dialog's action, or shows what is missing. */
    confirm() {
      if (!open) return;
      const problem = confirmed();
      if (problem) part(open, ".tw-dialog-problem").textContent = problem;
      else open.close();
    },

    cancel: () => open?.close(),

    /** Closes a dialog about the previous item when another one is shown. */
    drop() {
      open?.remove();
      open = null;
    },
  };
}

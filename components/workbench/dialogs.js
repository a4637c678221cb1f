// Skip, ignore, set aside, note, keys: small modal dialogs of the browser.

import { button, h, nameOf, nounOf, part, words } from "./dom.js";
import { _ } from "./language.js";
import { loadItems } from "./own_items.js";

/** @import { Child, Props } from "./dom.js" */
/** @import { Item } from "./item.js" */
/** @import { Leaving } from "./types.js" */

const MAX_REASON_TEXT = 2000; // characters
const MAX_NOTE = 5000; // characters
/** What a key is called, and what it does. */
const keyList = () => [
  ["1 2 3 …", _("answer the outlined question, then go to the next")],
  [".", _("after a digit: half a point more, where the scale has it")],
  [_("Tab, J, K"), _("next and previous question")],
  ["← →", _("move within a question")],
  [_("Delete"), _("clear an answer, or remove the highlight at the caret")],
  ["E", _("explain the last answer")],
  [_("H, then a digit"), _("label the selected text")],
  [_("U or Ctrl+Z"), _("undo (Ctrl+Shift+Z: redo)")],
  ["G", _("guidelines")],
  ["D", _("what each answer means")],
  ["C", _("the context in full")],
  ["T", _("into the text, to label it by keyboard")],
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
    h("h2", { class: "tw-panel-title", dir: "auto", text: title }), h("div", { class: "tw-dialog-body" }, body),
    h("div", { class: "tw-dialog-problem", role: "alert" }),
    h("div", { class: "tw-dialog-foot" },
      button(ok ? _("Cancel") : _("Close"), { data: { "tw-dialog-close": "1" } }),
      ok ? button(ok, { class: "tw-button tw-primary", data: { "tw-dialog-ok": "1" } }) : null));
}

/** Reasons as radios, none of them chosen. @param {string} uid @param {Leaving["reasons"]} reasons */
const reasonList = (uid, reasons) => h("fieldset", { class: "tw-reasons" },
  h("legend", { class: "tw-ask-lead", text: _("Why?") }),
  reasons.map(({ key, title }) => h("label", { class: "tw-reason" },
    h("input", { type: "radio", name: `${uid}-reason`, value: key }), words(title, {}, "span"))));

/** @param {number} rows @param {number} maxlength @param {string} label @param {Props} props */
const textArea = (rows, maxlength, label, props = {}) =>
  h("textarea", { rows, class: "tw-area", dir: "auto", maxlength, "aria-label": label, ...props });

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
  /** Returns what is missing, "" if nothing. @type {() => string} */
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
        h("dl", { class: "tw-keys" }, keyList().map(([key, effect]) =>
          h("div", {}, h("dt", {}, h("kbd", { text: key })), h("dd", { text: effect })))),
        h("label", { class: "tw-reason" }, box, _("Use single keys (digits and letters, outside text boxes)")),
      ]));
    },

    get isOpen() {
      return open !== null;
    },

    /** The main button was used; what is missing is shown. */
    confirm() {
      if (!open) return;
      const problem = confirmed();
      if (problem) part(open, ".tw-dialog-problem").textContent = problem;
      else open.close();
    },

    cancel: () => open?.close(),

    /** Another item: a dialog about the last one disappears with it. */
    drop() {
      open?.remove();
      open = null;
    },
  };
}

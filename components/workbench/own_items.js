// The list of one's items, numbered as they were shown, with their state; any of them opens.

import { button, h, words } from "./dom.js";
import { _, locale, message, ngettext } from "./language.js";
import { postTo } from "./network.js";

/** @import { OwnItems, View } from "./types.js" */

const STATES = {
  open: message("Begun"), rated: message("Rated"), ignored: message("Ignored"), skipped: message("Skipped"),
};
const UNREACHED = message("The list could not be loaded. Please try again.");

/** @param {number} seconds */
const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.round(seconds) % 60).padStart(2, "0")}`;

/** "today 16:50", in the time of this computer. @param {string} at */
function localTime(at) {
  const date = new Date(at);
  const time = date.toLocaleTimeString(locale(), { hour: "2-digit", minute: "2-digit" });
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? _("today {time}", { time }) : `${date.toLocaleDateString(locale())} ${time}`;
}

/** @param {OwnItems} own */
function summary({ done, total, minutes_left: left, seconds_per_item: pace }) {
  return [
    _("{done} of {total} done", { done, total }), pace === null ? "" : _("{time} per item", { time: clock(pace) }),
    left === null ? "" : _("about {minutes} min left", { minutes: left }),
  ].filter(Boolean).join(" · ");
}

/** @param {OwnItems["items"][number]} item @param {string} shown token of the item on the screen */
function row({ number, token, state, reason, noted, begins, at, seconds }, shown) {
  const isShown = token === shown;
  return h("tr", { "aria-current": isShown ? "true" : null, data: { "tw-item": number, state } },
    h("th", { scope: "row", text: String(number) }),
    words(begins, { class: "tw-begins" }, "td"),
    h("td", {}, h("span", { class: "tw-strong", text: _(STATES[state]) }), reason ? ": " : null,
      reason ? words(reason, {}, "span") : null, noted ? h("span", { class: "tw-chip-note", text: _("note") }) : null),
    h("td", { class: "tw-when", text: at ? `${localTime(at)} · ${clock(seconds)}` : "" }),
    h("td", {}, isShown ? h("span", { class: "tw-aside", text: _("on the screen") })
      : button(_("Open"), { class: "tw-button tw-small", data: { "tw-open": token }, "aria-label": _("Open item {number}", { number }) })));
}

/** @param {OwnItems} own @param {string} shown */
export function itemList(own, shown) {
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

/** The list, or why there is none. @param {View} view @returns {Promise<(Node | string)[]>} */
export async function loadItems({ routes, work }) {
  const reply = await postTo(routes.items)(JSON.stringify({ assignment: work.token })).catch(() => null);
  if (!reply?.answer?.items) return [reply?.answer?.message ?? _(UNREACHED)];
  return itemList(/** @type {OwnItems} */ (/** @type {unknown} */ (reply.answer)), work.token);
}

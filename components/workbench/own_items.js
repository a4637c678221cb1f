// The list of one's items, numbered as they were shown, with their state; any of them opens.

import { button, h, words } from "./dom.js";
import { postTo } from "./network.js";

/** @import { OwnItems, View } from "./types.js" */

const STATES = { open: "Begun", rated: "Rated", ignored: "Ignored", skipped: "Skipped" };
const UNREACHED = "The list could not be loaded. Please try again.";

/** @param {number} seconds */
const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.round(seconds) % 60).padStart(2, "0")}`;

/** "today 16:50", in the time of this computer. @param {string} at */
function localTime(at) {
  const date = new Date(at);
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const isToday = date.toDateString() === new Date().toDateString();
  return `${isToday ? "today" : date.toLocaleDateString()} ${time}`;
}

/** @param {OwnItems} own */
function summary({ done, total, minutes_left: left, seconds_per_item: pace }) {
  return [
    `${done} of ${total} done`, pace === null ? "" : `${clock(pace)} per item`,
    left === null ? "" : `about ${left} min left`,
  ].filter(Boolean).join(" · ");
}

/** @param {OwnItems["items"][number]} item @param {string} shown token of the item on the screen */
function row({ number, token, state, reason, noted, begins, at, seconds }, shown) {
  const isShown = token === shown;
  return h("tr", { "aria-current": isShown ? "true" : null, data: { "tw-item": number, state } },
    h("th", { scope: "row", text: String(number) }),
    words(begins, { class: "tw-begins" }, "td"),
    h("td", {}, h("span", { class: "tw-strong", text: STATES[state] }), reason ? ": " : null,
      reason ? words(reason, {}, "span") : null, noted ? h("span", { class: "tw-chip-note", text: "note" }) : null),
    h("td", { class: "tw-when", text: at ? `${localTime(at)}, ${clock(seconds)}` : "" }),
    h("td", {}, isShown ? h("span", { class: "tw-aside", text: "on the screen" })
      : button("Open", { class: "tw-button tw-small", data: { "tw-open": token }, "aria-label": `Open item ${number}` })));
}

/** @param {OwnItems} own @param {string} shown */
export function itemList(own, shown) {
  const more = own.total - own.items.length;
  const end = more > 0 ? `This is the end of your list so far. Up to ${more} more come one by one.`
    : "This is the end of your list: you have been given all your items.";
  return [
    h("p", { class: "tw-items-sum", text: summary(own) }),
    h("table", { class: "tw-items" },
      h("thead", {}, h("tr", {}, ["Item", "Begins with", "State", "When, time taken", ""].map((text) => h("th", { scope: "col", text })))),
      h("tbody", {}, own.items.toReversed().map((item) => row(item, shown)))),
    h("p", { class: "tw-aside", text: `${end} Times are those of this computer. What you change replaces your answer when you submit it.` }),
  ];
}

/** The list, or why there is none. @param {View} view @returns {Promise<(Node | string)[]>} */
export async function loadItems({ routes, work }) {
  const reply = await postTo(routes.items)(JSON.stringify({ assignment: work.token })).catch(() => null);
  if (!reply?.answer?.items) return [reply?.answer?.message ?? UNREACHED];
  return itemList(/** @type {OwnItems} */ (/** @type {unknown} */ (reply.answer)), work.token);
}

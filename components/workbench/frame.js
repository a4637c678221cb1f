// Around the board: the head with progress and saved state, the foot with what can be done.

import { button, h, write } from "./dom.js";

const SAVED = { saved: "Saved ✓", saving: "Saving…", waiting: "Not saved yet, trying again" };
const PREVIEW = "Preview: nothing is kept";

const NAMES = { training: "Training item", entry_test: "Test item" };

/** Which item this is, in words. */
export function itemName({ work, progress }) {
  if (work.state === "submitted") return "An item you submitted";
  const number = Math.min(progress.done + 1, progress.total || progress.done + 1);
  return `${NAMES[work.purpose] ?? "Item"} ${number} of ${progress.total}`;
}

export function buildHead(view) {
  const { study, rubric, routes } = view;
  const preview = routes?.draft === "";
  return h("header", { class: "tw-head" },
    h("h1", { class: "tw-heading", tabindex: "-1", data: { "tw-progress": "1" } }),
    h("div", { class: "tw-bar", "aria-hidden": "true" }, h("div", { class: "tw-bar-done" })),
    h("span", { class: "tw-head-study", dir: "auto", text: study.title }),
    h("span", {
      class: "tw-saved", role: "status", "aria-live": "polite",
      data: { "tw-saved": "1", state: "saved", preview }, text: preview ? PREVIEW : SAVED.saved,
    }),
    h("div", { class: "tw-head-tools" },
      button("A−", { class: "tw-button tw-quiet tw-small", data: { "tw-size": "-1" }, "aria-label": "Smaller text" }),
      button("A+", { class: "tw-button tw-quiet tw-small", data: { "tw-size": "1" }, "aria-label": "Larger text" }),
      rubric.content_note ? button("Content note", { class: "tw-button tw-quiet tw-small", data: { "tw-note-toggle": "1" } }) : null,
      button("Guidelines", { class: "tw-button tw-quiet tw-small", data: { "tw-guidelines-open": "1" }, "aria-expanded": "false" }),
      button("Keys", { class: "tw-button tw-quiet tw-small", data: { "tw-keys": "1" } }),
      button("Stop for today", { class: "tw-button tw-quiet tw-small", data: { "tw-stop": "1" } })));
}

export function syncHead(head, view) {
  const { progress, study } = view;
  const heading = head.querySelector(".tw-heading");
  write(heading, itemName(view));
  const left = progress.minutes_left ? `, about ${progress.minutes_left} min left` : "";
  const percent = progress.total ? Math.round((100 * progress.done) / progress.total) : 0;
  heading.title = `${study.title}: ${progress.done} of ${progress.total} done${left}`;
  head.querySelector(".tw-bar-done").style.inlineSize = `${percent}%`;
  head.querySelector(".tw-bar").title = heading.title;
}

export function showSaved(head, state, text = SAVED[state]) {
  const saved = head.querySelector("[data-tw-saved]");
  saved.dataset.state = state;
  if (!saved.dataset.preview) write(saved, text);
}

export function buildFoot({ rubric, work, feedback }) {
  if (feedback) {
    return h("footer", { class: "tw-foot" }, h("div", { class: "tw-foot-right" },
      button("Continue", { class: "tw-button tw-primary", data: { "tw-continue": "1" } })));
  }
  const done = work.state === "submitted";
  return h("footer", { class: "tw-foot" },
    h("div", { class: "tw-foot-left" },
      rubric.skip && !done ? button(`${rubric.skip.title}…`, { class: "tw-button tw-quiet tw-small", data: { "tw-skip": "1" } }) : null,
      rubric.ignore_item && !done ? button(`${rubric.ignore_item.title}…`, { class: "tw-button tw-quiet tw-small", data: { "tw-ignore": "1" } }) : null,
      button("Note to the lead", { class: "tw-button tw-quiet tw-small", data: { "tw-lead-note": "1" } })),
    h("div", { class: "tw-foot-right" },
      h("span", { class: "tw-answered", data: { "tw-answered": "1" } }),
      work.can_go_back ? button("← Back", { data: { "tw-back": "1" } }) : null,
      done ? button("Leave unchanged", { data: { "tw-forward": "1" } }) : null,
      button(done ? "Submit changes" : "Submit", { class: "tw-button tw-primary", data: { "tw-submit": "1" }, title: "Ctrl+Enter" })));
}

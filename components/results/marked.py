"""Texts with everybody's highlights over them, read only. Data becomes text nodes and attributes, never markup."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from triptych.results.frame.highlights import HighlightedItem, Passage
from triptych.rubric import palette

STYLE = (
    f".tm {{ {palette.label_variables(palette.LABELS_LIGHT)} }}"
    + """
.tm { color: var(--st-text-color); font-family: var(--st-font); line-height: 1.6; }
.tm-legend { display: flex; flex-wrap: wrap; gap: .4rem 1rem; font-size: .85rem; margin-bottom: .75rem; }
.tm-columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); gap: 1rem; }
.tm-card { border: 1px solid var(--st-border-color); border-radius: .5rem; padding: .75rem 1rem; min-width: 0; }
.tm-card h4 { font-size: .9rem; font-weight: 600; margin: 0 0 .4rem; padding: 0; }
.tm-context { margin-bottom: 1rem; max-height: 18rem; overflow: auto; }
.tm-text { font-family: Charter, Georgia, "Times New Roman", serif; white-space: pre-wrap; overflow-wrap: anywhere;
           unicode-bidi: isolate; margin: 0 0 .35rem; }
.tm-who { font-size: .8rem; opacity: .75; margin: 0; }
.tm mark { color: inherit; padding: .05em 0; border-radius: .15em; background: none; }
.tm-swatch { padding: .05em .4em; border-radius: .2em; }
.tm-none { font-size: .85rem; opacity: .75; margin: 0; }
"""
)

SCRIPT = """
const make = (name, className, text) => {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
};

// Offsets count code points; a string's own index counts UTF-16 units.
const units = (text, offsets) => {
  const wanted = [...new Set(offsets)].sort((a, b) => a - b);
  const found = new Map();
  let point = 0, unit = 0, next = 0;
  for (const character of text) {
    while (next < wanted.length && wanted[next] === point) found.set(wanted[next++], unit);
    point += 1;
    unit += character.length;
  }
  while (next < wanted.length) found.set(wanted[next++], unit);
  return found;
};

const colour = (number, strength) =>
  `color-mix(in srgb, var(--label-${(number - 1) % 9}) ${100 * strength}%, transparent)`;

// A piece between two ends of spans: tinted by its most frequent label, underlined once for every label.
const paint = (mark, spans, labels) => {
  const counts = new Map();
  for (const span of spans) counts.set(span.label, (counts.get(span.label) ?? 0) + 1);
  const ordered = [...counts].sort((a, b) => b[1] - a[1]);
  const number = (key) => labels.findIndex((label) => label.key === key) + 1 || 9;
  mark.style.backgroundColor = colour(number(ordered[0][0]), Math.min(0.16 + 0.12 * spans.length, 0.6));
  mark.style.boxShadow = ordered.map(([key], n) => `0 ${2 * (n + 1)}px 0 ${colour(number(key), 1)}`).join(', ');
  const title = (key) => labels.find((label) => label.key === key)?.title ?? key;
  mark.title = spans
    .map((s) => `${s.annotator}: ${title(s.label)}${s.comment ? ' - ' + s.comment : ''}`)
    .join(String.fromCharCode(10));
};

const fill = (paragraph, passage, labels) => {
  const at = units(passage.text, passage.spans.flatMap((span) => [span.start, span.end]));
  const spans = passage.spans.map((span) => ({ ...span, from: at.get(span.start), to: at.get(span.end) }));
  const cuts = [...new Set([0, passage.text.length, ...spans.flatMap((s) => [s.from, s.to])])].sort((a, b) => a - b);
  cuts.slice(0, -1).forEach((from, n) => {
    const part = passage.text.slice(from, cuts[n + 1]);
    const over = spans.filter((span) => span.from <= from && span.to >= cuts[n + 1]);
    if (!over.length) return paragraph.append(part);
    const mark = make('mark', '', part);
    paint(mark, over, labels);
    paragraph.append(mark);
  });
};

const card = (title, passages, labels) => {
  const box = make('section', 'tm-card');
  box.append(make('h4', '', title));
  for (const passage of passages) {
    if (passage.speaker) box.append(make('p', 'tm-who', passage.speaker));
    const text = make('p', 'tm-text');
    text.dir = 'auto';
    fill(text, passage, labels);
    box.append(text);
  }
  return box;
};

const HINT = 'The darker a passage, the more annotators marked it. Point at it to see who, and why.';
const roots = new WeakMap();

export default ({ parentElement, data }) => {
  let root = roots.get(parentElement);
  if (!root) {
    root = make('div', 'tm');
    roots.set(parentElement, root);
    parentElement.append(root);
  }
  const legend = make('div', 'tm-legend');
  data.labels.forEach((label, n) => {
    const swatch = make('span', 'tm-swatch', label.title);
    swatch.style.backgroundColor = colour(n + 1, 0.28);
    swatch.style.boxShadow = `0 2px 0 ${colour(n + 1, 1)}`;
    legend.append(swatch);
  });
  const columns = make('div', 'tm-columns');
  for (const candidate of data.candidates) columns.append(card(candidate.title, candidate.passages, data.labels));
  if (data.labels.length) legend.append(make('span', 'tm-none', HINT));
  root.replaceChildren(legend, columns);
  if (data.context.length) {
    const context = card('Context', data.context, data.labels);
    context.classList.add('tm-context');
    columns.before(context);
  }
};
"""

_mount = st.components.v2.component("triptych.marked", js=SCRIPT, css=STYLE, isolate_styles=False)


def pick_item(rows: pd.DataFrame, key: str, **shape: Any) -> str | None:
    """A table with a column Item; returns the item that the reader picks."""
    picked = st.dataframe(rows, hide_index=True, key=key, on_select="rerun", selection_mode="single-row", **shape)
    at = picked.selection.rows
    return rows["Item"].iloc[at[0]] if at and at[0] < len(rows) else None


def marked_item(item: HighlightedItem, key: str) -> None:
    """Draws the item's context and candidates; a mark's tooltip says who made it and why."""
    _mount(data=drawn(item), key=key)


def drawn(item: HighlightedItem) -> dict[str, Any]:
    """The item as the browser gets it."""
    return {
        "labels": [{"key": label.key, "title": label.title} for label in item.labels],
        "context": [_passage(passage) for passage in item.context],
        "candidates": [
            {"title": candidate.system, "passages": [_passage(passage) for passage in candidate.passages]}
            for candidate in item.candidates
        ],
    }


def _passage(passage: Passage) -> dict[str, Any]:
    spans = [
        {"start": s.start, "end": s.end, "label": s.label, "annotator": s.annotator, "comment": s.comment}
        for s in passage.spans
    ]
    return {"speaker": passage.speaker, "text": passage.text, "spans": spans}

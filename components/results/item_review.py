"""Reading one item across its annotators, and choosing its final values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from components.results.marked import marked_item
from components.shell.state import form_button, plain
from components.shell.words import NONE, moment, percent, read_aloud
from triptych.results.adjudication import FinalAgreement, FinalValue
from triptych.results.item_review import Look, ReviewLine, about
from triptych.rubric.model import Criterion
from triptych.rubric.scales import Best, Choice, Likert, NumberScale, Scale

MAX_LINES = 2000
KINDS = {
    "with a note": lambda line: line.notes,
    "skipped or ignored": lambda line: line.skipped or line.ignored,
    "with a final value": lambda line: line.final,
    "without a final value": lambda line: not line.final,
    "taken out": lambda line: line.retired,
}
MAX_LISTED_STEPS = 21


def choose_item(lines: Sequence[ReviewLine], asked: str, slug: str) -> str | None:
    """The item that the lead picks from the list; at first the one in the address."""
    left, right = st.columns([2, 3])
    part = left.text_input("Item id contains", key=f"find-{slug}")
    kinds = right.multiselect("Only items", list(KINDS), placeholder="All", key=f"only-{slug}")
    shown = [line for line in lines if part.lower() in line.item.lower() and all(KINDS[kind](line) for kind in kinds)][
        :MAX_LINES
    ]
    if not shown:
        st.info("No item passes these filters.")
        return None
    at = next((n for n, line in enumerate(shown) if line.item == asked), None)
    picked = st.dataframe(
        _lines(shown),
        hide_index=True,
        height=260,
        key=f"lines-{slug}",
        on_select="rerun",
        selection_mode="single-row",
    )
    st.caption(
        f"{len(shown)} of {len(lines)} items, those first on which annotators are farthest apart (mean distance of two "
        "annotators, as a share of the scale). Click the box at the left of a line to read it."
    )
    rows = picked.selection.rows
    if rows and rows[0] < len(shown):
        return shown[rows[0]].item
    return shown[at or 0].item


def _lines(lines: Sequence[ReviewLine]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "Item": line.item,
                "Distance": NONE if line.score is None else percent(line.score),
                "Annotations": line.rated,
                "Skipped": line.skipped,
                "Ignored": line.ignored,
                "Notes": line.notes,
                "Final value": line.final,
                "Taken out": line.retired or "",
            }
            for line in lines
        ]
    )


def draw_look(look: Look, slug: str) -> None:
    """The item: texts with highlights, ratings, explanations, remarks."""
    st.subheader(plain(look.texts.external_id), anchor=False)
    if look.retired:
        st.warning(plain(f"This item was taken out of the study: {look.retired}."))
    marked_item(look.texts, key=f"look-{slug}-{look.texts.external_id}")
    if look.texts.unaligned:
        st.caption(f"{look.texts.unaligned} imported quotes are not in the text and are not shown.")
    st.markdown("**Ratings**")
    if look.ratings.empty:
        st.text("Nobody has rated this item yet.")
    else:
        st.dataframe(look.ratings, hide_index=True, key=f"ratings-{slug}")
    _table(
        "What they say",
        "Nobody explained a rating of this item.",
        [_explained(explanation) for explanation in look.explained],
    )
    remarks = [{"Annotator": remark.annotator, "About": remark.what, "Text": remark.text} for remark in look.remarks]
    _table("Notes and reasons", "Nobody skipped or ignored this item, or left a note.", remarks)


def _explained(explanation: Any) -> dict[str, str]:
    return {
        "Annotator": explanation.annotator,
        "Response": explanation.system,
        "Criterion": explanation.criterion,
        "Value": explanation.value,
        "Reasons": " · ".join(explanation.reasons),
        "Explanation": explanation.text,
    }


def _table(title: str, nothing: str, rows: list[dict[str, str]]) -> None:
    st.markdown(f"**{title}**")
    if rows:
        wide = {name: st.column_config.TextColumn(width="large") for name in ("Explanation", "Text", "Reasons")}
        st.dataframe(pd.DataFrame(rows), hide_index=True, column_config=wide)
    else:
        st.text(nothing)


def final_state(final: FinalValue | None) -> None:
    """Who decided, when and why; or who was asked; or that nobody has."""
    if final is None:
        st.text(
            "No final value yet. Decide yourself below, or ask an annotator, who rates the item on their own workbench "
            "without seeing the others' ratings."
        )
    elif final.waiting:
        st.text(f"{final.by} was asked and has not answered yet. They get it after finishing their current items.")
    else:
        st.text(f"Decided by {final.by}, {moment(final.at)}. {final.reason}")


def ask_somebody(people: Sequence[str], name: str) -> str | None:
    """The annotator that the lead asks, or None."""
    if not people:
        return None
    with st.form(f"ask-{name}", border=False, width=420):
        chosen = st.selectbox("Ask an annotator", people, key=f"asked-{name}")
        return chosen if form_button("Assign as their next item", f"ask-{name}") else None


def take_back(name: str) -> str | None:
    """Why the final value is taken back, when the lead does."""
    with st.popover("Take it back"), st.form(f"back-{name}", border=False):
        why = st.text_input("Why", key=f"why-{name}")
        return why if form_button("Take it back", f"back-{name}") else None


def final_form(look: Look, criteria: Sequence[Criterion], slug: str) -> tuple[dict[tuple[int, str], Any], str] | None:
    """What the lead chose and why, or None before they submit. Annotations stay as they are."""
    before = look.final.values if look.final else {}
    name = f"final-{slug}-{look.texts.external_id}"
    chosen: dict[tuple[int, str], Any] = {}
    with st.form(name, border=True):
        st.caption("What you leave empty has no final value. Annotations stay as they are, and no result counts this.")
        for criterion in criteria:
            places = about(criterion, look.systems)
            for column, (code, system) in zip(st.columns(max(len(places), 3)), places.items(), strict=False):
                with column:
                    label = f"{criterion.title}: {system}"
                    st.text(label)
                    value = _ask(criterion, label, before.get((code, criterion.key)), f"{name}-{code}-{criterion.key}")
                if value is not None:
                    chosen[code, criterion.key] = value
        reason = st.text_input("Why", value=look.final.reason if look.final else "", key=f"{name}-why")
        sent = form_button("Record the final values", name, type="primary")
    return (chosen, reason) if sent else None


def _ask(criterion: Criterion, label: str, before: Any, key: str) -> Any:
    """One value of the criterion's scale, or None, under its name."""
    named: Any = {"label": read_aloud(label), "label_visibility": "collapsed", "key": key}
    scale = criterion.scale
    if isinstance(scale, NumberScale) and _steps(scale) > MAX_LISTED_STEPS:
        return st.number_input(min_value=scale.low, max_value=scale.high, value=before, step=scale.step, **named)
    options = _options(scale)
    values = [None, *options]
    at = values.index(before) if before in values else 0
    return st.selectbox(options=values, index=at, format_func=lambda option: options.get(option, NONE), **named)


def _steps(scale: NumberScale) -> int:
    return round((scale.high - scale.low) / scale.step)


def _options(scale: Scale) -> dict[Any, str]:
    """Value → name."""
    if isinstance(scale, Choice):
        return {option.key: option.title for option in scale.options}
    if isinstance(scale, Likert):
        return {point.value: f"{point.value:g} {point.title or ''}".strip() for point in scale.points}
    if isinstance(scale, Best):
        return {1.0: "the best, or one of them", 0.0: "not the best"}
    values = np.linspace(scale.low, scale.high, _steps(scale) + 1)
    return {round(float(value), 9): f"{value:g}" for value in values}


def agreement_with_final(shares: Sequence[FinalAgreement]) -> None:
    """How often each annotator gave what was decided afterwards; no judgement of anybody by itself."""
    if not shares:
        return
    with st.expander("Ratings that equal the final value", key="equal-final"):
        rows = [
            {
                "Annotator": agreement.annotator,
                "Equal": agreement.same,
                "Of": agreement.of,
                "Share": percent(agreement.same / agreement.of),
            }
            for agreement in shares
        ]
        st.dataframe(pd.DataFrame(rows, columns=["Annotator", "Equal", "Of", "Share"]), hide_index=True)
        st.caption("A low share is a reason to read, not to exclude: items are decided where opinions differ.")

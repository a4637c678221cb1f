"""Explanations and highlights: reasons by their tag, all explanations, and how often passages were marked."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from components.results import charts
from components.results.figures import highlights as highlights_figure
from components.results.marked import pick_item
from components.results.statistics_row import cells
from components.shell.choices import choose
from triptych.results import texts
from triptych.results.frame.table import Filters, Page, ratings_table
from triptych.results.study_analysis import StudyAnalysis
from triptych.rubric.model import HighlightLabel
from triptych.rubric.scales import Choice, as_typed
from triptych.stats.analysis.statistics import SPANS
from triptych.stats.numbers import counted
from triptych.stats.spans import SpanAgreement
from triptych.stats.undefined import Undefined

LISTED = 300


def reasons(analysis: StudyAnalysis) -> None:
    """Counts of reasons by tag, which annotators do not see; draws nothing without explanations."""
    reasons = [(result, reason) for result in analysis.criteria for reason in result.reasons]
    rows = [
        {
            "Criterion": result.criterion.title,
            "Tag": reason.tag,
            "Total": reason.total,
            **{analysis.name(system.system): reason.systems.get(system.system, 0) for system in result.systems},
            "What annotators ticked": " / ".join(reason.texts),
        }
        for result, reason in reasons
    ]
    if reasons:
        result, reason = max(reasons, key=lambda pair: pair[1].total)
        times = counted(reason.total, "time")
        st.text(f"The most frequent reason is “{reason.tag}” ({result.criterion.title}, {times}).")
        st.dataframe(pd.DataFrame(rows), hide_index=True, key="reasons")
    elif any(result.free_texts for result in analysis.criteria):
        st.text("No reason has been ticked yet.")


def browser(analysis: StudyAnalysis, slug: str) -> str | None:
    """All explanations of a criterion, option and system; returns the item of the selected one."""
    written = sum(result.free_texts for result in analysis.criteria)
    if not written and not any(result.reasons for result in analysis.criteria):
        st.text("No rating has an explanation or a ticked reason. They will be listed here.")
        return None
    st.text(f"Explanations written by annotators: {written:,}.")
    first, second, third = st.columns(3)
    criterion = choose("Criterion", analysis.titles, f"why-{slug}", place=first)
    options = {"": "Every", **_options(analysis, criterion)}
    option = choose("Answer", options, f"why-{slug}-{criterion}", place=second)
    systems = third.multiselect("System", analysis.frame.systems, format_func=analysis.name, key=f"why-system-{slug}")
    filters = Filters(
        annotators=analysis.scope.annotators,
        systems=frozenset(systems),
        criteria=frozenset({criterion}),
        values=frozenset({option} - {""}),
        marks=frozenset({"explained"}),
    )
    table = ratings_table(analysis.counted_frame, filters, analysis.names, Page(size=LISTED))
    pick = " Pick one to read its item." if table.count else ""
    st.caption(f"{counted(table.count, 'rating')} with an explanation or a ticked reason.{pick}")
    if not table.count:
        return None
    columns = ["System", "Value", "Reasons", "Explanation", "Item", "Annotator"]
    wide = {"Explanation": {"width": "large"}}
    return pick_item(table.rows[columns], f"explanations-{slug}", column_config=wide)


def _options(analysis: StudyAnalysis, criterion: str) -> dict[str, str]:
    """Answers of a criterion as in the list of ratings → their names for readers."""
    scale = analysis.ratings_of(criterion).criterion.scale
    if isinstance(scale, Choice):
        return {option.title: option.title for option in scale.options}
    points = getattr(scale, "points", ())
    return {as_typed(point.value): f"{as_typed(point.value)} {point.title}".strip() for point in points}


def highlights(
    readings: pd.DataFrame,
    agreement: Sequence[SpanAgreement] | Undefined,
    labels: Sequence[HighlightLabel],
    analysis: StudyAnalysis,
    slug: str,
) -> None:
    """How often each label was given to each system, and how well annotators agree on passages."""
    marked = readings[readings["start"].notna()]
    if marked.empty:
        st.text("Nothing has been highlighted yet.")
        return
    titles = {label.key: label.title for label in labels}
    in_contexts = readings["system"] == texts.CONTEXT
    if in_contexts.any():
        rates, what = _rates(readings[in_contexts])
        shares = [f"“{titles.get(label, label)}” {rate:.0f}" for label, rate in rates.stack().droplevel(1).items()]
        st.text(f"In the context, per 100 {what}: {', '.join(shares) or 'nothing'}.")
    rates, what = _rates(readings[~in_contexts])
    if not rates.empty:
        label, system = rates.stack().idxmax()
        rate = rates.loc[label, system]
        sentence = f"{analysis.name(system)} gets “{titles.get(label, label)}” most: {rate:.0f} per 100 {what}."
        st.text(sentence)
        figure = highlights_figure(rates, titles, analysis.names, what)
        charts.show(figure, "highlights", f"{slug}-highlights", sentence)
    with st.expander("Numbers", key="numbers-highlights"):
        counts = _counts(readings)
        named = {code: _text_of(analysis, code) for code in counts.columns}
        st.dataframe(counts.rename(index=titles, columns=named), key="highlights-table")
        _span_table(agreement, titles)


def _text_of(analysis: StudyAnalysis, system: int) -> str:
    """The text that contains a highlight: that of a system, or the context."""
    return "The context" if system == texts.CONTEXT else analysis.name(system)


def _rates(readings: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Highlights per 100 readings, labels (rows) × systems (columns), and the unit that was read."""
    read = readings.drop_duplicates(["text", "annotator"]).groupby("system").size()
    what = "readings of a turn" if (readings["turn"] != texts.WHOLE).any() else "readings"
    return 100 * _counts(readings) / read, what


def _counts(readings: pd.DataFrame) -> pd.DataFrame:
    """Number of highlights, labels (rows) × systems (columns), also of systems without any."""
    marked = readings[readings["start"].notna()]
    counts = marked.groupby(["label", "system"]).size().unstack(fill_value=0)
    return counts.reindex(columns=sorted(readings["system"].unique()), fill_value=0)


def comments(rows: pd.DataFrame, labels: Sequence[HighlightLabel], analysis: StudyAnalysis, slug: str) -> str | None:
    """Annotators' comments on highlights, by label and system; returns the item that the reader selects."""
    if rows.empty:
        return None
    titles = {label.key: label.title for label in labels}
    per = rows["system"].value_counts()
    st.text(f"Comments on highlights: {len(rows):,}, most on {_text_of(analysis, int(per.idxmax()))} ({per.max():,}).")
    first, second = st.columns(2)
    chosen_labels = first.multiselect("Label", list(titles), format_func=titles.__getitem__, key=f"comment-{slug}")
    called = {code: _text_of(analysis, code) for code in sorted(per.index)}
    systems = second.multiselect("System", list(called), format_func=called.__getitem__, key=f"comment-system-{slug}")
    shown = rows[rows["label"].isin(chosen_labels or titles) & rows["system"].isin(systems or per.index)]
    cut = f" The first {LISTED} of {len(shown):,} are listed; the export of highlights contains all of them."
    st.caption("Pick one to read its item." + (cut if len(shown) > LISTED else ""))
    listed = pd.DataFrame(
        {
            "System": shown["system"].map(called),
            "Label": shown["label"].map(titles),
            "Passage": shown["quote"],
            "Comment": shown["comment"],
            "Item": shown["item"],
            "Annotator": shown["annotator"],
        }
    ).head(LISTED)
    wide = {"Passage": {"width": "medium"}, "Comment": {"width": "large"}}
    return pick_item(listed, f"comments-{slug}", column_config=wide)


def _span_table(agreements: Sequence[SpanAgreement] | Undefined, titles: dict[str, str]) -> None:
    if isinstance(agreements, Undefined):
        st.text(agreements.reason)
        return
    rows = [
        {
            "Label": "Any label" if agreement.label is None else titles.get(agreement.label, agreement.label),
            **cells(SPANS, agreement),
        }
        for agreement in agreements
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="spans")
    st.caption("F1 is the mean over pairs of annotators. Alpha considers every character as marked or not.")

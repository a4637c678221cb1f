"""Compares a judge model with the annotators."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from components.results.statistics_row import cells
from components.shell.words import NONE
from triptych.results.judges import excluded_judges, judges, judges_in, margin
from triptych.results.study_analysis import StudyAnalysis
from triptych.stats.analysis.judges import JudgeOf
from triptych.stats.analysis.statistics import OF_SYSTEMS, SHARED, STAND_IN, STAND_IN_PAIR, WITHIN_ITEMS
from triptych.stats.judge import AltTest
from triptych.stats.undefined import Undefined
from triptych.study.settings import EXPERTISE

NO_JUDGE = (
    "No judge model has rated these candidates. *Import ratings* accepts its scores, or those of a metric, as a "
    "separate file next to the ratings, for example next to an export of this study; use the same system names. They "
    "are never mixed with people's ratings."
)
NOT_RATED = "No annotator rated this. Judges' scores are shown under the other criteria, as a metric."


def judge_analysis(analysis: StudyAnalysis, key: str, slug: str) -> None:
    """Whether a judge may replace an annotator, and how its scores correlate with the ratings."""
    if not judges_in(analysis.frame):
        st.write(NO_JUDGE)
        return
    results = [each for each in judges(analysis.frame, analysis.scope, analysis.ratings) if each.criterion == key]
    if not results:
        st.text("No judge rated this criterion." if len(analysis.ratings_of(key)) else NOT_RATED)
        return
    excluded = excluded_judges(analysis.frame)
    st.dataframe([_row(each, analysis, excluded) for each in results], hide_index=True, key=f"judges-{slug}")
    st.caption(
        "The alternative annotator test leaves out one annotator at a time. The annotators are "
        f"{EXPERTISE[analysis.frame.settings.expertise]}, so epsilon is {margin(analysis.frame):g}, here and in "
        "reports. *Constant answer*: the winning rate of the best single answer to everything, which a judge must "
        "exceed. Correlations are Kendall's tau-b with 95 % intervals, within items and over the systems' means."
    )
    place = {"study": slug, "section": "Panel and pay"}
    st.page_link("lead/design.py", label="Change what the annotators are", icon=":material/tune:", query_params=place)
    for each in results:
        _in_words(each, analysis)


def _row(each: JudgeOf, analysis: StudyAnalysis, excluded: Collection[str]) -> dict[str, object]:
    test = each.stand_in if isinstance(each.stand_in, AltTest) else None
    return {
        "Judge": f"{each.judge} (excluded)" if each.judge in excluded else each.judge,
        "Its scores": analysis.title(each.scores),
        "May stand in": NONE if test is None else ("yes" if test.passes else "no"),
        **cells(SHARED, each),
        **cells(STAND_IN, test),
        **cells(WITHIN_ITEMS, each.within_items, reasons=False),
        **cells(OF_SYSTEMS, each.of_systems, reasons=False),
    }


def _in_words(each: JudgeOf, analysis: StudyAnalysis) -> None:
    """A row in sentences under the titles of its columns: the results, or why they are undefined."""
    lines = [f"{each.judge}, {analysis.title(each.scores)}" if each.is_metric else each.judge]
    results = {"May stand in": each.stand_in, "Within items": each.within_items, "Of systems": each.of_systems}
    for title, result in results.items():
        lines.append(f"{title}: {result if isinstance(result, Undefined) else result.sentence}")
    st.text("\n".join(lines))
    if isinstance(each.stand_in, AltTest):
        with st.expander(f"{each.judge} against each annotator"):
            rows = [
                {
                    "Annotator": str(comparison.annotator),
                    **cells(STAND_IN_PAIR, comparison),
                    "Judge does as well": "yes" if comparison.won else "no",
                }
                for comparison in each.stand_in.comparisons
            ]
            st.dataframe(rows, hide_index=True, key=f"against-{each.judge}")

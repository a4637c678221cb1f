"""Secondary analyses, each with a sentence on when to use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from components.results import comparisons, trust
from components.results.findings import not_run
from components.results.judges import judge_analysis
from components.results.statistics_row import cells
from components.shell.choices import choose
from components.shell.words import number
from triptych.results.study_analysis import StudyAnalysis, lengths
from triptych.results.texts import Texts
from triptych.stats.analysis.statistics import ORDINAL_DIFFERENCE, RANK_DIFFERENCE, STRENGTH
from triptych.stats.numbers import p_words
from triptych.stats.preferences import Preferences
from triptych.stats.proportional_odds import LogitDifference
from triptych.stats.ranking import RankDifference, Ranking
from triptych.stats.undefined import Undefined


@dataclass(frozen=True)
class Analysis:
    """when: when to use it. draw: (analysis, key of the criterion or "", slug of the study). of_criterion: whether to
    ask for a criterion.
    """

    title: str
    when: str
    draw: Callable[[StudyAnalysis, str, str], None]
    of_criterion: bool = False


def more(analysis: StudyAnalysis, texts: Callable[[], Texts], slug: str) -> None:
    """A box to choose an analysis, and that analysis."""
    of_lengths = Analysis(
        "Length of responses", LENGTHS, lambda *_: trust.lengths(lengths(analysis, texts()), analysis)
    )
    every = {**ANALYSES, "lengths": of_lengths}
    chosen = every[choose("Analysis", {key: each.title for key, each in every.items()}, f"analysis-{slug}")]
    st.caption(chosen.when)
    key = choose("Criterion", analysis.titles, f"more-{slug}") if chosen.of_criterion else ""
    chosen.draw(analysis, key, slug)


def _ranks(analysis: StudyAnalysis, key: str, slug: str) -> None:
    if key in analysis.not_compared:
        st.text(analysis.not_compared[key])
        return
    _friedman(analysis.ranks[key], analysis)
    _strengths(analysis.strengths[key], analysis)


def _friedman(ranked: Ranking | Undefined, analysis: StudyAnalysis) -> None:
    if isinstance(ranked, Undefined):
        st.text(ranked.reason)
        return
    st.text(f"Friedman's test over {ranked.items} items: chi-square {number(ranked.statistic)}, {p_words(ranked.p)}.")
    means = zip(ranked.systems, ranked.mean_ranks, strict=True)
    rows = [{"System": analysis.name(system), "Mean rank (1 is highest)": number(mean)} for system, mean in means]
    st.dataframe(rows, hide_index=True, key="ranks")
    pairs = [{"Systems": _pair(analysis, pair), **cells(RANK_DIFFERENCE, pair)} for pair in ranked.differences]
    st.dataframe(pairs, hide_index=True, key="nemenyi")


def _pair(analysis: StudyAnalysis, pair: RankDifference | LogitDifference) -> str:
    return f"{analysis.name(pair.system)} − {analysis.name(pair.baseline)}"


def _strengths(fitted: Preferences | Undefined, analysis: StudyAnalysis) -> None:
    if not isinstance(fitted, Preferences):
        st.text(f"Bradley-Terry strengths. {fitted}")
        return
    rows = [{"System": analysis.name(strength.system), **cells(STRENGTH, strength)} for strength in fitted.strengths]
    st.dataframe(rows, hide_index=True, key="strengths")
    st.caption(fitted.sentence)


def _ordinal(analysis: StudyAnalysis, key: str, slug: str) -> None:
    if key in analysis.not_compared:
        st.text(analysis.not_compared[key])
        return
    with st.spinner("Fitting the model"):
        model = analysis.ordinal_models[key]
    if isinstance(model, Undefined):
        st.text(model.reason)
        return
    rows = [{"Systems": _pair(analysis, pair), **cells(ORDINAL_DIFFERENCE, pair)} for pair in model]
    st.dataframe(rows, hide_index=True, key=f"ordinal-{key}")


LENGTHS = "If longer responses might be rated higher just for their length: correlation within items."
ANALYSES = {
    "means": Analysis("Mean of each system", "If you report each system separately.", comparisons.means, True),
    "wins": Analysis(
        "Wins, ties and losses",
        "If distances on the scale mean little: only which response was rated higher counts.",
        comparisons.wins,
        True,
    ),
    "ranks": Analysis(
        "Ranks and strengths",
        "If reviewers expect Friedman's test, or systems were not always compared directly. Applies to these "
        "annotators only.",
        _ranks,
        True,
    ),
    "ordinal": Analysis(
        "Proportional odds",
        "If points should not be averaged: uses only the order of ratings.",
        _ordinal,
        True,
    ),
    "effects": Analysis(
        "Place on screen and time",
        "If the first response might have an advantage, or annotators might tire.",
        trust.effects,
    ),
    "reliability": Analysis(
        "How many annotators per item",
        "To plan the next study, or to justify the size of this one.",
        trust.reliability,
    ),
    "pairs": Analysis(
        "Pairs of annotators",
        "If agreement is low: shows whether one of them reads the rubric differently.",
        trust.pairs,
        True,
    ),
    "without": Analysis(
        "Agreement without each annotator", "If one annotator might pull agreement down.", trust.without_each, True
    ),
    "judges": Analysis(
        "A judge model compared with the annotators",
        "If a model or a metric scored the same candidates: could it replace an annotator, does it correlate with "
        "them?",
        judge_analysis,
        True,
    ),
    "not_run": Analysis("Checks that could not run", "Before you report: what these data cannot show.", not_run),
}

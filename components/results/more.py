"""Analyses beyond the first look, each with a sentence that says when to use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import pandas as pd
import streamlit as st

from components.results import comparisons, trust
from components.results.findings import not_run
from components.results.judges import judge_analysis
from components.results.statistics_row import cells
from components.shell.words import number, p_value
from triptych.results import warnings
from triptych.results.study_analysis import StudyAnalysis, lengths
from triptych.results.texts import Texts
from triptych.stats.analysis.contrasts import RankingOf
from triptych.stats.analysis.statistics import ORDINAL_DIFFERENCE, RANK_DIFFERENCE, STRENGTH
from triptych.stats.preferences import Preferences
from triptych.stats.proportional_odds import LogitDifference
from triptych.stats.ranking import RankDifference
from triptych.stats.undefined import Undefined


@dataclass(frozen=True)
class Analysis:
    """when: to use it. draw: (analysis, key of the criterion or "", slug of the study). of_criterion: asks for one."""

    title: str
    when: str
    draw: Callable[[StudyAnalysis, str, str], None]
    of_criterion: bool = False


def more(analysis: StudyAnalysis, texts: Callable[[], Texts], slug: str) -> None:
    """A box to choose an analysis, and the analysis."""
    every = {**ANALYSES, "lengths": Analysis("Length of responses", LENGTHS, _lengths_with(texts))}
    chosen = every[
        st.selectbox("Analysis", list(every), format_func=lambda key: every[key].title, key=f"analysis-{slug}")
    ]
    st.caption(chosen.when)
    key = ""
    if chosen.of_criterion:
        titles = {result.criterion.key: result.criterion.title for result in analysis.criteria}
        key = st.selectbox("Criterion", list(titles), format_func=titles.__getitem__, key=f"more-{slug}")
    chosen.draw(analysis, key, slug)


def _means(analysis: StudyAnalysis, key: str, slug: str) -> None:
    comparisons.means(analysis, next(result for result in analysis.criteria if result.criterion.key == key), slug)


def _wins(analysis: StudyAnalysis, key: str, slug: str) -> None:
    comparisons.wins(analysis, key, slug)


def _pairs(analysis: StudyAnalysis, key: str, slug: str) -> None:
    trust.pairs(next(people for people in analysis.people if people.criterion == key), slug)


def _without_each(analysis: StudyAnalysis, key: str, slug: str) -> None:
    trust.without_each(next(people for people in analysis.people if people.criterion == key))


def _reliability(analysis: StudyAnalysis, key: str, slug: str) -> None:
    trust.reliability(analysis.people, analysis)


def _effects(analysis: StudyAnalysis, key: str, slug: str) -> None:
    trust.effects(analysis.effects, analysis)


def _not_run(analysis: StudyAnalysis, key: str, slug: str) -> None:
    not_run(warnings.not_run(analysis))


def _lengths_with(texts: Callable[[], Texts]) -> Callable[[StudyAnalysis, str, str], None]:
    return lambda analysis, key, slug: trust.lengths(lengths(analysis, texts()), analysis)


def _ranks(analysis: StudyAnalysis, key: str, slug: str) -> None:
    ranking = next((ranked for ranked in analysis.rankings if ranked.criterion == key), None)
    if ranking is None:
        st.text(analysis.not_compared[key])
        return
    _friedman(ranking, analysis)
    _strengths(ranking, analysis)


def _friedman(ranking: RankingOf, analysis: StudyAnalysis) -> None:
    ranked = ranking.ranking
    if isinstance(ranked, Undefined):
        st.text(ranked.reason)
        return
    st.text(f"Friedman's test over {ranked.items} items: chi-square {number(ranked.statistic)}, p {_equals(ranked.p)}.")
    means = zip(ranked.systems, ranked.mean_ranks, strict=True)
    rows = [{"System": _name(analysis, system), "Mean rank (1 is highest)": number(mean)} for system, mean in means]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="ranks")
    pairs = [{"Systems": _pair(analysis, pair), **cells(RANK_DIFFERENCE, pair)} for pair in ranked.differences]
    st.dataframe(pd.DataFrame(pairs), hide_index=True, key="nemenyi")


def _name(analysis: StudyAnalysis, label: object) -> str:
    """The name of a system that a statistic knows by the label it was computed with: its blind code."""
    return analysis.name(cast(int, label))


def _pair(analysis: StudyAnalysis, pair: RankDifference | LogitDifference) -> str:
    return f"{_name(analysis, pair.system)} − {_name(analysis, pair.baseline)}"


def _equals(p: float) -> str:
    return p_value(p) if p < 0.001 else f"= {p_value(p)}"


def _strengths(ranking: RankingOf, analysis: StudyAnalysis) -> None:
    fitted = ranking.preferences
    if not isinstance(fitted, Preferences):
        st.text(f"Bradley-Terry strengths. {fitted}")
        return
    rows = [
        {"System": _name(analysis, strength.system), **cells(STRENGTH, (strength, fitted.sentence))}
        for strength in fitted.strengths
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="strengths")
    st.caption(fitted.sentence)


def _ordinal(analysis: StudyAnalysis, key: str, slug: str) -> None:
    if key in analysis.not_compared:
        st.text(analysis.not_compared[key])
        return
    with st.spinner("Fitting the model"):
        model = next(fit.model for fit in analysis.ordinal_models if fit.criterion == key)
    if isinstance(model, Undefined):
        st.text(model.reason)
        return
    rows = [{"Systems": _pair(analysis, pair), **cells(ORDINAL_DIFFERENCE, pair)} for pair in model.differences]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key=f"ordinal-{key}")


LENGTHS = "When longer responses may get higher ratings for their length: correlation within items."
ANALYSES = {
    "means": Analysis("Mean of each system", "When you report each system by itself.", _means, True),
    "wins": Analysis(
        "Wins, ties and losses",
        "When the distances of the scale mean little: only which response was rated higher counts.",
        _wins,
        True,
    ),
    "ranks": Analysis(
        "Ranks and strengths",
        "When reviewers expect Friedman's test, or systems did not always meet. Speaks for these annotators only.",
        _ranks,
        True,
    ),
    "ordinal": Analysis(
        "Proportional odds",
        "When points may not be averaged: uses only the order of ratings.",
        _ordinal,
        True,
    ),
    "effects": Analysis(
        "Place on screen and time", "When the first response may have an advantage, or annotators tire.", _effects
    ),
    "reliability": Analysis(
        "How many annotators per item", "When you plan the next study, or defend the size of this one.", _reliability
    ),
    "pairs": Analysis(
        "Annotators two by two",
        "When agreement is low: shows whether one of them reads the rubric differently.",
        _pairs,
        True,
    ),
    "without": Analysis(
        "Agreement without each annotator", "When one annotator may pull agreement down.", _without_each, True
    ),
    "judges": Analysis(
        "A judge model compared with the annotators",
        "When a model or a metric scored the same candidates: may it replace one, does it correlate with them?",
        judge_analysis,
        True,
    ),
    "not_run": Analysis("Checks that could not run", "Before you report: what these data cannot show.", _not_run),
}

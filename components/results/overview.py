"""All criteria at a glance: which system stands clearly above the others where, and the table that a paper prints."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import pandas as pd
import streamlit as st

from components.shell.words import NONE, joined, number
from triptych.results.criterion import APPROXIMATE, CriterionResult, spoken
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.verdicts import speaks_for_others, summary
from triptych.stats.analysis.systems import SystemResult
from triptych.stats.intervals import Interval
from triptych.stats.undefined import Undefined

HERE = " This is about these annotators only: there are too few to speak for others."


def overview(analysis: StudyAnalysis) -> None:
    """Nothing where there is one criterion: its own sentence says it all."""
    shown = [result for result in analysis.criteria if analysis.contrasts_of(result.criterion.key)]
    if len(shown) < 2:
        return
    st.text(leaders(analysis, [result.criterion.key for result in shown]))
    rows = [_row(analysis.name(code), code, shown) for code in analysis.frame.systems]
    alphas = {result.criterion.title: number(_alpha(result)) for result in shown}
    st.dataframe(pd.DataFrame([*rows, {"System": "Krippendorff's alpha", **alphas}]), hide_index=True, key="overview")
    st.caption(
        f"Means or shares, each with its 95 % interval. {APPROXIMATE} What the numbers rest on is shown under each "
        "criterion."
    )


def leaders(analysis: StudyAnalysis, criteria: Collection[str]) -> str:
    """Which systems are clearly above which, criteria with the same answer together."""
    said: dict[str, list[str]] = defaultdict(list)
    for key in criteria:
        said[summary(analysis, analysis.contrasts_of(key))].append(analysis.title(key))
    alike = any(speaks_for_others(analysis.contrasts_of(key)) for key in criteria)
    sentences = [f"{words} on {joined(titles)}." for words, titles in said.items()]
    return " ".join(sentences) + ("" if alike else HERE)


def _row(name: str, code: int, shown: Sequence[CriterionResult]) -> dict[str, str]:
    cells = {result.criterion.title: _cell(result, _of(result, code)) for result in shown}
    return {"System": name, **cells}


def _of(result: CriterionResult, code: int) -> SystemResult | None:
    return next((system for system in result.systems if system.system == code), None)


def _cell(result: CriterionResult, system: SystemResult | None) -> str:
    if system is None or not isinstance(system.interval, Interval):
        return NONE
    return spoken(system.interval, result.share)


def _alpha(result: CriterionResult) -> float | None:
    """None where alpha is not defined; the criterion's block says why."""
    alpha = result.agreement.alpha
    return None if isinstance(alpha, Undefined) else alpha

"""All criteria at a glance: which system stands clearly above the others where, and the table that a paper prints."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import pandas as pd
import streamlit as st

from components.shell.words import NONE, joined, number
from triptych.results.criterion import APPROXIMATE, CriterionResult, spoken
from triptych.results.study_analysis import StudyAnalysis
from triptych.stats.analysis.contrasts import Contrast
from triptych.stats.analysis.systems import SystemResult
from triptych.stats.intervals import Interval
from triptych.stats.undefined import Undefined

NO_LEADER = "No system stands clearly above all others on {}."
HERE = " For these annotators only: there are too few to speak for others."


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


def leaders(analysis: StudyAnalysis, criteria: Iterable[str]) -> str:
    """Where one system stands clearly above all others, and where none does."""
    criteria_led: dict[tuple[int, bool], list[str]] = defaultdict(list)
    undecided: list[str] = []
    for key in criteria:
        system = leader(analysis.contrasts_of(key))
        (undecided if system is None else criteria_led[system]).append(analysis.title(key))
    sentences = [
        f"{analysis.name(code)} stands clearly above all others on {joined(on)}."
        for (code, _), on in criteria_led.items()
    ]
    sentences += [NO_LEADER.format(joined(undecided))] if undecided else []
    return " ".join(sentences) + (HERE if any(not alike for _, alike in criteria_led) else "")


def leader(contrasts: Sequence[Contrast]) -> tuple[int, bool] | None:
    """The system above all others of a criterion, and whether for annotators like these; None where there is none.

    Only where nothing can be said of annotators like these does the interval for these annotators decide.
    """
    alike = any(contrast.p is not None for contrast in contrasts)
    wins = Counter(c.higher for c in contrasts if (c.clear if alike else c.clear_here))
    others = len({code for contrast in contrasts for code in (contrast.system, contrast.baseline)}) - 1
    return next(((code, alike) for code, won in wins.items() if won == others), None)


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

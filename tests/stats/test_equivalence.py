"""Two one-sided tests: when two systems count as practically equal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.analyses import NAMES
from helpers.frames import crossed
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from triptych.results.frame.collection import Planned
from triptych.results.frame.model import Counted
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.verdicts import summary, verdict
from triptych.stats.equivalence import equivalence
from triptych.stats.intervals import Clustered, estimate_of
from triptych.stats.numbers import written
from triptych.stats.undefined import Undefined, UndefinedStatistic
from triptych.study.preregistration import declared
from triptych.study.settings import Preregistration, StudySettings

PLANNED = Planned()
KEY = crossed(2, 2).rubric.criteria[0].key


def estimate(mean: float, error: float, freedom: float, annotators: int = 9):
    return estimate_of(mean, 99, Clustered(error, error, freedom, freedom, 50, annotators), 0.0)


@given(
    mean=st.floats(-3, 3),
    error=st.floats(0.01, 2),
    freedom=st.floats(1, 200),
    margin=st.floats(0.01, 5),
)
def test_equal_is_said_where_the_90_percent_interval_is_inside(mean, error, freedom, margin):
    tested = equivalence(estimate(mean, error, freedom), margin)
    reach = student.ppf(0.95, freedom) * error
    assert np.allclose((tested.low, tested.high), (mean - reach, mean + reach))
    one_sided = student.sf((mean + margin) / error, freedom), student.cdf((mean - margin) / error, freedom)
    assert tested.p == pytest.approx(max(one_sided), abs=1e-12)
    if abs(tested.excluded - margin) > 1e-9:
        assert tested.equal == (tested.excluded < margin)


def test_four_annotators_cannot_show_equality():
    with pytest.raises(UndefinedStatistic, match="too few to generalise"):
        equivalence(estimate(0.0, 0.01, 3, annotators=4), 1.0)
    with pytest.raises(ValueError, match="above 0"):
        equivalence(estimate(0.0, 0.01, 30), 0.0)


def analysed(annotators: int, margin: float | None, planned: Planned = PLANNED) -> StudyAnalysis:
    declaration = Preregistration(margins={KEY: margin} if margin else {})
    settings = StudySettings(preregistration=declaration)
    return StudyAnalysis(replace(crossed(60, annotators), settings=settings, planned=planned), Counted(), NAMES)


def test_verdicts_say_equal_only_where_it_was_tested():
    equal = analysed(10, 0.8)
    assert all(contrast.equal for contrast in equal.contrasts)
    assert "Practically equal within ±0.8: System 2 and System 1" in verdict(equal, KEY)
    assert summary(equal, equal.contrasts) == "All systems are practically equal within ±0.8"
    narrow = verdict(analysed(10, 0.01), KEY)
    assert "Cannot tell whether equal: System 2 and System 1 (beyond ±0." in narrow
    few = verdict(analysed(4, 0.8), KEY)
    assert "Whether systems are practically equal was not tested." in few
    assert "too few to generalise" in few
    assert "equal" not in verdict(analysed(10, None), KEY)


@pytest.mark.parametrize(
    ("size", "style", "printed"),
    [
        (0.025, "margin points", "2.5 pp"),
        (0.004, "margin", "0.004"),
        (0.1234567, "margin", "0.1234567"),
        (12345.611, "beyond", "12345.62"),
        (0.3, "margin", "0.3"),
        (0.0013, "beyond points", "1 pp"),
        (0.5, "beyond", "0.5"),
        (0.501, "beyond", "0.51"),
        (0.07, "beyond points", "7 pp"),
    ],
)
def test_no_margin_is_printed_smaller_than_it_was_tested(size, style, printed):
    """A margin of 2.5 points was printed as 2, within which the systems were not equal."""
    assert written(size, style) == printed


def test_a_preregistration_prints_margins_with_all_digits():
    (_, words), *_ = declared(crossed(2, 2).rubric, Preregistration(margins={KEY: 0.1234567}))
    assert words.endswith("±0.1234567")


def test_interim_results_hold_equality_to_the_strict_bound():
    over = analysed(10, 0.3)
    tested = [contrast.equivalence for contrast in over.contrasts]
    p = sorted(test.p for test in tested if not isinstance(test, Undefined) and test)
    assert any(test < 0.05 for test in p)
    early = analysed(10, 0.3, Planned(10_000))
    assert [contrast.equal for contrast in early.contrasts] == [
        contrast.equivalence.p < 0.001 for contrast in early.contrasts
    ]

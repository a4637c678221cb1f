"""Level and coverage of the headline test on simulated studies (docs/validation.md holds the same as a table)."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.present import present

from bench.validation import (
    COVERAGE,
    EQUAL,
    LEVEL,
    RUNS,
    SCALES,
    SHIFT,
    UNEQUAL,
    Design,
    expected,
    measure,
    page,
    simulate,
)
from triptych.stats.intervals import ENOUGH_ANNOTATORS

PROMISED = [design for design in EQUAL if design.annotators >= ENOUGH_ANNOTATORS]
SMALL = Design(40, 3, 10, 0.6)


def test_the_grid_has_at_least_twelve_designs_with_promises():
    assert len(PROMISED) >= 12
    assert {design.raters for design in EQUAL} >= {1, 2, 3}
    assert {design.annotators for design in EQUAL} >= {3, 5}


def test_simulated_studies_have_the_difference_coverage_is_counted_with():
    studies = simulate(SMALL, "ordinal", SHIFT, 1500, seed=3)
    result = np.diff(studies.ratings, axis=2).mean(axis=(1, 2))
    assert result.mean() == pytest.approx(studies.alike, abs=4 * result.std() / np.sqrt(1500))
    assert studies.these.mean() == pytest.approx(studies.alike, abs=4 * studies.these.std() / np.sqrt(1500))
    assert np.corrcoef(result, studies.these)[0, 1] > 0.5


def test_the_expected_rating_is_the_sum_of_its_steps():
    assert expected(np.array([0.0]), 0.0, "binary") == pytest.approx([0.5])


def test_a_small_grid_keeps_level_and_coverage():
    result = measure(SMALL, "ordinal", 300)
    assert 1 <= present(result.level) <= 10
    assert 90 <= present(result.coverage) <= 99
    assert result.level_item > 10
    assert "40 × 3 of 10" in page([result], [], 300)


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("design", PROMISED, ids=str)
def test_headline_test_and_interval_keep_what_is_promised(design: Design, scale: str):
    result = measure(design, scale, RUNS)
    assert result.keeps_promise, result


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("design", UNEQUAL, ids=str)
def test_unequal_work_makes_the_headline_cautious_but_never_bold(design: Design, scale: str):
    result = measure(design, scale, RUNS)
    assert present(result.level) <= LEVEL[1]
    assert present(result.coverage) >= COVERAGE[0]

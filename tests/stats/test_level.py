"""Level and coverage on simulated studies; docs/validation.md holds them as tables."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from helpers.present import present
from helpers.studies import ROOT

from bench.validation.__main__ import SIMULATIONS, add_batch, key_of, stored
from bench.validation.agreement import AgreementCoverage
from bench.validation.camps import CampsReported
from bench.validation.designs import DESIGNS, Design, assignment
from bench.validation.differences import SHIFT, Differences
from bench.validation.equivalence import MARGIN, Equivalence
from bench.validation.fits import Drawn
from bench.validation.looks import Looks
from bench.validation.page import page
from bench.validation.proportional_odds import OddsLevel
from bench.validation.ratings import expected, true_mean
from bench.validation.tallies import Tally
from triptych.stats.crossed import CrossedEffects

ALL = [design for designs in DESIGNS.values() for design in designs]
SMALL = Design(40, 3, 10, taste=0.6)
SAMPLE = (
    SMALL,
    Design(30, 2, 6, shown=2, unequal=True),
    Design(40, 1, 5, singles=True, scale="binary"),
    Design(20, 1, 40, singles=True, systems=4),
    Design(40, 3, 8, newcomer=3, group=5, by_group=True),
)


def tallied(simulation, runs: int) -> Tally:
    tally = Tally()
    tally.add(runs, simulation.measure(runs, np.random.default_rng(3)))
    return tally


def test_sixty_designs_range_from_3_to_300_annotators():
    assert len({(part, design) for part, designs in DESIGNS.items() for design in designs}) >= 60
    assert {design.annotators for design in ALL} >= {3, 4, 5, 300}
    assert len({key_of(simulation) for simulation in SIMULATIONS}) == len(SIMULATIONS)


@pytest.mark.parametrize("design", SAMPLE, ids=lambda design: design.name)
def test_weights_reused_over_studies_give_what_the_app_fits(design: Design):
    random = np.random.default_rng(5)
    drawn = Drawn.of(design, assignment(design, random))
    rated, ratings = drawn.refit.rated, drawn.simulated(SHIFT, 5, random)[0].ratings
    for values, fit in zip(ratings, drawn.refit.fits(ratings), strict=True):
        built = CrossedEffects.build(values, rated.items, rated.annotators, rated.systems, drawn.refit.groups)
        assert isinstance(fit, CrossedEffects)
        np.testing.assert_allclose(fit.residuals, built.residuals, atol=1e-9)
        for baseline, system in combinations(range(design.systems), 2):
            own, app = fit.difference(system, baseline), built.difference(system, baseline)
            assert own.mean == pytest.approx(app.mean, abs=1e-9)
            assert (own.alike.low, own.these.low) == pytest.approx((app.alike.low, app.these.low), abs=1e-9)
            assert present(own.test).p == pytest.approx(present(app.test).p, abs=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("design", [SMALL, Design(60, 2, 6, shown=2, unequal=True, spread="t3")], ids=str)
def test_simulated_studies_have_the_difference_coverage_is_counted_with(design: Design):
    random = np.random.default_rng(3)
    rated = assignment(design, random)
    drawn = Drawn.of(design, rated)
    studies = drawn.simulated(SHIFT, 1500, random)
    lines = [study[-1] for study in drawn.analysed(studies)]
    result = np.array([of.contrast.difference.mean for of in lines])
    here, alike = np.array([of.here for of in lines]), lines[0].alike
    assert result.mean() == pytest.approx(alike, abs=4 * result.std() / np.sqrt(1500))
    assert here.mean() == pytest.approx(alike, abs=4 * here.std() / np.sqrt(1500))
    assert np.corrcoef(result, here)[0, 1] > 0.4


def test_the_expected_rating_is_the_sum_of_its_steps():
    assert expected(np.array([0.0]), 0.0, "binary") == pytest.approx([0.5])
    assert true_mean(SMALL, MARGIN) > true_mean(SMALL, 0.0)


@pytest.mark.long
def test_a_small_design_keeps_level_and_coverage():
    tally = tallied(Differences(SMALL, "test"), 300)
    assert 1 <= present(tally.percent("level")) <= 10
    assert 90 <= present(tally.percent("coverage")) <= 99
    assert present(tally.percent("level here")) > 10


def test_few_annotators_are_not_judged_for_others():
    tally = tallied(Differences(Design(20, 3, 3, taste=0, criteria=2), "test"), 50)
    assert tally.percent("coverage") is None
    assert present(tally.percent("level")) == tally.percent("level here")
    assert present(tally.percent("any")) == tally.percent("any here")


def test_a_contrast_of_ratings_missing_for_their_content_is_refitted():
    tally = tallied(Differences(Design(60, 3, 8, missing="if low, one system only"), "test"), 60)
    assert present(tally.percent("coverage")) < 97


def test_looks_without_a_rule_reject_more_often():
    tally = tallied(Looks(Design(40, 3, 8, taste=0.6), 4), 60)
    assert present(tally.percent("rule")) <= present(tally.percent("no rule"))


def test_equivalence_is_said_more_often_without_a_difference():
    tally = tallied(Equivalence(Design(60, 5, 5, taste=0)), 40)
    assert present(tally.percent("at the margin")) < 30 < present(tally.percent("without a difference"))


@pytest.mark.long
def test_agreement_odds_and_camps_are_simulated():
    assert present(tallied(AgreementCoverage(30, 2, 0.7), 20).percent("alpha")) > 70
    assert present(tallied(OddsLevel(Design(30, 3, 6, systems=2)), 3).percent("level")) < 100
    assert present(tallied(CampsReported(30, 3, 12, "tastes"), 2).percent("by taste")) >= 0


@pytest.mark.long
def test_batches_are_stored_continued_and_have_their_own_seeds(tmp_path):
    simulation, path = Differences(Design(10, 2, 5), "test"), tmp_path / "results.jsonl"
    for _ in range(2):
        add_batch(simulation, stored(path)[key_of(simulation)], path)
    first, second = path.read_text().splitlines()
    assert first != second
    assert stored(path)[key_of(simulation)].runs == 2 * simulation.batch
    path.write_text(first + "\n")
    add_batch(simulation, stored(path)[key_of(simulation)], path)
    assert path.read_text().splitlines() == [first, second]


def test_the_page_marks_and_lists_what_is_outside():
    simulation, tally = Differences(SMALL, "Incomplete"), Tally()
    tally.add(1000, {"level": ([90, 70], 1000), "any": ([50], 1000), "coverage": ([950], 1000)})
    written = page([(simulation, tally)])
    assert "**8.0** | 9.0 ± 0.9" in written
    assert f"- {simulation.name}: level 8.0 (1.9 SE)." in written


def test_the_committed_page_holds_every_design():
    lines = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")] for line in lines if line.startswith("| ")]
    main = [row for row in rows if len(row) == len(rows[0]) and row[-2].replace(",", "").isdigit()]
    assert [row[1:4] for row in main] == [[of.name, f"{of.taste:g}", of.scale] for of in ALL]


@pytest.mark.long
@pytest.mark.parametrize(
    "design", [Design(8, 8, 8, systems=10, taste=0), Design(48, 8, 8, systems=10, late=8, taste=0)]
)
def test_many_systems_on_few_items_keep_the_bound(design):
    tally = tallied(Differences(design, "test"), 150)
    assert present(tally.percent("any")) <= 6

"""The planner: what a round shows about scatter, what a plan is worth, and how fast it answers."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from helpers.frames import crossed, make_frame
from helpers.present import present
from helpers.ratings import submit
from helpers.reports import some_answers

from triptych.results.frame.collection import Planned
from triptych.results.frame.model import Counted
from triptych.results.study_analysis import StudyAnalysis
from triptych.simulate import planner
from triptych.simulate.planner import (
    PERCENT,
    Aim,
    PlannedScale,
    advise,
    bases,
    chances,
    pay_per_hour,
    pooled_components,
    preset,
    rounds,
)
from triptych.stats.components import PRESETS, Components, Pilot
from triptych.stats.numbers import counted
from triptych.stats.power import Plan, effort, power
from triptych.stats.undefined import Undefined, UndefinedStatistic
from triptych.storage import database
from triptych.storage.models import Membership, Role
from triptych.study.settings import changed, stored

SOME = Components(item=0.5, annotator=0.4, residual=1.2)
YES_NO = """
key: yes_no
title: Yes or no
summary: One question.
instructions: Answer.
criteria:
  - key: good
    title: Good
    definition: Is it good?
    scale: {kind: choice, options: [{key: aye, title: Aye, positive: true}, {key: nay, title: Nay}]}
"""


def analysed(frame) -> StudyAnalysis:
    return StudyAnalysis(frame, Counted(), {code: f"System {code}" for code in frame.systems})


def pilots(frame) -> list[Pilot]:
    """The paired differences of the first criterion."""
    analysis = analysed(frame)
    key = analysis.ratings[0].criterion.key
    return list(planner._pilots(planner._estimated(analysis.contrasts_of(key))))


def test_components_of_a_round_average_over_pairs_of_systems():
    # differences of crossed() have a residual of sqrt(2), and neither items nor annotators with tastes for a system
    pooled = pooled_components(pilots(crossed(80, 8, systems=3, points=21)))
    assert pooled.residual == pytest.approx(2**0.5, rel=0.1)
    assert max(pooled.item, pooled.annotator) < 0.3


def test_too_few_ratings_give_a_reason_instead_of_components():
    assert pooled_components(()) == planner.NOT_YET
    assert "no item was rated by two annotators" in pooled_components(pilots(crossed(6, 3, raters=1))).reason


def test_shares_of_answers_are_planned_in_percent():
    rows = [
        {
            "annotator": f"P-{who}",
            "item": f"i{item}",
            "criterion": "good",
            "system": system,
            "option": "aye" if (item + who + system * item) % 3 else "nay",
        }
        for who in range(4)
        for item in range(6)
        for system in (1, 2)
    ]
    (basis,) = planner._bases(analysed(make_frame(YES_NO, rows)), "pilot")
    assert basis.scale == PlannedScale(PERCENT, True)
    assert basis.title == "Good (pilot round)"
    assert 10 < basis.components.residual < 100
    assert 0 <= present(basis.mean_difference) <= PERCENT


@pytest.mark.parametrize("gap", [0.0, 0.3])
def test_a_pilot_whose_differences_are_all_equal_shows_no_scatter(gap):
    """After a pilot in which a flag was never set, every plan had a chance of 100 %."""
    frame = crossed(12, 6)
    frame.ratings["value"] = 2 + 0.1 * (frame.ratings["item"].cat.codes % 7) + gap * frame.ratings["system"]
    assert pooled_components(pilots(frame)) == planner.NO_SCATTER
    assert not list(planner._bases(analysed(frame), "pilot"))


def test_a_difference_is_planned_from_complete_results_only():
    """Visits of the planner are not logged as looks."""
    for places, shown in ((64, True), (65, False)):
        analysis = analysed(replace(crossed(16, 4), planned=Planned(places)))
        assert [basis.mean_difference is not None for basis in planner._bases(analysis, "main")] == [shown]


def test_a_slider_to_hundred_is_planned_in_its_points():
    rubric = YES_NO.replace(
        "choice, options: [{key: aye, title: Aye, positive: true}, {key: nay, title: Nay}]", "SLIDER"
    )
    frame = crossed(20, 5, systems=2, points=7)
    frame = make_frame(rubric.replace("SLIDER", "number, low: 0, high: 100"), [
        row._asdict() | {"criterion": "good", "value": 10 * row.value}
        for row in frame.ratings.itertuples()
    ])  # fmt: skip
    (basis,) = planner._bases(analysed(frame), "pilot")
    assert (basis.scale, basis.scale.unit) == (PlannedScale(100), "points")
    residuals = [components.residual for components in planner.resampled(basis)]
    assert min(residuals) < basis.components.residual < max(residuals) < 3 * basis.components.residual


def test_a_preset_grows_with_the_scale():
    assert preset("high", PlannedScale(4)).components == PRESETS["high"].on_scale(4)


def test_an_outlook_gives_chance_hours_cost_and_advice():
    worth = effort(Plan(200, 3, 5), 60, 12.0)
    assert (worth.hours, worth.hours_each, worth.cost) == (10.0, 2.0, 120.0)
    advice = advise(Plan(200, 3, 5), 0.4, Components(0.2, 0.5, 0.8))
    assert advice.sentence.startswith("More annotators help more than more items")
    with pytest.raises(UndefinedStatistic, match="3 raters per item need 3 annotators"):
        advise(Plan(20, 3, 2), 0.4, SOME)


def test_a_point_of_a_slider_is_simulated_once():
    advise.cache_clear()
    first, other, again = (advise(Plan(items, 3, 13), 0.31, SOME) for items in (30, 40, 30))
    assert advise.cache_info().misses == 2
    assert first is again and first != other


def test_the_map_grows_and_leaves_out_impossible_designs():
    table = chances(Plan(40, 4, 6), 0.5, SOME)
    assert table.items == (20, 30, 40, 60, 80)
    assert table.annotators == (3, 4, 6, 9, 12)
    assert np.isnan(table.shares[0]).all()
    assert table.shares[1, 0] < table.shares[4, 4]
    assert (np.diff(table.shares[1:], axis=1) > -0.1).all()


def shown(share: float) -> str:
    """As sentences and the map print a chance."""
    return f"{100 * share:.0f} %"


@pytest.mark.long
@pytest.mark.parametrize("shape", [{}, {"systems": 3, "criteria": 2}, {"shown": 1}, {"group": 5}])
@pytest.mark.parametrize("annotators", [3, 6, 16])
@pytest.mark.parametrize("items", [20, 80])
def test_the_sentence_says_what_the_map_shows(shape, annotators, items):
    plan = Plan(items, 2, annotators, **shape)
    advice, table = advise(plan, 0.6, SOME), chances(plan, 0.6, SOME)
    row, column = table.annotators.index(annotators), table.items.index(items)
    now, wider, longer = (shown(table.shares[at]) for at in ((row, column), (row + 1, column), (row, column + 1)))
    assert f"would show in {now} of such studies" in advice.words
    people, more_items = table.annotators[row + 1], table.items[column + 1]
    if advice.sentence.startswith("Neither"):
        more_people = counted(people - annotators, "more annotator")
        words = f"Neither {more_people} nor {more_items - items} more items would change"
        assert advice.sentence.startswith(words)
        assert max(table.shares[row + 1, column], table.shares[row, column + 1]) < table.shares[row, column] + 0.04
    else:
        assert f"{people} annotators in place of {annotators} would" in advice.sentence
        assert f"would take the chance from {now} to {wider}" in advice.sentence
        assert f"{more_items} items in place of {items}" in advice.sentence
        assert advice.sentence.endswith(f"to {longer}.")


def test_a_pilot_leaves_open_how_many_items_are_needed():
    analysis = analysed(crossed(40, 6, systems=2, points=21))
    basis = next(planner._bases(analysis, "pilot"))
    plan = Plan(60, 2, 8)
    between = planner.chance_between(basis, plan, 0.8)
    assert isinstance(between, planner.Between)
    assert between.low < power(plan, 0.8, basis.components) < present(between.high)
    needed = planner.solve(basis, plan, 0.8)
    assert present(needed.between).low <= present(needed.count) <= present(present(needed.between).high)
    assert planner.chance_between(preset("high", PlannedScale(4)), plan, 0.8) is None
    assert planner.solve(preset("high", PlannedScale(4)), plan, 0.8).between is None


def test_a_pilot_of_five_annotators_gives_a_reason():
    """Intervals from so few held the true chance in 56 to 85 % of pilots of annotators with tastes."""
    plan = Plan(60, 2, 8)
    five, six = (next(planner._bases(analysed(crossed(20, people, systems=2)), "pilot")) for people in (5, 6))
    assert isinstance(planner.chance_between(six, plan, 0.8), planner.Between)
    refused = planner.chance_between(five, plan, 0.8)
    assert isinstance(refused, Undefined) and "only 5 annotators rated" in refused.reason
    assert planner.solve(five, plan, 0.8).between is None


def test_groups_of_items_take_half_of_the_items_tastes():
    basis = planner.Basis("Tone", SOME, PlannedScale(4))
    scatter = planner.scatter_of(Plan(50, 2, 8, group=5), basis, 1)
    assert scatter.item == scatter.group == pytest.approx(SOME.item * 0.5**0.5)
    assert planner.scatter_of(Plan(50, 2, 8), basis, 1) == SOME


@pytest.mark.parametrize(
    ("share", "shift", "ratio"), [(0.03, 5, 0.0736 / 0.0291), (0.97, -5, 0.0736 / 0.0291), (0.5, 12, 1)]
)
def test_shares_scatter_as_widely_as_the_planned_ones(share, shift, ratio):
    """A pilot in which an answer is rare promised more than a study found: one that is less rare scatters more."""
    basis = planner.Basis("Flag", SOME, PlannedScale(100, share=True), mean_share=share)
    scatter = planner.scatter_of(Plan(50, 2, 8), basis, shift)
    assert scatter.residual == pytest.approx(SOME.residual * ((1 + ratio) / 2) ** 0.5)
    assert scatter.annotator == pytest.approx(SOME.annotator * ((1 + ratio**2) / 2) ** 0.5)
    assert planner.scatter_of(Plan(50, 2, 8), basis, 0) == SOME


def test_a_plan_is_stated_in_words():
    plan = Plan(80, 2, 10, overlap=20, systems=3, criteria=2, shown=2, group=4)
    words = planner.sample_in_words(plan, Aim(0.5, 0.3, contrast="System 2 against System 1"))
    assert words == (
        "80 items in groups of 4, 2 annotators per item, 2 of 3 systems at a time, 10 annotators in total (that many "
        "for 20 items, one for the others); planned to show a difference of 0.5 points (System 2 against System 1) "
        "with p adjusted by Holm over 6 tests; systems within ±0.3 points count as practically equal."
    )


def test_a_plan_for_one_annotator_per_item_says_so() -> None:
    words = planner.sample_in_words(Plan(80, 1, 10, overlap=1), Aim(0.5))
    assert words.startswith("80 items, 1 annotator per item, 10 annotators in total (that many for 1 item, one for ")


def test_the_planner_reads_the_leads_own_rounds_of_a_series(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        main, lead, _ = make_study(session, series="s", round="main")
        pilot, other, people = make_study(session, items=3, series="s", round="pilot", title="Pilot")
        make_study(session, title="Another series")
        assert rounds(session, lead, main) == [main]
        session.add(Membership(study_id=pilot.id, person_id=lead.person_id, role=Role.lead, joined_at=main.created_at))
        session.flush()
        assert rounds(session, lead, main) == [main, pilot]
        assert bases(session, main) == ()
        rng = random.Random(4)
        for who in people * 3:
            submit(session, pilot, who, some_answers(rng))
        titles = [basis.title for basis in bases(session, pilot)]
    assert titles == ["Fluency (pilot round)", "Verdict (pilot round)"]


def test_pay_per_hour_follows_pay_per_item_or_floor(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, _ = make_study(session)
        assert pay_per_hour(study, 90) is None
        study.settings = stored(changed(study, pay={"floor_per_hour": Decimal(11)}))
        assert pay_per_hour(study, 90) == 11.0
        study.settings = stored(changed(study, pay={"per_item": Decimal("0.5")}))
        assert pay_per_hour(study, 90) == pytest.approx(20.0)


@pytest.mark.parametrize("name", ["low", "high"])
def test_yes_no_answers_scatter_as_they_can(name):
    """With a mean of 0.1, differences of annotators who agree on everything have a variance of 0.1 - 0.01."""
    components = planner.preset(name, PlannedScale(100, True)).components
    variance = components.item**2 + components.annotator**2 + components.residual**2
    assert variance > 100**2 * (0.1 - 0.1**2)
    assert components.residual < 100 * 0.5**0.5

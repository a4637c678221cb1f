"""Planning: components from a pilot, chances that simulated studies bear out, cost."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from helpers.present import present
from hypothesis import given, settings
from hypothesis import strategies as st

from triptych.stats.components import PRESETS, Components, Pilot
from triptych.stats.crossed import CrossedEffects
from triptych.stats.multiplicity import adjusted
from triptych.stats.power import (
    Plan,
    annotators_needed,
    effort,
    items_needed,
    power,
    power_to_show_equal,
    what_more_buys,
)
from triptych.stats.undefined import Undefined, UndefinedStatistic

SOME = Components(item=0.8, annotator=0.35, residual=1.6)

plans = st.builds(
    Plan, st.integers(2, 12), st.integers(1, 3), st.integers(5, 7), st.one_of(st.none(), st.integers(0, 2))
).filter(lambda plan: plan.annotations >= plan.annotators)


def pilot(random, items=60, annotators=10, raters=3, components=SOME):
    """Differences, items, annotators."""
    item = np.repeat(np.arange(items), raters)
    annotator = np.argsort(random.random((items, annotators)), axis=1)[:, :raters].ravel()
    result = 0.3 + random.normal(0, components.item, items)[item]
    result = result + random.normal(0, components.annotator, annotators)[annotator]
    return result + random.normal(0, components.residual, len(item)), item, annotator


def test_components_agree_with_pencil_and_paper():
    # Two items by two annotators, d = 0, 2 / 4, 8. Half squared distances: on one item 2 and 8, mean 5; by one
    # annotator 8 and 18, mean 13; across 32 and 2, mean 17. Item 17-5, annotator 17-13, residual 5+13-17.
    result = Pilot.build([0, 2, 4, 8], [0, 0, 1, 1], [0, 1, 0, 1]).components()
    assert (result.item**2, result.annotator**2, result.residual**2) == pytest.approx((12, 4, 1))


def test_known_components_are_recovered_from_incomplete_designs():
    random, true = np.random.default_rng(0), Components(0.8, 0.7, 1.2)
    result = [Pilot.build(*pilot(random, components=true)).components() for _ in range(100)]
    squares = np.mean([(each.item**2, each.annotator**2, each.residual**2) for each in result], axis=0)
    assert squares == pytest.approx((0.64, 0.49, 1.44), rel=0.15)


def test_shift_order_and_names_change_no_component():
    random = np.random.default_rng(1)
    differences, items, annotators = pilot(random)
    order = random.permutation(len(items))
    there = Pilot.build(differences, items, annotators).components()
    back = Pilot.build(7 - differences[order], -items[order], [f"a{n}" for n in annotators[order]]).components()
    assert (there.item, there.annotator, there.residual) == pytest.approx((back.item, back.annotator, back.residual))


@pytest.mark.parametrize(
    ("items", "annotators", "words"),
    [
        ([0, 1, 2, 3], [0, 0, 1, 1], "no item was rated by two annotators"),
        ([0, 0, 0, 0], [0, 1, 2, 3], "no annotator rated two items"),
        ([], [], "no item was rated by two annotators"),
    ],
)
def test_a_pilot_that_cannot_separate_components_gives_a_reason(items, annotators, words):
    with pytest.raises(UndefinedStatistic, match=words):
        Pilot.build(range(len(items)), items, annotators).components()


def test_an_annotator_twice_at_an_item_is_refused():
    with pytest.raises(ValueError, match="one difference per item and annotator"):
        Pilot.build([1, 2], [0, 0], [0, 0]).components()


def test_tastes_of_groups_are_recovered():
    random, true = np.random.default_rng(0), Components(0.8, 0.5, 1.0, 0.6)
    result = []
    for _ in range(100):
        differences, item, annotator = pilot(random, items=100, annotators=12, components=true)
        groups = item // 5
        result.append(
            Pilot.build(differences + random.normal(0, 0.6, 20)[groups], item, annotator, groups).components()
        )
    squares = np.mean([(of.item**2, of.annotator**2, of.residual**2, of.group**2) for of in result], axis=0)
    assert squares == pytest.approx((0.64, 0.25, 1.0, 0.36), rel=0.2)


def test_resampled_components_scatter_as_new_pilots_do():
    random = np.random.default_rng(2)
    new = np.array([Pilot.build(*pilot(random)).components().item ** 2 for _ in range(200)])
    again = [of.item**2 for seed in range(5) for of in Pilot.build(*pilot(random)).resampled(40, seed)]
    assert 0.5 < np.std(again) / np.std(new) < 2


def clear_in_simulated_studies(plan: Plan, shift: float, components: Components, studies: int) -> float:
    """How often the differences of the last system are clear by the real estimator."""
    random, (item, annotator, system) = np.random.default_rng(3), plan.assigned()
    tastes = np.array([components.item, components.annotator, components.residual]) / np.sqrt(2)
    pairs = [(first, second) for second in range(plan.systems) for first in range(second + 1, plan.systems)]
    others, hits = [1.0] * (plan.tests - len(pairs)), []
    for _ in range(studies):
        values = tastes[0] * random.normal(size=(plan.items, plan.systems))[item, system]
        values += tastes[1] * random.normal(size=(plan.annotators, plan.systems))[annotator, system]
        values += tastes[2] * random.normal(size=len(item)) + shift * (system == plan.systems - 1)
        effects = CrossedEffects.build(values, item, annotator, system)
        tests = adjusted([effects.difference(*pair).test.p for pair in pairs] + others)
        hits += [
            bool(test.holm is not None and test.holm < 0.05)
            for test, pair in zip(tests, pairs, strict=False)
            if pair[0] == plan.systems - 1
        ]
    return float(np.mean(hits))


@pytest.mark.long
@pytest.mark.parametrize(
    "plan",
    [
        Plan(40, 3, 8, systems=3),
        Plan(60, 3, 8, systems=3, shown=2),
        Plan(60, 1, 8, systems=3, shown=1, criteria=2),
    ],
)
def test_the_chance_is_that_of_simulated_studies(plan):
    assert power(plan, 0.9, SOME) == pytest.approx(clear_in_simulated_studies(plan, 0.9, SOME, 150), abs=0.1)


@given(plans)
@settings(max_examples=30, deadline=None)
def test_a_plan_shares_the_work_evenly(plan):
    item, annotator, system = plan.assigned()
    whole = plan.items if plan.overlap is None else plan.overlap
    first = system == 0
    assert first.sum() == plan.annotations
    assert np.bincount(item[first]).tolist() == [plan.raters] * whole + [1] * (plan.items - whole)
    assert len(np.unique(np.stack([item, annotator, system]), axis=1).T) == len(item)
    assert np.ptp(np.bincount(annotator[first], minlength=plan.annotators)) <= 1


def test_single_responses_have_raters_of_their_own():
    plan = Plan(20, 2, 6, systems=3, shown=1)
    item, annotator, system = plan.assigned()
    assert len(item) == plan.annotations == 120
    assert np.bincount(item * 3 + system).tolist() == [2] * 60
    assert len(set(zip(item.tolist(), annotator.tolist(), system.tolist(), strict=True))) == 120


def test_without_a_difference_one_study_in_forty_shows_one():
    """As many show it below, which the chance does not count."""
    for plan in (Plan(50, 3, 5), Plan(100, 3, 10), Plan(150, 1, 15), Plan(100, 3, 12, overlap=30)):
        assert 0.01 <= power(plan, 0, SOME) <= 0.04


def test_power_without_tastes_is_that_of_the_t_test():
    # 150 differences with SD 1.6 and a shift of 0.4: z = 3.06, power of the normal test 0.865, a little less with t.
    assert power(Plan(150, 1, 30), 0.4, Components(0, 0, 1.6)) == pytest.approx(0.84, abs=0.05)


def test_more_people_on_the_same_work_show_more():
    shares = [
        power(Plan(items, raters, people), 0.4, SOME)
        for items, raters, people in ((50, 3, 5), (50, 3, 10), (150, 1, 15))
    ]
    assert shares[0] < shares[1] < shares[2]


def test_power_grows_with_the_size_of_the_shift():
    result = [power(Plan(60, 2, 8), shift, SOME) for shift in (-1, 0, 0.5, 1)]
    assert result[1] < result[2] < result[3]
    assert result[0] == pytest.approx(result[3], abs=0.05)


def test_fewer_than_five_annotators_keep_the_level_for_themselves():
    assert 0.02 <= power(Plan(60, 3, 3), 0, SOME) <= 0.07


def test_more_tests_make_a_difference_harder_to_show():
    shares = [power(Plan(60, 2, 8, criteria=tests), 0.6, SOME) for tests in (1, 3, 12)]
    assert shares[0] > shares[1] > shares[2]
    assert power(Plan(60, 2, 8, criteria=12), 0, SOME) <= 0.02


def test_equality_is_shown_more_often_within_a_wider_margin():
    shares = [present(power_to_show_equal(Plan(100, 3, 10), margin, SOME)) for margin in (0.05, 0.6, 2.0)]
    assert shares[0] < 0.05 < shares[1] < 0.95 < shares[2]
    assert isinstance(power_to_show_equal(Plan(100, 3, 4), 0.5, SOME), Undefined)


def test_the_items_needed_give_the_chance_asked_for():
    plan = Plan(10, 2, 12, criteria=3)
    items = present(items_needed(plan, 0.8, SOME))
    assert 0.74 <= power(Plan(items, 2, 12, criteria=3), 0.8, SOME) <= 0.88
    assert isinstance(items_needed(Plan(10, 2, 5), 0.01, SOME), Undefined)


def test_the_annotators_needed_give_the_chance_asked_for():
    plan = Plan(150, 3, 5)
    people = present(annotators_needed(plan, 0.5, SOME))
    assert 0.78 <= power(replace(plan, annotators=people), 0.5, SOME) <= 0.86
    assert "more items are needed" in str(annotators_needed(plan, 0.01, SOME))
    assert "too few for 5 annotators" in str(annotators_needed(Plan(8, 1, 2), 0.5, SOME))


def test_items_in_groups_show_less():
    scatter = Components(0.8, 0.35, 1.6, 0.8)
    shares = [power(Plan(100, 3, 10, group=group), 0.6, scatter) for group in (1, 5, 20)]
    assert shares[0] > shares[1] > shares[2]


def test_single_responses_show_less_than_all_side_by_side():
    shares = [power(Plan(60, 2, 8, systems=3, shown=shown), 0.8, SOME) for shown in (0, 2, 1)]
    assert shares[0] > shares[1] and shares[0] > shares[2]


def test_below_five_annotators_the_plan_concerns_them_only():
    assert "apply to these annotators only" in what_more_buys(Plan(20, 2, 4), 0.5, SOME).words
    assert "only" not in what_more_buys(Plan(20, 2, 5), 0.5, SOME).words


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (Plan(1, 2, 5), "two items or more"),
        (Plan(10, 1, 1), "two annotators or more"),
        (Plan(10, 3, 2), "3 raters per item need 3 annotators"),
        (Plan(10, 0, 2), "every item needs a rater"),
        (Plan(10, 2, 5, overlap=11), "overlap"),
        (Plan(3, 1, 5), "every annotator needs an item"),
        (Plan(10, 2, 5, shown=3), "1 to 2 systems"),
        (Plan(10, 2, 5, group=10), "two groups of items"),
        (Plan(10, 2, 5, systems=1), "two systems"),
    ],
)
def test_an_impossible_plan_gives_a_reason(plan, words):
    with pytest.raises(UndefinedStatistic, match=words):
        power(plan, 0.5, SOME)


def test_advice_prefers_annotators_where_they_add_more_power():
    result = what_more_buys(Plan(50, 3, 8), 0.5, Components(0.3, 0.8, 0.8))
    assert result.sentence.startswith(
        "More annotators help more than more items: 12 annotators in place of 8 would take"
    )
    assert "; 75 items in place of 50, for 75 more annotations, to " in result.sentence


def test_it_says_when_more_items_buy_more():
    result = what_more_buys(Plan(40, 3, 16), 0.5, Components(1.5, 0.05, 0.5))
    assert result.sentence.startswith("More items help more than more annotators: ")
    assert "for 60 more annotations" in result.sentence


def test_it_says_when_neither_helps():
    assert what_more_buys(Plan(100, 2, 10), 3, SOME).sentence.startswith("Neither 5 more annotators nor 50 more items")
    least = what_more_buys(Plan(3, 2, 2), 0.01, SOME).sentence
    assert least.startswith("Neither 1 more annotator nor 1 more item would")


@pytest.mark.parametrize("plan", [Plan(2000, 2, 300, systems=4), Plan(500, 5, 40, systems=16)])
def test_plans_of_many_ratings_take_little_memory(plan):
    tracemalloc.start()
    try:
        power(plan, 0.4, SOME)
        assert tracemalloc.get_traced_memory()[1] < 80_000_000  # bytes
    finally:
        tracemalloc.stop()


def test_effort_counts_all_annotations():
    result = effort(Plan(200, 3, 10, overlap=50), seconds=72, pay_per_hour=12)
    # 50 x 3 + 150 = 300 annotations of 72 s are 6 h.
    assert (result.hours, result.hours_each, result.cost) == pytest.approx((6, 0.6, 72))


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf])
def test_effort_without_a_time_gives_a_reason(seconds):
    with pytest.raises(UndefinedStatistic, match="must be known"):
        effort(Plan(10, 1, 2), seconds, 12)


def test_presets_widen_with_the_scale():
    low, high = PRESETS["low"], PRESETS["high"]
    assert (low.item, low.annotator) == (0.13, 0.04)
    assert high.on_scale(6).annotator == pytest.approx(0.66)
    assert high.residual == pytest.approx(math.sqrt(2) * 0.26)

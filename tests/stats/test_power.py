"""Planning: components from a pilot, the batch test against the public one, power where it should be, cost."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.present import present
from hypothesis import given, settings
from hypothesis import strategies as st

from triptych.stats.components import PRESETS, Components, variance_components
from triptych.stats.intervals import estimate
from triptych.stats.power import Plan, effort, items_needed, power, power_to_show_equal, significant, what_more_buys
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
    result = variance_components([0, 2, 4, 8], [0, 0, 1, 1], [0, 1, 0, 1])
    assert (result.item**2, result.annotator**2, result.residual**2) == pytest.approx((12, 4, 1))


def test_known_components_are_recovered_from_incomplete_designs():
    random, true = np.random.default_rng(0), Components(0.8, 0.7, 1.2)
    result = [variance_components(*pilot(random, components=true)) for _ in range(100)]
    squares = np.mean([(each.item**2, each.annotator**2, each.residual**2) for each in result], axis=0)
    assert squares == pytest.approx((0.64, 0.49, 1.44), rel=0.15)


def test_shift_order_and_names_change_no_component():
    random = np.random.default_rng(1)
    differences, items, annotators = pilot(random)
    order = random.permutation(len(items))
    there = variance_components(differences, items, annotators)
    back = variance_components(7 - differences[order], -items[order], [f"a{n}" for n in annotators[order]])
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
        variance_components(range(len(items)), items, annotators)


def test_an_annotator_twice_at_an_item_is_refused():
    with pytest.raises(ValueError, match="one difference per item and annotator"):
        variance_components([1, 2], [0, 0], [0, 0])


@given(plans, st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_the_batch_test_is_the_public_test_of_each_study(plan, seed):
    item, annotator = plan.assigned()
    random = np.random.default_rng(seed)
    differences = 0.7 + random.normal(size=(8, len(item))) + random.normal(size=(8, plan.annotators))[:, annotator]
    result = significant(differences, item, annotator)
    estimates = [estimate(study, item, annotator) for study in differences]
    expected = [(each.test or each.test_here).p < 0.05 for each in estimates]
    assert result.tolist() == expected


def test_studies_without_variation_show_nothing():
    item, annotator = Plan(6, 2, 5).assigned()
    assert not significant(np.ones((3, 12)), item, annotator).any()


@given(plans)
@settings(max_examples=30, deadline=None)
def test_a_plan_shares_the_work_evenly(plan):
    item, annotator = plan.assigned()
    whole = plan.items if plan.overlap is None else plan.overlap
    assert len(item) == plan.annotations
    assert np.bincount(item).tolist() == [plan.raters] * whole + [1] * (plan.items - whole)
    assert len(np.unique(np.stack([item, annotator]), axis=1).T) == plan.annotations
    assert np.ptp(np.bincount(annotator, minlength=plan.annotators)) <= 1


def test_without_a_difference_about_one_study_in_twenty_shows_one():
    for plan in (Plan(50, 3, 5), Plan(100, 3, 10), Plan(150, 1, 15), Plan(100, 3, 12, overlap=30)):
        assert 0.01 <= power(plan, 0, SOME).rate.share <= 0.08


def test_power_without_tastes_is_that_of_the_t_test():
    # 150 differences with SD 1.6 and a shift of 0.4: z = 3.06, power of the normal test 0.865, a little less with t.
    result = power(Plan(150, 1, 30), 0.4, Components(0, 0, 1.6), studies=4000)
    assert result.rate.share == pytest.approx(0.84, abs=0.05)
    assert result.rate.low < result.rate.share < result.rate.high


def test_more_people_on_the_same_work_show_more():
    shares = [
        power(Plan(items, raters, people), 0.4, SOME).rate.share
        for items, raters, people in ((50, 3, 5), (50, 3, 10), (150, 1, 15))
    ]
    assert shares[0] < shares[1] < shares[2]


def test_power_grows_with_the_size_of_the_shift():
    result = [power(Plan(60, 2, 8), shift, SOME).rate.share for shift in (-1, 0, 0.5, 1)]
    assert result[1] < result[2] < result[3]
    assert result[0] == pytest.approx(result[3], abs=0.05)


def test_equal_seeds_give_equal_power_in_any_batches():
    assert power(Plan(60, 2, 8), 0.5, SOME) == power(Plan(60, 2, 8), 0.5, SOME)
    assert power(Plan(60, 2, 8), 0.5, SOME, studies=50).rate.n == 50


def test_fewer_than_five_annotators_keep_the_level_for_themselves():
    assert 0.02 <= power(Plan(60, 3, 3), 0, SOME, studies=2000).rate.share <= 0.07


def test_more_tests_make_a_difference_harder_to_show():
    shares = [power(Plan(60, 2, 8, tests=tests), 0.6, SOME).rate.share for tests in (1, 3, 12)]
    assert shares[0] > shares[1] > shares[2]
    assert power(Plan(60, 2, 8, tests=12), 0, SOME).rate.share <= 0.02


def test_equality_is_shown_more_often_within_a_wider_margin():
    shares = [power_to_show_equal(Plan(100, 3, 10), margin, SOME) for margin in (0.05, 0.6, 2.0)]
    assert [round(share.share, 1) for share in shares] == sorted(round(share.share, 1) for share in shares)
    assert shares[0].share < 0.05 < 0.9 < shares[2].share
    assert isinstance(power_to_show_equal(Plan(100, 3, 4), 0.5, SOME), Undefined)


def test_the_items_needed_give_the_chance_asked_for():
    plan = Plan(10, 2, 12, tests=3)
    items = present(items_needed(plan, 0.8, SOME))
    assert 0.74 <= power(Plan(items, 2, 12, tests=3), 0.8, SOME, studies=2000).rate.share <= 0.88
    assert isinstance(items_needed(Plan(10, 2, 5), 0.01, SOME), Undefined)


def test_below_five_annotators_the_plan_speaks_for_them_only():
    assert "speak for these annotators only" in power(Plan(20, 2, 4), 0.5, SOME, studies=10).sentence
    assert "only" not in power(Plan(20, 2, 5), 0.5, SOME, studies=10).sentence


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (Plan(1, 2, 5), "two items or more"),
        (Plan(10, 1, 1), "two annotators or more"),
        (Plan(10, 3, 2), "3 raters per item need 3 annotators"),
        (Plan(10, 0, 2), "every item needs a rater"),
        (Plan(10, 2, 5, overlap=11), "overlap"),
        (Plan(3, 1, 5), "every annotator needs an item"),
    ],
)
def test_an_impossible_plan_gives_a_reason(plan, words):
    with pytest.raises(UndefinedStatistic, match=words):
        power(plan, 0.5, SOME)


def test_advice_prefers_annotators_where_they_add_more_power():
    result = what_more_buys(Plan(50, 3, 5), 0.4, Components(0.3, 0.8, 0.8))
    assert result.sentence.startswith("A few more annotators buy more than more items: 2 more annotators would raise")
    assert result.more_items.plan == Plan(75, 2, 5)
    assert result.more_items.plan.annotations == result.more_annotators.plan.annotations == 150


def test_it_says_when_more_items_buy_more():
    result = what_more_buys(Plan(40, 3, 16), 0.5, Components(1.5, 0.05, 0.5))
    assert result.sentence.startswith("More items buy more than a few more annotators: ")


def test_it_says_when_neither_helps():
    assert what_more_buys(Plan(100, 2, 10), 3, SOME).sentence.startswith("Neither 2 more annotators nor more items")


def test_with_one_rater_more_items_cost_more_annotations():
    result = what_more_buys(Plan(100, 1, 6), 0.4, SOME)
    assert result.more_items.plan == Plan(125, 1, 6)
    assert "for 25 more annotations" in result.sentence


def test_an_overlap_becomes_thinner_for_more_items():
    result = what_more_buys(Plan(100, 3, 8, overlap=30), 0.4, SOME, studies=100)
    assert result.more_items.plan == Plan(130, 2, 8, overlap=30)
    assert result.more_items.plan.annotations == result.plan.plan.annotations


def test_effort_counts_annotations_and_training():
    result = effort(Plan(200, 3, 10, overlap=50), seconds=72, pay_per_hour=12, extra_hours_each=0.5)
    # 50 x 3 + 150 = 300 annotations of 72 s are 6 h, and 10 x 0.5 h.
    assert (result.hours, result.hours_each, result.cost) == pytest.approx((11, 1.1, 132))


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf])
def test_effort_without_a_time_gives_a_reason(seconds):
    with pytest.raises(UndefinedStatistic, match="must be known"):
        effort(Plan(10, 1, 2), seconds, 12)


def test_presets_widen_with_the_scale():
    low, high = PRESETS["low"], PRESETS["high"]
    assert (low.item, low.annotator) == (0.13, 0.04)
    assert high.on_scale(6).annotator == pytest.approx(0.66)
    assert high.residual == pytest.approx(math.sqrt(2) * 0.26)

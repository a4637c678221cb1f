"""Effects of position, order and length: planted ones are found, absent ones are not, undefined ones give a reason."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.present import attempt, present
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from triptych.stats.effects import best_by_position, order_effect, position_effect
from triptych.stats.undefined import Undefined, UndefinedStatistic

NAN = math.nan

rows = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(0, 6), st.integers(0, 2), st.sampled_from([1, 2, 3.5, NAN]), st.integers(-1, 2)
    ),
    max_size=40,
    unique_by=lambda row: (row[0], row[1], row[4]),  # an annotation shows one response at a place
)


def study(random, shifts=(0, 0, 0), change=0.0, taste=0.0, items=60, annotators=10, raters=3):
    """Values, items, annotators, positions, systems, order; taste: SD of annotators' likes for positions."""
    item = np.repeat(np.arange(items), raters)
    annotator = np.argsort(random.random((items, annotators)), axis=1)[:, :raters].ravel()
    when = random.permutation(len(item))
    position = np.argsort(random.random((len(item), 3)), axis=1).ravel()
    item, annotator, when = (np.repeat(column, 3) for column in (item, annotator, when))
    system = np.tile(np.arange(3), len(item) // 3)
    values = (
        4
        + 0.4 * system
        + random.normal(0, 0.5, (items, 3))[item, system]
        + random.normal(0, 0.5, annotators)[annotator]
    )
    values = values + np.array(shifts)[position] + random.normal(0, taste, (annotators, 3))[annotator, position]
    values = values + change * when / when.max() + random.normal(size=len(values))
    return np.clip(np.round(values), 1, 7), item, annotator, position, system, when


def test_position_shifts_agree_with_pencil_and_paper():
    # Two annotators, two items, each system once at each position of an item. Left minus right: 3, 0, 5, -4, whose mean
    # is 1, so shifts +-0.5.
    columns = [(0, 0, 0, 0, 4), (0, 0, 1, 1, 1), (0, 1, 0, 1, 3), (0, 1, 1, 0, 3)]
    columns += [(1, 0, 0, 0, 6), (1, 0, 1, 1, 1), (1, 1, 0, 1, 1), (1, 1, 1, 0, 5)]
    item, annotator, position, system, value = np.array(columns).T
    result = position_effect(value, item, annotator, position, system)
    assert list(result.shifts) == [0, 1]
    assert [shift.mean for shift in result.shifts.values()] == pytest.approx([0.5, -0.5])
    assert (result.annotations, result.freedom) == (4, (1, 1))


def test_shifts_without_variation_between_items_have_no_test():
    """Their covariance is rounding, by which Wald's statistic was divided."""
    columns = [(0, 0, 0, 0, 4), (0, 0, 1, 1, 1), (0, 1, 0, 0, 4), (0, 1, 1, 1, 1)]
    columns += [(1, 0, 0, 1, 4), (1, 0, 1, 0, 3), (1, 1, 0, 1, 0), (1, 1, 1, 0, 3)]
    item, annotator, position, system, value = np.array(columns).T
    with pytest.raises(UndefinedStatistic, match="too few items or annotators"):
        position_effect(value, item, annotator, position, system)


def test_planted_position_shifts_are_found():
    result = position_effect(*study(np.random.default_rng(0), shifts=(0.3, 0, -0.3))[:5])
    assert [shift.mean for shift in result.shifts.values()] == pytest.approx([0.3, 0, -0.3], abs=0.15)
    assert sum(shift.mean for shift in result.shifts.values()) == pytest.approx(0)
    assert result.p < 0.01
    assert result.shifts[0].kind == "two_way"
    assert result.sentence.endswith("95 % interval for annotators like these 10.")


def test_changes_of_a_share_are_said_in_percentage_points():
    values, item, annotator, position, system, when = study(np.random.default_rng(0), (0.6, 0, -0.6), change=2.0)
    chosen = (values > 4).astype(float)
    place = position_effect(chosen, item, annotator, position, system, share=True)
    time = order_effect(chosen, item, annotator, system, when, share=True)
    shift = max((shift.mean for shift in place.shifts.values()), key=abs)
    assert place.sentence.startswith(f"Largest shift {100 * shift:+.0f} percentage points;")
    assert f"changed by {100 * time.change.headline.mean:+.0f} percentage points from" in time.sentence


def test_below_five_annotators_the_position_effect_concerns_these():
    result = position_effect(*study(np.random.default_rng(0), annotators=4)[:5])
    assert result.shifts[0].kind == "item"
    assert result.freedom == (2, 58)


@pytest.mark.parametrize("annotators", [4, 5, 9])
def test_a_single_shift_is_tested_as_its_interval_says(annotators):
    values, item, annotator, position, system, _ = study(
        np.random.default_rng(2), (0.2, -0.2, 0), annotators=annotators
    )
    values[position == 2] = NAN
    result = position_effect(values, item, annotator, position, system)
    shift, (_, freedom) = result.shifts[0], result.freedom
    error = (present(shift.high) - shift.mean) / t.ppf(0.975, freedom)
    assert result.p == pytest.approx(2 * t.sf(abs(shift.mean) / error, freedom))


def test_a_missing_position_leaves_the_others_compared():
    values, *labels = study(np.random.default_rng(0), shifts=(0.5, 0, -0.5))[:5]
    values[::7] = NAN
    result = position_effect(values, *labels)
    assert [shift.mean for shift in result.shifts.values()] == pytest.approx([0.5, 0, -0.5], abs=0.2)


@pytest.mark.parametrize("taste", [0, 0.3])
def test_without_a_position_effect_five_percent_are_rejected(taste):
    random = np.random.default_rng(6)
    result = [position_effect(*study(random, taste=taste, items=40, annotators=8)[:5]).p for _ in range(200)]
    assert 0.005 <= np.mean(np.array(result) < 0.05) <= 0.09


def test_system_means_do_not_pass_for_position_shifts():
    item, annotator, slot = (axis.ravel() for axis in np.meshgrid(range(12), range(6), range(3), indexing="ij"))
    position = (slot + item + annotator) % 3
    values = np.array([1, 4, 7])[slot] + np.random.default_rng(1).normal(0, 0.01, len(slot))
    result = position_effect(values, item, annotator, position, slot)
    assert max(abs(shift.mean) for shift in result.shifts.values()) < 0.01


@pytest.mark.parametrize(
    ("positions", "values", "words"),
    [
        ([0, 1, 2], [3, 3, 3], "vary only with position and system"),
        ([0, 0, 0], [1, 2, 3], "no ratings at two known positions"),
        ([-1, NAN, -1], [1, 2, 3], "no ratings at two known positions"),
        ([0, 1, 2], [NAN] * 3, "no ratings at two known positions"),
    ],
)
def test_an_undefined_position_effect_gives_a_reason(positions, values, words):
    items, annotators = np.repeat(range(4), 3), np.tile([0, 0, 0, 1, 1, 1], 2)
    systems = np.concatenate([np.roll([0, 1, 2], n) for n in range(4)])
    with pytest.raises(UndefinedStatistic, match=words):
        position_effect(np.tile(values, 4), items, annotators, np.tile(positions, 4), systems)


def test_systems_at_a_fixed_position_are_confounded_with_it():
    values, item, annotator, _, system, _ = study(np.random.default_rng(0))
    with pytest.raises(UndefinedStatistic, match="the effects of position and system cannot be separated"):
        position_effect(values, item, annotator, system, system)


def test_strict_bests_are_counted_by_position():
    # Annotations: best at 0; best at 1; tied best (not counted); one position missing (not counted).
    values = [5, 1, 2, 1, 4, 2, 3, 3, 1, 7, 1, NAN]
    result = best_by_position(values, np.repeat(range(4), 3), [0] * 12, [0, 1, 2] * 4)
    assert {at: (best.hits, best.n) for at, best in result.items()} == {0: (1, 2), 1: (1, 2), 2: (0, 2)}
    assert result[2].low == pytest.approx(0)


def test_without_a_strict_best_there_is_no_share():
    with pytest.raises(UndefinedStatistic, match="above all others"):
        best_by_position([3, 3, 4, 4], [0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1])


def test_a_planted_change_over_time_is_found_in_scale_points():
    values, item, annotator, _, system, when = study(np.random.default_rng(1), change=1.0, items=100)
    result = order_effect(values, item, annotator, system, when)
    assert present(result.change.alike.low) < 1 < present(result.change.alike.high)
    assert result.change.test.p < 0.01
    assert result.change.n == 300


def test_without_an_order_effect_five_percent_are_rejected():
    random = np.random.default_rng(4)
    result = []
    for _ in range(120):
        values, item, annotator, _, system, when = study(random, items=30, annotators=8)
        result.append(order_effect(values, item, annotator, system, when).change.test.p)
    assert 0.01 <= np.mean(np.array(result) < 0.05) <= 0.1


@pytest.mark.filterwarnings("error")
def test_scores_that_a_judge_stored_at_once_do_not_warn():
    values, item, annotator, _, system, when = study(np.random.default_rng(1))
    judged = order_effect(values, item, annotator, system, np.where(annotator == 0, 5.0, when))
    assert judged.change.n == order_effect(values, item, annotator, system, when).change.n


def test_one_annotators_change_over_time_has_no_test():
    values = [1, 5, 2, 4, 4, 7]
    result = order_effect(values, range(6), ["ann"] * 6, ["one"] * 6, [10, 20, 30, 40, 50, 60])
    assert result.change.test is None


def test_when_the_clock_runs_backwards_the_change_is_mirrored():
    values, item, annotator, _, system, when = study(np.random.default_rng(1), change=1.0)
    there, back = (order_effect(values, item, annotator, system, order) for order in (when, -when))
    assert back.change.mean == pytest.approx(-there.change.mean)


def test_annotations_of_one_time_share_their_place():
    values, when = [1, 5, 2, 4, 4, 7], [10, 20, 20, 20, 50, 60]
    result = [
        order_effect(values[::step], range(6)[::step], ["ann"] * 6, ["one"] * 6, when[::step]).change.mean
        for step in (1, -1)
    ]
    places = np.array([0, 2, 2, 2, 4, 5]) / 5
    assert result == pytest.approx([np.polyfit(places, values, 1)[0]] * 2)


def test_an_undefined_order_effect_gives_a_reason():
    with pytest.raises(UndefinedStatistic, match="differ in time"):
        order_effect([1, 2, 3, 4, 5], range(5), [0] * 5, [0] * 5, [9] * 5)
    with pytest.raises(UndefinedStatistic, match="nobody has 5 annotations"):
        order_effect([1, 2, 3], [0, 1, 2], [0, 0, 0], [0, 0, 0], [1, 2, 3])
    with pytest.raises(UndefinedStatistic, match="vary from one annotation to the next"):
        order_effect([3] * 6, range(6), [0] * 6, [0] * 6, range(6))
    with pytest.raises(UndefinedStatistic, match="nobody has 5 annotations"):
        order_effect([], [], [], [], [])


@given(rows, st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_row_order_and_names_change_no_effect(ratings, random):
    moved = [(8 - i, "ABCDEFG"[a], s, v, p) for i, a, s, v, p in random.sample(ratings, len(ratings))]
    result = []
    for table in (ratings, moved):
        item, annotator, system, value, position = (list(c) for c in zip(*table, strict=True)) if table else [[]] * 5
        result.append(
            (
                attempt(position_effect, value, item, annotator, position, system),
                attempt(best_by_position, value, item, annotator, position),
                attempt(order_effect, value, item, annotator, system, item),
            )
        )
    (each, best, _), (other, best_moved, _) = result
    if isinstance(each, Undefined):
        assert each.reason.startswith("Not defined: ")
    else:
        assert math.isfinite(each.p)
        assert each.p == pytest.approx(other.p, rel=1e-4, abs=1e-7)
    if isinstance(best, Undefined):
        assert best == best_moved
    for _, _, order in result:
        assert (
            order.reason.startswith("Not defined: ")
            if isinstance(order, Undefined)
            else math.isfinite(order.change.mean)
        )


@pytest.mark.parametrize("seed", [0, 8, 9, 13])
def test_sentences_do_not_depend_on_the_order_of_rows(seed):
    """A shift of 0.125 was "+0.12" or "+0.13"."""
    random = np.random.default_rng(seed)
    item, annotator, system = (each.ravel() for each in np.indices((5, 4, 2)))
    value, position = random.integers(1, 6, 40), (system + item + annotator) % 2

    def sentence(order: np.ndarray) -> str:
        columns = value[order], item[order], annotator[order], position[order], system[order]
        return position_effect(*columns).sentence

    assert {sentence(random.permutation(40)) for _ in range(10)} == {sentence(np.arange(40))}

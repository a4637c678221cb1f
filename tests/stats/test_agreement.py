"""Agreement: worked examples, the reference package, invariances, and every way to be undefined."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from helpers.present import attempt, present
from hypothesis import given, settings
from hypothesis import strategies as st

from triptych.stats import counts as counting
from triptych.stats.agreement import Level, krippendorff_alpha
from triptych.stats.coefficients import agreement_table, alpha_alone, band_note, category_note, intra_annotator
from triptych.stats.counts import UnitCounts
from triptych.stats.leave_one_out import without_each
from triptych.stats.undefined import Undefined, UndefinedStatistic

LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")
EXAMPLES = json.loads((Path(__file__).parents[1] / "oracles" / "krippendorff_examples.json").read_text())
NAN = math.nan

rows = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from([0, 0.5, 1, 2, 3, NAN])),
    max_size=40,
)


def flat(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Units and values of a table with a row per annotator and a column per unit."""
    return np.tile(np.arange(table.shape[1]), table.shape[0]), table.ravel()


def as_table(ratings: list[list[float | None]]) -> np.ndarray:
    return np.array([[NAN if value is None else value for value in row] for row in ratings])


def columns(ratings: list[tuple[int, float]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([row[0] for row in ratings], dtype=int), np.array([row[1] for row in ratings], dtype=float)


def percent_agreement(units, values) -> float:
    return present(agreement_table(units, values, "nominal")["percent"].value)


def alpha_interval(units, values, level, items=None) -> tuple[float, float]:
    interval = alpha_alone(units, values, level, items=items).interval
    if isinstance(interval, Undefined):
        raise UndefinedStatistic(interval.reason)
    return interval


def random_table(random: np.random.Generator) -> np.ndarray:
    shape = (random.integers(2, 7), random.integers(1, 25))
    table = random.integers(0, random.integers(2, 9), size=shape) * random.choice([0.5, 1, 3.7]) - 2
    table[random.random(shape) < random.choice([0, 0.3, 0.6, 0.8])] = NAN
    return table


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["name"])
def test_alpha_of_the_worked_examples_is_the_published_one(example):
    units, values = flat(as_table(example["ratings"]))
    for level, expected in example["published"].items():
        assert round(krippendorff_alpha(units, values, level), 3) == expected
    for level, expected in example["package"].items():
        assert krippendorff_alpha(units, values, level) == pytest.approx(expected, abs=1e-11)


def test_ordinal_alpha_agrees_with_pencil_and_paper():
    # Two units (1, 2) and (2, 3): marginals 1, 2, 1, mid-ranks 0.5, 2, 3.5.
    # Observed: each unit 2 * 1.5^2 / (2 - 1) = 4.5, together 9.
    # Expected: (2 * (1*2*1.5^2 + 1*1*3^2 + 2*1*1.5^2)) / (4 - 1) = 2 * 18 / 3 = 12. Alpha = 1 - 9/12.
    assert krippendorff_alpha([0, 0, 1, 1], [1, 2, 2, 3], "ordinal") == pytest.approx(0.25, abs=1e-12)


def test_percent_agreement_is_the_mean_share_of_equal_pairs():
    # Unit 0: of 3 pairs 1 is equal; unit 1: its only pair is equal; unit 2 has one rating. (1/3 + 1) / 2.
    assert percent_agreement([0, 0, 0, 1, 1, 2], [1, 1, 2, 5, 5, 3]) == pytest.approx(2 / 3)


def test_percent_agreement_counts_every_unit_of_a_pattern():
    assert percent_agreement([0, 0, 1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 1, 1, 1, 2]) == 0.75


@pytest.mark.long
def test_alpha_equals_the_reference_package_on_500_random_incomplete_tables():
    random, compared = np.random.default_rng(16), 0
    for _ in range(500):
        table = random_table(random)
        for level in LEVELS:
            ours = attempt(krippendorff_alpha, *flat(table), level)
            if isinstance(ours, float):
                theirs = krippendorff.alpha(table, level_of_measurement=level)
                assert ours == pytest.approx(theirs, abs=1e-9)
                compared += 1
            else:
                assert reference_is_undefined(table, level)
    assert compared > 1200


def reference_is_undefined(table: np.ndarray, level: Level) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return math.isnan(krippendorff.alpha(table, level_of_measurement=level))
        except ValueError:
            return True


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_of_many_distinct_values_equals_the_reference_package(level):
    random = np.random.default_rng(3)
    table = random.normal(size=(1, 60)) + random.normal(size=(4, 60))
    table[random.random(table.shape) < 0.2] = NAN
    expected = krippendorff.alpha(table, level_of_measurement=level)
    assert krippendorff_alpha(*flat(table), level) == pytest.approx(expected, abs=1e-9)


def test_three_thousand_slider_values_need_no_square_table():
    units = np.repeat(np.arange(1500), 2)
    table = UnitCounts.build(units, np.random.default_rng(0).normal(size=3000))
    assert table.counts.shape == (1500, 3000)
    assert table.counts.nnz == 3000


def test_equal_units_are_one_pattern():
    table = UnitCounts.build([0, 0, 1, 1, 2, 2, 3], [1, 2, 2, 1, 2, 2, 9])
    assert sorted(table.weights.tolist()) == [1, 2]
    assert (table.units, table.weights @ table.sizes) == (3, 6)


def test_a_unit_rated_once_counts_apart():
    table = UnitCounts.build([0, 0, 1, 2], [1, 2, 9, 9])
    assert table.values.tolist() == [1, 2, 9]
    assert table.alone.tolist() == [0, 0, 2]
    assert table.used.tolist() == [True, True, False]


@pytest.mark.parametrize("names", [lambda n: n - 3, lambda n: n * 10_000 + 7, lambda n: n.astype(np.int8), np.float64])
def test_units_may_be_any_numbers(names):
    units, values = np.array([4, 4, 0, 0, 2, 9, 9]), [1, 2, 2, 2, 3, 3, 3]
    assert krippendorff_alpha(names(units), values, "nominal") == krippendorff_alpha(units, values, "nominal")
    assert UnitCounts.build(names(units), values).alone.tolist() == [0, 0, 1]


@pytest.mark.parametrize("key", ["percent", "alpha"])
def test_items_rated_once_are_no_part_of_an_interval(key):
    units, values = np.repeat(np.arange(12), 2), np.random.default_rng(0).integers(1, 4, 24)
    without = agreement_table(units, values, "nominal")[key]
    beside = agreement_table([*units, *range(100, 130)], [*values, *[1] * 30], "nominal")[key]
    assert present(beside.interval) == pytest.approx(present(without.interval))


def test_an_item_leaves_with_all_its_units():
    table = UnitCounts.build([0, 0, 1, 1, 2, 3, 3], [1, 2, 2, 2, 1, 3, 3], items=["a", "a", "a", "a", "b", "b", "b"])
    (draw,) = table.left_out()
    assert sorted(draw.weights.sum(axis=1)) == [1, 2]
    assert sorted(draw.alone.sum(axis=1)) == [0, 1]


@pytest.mark.parametrize("values", [[3.0, 1, 1, 7], [0.5, 3, 0.5], [1e9, -2, 4], [-1e100, 2, 2]])
def test_value_codes_keep_the_order_of_values(values):
    code, distinct = counting.value_codes(np.array(values), None)
    assert distinct[code].tolist() == values
    assert distinct.tolist() == sorted(set(values))


def test_units_differing_in_one_value_stay_two_patterns():
    # Keys of forty counts up to 3 need 4^40 numbers, more than 64 bits hold.
    common = list(range(1, 40)) * 3
    units = [0] * (len(common) + 1) + [1] * (len(common) + 2)
    table = UnitCounts.build(units, [0, *common, 0, 0, *common])
    assert table.weights.tolist() == [1, 1]


def test_the_scale_gives_ordinal_values_their_order():
    units, values = [0, 0, 1, 1, 2, 2], np.array([10, 30, 20, 20, 30, 30])
    swapped = np.array([{10: 1, 30: 2, 20: 3}[value] for value in values])
    assert krippendorff_alpha(units, values, "ordinal", [10, 30, 20, 40]) == pytest.approx(
        krippendorff_alpha(units, swapped, "ordinal")
    )
    assert krippendorff_alpha(units, values, "ordinal", [10, 30, 20]) != pytest.approx(
        krippendorff_alpha(units, values, "ordinal")
    )


def test_a_value_off_the_scale_is_named():
    with pytest.raises(UndefinedStatistic, match="the value 9 is not a point of the scale"):
        krippendorff_alpha([0, 0], [1, 9], "ordinal", [1, 2, 3])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("units", "values", "words"),
    [
        ([], [], "No item was rated by two annotators."),
        ([0, 1, 2], [1, 2, 3], "No item was rated by two annotators."),
        ([0, 0], [NAN, NAN], "No item was rated by two annotators."),
        ([0, 0, 1], [1, NAN, 3], "No item was rated by two annotators."),
        ([0, 0, 1, 1], [4, 4, 4, 4], "Not defined: no variation (every rating is the same)."),
        ([0, 0, 1], [4, 4, 5], "Not defined: no variation (every rating is the same)."),
        ([0, 0], [1, math.inf], "Not defined: a value is beyond 1e+100."),
    ],
)
def test_undefined_alpha_gives_a_reason(units, values, words, level):
    assert attempt(krippendorff_alpha, units, values, level) == Undefined(words)
    assert attempt(alpha_interval, units, values, level) == Undefined(words)


@pytest.mark.long
@given(rows, st.sampled_from(LEVELS), st.randoms(use_true_random=False))
def test_neither_row_order_nor_names_of_units_change_agreement(ratings, level, random):
    units, values = columns(ratings)
    shuffled = random.sample(ratings, len(ratings))
    names = {unit: f"item {name}" for unit, name in enumerate(random.sample(range(6), 6))}
    renamed = [names[unit] for unit, _ in shuffled]
    moved = [value for _, value in shuffled]
    for statistic, *options in [
        (krippendorff_alpha, level),
        (percent_agreement,),
        (alpha_interval, level),
    ]:
        before = attempt(statistic, units, values, *options)
        assert before == attempt(statistic, renamed, moved, *options)


@given(rows, st.sampled_from(LEVELS))
def test_agreement_is_finite_or_words(ratings, level):
    units, values = columns(ratings)
    alpha = attempt(krippendorff_alpha, units, values, level)
    share = attempt(percent_agreement, units, values)
    limits = attempt(alpha_interval, units, values, level)
    assert isinstance(alpha, Undefined) or (math.isfinite(alpha) and alpha <= 1)
    assert isinstance(share, Undefined) or 0 <= share <= 1
    assert isinstance(limits, Undefined) or (all(map(math.isfinite, limits)) and limits[0] <= limits[1] <= 1)


@given(rows, st.floats(0.1, 50), st.floats(-100, 100))
def test_interval_alpha_survives_another_unit_of_measurement(ratings, stretch, shift):
    units, values = columns(ratings)
    before = attempt(krippendorff_alpha, units, values, "interval")
    after = attempt(krippendorff_alpha, units, values * stretch + shift, "interval")
    assert before == after or before == pytest.approx(after, abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-1e100, 1e100)), max_size=12), st.sampled_from(LEVELS))
def test_values_of_any_size_give_finite_agreement_or_words(ratings, level):
    alpha = attempt(krippendorff_alpha, *columns(ratings), level)
    assert isinstance(alpha, Undefined) or math.isfinite(alpha)


@pytest.mark.parametrize("level", LEVELS)
def test_the_interval_is_a_jackknife_over_items(level):
    random = np.random.default_rng(5)
    table = np.clip(np.round(3 + random.normal(size=(1, 40)) + random.normal(size=(3, 40))), 1, 5)
    units, values = flat(table)
    items = units // 2
    alphas = [krippendorff_alpha(units[items != item], values[items != item], level) for item in range(20)]
    error = np.sqrt(19 / 20 * ((np.arctanh(alphas) - np.arctanh(alphas).mean()) ** 2).sum())
    centre = np.arctanh(krippendorff_alpha(units, values, level))
    expected = np.tanh([centre - 2.0930240544 * error, centre + 2.0930240544 * error])
    assert alpha_interval(units, values, level, items=items) == pytest.approx(tuple(expected))


def test_very_many_items_leave_in_parts_whatever_their_order():
    random = np.random.default_rng(6)
    table = np.clip(np.round(3 + random.normal(size=(1, 1500)) + random.normal(size=(3, 1500))), 1, 5)
    shuffled = table[:, random.permutation(1500)]
    low, high = alpha_interval(*flat(table), "ordinal")
    assert alpha_interval(*flat(shuffled), "ordinal") == pytest.approx((low, high))
    by_item = [alpha_interval(*flat(table[:, start : start + 375]), "ordinal") for start in range(0, 1500, 375)]
    widths = np.array([high - low for low, high in by_item])
    assert high - low == pytest.approx(widths.mean() / 2, rel=0.2)


def test_disagreement_on_one_item_alone_has_no_interval():
    units, values = np.repeat(np.arange(20), 2), np.repeat([1, 2] * 10, 2)
    values[0] = 2
    with pytest.raises(UndefinedStatistic, match="disagree on one item only"):
        alpha_interval(units, values, "nominal")


def test_one_unit_alone_has_alpha_but_no_interval():
    assert krippendorff_alpha([0, 0], [1, 2], "nominal") == 0
    with pytest.raises(UndefinedStatistic, match="at least two items"):
        alpha_interval([0, 0], [1, 2], "nominal")


def test_a_single_dissent_among_many_equal_ratings_has_no_interval():
    units, values = np.repeat(np.arange(30), 2), np.ones(60)
    values[0] = 2
    with pytest.raises(UndefinedStatistic, match="almost every rating is the same"):
        alpha_interval(units, values, "nominal")


def test_perfect_agreement_has_no_interval():
    with pytest.raises(UndefinedStatistic, match="agreement is the same on all items"):
        alpha_interval(np.repeat(np.arange(20), 2), np.repeat([1, 2] * 10, 2), "nominal")


@pytest.mark.parametrize("level", LEVELS)
def test_the_table_holds_what_the_single_functions_give(level):
    units, values = flat(as_table(EXAMPLES[2]["ratings"]))
    table = agreement_table(units, values, level)
    assert table["alpha"].value == pytest.approx(krippendorff_alpha(units, values, level))
    assert table["alpha"].interval == pytest.approx(alpha_interval(units, values, level))
    assert table.units == 11


def test_the_table_names_level_and_weights():
    units, values = flat(as_table(EXAMPLES[2]["ratings"]))
    names = {level: [each.name for each in agreement_table(units, values, level).coefficients] for level in LEVELS}
    assert names["nominal"] == [
        "Percent agreement",
        "Krippendorff's alpha (nominal)",
        "Gwet's AC1",
        "Fleiss' kappa (generalised to missing ratings)",
    ]
    assert "Krippendorff's alpha (interval)" in names["ordinal"]
    assert "Gwet's AC2 (ordinal weights)" in names["ordinal"]
    assert "Gwet's AC2 (quadratic weights)" in names["interval"]


def test_every_interval_of_the_table_holds_its_coefficient():
    units, values = severity_study()
    for each in agreement_table(units, values, "ordinal", range(1, 6)).coefficients:
        low, high = present(each.interval)
        assert low < present(each.value) < high


def test_ratings_that_are_all_equal_leave_percent_agreement_alone():
    table = agreement_table([0, 0, 1, 1], [4, 4, 4, 4], "ordinal", range(1, 8))
    assert table["percent"].value == 1
    assert table["percent"].interval == Undefined(
        "No interval: agreement is the same on all items, so there is no variation."
    )
    assert {each.value for each in table.coefficients[1:]} == {
        Undefined("Not defined: no variation (every rating is the same).")
    }


def test_a_table_of_one_unit_gives_no_intervals():
    table = agreement_table([0, 0], [1, 2], "nominal", [1, 2])
    assert table["ac"].value == -1
    assert {each.interval for each in table.coefficients} == {
        Undefined("An interval needs at least two items rated by two annotators.")
    }


def test_a_measurement_has_alpha_but_no_kappa():
    values = np.random.default_rng(1).normal(size=400)
    table = agreement_table(np.repeat(np.arange(200), 2), values, "interval")
    assert isinstance(table["alpha"].value, float)
    assert table["ac"].value == table["fleiss"].value == Undefined("Not defined for a scale of more than 101 points.")


def test_an_annotator_is_compared_with_themself_only():
    annotators = ["a", "a", "a", "a", "b", "b", "b"]
    units = [0, 0, 1, 1, 0, 0, 1]
    table = intra_annotator(annotators, units, [1, 1, 2, 3, 3, 3, 1], "nominal", [1, 2, 3])
    assert table.units == 3
    assert table["percent"].value == pytest.approx(2 / 3)


def test_without_repeats_there_is_no_consistency():
    with pytest.raises(UndefinedStatistic, match="No item was rated twice by the same annotator"):
        intra_annotator(["a", "b"], [0, 0], [1, 2], "nominal")


def test_a_category_that_moves_alpha_is_spoken_of():
    assert category_note(0.5, 0.58, "I don't know", "nominal") == ""
    assert category_note(0.5, Undefined("Not defined."), "I don't know", "nominal") == ""
    assert category_note(0.5, 0.62, "I don't know", "nominal") == (
        "With “I don't know” as a category of its own alpha is 0.62 instead of 0.50."
    )


def test_with_ordered_options_the_note_names_nominal_alphas():
    assert category_note(0.5, 0.62, "I don't know", "ordinal") == (
        "With “I don't know” as a category of its own nominal alpha, which ignores order, is 0.62 instead of 0.50."
    )


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        ((0.6, 0.7), "The interval straddles 0.667."),
        ((0.6, 0.9), "The interval straddles 0.667 and 0.800."),
        ((0.81, 0.9), "The whole interval is at or above 0.800"),
        ((0.7, 0.78), "The whole interval is between 0.667 and 0.800"),
        ((-0.1, 0.3), "The whole interval is below 0.667"),
    ],
)
def test_an_interval_is_placed_against_the_bands(interval, words):
    assert band_note(interval).startswith(words)


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from("abcd"), st.sampled_from([1, 2, 3, NAN])), min_size=1, max_size=40
    ),
    st.sampled_from(LEVELS),
)
@settings(max_examples=60)
def test_leaving_an_annotator_out_removes_their_rows(ratings, level):
    units, annotators, values = (np.array(column) for column in zip(*ratings, strict=True))
    result = attempt(without_each, units, annotators, values, level)
    if isinstance(result, Undefined):
        assert result == attempt(krippendorff_alpha, units, values, level)
        return
    for row in result:
        others = annotators != row.annotator
        expected = attempt(krippendorff_alpha, units[others], values[others], level)
        assert row.alpha == expected or row.alpha == pytest.approx(expected, abs=1e-9)


def test_the_annotator_whose_leaving_helps_most_comes_first():
    random = np.random.default_rng(8)
    truth = random.integers(1, 8, size=50)
    careful = np.clip(truth + random.integers(-1, 2, size=(3, 50)), 1, 7)
    table = np.vstack([careful, random.integers(1, 8, size=50)])
    units, values = flat(table)
    result = without_each(units, np.repeat(["x", "y", "z", "dice"], 50), values, "ordinal")
    assert result[0].annotator == "dice"
    changes = [present(row.change) for row in result]
    assert changes[0] > 0.1
    assert changes == sorted(changes, reverse=True)


def test_a_single_remaining_annotator_has_no_agreement():
    result = without_each([0, 0, 1, 1], ["a", "b", "a", "b"], [1, 2, 2, 2], "nominal")
    assert {row.alpha for row in result} == {Undefined("No item was rated by two annotators.")}
    assert {row.change for row in result} == {Undefined("No item was rated by two annotators.")}


def severity_study() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(6)
    table = np.clip(np.round(3 + random.normal(size=(1, 80)) + random.normal(size=(3, 80))), 1, 5)
    table[random.random(table.shape) < 0.2] = NAN
    return flat(table)


@given(rows, st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_neither_row_order_nor_names_change_the_table(ratings, random):
    shuffled = random.sample(ratings, len(ratings))
    before = attempt(agreement_table, *columns(ratings), "ordinal")
    after = attempt(agreement_table, *columns([(5 - unit, value) for unit, value in shuffled]), "ordinal")
    assert before == after


def test_agreement_on_one_item_only_has_no_interval():
    """Without that item percent agreement is 0, which has no place among log odds: the interval was 0 to 1."""
    values = np.arange(40) % 7
    values[1] = values[0]
    table = agreement_table(np.repeat(np.arange(20), 2), values, "nominal")
    assert table["percent"].value == 1 / 20
    assert table["percent"].interval == Undefined("No interval: without one of the items, annotators agree on nothing.")


@pytest.mark.parametrize(("agreed", "has_interval"), [(1, False), (2, True)])
def test_a_rare_answer_needs_two_agreements_for_an_interval(agreed, has_interval):
    """With fewer, many intervals were below the truth, and said to be too low for conclusions."""
    pairs = [(0, 0)] * 40 + [(1, 1)] * agreed + [(0, 1)] * 3
    units, values = np.repeat(np.arange(len(pairs)), 2), np.array(pairs).ravel()
    table = agreement_table(units, values, "nominal", [0, 1])
    assert {key: not isinstance(table[key].interval, Undefined) for key in ("percent", "alpha", "ac", "fleiss")} == {
        "percent": True,
        "alpha": has_interval,
        "ac": True,
        "fleiss": has_interval,
    }
    assert isinstance(attempt(alpha_interval, units, values, "nominal"), Undefined) != has_interval


@pytest.mark.parametrize("level", ["ordinal", "interval"])
@pytest.mark.parametrize(("rare", "has_interval"), [([(1, 2)], False), ([(1, 2), (2, 1)], True)])
def test_rare_values_of_a_scale_need_two_units(level, rare, has_interval):
    """Values near each other count: on a long scale two annotators rarely choose the same one."""
    pairs = [(0, 0)] * 40 + [(0, 1), (2, 0), (0, 2), *rare]
    units, values = np.repeat(np.arange(len(pairs)), 2), np.array(pairs).ravel()
    table = agreement_table(units, values, level, [0, 1, 2])
    assert isinstance(table["alpha"].interval, Undefined) != has_interval

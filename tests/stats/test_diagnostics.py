"""Diagnostics of annotators: the careless are flagged, the severe are not, and nobody is on too few ratings."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from helpers.present import present
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, t

from triptych.stats.diagnostics import (
    FEW_UNUSUAL,
    NOT_LIKE_OTHERS,
    AnnotatorAgreement,
    agreement_with_others,
    drifts,
    gold_accuracy,
    missing_rates,
    severities,
    speeds,
    straight_lining,
)
from triptych.stats.rates import rate
from triptych.stats.undefined import Undefined, UndefinedStatistic

NAN = math.nan
ITEMS, ANNOTATORS, RATERS = 60, 12, 3

rows = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 4), st.sampled_from([1, 2, 5, NAN])), max_size=60
)


def study(random, kind="honest"):
    """Values, units, items, annotators, order; annotator 0 works as `kind` says, everybody else with care."""
    item = np.repeat(np.arange(ITEMS), RATERS)
    annotator = np.argsort(random.random((ITEMS, ANNOTATORS)), axis=1)[:, :RATERS].ravel()
    when = random.permutation(len(item))
    item, annotator, when = (np.repeat(column, 3) for column in (item, annotator, when))
    system = np.tile(np.arange(3), ITEMS * RATERS)
    felt = 0.4 * system + random.normal(0, 1, ITEMS)[item] + random.normal(0, 0.7, (ITEMS, 3))[item, system]
    felt = felt + random.normal(0, 0.4, ANNOTATORS)[annotator] + random.normal(0, 0.9, len(item))
    odd = annotator == 0
    if kind == "severe":
        felt[odd] -= 1.5
    values = np.clip(np.round(4 + 1.2 * felt), 1, 7)
    anything = random.integers(1, 8, len(item))
    if kind == "random":
        values[odd] = anything[odd]
    elif kind == "constant":
        values[odd] = 5
    elif kind == "noise":
        values[odd] = np.clip(np.round(random.normal(4.5, 0.7, odd.sum())), 1, 7)
    elif kind == "careless":
        half = odd & (when % 2 == 0)
        values[half] = anything[half]
    return values, item * 3 + system, item, annotator, when


def auc(kind, runs=12) -> float:
    """How often annotator 0 agrees less with the others than an honest annotator does."""
    random = np.random.default_rng(1)
    below = []
    for _ in range(runs):
        values, units, items, annotators, _ = study(random, kind)
        result = {
            each.annotator: -1 if each.value is None else each.value
            for each in agreement_with_others(values, units, items, annotators)
        }
        below += [result[0] < result[other] for other in range(1, ANNOTATORS)]
    return float(np.mean(below))


@pytest.mark.parametrize(("kind", "least"), [("random", 0.95), ("constant", 1), ("noise", 0.95), ("careless", 0.75)])
def test_careless_annotators_agree_less_with_the_others(kind, least):
    assert auc(kind) >= least


def test_severe_but_careful_annotators_agree_with_the_others():
    assert 0.25 <= auc("severe") <= 0.75


def flagged(kind, runs=10):
    """Share of studies with an alarm for annotator 0, and share of alarms among the others."""
    random = np.random.default_rng(2)
    result: list[AnnotatorAgreement] = []
    for _ in range(runs):
        values, units, items, annotators, _ = study(random, kind)
        result += agreement_with_others(values, units, items, annotators)
    return tuple(np.mean([each.alarm for each in result if (each.annotator == 0) == odd]) for odd in (True, False))


def test_random_and_constant_ratings_are_flagged():
    assert flagged("random")[0] >= 0.6
    assert flagged("constant")[0] == 1
    for kind in ("honest", "severe"):
        assert flagged(kind) == (0, 0)


def test_the_correlation_is_with_the_mean_of_the_others():
    random = np.random.default_rng(0)
    table = random.normal(size=(20, 3))
    item = np.repeat(range(20), 3)
    result = agreement_with_others(table.ravel(), item, item, list("abc") * 20)
    assert [each.annotator for each in result] == ["a", "b", "c"]
    others = table[:, 1:].mean(axis=1)
    assert result[0].value == pytest.approx(pearsonr(table[:, 0], others).statistic)
    without = [np.delete(np.arange(20), item) for item in range(20)]
    z = np.arctanh([pearsonr(table[rest, 0], others[rest]).statistic for rest in without])
    reach = t.ppf(0.975, 19) * np.sqrt(19 / 20 * ((z - z.mean()) ** 2).sum())
    expected = np.tanh(np.arctanh(present(result[0].value)) + np.array([-reach, reach]))
    assert present(result[0].interval) == pytest.approx(tuple(expected))
    assert result[0].others == pytest.approx(np.median([result[1].value, result[2].value]))
    assert "half of the others reach" in result[0].sentence


def test_related_ratings_of_an_item_count_once_in_the_interval():
    """A correlation over twelve copies of each rating is as uncertain as over one."""
    values, item, annotator = np.random.default_rng(1).normal(size=60), np.repeat(range(20), 3), [0, 1, 2] * 20
    once = agreement_with_others(values, item, item, annotator)
    unit = np.add.outer(range(12), 100 * item).ravel()
    often = agreement_with_others(np.tile(values, 12), unit, np.tile(item, 12), annotator * 12)
    assert [present(each.interval) for each in often] == [pytest.approx(present(each.interval)) for each in once]


def test_equally_careful_annotators_of_a_hard_task_are_rarely_flagged():
    random = np.random.default_rng(5)
    item, annotator, criterion = (column.ravel() for column in np.indices((40, 5, 12)))
    result: list[AnnotatorAgreement] = []
    for _ in range(30):
        felt = random.normal(0, 0.45, (40, 1, 1)) + random.normal(0, 1, (40, 5, 1)) + random.normal(0, 0.5, (40, 5, 12))
        result += agreement_with_others(felt.ravel(), item * 12 + criterion, item, annotator)
    assert np.mean([each.alarm for each in result]) < 0.05


def test_one_item_has_a_correlation_without_an_interval_or_alarm():
    values = [1, 2, 3, 4] * 3 + [4, 3, 2, 1] * 3
    result = agreement_with_others(values, [*range(12)] * 2, [0] * 24, [0] * 12 + [1] * 12)
    assert [(each.value, each.alarm) for each in result] == [(pytest.approx(-1), False)] * 2
    assert result[0].sentence.endswith("over 12 ratings. An interval needs at least two items rated by two annotators.")


def test_who_cannot_be_compared_with_others_is_not_flagged():
    """Each of the others gave one value only, so that there is no usual correlation."""
    item, others = np.repeat(np.arange(20), 2), np.where(np.arange(20) < 10, "b", "c")
    annotator = np.column_stack([["a"] * 20, others]).ravel()
    values = np.column_stack([np.where(np.arange(20) < 10, 5, 1) + np.arange(20) % 2, np.where(others == "b", 1, 5)])
    result = agreement_with_others(values.ravel(), item, item, annotator)[0]
    assert (present(result.value) < -0.9, result.others, result.alarm) == (True, None, False)


def test_ratings_equal_on_all_items_but_one_are_flagged():
    table = np.column_stack([[5, 5, 3, *[5] * 27], np.arange(30) % 7, np.arange(30) % 7 + 1])
    item = np.repeat(np.arange(30), 3)
    assert agreement_with_others(table.ravel(), item, item, [0, 1, 2] * 30)[0].alarm


def test_equal_ratings_have_no_correlation_and_are_flagged():
    values = np.column_stack([np.full(12, 5), np.arange(12), np.arange(12) + 1])
    item = np.repeat(range(12), 3)
    result = agreement_with_others(values.ravel(), item, item, [0, 1, 2] * 12)
    assert (result[0].value, result[0].alarm) == (None, True)
    assert result[0].sentence == f"Not defined: all own ratings are equal. {NOT_LIKE_OTHERS}"
    assert result[1].value == pytest.approx(1)


def rare_answers(random):
    """Careful yes/no answers of which about one in twenty is yes: table (100, 20, 3), NaN where not asked."""
    felt = random.normal(0, 1, (100, 1, 1)) + random.normal(0, 0.9, (100, 1, 3)) + random.normal(0, 0.5, (1, 20, 1))
    yes = (felt + random.logistic(size=(100, 20, 3)) > 3.5).astype(float)
    yes[np.argsort(np.argsort(random.random((100, 20)), axis=1), axis=1) >= 3] = NAN
    return yes


def of_rare(yes):
    item, annotator, system = (column.ravel() for column in np.indices(yes.shape))
    return agreement_with_others(yes.ravel(), item * 3 + system, item, annotator)


def test_careful_annotators_of_a_rare_answer_are_rarely_flagged():
    random = np.random.default_rng(3)
    looks = [each for _ in range(20) for each in of_rare(rare_answers(random))]
    assert np.mean([each.alarm for each in looks]) < 0.02
    assert any(each.sentence == "Not defined: all own ratings are equal." and not each.alarm for each in looks)


def test_giving_the_rare_answer_throughout_is_flagged():
    yes = rare_answers(np.random.default_rng(3))
    yes[:, 0] = np.where(np.isnan(yes[:, 0]), NAN, 1.0)
    assert next(each for each in of_rare(yes) if each.annotator == 0).alarm


@pytest.mark.parametrize("items", [3, 4])
def test_few_items_with_varied_ratings_have_an_interval(items):
    """Fewer than five items can never have five with another answer than the most common one."""
    random = np.random.default_rng(1)
    table = np.clip(np.round(random.normal(3, 1, (items, 10, 1)) + random.normal(0, 0.4, (items, 10, 5))), 1, 5)
    item, system, annotator = (column.ravel() for column in np.indices(table.shape))
    result = agreement_with_others(table.ravel(), item * 10 + system, item, annotator)
    assert not any(isinstance(each.interval, Undefined) for each in result)


def test_rare_answers_of_two_criteria_have_no_interval():
    """The most common answer is that of each criterion, whose numbers are centred apart."""
    yes = np.zeros((40, 3))
    yes[:3] = 1
    yes[3, 0] = 1
    item, annotator = (column.ravel() for column in np.indices(yes.shape))
    twice = np.concatenate([yes.ravel(), yes.ravel() - 0.3])
    unit, criterion = np.concatenate([item, item + 100]), np.repeat(["a", "b"], len(item))
    result = agreement_with_others(twice, unit, [*item] * 2, [*annotator] * 2, criterion)
    assert [str(each.interval) for each in result] == [FEW_UNUSUAL] * 3
    assert not any(each.alarm for each in result)


def test_few_shared_ratings_have_no_correlation_and_raise_no_alarm():
    result = agreement_with_others([1, 2, 2, 1], [0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1])
    assert [(each.value, each.alarm) for each in result] == [(None, False)] * 2
    assert "2 ratings shared with others, and 10 are needed" in result[0].sentence


def test_severity_is_the_mean_difference_from_the_others():
    # Two items by three annotators: b is one below the mean of a and c on both, and on item 1 by three.
    result = severities([4, 3, 4, 5, 2, 5], [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1], list("abcabc"))
    assert [(each.annotator, each.difference) for each in result] == [("a", 1), ("b", -2), ("c", 1)]
    assert present(result[1].low) < -2 < present(result[1].high)


def test_a_severe_annotator_is_seen_in_scale_points():
    values, units, items, annotators, _ = study(np.random.default_rng(3), "severe")
    result = {each.annotator: each for each in severities(values, units, items, annotators)}
    assert present(result[0].high) < 0


def test_too_fast_is_three_seconds_or_720_words_a_minute():
    result = speeds([2.9, 3.1, 9.9, 10.1, 60], [0, 0, 120, 120, 120], ["ann"] * 5)
    assert (result[0].unread, result[0].n, result[0].median) == (2, 5, 9.9)
    assert not result[0].flagged


def test_speed_is_flagged_when_a_tenth_is_too_fast():
    words = [120] * 20
    slow, fast = [60] * 18 + [5] * 2, [60] * 17 + [5] * 3
    assert [speeds(times, words, ["ann"] * 20)[0].flagged for times in (slow, fast)] == [False, True]
    assert [speeds([5] * n, [120] * n, ["ann"] * n)[0].flagged for n in (9, 10)] == [False, True]


def test_equal_ratings_are_counted_by_annotation():
    # ann: equal, equal, not, equal; bob only ever has one rating in an annotation.
    values = [3, 3, 4, 4, 1, 2, 5, 5, 7, NAN]
    result = straight_lining(values, np.repeat(range(5), 2), ["ann"] * 8 + ["bob"] * 2)
    assert [(each.annotator, each.n, each.equal) for each in result] == [("ann", 4, 3)]
    assert result[0].share == 0.75
    assert not result[0].flagged


def test_straight_lining_is_flagged_unless_everybody_gives_equal_ratings():
    random = np.random.default_rng(0)
    item, annotator, _ = (axis.ravel() for axis in np.meshgrid(range(30), range(4), range(3), indexing="ij"))
    values = random.integers(1, 8, len(item)).astype(float)
    values[annotator == 0] = 4
    result = straight_lining(values, item, annotator)
    assert [each.flagged for each in result] == [True, False, False, False]
    assert not any(each.flagged for each in straight_lining(np.full(len(item), 4), item, annotator))
    for items, expected in ((9, False), (10, True)):
        few = item < items
        assert straight_lining(values[few], item[few], annotator[few])[0].flagged == expected


def test_drift_is_flagged_where_it_turns():
    random = np.random.default_rng(5)
    item, annotator = (axis.ravel() for axis in np.meshgrid(range(80), range(5), indexing="ij"))
    values = random.normal(0, 1, 80)[item] + random.normal(0, 0.7, len(item))
    values[(annotator == 2) & (item >= 50)] -= 1.5
    result = {each.annotator: each for each in drifts(values, item, item, annotator, item)}
    assert result[2].flagged
    assert max(result, key=lambda at: result[at].excursion) == 2
    assert 45 <= result[2].turn <= 55
    assert result[2].after - result[2].before == pytest.approx(-1.5, abs=0.5)


def test_drift_does_not_depend_on_row_order():
    random = np.random.default_rng(3)
    item, annotator = np.repeat(np.arange(12), 2), np.tile(["a", "b"], 12)
    values, when = random.integers(1, 6, len(item)).astype(float), item // 3
    there, back = (
        {
            each.annotator: each
            for each in drifts(values[::step], item[::step], item[::step], annotator[::step], when[::step])
        }
        for step in (1, -1)
    )
    assert there["a"].turn % 3 == 0
    assert {name: vars(each) for name, each in back.items()} == {
        name: pytest.approx(vars(each)) for name, each in there.items()
    }


def test_without_drift_about_one_annotator_in_a_hundred_is_flagged():
    random = np.random.default_rng(6)
    item, annotator = (axis.ravel() for axis in np.meshgrid(range(25), range(40), indexing="ij"))
    result = [drifts(random.normal(size=len(item)), item, item, annotator, item) for _ in range(5)]
    assert np.mean([each.flagged for ones in result for each in ones]) <= 0.04


def test_missing_answers_above_a_fifth_are_flagged_per_criterion():
    missing = [True] * 3 + [False] * 7 + [True] * 2 + [False] * 8
    result = missing_rates(missing, ["fluency"] * 10 + ["truth"] * 10)
    assert [(each.label, each.rate.hits, each.flagged) for each in result] == [
        ("fluency", 3, True),
        ("truth", 2, False),
    ]


def test_gold_is_flagged_when_its_whole_interval_is_low():
    assert [gold_accuracy(*counts).flagged for counts in ((2, 10), (5, 10), (0, 7), (10, 10))] == [
        True,
        False,
        False,
        False,
    ]


def test_a_rate_has_wilsons_interval():
    # Wilson for 5 of 10: (5 + z^2/2 -+ z sqrt(10/4 + z^2/4)) / (10 + z^2), z = 1.959964.
    result = rate(5, 10)
    assert (result.share, result.low, result.high) == pytest.approx((0.5, 0.236593, 0.763407), abs=1e-6)
    with pytest.raises(UndefinedStatistic, match="nothing to count"):
        rate(0, 0)


@pytest.mark.parametrize(
    ("statistic", "arguments", "words"),
    [
        (agreement_with_others, ([1, 2], [0, 1], [0, 1], [0, 1]), "no unit was rated by two annotators"),
        (agreement_with_others, ([], [], [], []), "no unit was rated by two annotators"),
        (severities, ([1, 2], [0, 1], [0, 1], [0, 1]), "no unit was rated by two annotators"),
        (drifts, ([1, 2], [0, 0], [0, 0], [0, 1], [1, 2]), "nobody has 10 annotations"),
        (speeds, ([NAN], [3], [0]), "no active time"),
        (straight_lining, ([1, 2], [0, 1], [0, 0]), "no annotation has two ratings"),
        (missing_rates, ([], []), "no answer yet"),
        (gold_accuracy, (0, 0), "nothing to count"),
    ],
)
def test_an_undefined_diagnostic_gives_a_reason(statistic, arguments, words):
    with pytest.raises(UndefinedStatistic, match=words):
        statistic(*arguments)


@given(rows, st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_row_order_and_names_change_no_diagnostic(ratings, random):
    moved = [(f"i{i}", s + 9, "VWXYZ"[a], v) for i, s, a, v in random.sample(ratings, len(ratings))]
    result: list[dict[object, AnnotatorAgreement] | str] = []
    for table in (ratings, moved):
        item, system, annotator, value = (list(column) for column in zip(*table, strict=True)) if table else [[]] * 4
        unit = [f"{i} {s}" for i, s in zip(item, system, strict=True)]
        try:
            result.append(
                {
                    "VWXYZ".index(each.annotator) if isinstance(each.annotator, str) else each.annotator: each
                    for each in agreement_with_others(value, unit, item, annotator)
                }
            )
            severe = severities(value, unit, item, annotator)
            assert all(math.isfinite(each.difference) for each in severe)
        except UndefinedStatistic as undefined:
            result.append(str(undefined))
    each, other = result
    if isinstance(each, str) or isinstance(other, str):
        assert each == other
        return
    assert each.keys() == other.keys()
    for at, row in each.items():
        assert row.alarm == other[at].alarm
        assert row.value == pytest.approx(other[at].value) if row.value is not None else other[at].value is None
        assert type(row.interval) is type(other[at].interval)


@pytest.mark.parametrize("unit", [1, 0.1, 1 / 3])
def test_equal_severity_has_no_interval_of_rounding(unit):
    values = unit * np.repeat(np.arange(12) % 5, 3) - unit * 5 / 3
    item, annotator = np.repeat(np.arange(12), 3), np.tile(np.arange(3), 12)
    assert [(of.difference, of.low, of.high) for of in severities(values, item, item, annotator)] == [
        (0, None, None)
    ] * 3


@pytest.mark.parametrize("unit", [1, 0.1, 1 / 3, 7])
def test_one_dissent_is_no_drift(unit):
    """The largest excursion that these residuals allow was above its equal, the bound, by rounding."""
    item, annotator = np.repeat(np.arange(10), 3), np.tile(np.arange(3), 10)
    for dissent in (0, 27):
        values = np.full(30, 3 * unit)
        values[dissent] += unit
        assert not any(of.flagged for of in drifts(values, item, item, annotator, item))


def test_a_correlation_of_zero_has_no_sign():
    values = np.array([*[1.0, 2.0] * 10, *[1.0, 1.0, 2.0, 2.0] * 5]) - 1e-17
    unit, annotator = np.tile(np.arange(20), 2), np.repeat([0, 1], 20)
    sentences = [each.sentence for each in agreement_with_others(-values * 0.1, unit, unit, annotator)]
    assert all("others 0.00 (" in sentence for sentence in sentences), sentences


def test_shuffles_of_many_annotations_take_little_memory():
    item, annotator = np.repeat(np.arange(10_000), 2), np.tile([0, 1], 10_000)
    values = np.random.default_rng(0).integers(1, 6, len(item)).astype(float)
    tracemalloc.start()
    try:
        drifts(values, item, item, annotator, np.arange(len(item)))
        assert tracemalloc.get_traced_memory()[1] < 80_000_000  # bytes
    finally:
        tracemalloc.stop()


def test_annotators_are_not_compared_with_each_other(monkeypatch):
    """An imported file may have 200,000, and as many medians of as many numbers did not end in minutes."""
    sizes: list[int] = []
    median = np.median

    def counted_median(column: np.ndarray) -> float:
        sizes.append(len(column))
        return float(median(column))

    monkeypatch.setattr(np, "median", counted_median)
    annotators, items = np.repeat(np.arange(300), 20), np.tile(np.arange(20), 300)
    values = np.where(annotators % 2, 3.0, np.random.default_rng(1).integers(1, 6, len(items)))

    agreement_with_others(values, items, items, annotators)
    straight_lining(values, items // 2, annotators)
    speeds(values, values, annotators)

    assert sum(sizes) <= len(values)

"""The alternative annotator test: the paper's steps one by one, judges good and bad, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import false_discovery_control, ttest_1samp

from triptych.stats.judge import alt_test
from triptych.stats.undefined import UndefinedStatistic

NAN = math.nan


def ratings(random, items=60, annotators=4, noise=0.7, missing=0.1):
    """(items, annotators) ratings on 1 to 7, NaN = not rated, and the quality they are about."""
    quality = random.normal(size=items)
    table = np.clip(np.round(4 + 1.3 * quality[:, None] + random.normal(0, noise, (items, annotators))), 1, 7)
    table[random.random(table.shape) < missing] = NAN
    return table, quality


def compare(table, judge, **options):
    items, annotators = table.shape
    unit = np.repeat(np.arange(items), annotators)
    return alt_test(
        table.ravel(), unit, unit, np.tile(np.arange(annotators), items), np.repeat(judge, annotators), **options
    )


def step_by_step(table, judge, measure, epsilon):
    """Winning rate and advantage written out as the paper describes them."""
    shares, ps = [], []
    for j in range(table.shape[1]):
        judge_wins, annotator_wins = [], []
        for i in range(len(table)):
            others = [table[i, k] for k in range(table.shape[1]) if k != j and not math.isnan(table[i, k])]
            if math.isnan(table[i, j]) or not others:
                continue
            if measure == "accuracy":
                of_judge, of_annotator = (sum(v == h for h in others) / len(others) for v in (judge[i], table[i, j]))
            else:
                of_judge, of_annotator = (
                    -math.sqrt(sum((v - h) ** 2 for h in others) / len(others)) for v in (judge[i], table[i, j])
                )
            judge_wins.append(of_judge >= of_annotator)
            annotator_wins.append(of_annotator >= of_judge)
        difference = np.array(annotator_wins, dtype=float) - np.array(judge_wins, dtype=float)
        shares.append(np.mean(judge_wins))
        ps.append(ttest_1samp(difference, epsilon, alternative="less").pvalue)
    return np.mean(false_discovery_control(ps, method="by") <= 0.05), np.mean(shares), ps


@pytest.mark.parametrize("measure", ["rmse", "accuracy"])
@pytest.mark.parametrize("noise", [0.3, 0.9, 2])
def test_the_test_is_the_papers_step_by_step(measure, noise):
    random = np.random.default_rng(int(10 * noise))
    table, quality = ratings(random)
    judge = np.clip(np.round(4 + 1.3 * quality + random.normal(0, noise, len(quality))), 1, 7)
    result = compare(table, judge, measure=measure, epsilon=0.2)
    omega, rho, ps = step_by_step(table, judge, measure, 0.2)
    assert (result.winning_rate, result.advantage) == pytest.approx((omega, rho))
    assert [each.p for each in result.comparisons] == pytest.approx(ps)
    given, counts = np.unique(table[~np.isnan(table)], return_counts=True)
    common, middle = given[counts.argmax()], given[np.abs(given - np.nanmean(table)).argmin()]
    constant = np.full(len(quality), common if measure == "accuracy" else middle)
    assert result.constant_rate == step_by_step(table, constant, measure, 0.2)[0]
    assert result.passes == (omega >= 0.5 and omega > result.constant_rate)


def test_a_knowing_judge_passes_and_a_guessing_judge_fails():
    random = np.random.default_rng(1)
    table, quality = ratings(random)
    good, bad = compare(table, np.round(4 + 1.3 * quality)), compare(table, random.integers(1, 8, len(quality)))
    assert good.passes
    assert good.sentence.startswith("The judge may replace an annotator: it does as well as 4 of 4")
    assert not bad.passes
    assert bad.advantage < good.advantage
    assert bad.sentence.startswith("The judge may not replace")


def test_a_judge_that_a_constant_answer_equals_does_not_pass():
    """Noise of annotators loses against their mean: nearly always 4 on this scale won against all."""
    table, _ = ratings(np.random.default_rng(1), noise=2.5)
    judge = np.where(np.arange(60) < 2, 3.0, 4.0)
    result = compare(table, judge)
    assert result.winning_rate == result.constant_rate == 1
    assert not result.passes
    assert (
        "as well as 4 of 4 (needed: half of them, and more than a constant answer, which does as well as 4)"
        in result.sentence
    )


@pytest.mark.parametrize("measure", ["rmse", "accuracy"])
def test_the_same_answer_to_everything_is_undefined(measure):
    """A judge that never flagged anything was said to replace people, in all studies of a rare flag."""
    flags = (np.random.default_rng(1).random((60, 5)) < 0.05).astype(float)
    with pytest.raises(UndefinedStatistic, match="gave the same answer to everything"):
        compare(flags, np.zeros(60), measure=measure)


def test_a_judge_that_copies_an_annotator_always_ties_with_them():
    table, _ = ratings(np.random.default_rng(2), missing=0)
    result = compare(table, table[:, 1])
    copied = result.comparisons[1]
    assert (copied.judge_wins, copied.annotator_wins) == (1, 1)
    assert (copied.p, copied.won) == (0, True)


def test_without_an_advantage_a_tie_everywhere_is_no_win():
    table, _ = ratings(np.random.default_rng(2), missing=0)
    assert compare(table, table[:, 1], epsilon=0).comparisons[1].p == 1


def test_candidates_of_one_item_count_as_one_item():
    table, quality = ratings(np.random.default_rng(3), missing=0)
    items, annotators = table.shape
    unit = np.repeat(np.arange(items), annotators)
    columns = (
        table.ravel(),
        unit,
        unit,
        np.tile(np.arange(annotators), items),
        np.repeat(np.round(4 + quality), annotators),
    )
    values, _, item, annotator, judge = (np.tile(column, 2) for column in columns)
    once = alt_test(*columns)
    twice = alt_test(values, np.concatenate([unit, unit + 1000]), item, annotator, judge)
    assert [each.p for each in once.comparisons] == pytest.approx([each.p for each in twice.comparisons])


def test_an_annotator_with_few_items_is_left_out():
    table, quality = ratings(np.random.default_rng(4), missing=0)
    table[20:, 3] = NAN
    result = compare(table, np.round(4 + 1.3 * quality))
    assert [each.annotator for each in result.comparisons] == [0, 1, 2]


def test_permuted_rows_and_renamed_annotators_change_nothing():
    random = np.random.default_rng(5)
    table, quality = ratings(random)
    judge = np.round(4 + quality)
    there = compare(table, judge)
    order = random.permutation(len(table))
    back = compare(table[order][:, ::-1], judge[order])
    assert (back.winning_rate, back.advantage) == pytest.approx((there.winning_rate, there.advantage))
    assert sorted(each.p for each in back.comparisons) == pytest.approx(sorted(each.p for each in there.comparisons))


@pytest.mark.parametrize(
    ("shape", "words"),
    [((60, 2), "at least 3 annotators, and 2 rated"), ((29, 4), "0 do, and the most that anyone shares is 29")],
)
def test_too_few_annotators_or_items_give_a_reason(shape, words):
    items, annotators = shape
    table, quality = ratings(np.random.default_rng(0), items, annotators, missing=0)
    with pytest.raises(UndefinedStatistic, match=words):
        compare(table, np.round(4 + quality))


def test_a_judge_that_rated_nothing_gives_a_reason():
    table, _ = ratings(np.random.default_rng(0))
    with pytest.raises(UndefinedStatistic, match="and 0 rated what it rated"):
        compare(table, np.full(len(table), NAN))


def test_annotators_without_shared_items_give_a_reason():
    table = np.full((90, 3), NAN)
    for annotator in range(3):
        table[annotator * 30 : annotator * 30 + 30, annotator] = 4
    with pytest.raises(UndefinedStatistic, match="most that anyone shares is 0"):
        compare(table, np.full(90, 4))


@pytest.mark.parametrize("unit", [1e-6, 0.1, 1e7 / 3])
def test_the_unit_of_the_ratings_changes_nothing(unit):
    random = np.random.default_rng(4)
    table, quality = ratings(random)
    judge = np.clip(np.round(4 + 1.3 * quality + random.normal(0, 0.7, len(quality))), 1, 7)
    expected, result = compare(table, judge, measure="rmse"), compare(unit * table, unit * judge, measure="rmse")
    assert [vars(each) for each in result.comparisons] == [vars(each) for each in expected.comparisons]

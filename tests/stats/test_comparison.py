"""Systems against each other: pencil examples, oracles, invariances, and reasons where nothing is defined."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from helpers.analyses import difference
from helpers.present import attempt, present
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from triptych.stats.comparison import SideBySide, dominance, signed_rank
from triptych.stats.intervals import mean_interval
from triptych.stats.multiplicity import adjusted
from triptych.stats.preferences import preferences
from triptych.stats.ranking import ranking
from triptych.stats.undefined import Undefined, UndefinedStatistic

NAN = math.nan
SYSTEMS = ("base", "new", "third")

rows = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.integers(0, 6),
        st.sampled_from(SYSTEMS),
        st.sampled_from([1, 2, 3.5, 7, NAN]),
    ),
    max_size=60,
)


def side_by_side(ratings) -> SideBySide:
    """From (item, annotator, system, value)."""
    ratings = list(ratings)
    items, annotators, systems, values = zip(*ratings, strict=True) if ratings else ((), (), (), ())
    return SideBySide.build(np.array(values, dtype=float), items, annotators, np.array(systems, dtype=object))


def pairs(*pairs_of_values: tuple[float, float], annotators: int = 1) -> SideBySide:
    """(new, base) of one pair after the other; annotators in turn, all on every item."""
    return side_by_side(
        (n // annotators, n % annotators, system, value)
        for n, pair in enumerate(pairs_of_values)
        for system, value in zip(("new", "base"), pair, strict=True)
    )


def everything(table: SideBySide) -> list:
    """Every statistic of the three systems."""
    result = [attempt(statistic, table, *pair) for pair in combinations(SYSTEMS, 2) for statistic in PAIRED]
    return [*result, attempt(ranking, table, SYSTEMS), attempt(preferences, table, SYSTEMS, 50)]


PAIRED = (difference, dominance, signed_rank)


def same(left, right) -> bool:
    """Equal up to the order of summation, all the way down."""
    if hasattr(left, "__dataclass_fields__"):
        return type(left) is type(right) and same(tuple(vars(left).values()), tuple(vars(right).values()))
    if isinstance(left, tuple | list):
        return len(left) == len(right) and all(map(same, left, right))
    return left == pytest.approx(right, abs=1e-6) if isinstance(left, float) else left == right


def numbers_in(result) -> list[float]:
    if hasattr(result, "__dataclass_fields__"):
        return numbers_in(tuple(vars(result).values()))
    if isinstance(result, tuple | list):
        return [number for part in result for number in numbers_in(part)]
    return [result] if isinstance(result, float) else []


def test_the_difference_is_the_mean_over_complete_pairs():
    # Annotator 0 on items 0 and 1: 5 - 4 and 3 - 1. Annotator 1 rated only one system of item 0.
    ratings = [(0, 0, "new", 5), (0, 0, "base", 4), (1, 0, "new", 3), (1, 0, "base", 1), (0, 1, "new", 7)]
    result = difference(side_by_side(ratings), "new", "base")
    assert (result.mean, result.n, result.items, result.annotators) == (1.5, 2, 2, 1)


def test_ratings_given_twice_are_averaged_before_they_are_paired():
    ratings = [(0, 0, "new", 1), (0, 0, "new", 4), (0, 0, "base", 2), (1, 0, "new", 5), (1, 0, "base", 4)]
    result = difference(side_by_side(ratings), "new", "base")
    assert (result.mean, result.n) == (0.75, 2)


def test_a_difference_has_the_interval_of_its_mean():
    random = np.random.default_rng(4)
    new, base = random.normal(size=(2, 72)).round(6)
    result = difference(pairs(*zip(new, base, strict=True), annotators=6), "new", "base")
    expected = mean_interval(new - base, np.repeat(np.arange(12), 6), np.tile(np.arange(6), 12))
    assert same(result.headline, expected)
    assert result.these.kind == "item"


def test_zeros_and_ones_give_the_difference_of_shares():
    result = difference(pairs((1, 0), (1, 1), (0, 0), (1, 0)), "new", "base")
    assert result.mean == 3 / 4 - 1 / 4


def test_wins_ties_and_losses_are_those_of_pairs():
    result = dominance(pairs((5, 1), (2, 1), (3, 3), (1, 2)), "new", "base")
    assert (result.wins, result.ties, result.losses) == (2, 1, 1)
    assert result.estimate.mean == 1 / 4


def test_dominance_uses_nothing_but_which_rating_is_higher():
    random = np.random.default_rng(2)
    points = random.integers(1, 8, (40, 2)).astype(float)
    stretched = np.exp(points)
    assert same(
        dominance(pairs(*points, annotators=5), "new", "base"),
        dominance(pairs(*stretched, annotators=5), "new", "base"),
    )


@pytest.mark.parametrize("items", [6, 13, 14, 60])
def test_signed_rank_agrees_with_scipy_on_item_means_with_ties(items):
    random = np.random.default_rng(items)
    new, base = random.integers(1, 5, (2, items, 2))
    changes = (new - base).mean(axis=1)
    changes[0], new[0], base[0] = 0, 3, 3
    result = signed_rank(pairs(*zip(new.ravel(), base.ravel(), strict=True), annotators=2), "new", "base")
    expected = stats.wilcoxon(changes[changes != 0])
    assert (result.statistic, result.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert result.items == np.count_nonzero(changes)


@pytest.mark.parametrize("annotators", [3, 6, 7, 9])
@pytest.mark.parametrize("unit", [1e-6, 1, 1e7])
def test_signed_ranks_of_means_are_those_of_sums(annotators, unit):
    """Equal differences of thirds are ties, whatever means they are between."""
    for seed in range(20):
        new, base = np.random.default_rng(seed).integers(1, 6, (2, 20, annotators))
        values = zip((unit * new).ravel(), (unit * base).ravel(), strict=True)
        result = signed_rank(pairs(*values, annotators=annotators), "new", "base")
        sums = (new - base).sum(axis=1)
        expected = stats.wilcoxon(sums[sums != 0])
        assert (result.statistic, result.items) == (expected.statistic, np.count_nonzero(sums))
        assert result.p == pytest.approx(expected.pvalue)


def test_signed_ranks_are_of_means_where_annotators_differ_in_number():
    changes = {0: (3,), 1: (-1, -1, -1), 2: (2, 2), 3: (-4, 0)}  # means 3, −1, 2, −2; sums and products rank otherwise
    ratings = [
        (item, annotator, system, value)
        for item, of_item in changes.items()
        for annotator, change in enumerate(of_item)
        for system, value in (("new", 10 + change), ("base", 10))
    ]

    result = signed_rank(side_by_side(ratings), "new", "base")

    assert result.effect == pytest.approx((4 + 2.5 - 1 - 2.5) / 10)


def test_the_signed_rank_effect_is_the_rank_biserial_correlation():
    # Changes 1, 2, -3 have ranks 1, 2, 3: (3 - 3) / 6; 1, -2, 3: (4 - 2) / 6.
    assert signed_rank(pairs((2, 1), (3, 1), (1, 4)), "new", "base").effect == 0
    assert signed_rank(pairs((2, 1), (1, 3), (4, 1)), "new", "base").effect == pytest.approx(1 / 3)


def test_ranking_agrees_with_pencil_and_paper():
    # Ranks 1 2 3, 1 2 3, 2 1 3, 1 2 3: sums 5, 7, 12. chi2 = 12 / (4 * 3 * 4) * (25 + 49 + 144) - 3 * 4 * 4 = 6.5.
    values = [(9, 5, 1), (8, 6, 2), (4, 7, 3), (6, 5, 2)]
    table = side_by_side((n, 0, name, v) for n, row in enumerate(values) for name, v in zip(SYSTEMS, row, strict=True))
    result = ranking(table, SYSTEMS)
    assert (result.mean_ranks, result.items) == ((1.25, 1.75, 3), 4)
    assert (result.statistic, result.p) == pytest.approx((6.5, math.exp(-3.25)))
    assert [each.difference for each in result.differences] == pytest.approx([-0.5, -1.75, -1.25])


def test_nemenyi_gives_five_percent_at_the_published_critical_difference():
    # Demsar 2006, table 5: q = 2.343 for three systems, CD = q sqrt(3 * 4 / (6 N)) = 0.999 with 11 items.
    values = [(3, 2, 1)] * 11
    table = side_by_side((n, 0, name, v) for n, row in enumerate(values) for name, v in zip(SYSTEMS, row, strict=True))
    assert ranking(table, SYSTEMS).differences[0].p == pytest.approx(0.05, abs=0.001)


def test_the_ranking_needs_annotators_who_rated_all_systems():
    full = [(item, 0, name, value) for item in range(3) for name, value in zip(SYSTEMS, (1, 2, 3), strict=True)]
    partly = [(0, 1, "base", 100), (3, 0, "base", 1), (3, 0, "new", 2)]
    assert same(ranking(side_by_side(full + partly), SYSTEMS), ranking(side_by_side(full), SYSTEMS))


def test_holm_and_benjamini_hochberg_agree_with_pencil_and_paper():
    # Holm: 4 * .01, 3 * .02, 2 * .03, 1 * .04, running maximum. BH: 4/1 * .01, 4/2 * .02, 4/3 * .03, .04, from above.
    result = adjusted([0.04, 0.01, 0.03, 0.02])
    assert [each.p for each in result] == [0.04, 0.01, 0.03, 0.02]
    assert [each.holm for each in result] == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert [each.benjamini_hochberg for each in result] == pytest.approx([0.04] * 4)


def test_an_undefined_test_stays_in_the_declared_family():
    each, other = adjusted([0.03, None])
    assert each.holm == pytest.approx(0.06)
    assert (other.p, other.holm, other.benjamini_hochberg) == (None, None, None)
    assert adjusted([]) == ()


def test_a_p_value_outside_its_range_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjusted([1.2])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_adjusting_never_lowers_p_and_keeps_the_order(p):
    result = [present(each.holm) for each in adjusted(p)]
    assert all(before <= after <= 1 for before, after in zip(p, result, strict=True))
    assert sorted(result) == [result[n] for n in np.argsort(p, kind="stable")]


def duels(*outcomes: tuple[object, object, int, int, int]) -> SideBySide:
    """(system, other, wins, losses, ties), one pair per item."""
    ratings, item = [], 0
    for each, other, *counts in outcomes:
        for change, count in zip((1, -1, 0), counts, strict=True):
            for _ in range(count):
                ratings += [(item, item % 3, each, 3 + change), (item, item % 3, other, 3)]
                item += 1
    return side_by_side(ratings)


def test_two_systems_without_ties_have_the_log_odds_between_them():
    result = preferences(duels(("a", "b", 30, 10, 0)), ("a", "b"), 200)
    assert [each.value for each in result.strengths] == pytest.approx([math.log(3) / 2, -math.log(3) / 2])
    assert (result.ties, result.n, result.level, result.items) == (0, 40, 0, 40)
    # Delta method: half the standard error of a log odds with 30 and 10.
    assert result.strengths[0].error == pytest.approx(math.sqrt(1 / 30 + 1 / 10) / 2, rel=0.25)


def test_two_systems_with_ties_fit_davidson_exactly():
    # 16 : 4 : 8 has sqrt(p1 / p2) = 2, v sqrt(p1 p2) = 8 / 28 of the sum: p = 4 : 1, v = 8 / (2 * 4) = 1.
    result = preferences(duels(("a", "b", 16, 4, 8)), ("a", "b"), 50)
    assert result.strengths[0].value - result.strengths[1].value == pytest.approx(math.log(4))
    assert (result.ties, result.level) == (pytest.approx(1), 8)


def test_items_repeated_inside_a_group_make_no_strength_surer():
    random = np.random.default_rng(7)
    values, item, system = random.integers(1, 6, 120), np.repeat(np.arange(30), 4), np.tile(np.arange(4), 30)
    annotator, fourfold = item % 5, [np.tile(column, 4) for column in (values, item, system)]
    copies = np.repeat(np.arange(4), 120) * 30 + fourfold[1]
    once = preferences(SideBySide.build(values, item, annotator, system), range(4), 200)
    table = SideBySide.build(fourfold[0], copies, np.tile(annotator, 4), fourfold[2], fourfold[1])
    often = preferences(table, range(4), 200)
    for each, other in zip(once.strengths, often.strengths, strict=True):
        assert other.error == pytest.approx(each.error)
    assert (once.items, often.items) == (30, 30)


def test_systems_that_never_met_are_compared_through_others():
    result = preferences(duels(("a", "b", 20, 10, 0), ("b", "c", 20, 10, 0), ("c", "d", 20, 10, 0)), "abcd", 50)
    values = [each.value for each in result.strengths]
    assert np.diff(values) == pytest.approx([-math.log(2)] * 3)


def test_strengths_balance_observed_and_expected_wins():
    random = np.random.default_rng(5)
    names = list("abcdef")
    ratings = [
        (item, annotator, name, random.integers(1, 6) + names.index(name) // 2)
        for item in range(40)
        for annotator in random.choice(8, 2, replace=False)
        for name in random.choice(names, 3, replace=False)
    ]
    table = side_by_side(ratings)
    result = preferences(table, names, 50)
    power = np.exp([each.value for each in result.strengths])
    got, expected = np.zeros((2, 6))
    for each, other in combinations(range(6), 2):
        outcome = np.sign(table.pairs(names[each], names[other]).differences)
        level = result.ties * math.sqrt(power[each] * power[other])
        share = (power[each] + level / 2) / (power[each] + power[other] + level)
        got[each] += ((outcome + 1) / 2).sum()
        expected[each] += share * len(outcome)
        got[other] += ((1 - outcome) / 2).sum()
        expected[other] += (1 - share) * len(outcome)
    assert expected == pytest.approx(got)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (duels(("a", "b", 3, 1, 0), ("c", "d", 1, 3, 0)), "never compared"),
        (duels(("a", "b", 0, 0, 4)), "every comparison is a tie"),
        (duels(("a", "b", 4, 0, 0)), "won or tied every comparison"),
        (duels(("a", "b", 4, 0, 3)), "won or tied every comparison"),
        (duels(), "no annotator rated two"),
    ],
)
def test_undefined_strengths_give_a_reason(table, words):
    systems = sorted(set(table.systems) | {"a", "b"})
    with pytest.raises(UndefinedStatistic, match=words):
        preferences(table, systems)


def test_strengths_that_no_resample_changes_have_no_interval():
    table = side_by_side(
        (item, annotator, name, value)
        for item in range(10)
        for annotator, row in enumerate([(1, 2, 3, 4), (4, 3, 2, 1), (2, 1, 1, 2)])
        for name, value in zip("abcd", row, strict=True)
    )
    result = preferences(table, "abcd", 50)
    assert result.sentence == "No interval: all resamples give the same value, so there is no variation."
    assert {of for each in result.strengths for of in (each.error, each.interval)} == {Undefined(result.sentence)}


def test_a_circle_of_wins_has_strengths():
    # a beat b, b beat c, a and c tied: the tie bounds a, the wins bound the share of ties.
    result = preferences(duels(("a", "b", 1, 0, 0), ("b", "c", 1, 0, 0), ("a", "c", 0, 0, 1)), "abc", 20)
    values = [each.value for each in result.strengths]
    assert values[0] == pytest.approx(-values[2])
    assert result.sentence.startswith("No interval: ")


def test_missing_signed_ranks_and_rankings_give_a_reason():
    level = pairs((2, 2), (3, 3))
    assert "equal on every item" in attempt(signed_rank, level, "new", "base").reason
    assert "three systems" in attempt(ranking, level, ("new", "base")).reason
    assert "fewer than two items" in attempt(ranking, level, SYSTEMS).reason
    three = side_by_side((item, 0, name, 4) for item in range(3) for name in SYSTEMS)
    assert "equal on every item" in attempt(ranking, three, SYSTEMS).reason


def test_a_system_that_nobody_rated_has_no_comparison():
    for statistic in PAIRED:
        assert (
            "no annotator rated both systems" in attempt(statistic, pairs((2, 1), (3, 1)), "new", "unheard of").reason
        )


@given(rows)
@settings(max_examples=30, deadline=None)
def test_every_comparison_of_any_study_is_finite_or_words(ratings):
    for result in everything(side_by_side(ratings)):
        assert not isinstance(result, Undefined) or result.reason.startswith("Not defined: ")
        assert all(map(math.isfinite, numbers_in(result)))


@given(rows, st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_row_order_and_names_change_no_comparison(ratings, random):
    item_names, annotator_names = random.sample(range(5), 5), random.sample("ABCDEFG", 7)
    moved = [
        (item_names[item], annotator_names[annotator], *rest)
        for item, annotator, *rest in random.sample(ratings, len(ratings))
    ]
    assert same(everything(side_by_side(ratings)), everything(side_by_side(moved)))


@given(rows)
@settings(max_examples=30, deadline=None)
def test_severity_of_an_annotator_cancels_in_every_pair(ratings):
    table, severe = side_by_side(ratings), side_by_side((i, a, s, value - a) for i, a, s, value in ratings)
    for statistic in PAIRED:
        assert same(attempt(statistic, table, "new", "base"), attempt(statistic, severe, "new", "base"))


@given(rows)
@settings(max_examples=30, deadline=None)
def test_exchanging_the_systems_mirrors_every_comparison(ratings):
    table = side_by_side(ratings)
    result = attempt(difference, table, "new", "base")
    if isinstance(result, Undefined):
        assert attempt(difference, table, "base", "new") == result
        return
    mirrored = difference(table, "base", "new")
    assert mirrored.mean == pytest.approx(-result.mean)
    for each, other in ((result.these, mirrored.these), (result.alike, mirrored.alike)):
        assert (each.low is None) == (other.low is None)
        assert each.low is None or (other.low, other.high) == pytest.approx((-each.high, -each.low))
    won, lost = dominance(table, "new", "base"), dominance(table, "base", "new")
    assert (won.wins, won.ties, won.losses) == (lost.losses, lost.ties, lost.wins)
    forth, back = (attempt(signed_rank, table, *pair) for pair in (("new", "base"), ("base", "new")))
    assert forth == back if isinstance(forth, Undefined) else (forth.effect, forth.p) == (-back.effect, back.p)

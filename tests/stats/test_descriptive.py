"""Means, shares, distributions, positions and majorities on tables small enough to count by hand."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pandas as pd
import pytest
from helpers.present import attempt, present
from hypothesis import given
from hypothesis import strategies as st

from triptych.stats.descriptive import (
    MajorityShare,
    OptionShare,
    Summary,
    distribution,
    majority,
    position_means,
    shares,
    summary,
)
from triptych.stats.undefined import Undefined

NAN = math.nan
LIKERT = (1, 2, 3, 4, 5)

votes = st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["yes", "no", "unsure", None])), max_size=40)


def test_summary_leaves_missing_values_out():
    result = summary([1, NAN, 2, 6, NAN])
    assert result == Summary(3, 3, 2, result.sd)
    assert result.sd == pytest.approx(math.sqrt(7))


def test_a_single_rating_has_a_mean_and_no_spread():
    assert summary([0]) == Summary(1, 0, 0, Undefined("Not defined for a single rating."))


@pytest.mark.parametrize("values", [[], [NAN, NAN]])
def test_a_summary_of_nothing_gives_a_reason(values):
    assert attempt(summary, values) == Undefined("Not defined: there is no rating yet.")


@given(st.lists(st.floats(-1e100, 1e100), min_size=2, max_size=30))
def test_summary_is_finite_for_numbers_of_any_size(values):
    result = summary(values)
    assert all(map(math.isfinite, (result.mean, result.median, present(result.sd))))
    assert result.median == pytest.approx(statistics.median(values))


def test_missing_options_have_their_own_denominator():
    result = shares(["a", "b", "a", "idk", None, "a"], ["a", "b", "c", "idk"], missing=["idk"])
    assert result == (
        OptionShare("a", 3, 4, 0.75, False),
        OptionShare("b", 1, 4, 0.25, False),
        OptionShare("c", 0, 4, 0, False),
        OptionShare("idk", 1, 5, 0.2, True),
    )


def test_a_counted_dont_know_has_all_answers_as_denominator():
    result = shares(["a", "idk"], ["a", "idk"])
    assert [row.share for row in result] == [0.5, 0.5]


def test_where_every_answer_is_missing_the_other_shares_are_none():
    result = shares(["idk", "idk"], ["a", "idk"], missing={"idk"})
    assert [row.share for row in result] == [None, 1]


def test_an_unknown_option_is_named_and_not_dropped():
    assert attempt(shares, ["a", "z"], ["a"]) == Undefined(
        "Not defined: the value z is not an option of this criterion."
    )


def test_shares_of_nothing_give_a_reason():
    assert attempt(shares, [None], ["a"]) == Undefined("Not defined: there is no rating yet.")


def test_texts_with_a_nan_among_them_keep_it_missing():
    assert shares(["a", NAN], ["a"])[0].of == 1
    assert shares(pd.Series(["a", None], dtype="category"), ["a"])[0].of == 1


def test_distribution_counts_every_point_of_the_scale_half_points_too():
    result = distribution([0.5, 0.5, 3, NAN, 0.1 + 0.2 + 0.2], [0, 0.5, 1, 2, 3])
    assert result.tolist() == [0, 3, 0, 0, 1]


def test_distribution_of_nothing_is_all_zeros():
    assert distribution([], LIKERT).tolist() == [0, 0, 0, 0, 0]


def test_a_number_between_the_points_is_named_and_not_rounded():
    assert attempt(distribution, [1, 2.5], LIKERT) == Undefined(
        "Not defined: the value 2.5 is not a point of the scale."
    )


@given(st.lists(st.sampled_from([*LIKERT, NAN])))
def test_the_distribution_holds_every_rating_once(values):
    assert distribution(values, LIKERT).sum() == sum(not math.isnan(value) for value in values)


def test_position_means_are_relative_to_the_mean_of_each_system():
    # System a: 4 at position 0, 2 at 1 (mean 3); system b: 7 at 0, 6 at 1 (mean 6.5).
    result = position_means([4, 2, 7, 6], [0, 1, 0, 1], ["a", "a", "b", "b"])
    assert [(row.position, row.mean, row.n) for row in result] == [(0, 0.75, 2), (1, -0.75, 2)]


def test_unknown_positions_are_left_out_of_the_system_means_too():
    result = position_means([4, 2, 100, 50, NAN], [0, 2, NAN, -1, 0], ["a"] * 5)
    assert [(row.position, row.mean, row.n) for row in result] == [(0, 1, 1), (2, -1, 1)]


def test_ratings_without_a_known_position_give_a_reason():
    assert attempt(position_means, [1, 2], [NAN, -1], ["a", "b"]) == Undefined(
        "Not defined: no rating has a known position."
    )


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(1, 7)), min_size=1, max_size=30))
def test_position_means_weighted_by_their_numbers_cancel(ratings):
    systems, positions, values = (list(column) for column in zip(*ratings, strict=True))
    result = position_means(values, positions, systems)
    assert sum(row.n for row in result) == len(ratings)
    assert sum(row.mean * row.n for row in result) == pytest.approx(0, abs=1e-9)


def test_a_majority_needs_more_than_half_of_the_items_raters():
    items = [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3]
    options = ["yes", "yes", "no", "no", "no", "yes", "yes", "no", "yes", "no", "unsure"]
    assert majority(items, options, "yes") == MajorityShare(4, positive=1, other=1, undecided=2, share=0.25)


def test_an_item_nobody_answered_is_no_item_of_the_majority():
    assert majority([0, 1], ["yes", None], "yes") == MajorityShare(1, 1, 0, 0, 1)


def test_a_positive_option_that_nobody_chose_has_share_zero():
    assert majority([0, 0], ["no", "no"], "yes") == MajorityShare(1, 0, 1, 0, 0)


def test_a_majority_of_nothing_gives_a_reason():
    assert attempt(majority, [], [], "yes") == Undefined("Not defined: there is no rating yet.")


@given(votes, st.randoms(use_true_random=False))
def test_row_order_and_names_change_no_majority(ballots, random):
    names = random.sample("PQRST", 5)
    moved = [(names[item], option) for item, option in random.sample(ballots, len(ballots))]
    before = attempt(majority, [row[0] for row in ballots], [row[1] for row in ballots], "yes")
    after = attempt(majority, [row[0] for row in moved], [row[1] for row in moved], "yes")
    assert before == after
    order = ["yes", "no", "unsure"]
    assert attempt(shares, [row[1] for row in ballots], order) == attempt(shares, [row[1] for row in moved], order)


@given(votes)
def test_every_answered_item_is_in_one_of_three_groups(ballots):
    result = attempt(majority, [row[0] for row in ballots], [row[1] for row in ballots], "yes")
    answered = {item for item, option in ballots if option is not None}
    if not answered:
        assert result == Undefined("Not defined: there is no rating yet.")
    else:
        assert result.items == len(answered) == result.positive + result.other + result.undecided
        assert 0 <= result.share <= 1


def test_columns_of_different_length_are_refused():
    with pytest.raises(ValueError, match="of one length"):
        position_means(np.ones(3), np.ones(2), np.ones(3))

"""The estimator for crossed designs: expected values, an oracle by dummy variables, and the paired test."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.analyses import difference
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from triptych.stats.comparison import SideBySide
from triptych.stats.crossed import NOT_LINKED, NOTHING_LEFT, CrossedEffects
from triptych.stats.intervals import clustered
from triptych.stats.undefined import UndefinedStatistic

EXPECTED = json.loads((Path(__file__).parents[1] / "oracles" / "incomplete.json").read_text(encoding="utf-8"))
SYSTEMS = ("base", "new", "third", "fourth")

Row = tuple[int, int, str, float]


def fitted(rows: list[Row]) -> CrossedEffects:
    items, annotators, systems, values = zip(*rows, strict=True)
    return CrossedEffects.build(values, items, annotators, systems)


def contrasts() -> list[Any]:
    return [
        pytest.param(name, contrast, id=f"{name}-{contrast['system']}-{contrast['baseline']}")
        for name, design in EXPECTED["sets"].items()
        for contrast in design["contrasts"]
    ]


@pytest.mark.parametrize(("name", "contrast"), contrasts())
def test_nine_designs_as_expected(name: str, contrast: dict[str, Any]) -> None:
    design = EXPECTED["sets"][name]
    items, annotators, systems, groups, values = zip(*design["rows"], strict=True)
    effects = CrossedEffects.build(values, items, annotators, systems, groups if design["groups"] else None)
    assert effects.used == design["ratings_used"]
    pair = contrast["system"], contrast["baseline"]
    if not contrast["defined"]:
        with pytest.raises(UndefinedStatistic, match=NOT_LINKED):
            effects.difference(*pair)
        return
    estimate = effects.difference(*pair)
    assert estimate.test is not None
    assert estimate.test_here is not None
    computed = {
        "difference": estimate.mean,
        "se": estimate.mean / estimate.test.t,
        "df": estimate.test.freedom,
        "absorbed": estimate.absorbed,
        "se_these": estimate.mean / estimate.test_here.t,
        "df_these": estimate.test_here.freedom,
    }
    assert computed == pytest.approx({key: contrast[key] for key in computed}, abs=EXPECTED["tolerance"])


ratings = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 4), st.sampled_from(SYSTEMS), st.sampled_from([1.0, 2.0, 3.5, 7.0])),
    min_size=2,
    max_size=50,
    unique_by=lambda row: row[:3],
)


def by_dummy_variables(effects: CrossedEffects, pair: tuple[str, str]) -> float | None:
    """The difference by least squares on all dummy variables; None where they do not determine it."""
    rows = effects.rows
    dummies = np.hstack([np.eye(int(code.max()) + 1)[code] for code in (rows.items, rows.annotators)])
    of_systems = np.eye(len(effects.systems))[rows.systems]
    design = np.hstack([dummies, of_systems])
    direction = np.zeros(design.shape[1])
    for system, sign in zip(pair, (1, -1), strict=True):
        direction[dummies.shape[1] + effects.systems.index(system)] = sign
    if not np.allclose(np.linalg.pinv(design) @ design @ direction, direction, atol=1e-6):
        return None
    return float(direction @ np.linalg.pinv(design) @ rows.values)


@settings(deadline=None)
@given(ratings)
def test_any_design_equals_least_squares(rows: list[Row]) -> None:
    try:
        effects = fitted(rows)
    except UndefinedStatistic as undefined:
        assert str(undefined) == NOTHING_LEFT
        return
    for pair in combinations(effects.systems, 2):
        expected = by_dummy_variables(effects, pair)
        assert effects.linked(*pair) == (expected is not None)
        if expected is not None:
            assert effects.difference(*pair).mean == pytest.approx(expected, abs=1e-8)


@pytest.mark.long
@settings(deadline=None)
@given(st.integers(2, 6), st.integers(1, 6), st.integers(2, 4), st.integers(0, 10**6))
def test_complete_design_equals_the_paired_test(items: int, annotators: int, systems: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    done = {(0, annotator) for annotator in range(annotators)} | {
        (item, annotator) for item in range(items) for annotator in range(annotators) if random.random() < 0.6
    }
    rows = [
        (item, annotator, system, float(random.integers(1, 6)))
        for item, annotator in sorted(done)
        for system in SYSTEMS[:systems]
    ]
    effects, columns = fitted(rows), list(zip(*rows, strict=True))
    table = SideBySide.build(columns[3], columns[0], columns[1], columns[2])
    for pair in combinations(SYSTEMS[:systems], 2):
        ours, paired = effects.difference(*pair), difference(table, *pair)
        assert ours.mean == pytest.approx(paired.mean, abs=1e-8)
        assert (ours.items, ours.annotators) == (paired.items, paired.annotators)
        assert ours.absorbed == pytest.approx(0, abs=1e-12)
        assume((ours.alike.low is None) == (paired.alike.low is None))  # one rounding from no variation at all
        for left, right in ((ours.test, paired.test), (ours.test_here, paired.test_here)):
            assert (left is None) == (right is None)
            if left is not None and right is not None:
                assert (left.t, left.freedom) == pytest.approx((right.t, right.freedom), rel=1e-6)


def test_severity_and_difficulty_cancel() -> None:
    true = {"base": 0.0, "new": 0.75, "third": -0.5}
    rows = [
        (item, annotator, system, item + 2.0 * annotator + true[system])
        for item in range(9)
        for annotator, shown in enumerate((("base", "new"), ("new", "third"), ("third", "base")))
        for system in shown
    ]
    effects = fitted(rows)
    assert effects.difference("new", "base").mean == pytest.approx(0.75)
    assert effects.difference("third", "new").mean == pytest.approx(-1.25)
    assert effects.difference("third", "new").headline.sentence.startswith("No interval")


def test_repeats_are_averaged_and_counted() -> None:
    rows = [(item, 0, system, float(item)) for item in range(3) for system in ("base", "new")]
    effects = fitted([*rows, (0, 0, "new", 2.0)])
    estimate = effects.difference("new", "base")
    assert estimate.mean == pytest.approx(1 / 3)
    assert (estimate.n, estimate.of, effects.used) == (7, 7, 7)


def test_single_ratings_drop_out_until_none_is_left() -> None:
    chain = [(0, 0, "base", 1.0), (0, 1, "new", 2.0), (1, 1, "base", 3.0)]
    with pytest.raises(UndefinedStatistic, match=NOTHING_LEFT):
        fitted(chain)


def test_missing_ratings_and_unknown_systems() -> None:
    rows = [(item, 0, system, 1.0 + item) for item in range(3) for system in ("base", "new")]
    effects = fitted([*rows, (0, 0, "third", math.nan)])
    assert effects.systems == ("base", "new")
    with pytest.raises(UndefinedStatistic, match=NOT_LINKED):
        effects.difference("third", "base")


def test_more_annotators_than_items_is_the_same_fit() -> None:
    random = np.random.default_rng(7)
    rows = [
        (item, annotator, SYSTEMS[system], float(random.normal()))
        for annotator in range(40)
        for item in random.choice(6, 2, replace=False).tolist()
        for system in random.choice(3, 2, replace=False).tolist()
    ]
    effects = fitted(rows)
    for pair in combinations(effects.systems, 2):
        assert effects.difference(*pair).mean == pytest.approx(by_dummy_variables(effects, pair), abs=1e-8)


def test_a_difference_between_groups_equals_its_formula() -> None:
    """Complete: everything follows from each cell's own difference d (groups of 4 and 6, 20 items)."""
    random, people = np.random.default_rng(3), (4, 6)
    differences = [random.normal(size=(20, count)) + random.normal(size=(20, 1)) for count in people]
    rows = [
        (100 * group + item, 10 * group + annotator, 2 * group + system, item, float(system * of[item, annotator]))
        for group, of in enumerate(differences)
        for item in range(20)
        for annotator in range(of.shape[1])
        for system in range(2)
    ]
    items, annotators, systems, shared, values = map(list, zip(*rows, strict=True))
    effects = CrossedEffects.build(values, items, annotators, systems, shared)
    between = effects.between((1, 0), (3, 2))
    centred = [of - of.mean() for of in differences]
    by_item = centred[0].mean(1) - centred[1].mean(1)
    item = 20 / 19 * float((by_item**2).sum()) / 20**2
    own = [n / (n - 1) * float((of.mean(0) ** 2).sum()) / n**2 for n, of in zip(people, centred, strict=True)]
    cell = sum(float((of**2).sum()) / of.size**2 for of in centred)
    assert between.mean == pytest.approx(differences[0].mean() - differences[1].mean())
    assert (between.n, between.items, between.annotators, between.test) == (400, 20, 4, None)
    assert between.test_here is not None
    assert between.test_here.error == pytest.approx(math.sqrt(item))
    weights = effects._weights_of(1, 0), -effects._weights_of(3, 2)
    scores = [(part * effects.residuals * math.sqrt(1 + between.absorbed), part**2) for part in weights]
    errors = clustered(scores, effects.rows.groups, effects.rows.annotators, effects.rows.group_cells)
    assert errors.alike == pytest.approx(math.sqrt(max(item + sum(own) - cell, 0.25 * max(item, sum(own)))))
    assert errors.freedom_alike == pytest.approx(min(people) - 1)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(2, 12), st.sampled_from([0.3, 0.6, 1]))
def test_nobody_else_turns_a_difference_than_those_who_may(seed, items, annotators, share):
    random = np.random.default_rng(seed)
    shape = items, annotators, 3
    rated = np.argwhere(random.random(shape) < share)
    tastes = random.normal(size=(annotators, 3))
    rows = [(i, a, SYSTEMS[s], float(tastes[a, s] + random.normal())) for i, a, s in rated.tolist()]
    assume(len(rows) > 4)
    try:
        effects = fitted(rows)
    except UndefinedStatistic:
        return
    for pair in combinations(effects.systems, 2):
        if effects.linked(*pair):
            mean = effects.difference(*pair).mean
            turning = [who for who in effects.annotators if turned(effects, who, pair, mean)]
            assert set(turning) <= set(effects.may_turn(*pair))


def turned(effects: CrossedEffects, annotator: Any, pair: tuple[Any, Any], mean: float) -> bool:
    try:
        return effects.without(annotator).difference(*pair).mean * mean < 0
    except UndefinedStatistic:
        return False


def test_most_of_a_crowd_cannot_turn_a_clear_difference():
    random = np.random.default_rng(3)
    rows = [
        (item, (item + 7 * rater) % 60, SYSTEMS[system], float(system + random.normal()))
        for item in range(200)
        for rater in range(3)
        for system in range(2)
    ]
    effects = fitted(rows)
    assert len(effects.annotators) == 60
    assert effects.may_turn("new", "base") == []


def third_system(rated: Callable[[int, int], bool]) -> list[Row]:
    """Ten items by six annotators; two systems everywhere, the third where `rated` says so."""
    random = np.random.default_rng(8)
    cells = [(item, person, system) for item in range(10) for person in range(6) for system in range(3)]
    return [
        (item, person, SYSTEMS[system], float(random.normal()))
        for item, person, system in cells
        if system < 2 or rated(item, person)
    ]


def test_a_system_on_one_item_has_no_interval() -> None:
    effects = fitted(third_system(lambda item, person: item == 3))
    third = effects.difference("third", "base")
    assert (third.items, third.test, third.test_here) == (1, None, None)
    assert third.headline.sentence == "No interval: one item is too few."
    assert effects.difference("new", "base").test is not None
    assert fitted(third_system(lambda item, person: item < 2)).difference("third", "base").test is not None


def test_a_system_by_one_annotator_has_no_test_for_others() -> None:
    third = fitted(third_system(lambda item, person: person == 3)).difference("third", "base")
    assert (third.annotators, third.test) == (1, None)
    assert third.headline == third.these
    assert third.headline.sentence == "95 % interval for these annotators: 1 annotator is too few to generalise."
    assert fitted(third_system(lambda item, person: person < 2)).difference("third", "base").test is not None


@pytest.mark.parametrize(("others", "annotators"), [(20, 6), (4, 1)])
def test_nearly_all_weight_on_one_annotator_allows_no_test(others: int, annotators: int) -> None:
    """Of such studies without a difference, 45 % were clear; with a fifth of the weight on others, none."""
    random = np.random.default_rng(8)
    people = [[0] if item >= others else [0, 1 + item % 5] for item in range(80)]
    rows = [
        (item, person, SYSTEMS[system], float(random.normal()))
        for item, of_item in enumerate(people)
        for person in of_item
        for system in range(2)
    ]
    difference = fitted(rows).difference("new", "base")
    assert (difference.annotators, difference.test is None) == (annotators, annotators == 1)
    assert difference.items == 80


@pytest.mark.parametrize("grouped", [False, True])
def test_items_count_by_group(grouped: bool) -> None:
    items, people, systems, values = zip(*third_system(lambda item, person: item < 2), strict=True)
    groups = [item // 2 for item in items] if grouped else None
    third = CrossedEffects.build(values, items, people, systems, groups).difference("third", "base")
    assert (third.test_here is None) == grouped

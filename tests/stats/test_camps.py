"""Camps of annotators: found where they were planted, silent where annotators differ in other ways."""

from __future__ import annotations

import csv
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from triptych.stats.camps import camps_by_agreement, camps_by_taste, profiles
from triptych.stats.crossed import CrossedEffects
from triptych.stats.undefined import UndefinedStatistic

Columns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def study(
    seed: int, annotators: int, raters: int, camp: float = 0, taste: float = 0.3, care: float = 0, read: float = 0
) -> Columns:
    """Values 1 to 7 of three systems on 60 items; the first half of the annotators is a camp.

    camp: how much more they like system 0; care: scatter of the annotators' noise; read: what the camps see in a
    response, each another thing.
    """
    random = np.random.default_rng(seed)
    tastes = random.normal(0, taste, (annotators, 3))
    in_camp = np.arange(annotators) < annotators // 2
    tastes[in_camp, 0] += camp
    noise = np.exp(random.normal(0, care, annotators))
    who = np.argsort(random.random((60, annotators)), axis=1)[:, :raters]
    item, annotator = np.repeat(np.arange(60), raters * 3), np.repeat(who.ravel(), 3)
    system = np.tile(np.arange(3), 60 * raters)
    latent = random.normal(0, 1, 60)[item] + random.normal(0, 0.7, annotators)[annotator] + tastes[annotator, system]
    latent += random.normal(0, read or 0.7, (60, 3, 2))[item, system, in_camp[annotator].astype(int) if read else 0]
    latent += noise[annotator] * random.logistic(0, 0.6, len(item))
    return np.clip(np.round(latent) + 4, 1, 7), item, annotator, system


def both_profiles(columns: list[Columns], annotators: int) -> tuple[np.ndarray, np.ndarray]:
    fits = [CrossedEffects.build(values, *labels) for values, *labels in columns]
    people, systems = range(annotators), range(3)
    return profiles(fits, people, systems), profiles(fits, people, systems, against_others=True)


def four_criteria(seed: int, annotators: int, camp: float) -> tuple[np.ndarray, np.ndarray]:
    columns = [study(seed + criterion, annotators, 3, camp) for criterion in (0, 100, 200, 300)]
    return both_profiles(columns, annotators)


def test_a_profile_is_the_mean_residual_for_each_system() -> None:
    values = [float(item + 2 * annotator) for item in range(4) for annotator in range(3) for _ in "ab"]
    labels = [(item, f"p{annotator}", s) for item in range(4) for annotator in range(3) for s in "ab"]
    items, annotators, systems = zip(*labels, strict=True)
    values = [value + (annotator == "p2" and s == "b") for value, (_, annotator, s) in zip(values, labels, strict=True)]
    fit = CrossedEffects.build(values, items, annotators, systems)
    table = profiles([fit], ["p0", "absent", "p2", "p1"], ["b", "a"])
    assert table[1].tolist() == [0, 0]
    assert table[2] == pytest.approx([1 / 3, -1 / 3])
    assert table[0] == pytest.approx(table[3])


def test_a_profile_against_others_is_of_shared_responses() -> None:
    items, annotators, systems = [0, 0, 0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 0, 0, 2, 2], [0, 1] * 4
    fit = CrossedEffects.build([1.0, 3, 2, 2, 1, 7, 5, 5], items, annotators, systems)
    table = profiles([fit], range(3), range(2), against_others=True)
    assert table == pytest.approx(np.array([[-1, 1], [1, -1], [0, 0]]))


def test_equal_tastes_have_no_camps() -> None:
    """What is left of them is rounding, of which p was made."""
    table = np.random.default_rng(1).normal(0, 1e-16, (12, 3)) + np.array([0.5, -0.25, -0.25])
    with pytest.raises(UndefinedStatistic, match="no annotator's taste differs"):
        camps_by_taste(table, table, range(12))


def test_tastes_of_thousands_take_little_memory() -> None:
    profile = np.random.default_rng(0).normal(size=(5_000, 2))
    tracemalloc.start()
    try:
        camps_by_taste(profile, profile, range(len(profile)))
        assert tracemalloc.get_traced_memory()[1] < 20_000_000  # bytes
    finally:
        tracemalloc.stop()


def test_camps_by_taste_are_found() -> None:
    camps = camps_by_taste(*four_criteria(2, 20, camp=2.5), range(20))
    assert camps.p < 0.05
    assert {camps.first, camps.second} == {tuple(range(10)), tuple(range(10, 20))}


@pytest.mark.long
def test_tastes_without_camps_are_mostly_silent() -> None:
    hints = [camps_by_taste(*four_criteria(seed, 14, camp=0), range(14)).p < 0.05 for seed in range(1000, 1040)]
    assert sum(hints) <= 6  # 2 expected; more than 6 with a chance below 1 %


@pytest.mark.parametrize("both", [0, 6])
def test_other_items_make_no_camps_by_taste(both: int) -> None:
    """Each half of the annotators rates items of one kind, on which another system is better; `both` rate all kinds."""
    hints = 0
    for seed in range(12):
        random = np.random.default_rng(seed)
        kind = np.arange(60) % 2
        who = np.array([random.permutation(6)[:3] * 2 + of for of in kind])
        for mixed in range(both):
            who[mixed] = random.permutation(12)[:3]
        item, annotator, system = np.repeat(np.arange(60), 9), np.repeat(who.ravel(), 3), np.tile(np.arange(3), 180)
        latent = random.normal(0, 1, 60)[item] + (kind[item] == system) + random.normal(0, 0.9, len(item))
        columns = np.clip(np.round(latent) + 4, 1, 7), item, annotator, system
        hints += camps_by_taste(*both_profiles([columns], 12), range(12)).p < 0.05
    assert hints == 0


def test_too_few_annotators_for_tastes() -> None:
    with pytest.raises(UndefinedStatistic, match="12 annotators or more"):
        camps_by_taste(np.zeros((11, 3)), np.zeros((11, 3)), range(11))
    with pytest.raises(UndefinedStatistic, match="no annotator's taste"):
        camps_by_taste(np.zeros((12, 3)), np.zeros((12, 3)), range(12))


def test_camps_by_agreement_are_found() -> None:
    camps = camps_by_agreement(*study(3, 8, 8, read=1.5))
    assert camps.p < 0.02
    assert {frozenset(camps.first), frozenset(camps.second)} == {frozenset(range(4)), frozenset(range(4, 8))}
    assert camps.inside is not None
    assert camps.across is not None
    assert camps.inside > 0.5 > camps.across


@pytest.mark.parametrize("seed", range(4, 7))
def test_camps_of_many_annotators_are_found(seed: int) -> None:
    """The first camp has the first annotator; it was either, by the sign of a vector that a processor chooses."""
    camps = camps_by_agreement(*study(seed, 16, 6, read=1.5))
    assert camps.p < 0.02
    assert (camps.first, camps.second) == (tuple(range(8)), tuple(range(8, 16)))


@pytest.mark.long
def test_unequal_care_makes_no_camps() -> None:
    hints = [camps_by_agreement(*study(seed, 6, 6, taste=0.6, care=0.6)).p < 0.05 for seed in range(20)]
    assert sum(hints) <= 4  # 1 expected; more than 4 with a chance below 1 %


@pytest.mark.parametrize("annotators", [4, 41])
def test_number_of_annotators_for_agreement(annotators: int) -> None:
    people = np.arange(2 * annotators) % annotators
    columns = np.ones(2 * annotators), np.zeros(2 * annotators), people, np.arange(2 * annotators) // annotators
    with pytest.raises(UndefinedStatistic, match="5 to 40 annotators"):
        camps_by_agreement(*columns)


def test_nothing_shared_is_said() -> None:
    with pytest.raises(UndefinedStatistic, match="too few annotators share"):
        camps_by_agreement(np.arange(12.0), np.arange(12), np.arange(12) % 6, np.zeros(12))


def test_published_experts_stand_apart_from_the_crowd(shared: Path) -> None:
    with (shared / "real" / "summeval_3_ratings.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["criterion"] == "consistency"]
    items, annotators, systems = ([row[name] for row in rows] for name in ("item_id", "annotator", "system"))
    camps = camps_by_agreement([float(row["value"]) for row in rows], items, annotators, systems)
    experts = {name for name in annotators if name.startswith("expert")}
    assert camps.p < 0.01
    assert experts in (set(camps.first), set(camps.second))


@pytest.mark.parametrize("seed", range(3))
def test_camps_do_not_depend_on_the_order_of_rows(seed: int) -> None:
    values, item, annotator, system = study(seed, 6, 3)
    expected = camps_by_agreement(values, item, annotator, system)
    random = np.random.default_rng(seed)
    for _ in range(3):
        order, names = random.permutation(len(values)), random.permutation(60)
        result = camps_by_agreement(values[order], names[item[order]], annotator[order], system[order])
        assert (result.first, result.second, result.p) == (expected.first, expected.second, expected.p)


def test_severity_at_the_ends_of_a_scale_makes_no_camps() -> None:
    """Everybody sees the same; four annotators rate three points of five higher than the others."""
    hints = 0
    for seed in range(5):
        random = np.random.default_rng(seed)
        item, annotator, system = (part.ravel() for part in np.meshgrid(np.arange(60), np.arange(8), np.arange(3)))
        latent = random.normal(0, 1.2, (60, 3))[item, system] + 3 * (annotator % 2) + random.normal(0, 0.6, len(item))
        hints += camps_by_agreement(np.clip(np.round(latent + 1.5), 1, 5), item, annotator, system).p < 0.05
    assert hints == 0


@pytest.mark.parametrize("seed", range(4))
def test_annotators_who_share_no_item_with_others_hide_no_camps(seed: int) -> None:
    """Two rated other items than six with camps; the mean of no correlation was infinite by rounding."""
    values, items, annotators, systems = (np.concatenate([c, c[:180]]) for c in study(seed, 6, 6, read=1.5))
    values[-180:] = np.random.default_rng(seed).integers(1, 8, 180)
    items[-180:], annotators[-180:] = 60 + np.arange(180) // 6, 6 + np.arange(180) // 3 % 2

    camps = camps_by_agreement(values, items, annotators, systems)

    assert camps.p < 0.02
    assert sorted(name for name in camps.first if name < 6) in ([0, 1, 2], [3, 4, 5])

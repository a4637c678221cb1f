"""The designs of the simulated studies: who rates what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Missing = Literal["", "at random", "of hard items", "if low", "if disliked", "if low, one system only"]
TASTES = (0.0, 0.3, 0.6)


@dataclass(frozen=True)
class Design:
    """A study in which `raters` annotators rate each item, or with `singles` each candidate alone.

    shown: the number of systems in an annotation, drawn at random; 0 for all. unequal: the second annotator rates half
    as many as the first, the third a third, and so on, as far as possible; otherwise all rate equally many. newcomer:
    the number of annotators who saw the last system; 0 for all. late: the number of items that have the second half of
    the systems; 0 for all. group: the number of related items; by_group: whether the study declares the groups. taste:
    SD in logit of annotators' own views of a system; tastes: their distribution. missing: which ratings are left out.
    """

    items: int
    raters: int
    annotators: int
    systems: int = 3
    taste: float = 0.3
    shown: int = 0
    singles: bool = False
    unequal: bool = False
    newcomer: int = 0
    late: int = 0
    criteria: int = 1
    group: int = 1
    by_group: bool = False
    spread: Literal["normal", "t3", "camps"] = "normal"
    scale: Literal["ordinal", "binary", "top"] = "ordinal"
    missing: Missing = ""

    @property
    def name(self) -> str:
        parts = [f"{self.items} × {self.raters} of {self.annotators}", f"{self.systems} systems"]
        parts += [f"{self.criteria} criteria"] * (self.criteria > 1)
        parts += [f"{self.shown} shown"] * (self.shown > 0) + ["one at a time"] * self.singles
        parts += ["unequal"] * self.unequal
        parts += [f"the last system by {self.newcomer}"] * (self.newcomer > 0)
        parts += [f"half of the systems on {self.late} items"] * (self.late > 0)
        parts += [f"groups of {self.group}, clustered by {'group' if self.by_group else 'item'}"] * (self.group > 1)
        parts += [f"tastes {self.spread}"] * (self.spread != "normal")
        parts += [f"missing {self.missing}"] * bool(self.missing)
        return ", ".join(parts)

    @property
    def tests(self) -> int:
        return self.systems * (self.systems - 1) // 2 * self.criteria


@dataclass(frozen=True)
class Assignment:
    """One draw of a design: codes of item, annotator and system of n ratings, in order of arrival."""

    items: Codes
    annotators: Codes
    systems: Codes

    def __getitem__(self, ratings: NDArray[np.bool_] | slice) -> Assignment:
        return Assignment(self.items[ratings], self.annotators[ratings], self.systems[ratings])


def assignment(design: Design, random: np.random.Generator) -> Assignment:
    units = design.items * (design.systems if design.singles else 1)
    annotators = _raters(design, units, random).ravel()
    item = np.repeat(np.arange(units), design.raters)
    if design.singles:
        rated = Assignment(item // design.systems, annotators, item % design.systems)
    else:
        shown = design.shown or design.systems
        systems = np.argsort(random.random((len(item), design.systems)), axis=1)[:, :shown].ravel()
        rated = Assignment(np.repeat(item, shown), np.repeat(annotators, shown), systems)
    if design.newcomer:
        rated = rated[(rated.systems < design.systems - 1) | (rated.annotators < design.newcomer)]
    if design.late:
        rated = rated[(rated.systems < design.systems // 2) | (rated.items < design.late)]
    if design.missing == "at random":
        rated = rated[random.random(len(rated.items)) > 0.3]
    return rated


def _raters(design: Design, units: int, random: np.random.Generator) -> Codes:
    """(units, raters): the raters of each unit."""
    if design.unequal:
        keys = -np.log(np.arange(1, design.annotators + 1)) + random.gumbel(size=(units, design.annotators))
        return np.argsort(-keys, axis=1)[:, : design.raters]
    load = np.zeros(design.annotators)
    people = np.empty((units, design.raters), dtype=np.int64)
    for unit in random.permutation(units):
        people[unit] = np.lexsort((random.random(design.annotators), load))[: design.raters]
        load[people[unit]] += 1
    return people


def _complete() -> Iterator[Design]:
    yield from (Design(50, 5, 5, taste=taste) for taste in TASTES)
    for shape in ((150, 1, 5), (20, 3, 6), (150, 1, 15)):
        yield from (Design(*shape, systems=2, taste=taste) for taste in (0.0, 0.6))
    for shape in ((100, 3, 10), (100, 10, 10)):
        yield from (Design(*shape, taste=taste) for taste in (0.0, 0.6))
    yield from (Design(60, 2, 8), Design(100, 3, 30), Design(300, 5, 300), Design(40, 4, 12, systems=5, criteria=4))
    for shape in ((150, 1, 5), (60, 2, 8), (100, 3, 10), (150, 1, 15)):
        yield from (Design(*shape, systems=2, taste=taste, unequal=True) for taste in (0.0, 0.6))


def _few_items() -> Iterator[Design]:
    for taste in (0.0, 0.6):
        yield Design(8, 5, 5, taste=taste)
        yield Design(8, 8, 8, systems=10, taste=taste)
        yield Design(10, 5, 10, systems=10, taste=taste)
    yield Design(6, 6, 6, systems=5, taste=0)
    yield Design(12, 4, 12, criteria=4, taste=0)
    yield Design(15, 15, 15, systems=10, taste=0)
    yield Design(20, 5, 10, systems=10, taste=0)
    for taste in (0.0, 0.6):
        yield Design(48, 8, 8, systems=10, late=8, taste=taste)


def _incomplete() -> Iterator[Design]:
    yield from (Design(60, 3, 5, shown=2, taste=taste) for taste in (0.0, 0.6))
    yield from (Design(60, 3, 8, shown=2, taste=taste) for taste in TASTES)
    yield from (Design(120, 3, 12, shown=2, unequal=True, taste=taste) for taste in (0.0, 0.6))
    yield Design(40, 4, 8, systems=14, shown=4)
    yield Design(30, 4, 6, systems=5, shown=2)
    yield Design(200, 1, 20, systems=6, shown=3)
    yield Design(300, 5, 300, shown=2)
    yield from (Design(100, 3, 20, newcomer=4, taste=taste) for taste in (0.0, 0.6))
    yield Design(100, 3, 20, newcomer=8)
    for taste in (0.0, 0.6):
        yield Design(100, 1, 10, systems=2, singles=True, taste=taste)
        yield Design(150, 1, 10, singles=True, taste=taste)
        yield Design(150, 1, 10, singles=True, unequal=True, taste=taste)
    yield Design(150, 1, 30, singles=True)
    yield Design(50, 2, 5, singles=True)
    yield Design(100, 5, 300, singles=True)
    yield Design(178, 3, 100, systems=16, singles=True, unequal=True)  # the shape of WebNLG 2020


def _scales_and_tastes() -> Iterator[Design]:
    for scale in ("binary", "top"):
        yield Design(50, 5, 5, scale=scale)
        yield Design(60, 3, 8, shown=2, scale=scale)
        yield Design(120, 3, 12, shown=2, unequal=True, scale=scale)
        yield Design(100, 5, 300, singles=True, scale=scale)
    yield Design(60, 3, 8, shown=2, taste=1.0, spread="t3")
    yield Design(100, 10, 10, taste=1.0, spread="t3")
    yield Design(100, 3, 20, taste=0.6, spread="camps")
    yield Design(120, 3, 12, shown=2, unequal=True, taste=0.6, spread="camps")


def _groups() -> Iterator[Design]:
    for by_group in (False, True):
        yield Design(100, 10, 10, group=5, by_group=by_group)
        yield Design(120, 3, 12, shown=2, unequal=True, group=5, by_group=by_group)
        yield Design(300, 5, 300, shown=2, group=5, by_group=by_group)


def _missing() -> Iterator[Design]:
    yield Design(60, 3, 8, missing="at random")
    yield Design(60, 3, 8, missing="of hard items")
    yield Design(60, 3, 8, missing="if low")
    yield Design(60, 3, 8, shown=2, missing="if low")
    yield Design(150, 1, 10, singles=True, missing="if low")
    yield Design(60, 3, 8, taste=0.6, missing="if disliked")
    yield Design(120, 3, 12, unequal=True, taste=0.6, missing="if disliked")
    yield Design(60, 3, 8, missing="if low, one system only")


def _few_annotators() -> Iterator[Design]:
    yield from (Design(50, 3, 3, criteria=4, taste=taste) for taste in (0.0, 0.6))
    for shape in ((50, 4, 4), (20, 3, 3)):
        yield Design(*shape, criteria=4, taste=0)
    yield from (Design(12, 2, 4, criteria=5, taste=taste) for taste in (0.0, 0.6))
    yield Design(100, 1, 4, criteria=4, unequal=True, taste=0)
    yield from (Design(60, 2, annotators, criteria=4, shown=2, taste=0) for annotators in (3, 4))
    yield Design(60, 2, 4, criteria=4, singles=True, taste=0)
    yield Design(50, 3, 3, systems=5, criteria=5, taste=0)
    for scale in ("binary", "top"):
        yield Design(50, 3, 3, criteria=4, taste=0, scale=scale)
        yield Design(12, 2, 4, criteria=5, taste=0, scale=scale)
    yield Design(50, 3, 3, criteria=4, taste=0, missing="if low")


DESIGNS = {
    "Complete: every annotation holds all systems": (*_complete(),),
    "Few items": (*_few_items(),),
    "Incomplete": (*_incomplete(),),
    "Scales and tastes": (*_scales_and_tastes(),),
    "Items in groups": (*_groups(),),
    "Missing ratings": (*_missing(),),
    "Fewer than five annotators": (*_few_annotators(),),
}

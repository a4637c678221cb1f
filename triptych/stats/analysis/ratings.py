"""The ratings of one criterion as columns, and the properties of the criterion that statistics need."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..agreement import Level
from ..columns import Floats
from ..undefined import Undefined

NO_ORDER = Undefined("Not defined: the options have no order.")
ABOUT_ITEM = 0  # in the place of a system where the item itself is rated


@dataclass(frozen=True)
class AnswerOption:
    """One option of a choice, as the rubric marks it."""

    key: str
    title: str
    positive: bool
    missing: bool
    apart: bool


@dataclass(frozen=True)
class Variable:
    """The properties of a criterion that statistics need.

    kind: likert, number, choice or best; about: candidate or item; points: the scale's points, empty for a scale with
    very many; ends: lowest and highest possible number; options: the options of a choice, in rubric order.
    """

    key: str
    title: str
    kind: str
    level: Level
    about: str
    points: tuple[float, ...]
    ends: tuple[float, float]
    options: tuple[AnswerOption, ...] = ()

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Self:
        """The variable of which `entry` is the JSON form."""
        lists = {name: tuple(entry[name]) for name in ("points", "ends")}
        return cls(**{**entry, **lists, "options": tuple(AnswerOption(**option) for option in entry["options"])})

    @property
    def width(self) -> float:
        """The largest difference that the scale allows."""
        return self.ends[1] - self.ends[0]

    @property
    def is_share(self) -> bool:
        """Whether the criterion's means are shares of answers."""
        return self.kind in ("best", "choice")

    @property
    def counts_as(self) -> str:
        """The answer that a share counts; empty where the numbers are no shares, or the options have no order."""
        if self.kind == "choice":
            return " or ".join(option.title for option in self.options if option.positive)
        return "Chosen as best" if self.kind == "best" else ""

    @property
    def per_response(self) -> bool:
        return self.about == "candidate" or self.kind == "best"

    @property
    def has_numbers(self) -> bool:
        """Whether answers become numbers: not the options of a choice of which none is positive."""
        return self.kind != "choice" or bool(self.counts_as)

    @property
    def not_comparable(self) -> Undefined | None:
        """Why the criterion cannot compare systems; None if it can."""
        if not self.per_response:
            return Undefined("Asked about the item, not about a system.")
        return None if self.has_numbers else NO_ORDER

    def places(self, options: Collection[str]) -> list[int]:
        """The places of the options with these keys."""
        return [place for place, option in enumerate(self.options) if option.key in options]


@dataclass(frozen=True, eq=False)
class Ratings:
    """The n counted ratings of one criterion, as arrays (n,).

    number: the answer as a number, NaN where there is none; option: index of the chosen option in the rubric, -1 where
    the answer is a number or empty; missing: whether the answer is missing; item, annotator: codes of labels; group:
    code of the group of items with related errors, the item's own code where it has no group; system: the system's
    number, 0 for the item itself; position: -1 where not known; at: when the item was assigned, in seconds since 1970,
    which no later change of the annotation moves.
    """

    variable: Variable
    number: np.ndarray
    option: np.ndarray
    missing: np.ndarray
    item: np.ndarray
    group: np.ndarray
    annotator: np.ndarray
    system: np.ndarray
    position: np.ndarray
    at: np.ndarray

    def __len__(self) -> int:
        return len(self.number)

    @property
    def units(self) -> np.ndarray:
        """(n,) codes of what two annotators can agree on: the candidate, or the item."""
        units: NDArray[np.int64] = self.item.astype(np.int64) * (int(self.system.max(initial=0)) + 1) + self.system
        return units

    @property
    def sets(self) -> np.ndarray:
        """(n,) codes of the sets of responses: those of an item that an annotator rated."""
        width = int(self.annotator.max(initial=0)) + 1
        sets: NDArray[np.int64] = self.item.astype(np.int64) * width + self.annotator
        return sets

    @property
    def beyond_chance(self) -> np.ndarray:
        """(n,) numbers to compare systems by; for *best*, minus the mean over the annotator's sets as large.

        If everyone chooses one response, that is a half in sets of two.
        """
        if self.variable.kind != "best" or not len(self):
            return self.number
        place, rated = np.unique(self.sets, return_inverse=True)[1], ~np.isnan(self.number)
        size = np.bincount(place[rated], minlength=place.max() + 1)[place]
        alike = self.annotator.astype(np.int64) * (size.max() + 1) + size
        chosen, shown = (np.bincount(alike[rated], of, alike.max() + 1) for of in (self.number[rated], None))
        numbers: Floats = self.number - (chosen / np.maximum(shown, 1))[alike]
        return numbers

    def take(self, at: np.ndarray) -> Self:
        """The selected ratings; at: row numbers or truth values."""
        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: column[at] for name, column in columns.items() if isinstance(column, np.ndarray)})

    def of_system(self, code: int) -> Self:
        return self.take(np.flatnonzero(self.system == code))

    @property
    def categories(self) -> tuple[np.ndarray, list[float] | None]:
        """(n,) values to compute agreement from, NaN = missing, and the scale's points in order, if it has points."""
        if self.variable.kind != "choice":
            return self.number, list(self.variable.points) or None
        return self.among([option.key for option in self.variable.options if not option.missing])

    def among(self, options: Collection[str]) -> tuple[np.ndarray, list[float]]:
        """(n,) rubric index of each chosen option, NaN unless it is among `options`; and the indices of `options`."""
        places = self.variable.places(options)
        return np.where(np.isin(self.option, places), self.option.astype(float), np.nan), list(map(float, places))


def option_numbers(variable: Variable, option: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """(n,) 1 for a positive option, else 0; NaN where the answer is missing, or no option is positive."""
    if not variable.has_numbers:
        return np.full(len(option), np.nan)
    positive = np.array([*(float(choice.positive) for choice in variable.options), np.nan])
    return np.where(missing, np.nan, positive[option])


def joined(every: Sequence[Ratings], *names: str) -> tuple[np.ndarray, ...]:
    """Columns of several criteria, one after the other."""
    return tuple(np.concatenate([getattr(ratings, name) for ratings in every]) for name in names)

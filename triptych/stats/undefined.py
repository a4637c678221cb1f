"""What replaces a number that the data do not define: a reason that a reader can see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class UndefinedStatistic(Exception):
    """The data do not define this number; the message says why in words a lead can read."""


@dataclass(frozen=True)
class Undefined:
    """A statistic that the data do not define, with the reason as a reader should see it."""

    reason: str

    def __str__(self) -> str:
        return self.reason


def or_undefined(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | Undefined:
    """The statistic, or why it is not defined."""
    try:
        return function(*args, **kwargs)
    except UndefinedStatistic as error:
        return Undefined(str(error))

"""What stands where the data define no number: a reason that a reader can see."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class UndefinedStatistic(Exception):
    """The data do not define this number; the message says why in words a lead can read."""


def or_words(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | str:
    """The statistic, or the sentence that says why it is not defined."""
    try:
        return function(*args, **kwargs)
    except UndefinedStatistic as error:
        return str(error)

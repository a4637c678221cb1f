"""A value that may be missing or undefined: present where it must be there, a reason where it is none."""

from __future__ import annotations

from typing import TypeVar

from triptych.stats.undefined import Undefined, UndefinedStatistic

T = TypeVar("T")


def present(value: T | Undefined | None) -> T:
    """This value; fails the test where it is None or undefined."""
    assert value is not None, "There is no value."
    assert not isinstance(value, Undefined), value
    return value


def attempt(statistic, *arguments):
    """The statistic, or the reason why there is none."""
    try:
        return statistic(*arguments)
    except UndefinedStatistic as undefined:
        return Undefined(str(undefined))

"""A value that may be missing, in tests where it must be there."""

from __future__ import annotations

from typing import TypeVar

from triptych.stats.undefined import Undefined

T = TypeVar("T")


def present(value: T | Undefined | None) -> T:
    """This value; fails the test where it is None or undefined."""
    assert value is not None, "There is no value."
    assert not isinstance(value, Undefined), value
    return value

"""The one source of time, so that tests can set it, and several processes go by one clock: the database server's."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_ahead = timedelta()  # how far the clock we go by is ahead of this computer's


def now() -> datetime:
    """The time in UTC. Call it as `clock.now()`, so that a test can replace it in one place."""
    return of_this_computer() + _ahead


def of_this_computer() -> datetime:
    """The time on this computer's own clock, right or wrong."""
    return datetime.now(UTC)


def go_by(ask: Callable[[], datetime]) -> None:
    """Use another clock from now on, as read by `ask`. The exact moment of the reading is unknown; as long as our clock
    could agree with it, ours is not changed.
    """
    global _ahead
    before = of_this_computer()
    theirs = ask()
    after = of_this_computer()
    if not before <= theirs - _ahead <= after:
        _ahead = theirs - before - (after - before) / 2

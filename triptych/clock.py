"""The one source of time, so that tests can set it."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """The time in UTC. Call it as `clock.now()`, so that a test can replace it in one place."""
    return datetime.now(UTC)

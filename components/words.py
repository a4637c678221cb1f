"""Numbers and times as people write them."""

from __future__ import annotations

from datetime import datetime


def duration(minutes: int | None) -> str:
    """About how long: minutes up to two hours, then hours."""
    if minutes is None:
        return "not known yet"
    return f"{minutes} min" if minutes <= 120 else f"{minutes / 60:.0f} h"


def moment(at: datetime | None) -> str:
    return "never" if at is None else f"{at:%Y-%m-%d %H:%M} UTC"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"

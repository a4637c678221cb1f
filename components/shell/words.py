"""Numbers, times and names as text for people and screen readers."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from zoneinfo import ZoneInfo

import streamlit as st

from triptych.languages.language import _, language, message, used
from triptych.stats.numbers import written, written_or_reason
from triptych.stats.undefined import Undefined

NONE = "–"
# among Arabic letters the parts of a date would be shown from right to left
ISOLATE, END_OF_ISOLATE = "\u2066", "\u2069"
DEMO_NOTE = message("A demo: invented texts, to try the screens out. Nobody waits for this work or uses it.")
# special characters, and the positions at which Streamlit would recognise an address as a link
MARKS = re.compile(r"[^\w\s.,;:?!()'%/+-]|_|(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)


def duration(minutes: int | None) -> str:
    """About how long: minutes up to two hours, then hours."""
    if minutes is None:
        return "not known yet"
    return f"{minutes} min" if minutes <= 120 else f"{minutes / 60:.0f} h"


def moment(at: datetime | None) -> str:
    if at is None:
        return _("never")
    text = f"{at:%Y-%m-%d %H:%M} UTC"
    return f"{ISOLATE}{text}{END_OF_ISOLATE}" if language(used()).direction == "rtl" else text


def clock_time(at: datetime) -> str:
    """The time of day in the browser's time zone, or in UTC if it is unknown."""
    zone = st.context.timezone or ""
    with suppress(ValueError, LookupError, OSError):  # no time zone, or one that this computer does not know
        return f"{at.astimezone(ZoneInfo(zone)):%H:%M}"
    return f"{at:%H:%M} UTC"


def size(count: int) -> str:
    """The size of a file, from bytes."""
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"


def percent(share: float) -> str:
    return written(share, "share")


def ratio(count: int, of: int) -> str:
    """A count and its share of `of`, unless that is 0."""
    return f"{count} of {of}" + (f" ({percent(count / of)})" if of else "")


def limits(low: float, high: float) -> str:
    return f"{number(low)} to {number(high)}"


def number(result: float | Undefined | None) -> str:
    """A number, or the sentence that replaces it."""
    return NONE if result is None else written_or_reason(result, "number")


def signed(difference: float, share: bool = False) -> str:
    """A difference with its sign; with `share`, of two shares."""
    return written(difference, "points" if share else "difference")


def read_aloud(text: str) -> str:
    """A user's text as the hidden label of a widget; the text itself is drawn above it.

    A label is Markdown, and screen readers would read its source, including escapes.
    """
    return " ".join(MARKS.sub(" ", text).split())

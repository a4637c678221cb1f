"""A page that follows the data: it polls a number every few seconds, and runs again when the number changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import streamlit as st

from components.shell import state
from triptych.storage import events
from triptych.storage.models import Study
from triptych.storage.unavailable import DatabaseUnavailable

POLL_SECONDS = 3
CPU_SHARE = 0.08  # of a core, for all open pages of a study together
MAX_WAIT_SECONDS = 60.0


@dataclass
class Pace:
    """The number that a study's open pages last received, when, and the processor seconds spent since."""

    drawn: int
    since: float
    spent: float = 0.0

    def advance(self, number: int, now: float) -> int:
        """The number to draw: the last one, until the pages have kept within their share of a core.

        A restored backup lowers the number; the lower one is drawn as soon as it is read.
        """
        if number < self.drawn or (number > self.drawn and not self.rests(now)):
            self.drawn, self.since, self.spent = number, now, 0.0
        return self.drawn

    def rests(self, now: float) -> bool:
        """Whether the pages have not yet kept within their share of a core."""
        return now - self.since < min(self.spent / CPU_SHARE, MAX_WAIT_SECONDS)


_paces: dict[str, Pace] = {}
_lock = threading.Lock()


@contextmanager
def drawing(name: str) -> Iterator[None]:
    """Count the processor time of drawing in this context towards the pace of the pages with this name."""
    began = time.thread_time()
    try:
        yield
    finally:
        with _lock:
            if name in _paces:
                _paces[name].spent += time.thread_time() - began


def number_now(study: Study) -> int:
    """The number of the study's last event."""
    return state.read(events.last_number, study.id)


def follow(version: Callable[[], int], seen: int) -> None:
    """Run the whole page again as soon as `version()` differs from `seen`; widgets keep their values."""

    @st.fragment(run_every=POLL_SECONDS)
    def poll() -> None:
        with suppress(DatabaseUnavailable):  # the next poll may succeed
            if version() != seen:
                state.run_again_by_itself()

    poll()


def follow_at_a_pace(name: str, version: Callable[[], int], seen: int) -> None:
    """As `follow`, for a growing number: all pages with this name advance to the same one, which is computed once."""

    def due() -> int:
        now = time.monotonic()
        with _lock:
            pace = _paces.get(name)
            if pace is not None and pace.drawn == seen and pace.rests(now):
                return seen  # a newer number has to wait, so nobody reads it
        number = version()
        with _lock:
            drawn = _paces.setdefault(name, Pace(number, now)).advance(number, now)
        return drawn if drawn > seen or number < seen else seen

    follow(due, seen)

"""What happens in a study is mentioned to readers of its results, or says nothing against a number."""

from __future__ import annotations

from triptych.results.caveats import MENTIONED, NOT_MENTIONED
from triptych.storage.events import EventKind


def test_every_kind_of_event_is_mentioned_or_declared_irrelevant():
    assert sorted([*MENTIONED, *NOT_MENTIONED]) == sorted(EventKind)
    assert all(NOT_MENTIONED.values())

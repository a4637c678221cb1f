"""What a viewer reads instead of pseudonyms."""

from __future__ import annotations

from typing import cast

from triptych.participants.watching import SOMEBODY, Watched
from triptych.results.frame.model import Frame


def test_a_text_is_renamed_in_one_pass():
    """A pseudonym that is part of another, or of what is shown instead, multiplies nothing."""
    numbers = {"P-1": "Annotator 1", "P-12": "Annotator 2", "n": "Annotator 3", "Annotator": "Annotator 4"}
    watched = Watched(cast(Frame, None), numbers, explained=False, alike=frozenset())

    shown = watched.sentence("P-1, P-12 and n made 12 notes; L-AB12C read them.")

    assert shown == f"Annotator 1, Annotator 2 and Annotator 3 made 12 notes; {SOMEBODY} read them."


def test_names_that_look_like_pseudonyms_stay():
    numbers = {"A-00002": "Annotator 1"}
    alike = frozenset({"A-LLAMA", "A-00001", "A-00002"})
    watched = Watched(cast(Frame, None), numbers, explained=False, alike=alike)

    shown = watched.sentence("Highest: A-LLAMA on A-00001, says A-00002, not L-AB12C.")

    assert shown == f"Highest: A-LLAMA on A-00001, says Annotator 1, not {SOMEBODY}."

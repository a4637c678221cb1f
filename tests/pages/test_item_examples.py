"""The example of a file of items that leads can download."""

from __future__ import annotations

from components.study.study_form import EXAMPLE_ITEMS
from triptych.formats import read_items
from triptych.formats.model import ReadOptions


def test_the_example_of_items_is_read_without_a_problem():
    file = read_items(EXAMPLE_ITEMS.encode(), "items.csv", ReadOptions())
    assert not file.problems
    assert (len(file.items), sorted(file.systems)) == (2, ["system one", "system two"])

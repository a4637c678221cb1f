"""Files of ratings in which very many values belong together: each is looked at a few times, not once for each other.

Some megabytes, which a zip holds in kilobytes, took hours; Python holds the interpreter, so all annotators would wait.
"""

from __future__ import annotations

import json

import pytest

from triptych.errors import ImportRefused
from triptych.formats.ratings import levels, read_ratings

MANY = 500


class CountedPlace(str):
    """A place in a list that counts how often it is looked up."""

    __slots__ = ()
    lookups = 0

    def __hash__(self) -> int:
        CountedPlace.lookups += 1
        return str.__hash__(self)


def test_lists_beside_each_other_are_joined_in_few_lookups():
    place = f"{levels.POSITION} 1"
    rows, more = ([{place: CountedPlace(f"#{n}"), name: 1} for n in range(MANY)] for name in ("fluency", "adequacy"))

    joined = levels._joined(rows, more, {place: None})

    assert [sorted(row) for row in joined] == [["adequacy", "fluency", place]] * MANY
    assert CountedPlace.lookups <= 10 * MANY


def test_many_lists_of_one_path_are_refused():
    of = {"a" + ".b" * n: {"b" + ".b" * (200 - n): [1, 2]} for n in range(200)} | {"id": "i"}
    with pytest.raises(ImportRefused, match="make 201 columns; at most 200"):
        read_ratings(json.dumps({"annotator": "anna", "of": of}).encode(), "x.json")

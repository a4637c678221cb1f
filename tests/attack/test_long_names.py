"""Files of ratings with very many judges, or with names of a megabyte, which are not read again for each row.

Some kilobytes took minutes to hours; Python holds the interpreter, so all annotators would wait.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from triptych.formats.ratings import read_ratings
from triptych.formats.ratings.model import FinishedRatings, RaterKind
from triptych.formats.ratings.proposal import propose

MANY = 500
LONG = "item_id,system,annotator,criterion,value\n"


class CountedName(str):
    """A name or value that counts how often it is looked up or compared."""

    __slots__ = ()
    uses = 0

    def __hash__(self) -> int:
        CountedName.uses += 1
        return str.__hash__(self)

    def __eq__(self, other: object) -> bool:
        CountedName.uses += 1
        return str.__eq__(self, other)


def table(rows: list[str], kind: RaterKind = "human") -> FinishedRatings:
    return read_ratings((LONG + "".join(rows)).encode(), "ratings.csv", kind)


@pytest.mark.parametrize("of_people", [[], ["i,s,anna,c,4\n"]], ids=["judges alone", "judges beside a person"])
def test_a_rubric_is_proposed_without_comparing_all_judges(of_people):
    people = table(of_people).ratings if of_people else []
    scores = table([f"i,s,j{n},c,v{n}\n" for n in range(MANY)], "judge").ratings
    counted = [replace(r, annotator=CountedName(r.annotator), value=CountedName(r.value)) for r in scores]
    CountedName.uses = 0

    *_, criterion = propose([*people, *counted])

    assert len(criterion.values) == MANY
    assert CountedName.uses <= 50 * MANY

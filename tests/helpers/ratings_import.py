"""Files of ratings of other programs, imported into a study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.studies import add_person
from triptych.exchange import import_ratings
from triptych.formats.ratings import read_ratings
from triptych.formats.ratings.assemble import Assembled
from triptych.results.frame.upkeep import frame_of
from triptych.storage import database
from triptych.storage.models import (
    Role,
)
from triptych.study.lifecycle import StudyPlan


def read(text: str | bytes, name: str = "ratings.csv", kind: Any = "human"):
    return read_ratings(text.encode() if isinstance(text, str) else text, name, kind)


@pytest.fixture
def imported(sqlite_engine):
    """Imports what was put together; gives (study, frame, session)."""
    with database.writing(sqlite_engine) as session:
        lead = add_person(session, "lead", Role.lead)

        def importing(ratings: Assembled, **more: Any):
            plan = StudyPlan(title=more.pop("title", "From elsewhere"), raters_per_item=more.pop("raters", 1))
            study = import_ratings.import_ratings(session, plan, ratings, lead, **more)
            return study, frame_of(session, study), session

        yield importing


def public_set(shared: Path, name: str) -> Path:
    return shared / "acceptance" / "data" / f"{name}.csv"

"""What an annotator's own answers may store: of highlights, of time, and after they have left."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helpers.annotations import submission
from helpers.ratings import assigned
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, full_answers, join
from sqlalchemy import func, select

from triptych.annotate.annotations import submit
from triptych.errors import InvalidAnnotation
from triptych.storage.database import writing
from triptych.storage.models import Highlight, StudyState
from triptych.study import lifecycle

LONG = 30_000  # characters of each response
MOST_MARKS = 1000


def test_highlights_are_no_copies_of_a_text_by_the_thousand(sqlite_engine):
    """A message of 73 KB stored 60 MB of quotes."""
    with writing(sqlite_engine) as session:
        [item] = draft_items(1)
        texts = tuple(replace(candidate, text="word " * (LONG // 5)) for candidate in item.candidates)
        plan = lifecycle.StudyPlan(title="Long", seed="long")
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, [replace(item, candidates=texts)], "lead")
        lifecycle.set_state(session, study, StudyState.open, "lead")
        who = join(session, study, add_person(session, "ann"))
        work = assigned(session, study, who)

        def marking(count: int) -> None:
            marks = [{"slot": "A", "start": n, "end": LONG, "label": "good"} for n in range(count)]
            submit(session, who, submission(work, answers={**full_answers(), "highlights": marks}))

        with pytest.raises(InvalidAnnotation, match="more than 5 times over"):
            marking(MOST_MARKS)
        assert session.scalars(select(Highlight)).all() == []
        marking(10)
        assert session.scalar(select(func.count()).select_from(Highlight)) == 10

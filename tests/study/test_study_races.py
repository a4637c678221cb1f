"""Leads who create studies at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from helpers.studies import SMALL_RUBRIC, draft_items

from triptych.storage.database import writing
from triptych.study import lifecycle

TIMES = 4


@pytest.mark.parametrize("title", ["The same", "Study {}"])
def test_studies_of_one_rubric_are_created_at_once(engine, title):
    """On PostgreSQL all but one failed with an unexpected error."""
    together = Barrier(TIMES, timeout=30)

    def create(number: int) -> str:
        together.wait()
        with writing(engine) as session:
            plan = lifecycle.StudyPlan(title=title.format(number))
            return lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(2), "L").slug

    with ThreadPoolExecutor(TIMES) as threads:
        assert len(set(threads.map(create, range(TIMES)))) == TIMES

"""Leads who create studies, or change one, at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from helpers.studies import SMALL_RUBRIC, add_person, draft_items

from triptych.preview import rubric_form
from triptych.rubric.files import text_hash
from triptych.storage.database import reading, writing
from triptych.storage.models import Role
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


@pytest.mark.long
def test_a_rubric_changed_meanwhile_is_not_overwritten(engine):
    """On PostgreSQL the other lead's change was lost, and both read that theirs was saved."""
    with writing(engine) as session:
        lead = add_person(session, "lead", Role.lead)
        plan = lifecycle.StudyPlan(title="A draft")
        draft = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(2), lead.pseudonym, lead.person_id)
    base = text_hash(SMALL_RUBRIC)
    theirs, ours = (SMALL_RUBRIC.replace("title: Fluency", f"title: {title}") for title in ("Flow", "Clarity"))
    with reading(engine) as session:
        seen = lifecycle.by_slug(session, draft.slug)
    with writing(engine) as session:
        present = lifecycle.by_slug(session, draft.slug)
        assert rubric_form.change(session, present, base, theirs, lead.pseudonym)["stored"]

    with writing(engine) as session:
        answer = rubric_form.change(session, seen, base, ours, lead.pseudonym)
    assert answer["changed"]
    assert answer["text"] == theirs
    with reading(engine) as session:
        assert lifecycle.rubric_text(session, lifecycle.by_slug(session, draft.slug)) == theirs

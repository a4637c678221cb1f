"""No lead of a blind study learns the order in which its file names the systems: files list them by name, or ours last.

Leads see the responses under their systems' numbers, so an order in which the file had them says which is which.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from helpers.studies import SMALL_RUBRIC, SYSTEMS, draft_items
from sqlalchemy import select

from triptych.formats.model import CandidateDraft
from triptych.preview import rubric_form
from triptych.storage import database
from triptych.storage.models import StudyState, System
from triptych.study import lifecycle
from triptych.study.lint import linter
from triptych.web.session import web_engine

STUDIES = 4  # one drawn order may be the file's


@pytest.fixture
def blind_studies(lead):
    """blind_studies(items) → open blind studies of these items, which differ in the numbers of their systems."""

    def made(items):
        with database.writing(web_engine()) as session:
            studies = []
            for number in range(STUDIES):
                plan = lifecycle.StudyPlan(title=f"Order {number}", seed=f"order {number}")
                study = lifecycle.create_study(session, plan, SMALL_RUBRIC, items, lead.pseudonym, lead.person_id)
                lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
                studies.append(study)
            return studies

    return made


def test_the_preview_shows_responses_by_number(visit, lead, blind_studies):
    for study in blind_studies(draft_items(2)):
        app = visit(lead, "preview.py", study=study.slug)
        drawn = [json.loads(element.proto.json) for element in app.get("bidi_component") if element.proto.json]
        assert _numbers(study, next(data["view"] for data in drawn if "view" in data)) == [1, 2, 3]


def test_the_rubrics_form_shows_responses_by_number(blind_studies):
    for study in blind_studies(draft_items(2)):
        with database.reading(web_engine()) as session:
            view = rubric_form.look(session, study)["view"]
        assert _numbers(study, view) == [1, 2, 3]


def test_findings_that_tie_are_in_the_order_of_numbers(blind_studies):
    items = [
        replace(item, candidates=tuple(CandidateDraft(name, f"No answer of {name[0]}, sorry.") for name in SYSTEMS))
        for item in draft_items(4)
    ]
    for study in blind_studies(items):
        assert _findings(study, "same text for") == [
            f"System {number} has the same text for 4 items." for number in (1, 2, 3)
        ]


def test_equal_systems_are_named_in_the_order_of_numbers(blind_studies):
    items = [
        replace(item, candidates=tuple(CandidateDraft(name, f"Both say {item.external_id}.") for name in SYSTEMS))
        for item in draft_items(6)
    ]
    for study in blind_studies(items):
        assert [text.partition(" have")[0] for text in _findings(study, "have the same text")] == [
            f"System {first} and System {second}" for first, second in ((1, 2), (1, 3), (2, 3))
        ]


def _findings(study, words: str) -> list[str]:
    with database.reading(web_engine()) as session:
        return [finding.text for finding in linter.lint_study(session, study) if words in finding.text]


def _numbers(study, view: str) -> list[int]:
    """The systems' numbers of an item's responses, in the order in which they are shown."""
    texts = [candidate["text"] for candidate in json.loads(view)["item"]["candidates"]]
    with database.reading(web_engine()) as session:
        systems = session.execute(select(System.name, System.blind_code).where(System.study_id == study.id))
        codes = {name[0]: code for name, code in map(tuple, systems)}
    return [codes[text[-1]] for text in texts]

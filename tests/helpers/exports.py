"""Studies whose export has every kind of content, and what is in an export's zip."""

from __future__ import annotations

import csv
import io
import uuid
import zipfile
from collections.abc import Callable
from typing import Any

from sqlalchemy import select
from sqlmodel import Session

from helpers.ratings import assigned
from helpers.studies import add_person, full_answers
from triptych import clock
from triptych.annotate.annotations import SubmitMessage, submit
from triptych.annotate.assignments import Assigned
from triptych.exchange import exports
from triptych.formats.model import ItemDraft
from triptych.formats.writers.model import ExportOptions
from triptych.storage.models import Assignment, Candidate, Membership, Role, Slot, Study, StudyState, System
from triptych.study import lifecycle
from triptych.study.persons import Who

FORMULA = '=HYPERLINK("http://x") now'

HALF_POINTS = """
key: halves
title: Half points
summary: Numbers of every kind.
instructions: Rate.
speakers: [{names: [sys], title: Helper}, {names: [usr], title: Seeker}]
criteria:
  - key: warmth
    title: Warmth
    definition: How warm.
    scale: {kind: likert, points: [{value: 0, title: Cold}, {value: 0.5}, {value: 1}, {value: 1.5}, {value: 2}]}
  - {key: quality, title: Quality, definition: How good., scale: {kind: number, low: 0, high: 100, step: 0.5}}
  - {key: winner, title: Winner, definition: The best one., about: item, scale: {kind: best}}
  - key: clear
    title: Clear
    definition: Is the question clear?
    about: item
    scale: {kind: choice, options: [{key: "y", title: "Yes"}, {key: "n", title: "No"}]}
highlights: [{key: good, title: Good passage}]
"""


def letters_of(session: Session, work: Assigned) -> dict[str, str]:
    """System → the letter under which the annotator sees it."""
    places = select(System.name, Slot.position).join(Candidate, Candidate.system_id == System.id)
    shown = session.execute(places.join(Slot, Slot.candidate_id == Candidate.id).where(Slot.assignment_id == work.id))
    return {name: "ABCDEF"[position] for name, position in shown}


def annotate(session: Session, study: Study, who: Who, answers: Callable[[dict[str, str]], Any]) -> Assignment:
    """Submits the annotator's next item with answers(letter of each system); returns its assignment."""
    work = assigned(session, study, who)
    message = SubmitMessage(
        kind="submit",
        assignment=work.token,
        version=work.version,
        pen="pen-of-a-tab",
        base=work.draft_seq,
        submission=uuid.uuid4().hex,
        answers=answers(letters_of(session, work)),
        active_seconds=30.0,
    )
    submit(session, who, message)
    return session.get_one(Assignment, work.id, populate_existing=True)


def rejecting(*rejected: str, text: str = FORMULA) -> Callable[[dict[str, str]], Any]:
    """Answers that reject these systems with a reason and a text, and highlight the start of plumbum's response."""

    def answers(at: dict[str, str]) -> dict[str, Any]:
        given_up = [at[name] for name in rejected]
        return full_answers() | {
            "ratings": {
                letter: {"fluency": 2, "verdict": "reject" if letter in given_up else "accept"}
                for letter in at.values()
            },
            "explanations": {
                letter: {"verdict": {"reject": {"reasons": ["rude", "wrong"], "text": text}}} for letter in given_up
            },
            "highlights": [
                {"slot": at["plumbum"], "turn": None, "start": 0, "end": 6, "label": "bad", "comment": "+no"}
            ],
        }

    return answers


def opened(session: Session, rubric: str, items: list[ItemDraft], annotators: int = 1) -> tuple[Study, list[Who]]:
    """An open study with these items; returns it with its annotators."""
    lead = add_person(session, uuid.uuid4().hex[:6], Role.lead)
    study = lifecycle.create_study(
        session, lifecycle.StudyPlan(title="Other"), rubric, items, lead.pseudonym, lead.person_id
    )
    lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
    people = [add_person(session, uuid.uuid4().hex[:6]) for _ in range(annotators)]
    session.add_all(Membership(study_id=study.id, person_id=p.person_id, joined_at=clock.now()) for p in people)
    session.flush()
    return study, people


def unzipped(session: Session, study: Study, key: str, **options: Any) -> dict[str, bytes]:
    """File name, without the folder → its bytes."""
    data = b"".join(exports.export_zip(session, study, key, ExportOptions(**options)))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name.split("/", 1)[1]: archive.read(name) for name in archive.namelist()}


def table(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))

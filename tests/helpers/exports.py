"""What several test files share: exports."""

from __future__ import annotations

import csv
import io
import uuid
import zipfile

from sqlalchemy import select

from helpers.studies import add_person, full_answers
from triptych import clock
from triptych.annotate import annotations, assignments
from triptych.annotate.annotations import SubmitMessage
from triptych.exchange import exports
from triptych.formats.writers.model import ExportOptions
from triptych.storage.models import Assignment, Candidate, Membership, Role, Slot, StudyState, System
from triptych.study import lifecycle

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


def letters_of(session, work) -> dict[str, str]:
    """System → the letter under which the annotator sees it."""
    wanted = select(System.name, Slot.position).join(Candidate, Candidate.system_id == System.id)
    shown = session.execute(wanted.join(Slot, Slot.candidate_id == Candidate.id).where(Slot.assignment_id == work.id))
    return {name: "ABCDEF"[position] for name, position in shown}


def annotate(session, study, who, answers):
    """Submits the annotator's next item with answers(letter of each system); returns its assignment."""
    work = assignments.current(session, study, who)
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
    annotations.submit(session, who, message)
    return session.get_one(Assignment, work.id, populate_existing=True)


def rejecting(*rejected, text=FORMULA):
    """Answers that reject these systems with a reason and a text, and highlight the start of plumbum's response."""

    def answers(at):
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


def opened(session, rubric, items, annotators=1):
    """An open study with these items; returns it with its annotators."""
    lead = add_person(session, uuid.uuid4().hex[:6], Role.lead)
    study = lifecycle.create_study(
        session, lifecycle.Plan(title="Other"), rubric, items, lead.pseudonym, lead.person_id
    )
    lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
    people = [add_person(session, uuid.uuid4().hex[:6]) for _ in range(annotators)]
    session.add_all(Membership(study_id=study.id, person_id=p.person_id, joined_at=clock.now()) for p in people)
    session.flush()
    return study, people


def unzipped(session, study, key, **options) -> dict[str, bytes]:
    """File name, without the folder → its bytes."""
    data = b"".join(exports.export_zip(session, study, key, ExportOptions(**options)))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name.split("/", 1)[1]: archive.read(name) for name in archive.namelist()}


def table(data: bytes) -> list[dict]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))

"""A small rubric, items, people and answers: what most tests are built from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest
from sqlalchemy import func, select, update

from triptych import clock
from triptych.formats.model import CandidateDraft, ItemDraft
from triptych.people import joining, links
from triptych.storage.models import Item, Membership, Person, Purpose, Role, Study, StudyState
from triptych.study import lifecycle
from triptych.study.persons import Certainty, Who
from triptych.study.settings import settings_of

ROOT = Path(__file__).resolve().parents[2]

PUBLIC_DATA = ROOT.parent / "shared"  # not in the repository: others wrote the texts

IN_CI = os.environ.get("CI") == "true"

SYSTEMS = ("plumbum", "stannum", "ferrum")


def absent(what: str) -> NoReturn:
    """Skip where a test's needs are not there; with CI=true that is a failure."""
    if IN_CI:
        pytest.fail(f"{what} is missing, and CI must have it.")
    pytest.skip(f"{what} is missing on this machine.")


SMALL_RUBRIC = """
key: small
title: Small rubric
summary: Two questions about short answers.
instructions: Read the question, then rate each response.
criteria:
  - key: fluency
    title: Fluency
    definition: How well the response reads.
    scale:
      kind: likert
      points: [{value: 1, title: Poor}, {value: 2}, {value: 3, title: Good}]
  - key: verdict
    title: Verdict
    definition: Would you send it?
    scale:
      kind: choice
      options:
        - {key: accept, title: Accept, positive: true}
        - key: reject
          title: Reject
          ask:
            reasons: [{key: wrong, text: It is wrong, tag: error}, {key: rude, text: It is rude, tag: tone}]
            free_text: optional
        - {key: unsure, title: Cannot say, missing: true}
explanation: {min_words: 2, max_words: 10}
highlights: [{key: good, title: Good passage}, {key: bad, title: Bad passage}]
ignore_item: {title: Ignore this question, reasons: [{key: empty, title: It asks nothing}]}
set_aside_response: {title: Cannot rate this response, reasons: [{key: blank, title: It is blank}]}
"""


def draft_items(count: int) -> list[ItemDraft]:
    return [
        ItemDraft(
            external_id=f"item-{n}",
            context_text=f"Question number {n}?",
            context_turns=(),
            candidates=tuple(CandidateDraft(s, f"Answer {n} in words of its own 😀 {s[0]}", None) for s in SYSTEMS),
            meta={},
            extra_texts={},
            row=n,
        )
        for n in range(1, count + 1)
    ]


def count_items(session, study: Study) -> int:
    """The main items that the database holds."""
    items_in_study = select(func.count()).where(Item.study_id == study.id, Item.purpose == Purpose.main, ~Item.retired)
    return session.execute(items_in_study).scalar_one()


def add_person(session, name: str, role: Role = Role.annotator) -> Who:
    person = Person(pseudonym=f"P-{name}", name=name, role=role, created_at=clock.now())
    session.add(person)
    session.flush()
    return Who(person_id=person.id, pseudonym=person.pseudonym, role=person.role, name=name, login_id=0)


def sure(lead: Who | str) -> Certainty:
    """That this lead, or one of this pseudonym, is sure of an act that cannot be undone."""
    return Certainty(lead if isinstance(lead, Who) else Who(0, lead, Role.lead, None, 0))


def join(session, study: Study, who: Who) -> Who:
    """Makes the person an annotator; they have read the instructions, unless the study has texts of its own to read."""
    joining.enrol(session, study, who.person_id, who.pseudonym)
    settings = settings_of(study)
    if not (settings.consent.text or settings.instructions or settings.content_note):
        part = (Membership.study_id == study.id) & (Membership.person_id == who.person_id)
        session.execute(update(Membership).where(part).values(instructions_read_at=clock.now()))
    return who


def open_study(session, title: str) -> tuple[Study, Who]:
    """An open study of four items with places for fifty annotators each, and its lead; its address is its title."""
    lead = add_person(session, "lead", Role.lead)
    plan = lifecycle.StudyPlan(title=title, seed=title, raters_per_item=50)
    study = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(4), lead.pseudonym, lead.person_id)
    lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
    return study, lead


def personal_link(session, study: Study, name: str) -> str:
    """The secret of a link to the study for the annotator of this name."""
    return links.issue_link(session, study, joining.annotator_called(session, study, name).id)


def full_answers(letters: str = "ABC", fluency: int = 2, verdict: str = "accept") -> dict:
    """A complete annotation for SMALL_RUBRIC."""
    return {"ratings": {letter: {"fluency": fluency, "verdict": verdict} for letter in letters}}

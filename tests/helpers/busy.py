"""A study in which everything has happened that a study's tables can hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Engine, select
from sqlmodel import Session

from helpers.check_items import check_item
from helpers.entry import QUESTIONS, RIGHT, answer_all
from helpers.ratings import resubmit, set_aside, submit
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, full_answers, join
from triptych.annotate import assignments, comments, entry_test, exclusions, onboarding, workbooks
from triptych.annotate.assignments import Assigned
from triptych.formats.model import CandidateDraft, ItemDraft, TurnDraft
from triptych.people import accounts, joining, roster
from triptych.privacy import withdrawal
from triptych.results import adjudication
from triptych.storage.database import writing
from triptych.storage.models import Item, Role, Study, StudyState
from triptych.study import design, lifecycle, plans
from triptych.study.check_items import add_check_items, sorted_out
from triptych.study.pairing import PlanLine
from triptych.study.persons import Who
from triptych.study.settings import Consent, StudySettings, stored

CONSENT = Consent(text="Agree?")


def annotated() -> dict[str, Any]:
    """Answers with an explanation, a highlight, a response set aside and a note."""
    answers = full_answers()
    del answers["ratings"]["C"]
    answers["ratings"]["A"]["verdict"] = "reject"
    return answers | {
        "explanations": {"A": {"verdict": {"reject": {"reasons": ["wrong"], "text": "not so 😀"}}}},
        "highlights": [{"slot": "B", "start": 7, "end": 13, "label": "good", "comment": "é"}],
        "set_aside": {"C": "blank"},
        "note": "a note to the lead",
    }


def _items() -> list[ItemDraft]:
    turns = (TurnDraft("A", "Well?"), TurnDraft("B", "Well."))
    first, *others = draft_items(9)
    systems = [candidate.system for candidate in first.candidates]
    spoken = tuple(CandidateDraft(system, None, turns) for system in systems)
    talk = replace(first, context_text=None, context_turns=turns, candidates=spoken)
    return [*others, talk]


def come_in(session: Session, study: Study, name: str, failed: dict[str, str] | None = None) -> Who:
    """A new annotator, through consent, instructions and entry test."""
    who = join(session, study, add_person(session, name))
    joining.consent(session, study, who, CONSENT.version)
    onboarding.read_instructions(session, study, who, onboarding.wording_of(study))
    for attempt in (failed, RIGHT):
        if attempt is None:
            continue
        entry_test.start(session, study, who)
        answer_all(session, study, who, attempt)
    return who


def fill(session: Session) -> Study:
    """The study, open, with work of every kind in it; every change is recorded as the app records it."""
    lead_person = accounts.create_lead(session, "lead", "correct horse battery")
    lead = Who(lead_person.id, lead_person.pseudonym, Role.lead, "lead", 0)
    planned = lifecycle.StudyPlan(title="A busy study", seed="fixed", raters_per_item=4)
    study = lifecycle.create_study(session, planned, SMALL_RUBRIC + QUESTIONS, _items(), lead.pseudonym, lead.person_id)
    study.settings = stored(StudySettings(consent=CONSENT))
    reference = "fluency = 3 ± 1 (As agreed.); verdict = accept|unsure"
    add_check_items(session, study, sorted_out([check_item(1, "gold", reference)])[1], lead.pseudonym)
    lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
    first = come_in(session, study, "first", RIGHT | {"two": "b"})
    second, third, gone = (come_in(session, study, name) for name in ("second", "third", "gone"))
    for who in (first, second, third, gone):
        submit(session, study, who, full_answers())
    work = submit(session, study, first, full_answers())
    resubmit(session, first, work, full_answers(fluency=3) | {"note": "changed"})
    said = session.get_one(Item, work.item_id).external_id
    comments.ask(session, study, said, first.pseudonym, "Why not 3?", lead)
    comments.answer(session, study, first, work.token, "I changed it.")
    set_aside(session, study, second, "ignore", "empty")
    set_aside(session, study, third, "skip", "unclear")
    _explain(session, study, second)
    line = workbooks.make(session, study, third.pseudonym, 2, lead.pseudonym)
    workbooks.cancel(session, study, line.id, lead.pseudonym)
    workbooks.make(session, study, second.pseudonym, 1, lead.pseudonym)
    exclusions.exclude(session, study, third.pseudonym, "never read a response", lead.pseudonym)
    withdrawal.withdraw(session, study, gone.pseudonym, lead.pseudonym)
    _decide(session, study, lead)
    _plan(session, study, second, lead)
    roster.enrol_lead(session, study, accounts.create_lead(session, "other", "correct horse battery"), lead.pseudonym)
    design.amend(session, study, design.Parts(retire=("item-5",)), "It repeats another.", lead.pseudonym)
    held = assignments.current(session, study, first)
    assert isinstance(held, Assigned)
    return study


def _explain(session: Session, study: Study, who: Who) -> None:
    """Submits an item whose candidates are texts, with everything an annotation can have."""
    turns = select(Item.id).where(Item.external_id == "item-1")
    talk = session.scalars(turns).one()
    while True:
        work = assignments.current(session, study, who)
        assert isinstance(work, Assigned)
        if work.item_id == talk or work.purpose != "main":
            resubmit(session, who, work, full_answers())
            continue
        resubmit(session, who, work, annotated())
        return


def _decide(session: Session, study: Study, lead: Who) -> None:
    values = {(1, "fluency"): 3, (2, "verdict"): "reject"}
    adjudication.record(session, study, "item-2", values, "both are right", lead)
    adjudication.record(session, study, "item-3", values, "a guess", lead)
    seen = adjudication.final_values(session, study, "item-3")["item-3"]
    adjudication.take_back(session, study, "item-3", "nobody knows", lead, seen)


def _plan(session: Session, study: Study, who: Who, lead: Who) -> None:
    lines = [PlanLine(who.pseudonym, "item-7", 1)]
    plans.store(session, study, lines, lead.pseudonym, "everybody gets two")


def make_busy(engine: Engine) -> int:
    """Fills a database with the study; returns its number."""
    with writing(engine) as session:
        return fill(session).id

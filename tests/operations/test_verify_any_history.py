"""`verify` holds after every act that the app allows, in any order: no honest study is reported as changed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from helpers import ratings
from helpers.studies import add_person, full_answers, sure
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlmodel import Session, select

from triptych.annotate import exclusions, workbooks
from triptych.errors import TriptychError
from triptych.operations import verify
from triptych.people import roster
from triptych.privacy import erasure, withdrawal
from triptych.results import adjudication
from triptych.storage import events
from triptych.storage.database import reading, writing
from triptych.storage.models import Access, Assignment, AssignmentState, Item, Person, Purpose, Role, Study
from triptych.study.persons import Who

pytestmark = pytest.mark.long


class StudyHistory:
    """A study with four annotators; each public method is one act on it, with what it needs drawn by chance."""

    def __init__(self, session: Session, make_study: Callable[..., Any]) -> None:
        study, first, self.annotators = make_study(session, 3, 4, raters_per_item=2, access=Access.invited)
        session.get_one(Person, first.person_id).passcode_hash = "of an accepted invitation"
        self.leads = [first]
        self.study_id = study.id
        self.items = session.exec(select(Item.external_id).where(Item.study_id == study.id)).all()

    def submit(self, session: Session, study: Study, chance: Random) -> None:
        ratings.submit(session, study, chance.choice(self.annotators), self._answers(chance))

    def set_aside(self, session: Session, study: Study, chance: Random) -> None:
        kind = chance.choice(["skip", "ignore"])
        ratings.set_aside(session, study, chance.choice(self.annotators), kind, "No answer is there.")

    def edit(self, session: Session, study: Study, chance: Random) -> None:
        submitted = (Assignment.state == AssignmentState.submitted) & (Assignment.purpose == Purpose.main)
        of_study = select(Assignment).where(Assignment.study_id == study.id, submitted)
        if works := session.exec(of_study.order_by(Assignment.id)).all():
            work = chance.choice(works)
            person = session.get_one(Person, work.person_id)
            who = Who(person.id, person.pseudonym, person.role, person.name, 0)
            ratings.resubmit(session, who, work, self._answers(chance))

    def decide(self, session: Session, study: Study, chance: Random) -> None:
        values = {(1, "fluency"): chance.randint(1, 3), (2, "verdict"): chance.choice(["accept", "reject"])}
        item, lead = chance.choice(self.items), chance.choice(self.leads)
        seen = adjudication.final_values(session, study).get(item)
        adjudication.record(session, study, item, values, "Read again.", lead, seen)

    def ask(self, session: Session, study: Study, chance: Random) -> None:
        adjudicator = chance.choice(self.annotators).pseudonym
        adjudication.ask(session, study, chance.choice(self.items), adjudicator, chance.choice(self.leads))

    def take_back(self, session: Session, study: Study, chance: Random) -> None:
        item, lead = chance.choice(self.items), chance.choice(self.leads)
        seen = adjudication.final_values(session, study).get(item)
        adjudication.take_back(session, study, item, "Too early.", lead, seen)

    def exclude(self, session: Session, study: Study, chance: Random) -> None:
        exclusions.exclude(session, study, self._annotator(chance), "Too fast.", self.leads[0].pseudonym)

    def reinstate(self, session: Session, study: Study, chance: Random) -> None:
        exclusions.reinstate(session, study, self._annotator(chance), "An error.", self.leads[0].pseudonym)

    def make_workbook(self, session: Session, study: Study, chance: Random) -> None:
        workbooks.make(session, study, self._annotator(chance), 1, self.leads[0].pseudonym)

    def remove_lead(self, session: Session, study: Study, chance: Random) -> None:
        lead = chance.choice(self.leads)
        roster.remove_lead(session, study, lead.pseudonym, sure(self.leads[0]))
        self.leads.remove(lead)

    def enrol_lead(self, session: Session, study: Study, chance: Random) -> None:
        who = add_person(session, f"lead-{study.id}-{study.event_number}", Role.lead)
        lead = session.get_one(Person, who.person_id)
        lead.passcode_hash = "of an accepted invitation"
        roster.enrol_lead(session, study, lead, self.leads[0].pseudonym)
        self.leads.append(who)

    def withdraw(self, session: Session, study: Study, chance: Random) -> None:
        pseudonym = self._annotator(chance)
        withdrawal.withdraw(session, study, pseudonym, pseudonym)

    def erase(self, session: Session, study: Study, chance: Random) -> None:
        erasure.erase(session, study, self._annotator(chance), sure(self.leads[0]))

    def upgrade(self, session: Session, study: Study, chance: Random) -> None:
        events.record_baseline(session, study.id)

    def _annotator(self, chance: Random) -> str:
        return chance.choice(self.annotators).pseudonym

    def _answers(self, chance: Random) -> Any:
        return full_answers(fluency=chance.randint(1, 3))


RARE = ["exclude", "reinstate", "make_workbook", "remove_lead", "withdraw", "erase", "upgrade"]
ACTS = [*["submit"] * 5, *["decide", "ask"] * 4, *["edit", "set_aside", "take_back", "enrol_lead"] * 2, *RARE]
HISTORIES = st.lists(st.sampled_from(ACTS), min_size=10, max_size=30)
NO_SHRINKING = [Phase.explicit, Phase.reuse, Phase.generate]  # it takes minutes, and the acts are readable as they are
ONE_DATABASE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def holds_after_each(engine, make_study, acts: list[str], chance: Random) -> None:
    with writing(engine) as session:
        history = StudyHistory(session, make_study)
    for number, act in enumerate(acts):
        try:
            with writing(engine) as session:
                getattr(history, act)(session, session.get_one(Study, history.study_id), chance)
        except (TriptychError, AssertionError):
            continue  # refused: nothing to do, or not allowed now
        with reading(engine) as session:
            verdict = verify.verify(session, session.get_one(Study, history.study_id))
        assert verdict.holds, (acts[: number + 1], verdict.sentence)


@given(HISTORIES, st.randoms(use_true_random=False))
@settings(max_examples=5, suppress_health_check=ONE_DATABASE, phases=NO_SHRINKING)
def test_a_study_holds_after_every_act(sqlite_engine, make_study, acts, chance):
    holds_after_each(sqlite_engine, make_study, acts, chance)


@pytest.mark.slow
@given(HISTORIES, st.randoms(use_true_random=False))
@settings(max_examples=300, suppress_health_check=ONE_DATABASE, phases=NO_SHRINKING)
def test_many_studies_hold_after_every_act(sqlite_engine, make_study, acts, chance):
    holds_after_each(sqlite_engine, make_study, acts, chance)

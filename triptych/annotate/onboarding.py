"""Onboarding: consent, instructions, training, entry test, work. Each step is stored, and none can be skipped."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote

from sqlalchemy import select, update
from sqlmodel import Session

from triptych import clock
from triptych.annotate import entry_test, exclusions, reservations
from triptych.errors import Conflict
from triptych.languages.language import _, message
from triptych.people.membership import AnnotatorMembership, locked_membership, membership_of
from triptych.stats.numbers import counted
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import Assignment, AssignmentState, Item, Membership, Purpose, Study, StudyState
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import Consent, Ethics, settings_of

SCREENED_OUT = "screened_out"
CHANGED = message("The instructions have changed while you read them. Please read the changed page.")
MOVED_ON = message("This step was done already, perhaps in another tab. Reload the page.")


class Stage(StrEnum):
    """The step an annotator is at; the first two are ends."""

    screened_out = SCREENED_OUT
    failed_test = entry_test.FAILED
    consent = "consent"
    instructions = "instructions"
    training = "training"
    test = "test"
    passed = "passed"
    work = "work"


def stage(session: Session, study: Study, membership: AnnotatorMembership, who: Who) -> Stage:
    """The step the annotator is at; `work` too if the study is not open or they have left it, as the desk says so."""
    if membership.turned_away_as:
        return Stage(membership.turned_away_as)
    if study.state != StudyState.open or membership.excluded_at or membership.withdrawn_at:
        return Stage.work
    to_read = unread(study, membership)
    if to_read is not None:
        return to_read
    if next_training(session, study, who) is not None:
        return Stage.training
    if entry_test.outstanding(session, study, membership, who) is not None:
        return Stage.test
    return Stage.passed if entry_test.has_just_passed(session, study, membership, who) else Stage.work


def unread(study: Study, membership: AnnotatorMembership) -> Stage | None:
    """The step of the consent text or the instructions, if the annotator must still read them; None otherwise.

    A changed text must be read again.
    """
    settings = settings_of(study)
    if settings.consent.text and membership.consent_version != settings.consent.version:
        return Stage.consent
    return None if has_read(study, membership) else Stage.instructions


def has_read(study: Study, membership: AnnotatorMembership) -> bool:
    """Whether the annotator has read the current instructions; earlier versions of the app stored the time only."""
    is_current = membership.instructions_version in (None, wording_of(study))
    return membership.instructions_read_at is not None and is_current


def wording_of(study: Study) -> str:
    """Version of the instructions. After launch the rubric's texts cannot change, but the study's own texts can."""
    settings = settings_of(study)
    return hashlib.sha256(f"{settings.instructions}\n\0{settings.content_note}".encode()).hexdigest()[:12]


def way_in(session: Session, study: Study) -> list[str]:
    """The steps of a new annotator, in order, up to the first item."""
    settings, training = settings_of(study), lifecycle.design_of(session, study).rubric.training
    test = entry_test.asked_of(session, study)
    kind = "gold items" if test and test.kind == "gold" else "questions"
    steps = {
        "The consent text": settings.consent.text,
        "The instructions": True,
        f"{counted(len(training), 'training item')} with feedback": training,
        f"An entry test of {kind}": test,
        "The first item": True,
    }
    return [name for name, is_there in steps.items() if is_there]


def next_training(session: Session, study: Study, who: Who) -> int | None:
    """The training item that the annotator rates next."""
    if not lifecycle.design_of(session, study).rubric.training:
        return None
    own = (Assignment.study_id == study.id) & (Assignment.person_id == who.person_id)
    done = select(Assignment.item_id).where(own, Assignment.submitted_at.is_not(None))
    of_training = (Item.study_id == study.id) & (Item.purpose == Purpose.training)
    waiting = select(Item.id).where(of_training, Item.id.not_in(done)).order_by(Item.id).limit(1)
    return session.execute(waiting).scalar()


def read_instructions(session: Session, study: Study, who: Who, version: str) -> None:
    """Records that the annotator has read the instructions in this version, see `wording_of`.

    Raises Conflict if they are at another step or the instructions have changed since, StudyNotOpen.
    """
    membership = _locked_at(session, study, who, Stage.instructions)
    if version != wording_of(study):
        raise Conflict(_(CHANGED))
    _note(session, membership, instructions_read_at=clock.now(), instructions_version=version)
    events.record(session, study.id, EventKind.instructions_read, who.pseudonym, subject=who.pseudonym)


def refuse(session: Session, study: Study, who: Who) -> None:
    """Turn away a person who does not consent: their places become free, and what they had begun is deleted.

    Raises Conflict if no consent is asked of them, StudyNotOpen.
    """
    membership = _locked_at(session, study, who, Stage.consent)
    _note(session, membership, turned_away_at=clock.now(), turned_away_as=SCREENED_OUT)
    given_up = exclusions.give_up_reservations(session, study, who.person_id, AssignmentState.expired)
    exclusions.forget_unfinished(session, study, who.person_id)
    reservations.free_places(session, given_up)
    events.record(session, study.id, EventKind.consent_refused, who.pseudonym, subject=who.pseudonym)


def _locked_at(session: Session, study: Study, who: Who, step: Stage) -> AnnotatorMembership:
    """Their locked membership. Raises StudyNotOpen, and Conflict if this text is not what they read now."""
    membership = locked_membership(session, study.id, who)
    lifecycle.refuse_unless_writable(study)
    if membership.has_left or unread(study, membership) != step:
        raise Conflict(_(MOVED_ON))
    return membership


def _note(session: Session, membership: AnnotatorMembership, **values: object) -> None:
    session.execute(update(Membership).where(Membership.id == membership.id).values(values))


def way_back(study: Study, code: str) -> str | None:
    """The panel's return address with this code, or None if the study has none. Only https addresses are used."""
    address = settings_of(study).panel.return_url
    if not address.startswith("https://") or ("{code}" in address and not code):
        return None
    return address.replace("{code}", quote(code, safe=""))


@dataclass(frozen=True)
class Ending:
    """A completion code, and the panel's address that contains it, if there is one."""

    code: str
    address: str | None


def ending(study: Study, reason: str) -> Ending:
    """The ending for a reason why there is no item; only finished, failed and refused have a code."""
    codes = settings_of(study).codes
    code_of = {"finished": codes.finished, entry_test.FAILED: codes.failed_test, SCREENED_OUT: codes.screened_out}
    code = code_of.get(reason, "")
    return Ending(code, way_back(study, code) if reason in code_of else None)


@dataclass(frozen=True)
class Step:
    """One onboarding step and its content; fields of other steps are None."""

    stage: Stage
    consent: Consent | None = None
    ethics: Ethics | None = None
    sheet: entry_test.Sheet | None = None
    outcome: entry_test.Outcome | None = None
    ending: Ending | None = None


def step(session: Session, study: Study, who: Who) -> Step | None:
    """The page of the annotator's step; None for steps on the desk: training, gold items and the work."""
    membership = membership_of(session, study, who)
    now = stage(session, study, membership, who)
    match now:
        case Stage.training | Stage.work:
            return None
        case Stage.consent:
            return Step(now, consent=settings_of(study).consent, ethics=settings_of(study).ethics)
        case Stage.instructions:
            return Step(now)
        case Stage.test:
            sheet = entry_test.sheet(session, study, membership)
            return None if sheet.begun and sheet.test.kind == "gold" else Step(now, sheet=sheet)
        case _:
            outcome = entry_test.outcome(session, study, membership)
            return Step(now, outcome=outcome, ending=ending(study, now))

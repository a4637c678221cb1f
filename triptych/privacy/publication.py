"""What each annotator of a study agreed to have published."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import select
from sqlmodel import Session

from triptych.stats.numbers import counted
from triptych.storage.events import EventKind
from triptych.storage.models import (
    SEEN,
    Assignment,
    Event,
    EventDetail,
    Kind,
    Membership,
    Person,
    Study,
    annotators_part,
)
from triptych.study.settings import Sharing, settings_of

ONE_BY_ONE = ("ratings", "texts")  # values of "what is published" that cover individual ratings


class PublicationConsent(NamedTuple):
    """What an annotator agreed to; data that no person gave may be published completely."""

    pseudonym: str
    kind: Kind
    sharing: Sharing
    has_left: bool


def agreements(session: Session, study: Study) -> list[PublicationConsent]:
    """Those of everybody with finished work in the study."""
    columns = Membership.consent_version, Membership.withdrawn_at
    query = (
        select(Person.pseudonym, Person.kind, *columns)
        .join(Assignment, Assignment.person_id == Person.id)
        .outerjoin(Membership, annotators_part())
        .where(Assignment.study_id == study.id, Assignment.state.in_(SEEN))
        .distinct()
    )
    earlier, current = _agreed(session, study), settings_of(study).consent
    declined = _declined(session, study)

    def sharing(pseudonym: str, kind: Kind, version: str | None) -> Sharing:
        if kind != Kind.human:
            return "texts"
        if pseudonym in declined:
            return "nothing"
        return current.sharing if version == current.version else earlier.get((pseudonym, version), "not_asked")

    return [
        PublicationConsent(pseudonym, kind, sharing(pseudonym, kind, version), withdrawn_at is not None)
        for pseudonym, kind, version, withdrawn_at in session.execute(query)
    ]


def _agreed(session: Session, study: Study) -> dict[tuple[str, str | None], Sharing]:
    """(pseudonym, version of the consent text) → what it said about publication."""
    consents = (
        select(Event.subject, EventDetail.new)
        .join(EventDetail, EventDetail.event_id == Event.id)
        .where(Event.study_id == study.id, Event.kind == EventKind.consented)
        .order_by(Event.number)
    )
    return {(who, new.get("version")): new.get("sharing", "not_asked") for who, new in session.execute(consents) if new}


def _declined(session: Session, study: Study) -> set[str]:
    """Those who last declined a text, also if a lead asked them again and they have not answered."""
    kinds = EventKind.consented, EventKind.consent_refused
    answers = select(Event.subject, Event.kind).where(Event.study_id == study.id, Event.kind.in_(kinds))
    last = dict(session.execute(answers.order_by(Event.number)).all())
    return {who for who, kind in last.items() if kind == EventKind.consent_refused}


def notes_on_publishing(session: Session, study: Study) -> Iterator[str]:
    """A sentence for exports, which contain everybody's ratings and texts, unless all annotators agreed to both."""
    people = [person for person in agreements(session, study) if person.kind == Kind.human]
    agreed = [person.sharing for person in people if person.sharing in ONE_BY_ONE and not person.has_left]
    texts = agreed.count("texts")
    if texts < len(people):
        yield (
            f"{len(agreed)} of {counted(len(people), 'annotator')} agreed to the publication of their individual "
            f"ratings, {texts} of these also to that of their texts. For publication, make an archive with `triptych "
            f"study archive`, which leaves out the rest."
        )

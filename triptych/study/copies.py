"""Copies of a blind study: a lead who unblinds one of them knows the systems of all."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, or_, select
from sqlmodel import Session

from triptych.storage.events import EventKind
from triptych.storage.models import Event, EventDetail, Item, Membership, Person, Purpose, Role, Study
from triptych.study.persons import Who


def origins(session: Session, study: Study) -> list[str]:
    """Short names of the studies that this one is a copy of, the first one first."""
    copied = select(EventDetail.new).join(Event, Event.id == EventDetail.event_id)
    copied = copied.where(Event.study_id == study.id, Event.kind == EventKind.study_copied)
    new = session.scalars(copied.limit(1)).first() or {}
    # versions before 0.2.0 logged the last one only
    return new.get("origins", [new["from"]] if "from" in new else [])


def blind_originals(session: Session, study: Study, who: Who) -> Sequence[Study]:
    """Older blind studies with responses of this one, which its unblinding names, too.

    Of everybody who ever led this study, since one of them could unblind it under another name, and those that it is a
    copy of.
    """
    acting = or_(Event.actor == Person.pseudonym, Event.subject == Person.pseudonym)
    in_log = select(Event.id).where(Event.study_id == study.id, acting).correlate(Person).exists()
    lead = (Person.role == Role.lead) & (in_log | (Person.id == who.person_id))
    led = select(Membership.study_id).join(Person, Person.id == Membership.person_id)
    led = led.where(lead, Membership.role == Role.lead)
    related = Study.id.in_(led) | Study.slug.in_(origins(session, study))
    return _with_items_of(session, study, related & (Study.id < study.id))


def has_blind_original_of_others(session: Session, study: Study, actor: str) -> bool:
    """Whether the study is a copy of a blind one that somebody else made, who knows the names of its systems."""
    originals = _with_items_of(session, study, Study.slug.in_(origins(session, study)))
    if not originals:
        return False
    created = select(Event.actor).where(Event.study_id == originals[0].id, Event.kind == EventKind.study_created)
    return session.scalars(created.limit(1)).first() != actor


def blind_copies(session: Session, study: Study, who: Who) -> Sequence[Study]:
    """Newer blind studies of this lead with responses of this one: its unblinding names their systems, too."""
    led = select(Membership.study_id).where(Membership.person_id == who.person_id, Membership.role == Role.lead)
    return _with_items_of(session, study, Study.id.in_(led) & (Study.id > study.id))


def _with_items_of(session: Session, study: Study, others: ColumnElement[bool]) -> Sequence[Study]:
    """Those of the other studies that were launched, are blind, and have an item of this one with the same texts.

    Names of systems are not compared: texts under guessed names would show which guesses are right.
    """
    items = select(Item.external_id, Item.sha256).where(Item.purpose != Purpose.training)
    own = items.where(Item.study_id == study.id).subquery()
    same = (own.c.external_id == Item.external_id) & (own.c.sha256 == Item.sha256)
    shares = items.join(own, same).where(Item.study_id == Study.id).correlate(Study).exists()
    is_blind = Study.opened_at.is_not(None) & Study.unblinded_at.is_(None) & ~Study.demo
    return session.scalars(select(Study).where(others, is_blind, shares).order_by(Study.id)).all()

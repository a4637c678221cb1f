"""The frame of each study, cached per process and updated from the event log."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd
from pandas.api.types import union_categoricals
from sqlalchemy import func, select
from sqlmodel import Session

from triptych.results.frame.collection import is_about_collection, planned_of
from triptych.results.frame.loading import LABELS, load
from triptych.results.frame.model import Frame, StudyName, name_of
from triptych.storage import events
from triptych.storage.events import HANDED_IN, EventKind
from triptych.storage.models import Assignment, Event, Item, Membership, Person, Purpose, Role, Study
from triptych.study import lifecycle
from triptych.study.settings import settings_of

MANY = 1000

_frames: dict[StudyName, Frame] = {}
_locks: defaultdict[StudyName, threading.Lock] = defaultdict(threading.Lock)


def frame_of(session: Session, study: Study) -> Frame:
    """The study's frame, up to date with the session's view of the event log."""
    name = name_of(study)
    with _locks[name]:
        study = _as_now(session, study)
        frame = _frames.get(name)
        if frame is None:
            _frames[name] = _built(session, study)
        elif frame.number < study.event_number:
            _frames[name] = _brought_up_to_date(session, study, frame)
        return _frames[name]


def twice_rated(session: Session, study: Study, frame: Frame) -> Frame:
    """The frame reduced to what annotators rated twice: hidden repeats, and the first ratings of the same items."""
    again = load(session, study, None, Purpose.repeat)[1]
    if again.empty:
        return replace(frame, ratings=frame.ratings[:0])
    pairs = pd.MultiIndex.from_frame(again[["annotator", "item"]].astype(str).drop_duplicates())
    first = pd.MultiIndex.from_frame(frame.ratings[["annotator", "item"]].astype(str)).isin(pairs)
    return replace(frame, ratings=_replaced(frame.ratings[first], again, set()))


def with_annotators_called(frame: Frame, names: Mapping[str, str], use: str) -> Frame:
    """The frame with these names instead of pseudonyms. use: the purpose, part of the frame's key in caches."""
    number, seed, created = frame.name
    groups = {names.get(name, name): group for name, group in frame.settings.annotator_groups.items()}
    return replace(
        frame,
        work=frame.work.assign(annotator=frame.work["annotator"].cat.rename_categories(names)),
        ratings=frame.ratings.assign(annotator=frame.ratings["annotator"].cat.rename_categories(names)),
        leads=frozenset(names.get(lead, lead) for lead in frame.leads),
        settings=frame.settings.model_copy(update={"annotator_groups": groups}),
        planned=replace(frame.planned, excluded=frozenset(names.get(name, name) for name in frame.planned.excluded)),
        name=(number, seed, f"{created} {use}"),
        called=names,
    )


def forget() -> None:
    """Drops every frame, because the database was replaced by another one."""
    _frames.clear()


def build_frame(session: Session, study: Study) -> Frame:
    """The frame, built from the tables."""
    return _built(session, _as_now(session, study))


def _as_now(session: Session, study: Study) -> Study:
    """The study's row, whose number of events and settings are of one state; call it before anything else is read.

    The caller may have read it earlier, or on PostgreSQL in an earlier statement. What is newer than the number is
    harmless, since its event is processed next; what is older would stay.
    """
    events.write_pending(session)
    return session.get_one(Study, study.id, populate_existing=True)


def _built(session: Session, study: Study) -> Frame:
    work, ratings = load(session, study, None)
    meta = select(Item.external_id, Item.meta).where(Item.study_id == study.id, Item.purpose == Purpose.main)
    # on the connection, since the ORM takes as long again for every item
    by_item: dict[str, dict[str, str]] = dict(session.connection().execute(meta).all())
    leads = leads_of(session, study)
    return Frame(
        lifecycle.design_of(session, study),
        study.round,
        study.event_number,
        work,
        ratings,
        by_item,
        leads,
        study.unblinded_at,
        name_of(study),
        settings_of(study),
        planned_of(session, study),
        late_work(session, study, leads),
    )


def leads_of(session: Session, study: Study) -> frozenset[str]:
    """Everybody who leads the study or has led it."""
    made_lead = {EventKind.study_created: Event.actor, EventKind.lead_added: Event.subject}
    queries = [select(name).where(Event.study_id == study.id, Event.kind == kind) for kind, name in made_lead.items()]
    return _present_leads(session, study).union(*map(session.scalars, queries))


def late_work(session: Session, study: Study, leads: frozenset[str]) -> frozenset[int]:
    """Assignments of these leads, handed in or changed after unblinding; by the log, as a clock may be set back."""
    own = select(Assignment.id).join(Person).where(Assignment.study_id == study.id, Person.pseudonym.in_(leads))
    if study.unblinded_at is None or session.scalar(own.limit(1)) is None:
        return frozenset()
    # no other condition on the study, by which SQLite would read all of its later events
    came_in = select(Event.assignment_id).where(Event.assignment_id.in_(own), Event.kind.in_(HANDED_IN))
    return frozenset(session.scalars(came_in.where(Event.number > unblinding(session, study))))


def unblinding(session: Session, study: Study) -> int:
    """Number of the event that unblinded an unblinded study; 0 if its log began later."""
    unblinded = select(func.min(Event.number)).where(Event.study_id == study.id, Event.kind == EventKind.unblinded)
    return session.scalar(unblinded) or 0


def _present_leads(session: Session, study: Study) -> frozenset[str]:
    leads = select(Person.pseudonym).join(Membership, Membership.person_id == Person.id)
    return frozenset(session.scalars(leads.where(Membership.study_id == study.id, Membership.role == Role.lead)))


def _brought_up_to_date(session: Session, study: Study, frame: Frame) -> Frame:
    """The frame as of the study's last event: rows of each assignment or person in new events are replaced."""
    news = events.since(session, study.id, frame.number)
    changed = _changed(session, study, frame, news)
    another = frame.design is not lifecycle.design_of(session, study) or len(frame.meta) != study.item_count
    if len(changed) > MANY or another:
        return _built(session, study)
    work, ratings = load(session, study, changed) if changed else (frame.work[:0], frame.ratings[:0])
    leads = frame.leads | _present_leads(session, study)
    return replace(
        frame,
        number=study.event_number,
        work=_replaced(frame.work, work, changed),
        ratings=_replaced(frame.ratings, ratings, changed),
        leads=leads,
        unblinded_at=study.unblinded_at,
        late=late_work(session, study, leads),
        settings=settings_of(study),
        planned=planned_of(session, study) if is_about_collection(news) else frame.planned,
    )


def _changed(session: Session, study: Study, frame: Frame, news: Sequence[Event]) -> set[int]:
    """Assignments affected by the new events, which name either the assignment or its annotator."""
    changed = {event.assignment_id for event in news if event.assignment_id is not None}
    people = {event.subject for event in news if event.assignment_id is None and event.subject}
    if people:
        theirs = select(Assignment.id).join(Person, Person.id == Assignment.person_id)
        changed |= set(session.scalars(theirs.where(Assignment.study_id == study.id, Person.pseudonym.in_(people))))
        changed |= set(frame.work.loc[frame.work["annotator"].isin(people), "assignment"].tolist())
    return changed


def _replaced(old: pd.DataFrame, fresh: pd.DataFrame, changed: set[int]) -> pd.DataFrame:
    leaves = old["assignment"].isin(changed)
    stays = old[~leaves] if leaves.any() else old
    if not len(fresh):
        return stays.reset_index(drop=True)
    columns = {}
    for name in old.columns:
        pair = [stays[name], fresh[name]]
        columns[name] = union_categoricals(pair) if name in LABELS else pd.concat(pair, ignore_index=True)
    return pd.DataFrame(columns, copy=False)

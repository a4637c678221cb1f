"""Copies of a blind study: a lead who unblinds one of them knows the systems of all."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlmodel import Session

from triptych import clock
from triptych.storage import arrivals
from triptych.storage.events import EventKind
from triptych.storage.models import (
    Candidate,
    Event,
    EventDetail,
    Item,
    JsonObject,
    Membership,
    Person,
    Purpose,
    Role,
    Study,
    Turn,
)
from triptych.study.persons import Who

BATCH = 1000  # rows read at a time


@dataclass(frozen=True)
class EarlierRuns:
    """The launched studies that a study was copied from and shares items with, at its own launch.

    opened: how many had opened results; unknown: how many further originals are in another database; items: how many
    items of this study are shared, 0 in a log of an earlier version.
    """

    launched: int
    opened: int
    unknown: int
    items: int = 0


def originals(session: Session, study: Study) -> list[str]:
    """Hashes of the first events of the studies that this one is a copy of, the first one first; "" if not known here.

    No short names: that of a deleted draft is given to another study.
    """
    new = _copying(session, study)
    if "originals" in new:
        return new["originals"]
    # earlier versions logged short names, and before 0.2.0 the last one only
    names = new.get("origins", [new["from"]] if "from" in new else [])
    older = select(Study.slug, Event.hash).join(Event, Event.study_id == Study.id).where(Event.number == 1)
    older = older.where(Study.slug.in_(names), Study.created_at < study.created_at)
    # in another database, other studies have these names
    here = {} if arrivals.arrivals(session, study.id) else dict(map(tuple, session.execute(older)))
    return [here.get(name, "") for name in names]


def first_event(session: Session, study: Study) -> str:
    """The hash that tells this study from all others, also after a move."""
    return session.scalars(select(Event.hash).where(Event.study_id == study.id, Event.number == 1)).one()


def _begun_with(hashes: Sequence[str]) -> ColumnElement[bool]:
    """Condition: the studies whose first events have these hashes."""
    # an index lookup for each study
    return exists().where(Event.study_id == Study.id, Event.number == 1, Event.hash.in_(hashes))


def _copying(session: Session, study: Study) -> JsonObject:
    """The logged data of this study's copying; empty if it is no copy."""
    return _first_logged(session, study, EventKind.study_copied)


def _first_logged(session: Session, study: Study, kind: EventKind) -> JsonObject:
    first = select(EventDetail.new).join(Event, Event.id == EventDetail.event_id)
    first = first.where(Event.study_id == study.id, Event.kind == kind).order_by(Event.number).limit(1)
    return session.scalars(first).first() or {}


def to_log(session: Session, study: Study) -> JsonObject:
    """What the launch of a copy logs of its originals: later they may be deleted, or in another database."""
    return {"repeats": asdict(_runs_here(session, study))} if _copying(session, study) else {}


def earlier_runs(session: Session, study: Study) -> EarlierRuns:
    """As logged at launch, and more where this database has more after an amendment.

    Otherwise from this database: for a draft, and after a launch by an earlier version.
    """
    logged = _first_logged(session, study, EventKind.study_open).get("repeats")
    if not logged:
        return _runs_here(session, study)
    runs = EarlierRuns(**logged)
    if not _first_logged(session, study, EventKind.design_amended):
        return runs
    here = _runs_here(session, study)
    launched, opened = max(runs.launched, here.launched), max(runs.opened, here.opened)
    return EarlierRuns(launched, opened, runs.unknown, max(runs.items, here.items))


def _runs_here(session: Session, study: Study) -> EarlierRuns:
    copying = _copying(session, study)
    hashes = originals(session, study) if copying else []
    here = session.execute(select(Study.id, Study.opened_at).where(_begun_with(hashes))).all()
    launch = study.opened_at or clock.now()
    launched, items = _shared(session, study, [number for number, at in here if at is not None and at <= launch])
    opened = select(Event.study_id).where(Event.study_id.in_(launched), Event.kind == EventKind.results_opened)
    looked_at = session.scalars(opened.where(Event.at <= launch).distinct()).all()
    # in the database of their copying, only drafts and demo studies are deleted
    unknown = len(hashes) - len(here) if copying.get("items") and arrivals.arrivals(session, study.id) else 0
    return EarlierRuns(len(launched), len(looked_at), unknown, len(items))


def _shared(session: Session, study: Study, others: Sequence[int]) -> tuple[set[int], set[int]]:
    """The other studies that share a response to the same context with this one, and which of its items have one."""
    if not others:
        return set(), set()
    contexts = _contexts(session, [study.id, *others])
    own: dict[tuple[bytes, str], set[int]] = defaultdict(set)
    for _, item, pair in _pairs(session, [study.id], contexts):
        own[pair].add(item)
    launched, shared = set(), set()
    for other, _, pair in _pairs(session, others, contexts):
        if pair in own:
            launched.add(other)
            shared.add(pair)
    return launched, {item for pair in shared for item in own[pair]}


def _pairs(
    session: Session, studies: Sequence[int], contexts: Mapping[int, bytes]
) -> Iterator[tuple[int, int, tuple[bytes, str]]]:
    """(study, item, (context, response)) for each response of these studies."""
    responses = select(Item.study_id, Item.id, Candidate.sha256).join(Candidate, Candidate.item_id == Item.id)
    responses = responses.where(Item.study_id.in_(studies), Item.purpose == Purpose.main)
    for study_id, item, response in session.execute(responses.execution_options(yield_per=BATCH)):
        if item in contexts:  # another lead may just have added it
            yield study_id, item, (contexts[item], response)


def _contexts(session: Session, studies: Sequence[int]) -> dict[int, bytes]:
    """Item → digest of its context, a text or the speakers and texts of a dialogue."""
    main = (Item.study_id.in_(studies), Item.purpose == Purpose.main)
    texts = select(Item.id, Item.context).where(*main).execution_options(yield_per=BATCH)
    contexts = {item: _digest(context) for item, context in session.execute(texts)}
    turns = select(Turn.item_id, Turn.speaker, Turn.text).join(Item, Item.id == Turn.item_id).where(*main)
    turns = turns.order_by(Turn.item_id, Turn.position).execution_options(yield_per=BATCH)
    for item, *turn in session.execute(turns):
        if item in contexts:
            contexts[item] = _digest(contexts[item].hex(), *turn)
    return contexts


def _digest(*texts: str) -> bytes:
    return hashlib.sha256(json.dumps(texts).encode()).digest()


def blind_originals(session: Session, study: Study, who: Who) -> Sequence[Study]:
    """Older blind studies with responses of this one, which its unblinding names, too.

    Those that it is a copy of, and those launched before of everybody who ever led this study, since one of them could
    unblind it under another name.
    """
    made_lead = or_(
        (Event.kind == EventKind.study_created) & (Event.actor == Person.pseudonym),
        (Event.kind == EventKind.lead_added) & (Event.subject == Person.pseudonym),
    )
    in_log = select(Event.id).where(Event.study_id == study.id, made_lead).correlate(Person).exists()
    lead = (Person.role == Role.lead) & (in_log | (Person.id == who.person_id))
    led = select(Membership.study_id).join(Person, Person.id == Membership.person_id)
    led = led.where(lead, Membership.role == Role.lead)
    launched_before = Study.id.in_(led) & (Study.id < study.id) & (Study.opened_at < study.created_at)
    return _with_items_of(session, study, launched_before | _begun_with(originals(session, study)))


def has_blind_original_of_others(session: Session, study: Study, actor: str) -> bool:
    """Whether the study is a copy of a blind one that somebody else made, who knows the names of its systems."""
    blind = _with_items_of(session, study, _begun_with(originals(session, study)))
    if not blind:
        return False
    created = select(Event.actor).where(Event.study_id == blind[0].id, Event.kind == EventKind.study_created)
    return session.scalars(created.limit(1)).first() != actor


def blind_copies(session: Session, study: Study, who: Who) -> Sequence[Study]:
    """Newer blind studies of this lead with responses of this one: its unblinding names their systems, too."""
    led = select(Membership.study_id).where(Membership.person_id == who.person_id, Membership.role == Role.lead)
    launched_since = Study.id.in_(led) & (Study.id > study.id) & Study.opened_at.is_not(None)
    return _with_items_of(session, study, launched_since)


def _with_items_of(session: Session, study: Study, others: ColumnElement[bool]) -> Sequence[Study]:
    """Those of the other studies that are blind and have an item of this one with the same responses.

    Neither names nor the order of systems are compared: a guess of either would show whether it is right.
    """
    # the least and the greatest hash and their number stand for all responses, in whatever order
    responses = [func.min(Candidate.sha256).label("first"), func.max(Candidate.sha256).label("last")]
    items = select(Item.study_id, Item.external_id, func.count().label("number"), *responses)
    items = items.join(Candidate, Candidate.item_id == Item.id).where(Item.purpose != Purpose.training)
    items = items.group_by(Item.id, Item.study_id, Item.external_id)
    own = items.where(Item.study_id == study.id).subquery()
    blind = others & Study.unblinded_at.is_(None) & ~Study.demo
    theirs = items.where(Item.study_id.in_(select(Study.id).where(blind))).subquery()
    same = and_(*(own.c[name] == theirs.c[name] for name in ("external_id", "number", "first", "last")))
    shared = select(theirs.c.study_id).join(own, same)
    return session.scalars(select(Study).where(Study.id.in_(shared)).order_by(Study.id)).all()

"""How many of the planned annotations are in, and how often somebody opened results before all were."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import pandas as pd
from sqlalchemy import Row, case, func, select
from sqlmodel import Session

from triptych.stats.analysis.collection import CLEAR, Collected, bound_in_words
from triptych.stats.numbers import counted
from triptych.storage import arrivals, events
from triptych.storage.events import EventKind
from triptych.storage.models import Event, EventDetail, Item, JsonObject, Kind, Person, Purpose, Study, StudyState
from triptych.study import design
from triptych.study.annotator_groups import first_annotations
from triptych.study.settings import Preregistration

# acts after which other people's annotations count
CHANGES_WHO_COUNTS = (EventKind.annotator_excluded, EventKind.annotator_reinstated, *events.DEPARTURES)
ABOUT_COLLECTION = (
    EventKind.results_opened,
    EventKind.study_open,
    EventKind.study_closed,
    EventKind.design_amended,
    EventKind.ratings_imported,
    *CHANGES_WHO_COUNTS,
)
WITH_VALUES = (EventKind.results_opened, EventKind.ratings_imported, EventKind.withdrew)
UNSEEN = "before anybody had opened results in the app"
_Event = tuple[int, str, datetime, str, str | None, dict[str, object] | None]  # the columns of `_history`
NOT_LOGGED = " Exports, single ratings, and reports made by a command do not count as opening results."


@dataclass(frozen=True)
class Planned:
    """The planned collection, as of one event.

    places: planned annotations of all items, except items taken out before the first look. left_out: those items, whose
    annotations are not counted here; dropped: planned annotations of those that were taken out when annotations were
    in. looks: (day, pseudonym) of everybody who opened results before the study was closed, or until now. imported: the
    ratings came from elsewhere, without a plan. excluded: who was excluded when the study was closed. complete: those
    of the looks at which all places were filled, and since when the same annotators count. extended: whether a look
    came when all places were filled that there were at the time, and there are more now. departed: places filled when
    the study was closed whose ratings were deleted since, with their annotators' withdrawal.
    """

    places: int = 0
    left_out: frozenset[str] = frozenset()
    looks: frozenset[tuple[str, str]] = frozenset()
    closed: bool = False
    imported: bool = False
    excluded: frozenset[str] = frozenset()
    complete: frozenset[tuple[str, str]] = frozenset()
    dropped: int = 0
    extended: bool = False
    departed: int = 0


def planned_of(session: Session, study: Study) -> Planned:
    """The planned collection of a study.

    Takes three short statements; one more if somebody was excluded, two if items were taken out, and one to three in a
    closed study.
    """
    history = _history(session, study)
    closed = study.state == StudyState.closed
    until_closed = history[: _closed_at(history)] if closed else history
    looks = {_look(event) for event in until_closed if _is_look(event)}
    first_look = next((event.number for event in history if _is_look(event)), math.inf)
    of_study = Item.study_id == study.id, Item.purpose == Purpose.main
    asked = session.scalars(select(func.coalesce(func.sum(Item.raters), 0)).where(*of_study, ~Item.retired)).one()
    query = select(Item.external_id, Item.raters).where(*of_study, Item.retired)
    retired: dict[str, int] = dict(map(tuple, session.execute(query)))
    begun = min(first_annotations(session, study).values(), default=math.inf) if retired else math.inf
    taken_out = design.taken_out(session, study) if retired else {}
    late = {item for item in retired if taken_out.get(item, 0) > first_look}
    places = int(asked) + sum(retired[item] for item in late)
    dropped = sum(raters for item, raters in retired.items() if begun < taken_out.get(item, 0) < first_look)
    imports = _imports(session, study, history) if closed else {}
    # once it is reopened, people annotate in it as planned
    begins = [event.number for event in history if event.kind in (EventKind.ratings_imported, EventKind.study_open)]
    imported = bool(begins) and begins[-1] in imports and not imports[begins[-1]].get("stays_open")
    excluded = _excluded(until_closed, imports) if closed else frozenset()
    then = {event.number: event.new or {} for event in until_closed if _is_look(event)}
    complete = _complete(session, until_closed, then, places)
    seen = [(look.get("planned", 0), look.get("annotations", 0)) for look in then.values()]
    extended = any(0 < planned <= min(filled, places - 1) for planned, filled in seen)
    left_out = frozenset(retired) - late
    since = [event for event in history[len(until_closed) :] if event.subject not in excluded]
    gone = (event.new or {} for event in since if event.kind == EventKind.withdrew)
    departed = sum(new.get("filled_places", 0) for new in gone)
    return Planned(
        places, left_out, frozenset(looks), closed, imported, excluded, complete, dropped, extended, departed
    )


def _is_look(event: Row[*_Event]) -> bool:
    return bool(event.kind == EventKind.results_opened)


def _look(event: Row[*_Event]) -> tuple[str, str]:
    return f"{event.at:%Y-%m-%d}", event.actor


def _complete(
    session: Session, history: list[Row[*_Event]], then: Mapping[int, JsonObject], places: int
) -> frozenset[tuple[str, str]]:
    """Looks at which as many annotations were in as are planned now, since when the same annotators count.

    then: number of the event of a look → the annotations that were planned and in.
    """
    changes = {event.number: event.subject for event in history if event.kind in CHANGES_WHO_COUNTS}
    query = select(Person.pseudonym).where(Person.kind == Kind.judge, Person.pseudonym.in_(changes.values()))
    judges = {*session.scalars(query)} if changes else set()
    last = max((number for number, changed in changes.items() if changed not in judges), default=0)
    looks = {event.number: _look(event) for event in history if _is_look(event) and event.number > last}
    return frozenset(look for number, look in looks.items() if then.get(number, {}).get("annotations", -1) >= places)


def _history(session: Session, study: Study) -> list[Row[*_Event]]:
    """Events about collection, in order; new: the values of those in WITH_VALUES."""
    events.write_pending(session)
    new = case((Event.kind.in_(WITH_VALUES), EventDetail.new)).label("new")
    query = select(Event.number, Event.kind, Event.at, Event.actor, Event.subject, new)
    query = query.outerjoin(EventDetail, EventDetail.event_id == Event.id)
    query = query.where(Event.study_id == study.id, Event.kind.in_(ABOUT_COLLECTION)).order_by(Event.number)
    return list(session.execute(query))


def _closed_at(history: list[Row[*_Event]]) -> int:
    """The index of the last closing in the history: results opened afterwards were complete."""
    return max((place for place, event in enumerate(history) if event.kind == EventKind.study_closed), default=0)


def _imports(session: Session, study: Study, history: Iterable[Row[*_Event]]) -> dict[int, JsonObject]:
    """Number of the event of an import → what it says of it, with the pseudonyms that people have now."""
    imports = {event.number: event.new or {} for event in history if event.kind == EventKind.ratings_imported}
    journey = arrivals.arrivals(session, study.id) if imports else []
    return {
        number: new | {"excluded": arrivals.origin(journey, number).present(new.get("excluded", ()))}
        for number, new in imports.items()
    }


def _excluded(history: Iterable[Row[*_Event]], imports: Mapping[int, JsonObject]) -> frozenset[str]:
    """Pseudonyms of those excluded at the end of the history; a membership holds the latest exclusion only."""
    excluded: set[str] = set()
    for event in history:
        if event.kind == EventKind.annotator_excluded:
            excluded.add(event.subject)
        elif event.kind == EventKind.annotator_reinstated:
            excluded.discard(event.subject)
        excluded |= set(imports.get(event.number, {}).get("excluded", ()))
    return frozenset(excluded)


def is_about_collection(news: Iterable[Event]) -> bool:
    return any(event.kind in ABOUT_COLLECTION for event in news)


def collection(planned: Planned, work: pd.DataFrame, declaration: Preregistration) -> Collected:
    """The state of collection; work: table of the study's frame."""
    filled, in_left_out = _filled(planned, work)
    filled += planned.departed
    dropped = max(0, planned.dropped - in_left_out)
    over = filled >= planned.places and (planned.closed or not declaration.stop_rule)
    over = over or (planned.closed and not planned.looks)
    bound = CLEAR if over else declaration.interim_bound
    # with a stop rule, every look before the closing is an early one
    complete = filled >= planned.places and not declaration.stop_rule
    looks = planned.looks - planned.complete if complete else planned.looks
    numbers = Collected(planned.places, filled, len(looks), bound, not over)
    sentences = _sentences(numbers, replace(planned, looks=looks, dropped=dropped), bool(declaration.stop_rule))
    return replace(numbers, sentences=tuple(sentences))


def without(planned: Planned, work: pd.DataFrame) -> Planned:
    """The planned collection without the places that these rows of work fill."""
    filled, in_left_out = _filled(planned, work)
    return replace(planned, places=planned.places - filled, dropped=planned.dropped - in_left_out)


def _filled(planned: Planned, work: pd.DataFrame) -> tuple[int, int]:
    """How many planned places are filled, of items that are counted and of those left out.

    In a closed study, annotations by annotators who were excluded later still count as received.
    """
    excluded = work["excluded"] & (work["annotator"].isin(planned.excluded) | (not planned.closed))
    in_place = work["in_place"] & ~excluded
    left_out = work["item"].isin(planned.left_out)
    return int((in_place & ~left_out).sum()), int((in_place & left_out).sum())


def _sentences(numbers: Collected, planned: Planned, stop_rule: bool) -> Iterator[str]:
    share = f"{numbers.filled:,} of {counted(numbers.planned, 'planned annotation')} are in"
    if planned.imported and numbers.filled >= numbers.planned:
        yield "These ratings were imported without a plan and count as complete."
    elif not numbers.interim and numbers.filled < numbers.planned:
        yield f"Collection ended early, {UNSEEN}: {share}.{NOT_LOGGED * (not planned.dropped)}"
    elif numbers.interim:
        rule = "; the study is open, so its stop rule does not count as met" if stop_rule and not planned.closed else ""
        over = "The study was closed early, after results had been opened" if planned.closed else "Results are interim"
        yield f"{over}: {share}{rule}."
        yield bound_in_words(numbers.bound)
    if planned.dropped:
        others = counted(planned.dropped, "planned annotation")
        yield f"Items were taken out {UNSEEN}, leaving out {others}.{NOT_LOGGED}"
    if planned.looks:
        days, people = (len({look[part] for look in planned.looks}) for part in (0, 1))
        before = "before collection ended" if not numbers.interim or planned.closed else "so far"
        yield f"{counted(people, 'person', 'people')} opened results in the app on {counted(days, 'day')} {before}."
    if planned.extended:
        yield "Collection was extended after complete results had been opened."

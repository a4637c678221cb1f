"""Whether what is stored is what the event log says: the chain, and every annotation played back from it.

A chain alone shows changed events; a rating changed by hand leaves it whole. So the log is replayed against ratings,
explanations, highlights, set-asides, places, memberships, consents, entry tests and exclusions, texts against their
hashes, and the design against the hashes that launch and amendments logged. It shows tampering by somebody who does not
rewrite the whole log; exports, reports and backups print number and hash of the last event, with which a rewritten or
cut log can be compared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from sqlalchemy import Row, Select, and_, select
from sqlmodel import Session

from triptych.annotate.logged import LoggedAnnotation, LoggedHighlight, LoggedRating, LoggedSetAside
from triptych.rubric.answers import LETTERS
from triptych.rubric.files import (
    text_hash,
)
from triptych.stats.numbers import counted
from triptych.storage import events
from triptych.storage.answers import ANSWER, select_answers
from triptych.storage.events import DEPARTURES, EventKind
from triptych.storage.models import (
    IN_PLACE,
    Assignment,
    AssignmentState,
    Candidate,
    EntryAttempt,
    Event,
    EventDetail,
    Highlight,
    Item,
    Kind,
    Membership,
    Person,
    Rating,
    Role,
    RubricText,
    Slot,
    Study,
    TestAnswer,
    Turn,
)
from triptych.study import contents

BATCH = 300
FACTS = {
    "version": "its version",
    "set_aside": "what was set aside",
    "note": "its note",
    "reason": "its reason",
    "seconds": "the time it took",
    "at": "the time it was submitted",
}
MAX_DIFFERENCES = 1000
# events whose values are an annotation, or set one aside
ANSWERED = (
    EventKind.submitted,
    EventKind.surplus,
    EventKind.imported,
    EventKind.annotation_edited,
    EventKind.final_value_recorded,
    EventKind.final_value_changed,
)
SET_ASIDE = (EventKind.skipped, EventKind.ignored)
TESTED: dict[str, bool | None] = {
    EventKind.entry_test_started: None,
    EventKind.entry_test_passed: True,
    EventKind.entry_test_failed: False,
}
# events about a person after which states, or values, of their annotations are no longer those of their submissions
RESETTLED = (EventKind.annotator_excluded, EventKind.annotator_reinstated, EventKind.withdrew)
Rows = dict[int, list[Any]]
Said = tuple[dict[str, Any], int]  # an event's new values and its number


@dataclass(frozen=True)
class Verdict:
    """One study: broken is the first event that does not hold, differences the rows that differ from the log.

    erased: annotations whose values the log no longer has, because their annotator withdrew or was erased.
    """

    slug: str
    events: int
    hash: str
    broken: str | None
    differences: tuple[str, ...] = ()
    erased: int = 0

    @property
    def holds(self) -> bool:
        return self.broken is None and not self.differences

    @property
    def sentence(self) -> str:
        if self.broken is not None:
            return self.broken
        if self.differences:
            more = len(self.differences) - 1
            count = f"At least {more}" if len(self.differences) == MAX_DIFFERENCES else str(more)
            return self.differences[0] + (f" {count} more differ." if more else "")
        gone = f" Values erased with their annotator: {counted(self.erased, 'annotation')}." if self.erased else ""
        events = counted(self.events, "event")
        return f"The log of {events} holds, and every row is as it says; last hash {self.hash[:12]}.{gone}"


@dataclass
class _Log:
    """What the log says about people: joined, excluded with the reason, the last event of each kind;
    and about the design.

    consented: what the last consent of each said. tested: the same of each attempt at the entry test, by its number.
    design: the hashes that launch or the last amendment logged, and the number of that event; None for a draft.
    """

    design: Said | None = None
    leads: set[str] = field(default_factory=set)
    joined: dict[str, int] = field(default_factory=dict)
    excluded: dict[str, str | None] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    consented: dict[str, Said] = field(default_factory=dict)
    tested: dict[tuple[str, int], Said] = field(default_factory=dict)
    numbers: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    imported: bool = False

    def last(self, pseudonym: str, kinds: Sequence[str]) -> int:
        """Number of the last such event about the person, 0 if there is none."""
        return max((self.numbers[pseudonym].get(kind, 0) for kind in kinds), default=0)


@dataclass
class _Work:
    """An assignment as the log has it; `values` None: nothing was submitted, or it was erased. kind: of the event."""

    values: LoggedAnnotation | None = None
    kind: str = ""
    number: int = 0
    place: dict[str, Any] | None = None
    erased: bool = False


def verify(session: Session, study: Study) -> Verdict:
    """Checks the chain, and if it holds replays it; the first `MOST` rows that differ are named, in the log's order."""
    broken = events.first_broken(session, study.id)
    head = study.slug, study.event_number, study.event_hash, broken
    if broken is not None:
        return Verdict(*head)
    erased: list[int] = []
    differences = tuple(islice(_differences(session, study, erased), MAX_DIFFERENCES))
    return Verdict(*head, differences, len(erased))


def _differences(session: Session, study: Study, erased: list[int]) -> Iterator[str]:
    log = _read(session, study)
    yield from _lost(session, study)
    yield from _of_people(session, study, log)
    yield from _of_tests(session, study, log)
    yield from _of_leads(session, study, log)
    yield from _of_work(session, study, log, erased)
    yield from _of_texts(session, study)
    yield from _of_design(session, study, log)


def _lost(session: Session, study: Study) -> Iterator[str]:
    """Assignments that the log names and that are gone."""
    query = (
        select(Event.assignment_id, Event.number)
        .outerjoin(Assignment, Assignment.id == Event.assignment_id)
        .where(Event.study_id == study.id, Event.assignment_id.is_not(None), Assignment.id.is_(None))
        .order_by(Event.number)
    )
    for number, event in session.execute(query):
        yield f"Annotation {number} is gone, the log has it (event {event})."


def _read(session: Session, study: Study) -> _Log:
    log = _Log()
    query = (
        select(Event.number, Event.kind, Event.actor, Event.subject, EventDetail.new)
        .outerjoin(EventDetail, EventDetail.event_id == Event.id)
        .where(Event.study_id == study.id, Event.assignment_id.is_(None))
        .order_by(Event.number)
    )
    for number, kind, actor, subject, new in session.execute(query):
        new = new or {}
        log.numbers[subject][kind] = number
        if kind == EventKind.design_amended or (kind == EventKind.study_open and log.design is None):
            log.design = new, number
        if kind in (EventKind.study_created, EventKind.lead_added, EventKind.lead_removed):
            change = log.leads.discard if kind == EventKind.lead_removed else log.leads.add
            change(actor if kind == EventKind.study_created else subject)
        _read_membership(log, number, kind, subject, new)
    return log


def _read_membership(log: _Log, number: int, kind: str, subject: str, new: dict[str, Any]) -> None:
    """What an event says about annotators."""
    if kind == EventKind.ratings_imported:
        # older versions did not log who their file excluded or added
        log.imported = "excluded" not in new or "joined" not in new
        log.excluded |= dict.fromkeys(new.get("excluded", ()))
        log.joined |= dict.fromkeys(new.get("joined", ()), number)
    if kind == EventKind.joined:
        log.joined.setdefault(subject, number)
    if kind == EventKind.annotator_excluded:
        log.excluded[subject] = new.get("reason")
    if kind == EventKind.annotator_reinstated:
        log.excluded.pop(subject, None)
    if kind in (EventKind.annotator_excluded, EventKind.annotator_reinstated):
        log.asked.add(subject)
    if kind == EventKind.consented:
        log.consented[subject] = new, number
    if kind in TESTED and new:
        log.tested[subject, new["attempt"]] = {**new, "passed": TESTED[kind]}, number


def _of_people(session: Session, study: Study, log: _Log) -> Iterator[str]:
    members = {member.pseudonym: member for member in _members(session, study, Role.annotator)}
    for pseudonym, number in log.joined.items():
        if pseudonym not in members and not log.last(pseudonym, DEPARTURES):
            yield f"{pseudonym} is no annotator of the study, the log says they joined (event {number})."
    for pseudonym in log.excluded:
        if pseudonym not in members and pseudonym not in log.joined:
            yield f"{pseudonym} is no annotator of the study, the log says they were excluded."
    for pseudonym, member in members.items():
        # the simulated annotators of a demo study never joined
        if pseudonym not in log.joined and not log.imported and not (study.demo and member.kind == Kind.simulated):
            yield f"{pseudonym} is an annotator of the study, the log does not say that they joined."
        if (member.withdrawn_at is not None) != bool(log.last(pseudonym, [EventKind.withdrew])):
            yield f"{pseudonym} has {'' if member.withdrawn_at else 'not '}withdrawn, the log says otherwise."
        yield from _of_exclusion(member, log)
        yield from _of_consent(member, log)


def _of_exclusion(member: Row[Any], log: _Log) -> Iterator[str]:
    pseudonym, at, reason = member.pseudonym, member.excluded_at, member.excluded_reason
    recorded = log.excluded.get(pseudonym)
    if (at is not None) != (pseudonym in log.excluded):
        if not log.imported or pseudonym in log.asked:
            yield f"{pseudonym} is {'' if at else 'not '}excluded, the log says otherwise."
    elif at is not None and recorded is not None and reason != recorded:
        yield f"{pseudonym} is excluded because of {reason!r}, the log says {recorded!r}."


def _of_consent(member: Row[Any], log: _Log) -> Iterator[str]:
    """To which text the person agreed, and when; older versions did not log the time."""
    recorded, number = log.consented.get(member.pseudonym, ({}, 0))
    at = member.consented_at.isoformat() if member.consented_at else None
    if not number and (member.consent_version or at):
        yield f"{member.pseudonym} has agreed to the consent text, the log does not say so."
    elif number and not recorded and not log.last(member.pseudonym, DEPARTURES):
        yield f"To what {member.pseudonym} agreed is gone from the log (event {number})."
    elif recorded and (recorded["version"], recorded.get("at", at)) != (member.consent_version, at):
        yield f"{member.pseudonym} agreed to another text, or at another time, than the log says (event {number})."


def _of_tests(session: Session, study: Study, log: _Log) -> Iterator[str]:
    """Attempts at the entry test. Of somebody who has left the log holds none any more."""
    condition = Membership.study_id == study.id
    columns = (EntryAttempt.id, EntryAttempt.number, EntryAttempt.asked, EntryAttempt.right, EntryAttempt.passed)
    tried = select(Person.pseudonym, *columns).select_from(Person)
    tried = tried.join(Membership, Membership.person_id == Person.id).where(condition)
    tried = tried.join(EntryAttempt, EntryAttempt.membership_id == Membership.id)
    given_answers = select(TestAnswer.attempt_id, TestAnswer.question, TestAnswer.option).join(EntryAttempt)
    answers = _grouped(
        session, given_answers.join(Membership, Membership.id == EntryAttempt.membership_id).where(condition)
    )
    stored = {
        (row.pseudonym, row.number): {
            "asked": row.asked,
            "right": row.right,
            "passed": row.passed,
            "answers": dict(answers[row.id]),
        }
        for row in session.execute(tried)
    }
    for pseudonym, attempt in sorted(stored.keys() | log.tested.keys()):
        here = stored.get((pseudonym, attempt), {})
        recorded, number = log.tested.get((pseudonym, attempt), ({}, 0))
        same = here and recorded and all(recorded.get(name, value) == value for name, value in here.items())
        if not same and not log.last(pseudonym, DEPARTURES):
            where = f"event {number}" if number else "which has nothing"
            yield f"Attempt {attempt} of {pseudonym} at the entry test is not the one in the log ({where})."


def _of_leads(session: Session, study: Study, log: _Log) -> Iterator[str]:
    """A lead with no event that added them; a missing lead is no error: a capsule leaves leads out."""
    for member in _members(session, study, Role.lead):
        if member.pseudonym not in log.leads:
            yield f"{member.pseudonym} is a lead of the study, the log does not say who added them."


def _members(session: Session, study: Study, role: Role) -> Sequence[Row[Any]]:
    exclusion = Membership.excluded_at, Membership.excluded_reason, Membership.withdrawn_at
    agreement = Membership.consent_version, Membership.consented_at
    query = select(Person.pseudonym, Person.kind, *exclusion, *agreement)
    query = query.join(Person, Person.id == Membership.person_id).where(Membership.study_id == study.id)
    return session.execute(query.where(Membership.role == role).order_by(Membership.id)).all()


def _of_work(session: Session, study: Study, log: _Log, erased: list[int]) -> Iterator[str]:
    query = (
        select(Assignment, Item.external_id, Person.pseudonym)
        .join(Item, Item.id == Assignment.item_id)
        .join(Person, Person.id == Assignment.person_id)
        .where(Assignment.study_id == study.id)
        .order_by(Assignment.id)
    )
    ids = list(session.scalars(select(Assignment.id).where(Assignment.study_id == study.id).order_by(Assignment.id)))
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        replayed = _replayed(session, batch)
        stored = _Stored(session, batch)
        for assignment, item, pseudonym in session.execute(query.where(Assignment.id.in_(batch))):
            work = replayed[assignment.id]
            where = f"Annotation {assignment.id} ({item}, {pseudonym})"
            if work.erased:
                erased.append(assignment.id)
            for difference in _compared(assignment, work, stored, log, pseudonym):
                yield f"{where}: {difference}"


def _replayed(session: Session, batch: Sequence[int]) -> dict[int, _Work]:
    """Each assignment as its last events have it."""
    replayed: dict[int, _Work] = defaultdict(_Work)
    query = (
        select(Event.assignment_id, Event.number, Event.kind, EventDetail.new)
        .outerjoin(EventDetail, EventDetail.event_id == Event.id)
        .where(Event.assignment_id.in_(batch))
        .order_by(Event.number)
    )
    for assignment_id, number, kind, new in session.execute(query):
        work, new = replayed[assignment_id], new or {}
        if "order" in new:
            work.place = new
        if kind == EventKind.final_value_asked_for:
            work.values, work.number, work.erased = None, number, False
        elif "ratings" in new:
            work.values, work.number, work.erased = LoggedAnnotation.from_json(new), number, False
        elif kind in SET_ASIDE and new:
            work.values, work.kind = LoggedAnnotation.from_json({"set_aside": [], **new}), kind
            work.number, work.erased = number, False
        elif kind in (*ANSWERED, *SET_ASIDE):
            work.values, work.number, work.erased = None, number, True
    return replayed


class _Stored:
    """What the tables hold about a batch of assignments."""

    def __init__(self, session: Session, batch: Sequence[int]) -> None:
        ratings = select_answers(Rating.assignment_id, *ANSWER).where(Rating.assignment_id.in_(batch))
        self.ratings = _grouped(session, ratings)
        self.spans = _grouped(session, _spans(batch))
        slots = select(Slot.assignment_id, Slot.position, Slot.candidate_id, Slot.set_aside)
        self.slots = _grouped(session, slots.where(Slot.assignment_id.in_(batch)).order_by(Slot.position))


def _spans(batch: Sequence[int]) -> Select[Any]:
    names = ("assignment_id", "position", "turn", "start", "end", "label", "comment", "quote")
    at_slot = and_(Slot.assignment_id == Highlight.assignment_id, Slot.position == Highlight.position)
    return (
        select(*(getattr(Highlight, name) for name in names), Candidate.text, Candidate.turns)
        .join(Slot, at_slot)
        .join(Candidate, Candidate.id == Slot.candidate_id)
        .where(Highlight.assignment_id.in_(batch))
        .order_by(Highlight.id)
    )


def _grouped(session: Session, query: Select[*tuple[Any, ...]]) -> Rows:
    """Rows by their first column, without it."""
    groups: Rows = defaultdict(list)
    for first, *row in session.execute(query):
        groups[first].append(row)
    return groups


def _compared(assignment: Assignment, work: _Work, stored: _Stored, log: _Log, pseudonym: str) -> Iterator[str]:
    ratings, spans, slots = (rows[assignment.id] for rows in (stored.ratings, stored.spans, stored.slots))
    if work.place is not None:
        yield from _of_place(assignment, work.place, [candidate for _, candidate, _ in slots])
    yield from _of_quotes(spans)
    if work.erased:
        if log.last(pseudonym, DEPARTURES) < work.number:
            yield f"the values of event {work.number} are gone from the log, and nobody withdrew or was erased since."
        return
    if log.last(pseudonym, DEPARTURES) > work.number and assignment.state == AssignmentState.withdrawn and not ratings:
        return  # never submitted, or gone with its annotator
    values = work.values or LoggedAnnotation()
    aside = tuple(LoggedSetAside(place, reason) for place, _, reason in slots if reason is not None)
    yield from _of_ratings([LoggedRating(*row) for row in ratings], values.ratings, work.number)
    yield from _of_spans([LoggedHighlight(*row[:6]) for row in spans], values.highlights, work.number)
    yield from _of_facts(assignment, aside, values, work.number)
    if work.values is not None:
        yield from _of_state(assignment, work, log.last(pseudonym, RESETTLED) > work.number)


def _of_state(assignment: Assignment, work: _Work, resettled: bool) -> Iterator[str]:
    """What fills a place becomes surplus when the place goes to somebody else; no other state changes by itself."""
    logged = work.values.state if work.values else None
    state = logged or work.kind  # older versions did not log whether a place was left for an ignored item
    may_be_surplus = state in IN_PLACE and (resettled or logged is None)
    if assignment.state != state and not (may_be_surplus and assignment.state == AssignmentState.surplus):
        yield f"its state is {assignment.state}, {_log_says(state, work.number)}"


def _log_says(what: str, number: int) -> str:
    return f"the log says {what} (event {number})." if number else "the log has nothing."


def _of_place(assignment: Assignment, recorded: dict[str, Any], candidates: list[int]) -> Iterator[str]:
    """Which item was given out, and in which order its candidates stood."""
    if recorded["item"] != assignment.item_id or recorded.get("purpose", assignment.purpose) != assignment.purpose:
        yield "it is about another item, or for another purpose, than the log says."
    if list(recorded["order"]) != candidates:
        yield "the responses stand in another order than the log says."


def _of_ratings(stored: Sequence[LoggedRating], logged: Sequence[LoggedRating], number: int) -> Iterator[str]:
    in_tables, in_log = ({(rating.position, rating.criterion): rating for rating in side} for side in (stored, logged))
    for place in sorted(in_tables.keys() | in_log.keys(), key=lambda p: (p[1], -1 if p[0] is None else p[0])):
        here, there = in_tables.get(place), in_log.get(place)
        name = f"{place[1]} of {_named(place[0])}"
        if here is None or there is None or _value(here) != _value(there):
            yield f"{name} is {_spoken(here)}, {_log_says(_spoken(there), number)}"
        elif (list(here.reasons or ()), here.text or "") != (there.reasons, there.text):
            yield f"the explanation of {name} is not the one that was given (event {number})."


def _value(rating: LoggedRating) -> tuple[float | None, str | None, bool]:
    return rating.number, rating.option, bool(rating.missing)


def _spoken(rating: LoggedRating | None) -> str:
    if rating is None:
        return "not there"
    if rating.missing and rating.option is None:
        return "missing"
    return f"{rating.option}" if rating.number is None else f"{rating.number:g}"


def _named(position: int | None) -> str:
    return "the item" if position is None else f"Response {LETTERS[position]}"


def _of_spans(stored: Sequence[LoggedHighlight], logged: Sequence[LoggedHighlight], number: int) -> Iterator[str]:
    here, there = Counter(stored), Counter(logged)
    for span in here - there:
        yield f"a highlight of {_named(span.position)}, {span.start} to {span.end}, {_log_says('otherwise', number)}"
    for span in there - here:
        yield f"a highlight of {_named(span.position)}, {span.start} to {span.end}, is gone (event {number})."


def _of_quotes(spans: list[Any]) -> Iterator[str]:
    """A highlight says what stands in its text; an imported quote that is not in the text has no place."""
    for position, turn, start, end, _, _, quote, text, turns in spans:
        if start is None:
            continue
        whole = (text or "") if turn is None else turns[turn][1]
        if whole[start:end] != quote:
            yield f"a highlight of {_named(position)}, {start} to {end}, quotes other words than its text has."


def _of_facts(
    assignment: Assignment, aside: tuple[LoggedSetAside, ...], logged: LoggedAnnotation, number: int
) -> Iterator[str]:
    """What an event tells besides; events of older versions tell less."""
    here = {
        "version": assignment.version - 1,
        "set_aside": aside,
        "note": assignment.note,
        "reason": assignment.reason,
        "seconds": assignment.active_seconds,
        "at": assignment.submitted_at.isoformat() if assignment.submitted_at else None,
    }
    for name, value in here.items():
        if name in logged.model_fields_set and getattr(logged, name) != value:
            yield f"{FACTS[name]} is not as it was given (event {number})."


def _of_texts(session: Session, study: Study) -> Iterator[str]:
    """Items whose context, further texts or candidates are not those imported."""
    ids = list(session.scalars(select(Item.id).where(Item.study_id == study.id).order_by(Item.id)))
    named = Item.id, Item.external_id, Item.context, Item.extra_texts, Item.sha256
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        turns = select(Turn.item_id, Turn.speaker, Turn.text).where(Turn.item_id.in_(batch)).order_by(Turn.position)
        responses = select(Candidate.item_id, Candidate.text, Candidate.turns, Candidate.sha256)
        spoken = _grouped(session, turns)
        candidates = _grouped(session, responses.where(Candidate.item_id.in_(batch)).order_by(Candidate.id))
        for item_id, name, context, extra, sha256 in session.execute(
            select(*named).where(Item.id.in_(batch)).order_by(Item.id)
        ):
            yield from _of_item(name, context, spoken[item_id], extra, candidates[item_id], sha256)


def _of_item(
    name: str, context: str, turns: list[Any], extra: dict[str, str], candidates: list[Any], sha256: str
) -> Iterator[str]:
    changed = [digest for text, spoken, digest in candidates if contents.content_hash([text, spoken]) != digest]
    for _ in changed:
        yield f"A response of item {name} is not the text that was imported."
    responses = [[text, spoken] for text, spoken, _ in candidates]
    contexts = [None] if turns else [context] if context else ["", None]
    if not changed and all(contents.content_hash([content, turns, extra, responses]) != sha256 for content in contexts):
        yield f"Item {name} is not what was imported: its context, a further text or its responses were changed."


def _of_design(session: Session, study: Study, log: _Log) -> Iterator[str]:
    """The rubric's text, and all that launch or the last amendment hashed."""
    rubric = session.get_one(RubricText, study.rubric_id)
    if text_hash(rubric.yaml) != rubric.sha256:
        yield "The rubric is not the text that was loaded."
    if log.design is None:
        return
    recorded, number = log.design
    if "design_hash" not in recorded:
        yield f"The hash of the design is gone from the log (event {number})."
    elif study.design_hash != recorded["design_hash"]:
        yield f"The study names another hash of its design than the log (event {number})."
    elif not log.imported and contents.design_hash(session, study) != recorded["design_hash"]:
        yield f"Settings, items, accepted answers or plan are not those that were frozen (event {number})."
    if "systems_hash" in recorded and contents.systems_hash(session, study) != recorded["systems_hash"]:
        yield f"Which system wrote which response is not what was frozen (event {number})."

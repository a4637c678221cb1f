"""The data stored about one person, for that person: a JSON document, or the ratings as CSV.

It is as blind as the workbench: items are numbered in the person's own order and responses have letters; it contains no
systems and no ids from files.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, false, func, select
from sqlmodel import Session

from triptych.annotate.answer_rows import highlight_rows
from triptych.annotate.logged import LoggedAnnotation
from triptych.annotate.outcomes import answered_again, as_given
from triptych.formats.long_csv import Cell, write_csv
from triptych.people import roster, tokens
from triptych.people.panels import panels_of
from triptych.privacy import withdrawal
from triptych.rubric.answers import letter
from triptych.storage.answers import select_answers
from triptych.storage.models import (
    BEFORE_WORK,
    Access,
    Assignment,
    AssignmentState,
    Comment,
    EntryAttempt,
    Explanation,
    Highlight,
    JsonObject,
    Membership,
    Option,
    PanelIdentity,
    Person,
    Rating,
    Role,
    Slot,
    StoredCriterion,
    Study,
    TestAnswer,
)
from triptych.study.persons import Who
from triptych.study.settings import settings_of

BATCH = 20  # annotations read at a time: the work of one person may have hundreds of megabytes
HEADER = ("study", "item", "purpose", "state", "submitted_at", "response", "criterion", "value", "reasons", "text")


def about(session: Session, person_id: int, study: Study | None = None) -> JsonObject:
    """Everything stored about the person; with `study`, only that study's part, for its leads, and with their reason
    for an exclusion. Times are UTC in ISO 8601. The annotations of a study are read as they are iterated.
    """
    person = session.get_one(Person, person_id)
    parts = select(Membership, Study).join(Study, Study.id == Membership.study_id)
    parts = parts.where(Membership.person_id == person_id).order_by(Membership.joined_at, Membership.id)
    if study is not None:
        parts = parts.where(Membership.study_id == study.id)
    studies = session.execute(parts).all()
    named = study is None or any(roster.is_named(study, membership) for membership, _ in studies)
    return {
        "pseudonym": person.pseudonym,
        "name": person.name if named else None,
        "email": person.email if named else None,
        "role": person.role,
        "language": person.language,
        "since": _time(person.created_at),
        "has_a_passcode_or_return_code": person.passcode_hash is not None,
        "identity": person.identity if study is None else None,
        "panel_ids": _panel_ids(session, person_id, study) if named else [],
        "tokens": _tokens(session, person_id) if study is None else [],
        "studies": [_part(session, *part, for_lead=study is not None) for part in studies],
    }


def _panel_ids(session: Session, person_id: int, study: Study | None) -> list[JsonObject]:
    """The person's ids on panels, or on one study's panel."""
    ids = select(PanelIdentity).where(PanelIdentity.person_id == person_id)
    if study is not None:
        panels = panels_of(study, settings_of(study).panel.name)
        ids = ids.where(PanelIdentity.panel.in_(panels) if study.access == Access.panel else false())
    return [
        {"panel": own.panel.partition("\n")[0], "id": own.external_id, "session": own.session_id}
        for own in session.scalars(ids)
    ]


def _tokens(session: Session, person_id: int) -> list[JsonObject]:
    return [
        {
            "name": token.name,
            "scopes": tokens.scopes_of(token),
            "made_at": _time(token.created_at),
            "expires_at": _time(token.expires_at),
            "used_at": _time(token.used_at),
        }
        for token, _title in tokens.of_person(session, person_id)
    ]


def of_member(session: Session, study: Study, pseudonym: str) -> JsonObject:
    """The data that a lead may give to an annotator of the study. Raises NotFound."""
    return about(session, withdrawal.annotator(session, study, pseudonym).person_id, study)


def as_json(data: JsonObject) -> Iterator[bytes]:
    """The result of `about`, an annotation per line."""
    yield _begun(data, "studies")
    for number, part in enumerate(data["studies"]):
        yield (b",\n" if number else b"\n") + _begun(part, "annotations")
        for place, annotation in enumerate(part["annotations"]):
            yield (b",\n" if place else b"\n") + json.dumps(annotation, ensure_ascii=False).encode()
        yield b"]}"
    yield b"]}\n"


def _begun(data: JsonObject, last: str) -> bytes:
    """The beginning of this object, up to the first entry of its last part, a list."""
    facts = {name: value for name, value in data.items() if name != last}
    return f'{json.dumps(facts, ensure_ascii=False)[:-1]}, "{last}": ['.encode()


def as_csv(data: JsonObject) -> Iterator[bytes]:
    """The ratings in the result of `about`, one per row."""
    yield BOM_UTF8
    yield from (line.encode() for line in write_csv(_rows(data), HEADER))


def _rows(data: JsonObject) -> Iterator[Sequence[Cell]]:
    for study in data["studies"]:
        for work in study["annotations"]:
            facts = (study["title"], work["item"], work["purpose"], work["state"], work["submitted_at"])
            for rating in work["ratings"]:
                value = rating["response"], rating["criterion"], rating["value"]
                yield (*facts, *value, ", ".join(rating["reasons"]), rating["text"])


def _part(session: Session, membership: Membership, study: Study, *, for_lead: bool) -> JsonObject:
    times = ("joined_at", "consented_at", "instructions_read_at", "turned_away_at", "withdrawn_at", "excluded_at")
    facts = {name: _time(getattr(membership, name)) for name in times}
    annotator = membership.role == Role.annotator
    return {
        "title": study.title,
        "role": membership.role,
        **facts,
        "consent_version": membership.consent_version,
        "instructions_version": membership.instructions_version,
        "turned_away_as": membership.turned_away_as,
        # written for the log and reports; it may name systems, other people or checks
        **({"excluded_reason": membership.excluded_reason} if for_lead else {}),
        "entry_test": _attempts(session, membership),
        "annotations": _annotations(session, study, membership.person_id) if annotator else [],
    }


def _attempts(session: Session, membership: Membership) -> list[JsonObject]:
    answers: dict[int, dict[str, str]] = defaultdict(dict)
    of_member = select(TestAnswer).join(EntryAttempt).where(EntryAttempt.membership_id == membership.id)
    for answer in session.scalars(of_member):
        answers[answer.attempt_id][answer.question] = answer.option
    tries = select(EntryAttempt).where(EntryAttempt.membership_id == membership.id).order_by(EntryAttempt.number)
    return [
        {"number": t.number, "started_at": _time(t.started_at), "passed": t.passed, "answers": answers[t.id]}
        for t in session.scalars(tries)
    ]


def _annotations(session: Session, study: Study, person_id: int) -> Iterator[JsonObject]:
    """The person's work in a study, read in batches."""
    own_work = (Assignment.study_id == study.id) & (Assignment.person_id == person_id)
    ids = session.scalars(select(Assignment.id).where(own_work).order_by(Assignment.reserved_at, Assignment.id)).all()
    for begin in range(0, len(ids), BATCH):
        batch = ids[begin : begin + BATCH]
        yield from _batch(session, study, own_work & Assignment.id.in_(batch), begin + 1)


def _batch(session: Session, study: Study, own_work: ColumnElement[bool], first_number: int) -> Iterator[JsonObject]:
    """These annotations, numbered from this number on."""
    readers = (_ratings, _highlights, _set_aside, _comments)
    ratings, highlights, aside, comments = (read(session, own_work) for read in readers)
    work = session.scalars(select(Assignment).where(own_work).order_by(Assignment.reserved_at, Assignment.id)).all()
    again = last_answers(session, study, [assignment.id for assignment in work])
    for number, assignment in enumerate(work, first_number):
        annotation: JsonObject = {
            "item": number,
            # checks look like any other item here, too
            "purpose": assignment.purpose if assignment.purpose in BEFORE_WORK else "main",
            "state": as_given(assignment.state, assignment.reason),
            "given_out_at": _time(assignment.reserved_at),
            "submitted_at": _time(assignment.submitted_at),
            "active_seconds": round(assignment.active_seconds, 1),
            "arrangement": assignment.arrangement,
            "language": assignment.language,
            "reason": assignment.reason,
            "note": assignment.note,
            "draft": assignment.draft,
            "responses_set_aside": aside[assignment.id],
            "ratings": ratings[assignment.id],
            "highlights": highlights[assignment.id],
            "comments": comments[assignment.id],
            **again.get(assignment.id, {}),
        }
        if annotation["state"] in (AssignmentState.skipped, AssignmentState.ignored):
            annotation["arrangement"] = None  # it describes an earlier answer
        yield annotation


def last_answers(session: Session, study: Study, assignment_ids: Sequence[int]) -> dict[int, JsonObject]:
    """Assignment → the last answer, for those of these assignments that are checks and were answered again."""
    titles = _titles(session, study)
    later = answered_again(session, assignment_ids)
    return {number: _again(session, number, new, titles) for number, new in later.items()}


def _titles(session: Session, study: Study) -> dict[tuple[str, str | None], str]:
    """(criterion, option or None) → title."""
    query = select(StoredCriterion, Option).outerjoin(Option).where(StoredCriterion.study_id == study.id)
    titles: dict[tuple[str, str | None], str] = {}
    for criterion, option in session.execute(query):
        titles[criterion.key, None] = criterion.title
        if option is not None:
            titles[criterion.key, option.key] = option.title
    return titles


def _again(
    session: Session, assignment_id: int, new: JsonObject, titles: dict[tuple[str, str | None], str]
) -> JsonObject:
    """The last answer to a check, of which the study uses the first, in the form of any other item's answer."""
    logged = LoggedAnnotation(**new)
    marks = highlight_rows(session, assignment_id, [(mark.position, mark) for mark in logged.highlights])
    return {
        "state": logged.state,
        "submitted_at": logged.at,
        "active_seconds": round(logged.seconds, 1),
        "arrangement": logged.arrangement,
        "reason": logged.reason,
        "note": logged.note,
        "responses_set_aside": {_letter(position): reason for position, reason in logged.set_aside},
        "ratings": [
            {
                "response": _letter(rating.position),
                "criterion": titles[rating.criterion, None],
                "value": titles[rating.criterion, rating.option] if rating.option else rating.number,
                "reasons": list(rating.reasons),
                "text": rating.text,
            }
            for rating in logged.ratings
        ],
        "highlights": [_facts_of(mark) for mark in marks],
    }


def _ratings(session: Session, own_work: ColumnElement[bool]) -> dict[int, list[JsonObject]]:
    query = (
        select_answers(
            Rating, StoredCriterion.title, Option.title.label("option"), Explanation.reasons, Explanation.text
        )
        .where(own_work)
        .order_by(Rating.assignment_id, StoredCriterion.position, Rating.position)
    )
    ratings: dict[int, list[JsonObject]] = defaultdict(list)
    for rating, criterion, option, reasons, text in session.execute(query):
        value = option if rating.number is None else rating.number
        facts = {"criterion": criterion, "value": value, "reasons": reasons or [], "text": text or ""}
        ratings[rating.assignment_id].append({"response": _letter(rating.position), **facts})
    return ratings


def _highlights(session: Session, own_work: ColumnElement[bool]) -> dict[int, list[JsonObject]]:
    query = select(*Highlight.__table__.columns).join(Assignment, Assignment.id == Highlight.assignment_id)
    highlights: dict[int, list[JsonObject]] = defaultdict(list)
    for mark in session.execute(query.where(own_work).order_by(Highlight.id)).mappings():
        highlights[mark["assignment_id"]].append(_facts_of({**mark}))
    return highlights


def _facts_of(mark: JsonObject) -> JsonObject:
    """The values of a highlight that a person gets."""
    place = {"in": "context" if mark["position"] is None else "response", "response": _letter(mark["position"])}
    return place | {name: mark[name] for name in ("label", "quote", "comment", "unit")}


def _comments(session: Session, own_work: ColumnElement[bool]) -> dict[int, list[JsonObject]]:
    query = (
        select(Comment, Comment.author == Person.pseudonym)
        .join(Assignment, Assignment.id == Comment.assignment_id)
        .join(Person, Person.id == Assignment.person_id)
        .where(own_work)
    )
    comments: dict[int, list[JsonObject]] = defaultdict(list)
    for comment, own in session.execute(query.order_by(Comment.id)):
        facts = {"from": "annotator" if own else "lead", "at": _time(comment.at), "text": comment.text}
        comments[comment.assignment_id].append(facts)
    return comments


def _set_aside(session: Session, own_work: ColumnElement[bool]) -> dict[int, dict[str, str]]:
    query = (
        select(Slot).join(Assignment, Assignment.id == Slot.assignment_id).where(own_work, Slot.set_aside.is_not(None))
    )
    reasons: dict[int, dict[str, str]] = defaultdict(dict)
    for slot in session.scalars(query):
        reasons[slot.assignment_id][_letter(slot.position)] = slot.set_aside or ""
    return reasons


def _letter(position: int | None) -> str:
    return "" if position is None else letter(position)


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


@dataclass(frozen=True)
class Part:
    """An annotator's part in one study; `promised`: what happens to the ratings on withdrawal."""

    study: Study
    membership: Membership
    annotations: int
    highlights: int
    explanations: int
    promised: str


def parts_of(session: Session, who: Who) -> list[Part]:
    """All studies in which the person annotates, newest first."""
    query = select(Membership, Study).join(Study, Study.id == Membership.study_id)
    query = query.where(Membership.person_id == who.person_id, Membership.role == Role.annotator)
    rows = session.execute(query.order_by(Membership.joined_at.desc(), Membership.id.desc()))
    return [_in_short(session, who, membership, study) for membership, study in rows]


def _in_short(session: Session, who: Who, membership: Membership, study: Study) -> Part:
    own_work = (Assignment.study_id == study.id) & (Assignment.person_id == who.person_id)
    texts = func.count(func.nullif(Explanation.text, ""))
    rated = select_answers(Rating.assignment_id, texts).where(own_work).group_by(Rating.assignment_id)
    explained: dict[int, int] = dict(session.execute(rated).all())
    marks = select(Highlight.assignment_id, func.count()).join(Assignment, Assignment.id == Highlight.assignment_id)
    marked: dict[int, int] = dict(session.execute(marks.where(own_work).group_by(Highlight.assignment_id)).all())
    own = session.scalars(select(Assignment.id).where(own_work)).all()
    for number, new in answered_again(session, own).items():
        logged = LoggedAnnotation(**new)
        marked[number] = len(logged.highlights)
        explained.pop(number, None)
        if logged.ratings:
            explained[number] = sum(bool(rating.text) for rating in logged.ratings)
    promised = withdrawal.what_was_promised(session, study, membership, who.pseudonym)
    return Part(study, membership, len(explained), sum(marked.values()), sum(explained.values()), promised)

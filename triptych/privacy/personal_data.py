"""What is stored about one person, for that person: as one JSON document, or the ratings as CSV.

Blind as her screen was: items carry numbers in her own order, responses their letters; no system, no id of a file.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlmodel import Session

from triptych.errors import NotFound
from triptych.formats.long_csv import Cell, write_csv
from triptych.privacy import withdrawal
from triptych.rubric.answers import LETTERS
from triptych.storage.answers import select_answers
from triptych.storage.models import (
    Assignment,
    Criterion,
    EntryAttempt,
    Explanation,
    Highlight,
    Membership,
    Option,
    PanelIdentity,
    Person,
    Rating,
    Role,
    Slot,
    Study,
    TestAnswer,
)
from triptych.study.persons import Who

HEADER = ("study", "item", "purpose", "state", "submitted_at", "response", "criterion", "value", "reasons", "text")


def about(session: Session, person_id: int, study: Study | None = None) -> dict[str, Any]:
    """Everything stored about the person, or what belongs to one study. Times are UTC, in ISO 8601."""
    person = session.get_one(Person, person_id)
    parts = select(Membership, Study).join(Study, Study.id == Membership.study_id)
    parts = parts.where(Membership.person_id == person_id).order_by(Membership.joined_at, Membership.id)
    if study is not None:
        parts = parts.where(Membership.study_id == study.id)
    return {
        "pseudonym": person.pseudonym,
        "name": person.name,
        "email": person.email,
        "role": person.role,
        "since": _time(person.created_at),
        "has_a_passcode_or_return_code": person.passcode_hash is not None,
        "panel_ids": [
            {"panel": one.panel, "id": one.external_id, "session": one.session_id}
            for one in session.scalars(select(PanelIdentity).where(PanelIdentity.person_id == person_id))
        ],
        "studies": [_part(session, membership, study) for membership, study in session.execute(parts)],
    }


def of_member(session: Session, study: Study, pseudonym: str) -> dict[str, Any]:
    """What a lead hands to an annotator of her study, on request. Raises NotFound."""
    members = select(Person.id).join(Membership, Membership.person_id == Person.id)
    members = members.where(Membership.study_id == study.id, Membership.role == Role.annotator)
    person_id = session.scalars(members.where(Person.pseudonym == pseudonym)).first()
    if person_id is None:
        raise NotFound(f"{pseudonym} is no annotator of this study.")
    return about(session, person_id, study)


def as_json(found: dict[str, Any]) -> bytes:
    return json.dumps(found, ensure_ascii=False, indent=2).encode()


def as_csv(found: dict[str, Any]) -> bytes:
    """The ratings of `found`, one per row."""
    return "".join(write_csv(_rows(found), HEADER)).encode("utf-8-sig")


def _rows(found: dict[str, Any]) -> Iterator[Sequence[Cell]]:
    for study in found["studies"]:
        for work in study["annotations"]:
            for one in work["ratings"]:
                facts = (study["title"], work["item"], work["purpose"], work["state"], work["submitted_at"])
                given = (one["response"], one["criterion"], one["value"], ", ".join(one["reasons"]), one["text"])
                yield (*facts, *given)


def _part(session: Session, membership: Membership, study: Study) -> dict[str, Any]:
    times = ("joined_at", "consented_at", "instructions_read_at", "turned_away_at", "withdrawn_at", "excluded_at")
    facts = {name: _time(getattr(membership, name)) for name in times}
    annotator = membership.role == Role.annotator
    return {
        "title": study.title,
        "role": membership.role,
        **facts,
        "consent_version": membership.consent_version,
        "turned_away_as": membership.turned_away_as,
        "excluded_reason": membership.excluded_reason,
        "entry_test": _attempts(session, membership),
        "annotations": _annotations(session, study, membership.person_id) if annotator else [],
    }


def _attempts(session: Session, membership: Membership) -> list[dict[str, Any]]:
    answers = defaultdict(dict)
    given = select(TestAnswer).join(EntryAttempt).where(EntryAttempt.membership_id == membership.id)
    for one in session.scalars(given):
        answers[one.attempt_id][one.question] = one.option
    tries = select(EntryAttempt).where(EntryAttempt.membership_id == membership.id).order_by(EntryAttempt.number)
    return [
        {"number": one.number, "started_at": _time(one.started_at), "passed": one.passed, "answers": answers[one.id]}
        for one in session.scalars(tries)
    ]


def _annotations(session: Session, study: Study, person_id: int) -> list[dict[str, Any]]:
    hers = (Assignment.study_id == study.id) & (Assignment.person_id == person_id)
    ratings, highlights, aside = _ratings(session, hers), _highlights(session, hers), _set_aside(session, hers)
    work = session.scalars(select(Assignment).where(hers).order_by(Assignment.reserved_at, Assignment.id))
    return [
        {
            "item": number,
            "purpose": _purpose(one.purpose),
            "state": one.state,
            "given_out_at": _time(one.reserved_at),
            "submitted_at": _time(one.submitted_at),
            "active_seconds": round(one.active_seconds, 1),
            "reason": one.reason,
            "note": one.note,
            "draft": one.draft,
            "responses_set_aside": aside[one.id],
            "ratings": ratings[one.id],
            "highlights": highlights[one.id],
        }
        for number, one in enumerate(work, 1)
    ]


def _purpose(purpose: str) -> str:
    """Checks among the items look like any other item, here too."""
    return purpose if purpose in ("training", "entry_test") else "main"


def _ratings(session: Session, hers: Any) -> dict[int, list[dict[str, Any]]]:
    wanted = (
        select_answers(Rating, Criterion.title, Option.title.label("option"), Explanation.reasons, Explanation.text)
        .where(hers)
        .order_by(Rating.assignment_id, Criterion.position, Rating.position)
    )
    found = defaultdict(list)
    for rating, criterion, option, reasons, text in session.execute(wanted):
        value = option if rating.number is None else rating.number
        given = {"criterion": criterion, "value": value, "reasons": reasons or [], "text": text or ""}
        found[rating.assignment_id].append({"response": _letter(rating.position), **given})
    return found


def _highlights(session: Session, hers: Any) -> dict[int, list[dict[str, Any]]]:
    wanted = select(Highlight).join(Assignment, Assignment.id == Highlight.assignment_id).where(hers)
    found = defaultdict(list)
    for one in session.scalars(wanted.order_by(Highlight.id)):
        facts = {"label": one.label, "quote": one.quote, "comment": one.comment}
        found[one.assignment_id].append({"response": _letter(one.position), **facts})
    return found


def _set_aside(session: Session, hers: Any) -> dict[int, dict[str, str]]:
    wanted = select(Slot).join(Assignment, Assignment.id == Slot.assignment_id).where(hers, Slot.set_aside.is_not(None))
    found = defaultdict(dict)
    for one in session.scalars(wanted):
        found[one.assignment_id][_letter(one.position)] = one.set_aside
    return found


def _letter(position: int | None) -> str:
    return "" if position is None else LETTERS[position]


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


@dataclass(frozen=True)
class Part:
    """An annotator's part in one study in short; `promised`: what becomes of her ratings if she withdraws."""

    study: Study
    joined_at: datetime
    consented_at: datetime | None
    withdrawn_at: datetime | None
    annotations: int
    highlights: int
    explanations: int
    promised: str


def parts_of(session: Session, who: Who) -> list[Part]:
    """Every study the person annotates in, newest first."""
    wanted = select(Membership, Study).join(Study, Study.id == Membership.study_id)
    wanted = wanted.where(Membership.person_id == who.person_id, Membership.role == Role.annotator)
    rows = session.execute(wanted.order_by(Membership.joined_at.desc(), Membership.id.desc()))
    return [_in_short(session, who, membership, study) for membership, study in rows]


def _in_short(session: Session, who: Who, membership: Membership, study: Study) -> Part:
    hers = (Assignment.study_id == study.id) & (Assignment.person_id == who.person_id)
    rated = select(Rating.assignment_id).join(Assignment, Assignment.id == Rating.assignment_id).where(hers)
    marked = select(Highlight.id).join(Assignment, Assignment.id == Highlight.assignment_id).where(hers)
    explained = select(Explanation.id).join(Rating, Rating.id == Explanation.rating_id).where(Explanation.text != "")
    explained = explained.join(Assignment, Assignment.id == Rating.assignment_id).where(hers)
    counts = (
        session.execute(select(func.count()).select_from(found.subquery())).scalar_one()
        for found in (rated.distinct(), marked, explained)
    )
    promised = withdrawal.what_was_promised(session, study, membership, who.pseudonym)
    times = (membership.joined_at, membership.consented_at, membership.withdrawn_at)
    return Part(study, *times, *counts, promised)

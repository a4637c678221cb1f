"""What an imported study may hold: only values that pages, reports and exports know.

A file's maker can write a log that proves any rows, so `verify` does not refuse these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from functools import cache
from math import isfinite
from types import UnionType
from typing import Annotated, Any, Literal, Never

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from sqlalchemy import JSON, Column, String, and_, func, or_, select, type_coerce
from sqlmodel import Session

from triptych.annotate.entry_test import FAILED
from triptych.annotate.logged import LoggedAnnotation
from triptych.annotate.onboarding import SCREENED_OUT
from triptych.annotate.outcomes import LATER, how_it_ended
from triptych.errors import ImportRefused, InvalidRubric
from triptych.formats.model import MAX_CANDIDATES, MAX_SYSTEMS
from triptych.formats.ratings.model import LONGEST_SECONDS, MAX_NAME, YEARS
from triptych.operations import frozen
from triptych.privacy import personal_data
from triptych.rubric.answers import Answers, Arrangement, MarkUnit
from triptych.rubric.model import Rubric
from triptych.rubric.scales import Choice
from triptych.storage.events import EventKind
from triptych.storage.models import (
    Assignment,
    Candidate,
    Event,
    EventDetail,
    Explanation,
    Highlight,
    Item,
    Membership,
    Option,
    Purpose,
    Rating,
    Reference,
    Slot,
    StoredCriterion,
    Study,
    System,
    Turn,
)
from triptych.study import contents, lifecycle
from triptych.study.copies import EarlierRuns
from triptych.study.heds_answers import LONGEST
from triptych.study.heds_questions import BY_NUMBER
from triptych.study.settings import Consent, EntryRules, Pay, Sharing, placed_settings

# what reports and exports print as it is
HASH, LANGUAGE = re.compile("[0-9a-f]{64}"), re.compile("[A-Za-z0-9_-]{2,8}")
HIGHEST_CODE = 10 * MAX_SYSTEMS  # of a system
LARGEST_INTEGER = 2**31 - 1  # that a column of PostgreSQL stores
MAX_LEVELS = 100  # of lists and objects in JSON; pages and exports take several calls for each, and fail at some number
MAX_ARRIVALS, LONGEST_ARRIVALS = 20, 2**20  # times, and characters with all renamed people
UNIT, ARRANGED, REASONS = TypeAdapter(MarkUnit | None), TypeAdapter(list[Arrangement]), TypeAdapter(list[list[str]])
TURNS = TypeAdapter(list[tuple[str, str]])
BESIDE = TypeAdapter(tuple[dict[str, Any], dict[str, str]])  # fields and further texts of an item
Count = Annotated[int, Field(ge=0, le=LARGEST_INTEGER)]  # Python does not print one of more than 4,300 digits
COUNTS = TypeAdapter(list[Count])
SHEET = TypeAdapter(dict[str, tuple[list[int], Annotated[str, Field(max_length=LONGEST)]]])


class _LoggedValues(BaseModel):
    """Values of an event that results, reports, exports or erasures read; others are only printed in the log."""

    model_config = ConfigDict(strict=True)


class _Import(_LoggedValues):
    excluded: list[str] = []
    left_out: dict[str, Count] = {}


class _LoggedConsent(_LoggedValues):
    version: str | None = None
    sharing: Sharing = "not_asked"
    after_withdrawal: Literal["keep", "delete"] = "keep"


class _LoggedLook(_LoggedValues):
    annotations: Count = 0
    planned: Count = 0


class _Withdrawal(_LoggedValues):
    filled_places: Count = 0


class _LoggedAmendment(BaseModel):
    reason: str = ""
    design_hash: str = ""
    retired: list[str] = []
    plan: dict[str, Any] | None = None
    consent: Consent | None = None
    entry: EntryRules | None = None
    pay: Pay | None = None


READ_LATER: dict[str, type[BaseModel]] = {
    EventKind.ratings_imported: _Import,
    EventKind.consented: _LoggedConsent,
    EventKind.results_opened: _LoggedLook,
    EventKind.withdrew: _Withdrawal,
    EventKind.design_amended: _LoggedAmendment,
}
UNUSABLE = (ValidationError, InvalidRubric, LookupError, ValueError, TypeError, AttributeError)


def checked(column: Column[object], value: Any) -> Any:
    """The value, if the column can have it: SQLite itself accepts any value in any column. Raises ValueError."""
    if value is None:
        return value
    if isinstance(column.type, JSON):
        _refuse_deep(json.loads(value, parse_constant=_refused, parse_float=_finite))
    elif not isinstance(value, _type_of(column)) or _is_extreme(value):
        raise ValueError(f"{value!r:.40} as {column.table.name}.{column.name}")
    return value


def _refuse_deep(value: object) -> None:
    """Raises ValueError for a value of too many levels."""
    level, depth = [value], 0
    while level := [part for whole in level for part in _parts(whole)]:
        depth += 1
        if depth > MAX_LEVELS:
            raise ValueError(f"JSON of more than {MAX_LEVELS} levels")


def _parts(whole: object) -> Iterable[object]:
    return whole.values() if isinstance(whole, dict) else whole if isinstance(whole, list) else ()


def _is_extreme(value: object) -> bool:
    if isinstance(value, datetime):
        return value.year not in YEARS
    if isinstance(value, float):
        return not isfinite(value)
    return isinstance(value, int) and abs(value) > LARGEST_INTEGER


def _refused(constant: str) -> Never:
    raise ValueError(f"{constant} in JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _refused(text)


@cache
def _type_of(column: Column[object]) -> type | UnionType:
    kind = column.type.python_type
    if kind is float:
        return int | float
    return datetime if kind is datetime else str if issubclass(kind, str) else kind


def refuse_many_arrivals(session: Session) -> None:
    """Raises ImportRefused for a log whose numbers and names take long to map, since nobody else can write then."""
    arrived = select(func.count(), func.sum(func.length(type_coerce(EventDetail.new, String))))
    arrived = arrived.select_from(Event).outerjoin(EventDetail, EventDetail.event_id == Event.id)
    times, length = session.execute(arrived.where(Event.kind == EventKind.study_arrived)).one()
    if times > MAX_ARRIVALS or (length or 0) > LONGEST_ARRIVALS:
        raise ImportRefused(
            f"The study was imported more than {MAX_ARRIVALS} times, or with too many people who got other pseudonyms. "
            f"Nothing was imported."
        )


def refuse_unusable(session: Session, study: Study) -> None:
    """Raises one of UNUSABLE for settings, a rubric, items, work or a log that no page could show."""
    if len(study.title) > lifecycle.LONGEST_TITLE:  # every page of the lead lists all titles
        raise ValueError(f"a title of {len(study.title):,} characters")
    _refuse_odd_datasheet(placed_settings(study).heds)
    _refuse_odd_design(session, study)
    turned_away = select(Membership.turned_away_as).where(Membership.study_id == study.id)
    for end in {*session.scalars(turned_away)} - {None, FAILED, SCREENED_OUT}:
        raise ValueError(f"{end!r:.40} as membership.turned_away_as")
    _refuse_odd_work(session, study)
    logged = select(Event.kind, EventDetail.old, EventDetail.new).join(EventDetail, EventDetail.event_id == Event.id)
    for kind, old, new in session.execute(logged.where(Event.study_id == study.id)):
        _refuse_odd_values(kind, {} if old is None else old, {} if new is None else new)


def _refuse_odd_datasheet(answers: dict[str, Any]) -> None:
    """Raises ValueError for answers that the form cannot have stored; questions of other versions are never read."""
    # from JSON, in which text with half a character is invalid
    for name, (chosen, _) in SHEET.validate_json(json.dumps(answers), strict=True).items():
        question = BY_NUMBER.get(name.partition(" ")[0])
        if question and sorted(chosen) != sorted({*chosen} & {*range(1, len(question.options) + 1)}):
            raise ValueError(f"{chosen!r:.40} as the answer to {question.number}")


def _refuse_odd_design(session: Session, study: Study) -> None:
    rubric = lifecycle.design_of(session, study).rubric
    lifecycle.refuse_silent(rubric, study.round)
    for column, values in lifecycle.CHOICES.items():
        if getattr(study, column) not in values:
            raise ValueError(f"{getattr(study, column)!r:.40} as study.{column}")
    if contents.stored_criteria(session, study) != contents.criteria_asked(rubric, study.round):
        raise ValueError("criteria or options that differ from the rubric")
    _refuse_odd_systems(session, study)
    unblinding = select(Event.id).where(Event.study_id == study.id, Event.kind == EventKind.unblinded)
    if study.unblinded_at is not None and session.scalars(unblinding).first() is None:
        raise ValueError("an unblinding that is not in the log")
    for purpose in Purpose:
        contents.stored_items(session, study, purpose)
    _refuse_odd_texts(session, study)
    _refuse_odd_checks(session, study, rubric)
    items = select(func.count(Item.id)).where(Item.study_id == study.id, Item.purpose == Purpose.main)
    if session.scalar(items) != study.item_count:
        raise ValueError(f"{study.item_count} as study.item_count")
    positions = select(Turn.item_id).join(Item, Item.id == Turn.item_id).where(Item.study_id == study.id)
    last = func.max(Turn.position) != func.count() - 1
    if session.scalar(positions.group_by(Turn.item_id).having(or_(func.min(Turn.position) != 0, last))):
        raise ValueError("turns that are not numbered from 0")


def _refuse_odd_texts(session: Session, study: Study) -> None:
    spoken = select(Candidate.turns).join(Item).where(Item.study_id == study.id)
    for turns in session.scalars(spoken.execution_options(yield_per=frozen.BATCH)):
        TURNS.validate_python([] if turns is None else turns)
    beside = select(Item.meta, Item.extra_texts).where(Item.study_id == study.id)
    for row in session.execute(beside.execution_options(yield_per=frozen.BATCH)):
        BESIDE.validate_python(tuple(row))


def _refuse_odd_systems(session: Session, study: Study) -> None:
    code = System.blind_code
    numbered = select(func.count(), func.min(code), func.max(code), func.max(func.length(System.name)))
    systems, first, last, longest = session.execute(numbered.where(System.study_id == study.id)).one()
    if systems > MAX_SYSTEMS:
        raise ValueError(f"more than {MAX_SYSTEMS} systems")
    if systems and (first < 1 or last > HIGHEST_CODE):
        raise ValueError(f"{first} to {last} as system.blind_code")
    if systems and longest > MAX_NAME:  # a report repeats it in each row
        raise ValueError(f"a system name of {longest:,} characters")


def _refuse_odd_checks(session: Session, study: Study, rubric: Rubric) -> None:
    """Raises ValueError for an accepted answer that is no number, or to a response that its item does not have."""
    responses = select(func.count()).where(Candidate.item_id == Reference.item_id).scalar_subquery()
    accepted_answers = (
        select(StoredCriterion.key, Reference.accepted, Reference.position, responses)
        .join(StoredCriterion, StoredCriterion.id == Reference.criterion_id)
        .where(StoredCriterion.study_id == study.id)
    )
    for criterion, accepted, position, count in session.execute(accepted_answers):
        if not isinstance(rubric.criterion(criterion).scale, Choice):
            float(accepted)
        if position is not None and position not in range(count):
            raise ValueError(f"{position} as reference.position")


def _refuse_odd_work(session: Session, study: Study) -> None:
    of_study = Assignment.study_id == study.id
    marks = select(Highlight.label, Highlight.unit).join(Assignment, Assignment.id == Highlight.assignment_id)
    labels = {label.key for label in lifecycle.design_of(session, study).rubric.highlights}
    for label, unit in session.execute(marks.where(of_study).distinct()):
        if label not in labels:
            raise ValueError(f"{label!r:.40} as highlight.label")
        UNIT.validate_python(unit)
    shown = select(Assignment.arrangement).where(of_study, Assignment.arrangement.is_not(None))
    ARRANGED.validate_python(session.scalars(shown.distinct()).all())
    seconds = session.scalar(select(func.max(func.abs(Assignment.active_seconds))).where(of_study)) or 0
    if seconds > LONGEST_SECONDS:
        raise ValueError(f"{seconds:g} seconds of work on one item")
    reasons = select(Explanation.reasons).join(Rating, Rating.id == Explanation.rating_id)
    of_rating = Assignment.id == Rating.assignment_id
    REASONS.validate_python(session.scalars(reasons.join(Assignment, of_rating).where(of_study)).all())
    designs = {study.design_hash, *session.scalars(select(Assignment.design_hash).where(of_study).distinct())}
    used = {*session.scalars(select(Assignment.language).where(of_study).distinct())}
    for form, column, values in ((HASH, "design_hash", designs), (LANGUAGE, "language", used)):
        for value in values - {None}:
            if not form.fullmatch(value):
                raise ValueError(f"{value!r:.40} as {column}")
    _refuse_odd_positions(session, study)
    _refuse_odd_ratings(session, study)
    drafts = select(Assignment.draft).where(of_study, Assignment.draft.is_not(None))
    for draft in session.scalars(drafts.execution_options(yield_per=frozen.BATCH)):
        Answers.model_validate({} if draft is None else draft)
    answered = select(Event.assignment_id).where(Event.study_id == study.id)
    answered = answered.where(Event.kind == EventKind.check_answered_again).distinct()
    personal_data.last_answers(session, study, [number for number in session.scalars(answered) if number])


def _refuse_odd_ratings(session: Session, study: Study) -> None:
    """Raises ValueError for a number beyond its criterion's scale, or an answer of another criterion."""
    rubric = lifecycle.design_of(session, study).rubric
    columns = StoredCriterion.key, Rating.number, Rating.option_id, Option.criterion_id == Rating.criterion_id
    given = select(*columns).join(Rating, Rating.criterion_id == StoredCriterion.id)
    given = given.outerjoin(Option, Option.id == Rating.option_id).where(StoredCriterion.study_id == study.id)
    for criterion, number, option, is_own in session.execute(given.distinct()):
        scale = rubric.criterion(criterion).scale
        low, high = scale.ends
        slack = (high - low) / 1e6  # steps of a scale are rounded
        on_scale = number is None or (not isinstance(scale, Choice) and low - slack <= number <= high + slack)
        if not on_scale or (option is not None and not is_own):
            raise ValueError(f"{number if option is None else option} as a rating of {criterion}")


def _refuse_odd_positions(session: Session, study: Study) -> None:
    """Raises ValueError for a slot that no annotation can have, a rating of no response, or a highlight in no turn."""
    of_study = Assignment.study_id == study.id
    systems = session.scalar(select(func.count(System.id)).where(System.study_id == study.id)) or 0
    slots = select(Slot.position).join(Assignment, Assignment.id == Slot.assignment_id).where(of_study)
    beyond = or_(Slot.position < 0, Slot.position >= max(systems, MAX_CANDIDATES))
    position = session.scalar(slots.where(beyond).limit(1))
    if position is not None:
        raise ValueError(f"{position} as slot.position")
    placeless = select(Rating.id).join(StoredCriterion, StoredCriterion.id == Rating.criterion_id)
    placeless = placeless.join(Assignment, Assignment.id == Rating.assignment_id).where(of_study)
    of_response = Rating.position.is_(None), StoredCriterion.about == "candidate"
    if session.scalar(placeless.where(*of_response).limit(1)) is not None:
        raise ValueError("a rating of a response without its place")
    at_slot = and_(Slot.assignment_id == Highlight.assignment_id, Slot.position == Highlight.position)
    at_turn = and_(Turn.item_id == Assignment.item_id, Turn.position == Highlight.turn)
    marks = (
        select(Highlight.turn, Highlight.position, Candidate.turns, Turn.id)
        .join(Assignment, Assignment.id == Highlight.assignment_id)
        .outerjoin(Slot, at_slot)
        .outerjoin(Candidate, Candidate.id == Slot.candidate_id)
        .outerjoin(Turn, at_turn)
    )
    for turn, place, turns, of_context in session.execute(marks.where(of_study, Highlight.turn.is_not(None))):
        if of_context is None if place is None else turn not in range(len(turns or ())):
            raise ValueError(f"{turn} as highlight.turn")


def _refuse_odd_values(kind: str, old: object, new: object) -> None:
    """Raises one of UNUSABLE for values of an event that `verify` does not play back, but pages and erasures read."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        raise TypeError(f"the values of the event {kind!r:.40}")
    if kind in READ_LATER:
        for side in (old, new):
            READ_LATER[kind].model_validate(side)
    if kind == EventKind.study_archived and not (isinstance(new["folder"], str) and isinstance(new["sha256"], str)):
        raise TypeError("the values of an archive")
    if kind == EventKind.study_copied:
        names = [*new.get("originals", []), *new.get("origins", []), new.get("from", "")]
        TypeAdapter(list[str]).validate_python(names, strict=True)
    if kind == EventKind.study_open and "repeats" in new:
        numbers = asdict(EarlierRuns(**new["repeats"])).values()
        COUNTS.validate_python([*numbers], strict=True)
    if kind == EventKind.check_answered_again and new.get(LATER):
        LoggedAnnotation.model_validate_json(json.dumps(new[LATER]), strict=True)
        how_it_ended(new[LATER])

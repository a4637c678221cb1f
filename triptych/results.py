"""What a lead reads: one tidy frame of ratings per study, progress, highlights, every rating, the long exports.

Joins slot → candidate → system, as `texts`, `exports` and `reports` do for leads and `assignments` does to balance the
order; what serves annotators never does. The frame is kept per process and brought up to date by the event log; systems
stand in it as blind codes, and `system_names` alone knows what they are called.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals
from sqlalchemy import Select, and_, func, select
from sqlmodel import Session

from triptych import events, studies
from triptych.errors import NotFound
from triptych.formats.ratings_csv import highlight_row, rating_row
from triptych.models import (
    Assignment,
    AssignmentState,
    Candidate,
    Criterion,
    Explanation,
    Highlight,
    Item,
    Kind,
    Membership,
    Option,
    Person,
    Purpose,
    Rating,
    Role,
    Slot,
    Study,
    StudyState,
    System,
    Turn,
)
from triptych.rubric import HighlightLabel, Rubric
from triptych.studies import Design

ABOUT_ITEM = 0
UNKNOWN_POSITION = -1
MANY = 1000
MOST_VALUES = 30
LETTERS = "ABCDEF"
RATED = (AssignmentState.submitted, AssignmentState.surplus)
FINISHED = (*RATED, AssignmentState.ignored)
WORK = ["assignment", "annotator", "kind", "item", "state", "excluded", "active_seconds", "submitted_at"]
RATING = [
    "assignment",
    "position",
    "order_known",
    "system",
    "criterion",
    "value",
    "option",
    "missing",
    "reasons",
    "explanation",
]
LABELS = ("annotator", "kind", "item", "state", "criterion", "option", "reasons")

StudyName: TypeAlias = tuple[int, str, str]


@dataclass(frozen=True, eq=False)
class Frame:
    """All finished main work of one study, as of one event.

    work: one row per assignment: assignment, annotator, kind, item, state (submitted, surplus, ignored, skipped),
    excluded, active_seconds, submitted_at (UTC).
    ratings: one row per rating: the columns of its work, and system (blind code; 0 about the item), position
    (0, 1, 2; -1 not known or about the item), criterion, value (NaN where an option was chosen or it is missing),
    option, missing, reasons (their keys, joined by commas), explanation. Labels are categories. The order of the
    rows means nothing.
    meta: what the items file says about each item, by its id. leads: pseudonyms of the study's leads. name: of the
    study, for what is kept between two looks.
    """

    design: Design
    round: str
    number: int
    work: pd.DataFrame
    ratings: pd.DataFrame
    meta: dict[str, dict[str, Any]]
    leads: frozenset[str]
    unblinded_at: datetime | None
    name: StudyName

    @property
    def rubric(self) -> Rubric:
        return self.design.rubric

    @property
    def systems(self) -> list[int]:
        """Blind codes of the systems that have a rating."""
        return sorted(code for code in self.ratings["system"].unique().tolist() if code != ABOUT_ITEM)

    @property
    def kinds(self) -> list[str]:
        """Kinds of the people whose work is in it."""
        return sorted(self.work["kind"].astype(str).unique().tolist())

    @property
    def fields(self) -> dict[str, list[str]]:
        """Fields of the items that a filter can use, with their values: those that tell some items apart, not each."""
        values: dict[str, set[str]] = defaultdict(set)
        for meta in self.meta.values():
            for name, value in meta.items():
                if isinstance(value, str | int | float | bool):
                    values[name].add(str(value))
        most = min(MOST_VALUES, max(len(self.meta) - 1, 1))
        return {name: sorted(found) for name, found in sorted(values.items()) if 1 < len(found) <= most}

    def after_unblinding(self, rows: pd.DataFrame) -> pd.Series:
        """Which rows of work or ratings a lead of the study submitted when the names were already known to leads."""
        if self.unblinded_at is None:
            return pd.Series(False, index=rows.index)
        return rows["annotator"].isin(self.leads) & (rows["submitted_at"] > self.unblinded_at)


@dataclass(frozen=True)
class Counted:
    """Which ratings the numbers count: the filters of the results, which hold for every one of them.

    kinds: whose ratings. with_ignored: also of items that most raters ignored. with_excluded: also of annotators who
    were excluded. annotators: only theirs, empty for everybody's. field, value: only items whose field in the items
    file has this value.
    """

    kinds: frozenset[str] = frozenset({Kind.human.value})
    with_ignored: bool = False
    with_excluded: bool = False
    annotators: frozenset[str] = frozenset()
    field: str = ""
    value: str = ""

    @property
    def sentence(self) -> str:
        """The filters in words, as a report prints them."""
        parts = [f"Ratings by {' and '.join(sorted(self.kinds)) or 'nobody'} annotators"]
        if self.annotators:
            parts.append(f"only by {', '.join(sorted(self.annotators))}")
        if self.field:
            parts.append(f"only items with {self.field} = {self.value}")
        parts.append("excluded annotators included" if self.with_excluded else "without excluded annotators")
        parts.append(f"items that most ignored {'included' if self.with_ignored else 'left out'}")
        return "; ".join(parts) + "."


_frames: dict[StudyName, Frame] = {}
_locks: defaultdict[StudyName, threading.Lock] = defaultdict(threading.Lock)


def frame_of(session: Session, study: Study) -> Frame:
    """The study's frame, up to date with the session's view of the event log."""
    name = name_of(study)
    with _locks[name]:
        number = events.last_number(session, study.id)
        kept = _frames.get(name)
        if kept is None:
            _frames[name] = build_frame(session, study, number)
        elif kept.number < number:
            _frames[name] = _brought_up_to_date(session, study, kept, number)
        return _frames[name]


def twice_rated(session: Session, study: Study, frame: Frame) -> Frame:
    """The frame with nothing in it but what annotators rated twice: hidden repeats, and the first ratings of them."""
    again = _load(session, study, None, Purpose.repeat)[1]
    if again.empty:
        return replace(frame, ratings=frame.ratings[:0])
    pairs = pd.MultiIndex.from_frame(again[["annotator", "item"]].astype(str).drop_duplicates())
    first = pd.MultiIndex.from_frame(frame.ratings[["annotator", "item"]].astype(str)).isin(pairs)
    return replace(frame, ratings=_replaced(frame.ratings[first], again, set()))


def forget() -> None:
    """Every frame is built anew: the database has become another one."""
    _frames.clear()


def name_of(study: Study) -> StudyName:
    return study.id, study.seed, study.created_at.isoformat()


def build_frame(session: Session, study: Study, number: int | None = None) -> Frame:
    """The frame from nothing; `number` is the event number read before anything else."""
    number = events.last_number(session, study.id) if number is None else number
    work, ratings = _load(session, study, None)
    meta = select(Item.external_id, Item.meta).where(Item.study_id == study.id, Item.purpose == Purpose.main)
    return Frame(
        studies.design_of(session, study),
        study.round,
        number,
        work,
        ratings,
        dict(map(tuple, session.execute(meta))),
        _leads_of(session, study),
        study.unblinded_at,
        name_of(study),
    )


def _leads_of(session: Session, study: Study) -> frozenset[str]:
    leads = select(Person.pseudonym).join(Membership, Membership.person_id == Person.id)
    return frozenset(session.scalars(leads.where(Membership.study_id == study.id, Membership.role == Role.lead)))


def _brought_up_to_date(session: Session, study: Study, kept: Frame, number: int) -> Frame:
    """Rows of every assignment or person that a later event names are replaced, never appended."""
    changed = _changed(session, study, kept)
    another = kept.design is not studies.design_of(session, study) or len(kept.meta) != study.item_count
    if len(changed) > MANY or another:
        return build_frame(session, study, number)
    work, ratings = _load(session, study, changed) if changed else (kept.work[:0], kept.ratings[:0])
    return replace(
        kept,
        number=number,
        work=_replaced(kept.work, work, changed),
        ratings=_replaced(kept.ratings, ratings, changed),
        leads=_leads_of(session, study),
        unblinded_at=study.unblinded_at,
    )


def _changed(session: Session, study: Study, kept: Frame) -> set[int]:
    """Assignments named by events after the last one seen, themselves or through their annotator."""
    news = events.since(session, study.id, kept.number)
    changed = {event.assignment_id for event in news if event.assignment_id is not None}
    people = {event.subject for event in news if event.assignment_id is None and event.subject}
    if people:
        theirs = select(Assignment.id).join(Person, Person.id == Assignment.person_id)
        changed |= set(session.scalars(theirs.where(Assignment.study_id == study.id, Person.pseudonym.in_(people))))
        changed |= set(kept.work.loc[kept.work["annotator"].isin(people), "assignment"].tolist())
    return changed


def _replaced(old: pd.DataFrame, fresh: pd.DataFrame, changed: set[int]) -> pd.DataFrame:
    stays = old[~old["assignment"].isin(changed)]
    if not len(fresh):
        return stays.reset_index(drop=True)
    columns = {}
    for name in old.columns:
        pair = [stays[name], fresh[name]]
        columns[name] = union_categoricals(pair) if name in LABELS else pd.concat(pair, ignore_index=True)
    return pd.DataFrame(columns)


def _load(
    session: Session, study: Study, only: Collection[int] | None, purpose: Purpose = Purpose.main
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Work and ratings of the assignments of one purpose, or of some of them."""
    work = _typed(session.execute(_limited(_work_of(study, purpose), only)).all(), WORK)
    wanted = _ratings_of(study).where(Assignment.purpose == purpose, Assignment.state.in_(RATED))
    rows = [(*row[:-2], ",".join(row[-2] or ()), row[-1]) for row in session.execute(_limited(wanted, only))]
    ratings = _typed(rows, RATING)
    unknown = ratings["position"].isna() | ~ratings.pop("order_known").eq(True)
    ratings["position"] = ratings["position"].where(~unknown, UNKNOWN_POSITION).astype("int16")
    ratings["system"] = ratings["system"].fillna(ABOUT_ITEM).astype("int32")
    ratings["explanation"] = ratings["explanation"].fillna("").astype("str")
    return work, work.merge(ratings, on="assignment")


def _typed(rows: Sequence[Any], names: list[str]) -> pd.DataFrame:
    """Rows as a frame whose types do not depend on what the rows hold, so that an empty one has them too."""
    kinds = {"assignment": "int64", "excluded": "bool", "missing": "bool", "submitted_at": "datetime64[us, UTC]"}
    kinds |= dict.fromkeys(("active_seconds", "value", "position", "system"), "float64")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(names, ())
    typed = {}
    for name in names:
        if name in LABELS:
            typed[name] = pd.Series(columns[name], dtype="str").astype("category")
        else:
            typed[name] = pd.Series(columns[name], dtype=kinds.get(name, "object"))
    return pd.DataFrame(typed)


def _limited(wanted: Select[Any], only: Collection[int] | None) -> Select[Any]:
    return wanted if only is None else wanted.where(Assignment.id.in_(only))


def membership_of() -> Any:
    """The annotator's part in the assignment's study."""
    return and_(
        Membership.study_id == Assignment.study_id,
        Membership.person_id == Assignment.person_id,
        Membership.role == Role.annotator,
    )


def _work_of(study: Study, purpose: Purpose) -> Select[Any]:
    return (
        select(
            Assignment.id,
            Person.pseudonym,
            Person.kind,
            Item.external_id,
            Assignment.state,
            Membership.excluded_at.is_not(None),
            Assignment.active_seconds,
            Assignment.submitted_at,
        )
        .join(Person, Person.id == Assignment.person_id)
        .join(Item, Item.id == Assignment.item_id)
        .outerjoin(Membership, membership_of())
        .where(
            Assignment.study_id == study.id,
            Assignment.purpose == purpose,
            Assignment.state.in_((*FINISHED, AssignmentState.skipped)),
        )
    )


def _ratings_of(study: Study) -> Select[Any]:
    """Every rating of the study with its system: the join that no other screen may make."""
    return (
        select(
            Rating.assignment_id,
            Rating.position,
            Slot.order_known,
            System.blind_code,
            Criterion.key.label("criterion"),
            Rating.number,
            Option.key.label("option"),
            Rating.missing,
            Explanation.reasons,
            Explanation.text,
        )
        .join(Assignment, Assignment.id == Rating.assignment_id)
        .join(Criterion, Criterion.id == Rating.criterion_id)
        .outerjoin(Slot, and_(Slot.assignment_id == Rating.assignment_id, Slot.position == Rating.position))
        .outerjoin(Candidate, Candidate.id == Slot.candidate_id)
        .outerjoin(System, System.id == Candidate.system_id)
        .outerjoin(Option, Option.id == Rating.option_id)
        .outerjoin(Explanation, Explanation.rating_id == Rating.id)
        .where(Assignment.study_id == study.id)
    )


def system_names(session: Session, study: Study) -> dict[int, str]:
    """Blind code → what a lead may read: System 1, System 2, … until the study is unblinded."""
    rows = session.execute(select(System.blind_code, System.name).where(System.study_id == study.id))
    blind = study.unblinded_at is None
    return {code: f"System {code}" if blind else name for code, name in sorted(map(tuple, rows))}


def mostly_ignored(frame: Frame, counted: Counted) -> list[str]:
    """Items that more than half of their counted raters set aside as a whole."""
    rows = counted_work(frame, counted)
    rows = rows[rows["state"].isin(FINISHED)]
    share = (rows["state"] == AssignmentState.ignored).groupby(rows["item"], observed=True).mean()
    return share.index[share > 0.5].astype(str).tolist()


def counted_ratings(frame: Frame, counted: Counted) -> pd.DataFrame:
    """The rows behind every number: no excluded annotator, no item that most raters ignored, the kinds asked for."""
    return frame.ratings[counting(frame, counted)]


def counting(frame: Frame, counted: Counted) -> np.ndarray:
    """(n,) whether each of the frame's n ratings is behind the numbers."""
    passing = _passes(frame, frame.ratings, counted)
    if not counted.with_ignored:
        passing &= ~_among(frame.ratings["item"], mostly_ignored(frame, counted))
    return passing


def counted_work(frame: Frame, counted: Counted) -> pd.DataFrame:
    """The annotations that count, items that most ignored among them."""
    return frame.work[_passes(frame, frame.work, counted)]


def _passes(frame: Frame, rows: pd.DataFrame, counted: Counted) -> np.ndarray:
    passing = _among(rows["kind"], counted.kinds)
    if not counted.with_excluded:
        passing &= ~rows["excluded"].to_numpy()
    if counted.annotators:
        passing &= _among(rows["annotator"], counted.annotators)
    if counted.field:
        passing &= _among(rows["item"], items_with(frame, counted.field, counted.value))
    return passing


def items_with(frame: Frame, field: str, value: str) -> frozenset[str]:
    """Ids of the items whose field in the items file has this value."""
    return frozenset(item for item, meta in frame.meta.items() if str(meta.get(field)) == value)


def _among(labels: pd.Series, wanted: Collection[str]) -> np.ndarray:
    """(n,) whether a label is one of those wanted; each category is looked up once."""
    return labels.cat.categories.isin(list(wanted))[labels.cat.codes] if len(labels) else np.zeros(0, dtype=bool)


@dataclass(frozen=True)
class AnnotatorProgress:
    """One annotator's part: items done of those to do, time per item and a guess of the time left (None: no base)."""

    pseudonym: str
    kind: str
    done: int
    total: int
    skipped: int
    ignored: int
    surplus: int
    minutes_per_item: float | None
    minutes_left: int | None
    last_at: datetime | None
    excluded: bool


@dataclass(frozen=True)
class Overview:
    """How far the study is. expected = places of all items; done = those filled by a finished annotation."""

    done: int
    expected: int
    items: int
    items_complete: int
    skipped: int
    ignored: int
    surplus: int
    minutes_left: int | None
    last_at: datetime | None
    annotators: tuple[AnnotatorProgress, ...]


def overview(session: Session, study: Study, counted: Counted) -> Overview:
    """Progress of everyone and overall, whatever else is filtered.

    Time left: places left × the mean active time, from three annotations on.
    """
    frame, counted = frame_of(session, study), Counted(counted.kinds)
    main = (Item.study_id == study.id, Item.purpose == Purpose.main, ~Item.retired)
    raters = dict(session.execute(select(Item.external_id, Item.raters).where(*main)).all())
    expected = sum(raters.values())
    rows = counted_work(frame, counted)
    filled = rows[rows["state"].isin((AssignmentState.submitted, AssignmentState.ignored)) & rows["item"].isin(raters)]
    per_item = filled["item"].astype(str).value_counts()
    left = max(expected - len(filled), 0)
    return Overview(
        done=len(filled),
        expected=expected,
        items=len(raters),
        items_complete=sum(count >= raters[item] for item, count in per_item.items()),
        skipped=_count(rows, AssignmentState.skipped),
        ignored=_count(rows, AssignmentState.ignored),
        surplus=_count(rows, AssignmentState.surplus),
        minutes_left=_minutes_left(rows, left),
        last_at=_last(rows),
        annotators=_progress_rows(session, study, frame, counted, left),
    )


def _progress_rows(
    session: Session, study: Study, frame: Frame, counted: Counted, left: int
) -> tuple[AnnotatorProgress, ...]:
    members = (
        select(Person.pseudonym, Person.kind, Membership.excluded_at)
        .join(Membership, Membership.person_id == Person.id)
        .where(Membership.study_id == study.id, Membership.role == Role.annotator, Person.kind.in_(counted.kinds))
        .order_by(Membership.joined_at, Person.id)
    )
    by_person = dict(tuple(frame.work.groupby("annotator", observed=True)))
    limit = min(study.item_count, study.settings.get("items_per_annotator") or study.item_count)
    limit = 0 if study.state == StudyState.closed else limit  # nothing more comes
    return tuple(
        _progress(pseudonym, kind, excluded_at is not None, by_person.get(pseudonym, frame.work[:0]), limit, left)
        for pseudonym, kind, excluded_at in session.execute(members)
    )


def _progress(
    pseudonym: str, kind: str, excluded: bool, rows: pd.DataFrame, limit: int, left: int
) -> AnnotatorProgress:
    total, timed = max(limit, len(rows)), _timed(rows)
    return AnnotatorProgress(
        pseudonym=pseudonym,
        kind=kind,
        done=len(rows),
        total=total,
        skipped=_count(rows, AssignmentState.skipped),
        ignored=_count(rows, AssignmentState.ignored),
        surplus=_count(rows, AssignmentState.surplus),
        minutes_per_item=float(timed.mean()) / 60 if len(timed) else None,
        minutes_left=None if excluded else _minutes_left(rows, min(total - len(rows), left)),
        last_at=_last(rows),
        excluded=excluded,
    )


def _count(rows: pd.DataFrame, state: AssignmentState) -> int:
    return int((rows["state"] == state).sum())


def _last(rows: pd.DataFrame) -> datetime | None:
    return rows["submitted_at"].max().to_pydatetime() if len(rows) else None


def _minutes_left(rows: pd.DataFrame, places: int) -> int | None:
    if not places:
        return 0
    timed = _timed(rows)
    return round(places * timed.mean() / 60) if len(timed) >= 3 else None


def _timed(rows: pd.DataFrame) -> pd.Series:
    """Active seconds where they are known: workbooks and ratings from elsewhere bring none."""
    return rows.loc[rows["active_seconds"] > 0, "active_seconds"]


@dataclass(frozen=True)
class Filters:
    """Which ratings to list; an empty part lets everything through.

    `item` is part of an item's id, `text` part of an explanation.
    """

    annotators: frozenset[str] = frozenset()
    item: str = ""
    systems: frozenset[int] = frozenset()
    criteria: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()
    text: str = ""


MARKS = ("missing", "surplus", "excluded", "after unblinding", "explained")


@dataclass(frozen=True)
class RatingsTable:
    """The newest rows that pass the filters, ready to show, and how many pass in all."""

    rows: pd.DataFrame
    count: int
    total: int


def ratings_table(frame: Frame, filters: Filters, names: dict[int, str], limit: int = 2000) -> RatingsTable:
    """At most `limit` ratings, newest first, with titles for keys and names for systems."""
    rows = frame.ratings
    kept = rows[_passing(frame, filters)]
    newest = kept.sort_values(["submitted_at", "assignment"], ascending=False, kind="stable")[:limit]
    titles = {criterion.key: criterion.title for criterion in frame.rubric.criteria}
    shown = pd.DataFrame(
        {
            "Annotator": newest["annotator"].astype(str),
            "Item": newest["item"].astype(str),
            "System": [names.get(code, "") for code in newest["system"]],
            "Response": [LETTERS[at] if at >= 0 else "" for at in newest["position"]],
            "Criterion": [titles[key] for key in newest["criterion"]],
            "Value": _written_values(newest),
            "Reasons": newest["reasons"].astype("str").str.replace(",", ", "),
            "Explanation": newest["explanation"].astype(str),
            "Marks": [", ".join(marks) for marks in _marks_of(frame, newest)],
            "Submitted (UTC)": newest["submitted_at"].dt.strftime("%Y-%m-%d %H:%M:%S"),
            "Active s": newest["active_seconds"].round(1),
        }
    )
    return RatingsTable(shown.reset_index(drop=True), len(kept), len(rows))


def _written_values(rows: pd.DataFrame) -> list[str]:
    """A number as people write it, an option by its key, nothing where a response was set aside."""
    pairs = zip(rows["value"], rows["option"].astype(object), strict=True)
    return [f"{value:g}" if value == value else option if isinstance(option, str) else "" for value, option in pairs]


def values_in(frame: Frame) -> list[str]:
    """Every value that occurs, as written in the list: numbers first."""
    distinct = frame.ratings[["value", "option"]].drop_duplicates()
    values = {value for value in _written_values(distinct) if value}
    return sorted(values, key=lambda value: (value[0].isalpha(), value if value[0].isalpha() else float(value)))


def _passing(frame: Frame, filters: Filters) -> pd.Series:
    rows = frame.ratings
    passing = pd.Series(True, index=rows.index)
    lists = {"annotator": filters.annotators, "system": filters.systems, "criterion": filters.criteria}
    for name, wanted in lists.items():
        if wanted:
            passing &= rows[name].isin(wanted)
    if filters.values:
        passing &= pd.Series(_written_values(rows), index=rows.index).isin(filters.values)
    for name, marked in _marks(frame, rows).items():
        if name in filters.marks:
            passing &= marked
    if filters.item:
        ids = rows["item"].cat.categories
        passing &= rows["item"].isin(ids[ids.str.contains(filters.item, case=False, regex=False)])
    if filters.text:
        passing &= rows["explanation"].str.contains(filters.text, case=False, regex=False)
    return passing


def _marks(frame: Frame, rows: pd.DataFrame) -> dict[str, pd.Series]:
    explained = (rows["explanation"] != "") | (rows["reasons"] != "")
    surplus = rows["state"] == AssignmentState.surplus
    late = frame.after_unblinding(rows)
    return dict(zip(MARKS, (rows["missing"], surplus, rows["excluded"], late, explained), strict=True))


def _marks_of(frame: Frame, rows: pd.DataFrame) -> Iterator[list[str]]:
    marks = {name: marked for name, marked in _marks(frame, rows).items() if name != "explained"}
    by_row = zip(*marks.values(), strict=True)
    return ([name for name, marked in zip(marks, row, strict=True) if marked] for row in by_row)


@dataclass(frozen=True)
class Span:
    """One annotator's highlight: code points, end exclusive."""

    start: int
    end: int
    label: str
    annotator: str
    comment: str


@dataclass(frozen=True)
class Passage:
    """A text, or one turn of a dialogue, with what was highlighted in it."""

    speaker: str
    text: str
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True)
class HighlightedCandidate:
    system: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True)
class HighlightedItem:
    """One item with everybody's highlights; quotes that are not in the text (imports) are only counted."""

    external_id: str
    context: tuple[Passage, ...]
    candidates: tuple[HighlightedCandidate, ...]
    labels: tuple[HighlightLabel, ...]
    unaligned: int


def highlight_counts(session: Session, study: Study, counted: Counted) -> dict[str, int]:
    """Item → number of its highlights, most highlighted first."""
    wanted = (
        _counted_highlights(study, counted, Item.external_id, func.count())
        .group_by(Item.external_id)
        .order_by(func.count().desc(), Item.external_id)
    )
    found = dict(session.execute(wanted).all())
    if not counted.field:
        return found
    shown = items_with(frame_of(session, study), counted.field, counted.value)
    return {item: count for item, count in found.items() if item in shown}


def _counted_highlights(study: Study, counted: Counted, *columns: Any) -> Select[Any]:
    return _highlights_of(study, *columns).where(*people_counted(counted))


def people_counted(counted: Counted) -> Iterator[Any]:
    """Conditions on a person and her part in the study."""
    yield Person.kind.in_(counted.kinds)
    if not counted.with_excluded:
        yield Membership.excluded_at.is_(None)
    if counted.annotators:
        yield Person.pseudonym.in_(counted.annotators)


def _highlights_of(study: Study, *columns: Any) -> Select[Any]:
    """Highlights of main annotations joined to their assignment, person, item and candidate."""
    return (
        select(*columns)
        .select_from(Highlight)
        .join(Assignment, Assignment.id == Highlight.assignment_id)
        .join(Person, Person.id == Assignment.person_id)
        .join(Item, Item.id == Assignment.item_id)
        .join(Slot, and_(Slot.assignment_id == Highlight.assignment_id, Slot.position == Highlight.position))
        .join(Candidate, Candidate.id == Slot.candidate_id)
        .outerjoin(Membership, membership_of())
        .where(
            Assignment.study_id == study.id,
            Assignment.purpose == Purpose.main,
            Assignment.state.in_(RATED),
        )
    )


def highlights_of_item(session: Session, study: Study, external_id: str, counted: Counted) -> HighlightedItem:
    """An item's texts, each with the highlights of all counted annotators. Raises NotFound."""
    found = select(Item).where(Item.study_id == study.id, Item.external_id == external_id, Item.purpose == Purpose.main)
    item = session.scalars(found).first()
    if item is None:
        raise NotFound(f"The study has no item {external_id!r}.")
    spans: dict[tuple[int, int | None], list[Span]] = defaultdict(list)
    unaligned = 0
    wanted = _counted_highlights(study, counted, Candidate.id, Person.pseudonym, Highlight).where(Item.id == item.id)
    for candidate_id, annotator, mark in session.execute(wanted.order_by(Highlight.start, Highlight.id)):
        if mark.start is None or mark.end is None:
            unaligned += 1
            continue
        spans[candidate_id, mark.turn].append(Span(mark.start, mark.end, mark.label, annotator, mark.comment))
    names = system_names(session, study)
    candidates = (
        select(Candidate, System.blind_code)
        .join(System, System.id == Candidate.system_id)
        .where(Candidate.item_id == item.id)
        .order_by(System.blind_code)
    )
    return HighlightedItem(
        external_id,
        _context(session, item),
        tuple(
            HighlightedCandidate(names[code], _passages(candidate, spans))
            for candidate, code in session.execute(candidates)
        ),
        studies.design_of(session, study).rubric.highlights,
        unaligned,
    )


def _context(session: Session, item: Item) -> tuple[Passage, ...]:
    turns = session.scalars(select(Turn).where(Turn.item_id == item.id).order_by(Turn.position))
    spoken = tuple(Passage(turn.speaker, turn.text) for turn in turns)
    return (Passage("", item.context), *spoken) if item.context else spoken


def _passages(candidate: Candidate, spans: dict[tuple[int, int | None], list[Span]]) -> tuple[Passage, ...]:
    if candidate.turns:
        turns = enumerate(candidate.turns)
        return tuple(Passage(who, text, tuple(spans[candidate.id, n])) for n, (who, text) in turns)
    return (Passage("", candidate.text or "", tuple(spans[candidate.id, None])),)


@dataclass(frozen=True)
class Board:
    """Everything the results page shows that is not computed from the frame's numbers alone."""

    study: Study
    frame: Frame
    names: dict[int, str]
    overview: Overview
    ignored_items: tuple[str, ...]
    highlights: dict[str, int] = field(default_factory=dict)


def board(session: Session, study: Study, counted: Counted) -> Board:
    """The page's one read."""
    frame = frame_of(session, study)
    return Board(
        study,
        frame,
        system_names(session, study),
        overview(session, study, counted),
        tuple(mostly_ignored(frame, counted)),
        highlight_counts(session, study, counted) if frame.rubric.highlights else {},
    )


def kinds_by_default(study: Study) -> frozenset[str]:
    """People's ratings only; a demo study is filled by simulated annotators and shows them too."""
    return frozenset(Kind) if study.demo else Counted().kinds


def export_ratings(session: Session, study: Study) -> Iterator[tuple[Any, ...]]:
    """Every stored rating of every purpose, as rows of the long CSV, in a stable order, streamed."""
    names = system_names(session, study)
    original = select(Assignment.id, Item.external_id).join(Item, Item.id == Assignment.item_id).subquery()
    wanted = (
        _ratings_of(study)
        .add_columns(
            Assignment.design_hash,
            Person.pseudonym,
            Person.kind.label("annotator_kind"),
            Item.external_id,
            Assignment.purpose,
            original.c.external_id.label("repeat_of"),
            Assignment.state,
            Assignment.version,
            Assignment.submitted_at,
            Assignment.active_seconds,
            Membership.excluded_at,
            Membership.excluded_reason,
        )
        .join(Person, Person.id == Assignment.person_id)
        .join(Item, Item.id == Assignment.item_id)
        .outerjoin(Membership, membership_of())
        .outerjoin(original, original.c.id == Assignment.repeat_of)
        .where(Assignment.state.in_(RATED))
        .order_by(Assignment.id, Criterion.position, Rating.position)
    )
    return (rating_row(study, names, row) for row in _streamed(session, wanted))


def export_highlights(session: Session, study: Study) -> Iterator[tuple[Any, ...]]:
    """Every highlight of the main annotations, as rows of the highlights CSV, streamed."""
    names = system_names(session, study)
    wanted = (
        _highlights_of(study, Person.pseudonym, Item.external_id, System.blind_code, Slot.order_known, Highlight)
        .join(System, System.id == Candidate.system_id)
        .order_by(Highlight.id)
    )
    return (highlight_row(names, row) for row in _streamed(session, wanted))


def _streamed(session: Session, wanted: Select[Any]) -> Iterable[Any]:
    return session.execute(wanted.execution_options(yield_per=2000))

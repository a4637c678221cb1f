"""An explicit plan of who is to rate which item, instead of the automatic one: read, checked, proposed, stored.

A plan is a table with the columns annotator (pseudonym or name), item_id and, optionally, rank. If a study has a plan,
annotators get only their own planned items, in the order of the ranks.
`pairing` computes connected parts and proposes plans.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Select, delete, insert, select
from sqlmodel import Session

from triptych.errors import Conflict, ImportRefused, NotAllowed
from triptych.formats.layout import ANNOTATOR_NAMES, ID_NAMES, simple
from triptych.formats.long_csv import restore_cell, write_csv
from triptych.formats.model import Contents, Findings, Problem, Source
from triptych.formats.names import Lookalikes, fault_of, seen_as
from triptych.formats.ratings.sources import RATINGS, read_clean
from triptych.formats.tables import row_ranges
from triptych.stats.numbers import counted
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import (
    Assignment,
    AssignmentState,
    Item,
    Kind,
    Membership,
    Person,
    PlannedItem,
    Purpose,
    Role,
    Study,
    StudyState,
)
from triptych.study import contents, design, lifecycle
from triptych.study.pairing import PlanLine, connected, lines_of, proposed, raters_of
from triptych.study.settings import settings_of

HEADER = ("annotator", "item_id", "rank")
EXAMPLE = ", ".join(HEADER)
CONTENTS = Contents(EXAMPLE, RATINGS.is_header, ("csv", "tsv", "txt", "xlsx"))
UNKNOWN_PERSON = "does not take part in this study; use a pseudonym, or the name of someone who was invited"
AMBIGUOUS_PERSON = "is the name of several people in this study; use the pseudonym"
RANK_NAMES = ("rank", "order", "position")
WORK_STATES = (AssignmentState.reserved, AssignmentState.submitted, AssignmentState.surplus, AssignmentState.ignored)


@dataclass(frozen=True)
class AssignmentPlan:
    """Lines that were checked against a study; annotators are pseudonyms. A plan with warnings can be stored."""

    lines: tuple[PlanLine, ...]
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        return bool(self.lines) and not any(problem.severity == "error" for problem in self.problems)


# Reading and checking


def read(session: Session, study: Study, data: bytes, filename: str) -> AssignmentPlan:
    """The plan in a CSV or Excel file, checked against the study's people and items.

    Raises ImportRefused where the file cannot be read or has other columns.
    """
    findings = Findings()
    source = read_clean(data, filename, findings, CONTENTS)
    annotator, item, rank = _columns(source)
    lines = []
    for record in source.records:
        text = record.values.get(rank, "").strip() if rank else ""
        number = _rank(text)
        if text and number is None:
            findings.error(f"is '{text}'; a rank is a whole number, at least 1.", record.row, rank)
        who, what = (record.values.get(column, "").strip() for column in (annotator, item))
        lines.append(PlanLine(who, what, number, record.row))
    return check(session, study, lines, findings)


def _columns(source: Source) -> tuple[str, str, str | None]:
    by_name = {simple(column): column for column in reversed(source.columns)}
    columns = [
        next((by_name[n] for n in names if n in by_name), None) for names in (ANNOTATOR_NAMES, ID_NAMES, RANK_NAMES)
    ]
    if columns[0] is None or columns[1] is None:
        raise ImportRefused(f"A plan needs the columns annotator and item_id, for example: {EXAMPLE}")
    return columns[0], columns[1], columns[2]


def _rank(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 8 and int(text) > 0 else None


@dataclass(frozen=True)
class _Roster:
    """What a plan is checked against. called: folded pseudonym or name → pseudonyms; raters: item → how many."""

    called: Mapping[str, list[str]]
    raters: Mapping[str, int]
    others: Mapping[str, str]
    limit: int | None
    lookalikes: Lookalikes


def _roster(session: Session, study: Study) -> _Roster:
    called: dict[str, list[str]] = defaultdict(list)
    for pseudonym, name in session.execute(_annotators(study)):
        shown = pseudonym if study.demo else name or pseudonym  # leads of a demo study see no names
        for word in dict.fromkeys([_folded(pseudonym), _folded(shown)]):
            called[word].append(pseudonym)
    raters, others, lookalikes = raters_of(session, study), {}, Lookalikes()
    rows = select(Item.external_id, Item.purpose, Item.retired).where(Item.study_id == study.id)
    for external_id, purpose, retired in session.execute(rows):
        lookalikes.clash(external_id, "an item of this study")
        if purpose != Purpose.main or retired:
            others[external_id] = "is retired" if retired else f"is a {purpose.replace('_', ' ')} item"
    return _Roster(called, raters, others, settings_of(study).items_per_annotator, lookalikes)


def _annotators(study: Study) -> Select[str, str | None]:
    """Pseudonym and name of all annotators who may still work in the study; judges and simulated ones never do."""
    return (
        select(Person.pseudonym, Person.name)
        .join(Membership, Membership.person_id == Person.id)
        .where(
            Membership.study_id == study.id,
            Membership.role == Role.annotator,
            Membership.withdrawn_at.is_(None),
            Membership.excluded_at.is_(None),
            Membership.turned_away_at.is_(None),
            Person.kind == Kind.human,
            Person.disabled_at.is_(None),
        )
        .order_by(Person.pseudonym)
    )


def _folded(name: str) -> str:
    return seen_as(name).casefold()


def check(
    session: Session, study: Study, lines: Sequence[PlanLine], findings: Findings | None = None
) -> AssignmentPlan:
    """Check the lines of a file or a proposal; findings: problems already found while reading the file."""
    findings = findings or Findings()
    roster = _roster(session, study)
    resolved_lines = [resolved for line in lines if (resolved := _resolved(line, roster, findings)) is not None]
    once: dict[tuple[str, str], PlanLine] = {}
    for line in resolved_lines:
        first = once.setdefault((line.annotator, line.item_id), line)
        if first is not line:
            before = f"in row {first.row}" if first.row else "in the plan"
            findings.error(f"'{line.annotator}' and item '{line.item_id}' are already {before}.", line.row or None)
    lines_once = list(once.values())
    _check_raters(lines_once, roster, findings)
    _check_whole(lines_once, roster, findings)
    return AssignmentPlan(tuple(lines_once), findings.finish())


def _resolved(line: PlanLine, roster: _Roster, findings: Findings) -> PlanLine | None:
    """The line with the annotator's pseudonym; None after a problem was reported."""
    people = roster.called.get(_folded(line.annotator), [])
    item_id = line.item_id if line.item_id in roster.raters else restore_cell(line.item_id)
    row = line.row or None
    if len(people) != 1:
        findings.error(f"'{line.annotator}' {AMBIGUOUS_PERSON if people else UNKNOWN_PERSON}.", row, HEADER[0])
    if item_id not in roster.raters:
        findings.error(_wrong_item(line, item_id, roster), row, HEADER[1])
    if len(people) != 1 or item_id not in roster.raters:
        return None
    return replace(line, annotator=people[0], item_id=item_id)


def _wrong_item(line: PlanLine, item_id: str, roster: _Roster) -> str:
    """Why a line's item id is wrong: another kind of item, a look-alike of an id, or unknown."""
    if item_id in roster.others:
        return f"'{line.item_id}' {roster.others[item_id]}."
    fault = fault_of(item_id) if item_id else None
    clash = fault or roster.lookalikes.clash(item_id, f"row {line.row}" if line.row else "the plan")
    return f"the id {clash.rstrip('.')}." if clash else f"'{line.item_id}' is not an item of this study."


def _check_raters(lines: Sequence[PlanLine], roster: _Roster, findings: Findings) -> None:
    """No item may have more annotators than it has places; fewer is a warning."""
    rows: dict[str, list[int]] = defaultdict(list)
    for line in lines:
        rows[line.item_id].append(line.row)
    for item_id, where in rows.items():
        if len(where) > roster.raters[item_id]:
            rows_told = f" (rows {row_ranges(where)})" if all(where) else ""
            findings.error(
                f"item '{item_id}' has {counted(len(where), 'annotator')}{rows_told}, "
                f"but only {roster.raters[item_id]} rate it. Take lines out, or raise the annotators per item.",
                where[-1] or None,
            )
    fewer = sum(0 < len(rows.get(name, ())) < number for name, number in roster.raters.items())
    if fewer:
        findings.warning(f"{fewer:,} item(s) have fewer annotators than the study asks for.")


def _check_whole(lines: Sequence[PlanLine], roster: _Roster, findings: Findings) -> None:
    if not lines:
        return
    planned = {line.item_id for line in lines}
    left = [name for name in roster.raters if name not in planned]
    if left:
        findings.warning(f"{len(left):,} item(s) have no annotator, so nobody will rate them: {_some(left)}.")
    loads = Counter(line.annotator for line in lines)
    idle = sorted({pseudonym for people in roster.called.values() for pseudonym in people} - set(loads))
    if idle:
        findings.warning(f"{len(idle)} annotator(s) have no line and will get no items: {_some(idle)}.")
    if roster.limit:
        over = sorted(name for name, number in loads.items() if number > roster.limit)
        if over:
            findings.warning(f"An annotator rates at most {roster.limit} items; more are planned for {_some(over)}.")
    parts = connected(lines)
    if len(parts) > 1:
        groups = "; ".join(_some(part) for part in parts[:4])
        findings.warning(f"The plan falls into {len(parts)} parts that share no item: {groups}.")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (" …" if len(names) > 5 else "")


# Stored


def propose(session: Session, study: Study) -> list[PlanLine]:
    """A balanced plan for the study's current items and annotators. Raises NotAllowed if there are none."""
    roster = _roster(session, study)
    annotators = list(dict.fromkeys(pseudonym for pseudonym, _ in session.execute(_annotators(study))))
    if not annotators or not roster.raters:
        raise NotAllowed("A plan needs items and annotators: add the file and invite people first.")
    return proposed(roster.raters, annotators, roster.limit, f"{study.seed}|plan")


def store(session: Session, study: Study, lines: Sequence[PlanLine], actor: str, reason: str = "") -> None:
    """Replace the plan; without lines, items are assigned automatically again. For leads.

    After launch it is an amendment. Raises ImportRefused with a line for each mistake, Conflict for a closed study,
    NotAllowed for an amendment without a reason.
    """
    study = lifecycle.lock(session, study.id)
    if study.state == StudyState.closed:
        raise Conflict("This study is closed. Reopen it before changing who rates what.")
    if study.state != StudyState.draft and not reason.strip():
        raise NotAllowed(design.NO_REASON)
    plan = check(session, study, lines) if lines else AssignmentPlan((), ())
    if lines and not plan.ok:
        raise ImportRefused(*(str(problem) for problem in plan.problems if problem.severity == "error"))
    _refuse_crowded(session, study, plan.lines)
    before = _summary(lines_of(session, study))
    session.execute(delete(PlannedItem).where(PlannedItem.study_id == study.id))
    if plan.lines:
        session.execute(insert(PlannedItem), _rows(session, study, plan.lines))
    after = _summary(lines_of(session, study))
    if study.state == StudyState.draft:
        events.record(session, study.id, EventKind.plan_stored, actor, old=before, new=after)
    else:
        design.seal(session, study, reason, actor, {"plan": before}, {"plan": after})


def _refuse_crowded(session: Session, study: Study, lines: Sequence[PlanLine]) -> None:
    """Raise for items that would get too many raters; existing work counts, whether planned or not."""
    held = (
        select(Item.external_id, Item.raters, Person.pseudonym)
        .join(Assignment, Assignment.item_id == Item.id)
        .join(Person, Person.id == Assignment.person_id)
        .join(Membership, (Membership.person_id == Person.id) & (Membership.study_id == study.id))
        .where(
            Item.study_id == study.id,
            Assignment.purpose == Purpose.main,
            Assignment.state.in_(WORK_STATES),
            Membership.role == Role.annotator,
            Membership.excluded_at.is_(None),
        )
    )
    teams: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        teams[line.item_id].add(line.annotator)
    wrong = set()
    for item_id, raters, pseudonym in session.execute(held):
        if item_id in teams:
            teams[item_id].add(pseudonym)
            if len(teams[item_id]) > raters:
                wrong.add(item_id)
    if wrong:
        raise ImportRefused(
            f"{len(wrong)} item(s) were rated by annotators other than the planned ones, and cannot get all planned "
            f"annotators: {_some(sorted(wrong))}. Plan those who rated them, or raise the annotators per item first."
        )


def _rows(session: Session, study: Study, lines: Sequence[PlanLine]) -> list[dict[str, int]]:
    """Rows of the table; ranks are renumbered for each annotator, lines without a rank last."""
    members = select(Person.pseudonym, Person.id).join(Membership).where(Membership.study_id == study.id)
    people = dict(map(tuple, session.execute(members)))
    item_ids = select(Item.external_id, Item.id).where(Item.study_id == study.id)
    items = dict(map(tuple, session.execute(item_ids)))
    ranks: Counter[str] = Counter()
    rows = []
    for line in sorted(lines, key=lambda line: (line.rank is None, line.rank or 0)):
        ranks[line.annotator] += 1
        place = {"person_id": people[line.annotator], "item_id": items[line.item_id], "rank": ranks[line.annotator]}
        rows.append({"study_id": study.id, **place})
    return rows


def _summary(lines: Sequence[PlanLine]) -> dict[str, object]:
    """How many lines a plan has, and its hash."""
    text = contents.content_hash([[line.annotator, line.item_id, line.rank] for line in lines])
    return {"lines": len(lines), "sha256": text if lines else ""}


def as_csv(lines: Sequence[PlanLine]) -> str:
    """A plan as a table that can be edited and uploaded again; people appear by pseudonym."""
    return "".join(write_csv(((line.annotator, line.item_id, line.rank) for line in lines), HEADER))

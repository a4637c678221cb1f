"""Replays a study's log: rebuilds every row of its tables in memory from the events.

The design, people and everything that an event restates are logged as rows (`storage.rows`); annotations have the short
form of `annotate.logged`. Older versions logged less: missing values are unknown until the baseline.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Table

from triptych.annotate.logged import LoggedHighlight
from triptych.operations.folded import FoldedAnswer, FoldedStudy, FoldedWork, hidden_mark
from triptych.rubric.answers import CheckedRating, count_words
from triptych.storage.arrivals import HERE, FormerNumbers, numbers_in
from triptych.storage.events import CARRIED, DEPARTURES, HANDED_IN, EventKind, Logged
from triptych.storage.models import UNFINISHED, Assignment, JsonObject, Purpose, Rating
from triptych.storage.rows import DESIGN, TABLES, WORK, Row, as_carried, carried, shortened, unpacked
from triptych.study.saved_setting import OF_ONE_SETTING

# events whose values describe an annotation, or set one aside
ANSWERED = {*HANDED_IN, EventKind.final_value_recorded, EventKind.final_value_changed}
VALUED = ANSWERED | {EventKind.study_created}  # every version has logged values with these
ASSIGNED = ANSWERED | {EventKind.reserved, EventKind.final_value_asked_for}
BASELINES = (EventKind.baseline, EventKind.person_baseline)
# value of an annotation's event → column of the assignment
FACTS = {
    "state": "state",
    "note": "note",
    "reason": "reason",
    "seconds": "active_seconds",
    "arrangement": "arrangement",
    "at": "submitted_at",
}
GROUPS = -1  # in the place of an assignment: the values of these events name everybody in a group
PEOPLE = ("person_id", "pseudonym", "author")  # columns in which a log names people
OF_ONE_ITEM = ("item_id", "purpose")  # columns of an annotation that no version changes
FIRM = (*OF_ONE_ITEM, "person_id")  # older versions change person_id only by handing an item to another person
# kinds that are not in CARRIED → tables of which their events carry rows, those of the event's annotation
OWN: dict[str, set[str]] = {
    **dict.fromkeys((*HANDED_IN, EventKind.check_answered_again), {"assignment", "submission"}),
    **dict.fromkeys((EventKind.reserved, EventKind.imported), {"assignment", "slot"}),
}
# table → columns that no event changes after the launch: what was asked about which texts, and which system wrote them
FROZEN = {
    **{name: carried(TABLES[name]) for name in ("criterion", "option", "turn", "system", "candidate", "reference")},
    "item": ["external_id", "purpose", "context", "meta", "extra_texts", "sha256"],
    "rubric": ["sha256"],
}
# table → columns that few kinds of events change, and these kinds: other events carry such a row for its other columns
SEALED: dict[str, tuple[Sequence[str], Collection[EventKind]]] = {
    "entry_attempt": (
        ("finished_at", "passed", "right"),
        {EventKind.entry_test_failed, EventKind.entry_test_passed, *DEPARTURES, *BASELINES},
    ),
    "membership": (
        ("excluded_at", "excluded_reason", "withdrawn_at"),
        {EventKind.annotator_excluded, EventKind.annotator_reinstated, *DEPARTURES, *BASELINES},
    ),
    "person": (("kind",), BASELINES),
    "study": (("unblinded_at",), {EventKind.unblinded, *BASELINES}),
    **{name: (columns, BASELINES) for name, columns in FROZEN.items()},
}
# kinds that carry rows of several people; others of people are about one of them, or about one annotation
OF_MANY = (EventKind.study_created, EventKind.ratings_imported)
# table of somebody's rows without their number → the owner's table, and the column that refers to it
OWNERS = {"entry_attempt": ("membership", "membership_id"), "test_answer": ("entry_attempt", "attempt_id")}
OF_FINAL_VALUES = (
    EventKind.final_value_asked_for,
    EventKind.final_value_changed,
    EventKind.final_value_recorded,
    EventKind.final_value_taken_back,
)
_ASSIGNMENT = Assignment.__table__
CONTENT = ("active_seconds", "arrangement", "note", "reason", "submitted_at")  # of an annotation
# kinds that carry annotations without their ratings: they change no content, and states of unfinished ones only
OF_STATES = {
    EventKind.check_answered_again,
    *(kind for kind, tables in CARRIED.items() if _ASSIGNMENT in tables and Rating.__table__ not in tables),
}
_WORK_NAMES, _DESIGN_NAMES = ({table.name for table in tables} for tables in (WORK, DESIGN))
Rows = Mapping[str, Sequence[Row]]  # by table


def fold(log: Iterable[Logged]) -> FoldedStudy:
    """Rebuild the study from its log. Raises BrokenChain if the log was changed."""
    folding = _Fold()
    for event in log:
        folding.play(event)
    folding.number_answers()
    return folding.study


class _Fold:
    """The state of the study after the events replayed so far."""

    def __init__(self) -> None:
        self.study = FoldedStudy()
        self.of_person: dict[str, set[int]] = defaultdict(set)
        self.gone_of: dict[str | int, set[int]] = defaultdict(set)  # person or assignment → events without values
        self.tells_all = False  # an event with rows was replayed, so a current version writes the log
        self.is_complete = False  # the log had all rows before, so that a baseline adds none
        self.named: set[str] = set()  # tables of which an event had rows
        self.sealed: dict[str, dict[int, Row]] = defaultdict(dict)  # table → number → what is known of SEALED columns

    def play(self, event: Logged) -> None:
        rows = self._stated(event)
        self.tells_all |= bool(rows)
        if not event.has_values and not event.says_none and (self.tells_all or event.kind in VALUED):
            self._note_gone(event)
        if event.kind == EventKind.ratings_imported and "joined" not in event.new and not self.tells_all:
            self.study.design = None  # that version changed the items' places after computing the hash
        if event.kind == EventKind.baseline:
            self.is_complete |= self.study.baseline is not None
            self.study.baseline = self.study.baseline or (event.number, event.at)
        if event.kind in CARRIED and not rows:
            self._restate(event, CARRIED[EventKind(event.kind)], rows)
        if event.assignment_id is not None:
            self._play_work(event)
        if event.kind in CARRIED and rows:
            self._restate(event, CARRIED[EventKind(event.kind)], rows)
        elif rows:
            self._add_work(event, rows)
        if event.kind in DEPARTURES:
            self._let_go(event)
        first_open = event.kind == EventKind.study_open and self.study.design is None
        if first_open or event.kind == EventKind.design_amended:
            self.study.design = event.new, event.number
        self.is_complete |= bool(rows) and event.kind not in BASELINES
        self.named |= rows.keys()

    def _note_gone(self, event: Logged) -> None:
        work = self.study.works.get(event.assignment_id or 0, FoldedWork())
        people = {event.subject, work.row.get("person_id", ""), event.actor if event.assignment_id else ""}
        self.study.gone[event.number] = event.assignment_id
        # by everybody who may take the values with them: there may be thousands of events and departures
        of_groups = event.kind == EventKind.annotators_grouped
        keys: tuple[str | int, ...] = (*people, event.assignment_id or 0, *[GROUPS] * of_groups)
        for key in keys:
            self.gone_of[key].add(event.number)

    def _let_go(self, departure: Logged) -> None:
        """Missing values are no error if they belonged to somebody who then left."""
        self.study.departures[departure.subject] = departure.number
        is_erased = departure.kind == EventKind.person_erased
        own = self.of_person[departure.subject]
        keys: tuple[str | int, ...] = (departure.subject, *own, *[GROUPS] * is_erased)
        numbers = {number for key in keys for number in self.gone_of.pop(key, set())}
        with_them = [self.study.gone.pop(number) for number in numbers & self.study.gone.keys()]
        self.study.erased |= {assignment_id for assignment_id in with_them if assignment_id is not None}

    # Annotations

    def _play_work(self, event: Logged) -> None:
        number, new = event.assignment_id or 0, event.new
        work = self.study.works.setdefault(number, FoldedWork())
        work.number = event.number
        if event.kind in ASSIGNED and "order" in new:
            purpose = {"purpose": new["purpose"]} if "purpose" in new else {}
            work.row |= {"item_id": event.origin.moved(new["item"]), "person_id": event.actor, **purpose}
            self.of_person[event.actor].add(number)
            work.slots = {
                place: {"assignment_id": number, "position": place, "candidate_id": event.origin.moved(candidate)}
                for place, candidate in enumerate(new["order"])
            }
            work.answers, work.highlights = (), ()
        if event.kind in (EventKind.reserved, EventKind.imported) and event.rows:
            work.submissions = {}
        if event.kind in ANSWERED and not event.has_values:
            work.answers = work.highlights = None
        elif event.kind in ANSWERED or (event.kind == EventKind.final_value_taken_back and "ratings" in new):
            self._answer(work, new)

    def _answer(self, work: FoldedWork, new: JsonObject) -> None:
        facts = {column: new[name] for name, column in FACTS.items() if name in new}
        if "version" in new:
            facts["version"] = new["version"] + 1  # of the next submission
        if not self.tells_all:  # older versions do not log all that an answer changes: the rest becomes unknown
            for column in {*FACTS.values(), "version"} & work.row.keys():
                del work.row[column]
        work.row |= as_carried(_ASSIGNMENT, facts, {})
        aside = dict(new.get("set_aside", ()))
        for place, slot in work.slots.items():
            slot["set_aside"] = aside.get(place) and shortened(aside[place])
        work.answers = [_answered(CheckedRating(*rating)) for rating in new.get("ratings", ())]
        work.highlights = [hidden_mark(LoggedHighlight(*mark)) for mark in new.get("highlights", ())]

    # Rows

    def _stated(self, event: Logged) -> Rows:
        """The rows that the event carries; those of a final value only if its annotation is not known for another."""
        work = self.study.works.get(event.assignment_id or 0, FoldedWork())
        is_final = event.assignment_id and work.row.get("purpose", Purpose.adjudication) == Purpose.adjudication
        if not is_final and event.kind in OF_FINAL_VALUES:
            return {}
        carried_rows = _rows_of(event)
        return {name: [row for row in part if self._is_own(event, name, row)] for name, part in carried_rows.items()}

    def _is_own(self, event: Logged, name: str, row: Row) -> bool:
        """Whether a row may be of the event's annotation, or else of its person, if it has one.

        A row that was known as somebody else's is not theirs. The row of its owner may be unknown: the last event of a
        transaction carries it.
        """
        if event.assignment_id is not None:
            return (row["id"] if name == "assignment" else row.get("assignment_id")) in (None, event.assignment_id)
        if event.subject:
            both = [there for there in (row, self._known(name, row)) if there]
            return {self._pseudonym(name, there) for there in both} <= {None, event.subject}
        return name in _DESIGN_NAMES or event.kind in OF_MANY

    def _known(self, name: str, row: Row) -> Row:
        """What is known of the row's number, for tables whose numbers are not used again without an event."""
        if name == "assignment":
            return self.study.works.get(row["id"], FoldedWork()).row
        return self.study.tables[name].get(row["id"], {}) if name in ("membership", "entry_attempt") else {}

    def _restate(self, event: Logged, tables: Sequence[Table], rows: Rows) -> None:
        """Replace rows of these tables in the event's scope by the event's rows; without any, they become unknown."""
        names = {table.name for table in tables} | rows.keys()
        if event.assignment_id is None:
            self._replace(event, names - _WORK_NAMES, rows)
        works = self._works_of(event, rows)
        if event.kind in BASELINES and "assignment" in rows:
            added = [row for row in rows["assignment"] if row["id"] not in self.study.works]
            self._note_added("assignment", added)
        before = {number: self.study.works.get(number, FoldedWork()) for number in works}
        for number in works:
            self.study.works[number] = _forgetful(before[number], names, event)
        self._add_work(event, rows)
        if event.kind in DEPARTURES:
            self._keep_ratings(before)
        for number in works:
            self.study.works[number].number = event.number
            if event.kind in BASELINES and rows:
                self.study.restated.append((number, before[number], _snapshot(self.study.works[number])))

    def _keep_ratings(self, before: Mapping[int, FoldedWork]) -> None:
        """Who leaves takes texts, or whole annotations, with them: a rating that stays is the one that was known."""
        numbers = self._numbers()
        for number, earlier in before.items():
            answers = (_numbered(answer, *numbers) for answer in earlier.answers or ())
            known = {answer[:2]: answer for answer in answers}
            work = self.study.works[number]
            work.answers = work.answers and [
                known.get(answer[:2], answer)._replace(reasons=answer.reasons, text=answer.text, words=answer.words)
                for answer in work.answers
            ]

    def _works_of(self, event: Logged, rows: Rows) -> set[int]:
        if event.assignment_id is not None:
            return {event.assignment_id}
        stated = {row["id"] for row in rows.get("assignment", ())}
        if not event.subject:
            return stated
        works = {number: self.study.works[number] for number in self.of_person[event.subject]}
        # final values may have been handed over to somebody else since
        return stated | {number for number, work in works.items() if work.row.get("person_id") == event.subject}

    def _replace(self, event: Logged, names: set[str], rows: Rows) -> None:
        leaving = {
            name: [
                number
                for number, row in self.study.tables[name].items()
                if not event.subject or self._pseudonym(name, row) == event.subject
            ]
            for name in names
        }
        for name in names:
            left = {number: self.study.tables[name].pop(number) for number in leaving[name]}
            stated = self._sealed(event, name, left, rows.get(name, ()))
            self.study.tables[name] |= stated
            if event.kind in BASELINES and rows:
                self.study.replaced += [(name, row, stated.get(number)) for number, row in left.items()]
                self._note_added(name, [row for number, row in stated.items() if number not in left])

    def _sealed(self, event: Logged, name: str, left: Iterable[int], rows: Iterable[Row]) -> dict[int, Row]:
        """The stated rows by number, with what is known of columns that events of this kind do not change."""
        stated = {row["id"]: row for row in rows}
        columns, kinds = SEALED.get(name, ((), ()))
        if event.kind in kinds or (name in FROZEN and self.study.design is None):
            for number in {*left, *stated}:
                self.sealed[name].pop(_held_as(name, number), None)
        for number, row in stated.items() if columns else ():
            now = {column: row[column] for column in columns if column in row}
            stated[number] = row | self.sealed[name].setdefault(_held_as(name, number), now)
        return stated

    def _note_added(self, name: str, added: Iterable[Row]) -> None:
        """Rows that only a baseline has are a fault if the log before it had all rows of the table."""
        if not self.is_complete or name not in self.named:
            return
        for row in added:
            attempt = self.study.tables["entry_attempt"].get(row.get("attempt_id", 0))
            if attempt is None or attempt["finished_at"]:  # answers of a test that is not handed in have no event
                self.study.replaced.append((name, None, row))

    def _pseudonym(self, name: str, row: Row) -> str | None:
        """The person that a row belongs to, if known; a comment belongs to the annotator of its annotation."""
        if "assignment_id" in row:
            work = self.study.works.get(row["assignment_id"])
            return None if work is None else work.row.get("person_id")
        if name == "person":
            return row.get("pseudonym")
        if "person_id" in row:
            return row["person_id"]
        parent, column = OWNERS.get(name, ("", ""))
        owner = self.study.tables[parent].get(row[column]) if parent else None
        return None if owner is None else self._pseudonym(parent, owner)

    def _add_work(self, event: Logged, rows: Rows) -> None:
        """Add rows of assignments and their parts to what is known."""
        works = self.study.works
        for row in rows.get("assignment", ()):
            work = works.setdefault(row["id"], FoldedWork())
            firm = *OF_ONE_ITEM, *_unchanged(event, work)
            work.row |= row | {name: work.row[name] for name in firm if name in work.row}
            if "person_id" in row:
                self.of_person[row["person_id"]].add(row["id"])
        for row in rows.get("slot", ()):
            works[row["assignment_id"]].slots.setdefault(row["position"], {}).update({"set_aside": None, **row})
        for row in rows.get("submission", ()):
            work = works[row["assignment_id"]]
            if work.submissions is not None:
                work.submissions[row["id"]] = row
        if "rating" in rows:
            self._add_answers(rows)
        for name in {"comment", "person"} & rows.keys():
            self.study.tables[name] |= self._sealed(event, name, (), rows[name])

    def _add_answers(self, rows: Rows) -> None:
        """Add ratings, explanations and highlights from rows, in which texts are digests."""
        explained = {row["rating_id"]: row for row in rows["explanation"]}
        none: Row = {"reasons": None, "text": None, "words": None}
        answers: dict[int, list[FoldedAnswer]] = defaultdict(list)
        for row in rows["rating"]:
            why = explained.get(row["id"], none)
            shown = row["position"], row["criterion_id"], row["number"], row["option_id"], bool(row["missing"])
            answers[row["assignment_id"]].append(FoldedAnswer(*shown, why["reasons"], why["text"], why["words"]))
        marks: dict[int, list[LoggedHighlight]] = defaultdict(list)
        for row in rows["highlight"]:
            marks[row["assignment_id"]].append(_mark(row))
        for number in answers.keys() | marks.keys():
            work = self.study.works[number]
            work.answers, work.highlights = answers[number], marks[number]

    def number_answers(self) -> None:
        """Replace the keys of criteria and options in answers by their numbers."""
        restated = [work for _, *both in self.study.restated for work in both]
        works = {id(work): work for work in (*restated, *self.study.works.values())}
        numbers = self._numbers()
        for work in works.values():
            work.answers = work.answers and [_numbered(answer, *numbers) for answer in work.answers]

    def _numbers(self) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """The numbers of criteria and of options, by their keys."""
        tables = self.study.tables
        options = {(row["criterion_id"], row["key"]): number for number, row in tables["option"].items()}
        return {row["key"]: number for number, row in tables["criterion"].items()}, options


def _rows_of(event: Logged) -> Rows:
    """Table → the rows that the event carries, with the numbers and pseudonyms of this database.

    Without rows that no event of its kind carries: who edits a table may have added an event that seems harmless.
    """
    parts = json.loads(event.rows) if event.rows else {}
    tables = _tables_of(event)
    return {
        name: [_present(name, row, event.origin) for row in unpacked(part)]
        for name, part in parts.items()
        if name in tables
    }


def _tables_of(event: Logged) -> set[str]:
    """Names of the tables of which an event of this kind may carry rows."""
    if event.kind not in CARRIED:
        return OWN.get(event.kind, set()) if event.assignment_id is not None else set()
    further = DESIGN if event.kind in OF_ONE_SETTING else ()
    return {table.name for table in (*CARRIED[EventKind(event.kind)], *further)}


def _held_as(name: str, number: int) -> int:
    """The key of a row in what is known of its held columns: a study's only rubric has another number elsewhere."""
    return 0 if name == "rubric" else number


def _present(table: str, row: Row, origin: FormerNumbers) -> Row:
    """A row of the log, which may have only some of its table's columns."""
    if origin is HERE:
        return row
    numbers = {column: origin.moved(row[column]) for column in numbers_in(TABLES[table]) if column in row}
    named = [column for column in PEOPLE if column in row]
    people = origin.present(row[column] for column in named)
    return {**row, **numbers, **dict(zip(named, people, strict=True))}


def _unchanged(event: Logged, work: FoldedWork) -> tuple[str, ...]:
    """Columns of an annotation that the event carries but does not change."""
    if event.kind not in OF_STATES:
        return ()
    # reinstating somebody can make others' finished annotations surplus
    may_change = work.row.get("state") in UNFINISHED or event.kind == EventKind.annotator_reinstated
    return CONTENT if may_change else (*CONTENT, "state")


def _snapshot(work: FoldedWork) -> FoldedWork:
    """A copy that later events do not change."""
    slots = {place: dict(slot) for place, slot in work.slots.items()}
    submissions = None if work.submissions is None else dict(work.submissions)
    return replace(work, row=dict(work.row), slots=slots, submissions=submissions)


def _forgetful(work: FoldedWork, names: set[str], event: Logged) -> FoldedWork:
    """The work without the values that the event sets or whose logged values were deleted."""
    kept = [name for name in (*FIRM, *_unchanged(event, work)) if event.assignment_id is None or name != "person_id"]
    after = FoldedWork(work.row, work.slots, work.submissions, work.answers, work.highlights)
    if "assignment" in names:
        after.row = {name: work.row[name] for name in kept if name in work.row}
    if "slot" in names:
        firm = ("assignment_id", "position", "candidate_id")
        after.slots = {place: {name: slot[name] for name in firm} for place, slot in work.slots.items()}
        if event.rows:
            after.slots = {}
    if "submission" in names:
        after.submissions = {} if event.rows else None
    if "rating" in names:
        after.answers, after.highlights = ((), ()) if event.rows else (None, None)
    return after


def _numbered(answer: FoldedAnswer, criteria: Mapping[Any, Any], options: Mapping[Any, Any]) -> FoldedAnswer:
    criterion = criteria.get(answer.criterion_id, answer.criterion_id)
    option = answer.option_id and options.get((criterion, answer.option_id), answer.option_id)
    return answer._replace(criterion_id=criterion, option_id=option)


def _answered(rating: CheckedRating) -> FoldedAnswer:
    is_explained = rating.reasons or rating.text
    why = (rating.reasons, rating.text, count_words(rating.text)) if is_explained else (None, None, None)
    # as in the rows of criteria and options, which are searched for these keys
    criterion, option = shortened(rating.criterion), rating.option and shortened(rating.option)
    return FoldedAnswer.of(rating.position, criterion, rating.number, option, bool(rating.missing), *why)


def _mark(row: Row) -> LoggedHighlight:
    place = row["position"], row["turn"], row["start"], row["end"]
    quote = row["quote"] if row["start"] is None else None
    return LoggedHighlight(*place, row["label"], row["comment"], quote, row.get("unit"))

"""Annotating in a spreadsheet: creating a blinded workbook for one annotator, and importing the filled one. A workbook
contains items reserved until the annotator hands them in or the lead cancels it. A filled workbook is checked line by
line and stored by the same commands as the workbench's messages. Commands lock the annotator's membership, like
everything that reserves or stores for one person; the study is locked at commit.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import case, func, select
from sqlmodel import Session

from triptych import clock
from triptych.annotate import blinding, reservations
from triptych.annotate.annotations import SET_ASIDE_AS, SetAsideMessage, SubmitMessage, hand_in, read_message
from triptych.annotate.blinding import SeenContext, SeenTurn
from triptych.errors import Conflict, ImportRefused, NotAllowed, NotFound, StudyNotOpen
from triptych.formats.workbook.checking import CellProblem, ReadItem, check_filled
from triptych.formats.workbook.reading import FilledWorkbook
from triptych.formats.workbook.writing import MAX_TEXT_CHARACTERS, WorkbookContents, WorkbookItem, write_book
from triptych.languages import language
from triptych.languages.language import _
from triptych.people import joining, languages, roster
from triptych.people import membership as members
from triptych.rubric.answers import check_answers, parse_answers
from triptych.stats.numbers import counted
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import (
    FINISHED,
    RATED,
    SEEN,
    Assignment,
    AssignmentState,
    Membership,
    Person,
    Purpose,
    Role,
    Study,
    StudyState,
    Submission,
    TextView,
    Workbook,
)
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import AFTER_WITHDRAWAL, SHARED, Consent, settings_of

MAX_ITEMS = 300
PEN = "workbook"  # in place of a browser tab, so that later edits in a browser can be recognised
NOTHING_NEW = "Nothing is filled in; the answers handed in earlier for this item stay."
NOT_BEGUN = "Nothing is filled in for this item."


@dataclass(frozen=True)
class WorkbookLine:
    """A workbook in the lead's list: its annotator, how many items it holds and how many of them are handed in."""

    id: int
    pseudonym: str
    made_at: datetime
    returned_at: datetime | None
    cancelled_at: datetime | None
    items: int
    done: int

    @property
    def state(self) -> str:
        if self.cancelled_at is not None:
            return "cancelled"
        if self.done == self.items:
            return "handed in"
        return "handed in in part" if self.done else "given out"


@dataclass(frozen=True)
class Returned:
    """What a filled workbook would do.

    findings: by row; messages: one for each item to store; unchanged: items stored before with the same answers.
    """

    pseudonym: str
    items: int
    findings: tuple[CellProblem, ...]
    messages: tuple[SubmitMessage | SetAsideMessage, ...]
    unchanged: int

    @property
    def ok(self) -> bool:
        return not any(finding.severity == "error" for finding in self.findings)

    @property
    def only_unfinished(self) -> bool:
        """Whether the only errors are items that were not begun."""
        return not self.ok and all(f.severity != "error" or f.what == NOT_BEGUN for f in self.findings)


@dataclass(frozen=True)
class Stored:
    """Result of importing a workbook; importing the same unchanged workbook again gives the same receipt."""

    pseudonym: str
    stored: int
    unchanged: int
    receipt: str


def listed(session: Session, study: Study) -> list[WorkbookLine]:
    """The study's workbooks, newest first."""
    done = func.coalesce(func.sum(case((Assignment.state.in_(SEEN), 1), else_=0)), 0)
    query = (
        select(
            Workbook.id,
            Person.pseudonym,
            Workbook.made_at,
            Workbook.returned_at,
            Workbook.cancelled_at,
            func.count(Assignment.id),
            done,
        )
        .join(Person, Person.id == Workbook.person_id)
        .outerjoin(Assignment, Assignment.workbook_id == Workbook.id)
        .where(Workbook.study_id == study.id)
        .group_by(Workbook.id, Person.pseudonym)
        .order_by(Workbook.id.desc())
    )
    return [WorkbookLine(*row) for row in session.execute(query)]


def eligible(session: Session, study: Study) -> list[str]:
    """Pseudonyms of the annotators who may get a workbook."""
    return list(session.scalars(members.select_at_work(study, Person.pseudonym).order_by(Person.pseudonym)))


def make_for_new(session: Session, study: Study, name: str, count: int, actor: str) -> WorkbookLine:
    """As `make`, for a person by name, who becomes an annotator of the study if they are not one."""
    return make(session, study, joining.annotator_called(session, study, name).pseudonym, count, actor)


def make(session: Session, study: Study, pseudonym: str, count: int, actor: str) -> WorkbookLine:
    """Reserves the annotator's next items, at most `count`, for a new workbook.

    Raises NotFound for a pseudonym that is not in the study, StudyNotOpen, NotAllowed for an annotator who may not
    continue or an invalid count, Conflict if no item is left for them, ImportRefused for a text that no cell can hold.
    """
    who = _annotator(session, study, pseudonym)
    study = session.get_one(Study, study.id)
    if study.state != StudyState.open:
        raise StudyNotOpen("Workbooks can be created while the study is open. Open it first.")
    if not 1 <= count <= MAX_ITEMS:
        raise NotAllowed(f"A workbook can contain 1 to {MAX_ITEMS} items.")
    count = min(count, _available_for(session, study, who))
    made = Workbook(study_id=study.id, person_id=who.person_id, token=secrets.token_hex(8), made_at=clock.now())
    session.add(made)
    session.flush()
    taken = reservations.reserve_for_workbook(session, study, who, count, made.id)
    if not taken:
        raise Conflict(f"There is no item left for {pseudonym}: all are taken, or they have seen them.")
    _refuse_long_texts(_book(session, study, made, who, ask_consent=False))
    new = {"workbook": made.id, "items": len(taken)}
    events.record(session, study.id, EventKind.workbook_made, actor, subject=pseudonym, new=new)
    return WorkbookLine(made.id, pseudonym, made.made_at, None, None, len(taken), 0)


def _annotator(session: Session, study: Study, pseudonym: str) -> Who:
    """The annotator, with their membership locked. Raises NotFound, NotAllowed if they can no longer annotate."""
    membership, person = roster.find(session, study, pseudonym)
    ends = {
        "was excluded": membership.excluded_at,
        "has withdrawn": membership.withdrawn_at,
        "was turned away": membership.turned_away_at,
    }
    for what, at in ends.items():
        if at is not None:
            raise NotAllowed(f"{pseudonym} {what} on {at:%Y-%m-%d}, so no workbook can be created or handed in.")
    return Who(person.id, person.pseudonym, person.role, person.name, 0)


def _available_for(session: Session, study: Study, who: Who) -> int:
    """How many more items they may have under the study's limit."""
    limit = settings_of(study).items_per_annotator
    if limit is None:
        return MAX_ITEMS
    live = Assignment.state.in_([*FINISHED, AssignmentState.reserved])
    own = (
        (Assignment.study_id == study.id)
        & (Assignment.person_id == who.person_id)
        & (Assignment.purpose == Purpose.main)
    )
    available = limit - session.execute(select(func.count()).where(own, live)).scalar_one()
    if available < 1:
        raise Conflict(f"{who.pseudonym} has the {counted(limit, 'item')} that this study allows for one annotator.")
    return available


def _refuse_long_texts(book: WorkbookContents) -> None:
    for number, item in enumerate(book.items, 1):
        texts = [item.context, *(text for _, text in item.extra_texts), *item.responses]
        if any(len(text) > MAX_TEXT_CHARACTERS for text in texts):
            raise ImportRefused(
                f"Item {number} of this workbook has a text of more than {MAX_TEXT_CHARACTERS:,} characters, which "
                f"does not fit into a spreadsheet cell. This study has to be annotated in the browser."
            )


def file_name(session: Session, study: Study, workbook_id: int) -> str:
    """The name of a workbook's file. Raises NotFound, Conflict."""
    workbook, who = _workbook(session, study, workbook_id)
    return f"workbook-{workbook.id}-{who.pseudonym}.xlsx"


def file_of(session: Session, study: Study, workbook_id: int) -> bytes:
    """A workbook as given to its annotator, with empty answer cells. Raises as `file_name`."""
    workbook, who = _workbook(session, study, workbook_id)
    with language.using(languages.of_person(session, who.person_id, study, None)):
        return write_book(_book(session, study, workbook, who, _asks_consent(session, study, who)))


def cancel(session: Session, study: Study, workbook_id: int, actor: str) -> int:
    """Frees the items that the workbook still holds and returns how many. Annotations handed in stay.

    Raises NotFound, Conflict if it was cancelled before or everything was handed in.
    """
    workbook, who = _workbook(session, study, workbook_id)
    members.locked_membership(session, study.id, who)
    freed = reservations.free_workbook(session, workbook.id)
    if not freed:
        raise Conflict("All items of this workbook were handed in; there is nothing to release.")
    workbook.cancelled_at = clock.now()
    new = {"workbook": workbook.id, "items": freed}
    events.record(session, study.id, EventKind.workbook_cancelled, actor, subject=who.pseudonym, new=new)
    return freed


def _workbook(session: Session, study: Study, workbook_id: int) -> tuple[Workbook, Who]:
    query = select(Workbook, Person).join(Person, Person.id == Workbook.person_id)
    row = session.execute(query.where(Workbook.id == workbook_id, Workbook.study_id == study.id)).first()
    if row is None:
        raise NotFound("There is no such workbook in this study.")
    workbook, person = row
    if workbook.cancelled_at is not None:
        on = f"{workbook.cancelled_at:%Y-%m-%d}"
        raise Conflict(f"This workbook was cancelled on {on} and its items were released. Create a new one.")
    return workbook, Who(person.id, person.pseudonym, person.role, person.name, 0)


def _asks_consent(session: Session, study: Study, who: Who) -> bool:
    consent = settings_of(study).consent
    own = (Membership.study_id == study.id) & (Membership.person_id == who.person_id)
    version = session.scalars(select(Membership.consent_version).where(own, Membership.role == Role.annotator)).first()
    return bool(consent.text) and version != consent.version


def _assignments_of(session: Session, workbook: Workbook) -> list[Assignment]:
    """The workbook's assignments, in the order of its items."""
    own = select(Assignment).where(Assignment.workbook_id == workbook.id)
    return list(session.scalars(own.order_by(Assignment.id).execution_options(populate_existing=True)))


def _book(session: Session, study: Study, workbook: Workbook, who: Who, ask_consent: bool) -> WorkbookContents:
    settings = settings_of(study)
    rubric = lifecycle.design_of(session, study).rubric.in_language(language.used())
    return WorkbookContents(
        token=workbook.token,
        title=study.title,
        annotator=who.pseudonym,
        rubric=rubric,
        round=study.round,
        guidelines=[(title, text) for title, text in _guidelines(study) if text],
        items=[
            _book_item(_row_token(workbook, assignment), blinding.seen_item(session, rubric, study.round, assignment))
            for assignment in _assignments_of(session, workbook)
        ],
        consent=_consent_text(settings.consent) if ask_consent else "",
    )


def _consent_text(consent: Consent) -> str:
    """The consent text, what a withdrawal deletes, and what will be published."""
    promises = [AFTER_WITHDRAWAL[consent.after_withdrawal], *filter(None, [SHARED.get(consent.sharing)])]
    return "\n\n".join([consent.text, *map(_, promises)])


def _guidelines(study: Study) -> Iterator[tuple[str, str]]:
    """The study's texts in addition to its rubric."""
    settings = settings_of(study)
    yield _("From the lead"), settings.instructions
    yield _("Please note"), settings.content_note
    yield _("Questions?"), settings.contact
    yield _("Complaints"), settings.ethics.complaints
    yield _("Approved"), settings.ethics.approval
    yield _("Data are stored until"), f"{settings.ethics.stored_until or ''}"


def _row_token(workbook: Workbook, assignment: Assignment) -> str:
    """Identifies an assignment inside its workbook; the token used on the web must not be in the file."""
    return hashlib.blake2b(f"{workbook.token}|{assignment.token}".encode(), digest_size=8).hexdigest()


def _book_item(token: str, seen: blinding.SeenItem) -> WorkbookItem:
    extras = seen.context.extra_texts if seen.context else ()
    return WorkbookItem(
        token=token,
        context=_context(seen.context),
        extra_texts=[(extra.title, extra.text) for extra in extras],
        responses=[_text(candidate.text, candidate.turns) for candidate in seen.candidates],
    )


def _text(text: str | None, turns: Sequence[SeenTurn]) -> str:
    """A text, or turns with their speakers, as one cell shows it."""
    return "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns) if turns else text or ""


def _context(context: SeenContext | None) -> str:
    if context is None:
        return ""
    facts = [f"{fact.title}: {fact.value}" for fact in context.facts]
    stars = [_("{number} of 5 stars", number=f"{context.stars:g}")] if context.stars is not None else []
    return "\n".join([*stars, *facts, _text(context.text, context.turns)])


def check(session: Session, study: Study, filled: FilledWorkbook, *, partly: bool = False) -> Returned:
    """Check a filled workbook line by line and return what importing it would change. Stores nothing.

    partly: items that were not begun are left for later instead of being errors. Raises ImportRefused for a workbook of
    another study, Conflict for a cancelled workbook, NotAllowed if its annotator may not continue.
    """
    workbook, who = _given_out(session, study, filled)
    with language.using(filled.language):
        return _checked(session, study, filled, workbook, who, partly)


def take_back(session: Session, study: Study, filled: FilledWorkbook, actor: str, *, partly: bool = False) -> Stored:
    """Stores all changes of a filled workbook, or none if it has an error.

    Raises what `check` raises, ImportRefused if there is an error, StudyNotOpen.
    """
    workbook, who = _given_out(session, study, filled)
    study = session.get_one(Study, study.id)
    try:
        lifecycle.refuse_unless_writable(study)
    except StudyNotOpen as refusal:
        raise StudyNotOpen(f"The study is {study.state}. Open it again, then upload the workbook.") from refusal
    with language.using(filled.language):
        returned = _checked(session, study, filled, workbook, who, partly)
    if not returned.ok:
        raise ImportRefused("The workbook still has errors, so nothing was stored. Correct them and upload it again.")
    if _asks_consent(session, study, who):
        joining.consent(session, study, who, settings_of(study).consent.version)
    for message in returned.messages:
        hand_in(session, who, message)
    receipt = _receipt(session, workbook)
    if returned.messages:
        workbook.returned_at = clock.now()
        new = {"workbook": workbook.id, "stored": len(returned.messages), "receipt": receipt}
        events.record(session, study.id, EventKind.workbook_handed_in, actor, subject=who.pseudonym, new=new)
    return Stored(who.pseudonym, len(returned.messages), returned.unchanged, receipt)


def _given_out(session: Session, study: Study, filled: FilledWorkbook) -> tuple[Workbook, Who]:
    """The workbook this file is a copy of. Raises ImportRefused for any other file, and what `_annotator` raises."""
    workbook = session.scalars(select(Workbook).where(Workbook.token == filled.token)).first()
    if workbook is None:
        raise ImportRefused("This workbook was not made here, or its study was removed. Nothing of it can be stored.")
    if workbook.study_id != study.id:
        raise ImportRefused("This workbook belongs to another study. Choose that study above, then upload it again.")
    _, who = _workbook(session, study, workbook.id)
    return workbook, _annotator(session, study, who.pseudonym)


def _checked(
    session: Session, study: Study, filled: FilledWorkbook, workbook: Workbook, who: Who, partly: bool
) -> Returned:
    book = _book(session, study, workbook, who, _asks_consent(session, study, who))
    read = check_filled(filled, book)
    assignments = {_row_token(workbook, assignment): assignment for assignment in _assignments_of(session, workbook)}
    responses = {item.token: len(item.responses) for item in book.items}
    in_browser = _edited_in_browser(session, workbook)
    findings, messages, unchanged = list(read.findings), [], 0
    for item in read.items:
        assignment = assignments[item.token]
        if item.answers is None and item.way_out is None:
            findings += _not_begun(assignment, item, partly)
        elif _is_stored(book, assignment, item, responses[item.token]):
            unchanged += 1
        elif assignment.id in in_browser:
            findings.append(_browser_edit(item, in_browser[assignment.id]))
        else:
            messages.append(_message(assignment, item))
    findings.sort(key=lambda finding: finding.row or 0)
    return Returned(who.pseudonym, len(assignments), tuple(findings), tuple(messages), unchanged)


def _not_begun(assignment: Assignment, item: ReadItem, partly: bool) -> list[CellProblem]:
    if assignment.state in SEEN:
        return [CellProblem("note", item.row, "", NOTHING_NEW)]
    right = "" if partly else "Fill it in, or give a reason for leaving it out."
    return [CellProblem("note" if partly else "error", item.row, "", NOT_BEGUN, right)]


def _browser_edit(item: ReadItem, at: datetime) -> CellProblem:
    what = f"This item was changed in the browser on {at:%Y-%m-%d}. That version is kept."
    return CellProblem("warning", item.row, "", what, "To change it again, use the browser.")


def _edited_in_browser(session: Session, workbook: Workbook) -> dict[int, datetime]:
    """Assignment → time of its last version, for assignments whose last version came from a browser."""
    query = select(Submission.assignment_id, Submission.pen, Submission.received_at).join(
        Assignment, Assignment.id == Submission.assignment_id
    )
    ordered = query.where(Assignment.workbook_id == workbook.id).order_by(Submission.version)
    last = {number: (pen, at) for number, pen, at in session.execute(ordered)}
    return {number: at for number, (pen, at) in last.items() if pen != PEN}


def _is_stored(book: WorkbookContents, assignment: Assignment, item: ReadItem, responses: int) -> bool:
    """Whether these answers are stored already."""
    if item.way_out is not None:
        kind, reason = item.way_out
        before = assignment.state, assignment.reason, assignment.note
        return before == (SET_ASIDE_AS[kind], reason, item.note or None)
    if assignment.state not in RATED or assignment.draft is None or assignment.pen is not None:
        return False  # with a pen, the draft is a later one of a browser, which was not submitted
    stored, now = (
        check_answers(book.rubric, book.round, responses, parse_answers(answers))
        for answers in (assignment.draft, item.answers)
    )
    return (stored.ratings, stored.set_aside, stored.note) == (now.ratings, now.set_aside, now.note)


def _message(assignment: Assignment, item: ReadItem) -> SubmitMessage | SetAsideMessage:
    """The message that the workbench would send for this item, without active seconds, which nothing measured."""
    sent = {
        "assignment": assignment.token,
        "version": assignment.version,
        "pen": PEN,
        "base": assignment.draft_seq,
        "submission": f"{item.token}-{assignment.version}",
        "text_view": TextView.written,
        "language": language.used(),
    }
    if item.way_out is not None:
        kind, reason = item.way_out
        return read_message(SetAsideMessage, {**sent, "kind": kind, "reason": reason, "text": item.note})
    return read_message(SubmitMessage, {**sent, "kind": "submit", "answers": item.answers})


def _receipt(session: Session, workbook: Workbook) -> str:
    versions = [f"{_row_token(workbook, work)} {work.version}" for work in _assignments_of(session, workbook)]
    return hashlib.sha256("\n".join(versions).encode()).hexdigest()[:12]

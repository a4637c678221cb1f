"""Comments: leads' questions to an annotator about one of their annotations, and the answers. A thread belongs to one
annotation, so that nobody else can read it. It changes no rating; ratings changed after a comment are reported as a
finding (`results.caveats`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from sqlalchemy import Row, Select, select
from sqlmodel import Session

from triptych import clock
from triptych.annotate import assignments
from triptych.annotate.blinding import SeenItem, seen_item
from triptych.annotate.own_items import own_items
from triptych.errors import Conflict, NotAllowed, NotFound
from triptych.languages.language import _
from triptych.people import roster
from triptych.people.membership import HAS_LEFT, locked_membership
from triptych.rubric.answers import letter
from triptych.rubric.scales import as_typed
from triptych.storage import events
from triptych.storage.answers import select_answers
from triptych.storage.events import EventKind
from triptych.storage.models import (
    SEEN,
    Assignment,
    Comment,
    Item,
    Kind,
    Membership,
    Option,
    Person,
    Purpose,
    Rating,
    StoredCriterion,
    Study,
    System,
    annotators_part,
)
from triptych.study import lifecycle
from triptych.study.lint import giveaways
from triptych.study.persons import Who

LONGEST_COMMENT = 2000  # characters
MAX_ANSWERS = 20  # to one comment of a lead; pages draw each of them
CommentRow = tuple[int, str, str, str, datetime, str]  # assignment, annotator, item, author, time, text


@dataclass(frozen=True)
class ThreadComment:
    """One comment; from_lead: a lead wrote it, else the annotator whose annotation it is about."""

    author: str
    from_lead: bool
    at: datetime
    text: str


@dataclass(frozen=True)
class Thread:
    """The comments about one annotation, oldest first."""

    annotator: str
    item: str
    comments: tuple[ThreadComment, ...]

    @property
    def is_waiting(self) -> bool:
        """Whether the annotator has not answered the last comment."""
        return self.comments[-1].from_lead


@dataclass(frozen=True)
class GivenRating:
    """One rating by the annotator; letter: of the response, empty about the item; criterion: its title."""

    letter: str
    criterion: str
    value: str


@dataclass(frozen=True)
class OwnThread:
    """A thread as its annotator reads it, with the item and their ratings; number: the item's in their own order."""

    number: int
    token: str
    thread: Thread
    item: SeenItem
    given: tuple[GivenRating, ...]


def ask(session: Session, study: Study, item: str, pseudonym: str, text: str, who: Who) -> None:
    """Stores a lead's comment on an annotator's annotation of the item.

    Raises NotFound for somebody who has not finished the item, or who left the study; NotAllowed for a text that is
    empty, too long or names a system.
    """
    roster.find(session, study, pseudonym)  # locked, so that no comment is stored while they leave the study
    study = lifecycle.lock(session, study.id)
    own = _askable(study, item, who).where(Person.pseudonym == pseudonym)
    row = session.execute(own).first()
    if row is None:
        raise NotFound(f"{pseudonym} is not an annotator of this study who has finished this item.")
    neat = _read_text(text)
    named = giveaways.systems_named(neat, session.scalars(select(System.name).where(System.study_id == study.id)))
    if named:
        raise NotAllowed("The comment contains the name of a system, which annotators must not learn. Leave it out.")
    _store(session, study, row.id, neat, who)


def answer(session: Session, study: Study, who: Who, token: str, text: str) -> None:
    """Stores an annotator's answer to a comment on one of their annotations, even after the study is closed.

    Raises NotFound for somebody else's annotation, Conflict where there is no comment or it has MAX_ANSWERS, NotAllowed
    for a text that is empty or too long, or after they withdrew or were turned away.
    """
    membership = locked_membership(session, study.id, who)
    work = assignments.by_token(session, study, who, token)
    if membership.withdrawn_at or membership.turned_away_as:
        raise NotAllowed(_(HAS_LEFT))
    latest = select(Comment.author).where(Comment.assignment_id == work.id).order_by(Comment.id.desc())
    if all(author == who.pseudonym for author in session.scalars(latest.limit(MAX_ANSWERS))):
        raise Conflict(_("No comment waits for an answer here."))
    _store(session, study, work.id, _read_text(text), who)


def _read_text(text: str) -> str:
    neat = text.strip()
    if not neat or len(neat) > LONGEST_COMMENT:
        raise NotAllowed(_("Write 1 to {count} characters.", count=LONGEST_COMMENT))
    return neat


def _store(session: Session, study: Study, assignment_id: int, text: str, who: Who) -> None:
    session.add(Comment(assignment_id=assignment_id, author=who.pseudonym, at=clock.now(), text=text))
    session.flush()
    new = {"text": text}
    events.record(session, study.id, EventKind.commented, who.pseudonym, assignment_id=assignment_id, new=new)


def askable(session: Session, study: Study, item: str, who: Who) -> list[str]:
    """Annotators who finished or skipped the item and can still be asked about it by this lead."""
    return [row.pseudonym for row in session.execute(_askable(study, item, who).order_by(Person.pseudonym))]


def _askable(study: Study, item: str, who: Who) -> Select[int, str]:
    return (
        select(Assignment.id, Person.pseudonym)
        .join(Item, Item.id == Assignment.item_id)
        .join(Person, Person.id == Assignment.person_id)
        .join(Membership, annotators_part())
        .where(Assignment.study_id == study.id, Item.external_id == item, Assignment.state.in_(SEEN))
        .where(Assignment.purpose == Purpose.main, Person.kind == Kind.human, Person.disabled_at.is_(None))
        .where(Person.id != who.person_id)
        .where(Membership.withdrawn_at.is_(None))
    )


def threads(session: Session, study: Study, item: str | None = None) -> list[Thread]:
    """The threads of the study, or of one item, by item and annotator."""
    query = _commented(study).order_by(Item.id, Person.pseudonym, Assignment.id, Comment.id)
    return list(_threads(session, query if item is None else query.where(Item.external_id == item)).values())


def threads_of(session: Session, study: Study, who: Who) -> list[OwnThread]:
    """The threads about this annotator's own annotations, the newest item first."""
    commented = _commented(study).where(Person.id == who.person_id, Assignment.purpose == Purpose.main)
    own = _threads(session, commented.order_by(Assignment.id, Comment.id))
    if not own:
        return []
    rubric, shown = lifecycle.design_of(session, study).rubric, []
    numbers = {item.token: item.number for item in own_items(session, study, who).items}
    for assignment_id, thread in own.items():
        work = session.get_one(Assignment, assignment_id)
        seen, given = seen_item(session, rubric, study.round, work), tuple(_ratings_of(session, work))
        shown.append(OwnThread(numbers[work.token], work.token, thread, seen, given))
    return shown[::-1]


def open_question(session: Session, assignment_id: int) -> str | None:
    """The comment on this annotation that the annotator has not answered; None if there is none."""
    asked = (
        select(Comment.text, Comment.author == Person.pseudonym)
        .join(Assignment, Assignment.id == Comment.assignment_id)
        .join(Person, Person.id == Assignment.person_id)
        .where(Assignment.id == assignment_id)
        .order_by(Comment.id.desc())
        .limit(1)
    )
    row = session.execute(asked).first()
    return None if row is None or row[1] else row[0]


def _commented(study: Study) -> Select[*CommentRow]:
    return (
        select(Assignment.id, Person.pseudonym, Item.external_id, Comment.author, Comment.at, Comment.text)
        .join(Assignment, Assignment.id == Comment.assignment_id)
        .join(Item, Item.id == Assignment.item_id)
        .join(Person, Person.id == Assignment.person_id)
        .where(Assignment.study_id == study.id)
    )


def _threads(session: Session, query: Select[*CommentRow]) -> dict[int, Thread]:
    """Assignment → thread; the query must order its rows by annotation."""
    return {number: _thread(list(rows)) for number, rows in groupby(session.execute(query), lambda row: row.id)}


def _thread(rows: Sequence[Row[*CommentRow]]) -> Thread:
    annotator = rows[0].pseudonym
    comments = (ThreadComment(row.author, row.author != annotator, row.at, row.text) for row in rows)
    return Thread(annotator, rows[0].external_id, tuple(comments))


def _ratings_of(session: Session, work: Assignment) -> list[GivenRating]:
    answers = (
        select_answers(Rating.position, StoredCriterion.title, Rating.number, Option.title.label("option"))
        .where(Rating.assignment_id == work.id)
        .order_by(StoredCriterion.position, Rating.position)
    )
    return [
        GivenRating("" if place is None else letter(place), title, option if number is None else as_typed(number))
        for place, title, number, option in session.execute(answers)
        if number is not None or option is not None
    ]

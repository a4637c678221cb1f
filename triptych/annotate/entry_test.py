"""The entry test: questions of the rubric or gold items, a pass mark in per cent, a number of attempts.

Answers are stored as they are given, so a reload loses none and gives no second try. Right answers leave the server
only after the attempt has ended, and while the same questions may be tried again not even then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Row, bindparam, exists, func, select, update
from sqlmodel import Session

from triptych import clock
from triptych.annotate import checks
from triptych.errors import Conflict, InvalidAnnotation
from triptych.people.membership import AnnotatorMembership, locked_membership, membership_of
from triptych.rubric.answers import LETTERS
from triptych.rubric.model import Rubric, Section, TestQuestion
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import (
    Access,
    Assignment,
    AssignmentState,
    EntryAttempt,
    Event,
    Item,
    Membership,
    Purpose,
    Reference,
    Study,
    TestAnswer,
)
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import settings_of

FAILED = "failed_test"
GOLD_PERCENT, GOLD_ATTEMPTS = 70, 2  # docs/statistics.md, "Checks among the items"
BEFORE_WORK = (Purpose.training, Purpose.entry_test)
MOVED_ON = "The entry test has moved on in another tab. Reload the page."

_mine_here = (Assignment.study_id == bindparam("study")) & (Assignment.person_id == bindparam("person"))
_at_work = exists().where(
    _mine_here, Assignment.purpose.not_in(BEFORE_WORK), Assignment.state != AssignmentState.expired
)
_of_member = EntryAttempt.membership_id == bindparam("membership")
# whoever was at work before the study had a test is not tested afterwards
_LET_IN = select(exists().where(_of_member, EntryAttempt.passed).label("passed"), _at_work.label("at_work"))
_LAST_ATTEMPT = select(EntryAttempt).where(_of_member).order_by(EntryAttempt.number.desc()).limit(1)
_WAIVED = (
    select(Event.id)
    .where(
        Event.study_id == bindparam("study"),
        Event.kind == EventKind.entry_test_waived,
        Event.subject == bindparam("subject"),
    )
    .limit(1)
)
_GOLD = (
    select(Item.id)
    .where(Item.study_id == bindparam("study"), Item.purpose == Purpose.gold, ~Item.retired)
    .order_by(Item.id)
)


@dataclass(frozen=True)
class EntryTest:
    """A study's entry test: questions or gold items, the pass mark, and how many gold items one attempt asks."""

    kind: str
    percent: int
    attempts: int
    items: int = 0


@dataclass(frozen=True)
class Question:
    """A question as the annotator sees it: (key, title) of each option, and the one she has chosen."""

    key: str
    text: str
    options: tuple[tuple[str, str], ...]
    given: str | None


@dataclass(frozen=True)
class Explained:
    """An answer afterwards; `right` and `reason` are empty while the same question may come again."""

    text: str
    given: str
    right: str
    reason: str
    correct: bool


@dataclass(frozen=True)
class Outcome:
    """How an attempt ended: right answers of those asked, the pass mark, and how many attempts are left."""

    right: int
    asked: int
    needed: int
    passed: bool
    tries_left: int
    answers: tuple[Explained, ...]

    @property
    def percent(self) -> int:
        return 100 * self.right // max(self.asked, 1)


@dataclass(frozen=True)
class Sheet:
    """What the test's page shows: the study page before an attempt, the questions during it, no right answer.

    `number`: of the attempt. `asked` counts questions, or gold items. `last`: how the attempt before ended.
    """

    title: str
    test: EntryTest
    number: int
    begun: bool
    study_page: tuple[Section, ...]
    questions: tuple[Question, ...]
    asked: int
    last: Outcome | None


def asked_of(session: Session, study: Study) -> EntryTest | None:
    """The entry test that the settings and the rubric ask for in this round."""
    rules, asked = settings_of(study).entry, lifecycle.design_of(session, study).rubric.entry_test
    if rules.kind == "gold":
        return EntryTest("gold", rules.pass_percent or GOLD_PERCENT, rules.attempts or GOLD_ATTEMPTS, rules.gold_items)
    if rules.kind == "none" or asked is None or not asked.asked_in(study.round):
        return None
    return EntryTest("questions", rules.pass_percent or asked.pass_percent, rules.attempts or asked.attempts)


def outstanding(session: Session, study: Study, membership: AnnotatorMembership, who: Who) -> EntryTest | None:
    """The test that stands between her and the work; None once it is passed or waived, or where there is none."""
    test = asked_of(session, study)
    if test is None or (test.kind == "gold" and not _gold(session, study)):
        return None
    is_over = any(_let_in(session, study, membership, who)) or _is_waived(session, study, membership, who)
    return None if is_over else test


def _is_waived(session: Session, study: Study, membership: AnnotatorMembership, who: Who) -> bool:
    """A lead let her in although she had failed; the log alone says so, for her attempts stay as they were."""
    attempt = _last_attempt(session, membership)
    if attempt is None or attempt.passed is not False:
        return False
    return session.scalars(_WAIVED, {"study": study.id, "subject": who.pseudonym}).first() is not None


def has_just_passed(session: Session, study: Study, membership: AnnotatorMembership, who: Who) -> bool:
    """She has passed and holds no item of the work yet: the moment to tell her how it went."""
    if asked_of(session, study) is None:
        return False
    let_in = _let_in(session, study, membership, who)
    return bool(let_in.passed and not let_in.at_work)


def _let_in(session: Session, study: Study, membership: AnnotatorMembership, who: Who) -> Row[Any]:
    own = {"membership": membership.id, "study": study.id, "person": who.person_id}
    return session.connection().execute(_LET_IN, own).one()


def _last_attempt(session: Session, membership: AnnotatorMembership) -> EntryAttempt | None:
    return session.scalars(_LAST_ATTEMPT, {"membership": membership.id}).first()


def _open_attempt(session: Session, membership: AnnotatorMembership) -> EntryAttempt | None:
    attempt = _last_attempt(session, membership)
    return attempt if attempt and attempt.finished_at is None else None


# What the page shows


def sheet(session: Session, study: Study, membership: AnnotatorMembership) -> Sheet:
    """What the page of a study's test shows now."""
    rubric, test = lifecycle.design_of(session, study).rubric, asked_of(session, study)
    attempt, number = _open_attempt(session, membership), _next_number(session, membership)
    last = None if attempt else outcome(session, study, membership)
    if test.kind == "gold":
        items = _gold_of(session, study, test, number)
        return Sheet("Entry test", test, number, bool(attempt), (), (), len(items), last)
    asked = rubric.entry_test
    pages = () if attempt else asked.study_page
    questions = _questions(session, asked.questions, attempt) if attempt else ()
    return Sheet(asked.title, test, number, bool(attempt), pages, questions, len(asked.questions), last)


def _questions(session: Session, questions: Sequence[TestQuestion], attempt: EntryAttempt) -> tuple[Question, ...]:
    given = {answer.question: answer.option for answer in _answers(session, attempt)}
    return tuple(
        Question(one.key, one.text, tuple((option.key, option.title) for option in one.options), given.get(one.key))
        for one in questions
    )


def _answers(session: Session, attempt: EntryAttempt) -> Sequence[TestAnswer]:
    return session.scalars(select(TestAnswer).where(TestAnswer.attempt_id == attempt.id)).all()


def outcome(session: Session, study: Study, membership: AnnotatorMembership) -> Outcome | None:
    """How her last attempt ended, with reasons; None while none has ended."""
    attempt, test = _last_attempt(session, membership), asked_of(session, study)
    if attempt is None or attempt.finished_at is None or test is None:
        return None
    rubric = lifecycle.design_of(session, study).rubric
    left = 0 if attempt.passed else max(test.attempts - attempt.number, 0)
    # on a panel, answers told to those who failed would soon be known to those who come
    told = attempt.passed or study.access != Access.panel
    if test.kind == "gold":
        again = left and _gold_of(session, study, test, attempt.number) == _gold_of(
            session, study, test, attempt.number + 1
        )
        explained = _of_items(session, rubric, _rated(study, membership, attempt), tell=told and not again)
    else:
        explained = _of_questions(session, rubric, attempt, tell=told and not left)
    return Outcome(attempt.right, attempt.asked, test.percent, attempt.passed, left, explained)


def _of_questions(session: Session, rubric: Rubric, attempt: EntryAttempt, *, tell: bool) -> tuple[Explained, ...]:
    given = {answer.question: answer for answer in _answers(session, attempt)}
    found = []
    for question in rubric.entry_test.questions if rubric.entry_test else ():
        titles = {option.key: option.title for option in question.options}
        answer = given.get(question.key)
        if answer is not None:
            right, reason = (titles[question.answer], question.reason) if tell else ("", "")
            chosen = titles.get(answer.option, answer.option)
            found.append(Explained(question.text, chosen, right, reason, answer.correct))
    return tuple(found)


def _of_items(session: Session, rubric: Rubric, which: ColumnElement[bool], *, tell: bool) -> tuple[Explained, ...]:
    found, numbers = [], {}
    for one in checks.compared(session, which):
        number = numbers.setdefault(one.assignment_id, len(numbers) + 1)
        about = "" if one.position is None else f", response {LETTERS[one.position]}"
        text = f"Item {number}{about}: {rubric.criterion(one.criterion).title}"
        given = checks.in_words(rubric, one.criterion, one.given)
        right = checks.in_words(rubric, one.criterion, one.accepted) if tell else ""
        found.append(Explained(text, given, right, one.reason if tell else "", one.verdict != "different"))
    return tuple(found)


# What the annotator does


def start(session: Session, study: Study, who: Who) -> None:
    """Begins an attempt; one that is under way goes on. Raises Conflict if none is left, StudyNotOpen."""
    membership = _may_be_tested(session, study, who)
    if _open_attempt(session, membership):
        return
    test, number = asked_of(session, study), _next_number(session, membership)
    if number > test.attempts:
        raise Conflict(MOVED_ON)
    if test.kind == "gold":
        items = _gold_of(session, study, test, number)
        asked = session.execute(select(func.count()).where(Reference.item_id.in_(items))).scalar_one()
    else:
        asked = len(lifecycle.design_of(session, study).rubric.entry_test.questions)
    session.add(EntryAttempt(membership_id=membership.id, number=number, started_at=clock.now(), asked=asked))
    session.flush()
    new = {"attempt": number, "asked": asked}
    events.record(session, study.id, EventKind.entry_test_started, who.pseudonym, subject=who.pseudonym, new=new)


def answer(session: Session, study: Study, who: Who, question: str, option: str) -> None:
    """Stores one answer; until the test is handed in it may be changed.

    Raises InvalidAnnotation for a question or an option that is not there, Conflict if no attempt is under way.
    """
    attempt = _under_way(session, study, who)
    asked = lifecycle.design_of(session, study).rubric.entry_test
    found = next((one for one in asked.questions if one.key == question), None)
    if found is None or option not in [one.key for one in found.options]:
        raise InvalidAnnotation("The entry test has no such question, or no such answer.")
    own = (TestAnswer.attempt_id == attempt.id) & (TestAnswer.question == question)
    row = session.scalars(select(TestAnswer).where(own)).first() or TestAnswer(attempt_id=attempt.id, question=question)
    row.option, row.correct, row.answered_at = option, option == found.answer, clock.now()
    session.add(row)
    session.flush()


def hand_in(session: Session, study: Study, who: Who) -> None:
    """Ends the attempt and says whether it is passed.

    Raises InvalidAnnotation with the numbers of the questions that have no answer, Conflict if none is under way.
    """
    attempt = _under_way(session, study, who)
    given = {one.question: one for one in _answers(session, attempt)}
    questions = lifecycle.design_of(session, study).rubric.entry_test.questions
    missing = [str(number) for number, one in enumerate(questions, 1) if one.key not in given]
    if missing:
        name = "Question" if len(missing) == 1 else "Questions"
        raise InvalidAnnotation(f"{name} {', '.join(missing)}: no answer yet. Nothing was handed in.")
    right = sum(given[one.key].correct for one in questions)
    chosen = {key: one.option for key, one in given.items()}
    _end(session, study, who, attempt, right, answers=chosen)


def _may_be_tested(session: Session, study: Study, who: Who) -> AnnotatorMembership:
    """Her locked membership. Raises StudyNotOpen, and Conflict for somebody for whom there is no test now."""
    membership = locked_membership(session, study.id, who)
    lifecycle.refuse_unless_writable(study)
    gone = membership.turned_away_as or membership.excluded_at or membership.withdrawn_at
    if gone or outstanding(session, study, membership, who) is None:
        raise Conflict(MOVED_ON)
    return membership


def _under_way(session: Session, study: Study, who: Who) -> EntryAttempt:
    """Her attempt at questions. Raises Conflict if there is none."""
    attempt = _open_attempt(session, _may_be_tested(session, study, who))
    if attempt is None or asked_of(session, study).kind != "questions":
        raise Conflict(MOVED_ON)
    return attempt


def _end(session: Session, study: Study, who: Who, attempt: EntryAttempt, right: int, **more: Any) -> None:
    """Grades an attempt; after the last one that is not passed there is no work in this study."""
    test = asked_of(session, study)
    attempt.right, attempt.finished_at = right, clock.now()
    attempt.passed = 100 * right >= test.percent * attempt.asked
    session.flush()
    new = {"attempt": attempt.number, "right": right, "asked": attempt.asked, **more}
    kind = EventKind.entry_test_passed if attempt.passed else EventKind.entry_test_failed
    events.record(session, study.id, kind, who.pseudonym, subject=who.pseudonym, new=new)
    if not attempt.passed and attempt.number >= test.attempts:
        turned = {"turned_away_at": clock.now(), "turned_away_as": FAILED}
        session.execute(update(Membership).where(Membership.id == attempt.membership_id).values(turned))


def _next_number(session: Session, membership: AnnotatorMembership) -> int:
    """The number of the attempt that is under way or comes next."""
    attempt = _last_attempt(session, membership)
    return 1 if attempt is None else attempt.number + (attempt.finished_at is not None)


# Gold items


def _gold(session: Session, study: Study) -> list[int]:
    return list(session.connection().execute(_GOLD, {"study": study.id}).scalars())


def _gold_of(session: Session, study: Study, test: EntryTest, number: int) -> list[int]:
    """The gold items of one attempt: each attempt has its own while there are enough, then the first ones again."""
    items = _gold(session, study)
    own = items[(number - 1) * test.items : number * test.items]
    return own if len(own) == test.items else items[: test.items]


def next_gold(session: Session, study: Study, who: Who, membership: AnnotatorMembership, test: EntryTest) -> int | None:
    """The gold item that she rates next; None where no attempt at gold items is under way, or this was its last."""
    attempt = _open_attempt(session, membership)
    if attempt is None or test.kind != "gold":
        return None
    rated = _rated(study, membership, attempt)
    done = set(session.scalars(select(Assignment.item_id).where(rated)))
    left = [item for item in _gold_of(session, study, test, attempt.number) if item not in done]
    if left:
        return left[0]
    right = sum(one.verdict != "different" for one in checks.compared(session, rated))
    _end(session, study, who, attempt, min(right, attempt.asked))
    return None


def _rated(study: Study, membership: AnnotatorMembership, attempt: EntryAttempt) -> ColumnElement[bool]:
    """Her finished assignments of her last attempt."""
    person = select(Membership.person_id).where(Membership.id == membership.id).scalar_subquery()
    return (
        (Assignment.study_id == study.id)
        & (Assignment.person_id == person)
        & (Assignment.purpose == Purpose.entry_test)
        & (Assignment.reserved_at >= attempt.started_at)
        & Assignment.submitted_at.is_not(None)
        & (Assignment.state != AssignmentState.withdrawn)
    )


def gold_progress(session: Session, study: Study, who: Who) -> tuple[int, int]:
    """Gold items done and asked in the attempt under way, or in the last one."""
    membership = membership_of(session, study, who)
    attempt, test = _last_attempt(session, membership), asked_of(session, study)
    done = select(func.count()).select_from(Assignment).where(_rated(study, membership, attempt))
    return session.execute(done).scalar_one(), len(_gold_of(session, study, test, attempt.number))

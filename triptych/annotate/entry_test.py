"""The entry test: questions of the rubric or gold items, a pass mark in per cent, a number of attempts.

Answers are stored one by one, so a reload loses none and gives no second try. Correct answers leave the server only
after the attempt has ended, and only if the same questions cannot be tried again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, exists, func, select, update
from sqlmodel import Session

from triptych import clock
from triptych.annotate import checks
from triptych.errors import Conflict, InvalidAnnotation
from triptych.languages.language import _, message, ngettext
from triptych.people.membership import AnnotatorMembership, locked_membership, membership_of
from triptych.rubric.model import LETTERS, EntryTestSpec, Rubric, Section, TestQuestion
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import (
    BEFORE_WORK,
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
from triptych.study.settings import EntryRules, settings_of

FAILED = "failed_test"
GOLD_PERCENT, GOLD_ATTEMPTS = 70, 2  # docs/statistics.md, "Checks among the items"
MOVED_ON = message("The entry test has moved on in another tab. Reload the page.")


@dataclass(frozen=True)
class EntryTest:
    """A study's entry test: questions or gold items, the pass mark, and how many of them one attempt asks."""

    kind: str
    percent: int
    attempts: int
    items: int


@dataclass(frozen=True)
class Question:
    """A question as the annotator sees it: (key, title) of each option, and the one they have chosen."""

    key: str
    text: str
    options: tuple[tuple[str, str], ...]
    given: str | None


@dataclass(frozen=True)
class AnsweredQuestion:
    """An answer after the attempt; right: the right answer."""

    text: str
    given: str
    right: str
    reason: str
    correct: bool


@dataclass(frozen=True)
class Outcome:
    """How an attempt ended: correct answers, questions asked, and the pass mark.

    answers: empty while the same questions may be asked again, or if others may be.
    """

    right: int
    asked: int
    needed: int
    passed: bool
    answers: tuple[AnsweredQuestion, ...]

    @property
    def percent(self) -> int:
        return 100 * self.right // max(self.asked, 1)


@dataclass(frozen=True)
class Sheet:
    """What the test's page shows: the study page before an attempt, the questions during it, no correct answer.

    number: number of the attempt. asked: number of questions or gold items. last: how the previous attempt ended.
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
    """The entry test of this round, from the settings and the rubric; None if there is none."""
    return test_by(settings_of(study).entry, study, lifecycle.design_of(session, study).rubric.entry_test)


def test_by(rules: EntryRules, study: Study, asked: EntryTestSpec | None) -> EntryTest | None:
    """The entry test by these rules; None if there is none. asked: the rubric's test."""
    if rules.kind == "gold":
        return EntryTest("gold", rules.pass_percent or GOLD_PERCENT, rules.attempts or GOLD_ATTEMPTS, rules.gold_items)
    if rules.kind == "none" or asked is None or not asked.asked_in(study.round):
        return None
    percent, attempts = rules.pass_percent or asked.pass_percent, rules.attempts or asked.attempts
    return EntryTest("questions", percent, attempts, len(asked.questions))


def _test_of(session: Session, study: Study) -> EntryTest:
    """Like `asked_of`, but raises Conflict where there is no test."""
    test = asked_of(session, study)
    if test is None:
        raise Conflict(_(MOVED_ON))
    return test


def _spec_of(session: Session, study: Study) -> EntryTestSpec:
    """The rubric's test. Raises Conflict where the rubric has none."""
    spec = lifecycle.design_of(session, study).rubric.entry_test
    if spec is None:
        raise Conflict(_(MOVED_ON))
    return spec


def outstanding(session: Session, study: Study, membership: AnnotatorMembership, who: Who) -> EntryTest | None:
    """The test that comes before the work; None once it is passed or waived, or where there is none."""
    test = asked_of(session, study)
    if test is None or (test.kind == "gold" and not any(_gold(session, study).values())):
        return None
    # people who began work before the study had a test are not tested afterwards
    is_over = any(_let_in(session, study, membership, who)) or _is_waived(session, study, membership, who)
    return None if is_over else test


def _is_waived(session: Session, study: Study, membership: AnnotatorMembership, who: Who) -> bool:
    """Whether a lead readmitted them after they failed; recorded only in the log, the attempts do not change."""
    attempt = _last_attempt(session, membership)
    if attempt is None or attempt.passed is not False:
        return False
    of_study = (Event.study_id == study.id) & (Event.kind == EventKind.entry_test_waived)
    waived = select(Event.id).where(of_study, Event.subject == who.pseudonym).limit(1)
    return session.scalars(waived).first() is not None


def has_just_passed(session: Session, study: Study, membership: AnnotatorMembership, who: Who) -> bool:
    """Whether they have passed but have no item of the work yet: the moment to show the test's outcome."""
    if asked_of(session, study) is None:
        return False
    has_passed, is_at_work = _let_in(session, study, membership, who)
    return has_passed and not is_at_work


def _let_in(session: Session, study: Study, membership: AnnotatorMembership, who: Who) -> tuple[bool, bool]:
    """(has passed, has been assigned items of the work), in one round trip, because this runs for every item."""
    passed = exists().where(EntryAttempt.membership_id == membership.id, EntryAttempt.passed.is_(True))
    own = (Assignment.study_id == study.id) & (Assignment.person_id == who.person_id)
    of_work = Assignment.purpose.not_in(BEFORE_WORK) & (Assignment.state != AssignmentState.expired)
    has_passed, is_at_work = session.execute(select(passed, exists().where(own, of_work))).one()
    return has_passed, is_at_work


def _last_attempt(session: Session, membership: AnnotatorMembership) -> EntryAttempt | None:
    attempts = select(EntryAttempt).where(EntryAttempt.membership_id == membership.id)
    return session.scalars(attempts.order_by(EntryAttempt.number.desc()).limit(1)).first()


def _open_attempt(session: Session, membership: AnnotatorMembership) -> EntryAttempt | None:
    attempt = _last_attempt(session, membership)
    return attempt if attempt and attempt.finished_at is None else None


# What the page shows


def sheet(session: Session, study: Study, membership: AnnotatorMembership) -> Sheet:
    """What the page of a study's test shows now. Raises Conflict for a study without a test."""
    test = _test_of(session, study)
    attempt, number = _open_attempt(session, membership), _next_number(session, membership)
    last = None if attempt else outcome(session, study, membership)
    if test.kind == "gold":
        items = _gold_of(session, study, test, number)
        return Sheet(_("Entry test"), test, number, bool(attempt), (), (), len(items), last)
    spec = _spec_of(session, study)
    pages = () if attempt else spec.study_page
    questions = _questions(session, spec.questions, attempt) if attempt else ()
    return Sheet(spec.title, test, number, bool(attempt), pages, questions, len(spec.questions), last)


def _questions(session: Session, questions: Sequence[TestQuestion], attempt: EntryAttempt) -> tuple[Question, ...]:
    chosen = {answer.question: answer.option for answer in _answers(session, attempt)}
    offered = {question.key: tuple((option.key, option.title) for option in question.options) for question in questions}
    return tuple(Question(asked.key, asked.text, offered[asked.key], chosen.get(asked.key)) for asked in questions)


def _answers(session: Session, attempt: EntryAttempt) -> Sequence[TestAnswer]:
    return session.scalars(select(TestAnswer).where(TestAnswer.attempt_id == attempt.id)).all()


def outcome(session: Session, study: Study, membership: AnnotatorMembership) -> Outcome | None:
    """How their last attempt ended, with reasons; None while none has ended."""
    attempt, test = _last_attempt(session, membership), asked_of(session, study)
    if attempt is None or attempt.finished_at is None or test is None:
        return None
    rubric, passed = lifecycle.design_of(session, study).rubric, bool(attempt.passed)
    may_try_again = not passed and not membership.turned_away_as
    # people who failed could pass on the answers on a panel, and come back under another name in an open study
    shows_answers = passed or study.access == Access.invited
    if test.kind == "gold":
        items, next_items = (_gold_of(session, study, test, attempt.number + later) for later in (0, 1))
        shows_answers = shows_answers and not (may_try_again and {*items} & {*next_items})
        answers = _of_items(session, rubric, _rated(study, membership, attempt)) if shows_answers else ()
    else:
        answers = _of_questions(session, rubric, attempt) if shows_answers and not may_try_again else ()
    return Outcome(attempt.right, attempt.asked, test.percent, passed, answers)


def _of_questions(session: Session, rubric: Rubric, attempt: EntryAttempt) -> tuple[AnsweredQuestion, ...]:
    answers = {answer.question: answer for answer in _answers(session, attempt)}
    explained = []
    for question in rubric.entry_test.questions if rubric.entry_test else ():
        titles = {option.key: option.title for option in question.options}
        answer = answers.get(question.key)
        if answer is not None:
            chosen, right = titles.get(answer.option, answer.option), titles[question.answer]
            explained.append(AnsweredQuestion(question.text, chosen, right, question.reason, answer.correct))
    return tuple(explained)


def _of_items(session: Session, rubric: Rubric, which: ColumnElement[bool]) -> tuple[AnsweredQuestion, ...]:
    explained: list[AnsweredQuestion] = []
    numbers: dict[int, int] = {}
    for comparison in checks.compared(session, which):
        number = numbers.setdefault(comparison.assignment_id, len(numbers) + 1)
        title = rubric.criterion(comparison.criterion).title
        if comparison.position is None:
            text = _("Item {number}: {criterion}", number=number, criterion=title)
        else:
            letter = LETTERS[comparison.position]
            text = _("Item {number}, response {letter}: {criterion}", number=number, letter=letter, criterion=title)
        answer = checks.in_words(rubric, comparison.criterion, comparison.given)
        right = checks.in_words(rubric, comparison.criterion, comparison.accepted)
        explained.append(AnsweredQuestion(text, answer, right, comparison.reason, comparison.closeness != "different"))
    return tuple(explained)


# What the annotator does


def start(session: Session, study: Study, who: Who) -> None:
    """Begin an attempt, or continue the current one. Raises Conflict if none is left, StudyNotOpen.

    Where a lead has lowered the number of attempts meanwhile, those who are not turned away yet get one more.
    """
    membership = _may_be_tested(session, study, who)
    if _open_attempt(session, membership):
        return
    test, number = _test_of(session, study), _next_number(session, membership)
    if test.kind == "gold":
        items = _gold_of(session, study, test, number)
        asked = session.execute(select(func.count()).where(Reference.item_id.in_(items))).scalar_one()
    else:
        asked = len(_spec_of(session, study).questions)
    session.add(EntryAttempt(membership_id=membership.id, number=number, started_at=clock.now(), asked=asked))
    session.flush()
    new = {"attempt": number, "asked": asked}
    events.record(session, study.id, EventKind.entry_test_started, who.pseudonym, subject=who.pseudonym, new=new)


def answer(session: Session, study: Study, who: Who, question: str, option: str) -> None:
    """Stores one answer, which can be changed until the test is handed in.

    Raises InvalidAnnotation for an unknown question or option, Conflict if no attempt is under way.
    """
    attempt = _under_way(session, study, who)
    spec = next((spec for spec in _spec_of(session, study).questions if spec.key == question), None)
    if spec is None or option not in [offered.key for offered in spec.options]:
        raise InvalidAnnotation("The entry test has no such question, or no such answer.")
    own = (TestAnswer.attempt_id == attempt.id) & (TestAnswer.question == question)
    correct, now = option == spec.answer, clock.now()
    row = session.scalars(select(TestAnswer).where(own)).first()
    if row is None:
        row = TestAnswer(attempt_id=attempt.id, question=question, option=option, correct=correct, answered_at=now)
    row.option, row.correct, row.answered_at = option, correct, now
    session.add(row)
    session.flush()


def hand_in(session: Session, study: Study, who: Who) -> None:
    """End the attempt; whether it was passed is stored with it.

    Raises InvalidAnnotation with the numbers of the questions that have no answer, Conflict if none is under way.
    """
    attempt = _under_way(session, study, who)
    answers = {answer.question: answer for answer in _answers(session, attempt)}
    questions = _spec_of(session, study).questions
    missing = [str(number) for number, question in enumerate(questions, 1) if question.key not in answers]
    if missing:
        raise InvalidAnnotation(
            ngettext(
                "Question {numbers}: no answer yet. Nothing was handed in.",
                "Questions {numbers}: no answer yet. Nothing was handed in.",
                len(missing),
                numbers=", ".join(missing),
            )
        )
    right = sum(answers[question.key].correct for question in questions)
    chosen = {key: answer.option for key, answer in answers.items()}
    attempt.asked = len(questions)  # fewer or more than at its start if a lead changed the kind of test meanwhile
    _end(session, study, who, attempt, right, answers=chosen)


def _may_be_tested(session: Session, study: Study, who: Who) -> AnnotatorMembership:
    """Their locked membership. Raises StudyNotOpen, and Conflict if they have no test to take now."""
    membership = locked_membership(session, study.id, who)
    lifecycle.refuse_unless_writable(study)
    if membership.has_left or outstanding(session, study, membership, who) is None:
        raise Conflict(_(MOVED_ON))
    return membership


def _under_way(session: Session, study: Study, who: Who) -> EntryAttempt:
    """Their open attempt at questions. Raises Conflict if there is none."""
    attempt = _open_attempt(session, _may_be_tested(session, study, who))
    if attempt is None or _test_of(session, study).kind != "questions":
        raise Conflict(_(MOVED_ON))
    return attempt


def _end(session: Session, study: Study, who: Who, attempt: EntryAttempt, right: int, **more: object) -> None:
    """Grades an attempt; people who fail the last one are turned away from the study."""
    test = _test_of(session, study)
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


def _gold(session: Session, study: Study) -> dict[int, bool]:
    """Gold item → whether it may be asked, which retired ones may not."""
    gold = select(Item.id, ~Item.retired).where(Item.study_id == study.id, Item.purpose == Purpose.gold)
    return dict(session.execute(gold.order_by(Item.id)).all())


def _gold_of(session: Session, study: Study, test: EntryTest, number: int) -> list[int]:
    """The gold items of one attempt; attempts have different items if there are enough, else the first ones again.

    A retired one is left out and keeps its place, so that the others stay with their attempts: after an attempt its
    answers are shown.
    """
    gold = _gold(session, study)
    items = list(gold)
    own = items[(number - 1) * test.items : number * test.items]
    own = own if len(own) == test.items else items[: test.items]
    return [item for item in own if gold[item]] or [item for item in items if gold[item]][: test.items]


def next_gold(session: Session, study: Study, who: Who, membership: AnnotatorMembership, test: EntryTest) -> int | None:
    """The gold item that they rate next; None where no attempt at gold items is under way, or this was its last."""
    attempt = _open_attempt(session, membership)
    if attempt is None or test.kind != "gold":
        return None
    rated = _rated(study, membership, attempt)
    done = set(session.scalars(select(Assignment.item_id).where(rated)))
    to_do = [item for item in _gold_of(session, study, test, attempt.number) if item not in done]
    if to_do:
        return to_do[0]
    comparisons = checks.compared(session, rated)
    attempt.asked = len(comparisons)  # fewer than at its start if a lead retired one of the items meanwhile
    _end(session, study, who, attempt, sum(comparison.closeness != "different" for comparison in comparisons))
    return None


def _rated(study: Study, membership: AnnotatorMembership, attempt: EntryAttempt) -> ColumnElement[bool]:
    """Condition on Assignment: finished gold items of this attempt, which must be their last; no retired ones."""
    person = select(Membership.person_id).where(Membership.id == membership.id).scalar_subquery()
    return (
        (Assignment.study_id == study.id)
        & (Assignment.person_id == person)
        & (Assignment.purpose == Purpose.entry_test)
        & (Assignment.reserved_at >= attempt.started_at)
        & Assignment.submitted_at.is_not(None)
        & (Assignment.state != AssignmentState.withdrawn)
        & checks.not_retired(study)
    )


def gold_progress(session: Session, study: Study, who: Who) -> tuple[int, int]:
    """(gold items done, gold items asked) in the attempt under way, or else in the last one."""
    membership = membership_of(session, study, who)
    attempt, test = _last_attempt(session, membership), _test_of(session, study)
    if attempt is None:
        raise Conflict(_(MOVED_ON))
    done = select(func.count()).select_from(Assignment).where(_rated(study, membership, attempt))
    return session.execute(done).scalar_one(), len(_gold_of(session, study, test, attempt.number))

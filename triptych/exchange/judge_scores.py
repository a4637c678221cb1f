"""Scores of a judge (a model) can be added to a launched study at any time. They are read like ratings from a file, and
each item becomes an annotation of the judge, with its own event. Systems have the names that the lead may see: in a
blind study System 1, 2, …, so that no score reveals which is which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlmodel import Session

from triptych import clock
from triptych.errors import Conflict, ImportRefused, NotAllowed
from triptych.exchange.import_ratings import PREFIXES, WorkWriter
from triptych.formats.model import CandidateDraft, ItemDraft, ItemFile
from triptych.formats.ratings.assemble import Assembled, assemble, own_rubric
from triptych.formats.ratings.model import FinishedRatings, ImportedRating, Unit
from triptych.people import accounts, joining
from triptych.people.names import folded, read_name
from triptych.storage.models import (
    Assignment,
    AssignmentState,
    Candidate,
    Item,
    Kind,
    Membership,
    Person,
    Purpose,
    Role,
    Study,
    StudyState,
    System,
)
from triptych.study import lifecycle
from triptych.study.system_names import system_names

NAMED_AT_ONCE = 500  # items listed in one query
MAX_NAMED = 5  # items listed in a message


@dataclass(frozen=True)
class JudgeScore:
    """One value. system: its name for leads, None for a criterion about the item."""

    item_id: str
    system: str | None
    criterion: str
    value: bool | float | str
    explanation: str = ""


@dataclass(frozen=True)
class Appended:
    """The numbers of stored items and ratings; judge: the judge's pseudonym."""

    judge: str
    items: int
    ratings: int


@dataclass(frozen=True)
class Checked:
    """Scores that fit the study's design; labels: blind code → the system's name for leads."""

    judge: str
    ratings: Assembled
    labels: dict[int, str]
    design_hash: str | None


def check(session: Session, study: Study, judge: str, scores: Sequence[JudgeScore]) -> Checked:
    """The scores as annotations to store. It takes seconds, so call it before the transaction that stores them.

    Raises Conflict for a draft, NotAllowed for an unusable name, ImportRefused with a line for each score that fits no
    item, response or scale.
    """
    if study.state == StudyState.draft:
        raise Conflict("Launch the study first: before launch its items and questions may change.")
    name = read_name(judge)
    labels = system_names(session, study)
    return Checked(name, _assembled(session, study, name, scores, labels), labels, study.design_hash)


def append(session: Session, study: Study, checked: Checked, actor: str) -> Appended:
    """Stores all scores, or none. They count where results include judges, and fill no annotator's place.

    Raises Conflict if the design has changed since the check, and for items that the judge has scored before;
    NotAllowed for a judge who was excluded.
    """
    study = lifecycle.lock(session, study.id)
    if study.design_hash != checked.design_hash:
        raise Conflict("The study was amended a moment ago. Send the scores again.")
    name, ratings = checked.judge, checked.ratings
    person = _judge(session, study, name)
    _refuse_scored(session, study, person, ratings)
    WorkWriter(session, study, ratings, names=checked.labels).append({(Kind.judge, name): person}, actor)
    return Appended(person.pseudonym, len(ratings.works), sum(len(work.ratings) for work in ratings.works))


def _assembled(
    session: Session, study: Study, judge: str, scores: Sequence[JudgeScore], labels: dict[int, str]
) -> Assembled:
    """The scores as annotations to store. Raises ImportRefused."""
    responses = _responses(session, study, {score.item_id for score in scores}, labels)
    no_item, no_response = [], []
    for row, score in enumerate(scores, 1):
        name, system = score.item_id, score.system
        if name not in responses:
            no_item.append(f"Score {row}: the study has no item {name!r}.")
        elif system not in (None, *responses[name]):
            its_own = ", ".join(responses[name])
            no_response.append(f"Score {row}: item {name!r} has no response of {system!r}; it has {its_own}.")
    if no_item or no_response:
        raise ImportRefused(*[*no_item, *no_response][:MAX_NAMED])
    design = lifecycle.design_of(session, study)
    asked = own_rubric(design.rubric, "", list(dict.fromkeys(score.criterion for score in scores)))
    not_asked = sorted({name for name, key in asked.names.items() if key and key not in design.criteria})
    if not_asked:
        raise ImportRefused(f"Not asked in the {study.round} round: {', '.join(not_asked)}.")
    read = [_rating(score, judge, row) for row, score in enumerate(scores, 1)]
    items = tuple(
        ItemDraft(name, "", (), tuple(CandidateDraft(system, "") for system in systems), {}, {}, row)
        for row, (name, systems) in enumerate(responses.items(), 1)
    )
    ratings = assemble([FinishedRatings("scores", "scores", read)], asked, ItemFile("items", items))
    if not ratings.ok:
        errors = [problem for problem in ratings.problems if problem.severity == "error"]
        raise ImportRefused(*(str(problem).replace("Row ", "Score ", 1) for problem in errors))
    return ratings


def _rating(score: JudgeScore, judge: str, row: int) -> ImportedRating:
    value = ("yes" if score.value else "no") if isinstance(score.value, bool) else str(score.value)
    unit = Unit(score.item_id, score.system, judge, "judge", row)
    explanation = score.explanation.replace("\0", "").strip()
    return ImportedRating(**vars(unit), criterion=score.criterion, value=value, missing=False, explanation=explanation)


def _responses(session: Session, study: Study, names: set[str], labels: dict[int, str]) -> dict[str, list[str]]:
    """The existing items among these names → the systems of their responses, by their names for leads."""
    systems: dict[str, list[str]] = {}
    printable = sorted(name for name in names if name.isprintable())
    for start in range(0, len(printable), NAMED_AT_ONCE):
        query = (
            select(Item.external_id, System.blind_code)
            .join(Candidate, Candidate.item_id == Item.id)
            .join(System, System.id == Candidate.system_id)
            .where(Item.study_id == study.id, Item.purpose == Purpose.main)
            .where(Item.external_id.in_(printable[start : start + NAMED_AT_ONCE]))
            .order_by(Item.id, System.blind_code)
        )
        for name, code in session.execute(query):
            systems.setdefault(name, []).append(labels[code])
    return systems


def _judge(session: Session, study: Study, name: str) -> Person:
    """The study's judge with this name, created if there is none. Raises NotAllowed."""
    of_study = (Membership.study_id == study.id) & (Membership.role == Role.annotator)
    query = select(Person, Membership).join(Membership, Membership.person_id == Person.id)
    for person, membership in session.execute(query.where(of_study, Person.kind == Kind.judge)):
        if folded(person.name) == folded(name):
            if membership.excluded_at is not None:
                raise NotAllowed(f"{person.pseudonym} was excluded from this study by a lead.")
            return person
    taken = set(session.scalars(select(Person.pseudonym).where(Person.kind == Kind.judge)))
    pseudonym = accounts.free_pseudonym(PREFIXES[Kind.judge], taken.__contains__)
    judge = Person(kind=Kind.judge, pseudonym=pseudonym, name=name, created_at=clock.now())
    session.add(judge)
    session.flush()
    joining.enrol(session, study, judge.id, pseudonym)
    return judge


def _refuse_scored(session: Session, study: Study, judge: Person, ratings: Assembled) -> None:
    """Raises Conflict for items that this judge has scored."""
    scored = (Assignment.study_id == study.id) & (Assignment.person_id == judge.id)
    done = select(Item.external_id).join(Assignment, Assignment.item_id == Item.id)
    before = set(session.scalars(done.where(scored, Assignment.state != AssignmentState.expired)))
    again = [work.item for work in ratings.works if work.item in before]
    if again:
        named = ", ".join(again[:MAX_NAMED]) + (" …" if len(again) > MAX_NAMED else "")
        raise Conflict(f"{judge.pseudonym} has scored {named} before. Send all scores of an item in one call.")

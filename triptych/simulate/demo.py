"""The demo studies: one per shipped rubric, so that a first start has something to look at.

They are marked, left out of totals and removed by one button. That they were loaded once is kept in the database,
so that removed ones stay away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from random import Random

from sqlalchemy import Engine, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from triptych import clock
from triptych.annotate import assignments, reservations
from triptych.annotate.annotations import SetAsideMessage, SubmitMessage, set_aside_item, submit
from triptych.annotate.assignments import Nothing
from triptych.annotate.reservations import Assigned
from triptych.formats import ItemDraft, read_items
from triptych.rubric.files import load_rubric, shipped_rubrics
from triptych.settings import app_folder
from triptych.simulate.annotators import SimulatedCandidate, generate_answers, message_of
from triptych.storage import database, events
from triptych.storage.events import EventKind
from triptych.storage.models import (
    Assignment,
    AssignmentState,
    Candidate,
    Item,
    Kind,
    Membership,
    Origin,
    Person,
    Setting,
    Slot,
    Study,
    StudyState,
)
from triptych.study import lifecycle
from triptych.study.persons import Who

DEMO = app_folder() / "data" / "demo"
LOADED = "demo_loaded"
ACTOR = "demo"
HALF_DONE = "rrgen"
SEVERITY = {"SIM-1": -0.3, "SIM-2": 0.0, "SIM-3": 0.2, "SIM-4": 0.5}
ITEMS_EACH = 6
QUALITY = {"retrieval-template": -0.2, "seq2seq-small": -0.7, "tuned-7b": 0.9}
NOTHING_TO_ANSWER = "restaurant-05"


def load_demo(engine: Engine) -> int:
    """Loads the demo studies into a database that never had them; returns how many."""
    with database.reading(engine) as session:
        if session.get(Setting, LOADED) is not None:
            return 0
    try:
        with database.writing(engine) as session:
            # first of all: a second process that starts at the same moment waits here, and then has nothing to do
            session.execute(insert(Setting).values(key=LOADED, value=clock.now().isoformat()))
            return _load(session)
    except IntegrityError:
        return 0


def _load(session: Session) -> int:
    paths = {key: path for key, path in shipped_rubrics().items() if (DEMO / f"{key}.jsonl").exists()}
    # the newest study comes first in every list: the one that has results already
    for key in sorted(paths, key=lambda key: key == HALF_DONE):
        items = _items(key)
        study = _make(session, paths[key], items)
        if key == HALF_DONE:
            _fill(session, study, items)
    return len(paths)


def _items(key: str) -> Sequence[ItemDraft]:
    return read_items((DEMO / f"{key}.jsonl").read_bytes(), f"{key}.jsonl").items


def _make(session: Session, path: Path, items: Sequence[ItemDraft]) -> Study:
    rubric = load_rubric(path)
    plan = lifecycle.StudyPlan(title=f"Demo: {rubric.title}", demo=True, seed=f"demo {rubric.key}")
    study = lifecycle.create_study(session, plan, path.read_text(encoding="utf-8"), items, ACTOR)
    lifecycle.set_state(session, study, StudyState.open, ACTOR)
    return study


def _fill(session: Session, study: Study, items: Sequence[ItemDraft]) -> None:
    """Half of the study's annotations, by simulated annotators, through the same door as everybody's."""
    rng = Random(study.seed)  # noqa: S311 (a demo, no secret)
    qualities = {
        candidate.text: QUALITY.get(candidate.system, 0) + rng.gauss(0, 0.6)
        for item in items
        for candidate in item.candidates
    }
    for pseudonym, severity in SEVERITY.items():
        who = _enrol(session, study, pseudonym)
        _annotate(session, study, who, qualities, severity, rng)
    _give_back(session, study)


def _enrol(session: Session, study: Study, pseudonym: str) -> Who:
    person = Person(kind=Kind.simulated, pseudonym=pseudonym, created_at=clock.now())
    session.add(person)
    session.flush()
    session.add(Membership(study_id=study.id, person_id=person.id, joined_at=clock.now()))
    session.flush()
    events.record(session, study.id, EventKind.joined, pseudonym, subject=pseudonym)
    return Who(person.id, person.pseudonym, person.role, None, 0)


def _annotate(
    session: Session, study: Study, who: Who, qualities: dict[str | None, float], severity: float, rng: Random
) -> None:
    work = assignments.current(session, study, who)
    for number in range(ITEMS_EACH):
        if isinstance(work, Nothing):
            return
        _began_earlier(session, work, rng)
        message = {"active_seconds": rng.randint(90, 230), **message_of(work.token, work.version, rng)}
        item = session.get_one(Item, work.item_id)
        if item.external_id == NOTHING_TO_ANSWER:
            ignoring = SetAsideMessage(**message, kind="ignore", reason="nothing_to_answer")
            work = set_aside_item(session, who, ignoring).next
        elif who.pseudonym == "SIM-2" and number == 0:
            skipping = SetAsideMessage(**message, kind="skip", reason="unclear")
            work = set_aside_item(session, who, skipping).next
        else:
            shown = list(_candidates(session, work, qualities))
            rubric = lifecycle.design_of(session, study).rubric
            answers = generate_answers(rubric, study.round, shown, rng, severity)
            work = submit(session, who, SubmitMessage(**message, kind="submit", answers=answers)).next


def _began_earlier(session: Session, work: Assigned, rng: Random) -> None:
    """A few minutes ago, so that the time taken looks like reading."""
    began = clock.now() - timedelta(seconds=rng.randint(240, 420))
    earlier = update(Assignment).where(Assignment.id == work.id)
    session.execute(earlier.values(origin=Origin.simulated, reserved_at=began))
    events.record(session, work.study_id, EventKind.simulated, events.PROGRAM, assignment_id=work.id)


def _candidates(session: Session, work: Assigned, qualities: dict[str | None, float]) -> Iterator[SimulatedCandidate]:
    """The candidates in the slots; quality is looked up by text, so that no system name is read here."""
    texts = select(Candidate.text).join(Slot, Slot.candidate_id == Candidate.id).where(Slot.assignment_id == work.id)
    for text in session.scalars(texts.order_by(Slot.position)):
        yield SimulatedCandidate(quality=qualities[text], text=text)


def _give_back(session: Session, study: Study) -> None:
    """Frees the last items given to the simulated annotators, who will not do them."""
    held = select(Assignment).where(Assignment.study_id == study.id, Assignment.state == AssignmentState.reserved)
    for work in session.scalars(held):
        work.origin, work.expires_at = Origin.simulated, clock.now() - timedelta(seconds=1)
        events.record(session, study.id, EventKind.simulated, events.PROGRAM, assignment_id=work.id)
    session.flush()
    reservations.give_back_expired(session, study)

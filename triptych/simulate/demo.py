"""The demo studies: one for each shipped rubric, with simulated ratings, for trying the app.

One is half finished, one finished, one has every step before the first item, and one was imported. They are marked,
left out of totals, and removed with one button. The database records that they were loaded, so that they do not return.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from types import MappingProxyType

from sqlalchemy import Engine, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from triptych import clock
from triptych.annotate import assignments, entry_test, onboarding, reservations
from triptych.annotate.annotations import SetAsideMessage, SubmitMessage, submit
from triptych.annotate.answer_rows import context_of
from triptych.annotate.assignments import NoItem
from triptych.annotate.reservations import Assigned
from triptych.exchange import import_ratings
from triptych.formats import read_items
from triptych.formats.model import ItemFile
from triptych.formats.ratings import read_ratings
from triptych.formats.ratings.assemble import Assembled, assemble, own_rubric
from triptych.people import joining
from triptych.rubric.files import read_shipped
from triptych.rubric.model import LETTERS, Rubric
from triptych.settings import app_folder
from triptych.simulate.annotators import SimulatedCandidate, generate_answers, message_of
from triptych.storage import database, events
from triptych.storage.events import EventKind
from triptych.storage.models import (
    DEMO_LOADED,
    Assignment,
    AssignmentState,
    Candidate,
    Item,
    JsonObject,
    Kind,
    Membership,
    Origin,
    Person,
    Purpose,
    Reference,
    Setting,
    Slot,
    StoredCriterion,
    Study,
    StudyState,
    System,
)
from triptych.study import design, lifecycle
from triptych.study.check_items import add_check_items, sorted_out
from triptych.study.persons import Who
from triptych.study.settings import settings_of

DEMO = app_folder() / "data" / "demo"
ACTOR = "demo"
NOTHING_TO_ANSWER = "restaurant-05"
EARLIEST = timedelta(seconds=420)  # how long before its answers an item's start may lie


@dataclass(frozen=True)
class DemoStudy:
    """How a demo study is simulated.

    people: pseudonym → severity; each rates at most `items_each` items. quality: system → quality, without random
    variation. skips_first: people who skip their first item. settings: as in `design.Parts`. ratings: a file in `DEMO`
    to import instead.
    """

    people: Mapping[str, float]
    quality: Mapping[str, float]
    items_each: int = 6
    settings: JsonObject = field(default_factory=dict)
    skips_first: str = ""
    is_finished: bool = False
    ratings: str = ""


@dataclass(frozen=True)
class DemoFiles:
    """The content of a demo study's files."""

    yaml: str
    rubric: Rubric
    items: ItemFile
    ratings: Assembled | None = None


HALF_DONE, FINISHED, STEP_BY_STEP, IMPORTED = "rrgen", "dialogue_response", "esc_dialogue", "mental_health_qa"
CONSENT = (
    "This is a demo. In a study of yours, this text says what the study is for, what is stored and how long, who can "
    "read it, what is paid, and what happens to ratings if somebody withdraws. Here, what you rate is stored under a "
    "pseudonym until a lead removes the demo studies."
)
DECLARED = {
    "criteria": ["appropriateness", "contextualization", "listening", "correctness"],
    "primary_criterion": "appropriateness",
    "primary_contrast": "Each pair of systems; the difference in the share of appropriate responses.",
    "sample": "14 dialogues, three annotators for each, six annotators in all: as many as a demo needs.",
    "stop_rule": "Collection stops when every dialogue has three annotations.",
    "exclusions": "Annotators who answer faster than the texts can be read.",
}
# in order of creation; lists show the newest study first
DEMOS: Mapping[str, DemoStudy] = MappingProxyType(
    {
        IMPORTED: DemoStudy({}, {}, ratings="mental_health_qa_ratings.csv"),
        STEP_BY_STEP: DemoStudy(
            {"SIM-1": -0.3, "SIM-2": 0.2},
            {"supporter-base": -0.4, "supporter-plan": 0.7, "supporter-ft": -0.6},
            5,
            {"consent": {"text": CONSENT}, "entry": {"kind": "gold", "gold_items": 2}},
        ),
        FINISHED: DemoStudy(
            {"SIM-1": -0.3, "SIM-2": 0.0, "SIM-3": 0.2, "SIM-4": 0.5, "SIM-5": 0.1, "SIM-6": -0.1},
            {"lm-finetuned": -1.3, "lm-grounded": 0.2, "human": 1.6},
            7,
            {"consent": {"not_needed": "Simulated annotators are not people."}, "preregistration": DECLARED},
            is_finished=True,
        ),
        HALF_DONE: DemoStudy(
            {"SIM-1": -0.3, "SIM-2": 0.0, "SIM-3": 0.2, "SIM-4": 0.5},
            {"retrieval-template": -0.2, "seq2seq-small": -0.7, "tuned-7b": 0.9},
            skips_first="SIM-2",
        ),
    }
)


def load_demo(engine: Engine) -> int:
    """Load the demo studies into a database that never had them; returns their number."""
    files = [_files(key) for key in DEMOS]
    try:
        # on a slow computer, loading takes longer than requests wait
        with database.patient(), database.writing(engine) as session:
            # first, so that a second process starting at the same time waits here and then has nothing to do
            session.execute(insert(Setting).values(key=DEMO_LOADED, value=clock.now().isoformat()))
            for key, own in zip(DEMOS, files, strict=True):
                _make(session, key, DEMOS[key], own)
    except IntegrityError:
        return 0
    return len(DEMOS)


def _files(key: str) -> DemoFiles:
    """Read a demo study's files, before writing, since other writers must wait."""
    yaml, rubric = read_shipped()[key]
    items, name = read_items((DEMO / f"{key}.jsonl").read_bytes(), f"{key}.jsonl"), DEMOS[key].ratings
    if not name:
        return DemoFiles(yaml, rubric, items)
    file = read_ratings((DEMO / name).read_bytes(), name, "simulated")
    names = list(dict.fromkeys(rating.criterion for rating in file.ratings))
    return DemoFiles(yaml, rubric, items, assemble([file], own_rubric(rubric, yaml, names), items))


def _make(session: Session, key: str, demo: DemoStudy, files: DemoFiles) -> None:
    rubric = files.rubric
    plan = lifecycle.StudyPlan(title=f"Demo: {rubric.title}", demo=True, seed=f"demo {key}")
    main, checks = sorted_out(files.items.items)
    study = lifecycle.create_study(session, plan, files.yaml, main, ACTOR)
    if checks:
        add_check_items(session, study, checks, ACTOR)
    if demo.settings:
        design.amend(session, study, design.Parts(settings=dict(demo.settings)), "", ACTOR)
    if files.ratings:
        import_ratings.write(session, study, files.ratings, ACTOR, stays_open=True)
        return
    lifecycle.set_state(session, study, StudyState.open, ACTOR)
    _DemoCrowd(session, study, rubric, demo).work()
    if demo.is_finished:
        lifecycle.set_state(session, study, StudyState.closed, ACTOR)


class _DemoCrowd:
    """Simulated annotators of one study, who use the same functions as everybody."""

    def __init__(self, session: Session, study: Study, rubric: Rubric, demo: DemoStudy) -> None:
        self.session, self.study, self.rubric, self.demo = session, study, rubric, demo
        self.rng = Random(study.seed)  # noqa: S311 (a demo, no secret)
        self.ids = dict(map(tuple, session.execute(select(Item.id, Item.external_id).where(Item.study_id == study.id))))
        self.candidates = self._candidates()
        self.references = self._references()

    def _candidates(self) -> dict[int, SimulatedCandidate]:
        """Candidate id → candidate with its system's quality and some random variation."""
        rows = select(Candidate, System.name).join(System, System.id == Candidate.system_id)
        rows = rows.where(System.study_id == self.study.id).order_by(Candidate.id)
        candidates = {}
        for candidate, system in self.session.execute(rows):
            quality = self.demo.quality.get(system, 0) + self.rng.gauss(0, 0.6)
            turns = tuple(turn[1] for turn in candidate.turns or ())
            candidates[candidate.id] = SimulatedCandidate(quality, candidate.text, turns)
        return candidates

    def _references(self) -> dict[int, list[tuple[str, int, float]]]:
        """Id of a training or gold item → (criterion, place of the candidate in the file, value) of each reference."""
        references: dict[int, list[tuple[str, int, float]]] = defaultdict(list)
        rows = select(Reference.item_id, StoredCriterion.key, Reference.position, Reference.accepted)
        rows = rows.join(StoredCriterion).where(StoredCriterion.study_id == self.study.id)
        for item, key, place, accepted in self.session.execute(rows):
            references[item].append((key, place, float(accepted)))
        return references

    def work(self) -> None:
        """Each annotator in turn completes the steps before the first item, rates their share and leaves."""
        for pseudonym, severity in self.demo.people.items():
            who, done, self.begun = _enrol(self.session, self.study, pseudonym), 0, clock.now() - EARLIEST
            work = self._arrive(who)
            while done < self.demo.items_each and not isinstance(work, NoItem):
                self._began_earlier(work)
                skips = pseudonym == self.demo.skips_first and not done
                done += work.purpose == Purpose.main
                work = self._finish(who, work, severity, skips)
                if work == NoItem.entry:
                    work = self._go_on(who)
            _give_back(self.session, self.study)

    def _arrive(self, who: Who) -> Assigned | NoItem:
        consent = settings_of(self.study).consent
        if consent.text:
            joining.consent(self.session, self.study, who, consent.version)
        onboarding.read_instructions(self.session, self.study, who, onboarding.wording_of(self.study))
        return assignments.current(self.session, self.study, who)

    def _go_on(self, who: Who) -> Assigned | NoItem:
        """Start the entry test, or leave the page with its result."""
        step = onboarding.step(self.session, self.study, who)
        if step and step.stage == onboarding.Stage.test:
            entry_test.start(self.session, self.study, who)
        return assignments.current(self.session, self.study, who)

    def _began_earlier(self, work: Assigned) -> None:
        """Move an item's start back by minutes, but not before that of the item before it or of the entry test."""
        values: dict[str, object] = {"origin": Origin.simulated}
        if work.purpose != Purpose.entry_test:
            begun = clock.now() - timedelta(seconds=self.rng.randint(240, EARLIEST.seconds))
            self.begun = values["reserved_at"] = max(begun, self.begun + timedelta(seconds=1))
        self.session.execute(update(Assignment).where(Assignment.id == work.id).values(values))
        events.record(self.session, work.study_id, EventKind.simulated, events.PROGRAM, assignment_id=work.id)

    def _finish(self, who: Who, work: Assigned, severity: float, skips: bool) -> Assigned | NoItem:
        """Rate the item or set it aside; returns the next item or why there is none."""
        message = {"active_seconds": self.rng.randint(90, 230), **message_of(work.token, work.version, self.rng)}
        if self.ids[work.item_id] == NOTHING_TO_ANSWER:
            message |= {"kind": "ignore", "reason": "nothing_to_answer"}
            return submit(self.session, who, SetAsideMessage(**message)).next
        if skips:
            message |= {"kind": "skip", "reason": "unclear"}
            return submit(self.session, who, SetAsideMessage(**message)).next
        answers = self._answers(work, severity)
        return submit(self.session, who, SubmitMessage(**message, kind="submit", answers=answers)).next

    def _answers(self, work: Assigned, severity: float) -> JsonObject:
        """Answers according to the candidates' quality, or the references if there are any."""
        slots = select(Slot.candidate_id).where(Slot.assignment_id == work.id).order_by(Slot.position)
        shown = list(self.session.scalars(slots))
        seen = [self.candidates[number] for number in shown]
        context = context_of(self.session, work.id) if self.rubric.labels_in("context") else None
        answers = generate_answers(self.rubric, self.study.round, seen, self.rng, severity, context)
        for key, place, value in self.references[work.item_id]:
            slot = shown.index(sorted(shown)[place])  # references number candidates in file order
            answers["ratings"][LETTERS[slot]][key] = value
        return answers


def _enrol(session: Session, study: Study, pseudonym: str) -> Who:
    person = session.scalars(select(Person).where(Person.pseudonym == pseudonym)).first()
    if person is None:
        person = Person(kind=Kind.simulated, pseudonym=pseudonym, created_at=clock.now())
        session.add(person)
        session.flush()
    session.add(Membership(study_id=study.id, person_id=person.id, joined_at=clock.now()))
    session.flush()
    events.record(session, study.id, EventKind.joined, pseudonym, subject=pseudonym)
    return Who(person.id, person.pseudonym, person.role, None, 0)


def _give_back(session: Session, study: Study) -> None:
    """Release the last item reserved for a simulated annotator, who will not do it."""
    held = select(Assignment).where(Assignment.study_id == study.id, Assignment.state == AssignmentState.reserved)
    for work in session.scalars(held):
        work.origin, work.expires_at = Origin.simulated, clock.now() - timedelta(seconds=1)
        events.record(session, study.id, EventKind.simulated, events.PROGRAM, assignment_id=work.id)
    session.flush()
    reservations.give_back_expired(session, study)

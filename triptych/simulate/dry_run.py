"""A dry run: simulated annotators fill a copy of a study, and the analysis is compared with the simulated effects.

The copy is in a separate in-memory database, which is discarded afterwards: its rows cannot mix with real ones, no list
shows it, and writers do not wait for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from time import monotonic

from sqlalchemy import Engine, StaticPool, create_engine, func, insert, select, update
from sqlmodel import Session

from triptych import clock
from triptych.annotate import assignments
from triptych.annotate.annotations import SubmitMessage, submit
from triptych.annotate.answer_rows import context_of
from triptych.annotate.assignments import NoItem
from triptych.errors import NotAllowed
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import build_frame
from triptych.results.study_analysis import StudyAnalysis
from triptych.simulate.annotators import Crowd, Recipe, SimulatedCandidate, generate_answers, message_of
from triptych.simulate.recovery import Planted, Recovered, RecoveryCheck, checks, imagined
from triptych.storage import database
from triptych.storage.models import (
    Base,
    Candidate,
    Item,
    Kind,
    Membership,
    Person,
    PlannedItem,
    Purpose,
    Slot,
    Study,
    StudyState,
    System,
)
from triptych.storage.rows import DESIGN, of_study, within
from triptych.study import lifecycle, pairing
from triptych.study.persons import Who
from triptych.study.settings import Consent, EntryRules, changed, settings_of, stored
from triptych.study.system_names import system_names

MIN_COUNT, MAX_PEOPLE, MAX_ANNOTATIONS = 2, 100, 3000
MAX_RATINGS = 60_000  # more take minutes, while other scripts wait
SIMULATED = Counted(frozenset({Kind.simulated.value}))
Tell = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class DryRun:
    """The result of a dry run. analysis: of the simulated ratings; checks: simulated and recovered values."""

    annotations: int
    items: int
    annotators: int
    seconds: float
    analysis: StudyAnalysis
    checks: tuple[RecoveryCheck, ...]

    @property
    def sentence(self) -> str:
        """How many of the simulated effects the analysis recovered."""
        of = {result: sum(check.recovered == result for check in self.checks) for result in Recovered}
        recovered = f"{of[Recovered.yes]} of {len(self.checks)} planted effects recovered"
        return f"{recovered}, {of[Recovered.unclear]} unclear, {of[Recovered.no]} reversed or spurious."


def dry_run(session: Session, study: Study, recipe: Recipe, tell: Tell = lambda share: None) -> DryRun:
    """Fill a copy of the study according to the recipe, and check what the analysis recovers; the copy is discarded.

    session: reads the study. tell: called with the share done, from 0 to 1. Raises NotAllowed for a study without
    items, or a recipe that is not possible.
    """
    began = monotonic()
    items = _items(session, study, recipe)
    engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    try:
        Base.metadata.create_all(engine)
        _copy(session, study, items, engine)
        # drawn from all items of the study: the run contains a proportional part of the subset
        subset = pairing.subset_of(session, study)
        with Session(engine, expire_on_commit=False) as copy:
            copied = _begin_afresh(copy, subset, len(items))
            done, people, planted = _played(copy, copied, recipe, tell)
            if not done:
                raise NotAllowed("No simulated annotator was assigned an item. Check the plan and limits of the study.")
            analysis = StudyAnalysis(build_frame(copy, copied), SIMULATED, system_names(copy, copied))
    finally:
        engine.dispose()
    seconds = monotonic() - began
    return DryRun(done, analysis.n_items, people, seconds, analysis, tuple(checks(planted, analysis)))


def _items(session: Session, study: Study, recipe: Recipe) -> list[int]:
    """The main items of the run, chosen by the study's random rank, so that all kinds of items keep their share."""
    if not MIN_COUNT <= recipe.annotators <= MAX_PEOPLE:
        raise NotAllowed(f"A dry run takes {MIN_COUNT} to {MAX_PEOPLE} annotators; {recipe.annotators} were asked for.")
    if recipe.careless >= recipe.annotators:
        raise NotAllowed("Not every annotator can be careless: choose fewer careless ones, or more annotators.")
    main = select(Item.id, Item.external_id).where(
        Item.study_id == study.id, Item.purpose == Purpose.main, ~Item.retired
    )
    rows = session.execute(main.order_by(Item.rank).limit(min(max(recipe.items, 0), MAX_ANNOTATIONS + 1))).all()
    if len(rows) < MIN_COUNT:
        raise NotAllowed(f"A dry run needs {MIN_COUNT} items or more. Add items to the study first.")
    raters = pairing.raters_of(session, study)
    annotations_of = {row.id: min(raters[row.external_id], recipe.annotators) for row in rows}
    annotations = sum(annotations_of.values())
    of_study = select(Candidate.item_id, func.count()).join(Item).where(Item.study_id == study.id)
    candidates = map(tuple, session.execute(of_study.group_by(Candidate.item_id)))
    asked = [criterion.about for criterion in lifecycle.design_of(session, study).rubric.asked(study.round)]
    ratings = annotations * asked.count("item")
    ratings += asked.count("candidate") * sum(count * annotations_of.get(item, 0) for item, count in candidates)
    if annotations > MAX_ANNOTATIONS or ratings > MAX_RATINGS:
        raise NotAllowed(
            f"That would be {annotations:,} annotations with {ratings:,} ratings; a dry run makes {MAX_ANNOTATIONS:,} "
            f"with {MAX_RATINGS:,} at most. Choose fewer items."
        )
    return [row.id for row in rows]


def _copy(session: Session, study: Study, main: Sequence[int], engine: Engine) -> None:
    """Copy the study's design without people into an empty database, row by row."""
    items = select(Item.id).where(Item.study_id == study.id, (Item.purpose != Purpose.main) | Item.id.in_(main))
    run = {Item.__table__: Item.id.in_(items), PlannedItem.__table__: PlannedItem.item_id.in_(items)}
    source, roots = session.connection(), of_study(study.id) | run
    with engine.begin() as target:
        for table in DESIGN:
            query = select(table).where(within(table, roots)).order_by(table.c.id)
            rows = source.execute(query).mappings().all()
            if rows:
                target.execute(insert(table), [dict(row) for row in rows])


def _begin_afresh(copy: Session, subset: Sequence[str], items: int) -> Study:
    """An open study without annotations; simulated annotators neither consent nor take a test.

    A draft is opened as by a launch: its overlap subset gets its places. Collection ends when all is in, whatever the
    stop rule, as results are final then.
    """
    study = copy.scalars(select(Study)).one()
    if study.opened_at is None:
        pairing.give_places(copy, study, subset)
    declared = settings_of(study).preregistration.model_copy(update={"stop_rule": ""})
    parts = {"consent": Consent(), "entry": EntryRules(kind="none"), "instructions": "", "preregistration": declared}
    settings = changed(study, **parts)
    study.settings, study.item_count = stored(settings), items
    study.state, study.opened_at, study.paused_at = StudyState.open, clock.now(), None
    study.event_number, study.event_hash = 0, ""
    copy.execute(update(Item).values(taken=0))
    database.commit(copy)
    return study


def _played(copy: Session, study: Study, recipe: Recipe, tell: Tell) -> tuple[int, int, Planted]:
    """The numbers of annotations and annotators, and the simulated effects."""
    systems = _systems(copy)
    people = _people(copy, study, recipe.annotators)
    crowd = Crowd.drawn(
        recipe, sorted({code for codes in systems.values() for code in codes}), [w.pseudonym for w in people]
    )
    rng = Random(recipe.seed)  # noqa: S311 (a simulation, no secret)
    shown = _candidates(copy, {item: crowd.qualities(codes, rng) for item, codes in systems.items()})
    done = _fill(copy, study, people, crowd, shown, rng, tell)
    criteria = lifecycle.design_of(copy, study).rubric.asked(study.round)
    return done, len(people), imagined(crowd, criteria, list(systems.values()), rng)


def _systems(copy: Session) -> dict[int, list[int]]:
    """Main item → the blind codes of its systems."""
    rows = select(Candidate.item_id, System.blind_code).join(System, System.id == Candidate.system_id)
    codes: defaultdict[int, list[int]] = defaultdict(list)
    # in the order of the file, a known seed would reveal the systems
    in_order = rows.join(Item, Item.id == Candidate.item_id).order_by(Candidate.item_id, System.blind_code)
    for item, code in copy.execute(in_order.where(Item.purpose == Purpose.main)):
        codes[item].append(code)
    return codes


def _candidates(copy: Session, qualities: dict[int, dict[int, float]]) -> dict[int, SimulatedCandidate]:
    """Candidate id → candidate; those of training, gold and attention items have average quality."""
    rows = select(Candidate, System.blind_code).join(System, System.id == Candidate.system_id)
    return {
        candidate.id: SimulatedCandidate(
            qualities.get(candidate.item_id, {}).get(code, 0.0),
            candidate.text,
            tuple(turn[1] for turn in candidate.turns or ()),
        )
        for candidate, code in copy.execute(rows)
    }


def _people(copy: Session, study: Study, count: int) -> list[Who]:
    """Simulated annotators; if the study has an explicit plan, one for each person in it."""
    planned = copy.scalars(select(PlannedItem.person_id).distinct().order_by(PlannedItem.person_id)).all()
    now, people = clock.now(), []
    for number, person_id in enumerate(planned or range(1, count + 1), 1):
        person = Person(id=person_id, kind=Kind.simulated, pseudonym=f"SIM-{number:02}", created_at=now)
        part = Membership(study_id=study.id, person_id=person_id, joined_at=now, instructions_read_at=now)
        copy.add_all([person, part])
        people.append(Who(person_id, person.pseudonym, person.role, None, 0))
    database.commit(copy)
    return people


def _fill(
    copy: Session,
    study: Study,
    people: Sequence[Who],
    crowd: Crowd,
    shown: dict[int, SimulatedCandidate],
    rng: Random,
    tell: Tell,
) -> int:
    """Everybody annotates in turn with the commands of real annotators until no item is left; returns the number of
    annotations.
    """
    rubric = lifecycle.design_of(copy, study).rubric
    places = copy.scalar(select(func.sum(Item.raters)).where(Item.purpose == Purpose.main)) or 1
    done, at_work = 0, True
    while at_work:
        at_work = False
        for who in rng.sample(people, len(people)):
            work = assignments.current(copy, study, who)
            if isinstance(work, NoItem):
                continue
            slots = select(Slot.candidate_id).where(Slot.assignment_id == work.id).order_by(Slot.position)
            candidates = [shown[candidate] for candidate in copy.scalars(slots)]
            felt = crowd.felt(who.pseudonym, [candidate.quality for candidate in candidates], rng)
            seen = [replace(candidate, quality=q) for candidate, q in zip(candidates, felt, strict=True)]
            context = context_of(copy, work.id) if rubric.labels_in("context") else None
            answers = generate_answers(rubric, study.round, seen, rng, context=context)
            message = SubmitMessage(kind="submit", answers=answers, **message_of(work.token, work.version, rng))
            submit(copy, who, message)
            done, at_work = done + (work.purpose == Purpose.main), True
        database.commit(copy)
        tell(min(done / places, 1.0))
    return done

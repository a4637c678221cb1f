"""A dry run finds again what it planted, leaves the study alone, and works for every shipped rubric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.frames import crossed
from helpers.studies import SMALL_RUBRIC, draft_items
from sqlalchemy import Row, func, select, update
from sqlmodel import Session

from triptych.errors import NotAllowed
from triptych.formats import read_items
from triptych.results.frame.model import Counted
from triptych.results.study_analysis import StudyAnalysis
from triptych.rubric.files import shipped_rubrics
from triptych.simulate import dry_run, recovery
from triptych.simulate.annotators import Crowd, Recipe
from triptych.simulate.demo import DEMO
from triptych.simulate.recovery import Planted, Recovered, checks
from triptych.stats.analysis.annotators import NO_SEVERITY
from triptych.stats.analysis.collection import CLEAR
from triptych.stats.diagnostics import AnnotatorAgreement
from triptych.stats.undefined import Undefined
from triptych.storage import database, schema
from triptych.storage.models import Base, Item, PlannedItem, Rating, Round
from triptych.study import launch, lifecycle, pairing, settings

STRONG = Recipe(annotators=8, gap=0.5, first=0.3, severe=0.2)
NOTHING = Recipe(annotators=8, gap=0.0, first=0.0, severe=0.0, careless=0)
ENDS = {"Ranking of systems", "Place on the screen", "Careless annotators", "Strict annotator", "Severities"}


def make(session: Session, items, rubric: str = SMALL_RUBRIC, study_round: Round = Round.main):
    plan = lifecycle.StudyPlan(title="Tried out", seed="fixed", round=study_round)
    return lifecycle.create_study(session, plan, rubric, items, "P-lead")


def overlap(study, items: int) -> None:
    """One annotator per item, and three for this many of them."""
    study.raters_per_item = 1
    study.settings = settings.stored(settings.changed(study, overlap={"items": items, "raters": 3}))


def stored(engine) -> list[Sequence[Row]]:
    """Every row of the database."""
    with database.reading(engine) as session:
        return [session.execute(select(table)).all() for table in Base.metadata.sorted_tables]


@pytest.fixture(scope="module")
def new_database(tmp_path_factory):
    """Makes a database; orders of responses depend on the ids of items, so that tests of findings need a new one."""
    made = []

    def make_one():
        made.append(database.open_engine(f"sqlite:///{tmp_path_factory.mktemp('dry') / 'triptych.db'}"))
        schema.migrate(made[-1])
        return made[-1]

    yield make_one
    for engine in made:
        engine.dispose()


@pytest.fixture(scope="module")
def lab(new_database):
    """One for all tests that only count."""
    return new_database()


@pytest.fixture(scope="module", autouse=True)
def imagining_less():
    """What endless annotations would show, from fewer of them."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(recovery, "ANSWER_COUNT", 500)
        yield


@pytest.fixture(scope="module")
def played(new_database):
    """(run, shares reported, rows before, rows after) of a draft of 50 items."""
    engine = new_database()
    with database.writing(engine) as session:
        study = make(session, draft_items(50))
    shares: list[float] = []
    before = stored(engine)
    with database.reading(engine) as session:
        run = dry_run.dry_run(session, study, STRONG, shares.append)
    return run, shares, before, stored(engine)


@pytest.mark.long
def test_planted_ranking_place_careless_and_strict_annotator_are_recovered(played):
    run = played[0]
    assert (run.annotations, run.items, run.annotators) == (150, 50, 8)
    recovered = {(check.effect, check.about): check.recovered for check in run.checks if check.effect in ENDS}
    assert {effect for effect, _ in recovered} == ENDS
    assert set(recovered.values()) == {Recovered.yes}, run.checks
    assert not [check for check in run.checks if check.recovered == Recovered.no]


def test_a_dry_run_of_a_draft_changes_no_row(played):
    _, shares, before, after = played
    assert before == after
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_systems_stay_blind_and_the_sentence_counts_every_check(played):
    run = played[0]
    assert "System 1" in run.checks[0].planted
    text = " ".join(f"{check.about} {check.planted} {check.observed}" for check in run.checks)
    assert not any(name in text for name in ("plumbum", "stannum", "ferrum"))
    assert f" of {len(run.checks)} planted effects" in run.sentence


def test_who_rates_all_alike_is_named_without_a_correlation():
    agreement = AnnotatorAgreement("Maple", None, Undefined("All equal."), 0.6, 40, True, "All equal.")
    analysis: Any = SimpleNamespace(annotators=[SimpleNamespace(annotator="Maple", agreement=agreement)])
    crowd = Crowd({}, {}, frozenset({"Maple"}), 0.0, None)
    (check,) = recovery._careless(crowd, analysis)
    assert (check.observed, check.recovered) == ("Alarm for Maple", Recovered.yes)


@pytest.mark.slow
@pytest.mark.parametrize("key", sorted(shipped_rubrics()))
def test_a_large_dry_run_recovers_every_planted_effect(sqlite_engine, key):
    few = read_items((DEMO / f"{key}.jsonl").read_bytes(), f"{key}.jsonl").items
    items = [replace(few[n % len(few)], external_id=f"item-{n}") for n in range(200)]
    with database.writing(sqlite_engine) as session:
        study = make(session, items, shipped_rubrics()[key].read_text(encoding="utf-8"))
        run = dry_run.dry_run(session, study, Recipe(gap=0.4, first=0.25))
    assert (run.annotations, run.annotators) == (600, 12)
    assert {check.recovered for check in run.checks if check.effect in ENDS} == {Recovered.yes}, run.checks
    assert run.seconds < 60


@pytest.mark.parametrize("key", sorted(shipped_rubrics()))
def test_every_shipped_rubric_can_be_tried_out(lab, key):
    items = read_items((DEMO / f"{key}.jsonl").read_bytes(), f"{key}.jsonl").items
    with database.writing(lab) as session:
        study = make(session, items[:3], shipped_rubrics()[key].read_text(encoding="utf-8"), Round.crowd)
        run = dry_run.dry_run(session, study, Recipe(annotators=3))
    asked = run.analysis.frame.rubric.asked("crowd")
    assert run.annotations == 9
    assert {check.about for check in run.checks if check.effect == "Ranking of systems"} >= {asked[0].title}


def test_where_nothing_is_planted_nothing_is_found(sqlite_engine):
    with database.writing(sqlite_engine) as session:
        run = dry_run.dry_run(session, make(session, draft_items(30)), NOTHING)
    recovered = {check.effect: check.recovered for check in run.checks}
    assert "Ranking of systems" not in recovered
    assert "Strict annotator" not in recovered
    assert recovered["Place on the screen"] == recovered["Careless annotators"] == Recovered.yes
    assert all(check.planted in ("0.00", "0 %") for check in run.checks if check.effect == "Difference")


def test_a_plan_gets_one_simulated_annotator_per_person(lab, make_study):
    with database.writing(lab) as session:
        study, _, people = make_study(session, items=6, annotators=3)
        main = session.scalars(select(Item.id).where(Item.study_id == study.id)).all()
        lines = [(who, item) for n, who in enumerate(people[:2]) for item in main[n : n + 4]]
        for rank, (who, item) in enumerate(lines):
            session.add(PlannedItem(study_id=study.id, person_id=who.person_id, item_id=item, rank=rank))
        session.flush()
        run = dry_run.dry_run(session, study, Recipe(annotators=9))
    assert (run.annotators, run.annotations) == (2, 8)
    assert set(run.analysis.frame.work["annotator"]) == {"SIM-01", "SIM-02"}


def test_a_dry_run_uses_the_overlap_subset_of_the_launch(lab):
    with database.writing(lab) as session:
        study = make(session, draft_items(12))
        overlap(study, 4)
        run = dry_run.dry_run(session, study, Recipe(annotators=4))
        study.settings = study.settings | {"consent": {"not_needed": "Staff try it."}}
        launch.launch(session, study, "P-lead", launch.check(session, study))
        launched = dict(session.execute(select(Item.external_id, Item.raters).where(Item.study_id == study.id)).all())
    rated = run.analysis.frame.work.groupby("item").size().to_dict()
    assert (run.annotations, sum(launched.values())) == (20, 20)
    assert rated == launched


def test_part_of_a_draft_keeps_the_subsets_share(lab):
    with database.writing(lab) as session:
        study = make(session, draft_items(40))
        overlap(study, 20)
        run = dry_run.dry_run(session, study, Recipe(annotators=4, items=10))
        subset = set(pairing.subset_of(session, study))
    rated = run.analysis.frame.work.groupby("item").size()
    assert len(rated) == 10
    assert {item for item, times in rated.items() if times == 3} == set(rated.index) & subset


def test_a_dry_run_of_a_running_study_starts_from_nothing(lab, make_study):
    with database.writing(lab) as session:
        study, _, people = make_study(session, items=3)
        session.execute(update(Item).where(Item.study_id == study.id).values(taken=2))
        run = dry_run.dry_run(session, study, Recipe(annotators=3))
        assert session.scalar(select(func.count(Rating.id))) == 0
    assert run.annotations == 9


def test_choices_of_the_best_show_no_severity(lab):
    rubric = (
        "key: best\ntitle: Best\nsummary: S.\ninstructions: I.\n"
        "criteria:\n  - {key: best, title: Best, definition: D., about: item, scale: {kind: best}}\n"
    )
    with database.writing(lab) as session:
        run = dry_run.dry_run(session, make(session, draft_items(12), rubric), Recipe(annotators=4, careless=0))
    assert {look.severity for look in run.analysis.annotators} == {NO_SEVERITY}
    assert "Severities" not in {check.effect for check in run.checks}


def test_a_complete_run_is_over_whatever_the_stop_rule(lab):
    declared = {"stop_rule": "We stop after two weeks.", "interim_bound": 0.0}
    with database.writing(lab) as session:
        study = make(session, draft_items(8))
        study.settings = settings.stored(settings.changed(study, preregistration=declared))
        session.flush()
        analysis = dry_run.dry_run(session, study, Recipe(annotators=3)).analysis
    assert (analysis.collection.interim, analysis.collection.bound) == (False, CLEAR)


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        (Recipe(annotators=1), "2 to 100 annotators"),
        (Recipe(annotators=2, careless=2), "fewer careless ones"),
        (Recipe(items=1), "needs 2 items"),
        (Recipe(items=2, annotators=3), "MAX_ANNOTATIONS"),
        (Recipe(items=2, annotators=3), "MAX_RATINGS"),
    ],
)
def test_a_recipe_that_cannot_be_run_says_why(lab, monkeypatch, recipe, words):
    if words.startswith("MAX"):
        monkeypatch.setattr(dry_run, words, 5)
        words = "That would be 6 annotations with 36 ratings"
    with database.writing(lab) as session, pytest.raises(NotAllowed, match=words):
        dry_run.dry_run(session, make(session, draft_items(3)), recipe)


def test_what_comes_out_the_wrong_way_round_is_called_wrong():
    frame = crossed(40, 8, systems=2, gap=1.5)
    analysis = StudyAnalysis(frame, Counted(), {1: "System 1", 2: "System 2"})
    crowd = Crowd({1: 1.0, 2: -1.0}, {f"P-{n}": 0.0 for n in range(8)}, frozenset({"P-0"}), 0.0, None)
    planted = Planted(crowd, (1, 2), {"c1": np.tile([5.0, 3.0], (10, 1))})
    check_of = {check.effect: check for check in checks(planted, analysis)}
    assert check_of["Ranking of systems"].recovered == Recovered.no
    assert check_of["Difference"].recovered == Recovered.no
    assert check_of["Difference"].planted == "-2.00"
    assert check_of["Intervals of differences"].recovered == Recovered.no
    assert (check_of["Careless annotators"].observed, check_of["Careless annotators"].recovered) == (
        "No alarm",
        Recovered.unclear,
    )

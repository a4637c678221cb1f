"""What the log proves and what is drawn does not depend on how a database sorts texts."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from helpers.ratings import submit
from helpers.reports import report_of
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, join
from sqlalchemy import select, text, update

from triptych.annotate import exclusions
from triptych.formats.model import CandidateDraft
from triptych.operations import frozen, move, verify
from triptych.storage import database, schema
from triptych.storage.database import reading, writing
from triptych.storage.models import Item, Role, Study, StudyState, System
from triptych.study import contents, lifecycle, log, plans
from triptych.study.pairing import PlanLine

IDS = ("a1", "B1", "Ä1", "a-1")
NAMES = ("alpha", "Beta", "a-lpha")  # of systems, and of people


@pytest.fixture
def en_us_engine(postgres, postgres_admin):
    """An empty PostgreSQL database that sorts as in English: a-1, a1, Ä1, B1."""
    name = f"icu{uuid.uuid4().hex}"
    sorting = "LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'"
    postgres_admin.execute(text(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' {sorting}"))
    engine = database.open_engine(f"{postgres}/{name}")
    schema.migrate(engine)
    yield engine
    engine.dispose()
    postgres_admin.execute(text(f"DROP DATABASE {name}"))


def launch(engine) -> None:
    """An open study whose items, systems and people are sorted differently by different databases.

    All people have annotated an item and are excluded.
    """
    candidates = tuple(CandidateDraft(name, f"An answer of {name}") for name in NAMES)
    items = [
        replace(item, external_id=name, candidates=candidates)
        for item, name in zip(draft_items(len(IDS)), IDS, strict=True)
    ]
    with writing(engine) as session:
        lead = add_person(session, "lead", Role.lead)
        plan = lifecycle.StudyPlan(title="Sorted", seed="fixed", raters_per_item=1)
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, items, lead.pseudonym, lead.person_id)
        contents.number_systems(session, study)
        people = [join(session, study, add_person(session, name)) for name in NAMES]
        lines = [PlanLine(who.pseudonym, item) for who, item in zip(people, IDS, strict=False)]
        plans.store(session, study, lines, lead.pseudonym)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        for who in people:
            submit(session, study, who)
            exclusions.exclude(session, study, who.pseudonym, "too fast", lead.pseudonym)


@pytest.mark.long
def test_a_study_moved_to_another_sort_order_is_proved(sqlite_engine, en_us_engine):
    launch(sqlite_engine)
    move.move(sqlite_engine, en_us_engine)

    with reading(en_us_engine) as session:
        assert verify.verify(session, session.scalars(select(Study)).one()).differences == ()


@pytest.mark.long
def test_a_report_is_the_same_in_all_databases(sqlite_engine, en_us_engine):
    launch(sqlite_engine)
    move.move(sqlite_engine, en_us_engine)
    with reading(sqlite_engine) as session:
        study = session.scalars(select(Study)).one()

    assert report_of(sqlite_engine, study).sha256 == report_of(en_us_engine, study).sha256


def test_hashes_and_draws_are_the_same_in_all_databases(sqlite_engine, en_us_engine):
    fixed = []
    for engine in (sqlite_engine, en_us_engine):
        launch(engine)
        with reading(engine) as session:
            study = session.scalars(select(Study)).one()
            logged = [entry.new or {} for entry in log.entries(session, study)]
            hashes = [new[key] for new in logged for key in ("sha256", "design_hash", "systems_seal") if key in new]
            systems = select(System.name, System.blind_code)
            fixed.append((hashes, dict(map(tuple, session.execute(systems)))))

    assert fixed[0] == fixed[1]
    assert len(fixed[0][0]) == 3


def test_hashes_in_the_order_of_the_database_prove_there(en_us_engine):
    """As versions before 0.2.0 logged them."""
    launch(en_us_engine)
    with writing(en_us_engine) as session:
        study = session.scalars(select(Study)).one()
        study.design_hash = contents.design_hash(session, study, sorted_by_database=True)
        session.flush()
        systems = contents.systems_hash(session, study, sorted_by_database=True)
        logged = {"design_hash": study.design_hash, "systems_hash": systems}
        assert study.design_hash != contents.design_hash(session, study)
        assert systems != contents.systems_hash(session, study)

        assert list(frozen.of_design(session, study, (logged, 1))) == []

        session.execute(update(Item).where(Item.external_id == "Ä1").values(raters=9))
        session.execute(update(System).values(name=System.name + " 2"))

        assert len(list(frozen.of_design(session, study, (logged, 1)))) == 2

"""Fixtures shared by all tests: folders, throw-away databases, a small study with people."""

from __future__ import annotations

import gc
import os
import sys
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from helpers import compiled_statements
from helpers.database_files import copied
from helpers.forking import forking
from helpers.postgres_databases import EmptyDatabases
from helpers.studies import (
    PUBLIC_DATA,
    SMALL_RUBRIC,
    absent,
    add_person,
    draft_items,
    join,
)
from hypothesis import settings as hypothesis_settings
from sqlalchemy import Connection, Engine, create_engine, text
from sqlmodel import Session

from bench.postgres import postgres_binaries, throw_away_postgres
from triptych import clock
from triptych.storage import database, schema, wiping
from triptych.storage.models import Role, Study, StudyState
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.web import budgets

# tests start hundreds of processes; where a container forbids Python to store what it compiled, each compiles all again
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# the time an example takes depends on the machine more than on the code
hypothesis_settings.register_profile("any machine", deadline=None)
hypothesis_settings.load_profile("any machine")
compiled_statements.share()


pytest_plugins = ["helpers.ratings_import", "helpers.reported", "helpers.results_pages", "helpers.study_pages"]

LONGEST = {
    "test_accessible",
    "test_browser_blind",
    "test_browser_keeping",
    "test_browser_xss",
    "test_fresh_server",
    "test_main_job",
    "test_protocol_four",
    "test_workbench_surface",
}


def pytest_collection_finish() -> None:
    """Takes the libraries out of the garbage collector's rounds, which are a quarter of the processor time of tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, so that no worker is left alone with one of them at the end."""
    items.sort(key=lambda item: item.path.stem not in LONGEST)


@pytest.fixture(scope="session")
def shared() -> Path:
    """A folder next to the repository with public data sets, which we may not redistribute."""
    if not PUBLIC_DATA.is_dir():
        pytest.skip("Public data sets are not part of the repository; they are read from the folder ../shared.")
    return PUBLIC_DATA


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test touches the database of the person who runs it."""
    monkeypatch.setenv("TRIPTYCH_HOME", str(tmp_path))
    monkeypatch.delenv("TRIPTYCH_DATABASE_URL", raising=False)


@pytest.fixture(autouse=True)
def own_budgets() -> None:
    """No test uses up what the pages of another may ask."""
    budgets.spending.cache_clear()


@pytest.fixture(autouse=True)
def no_pauses_in_wiping(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the first erasure of a test takes long, and the next one would be put off."""
    monkeypatch.setattr(wiping, "PAUSE", 0)


@pytest.fixture
def move_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Stops the one clock; calling this moves it forward."""
    start = clock.now()
    passed = [timedelta()]
    monkeypatch.setattr(clock, "now", lambda: start + passed[0])

    def move(**time: float) -> None:
        passed[0] += timedelta(**time)

    return move


@pytest.fixture(autouse=True)
def own_main() -> Iterator[None]:
    """A test of a page leaves the app as `__main__`, which every process that a later test spawns would run.

    Not by monkeypatch, which a test may undo while a page runs.
    """
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.fixture(autouse=True)
def components_found_once() -> None:
    """Each AppTest looks through all installed packages for components, which is most of the time of a page test."""
    if "streamlit" not in sys.modules:
        return
    from streamlit.components.v2 import manifest_scanner

    if not hasattr(manifest_scanner.scan_component_manifests, "cache_info"):
        manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """URL of a throw-away PostgreSQL cluster."""
    if postgres_binaries() is None:
        absent("the PostgreSQL server (initdb)")
    with throw_away_postgres() as url:
        yield url


@pytest.fixture(scope="session")
def ready_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty, migrated file. A test's database is a copy of it: thirty times faster than to migrate."""
    path = tmp_path_factory.mktemp("ready") / "triptych.db"
    engine = database.open_engine(f"sqlite:///{path}")
    schema.migrate(engine)
    engine.dispose()
    path.chmod(0o600)  # as a started app makes it
    return path


@pytest.fixture(scope="session")
def postgres_admin(postgres: str) -> Iterator[Connection]:
    """A connection that creates databases. One of them, `ready`, is empty and migrated."""
    admin = create_engine(f"{postgres}/postgres", isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text("CREATE DATABASE ready"))
        engine = database.open_engine(f"{postgres}/ready")
        schema.migrate(engine)
        engine.dispose()
        yield connection
    admin.dispose()


@pytest.fixture(scope="session")
def forked() -> Iterator[Callable[..., Any]]:
    """The `start` for servers of tests that are not about how a server starts; see forking_parent.py."""
    with forking() as start:
        yield start


@pytest.fixture
def sqlite_engine(tmp_path: Path, ready_sqlite: Path) -> Iterator[Engine]:
    with copied(ready_sqlite, tmp_path) as engine:
        yield engine


@pytest.fixture(scope="module")
def module_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """One SQLite database for all tests of a module, each of which rolls back what it wrote."""
    engine = database.open_engine(f"sqlite:///{tmp_path_factory.mktemp('module') / 'triptych.db'}")
    schema.migrate(engine)
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def empty_databases(postgres: str, postgres_admin: Connection) -> Iterator[EmptyDatabases]:
    databases = EmptyDatabases(postgres, postgres_admin)
    yield databases
    databases.close()


@pytest.fixture
def postgres_engine(empty_databases: EmptyDatabases) -> Iterator[Engine]:
    engine = database.open_engine(empty_databases.next())
    yield engine
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Both databases, for tests of SQL behaviour: constraints, races, types, migrations."""
    return request.getfixturevalue(f"{request.param}_engine")


@pytest.fixture(scope="session")
def make_study() -> Callable[..., tuple[Study, Who, list[Who]]]:
    """Makes an open study with a lead and annotators in a session: (study, lead, annotators)."""

    def make(
        session: Session, items: int = 4, annotators: int = 2, rubric: str = SMALL_RUBRIC, **plan: Any
    ) -> tuple[Study, Who, list[Who]]:
        lead = add_person(session, f"lead{uuid.uuid4().hex[:6]}", Role.lead)
        title = plan.pop("title", "A small study")
        planned = lifecycle.StudyPlan(title=title, seed="fixed", **plan)
        study = lifecycle.create_study(session, planned, rubric, draft_items(items), lead.pseudonym, lead.person_id)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        people = [
            join(session, study, add_person(session, f"ann{n}-{uuid.uuid4().hex[:6]}")) for n in range(annotators)
        ]
        return study, lead, people

    return make

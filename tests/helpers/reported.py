"""A small study with one annotation and a report of it, made once for all tests that edit or compare reports."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from helpers.database_files import copied
from helpers.ratings import submit
from triptych.reports.build import Report, build_report
from triptych.storage.database import open_engine, reading, writing
from triptych.storage.models import Study
from triptych.study.persons import Who


@dataclass(frozen=True)
class Reported:
    """The database file, of which tests change copies, its study, and a report that is not stored in it."""

    database: Path
    study: Study
    lead: Who
    report: Report


@pytest.fixture(scope="session")
def reported(tmp_path_factory: pytest.TempPathFactory, ready_sqlite: Path, make_study: Callable[..., Any]) -> Reported:
    path = Path(shutil.copy(ready_sqlite, tmp_path_factory.mktemp("reported") / "triptych.db"))
    engine = open_engine(f"sqlite:///{path}")
    with writing(engine) as session:
        made, lead, (who, _) = make_study(session)
        submit(session, made, who)
    with reading(engine) as session:
        study = session.get_one(Study, made.id)
        report = build_report(session, study)
        session.expunge(study)
    engine.dispose()
    return Reported(path, study, lead, report)


@pytest.fixture
def reported_engine(tmp_path: Path, reported: Reported) -> Iterator[Engine]:
    """A copy of the database that there is a report of."""
    with copied(reported.database, tmp_path) as engine:
        yield engine

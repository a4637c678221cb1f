"""The files of a database: copies to work on, and their bytes, to look for what was erased."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine, text

from triptych.storage import database


def files_of(engine) -> bytes:
    """All bytes of the database: SQLite's three files, or the tables' files of a PostgreSQL server."""
    if engine.dialect.name == "sqlite":
        path = database.sqlite_path(str(engine.url))
        return b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.execute(text("CHECKPOINT"))
        place = connection.execute(text("SHOW data_directory")).scalar_one()
        number = connection.execute(text("SELECT oid FROM pg_database WHERE datname = current_database()")).scalar_one()
    return b"".join(file.read_bytes() for file in Path(place, "base", str(number)).glob("*") if file.is_file())


@contextmanager
def copied(file: Path, home: Path) -> Iterator[Engine]:
    """A copy of the database file as that of a home."""
    engine = database.open_engine(f"sqlite:///{shutil.copy(file, home / 'triptych.db')}")
    yield engine
    engine.dispose()

"""A study's file of 34 kB whose database computes a text of a gigabyte as soon as anything reads or checks it."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from helpers.capsules import with_sql

from triptych.errors import ImportRefused, NotFound
from triptych.operations import capsule, earlier_head
from triptych.storage import database
from triptych.storage.database import writing

TEXT = "printf('%.*c', 100, 'x')"  # a thousandth of what it could be
CONSTRAINT = (
    "PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = replace(sql, 'PRIMARY KEY', "
    f"'CHECK (length({TEXT.replace(chr(39), chr(39) * 2)}) > 0), PRIMARY KEY') WHERE name = 'turn'"
)


@pytest.fixture
def packed(sqlite_engine, make_study, tmp_path):
    """A study's file as another installation writes it."""
    with writing(sqlite_engine) as session:
        slug = make_study(session)[0].slug
    path = tmp_path / "study.zip"
    path.write_bytes(b"".join(capsule.pieces(sqlite_engine, slug)))
    return path


@pytest.mark.parametrize(
    "put_in",
    [
        f"ALTER TABLE study ADD COLUMN more TEXT GENERATED ALWAYS AS ({TEXT}) VIRTUAL",
        f"CREATE INDEX more ON event (length({TEXT}) + id)",
        f"CREATE INDEX more ON event (id) WHERE length({TEXT}) > 0",
        f"CREATE TABLE more (id INTEGER, text TEXT DEFAULT ({TEXT}))",
        CONSTRAINT,
    ],
    ids=["column", "index", "part of an index", "table", "constraint"],
)
def test_a_study_whose_tables_compute_something_is_refused(packed, tmp_path, put_in):
    elsewhere = database.open_engine(f"sqlite:///{tmp_path / 'elsewhere.db'}")

    with pytest.raises(ImportRefused, match="which this program never creates"):
        capsule.open_capsule(with_sql(packed, tmp_path, put_in), elsewhere, "Dr New", "a long passcode 42")

    assert database.stored_version(elsewhere) is None
    elsewhere.dispose()


def test_an_earlier_database_computes_no_long_text(tmp_path):
    path = tmp_path / "earlier.db"
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE study (id, event_number, event_hash, slug AS (hex(zeroblob(100000))))")
        file.execute("INSERT INTO study VALUES (1, 1, 'x')")
        file.commit()

    with pytest.raises(NotFound, match="cannot be read"):
        earlier_head.read(str(path))

"""Studies' files and backups that compute a text of a gigabyte, or without end, as soon as anything reads them."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest
from helpers.capsules import with_sql

from triptych.errors import ImportRefused, NotFound
from triptych.operations import backup, capsule, earlier_head
from triptych.operations.backup import BackupFailed
from triptych.privacy import erasure
from triptych.storage import database, schema, sqlite_files
from triptych.storage.database import writing

TEXT = "printf('%.*c', 100, 'x')"  # a thousandth of what it could be
CONSTRAINT = (
    "PRAGMA writable_schema = 1; UPDATE sqlite_master SET rootpage = 0, sql = replace(sql, 'PRIMARY KEY', "
    f"'CHECK (length({TEXT.replace(chr(39), chr(39) * 2)}) > 0), PRIMARY KEY') WHERE name = 'turn'"
)

STEPS = 5_000_000  # of a query that could be endless
ENDLESS = f"WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < {STEPS}) SELECT max(x)"
LONG_STATEMENT = (
    "PRAGMA writable_schema = 1; UPDATE sqlite_master SET rootpage = 0, sql = replace(sql, '''training''', "
    "'''training''' || replace(hex(zeroblob(5000)), '00', ', ''training''')) WHERE name = 'item'"
)
MANY_TABLES = (
    "PRAGMA writable_schema = 1; WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 20000) "
    "INSERT INTO sqlite_master SELECT 'table', 'more' || x, 'more' || x, 4, 'CREATE TABLE more' || x || '(a)' FROM c"
)


COMPUTING = {
    "column": f"ALTER TABLE study ADD COLUMN more TEXT GENERATED ALWAYS AS ({TEXT}) VIRTUAL",
    "index": f"CREATE INDEX more ON event (length({TEXT}) + id)",
    "part of an index": f"CREATE INDEX more ON event (id) WHERE length({TEXT}) > 0",
    "table": f"CREATE TABLE more (id INTEGER, text TEXT DEFAULT ({TEXT}))",
    "constraint": CONSTRAINT,
}


@pytest.fixture
def packed(sqlite_engine, make_study, tmp_path):
    """A study's file as another installation writes it."""
    with writing(sqlite_engine) as session:
        slug = make_study(session)[0].slug
    path = tmp_path / "study.zip"
    path.write_bytes(b"".join(capsule.pieces(sqlite_engine, slug)))
    return path


@pytest.mark.parametrize("put_in", COMPUTING.values(), ids=COMPUTING)
def test_a_study_whose_tables_compute_something_is_refused(packed, tmp_path, put_in):
    with pytest.raises(ImportRefused, match="which this program never creates"):
        import_changed(with_sql(packed, tmp_path, put_in), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize(
    ("put_in", "reason"),
    [
        (
            f"DROP TABLE alembic_version; CREATE VIEW alembic_version AS {ENDLESS} AS version_num FROM c",
            "never creates",
        ),
        (f"DROP TABLE alembic_version; CREATE TABLE alembic_version (a, version_num AS ({TEXT}))", "never creates"),
        (LONG_STATEMENT, "holds no study that can be read"),
        (MANY_TABLES, "holds no study that can be read: interrupted"),
        ("UPDATE alembic_version SET version_num = '+1'", "name different versions"),
        ("DELETE FROM alembic_version", "name different versions"),
    ],
    ids=["endless version", "long version", "long statement", "many tables", "relative version", "no version"],
)
def test_no_table_is_read_before_all_are_known(packed, tmp_path, put_in, reason):
    with pytest.raises(ImportRefused, match=reason):
        import_changed(with_sql(packed, tmp_path, put_in), tmp_path)


def import_changed(path, folder):
    elsewhere = database.open_engine(f"sqlite:///{folder / 'elsewhere.db'}")
    try:
        capsule.open_capsule(path, elsewhere, "Dr New", "a long passcode 42")
    finally:
        assert schema.stored_version(elsewhere) is None
        elsewhere.dispose()


@pytest.mark.parametrize(
    ("put_in", "reason"),
    [
        *((put_in, "which this program never creates") for put_in in COMPUTING.values()),
        (f"DROP TABLE alembic_version; CREATE VIEW alembic_version AS {ENDLESS} AS version_num FROM c", "is not a"),
        (f"CREATE VIEW more AS {ENDLESS} FROM c", "which this program never creates"),
        (f"DROP TABLE alembic_version; CREATE TABLE alembic_version (a, version_num AS ({TEXT}))", "is not a"),
        ("UPDATE alembic_version SET version_num = '+1'", "is not a"),
        ("UPDATE alembic_version SET version_num = '0000'", "no version '0000'"),
    ],
    ids=[*COMPUTING, "endless version", "endless view", "computed version", "relative version", "unknown version"],
)
def test_a_backup_is_read_only_if_its_tables_are_known(
    sqlite_engine, make_study, tmp_path, monkeypatch, put_in, reason
):
    """A damaged backup is found by SQLite's check, which computes whatever the tables define."""
    with writing(sqlite_engine) as session:
        make_study(session)
    changed = tmp_path / "changed.db"
    shutil.copy(backup.make(sqlite_engine).path, changed)
    with closing(sqlite3.connect(changed)) as file:
        file.executescript(put_in)
    monkeypatch.setattr(sqlite_files, "refuse_damaged", lambda *_: pytest.fail("computed"), raising=False)

    with pytest.raises(BackupFailed, match=reason):
        backup.restore(sqlite_engine, changed, "command line", alone=True)


def test_a_backup_with_statistics_of_sqlite_is_restored(sqlite_engine, make_study, tmp_path):
    with writing(sqlite_engine) as session:
        make_study(session)
    analysed = tmp_path / "analysed.db"
    shutil.copy(backup.make(sqlite_engine).path, analysed)
    with closing(sqlite3.connect(analysed)) as file:
        file.execute("ANALYZE")

    assert backup.restore(sqlite_engine, analysed, "command line", alone=True).name == "analysed.db"


def test_an_earlier_database_computes_nothing_without_end(tmp_path):
    path = tmp_path / "earlier.db"
    columns = f"id, 1 AS event_number, '{'a' * 64}' AS event_hash, 's' AS slug"
    with closing(sqlite3.connect(path)) as file:
        file.execute(f"CREATE VIEW study AS {ENDLESS} AS {columns} FROM c")

    with pytest.raises(NotFound, match="cannot be read"):
        earlier_head.read(str(path))


def test_an_earlier_database_computes_no_long_text(tmp_path):
    path = tmp_path / "earlier.db"
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE study (id, event_number, event_hash, slug AS (hex(zeroblob(100000))))")
        file.execute("INSERT INTO study VALUES (1, 1, 'x')")
        file.commit()

    with pytest.raises(NotFound, match="cannot be read"):
        earlier_head.read(str(path))


@pytest.mark.parametrize(
    "definition",
    [
        "CREATE TABLE {table} (id, event_number, event_hash, slug AS (instr('long', 'g')), pseudonym AS (1))",
        "CREATE VIRTUAL TABLE {table} USING fts5(event_number, event_hash, slug, pseudonym, content = 'endless')",
    ],
    ids=["computed column", "virtual table"],
)
def test_no_table_that_computes_something_is_read(tmp_path, definition):
    """One call of a function, such as instr of two long texts, takes hours and is one step."""
    path = tmp_path / "earlier.db"
    with closing(sqlite3.connect(path)) as file:
        for table in ("study", "person", "event"):
            file.executescript(definition.format(table=table))

    with pytest.raises(NotFound, match="cannot be read") as refused:
        earlier_head.read(str(path))
    assert "compute" in str(refused.value.__cause__)
    with pytest.raises(sqlite3.DatabaseError, match="compute"):
        erasure._in_database(path, {}, erasure._PeopleHere((), (), {}))

"""Reports, exports, capsules and backups that somebody edits, so that they seem to prove what never was."""

from __future__ import annotations

import io
import re
import sqlite3
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.reported import Reported
from helpers.reports import again
from sqlalchemy import Engine, select, text, update
from sqlmodel import Session

from triptych.cli import main as program
from triptych.operations import backup, verify
from triptych.operations import capsule as capsules
from triptych.reports import snapshot
from triptych.storage import foreign_parts
from triptych.storage.database import reading, writing
from triptych.storage.models import Snapshot, Study
from triptych.storage.unavailable import DatabaseUnavailable


@pytest.fixture
def sqlite_engine(reported_engine: Engine) -> Engine:
    return reported_engine


@pytest.fixture
def study(reported_engine: Engine, reported: Reported) -> Study:
    """A study with an annotation and a stored report."""
    with writing(reported_engine) as session:
        now = session.get_one(Study, reported.study.id)
        snapshot.keep(session, now, reported.report, reported.lead.pseudonym)
    return reported.study


def edited(data: bytes, name: str, change: Callable[[bytes], bytes | None]) -> bytes:
    """The zip with one of its files changed, or left out where `change` gives None."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
        for member in old.namelist():
            content = old.read(member)
            after = change(content) if member.endswith(f"/{name}") else content
            if after is not None:
                new.writestr(member, after)
    return made.getvalue()


def differences(engine, study: Study) -> str:
    with reading(engine) as session:
        return "\n".join(verify.verify(session, session.get_one(Study, study.id)).differences)


@contextmanager
def rolled_back(engine: Engine, statements: str) -> Iterator[Session]:
    """A session that has run the statements, which leave nothing behind."""
    with engine.connect() as connection, Session(connection) as session:
        connection.exec_driver_sql(statements)
        yield session


CHANGES = {"changed": lambda content: content.replace(b"accept", b"reject") + b"\n", "left out": lambda _: None}


@pytest.mark.long
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("name", ["ratings.csv", "codebook.json"])
def test_verify_names_an_edited_file_of_a_stored_report(sqlite_engine, study, name, change):
    assert differences(sqlite_engine, study) == ""
    with writing(sqlite_engine) as session:
        stored = session.scalars(select(Snapshot)).one()
        stored.file = edited(stored.file, name, change)

    assert f"{name} differs from the file that was stored" in differences(sqlite_engine, study)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sha256": "a" * 64}, "its file belongs to another report"),
        ({"event_hash": "b" * 64}, "has a different hash in the log"),
        ({"event_number": 99}, "has a different hash in the log"),
        ({"scope": {"kinds": []}}, "a different scope"),
        ({"file": b"PK"}, "cannot be read"),
    ],
)
def test_verify_names_an_edited_row_of_a_stored_report(sqlite_engine, study, values, message):
    with writing(sqlite_engine) as session:
        session.execute(update(Snapshot).values(values))

    assert message in differences(sqlite_engine, study)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize(("kind", "name"), [("report", "ratings.csv"), ("capsule", "codebook.json")])
def test_an_edited_zip_proves_nothing(
    sqlite_engine, study, reported: Reported, tmp_path: Path, capsys, kind, name, change
):
    path = tmp_path / f"{kind}.zip"
    whole = reported.report.zip if kind == "report" else b"".join(capsules.pieces(sqlite_engine, study.slug))
    path.write_bytes(whole)
    assert program.main(["data", "verify", "--against", str(path)]) == 0

    path.write_bytes(edited(whole, name, change))

    assert program.main(["data", "verify", "--against", str(path)]) == 2
    assert f"was changed after it was made: {name} differs from the file's own list" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("call", [str, str.upper])
def test_a_report_with_a_file_twice_proves_nothing(study, reported: Reported, tmp_path: Path, capsys, call):
    """Programs differ in which of both they unpack, and some disks know one file by both names."""
    path = tmp_path / "report.zip"
    with zipfile.ZipFile(io.BytesIO(reported.report.zip)) as whole, zipfile.ZipFile(path, "w") as twice:
        name = next(name for name in whole.namelist() if name.endswith("/ratings.csv"))
        twice.writestr(call(name), "a fake")
        for member in whole.namelist():
            twice.writestr(member, whole.read(member))

    assert program.main(["data", "verify", "--against", str(path)]) == 2
    assert "was changed after it was made" in capsys.readouterr().err


def fake_value(rows: str) -> str:
    return re.sub(r"(,mean,)[^,]+", r"\g<1>0.97", rows, count=1)


def fake_row_before(rows: str) -> str:
    return re.sub(r"([^\r\n]+,mean,)[^\r]+\r\n", r"\g<1>1.0,number,1.00\r\n\g<0>", rows, count=1)


def fake_column_before(rows: str) -> str:
    return re.sub("(?m)^", "1.00,", rows).replace("1.00,", "printed,", 1).removesuffix("1.00,")


FAKES = [
    (fake_value, "the report says .* and 0.97"),
    (fake_row_before, "is in the report 2 times"),
    (fake_column_before, "has other columns"),
]


@pytest.mark.parametrize(("fake", "sentence"), FAKES)
def test_a_reports_script_names_a_faked_result(reported: Reported, tmp_path: Path, monkeypatch, fake, sentence):
    """It compared only the printed number, and of two rows or columns for one number the last."""
    report = reported.report
    assert again(report, tmp_path / "report", monkeypatch) == []
    rows = fake(report.files["results.csv"].decode())

    wrong = again(replace(report, files={**report.files, "results.csv": rows.encode()}), tmp_path / "fake", monkeypatch)

    assert re.search(sentence, "\n".join(wrong))


def test_a_backup_is_compared_without_a_write(sqlite_engine, study, tmp_path: Path, capsys):
    """It may be on a network disk or one that is read-only, where the program opens no database of its own."""
    kept = tmp_path / "kept" / "backup.db"
    kept.parent.mkdir()
    kept.write_bytes(backup.make(sqlite_engine).path.read_bytes())
    before = kept.read_bytes()

    assert program.main(["data", "verify", "--against", str(kept)]) == 0

    assert [path.name for path in kept.parent.iterdir()] == ["backup.db"]
    assert kept.read_bytes() == before
    kept.write_bytes(b"SQLite format 3\0 and no more")
    assert program.main(["data", "verify", "--against", str(kept)]) == 2
    assert "It does not contain a last event" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["NULL", "5", "x'00'", "zeroblob(100000000)"])
@pytest.mark.parametrize("column", ["slug", "event_hash"])
def test_an_earlier_database_names_events_as_ours_do(sqlite_engine, study, tmp_path: Path, capsys, column, value):
    """An unexpected error, and a text as long as the file in memory."""
    path = tmp_path / "made.db"
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE study (id, slug, event_number, event_hash)")
        file.execute("INSERT INTO study VALUES (1, 'study', 1, 'a')")
        file.execute(f"UPDATE study SET {column} = {value}")

    tracemalloc.start()
    code = program.main(["data", "verify", "--against", str(path)])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert code == 2
    assert "made.db cannot be read" in capsys.readouterr().err
    assert most < 50_000_000


def test_an_edited_backup_is_not_restored(sqlite_engine, study):
    path = backup.make(sqlite_engine).path
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE study SET title = 'Another'")

    with pytest.raises(backup.BackupFailed, match="was changed after it was made"):
        backup.restore(sqlite_engine, path, "somebody", alone=True)


FUNCTION = "CREATE FUNCTION public.f(integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true'"


@pytest.mark.long
@pytest.mark.parametrize(
    ("edit", "part"),
    [
        (
            "CREATE TRIGGER t BEFORE UPDATE ON public.rating "
            "FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
            "trigger 't'",
        ),
        ("CREATE RULE kept AS ON DELETE TO public.comment DO INSTEAD NOTHING", "rule 'kept'"),
        ("CREATE POLICY own ON public.rating USING (true)", "policy 'own'"),
        ("ALTER TABLE public.comment ENABLE ROW LEVEL SECURITY", "row security of 'comment'"),
        ("ALTER TABLE public.comment SET UNLOGGED", "unlogged table 'comment'"),
        ("CREATE TABLE public.child () INHERITS (public.rating)", "child table 'child'"),
        ("CREATE VIEW other.comment AS SELECT * FROM public.comment", "view 'comment'"),
        ("CREATE TABLE other.comment (LIKE public.comment) PARTITION BY LIST (id)", "partitioned table 'comment'"),
        (f"{FUNCTION}; ALTER TABLE public.rating ADD CHECK (f(id))", "function 'public.f(integer)'"),
        (f"{FUNCTION}; CREATE INDEX ON public.rating (f(id))", "function 'public.f(integer)'"),
        (f"{FUNCTION}; ALTER TABLE public.rating ADD mark boolean DEFAULT f(1)", "function 'public.f(integer)'"),
        (
            f"{FUNCTION}; CREATE OPERATOR public.!! (FUNCTION = f, RIGHTARG = integer); "
            "ALTER TABLE public.rating ADD CHECK (!! id)",
            "operator 'public.!!(NONE,integer)'",
        ),
        (
            f"{FUNCTION}; CREATE DOMAIN public.checked AS integer CHECK (f(VALUE)); "
            "ALTER TABLE public.highlight ALTER start TYPE checked",
            "type 'public.checked'",
        ),
        (
            "CREATE OPERATOR CLASS public.own FOR TYPE integer USING btree AS OPERATOR 1 <, OPERATOR 2 <=, "
            "OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(integer, integer); "
            "CREATE INDEX ON public.rating (id own)",
            "operator class 'public.own USING btree'",
        ),
        (
            "CREATE COLLATION public.folded (provider = icu, locale = 'und-u-ks-level1', deterministic = false); "
            "ALTER TABLE public.item ALTER external_id TYPE varchar COLLATE folded",
            "collation 'public.folded'",
        ),
        (
            "CREATE ACCESS METHOD own TYPE TABLE HANDLER heap_tableam_handler; "
            "CREATE TABLE other.comment (LIKE public.comment) USING own",
            "access method 'own'",
        ),
        (
            "CREATE FUNCTION public.length(varchar) RETURNS integer LANGUAGE sql AS 'SELECT 1'",
            "function 'length(character varying)'",
        ),
        (
            "CREATE DOMAIN own AS integer; "
            "CREATE FUNCTION public.length(varchar, own DEFAULT 0) RETURNS integer LANGUAGE sql AS 'SELECT 1'",
            "function 'length(character varying,own)'",
        ),
        (
            "CREATE FUNCTION same(varchar, varchar) RETURNS boolean LANGUAGE sql AS 'SELECT $1::text = $2::text'; "
            "CREATE OPERATOR public.= (FUNCTION = same, LEFTARG = varchar, RIGHTARG = varchar)",
            "operator '=(character varying,character varying)'",
        ),
        (
            "CREATE FUNCTION never(varchar, text) RETURNS boolean LANGUAGE sql AS 'SELECT false'; "
            "CREATE OPERATOR public.~~ (FUNCTION = never, LEFTARG = varchar, RIGHTARG = text)",
            "operator '~~(character varying,text)'",
        ),
        ("CREATE UNIQUE INDEX once ON public.rating (criterion_id) WHERE number = 5", "index 'once'"),
        ("CREATE INDEX never ON public.rating ((1 / (number - 5)))", "index 'never'"),
        ("CREATE INDEX rarely ON public.rating (id) WHERE 1 / (number - 5) > 0", "index 'rarely'"),
        (
            "DROP INDEX public.ux_rating_about_item; "
            "CREATE UNIQUE INDEX ux_rating_about_item ON public.rating (criterion_id) WHERE number = 5",
            "index 'ux_rating_about_item'",
        ),
        ("CREATE TABLE keeping (id integer REFERENCES public.rating)", "foreign key of 'keeping'"),
        (
            "CREATE UNIQUE INDEX once ON public.rating (id, number); "
            "CREATE TABLE cover (id integer, number double precision, "
            "FOREIGN KEY (id, number) REFERENCES public.rating (id, number))",
            "index 'once'",
        ),
    ],
)
def test_verify_names_what_changes_or_hides_rows_of_postgres(postgres_engine, make_study, edit, part):
    """Also for a role that may only read, and of tables in another schema than the first that is searched."""
    with writing(postgres_engine) as session:
        study, *_ = make_study(session)
    reader = "SET LOCAL search_path = other, public; SET LOCAL ROLE pg_read_all_data"

    with rolled_back(postgres_engine, f"CREATE SCHEMA other; {edit}; {reader}") as session:
        differences = verify.verify(session, session.get_one(Study, study.id)).differences

    assert f"The database has the {part}, which this program never creates." in differences


@pytest.mark.parametrize("sides", ["LEFTARG = integer[], RIGHTARG = integer", "LEFTARG = text, RIGHTARG = text[]"])
def test_operators_of_arrays_are_no_part_of_ours(postgres_engine, make_study, sides):
    """The extension intarray has some."""
    with writing(postgres_engine) as session:
        study, *_ = make_study(session)
    types = re.sub("LEFTARG = |RIGHTARG = ", "", sides)
    function = f"CREATE FUNCTION public.f({types}) RETURNS integer LANGUAGE sql AS 'SELECT 1'"

    with rolled_back(postgres_engine, f"{function}; CREATE OPERATOR public.+ (FUNCTION = f, {sides})") as session:
        assert verify.verify(session, session.get_one(Study, study.id)).holds


@pytest.mark.long
@pytest.mark.parametrize(
    ("table", "edit"),
    [
        ("entry_attempt", "ALTER passed SET DEFAULT true"),
        ("criterion", "ALTER id SET DEFAULT nextval('public.rating_id_seq') * 2"),
        ("membership", "ALTER excluded_reason TYPE name"),
        ("membership", "ALTER joined_at TYPE timestamptz(0)"),
        ("criterion", "ALTER step TYPE integer"),
        ("person", "ALTER pseudonym DROP NOT NULL"),
        ("rating", "ADD mark integer"),
        ("explanation", "DROP CONSTRAINT explanation_rating_id_fkey"),
        (
            "explanation",
            "DROP CONSTRAINT explanation_rating_id_fkey, ADD FOREIGN KEY (rating_id) REFERENCES public.rating "
            "ON DELETE CASCADE NOT VALID",
        ),
        ("submission", "DROP CONSTRAINT submission_assignment_id_version_key"),
        ("item", "DROP CONSTRAINT ck_never_over_assigned"),
        (
            "assignment",
            "DROP CONSTRAINT ck_origin_known, "
            "ADD CHECK (origin <> '' AND set_config('search_path', 'evil, public', false) <> '')",
        ),
        ("assignment", """DROP CONSTRAINT ck_origin_known, ADD CHECK ("left"(origin, 1) <> '')"""),
    ],
)
def test_verify_names_a_table_of_postgres_in_another_form(postgres_engine, make_study, table, edit):
    """It may round what the app writes, have it read other tables later, or keep explanations after an erasure."""
    with writing(postgres_engine) as session:
        study, *_ = make_study(session)
    reader = "SET LOCAL search_path = other, public; SET LOCAL ROLE pg_read_all_data"

    with rolled_back(postgres_engine, f"CREATE SCHEMA other; ALTER TABLE public.{table} {edit}; {reader}") as session:
        differences = verify.verify(session, session.get_one(Study, study.id)).differences

    assert f"The database has the table {table!r} in a form which this program never creates." in differences


def test_verify_names_a_foreign_key_that_is_switched_off(postgres_engine, make_study):
    """An erasure would leave explanations of deleted ratings behind."""
    with writing(postgres_engine) as session:
        study, *_ = make_study(session)

    with rolled_back(postgres_engine, "ALTER TABLE explanation DISABLE TRIGGER ALL") as session:
        differences = verify.verify(session, session.get_one(Study, study.id)).differences

    assert any("has the trigger 'RI_ConstraintTrigger_" in line for line in differences)


@pytest.mark.parametrize(
    "rule",
    [
        "passed BOOLEAN NOT NULL ON CONFLICT REPLACE DEFAULT 1",
        "passed BOOLEAN COLLATE NOCASE",
        "passed BOOLEAN CHECK (passed)",
        "passed BOOLEAN\N{NO-BREAK SPACE}",
        "",
    ],
    ids=["replaced", "compared in another way", "refused", "of another type", "left out"],
)
def test_verify_names_a_table_whose_definition_changes_rows(sqlite_engine, study, rule):
    """Everybody who began an entry test had passed it, and the log said so."""
    edit = "UPDATE sqlite_master SET sql = replace(sql, 'passed BOOLEAN,', :rule) WHERE name = 'entry_attempt'"
    with sqlite_engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA writable_schema = 1")
        connection.execute(text(edit), {"rule": f"{rule}," if rule else ""})
        lines = foreign_parts.in_database(connection)
        connection.rollback()

    assert lines == ["The database has the table 'entry_attempt' in a form which this program never creates."]
    assert differences(sqlite_engine, study) == ""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("'judge'", "'gold'"),
        ("person (id) ON DELETE CASCADE, ", "assignment (id), "),
    ],
    ids=["an answer that is refused", "a person who cannot be deleted"],
)
def test_verify_names_parts_of_a_table_that_changed_places(sqlite_engine, study, first, second):
    """No gold item could be handed out, and nothing else seemed to have changed."""
    exchanged = "replace(replace(replace(sql, :first, '@'), :second, :first), '@', :second)"
    with sqlite_engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA writable_schema = 1")
        edit = text(f"UPDATE sqlite_master SET sql = {exchanged} WHERE name = 'assignment'")
        connection.execute(edit, {"first": first, "second": second})
        lines = foreign_parts.in_database(connection)
        connection.rollback()

    assert lines == ["The database has the table 'assignment' in a form which this program never creates."]
    assert differences(sqlite_engine, study) == ""


@pytest.mark.parametrize(
    ("name", "rest"), [("once", "WHERE number = 5"), ("ux_rating_about_item", "WHERE position IS NULL")]
)
def test_verify_names_an_index_that_refuses_rows(sqlite_engine, study, name, rest):
    """Annotators could give the best mark once, and then picked another one."""
    with sqlite_engine.connect() as connection:
        connection.exec_driver_sql(f"DROP INDEX IF EXISTS {name}")
        connection.exec_driver_sql(f"CREATE UNIQUE INDEX {name} ON rating (criterion_id) {rest}")
        lines = foreign_parts.in_database(connection)
        connection.rollback()

    assert lines == [f"The database has the index {name!r} in a form which this program never creates."]
    assert differences(sqlite_engine, study) == ""


@pytest.mark.parametrize("referred", ["RATING (id)", "rating (number)"], ids=["one row", "a column without an index"])
def test_verify_names_a_table_that_keeps_our_rows(sqlite_engine, study, referred):
    """Nobody could replace or withdraw these ratings any more: SQLite refused each deletion."""
    with sqlite_engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE own (id INTEGER PRIMARY KEY, other REFERENCES own (id))")
        connection.exec_driver_sql(f"CREATE TABLE keeping (id REFERENCES {referred})")
        lines = foreign_parts.in_database(connection)
        connection.rollback()

    assert lines == ["The database has the foreign key of 'keeping', which this program never creates."]
    assert differences(sqlite_engine, study) == ""


def test_verify_names_a_search_path_that_replaces_the_catalogs(postgres_engine, make_study):
    """It hides triggers from every query for them."""
    with writing(postgres_engine) as session:
        study, *_ = make_study(session)
    hiding = "CREATE SCHEMA other; CREATE VIEW other.pg_trigger AS SELECT * FROM pg_trigger WHERE false"

    with rolled_back(postgres_engine, f"{hiding}; SET LOCAL search_path = other, pg_catalog, public") as session:
        (line,) = verify.verify(session, session.get_one(Study, study.id)).differences

    assert line.startswith("The database has the search path 'other, pg_catalog, public'")


HIDDEN = """
CREATE SCHEMA other;
CREATE FUNCTION other.hide() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN {act}; RETURN true; END $$;
CREATE VIEW other.person AS SELECT * FROM public.person WHERE other.hide();
CREATE VIEW other.rating AS SELECT * FROM public.rating WHERE false;
SET search_path = other, public
"""


@pytest.mark.parametrize(
    ("act", "part"),
    [
        ("SET LOCAL search_path = public", "search path 'public'"),
        ("SET LOCAL ROLE pg_read_all_data", "role 'pg_read_all_data'"),
    ],
)
def test_no_view_hides_itself_while_verify_reads_it(postgres_engine, make_study, act, part):
    """The app went on reading other ratings, and the check read the true ones from there on."""
    with writing(postgres_engine) as session:
        study, *_ = make_study(session)

    with rolled_back(postgres_engine, HIDDEN.format(act=act)) as session:
        differences = verify.verify(session, session.get_one(Study, study.id)).differences

    assert f"The database has the {part}, which this program never creates." in differences


def test_no_view_changes_anything_while_verify_reads_it(postgres_engine, make_study):
    """It took the schema with the false ratings out of the way."""
    with writing(postgres_engine) as session:
        study, *_ = make_study(session)

    with (
        rolled_back(postgres_engine, HIDDEN.format(act="DROP VIEW IF EXISTS other.rating")) as session,
        pytest.raises(DatabaseUnavailable, match="read-only"),
    ):
        verify.verify(session, session.get_one(Study, study.id))


@pytest.mark.parametrize(
    "hiding",
    [
        "CREATE FUNCTION other.concat_ws(text, name, name, boolean, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN "
        "SET LOCAL search_path = public; RETURN pg_catalog.concat_ws($1, $2, $3, $4, $5); END $$",
        "CREATE FUNCTION other.unnest(text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN "
        "SET LOCAL search_path = public; END $$",
        "CREATE FUNCTION other.same(oid, regclass) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN "
        "SET LOCAL search_path = public; RETURN false; END $$; "
        "CREATE OPERATOR other.= (FUNCTION = other.same, LEFTARG = oid, RIGHTARG = regclass)",
    ],
)
def test_no_function_hides_itself_from_the_search_for_it(postgres_engine, make_study, hiding):
    """It was called by the query that looks for such functions."""
    with writing(postgres_engine) as session:
        study, *_ = make_study(session)
    length = "CREATE FUNCTION other.length(varchar) RETURNS integer LANGUAGE sql AS 'SELECT 1'"
    edit = f"CREATE SCHEMA other; {hiding}; {length}; SET search_path = other, public"

    with rolled_back(postgres_engine, edit) as session:
        differences = verify.verify(session, session.get_one(Study, study.id)).differences

    assert "The database has the function 'length(character varying)', which this program never creates." in differences


def test_verify_accepts_what_others_have_next_to_the_tables(postgres_engine, make_study):
    """Monitoring and evaluation add views and functions, which change no row that the app reads or writes."""
    with writing(postgres_engine) as session:
        study, *_ = make_study(session)
    parts = f"{FUNCTION}; CREATE VIEW high AS SELECT * FROM rating WHERE f(id); CREATE INDEX marks ON rating (number)"

    with rolled_back(postgres_engine, parts) as session:
        assert verify.verify(session, session.get_one(Study, study.id)).holds


@pytest.mark.parametrize(
    "definition",
    [
        "VIEW study AS WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 3) "
        "SELECT hidden.* FROM hidden, c",
        "TABLE study (id, slug AS ('long'), title, seed)",
    ],
    ids=["view", "computed column"],
)
def test_verify_reads_no_table_that_computes_something(sqlite_engine, study, capsys, definition):
    """It may be without end: nobody read a verdict then."""
    with sqlite_engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA legacy_alter_table = 1")
        connection.exec_driver_sql("ALTER TABLE study RENAME TO hidden")
        connection.exec_driver_sql(f"CREATE {definition}")
        connection.commit()

    assert program.main(["data", "verify"]) == 1
    sentence, checked = capsys.readouterr().out.splitlines()
    assert sentence == "The database has the table 'study' in a form which this program never creates."
    assert checked.startswith("Checked: ")


@pytest.mark.parametrize(
    "definition",
    ["VIEW alembic_version AS SELECT '0014' AS version_num", "TABLE Alembic_Version (a, version_num AS ('0014'))"],
    ids=["view", "computed column"],
)
def test_no_version_is_read_that_is_computed(sqlite_engine, study, capsys, definition):
    """Such a column could take hours, before a command looked at anything."""
    with sqlite_engine.connect() as connection:
        connection.exec_driver_sql("DROP TABLE alembic_version")
        connection.exec_driver_sql(f"CREATE {definition}")
        connection.commit()

    assert program.main(["data", "verify"]) == 2
    assert "alembic_version in a form which this program never creates" in capsys.readouterr().err


def test_verify_says_which_database_it_checked(sqlite_engine, study, capsys):
    """The environment may lead the command to another one than the server."""
    assert program.main(["data", "verify"]) == 0
    assert f"Checked: {sqlite_engine.url!r}." in capsys.readouterr().out

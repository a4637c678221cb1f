"""Moving between SQLite and PostgreSQL: every row, every number, every chain, or nothing."""

from __future__ import annotations

import sqlite3

import pytest
from helpers.annotations import annotate_with_everything
from helpers.studies import SMALL_RUBRIC, join
from sqlalchemy import func, null, select, text, update
from sqlalchemy.exc import IntegrityError

from triptych import clock
from triptych.cli import main as program
from triptych.errors import NotFound, UnsafeDatabase
from triptych.operations import move
from triptych.people.panels import panels_of
from triptych.privacy import withdrawal
from triptych.storage import database, events, schema
from triptych.storage.database import reading, writing
from triptych.storage.models import (
    Assignment,
    Base,
    Item,
    Login,
    Membership,
    PanelIdentity,
    Person,
    Rating,
    Setting,
    StoredAnswer,
    Study,
)
from triptych.study.persons import Who


@pytest.fixture
def filled(sqlite_engine, make_study):
    """Two studies on SQLite, each with annotations and a draft; returns their slugs."""
    slugs = []
    with writing(sqlite_engine) as session:
        for title in ("First study", "Second study"):
            study, _, who = make_study(session, title=title, rubric=SMALL_RUBRIC)
            for person in who:
                annotate_with_everything(session, study, person, f"a note on {title}")
            own_panel = panels_of(study, "Prolific")[0]
            session.add(PanelIdentity(person_id=who[0].person_id, panel=own_panel, external_id="P1"))
            slugs.append(study.slug)
        session.add(Setting(key="a", value="b"))
        session.execute(update(Item).where(Item.external_id == "item-1").values(meta={"é": [1, None, 0.1]}))
    return slugs


@pytest.fixture
def other_sqlite(tmp_path):
    engine = database.open_engine(f"sqlite:///{tmp_path / 'back.db'}")
    yield engine
    engine.dispose()


def contents(engine) -> dict[str, list]:
    with reading(engine) as session:
        return {
            table.name: sorted(map(repr, session.execute(select(*table.columns)).all()))
            for table in Base.metadata.sorted_tables
        }


@pytest.mark.long
def test_a_database_moves_to_postgresql_and_back_unchanged(sqlite_engine, postgres_engine, other_sqlite, filled):
    before = contents(sqlite_engine)
    there = move.move(sqlite_engine, postgres_engine)
    back = move.move(postgres_engine, other_sqlite)

    assert there == back
    assert contents(postgres_engine) == contents(other_sqlite) == before
    assert {moved.table: moved.rows for moved in there} == {name: len(rows) for name, rows in before.items()}
    assert sum(moved.rows for moved in there if moved.table in ("rating", "highlight", "event", "explanation")) > 20
    with reading(other_sqlite) as session:
        assert [events.first_broken(session, study.id) for study in session.scalars(select(Study))] == [None, None]


def test_the_new_database_continues_the_numbering(sqlite_engine, postgres_engine, filled):
    move.move(sqlite_engine, postgres_engine)

    with writing(postgres_engine) as session:
        study = session.scalars(select(Study).where(Study.slug == filled[0])).one()
        person = session.get_one(Person, session.scalars(select(Assignment.person_id).order_by(Assignment.id)).first())
        last = session.execute(select(func.max(Rating.id))).scalar_one()
        who = Who(person_id=person.id, pseudonym=person.pseudonym, role=person.role, name=person.name, login_id=0)
        annotate_with_everything(session, study, who)
        assert session.execute(select(func.max(Rating.id))).scalar_one() > last
        assert events.first_broken(session, study.id) is None


def test_moving_a_study_moves_its_people_only(sqlite_engine, other_sqlite, filled):
    move.move(sqlite_engine, other_sqlite, [filled[0]])

    with reading(sqlite_engine) as old, reading(other_sqlite) as new:
        study_id = select(Study.id).where(Study.slug == filled[0]).scalar_subquery()
        members = old.scalars(select(Membership.person_id).where(Membership.study_id == study_id)).all()
        assert new.scalars(select(Study.slug)).all() == [filled[0]]
        assert set(new.scalars(select(Person.id))) == set(members)
        assert new.scalars(select(PanelIdentity.panel)).all() == [f"Prolific\n{filled[0]}"]
        assert new.scalars(select(Setting)).all() == []
        count = select(func.count()).select_from(Rating)
        assert 0 < new.execute(count).scalar_one() == old.execute(count).scalar_one() / 2


def test_nothing_of_peoples_other_studies_moves_along(sqlite_engine, other_sqlite, make_study):
    """Somebody who has withdrawn keeps a name here for another study only."""
    now = clock.now()
    with writing(sqlite_engine) as session:
        first, lead, people = make_study(session, title="First")
        second, *_ = make_study(session, title="Second", annotators=0)
        for who, name in zip(people, ("stays", "leaves"), strict=True):
            join(session, second, who)
            session.get_one(Person, who.person_id).name = name
            session.add(Login(person_id=who.person_id, secret_hash=name, created_at=now, expires_at=now))
            for study in (first, second):
                panel, former = panels_of(study, f"Panel of {study.title}")
                for stored, external_id in ((panel, name), (former, f"{name} formerly")):
                    session.add(PanelIdentity(person_id=who.person_id, panel=stored, external_id=external_id))
        session.add(StoredAnswer(person_id=lead.person_id, key="k", request_hash="", answer={}, stored_at=now))
        withdrawal.withdraw(session, first, people[1].pseudonym, people[1].pseudonym)
        slug = first.slug

    move.move(sqlite_engine, other_sqlite, [slug])

    with reading(sqlite_engine) as old, reading(other_sqlite) as new:
        pair = select(Person.name).where(Person.id.in_([who.person_id for who in people])).order_by(Person.id)
        assert (old.scalars(pair).all(), new.scalars(pair).all()) == (["stays", "leaves"], ["stays", None])
        ids = new.execute(select(PanelIdentity.panel, PanelIdentity.external_id)).all()
        assert ids == [(f"Panel of First\n{slug}", "stays")]
        assert new.scalars(select(Login.secret_hash)).all() == ["stays"]
        assert new.scalars(select(StoredAnswer)).all() == []


def test_no_value_and_a_json_null_stay_apart(sqlite_engine, postgres_engine, filled):
    with writing(sqlite_engine) as session:
        numbers = session.scalars(select(Assignment.id).order_by(Assignment.id)).all()
        session.execute(update(Assignment).where(Assignment.id == numbers[0]).values(draft=null()))
        session.execute(text("UPDATE assignment SET draft = 'null' WHERE id = :it"), {"it": numbers[1]})

    move.move(sqlite_engine, postgres_engine)

    with reading(postgres_engine) as session:
        ask = text("SELECT draft IS NULL FROM assignment WHERE id = :it")
        assert session.execute(ask, {"it": numbers[0]}).scalar() is True
        assert session.execute(ask, {"it": numbers[1]}).scalar() is False


def test_a_database_with_people_or_studies_is_refused(sqlite_engine, other_sqlite, filled, make_study):
    schema.migrate(other_sqlite)
    with writing(other_sqlite) as session:
        make_study(session)

    with pytest.raises(UnsafeDatabase, match="not empty"):
        move.move(sqlite_engine, other_sqlite)


def test_a_row_postgresql_cannot_hold_is_named(sqlite_engine, postgres_engine, filled):
    with writing(sqlite_engine) as session:
        session.execute(update(Assignment).values(note="a zero \0 byte"))

    with pytest.raises(UnsafeDatabase, match="a row of assignment.*NUL.*Nothing was moved"):
        move.move(sqlite_engine, postgres_engine)

    assert not any(contents(postgres_engine).values())


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ("membership SET joined_at = 'yesterday' WHERE id = 1", "membership 1: joined_at"),
        ("person SET pseudonym = CAST(x'ff' AS TEXT) WHERE id = 1", "person: pseudonym"),
    ],
)
def test_a_value_that_cannot_be_read_is_named(sqlite_engine, other_sqlite, filled, change, place):
    with writing(sqlite_engine) as session:
        session.execute(text(f"UPDATE {change}"))

    with pytest.raises(UnsafeDatabase, match=f"^Nothing was moved. {place} cannot be read. Correct this"):
        move.move(sqlite_engine, other_sqlite)

    assert not any(contents(other_sqlite).values())


def test_rows_that_come_out_different_move_nothing(sqlite_engine, other_sqlite, filled, monkeypatch):
    count_on = move.count_on

    def change_one(new):
        count_on(new)
        new.execute(update(Rating).values(missing=True, number=None, option_id=None))

    monkeypatch.setattr(move, "count_on", change_one)

    with pytest.raises(UnsafeDatabase, match="rows of rating differ"):
        move.move(sqlite_engine, other_sqlite)

    assert not any(contents(other_sqlite).values())


def test_a_chain_that_was_tampered_with_does_not_move(sqlite_engine, other_sqlite, filled):
    with writing(sqlite_engine) as session:
        session.execute(text("UPDATE event SET actor = 'somebody else' WHERE number = 2"))

    with pytest.raises(UnsafeDatabase, match="Event 2 was changed"):
        move.move(sqlite_engine, other_sqlite)

    assert not any(contents(other_sqlite).values())


def test_an_unknown_study_or_an_older_schema_is_refused(sqlite_engine, other_sqlite, filled):
    with pytest.raises(NotFound, match="no study nowhere"):
        move.move(sqlite_engine, other_sqlite, ["nowhere"])
    with sqlite_engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0000'"))
    with pytest.raises(UnsafeDatabase, match="at version 0000"):
        move.move(sqlite_engine, other_sqlite)


def test_the_command_says_what_it_moved_and_never_a_password(sqlite_engine, postgres_engine, filled, capsys):
    url = postgres_engine.url.set(password="geheim").render_as_string(hide_password=False)

    assert program.main(["data", "move", url, "--study", filled[0]]) == 0

    said = capsys.readouterr()
    assert "rating: " in said.out
    assert "Every event chain is valid" in said.out
    assert "geheim" not in said.out + said.err
    assert "with its password, in the process list" in said.err


def test_the_command_waits_for_no_server(sqlite_engine, filled, tmp_path, capsys):
    lock = database.lock_server(sqlite_engine)

    assert program.main(["data", "move", f"sqlite:///{tmp_path / 'other.db'}"]) == 2
    lock.close()

    assert "Another Triptych is using triptych.db" in capsys.readouterr().err
    assert program.main(["data", "move", "nonsense"]) == 2


def test_the_source_stays_as_it_was(sqlite_engine, other_sqlite, filled):
    before = contents(sqlite_engine)
    move.move(sqlite_engine, other_sqlite)

    assert contents(sqlite_engine) == before
    with pytest.raises(IntegrityError), writing(other_sqlite) as session:
        session.execute(text("UPDATE item SET taken = raters + 1"))


def test_the_command_makes_a_new_file_only(sqlite_engine, filled, tmp_path, capsys):
    target = tmp_path / "new" / "other.db"
    target.parent.mkdir()

    assert program.main(["data", "move", f"sqlite:///{target}"]) == 0

    assert [path.name for path in target.parent.iterdir()] == ["other.db"]
    engine = database.open_engine(f"sqlite:///{target}")
    assert contents(engine) == contents(sqlite_engine)
    engine.dispose()
    assert program.main(["data", "move", f"sqlite:///{target}"]) == 2
    assert "already exists. Name a new file." in capsys.readouterr().err


def test_a_file_that_sqlite_did_not_finish_is_not_delivered(sqlite_engine, filled, tmp_path, monkeypatch):
    """A full disk: the last close moves nothing from the log into the file, and reports no error."""
    moving, readers = move.move, []

    def with_reader(source, target, slugs=()):
        moved = moving(source, target, slugs)
        readers.append(sqlite3.connect(database.sqlite_path(str(target.url))))
        readers[0].execute("SELECT 1 FROM study").fetchall()
        return moved

    monkeypatch.setattr(move, "move", with_reader)
    with pytest.raises(UnsafeDatabase, match="the disk of the data folder is full"):
        move.move_to_file(sqlite_engine, tmp_path / "moved.db")

    assert not (tmp_path / "moved.db").exists()
    readers[0].close()

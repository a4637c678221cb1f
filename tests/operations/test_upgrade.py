"""A database of the version before: its logs say less, and one baseline each says the rest from the upgrade on."""

from __future__ import annotations

import secrets
from datetime import timedelta

import pytest
from helpers.busy import make_busy
from helpers.ratings import resubmit, submit
from helpers.studies import full_answers
from sqlalchemy import Engine, delete, select, text, update
from sqlmodel import Session

from triptych import clock
from triptych.annotate.annotations import SetAsideMessage
from triptych.annotate.annotations import submit as send
from triptych.errors import UnsafeDatabase
from triptych.operations import verify
from triptych.simulate import demo
from triptych.storage import events, schema
from triptych.storage.database import reading, writing
from triptych.storage.events import EventKind
from triptych.storage.models import Assignment, Event, EventDetail, Study

MADE_SINCE = ("comment", "token", "stored_answer")
ADDED_SINCE = (
    ("assignment", "text_view"),
    ("assignment", "arrangement"),
    ("highlight", "unit"),
    ("membership", "instructions_version"),
    ("person", "identity"),
    *((table, "language") for table in ("assignment", "person")),
)
NEW_KINDS = (EventKind.baseline, EventKind.person_baseline, EventKind.simulated)


def age(engine: Engine) -> None:
    """Rewrites every log as the version before wrote it: no rows, and a random digest where there are no values."""
    with writing(engine) as session:
        for study in session.scalars(select(Study)).all():
            session.execute(delete(Event).where(Event.study_id == study.id, Event.kind.in_(NEW_KINDS)))
            _chain_again(session, study)
        session.execute(text("UPDATE alembic_version SET version_num = '0003'"))
    with writing(engine) as session:
        session.execute(text("ALTER TABLE event_detail DROP COLUMN rows"))
        for table in MADE_SINCE:
            session.execute(text(f"DROP TABLE {table}"))
        session.execute(text("DROP INDEX ix_person_identity"))
        for table, column in ADDED_SINCE:
            session.execute(text(f"ALTER TABLE {table} DROP COLUMN {column}"))
        if engine.dialect.name == "postgresql":
            session.execute(text("ALTER TABLE highlight DROP CONSTRAINT fk_highlight_assignment"))


def _chain_again(session: Session, study: Study) -> None:
    number, previous = 0, ""
    for event in session.scalars(select(Event).where(Event.study_id == study.id).order_by(Event.number)).all():
        detail = session.get(EventDetail, event.id)
        number += 1
        digest = secrets.token_hex(32)
        if detail is not None and (detail.old, detail.new) != (None, None):
            digest = events.digest(detail.salt, detail.old, detail.new)
        elif detail is not None:
            session.delete(detail)
        if event.kind == EventKind.reserved:
            session.flush()
        row = event.model_dump() | {"number": number, "digest": digest, "previous_hash": previous}
        previous = events.chain_hash(row)
        changed = {"number": number, "digest": digest, "previous_hash": row["previous_hash"], "hash": previous}
        session.execute(update(Event).where(Event.id == event.id).values(changed))
    session.execute(update(Study).where(Study.id == study.id).values(event_number=number, event_hash=previous))


@pytest.fixture(params=["demo-sqlite", "busy-sqlite", "busy-postgres"])
def older(request: pytest.FixtureRequest) -> Engine:
    """A database of the version before, with everything that can be in one."""
    content, kind = request.param.split("-")
    engine = request.getfixturevalue(f"{kind}_engine")
    (demo.load_demo if content == "demo" else make_busy)(engine)
    age(engine)
    return engine


def verdicts(engine: Engine) -> list[verify.Verdict]:
    with reading(engine) as session:
        return [verify.verify(session, study) for study in session.scalars(select(Study)).all()]


def test_an_older_database_holds_after_the_upgrade(older):
    schema.migrate(older)
    schema.migrate(older)

    for verdict in verdicts(older):
        assert verdict.holds, verdict.differences[:5]
        assert verdict.baseline is not None
        assert f"everything else since event {verdict.baseline[0]} of 20" in verdict.sentence
    with reading(older) as session:
        taken = session.scalars(select(Event.study_id).where(Event.kind == EventKind.baseline)).all()
        assert sorted(taken) == sorted(session.scalars(select(Study.id)).all())


@pytest.mark.parametrize("edited", [False, True])
def test_an_item_ignored_after_its_submission_holds_after_the_upgrade(sqlite_engine, make_study, edited):
    """The version before logged neither the time of an ignored item nor the reason that an edit ends."""
    with writing(sqlite_engine) as session:
        study, _, (first, _) = make_study(session)
        work = submit(session, study, first)
        stored = session.get_one(Assignment, work.id)
        ignored = {"kind": "ignore", "reason": "empty", "pen": "pen-of-a-tab", "submission": "submission-2"}
        message = SetAsideMessage(assignment=stored.token, version=stored.version, **ignored)
        send(session, first, message)
        if edited:
            resubmit(session, first, work, full_answers(fluency=3))
    age(sqlite_engine)
    schema.migrate(sqlite_engine)

    assert [verdict.sentence for verdict in verdicts(sqlite_engine) if not verdict.holds] == []


@pytest.mark.long
def test_later_changes_are_named_after_the_upgrade(older):
    schema.migrate(older)
    with writing(older) as session:
        session.execute(text("UPDATE membership SET joined_at = '2020-02-02 02:02:02+00:00'"))

    assert any("membership" in line and "joined_at" in line for v in verdicts(older) for line in v.differences)


@pytest.mark.long
def test_a_rating_changed_before_the_upgrade_is_named(older):
    with writing(older) as session:
        query = "UPDATE rating SET number = number + 1 WHERE id = (SELECT max(id) FROM rating WHERE number IS NOT NULL)"
        session.execute(text(query))
    schema.migrate(older)

    assert any("at the baseline: rating" in line for v in verdicts(older) for line in v.differences)


@pytest.mark.long
@pytest.mark.parametrize(("table", "says"), [("candidate", "A response of item"), ("turn", "its context, a further")])
def test_a_text_changed_before_the_upgrade_is_named(older, table, says):
    with writing(older) as session:
        session.execute(text(f"UPDATE {table} SET text = text || 'x' WHERE id = (SELECT max(id) FROM {table})"))
    schema.migrate(older)

    assert any(says in line for verdict in verdicts(older) for line in verdict.differences)


@pytest.mark.long
@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("membership", "joined_at", "'x'"),
        ("study", "settings", "'{'"),
        ("study", "event_number", "'[]'"),
        ("turn", "text", "x'ff'"),
    ],
)
def test_an_upgrade_names_a_value_that_cannot_be_read(sqlite_engine, tmp_path, monkeypatch, table, column, value):
    make_busy(sqlite_engine)
    age(sqlite_engine)
    with writing(sqlite_engine) as session:
        key = session.execute(text(f"SELECT min(id) FROM {table}")).scalar()
        session.execute(text(f"UPDATE {table} SET {column} = {value} WHERE id = {key}"))

    for seconds in range(2):
        monkeypatch.setattr(clock, "_ahead", timedelta(seconds=seconds))
        with pytest.raises(UnsafeDatabase, match=f"unchanged. {table} {key}: {column} cannot be read"):
            schema.migrate(sqlite_engine)

    assert schema.stored_version(sqlite_engine) == "0003"
    assert len(list(tmp_path.glob("*-before-*.db"))) == 1


@pytest.mark.long
def test_a_database_changed_since_a_failed_upgrade_is_copied_again(sqlite_engine, tmp_path, monkeypatch):
    make_busy(sqlite_engine)
    age(sqlite_engine)
    for seconds, value in enumerate(("x", "y")):
        monkeypatch.setattr(clock, "_ahead", timedelta(seconds=seconds))
        with writing(sqlite_engine) as session:
            session.execute(text("UPDATE membership SET joined_at = :value"), {"value": value})
        with pytest.raises(UnsafeDatabase):
            schema.migrate(sqlite_engine)

    assert len(list(tmp_path.glob("*-before-*.db"))) == 2

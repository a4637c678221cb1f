"""The event chain shows what was changed or removed outside the app."""

from __future__ import annotations

import pytest
from helpers.present import present
from sqlalchemy import select, text

from triptych.errors import NotFound
from triptych.storage import events
from triptych.storage.database import reading, writing
from triptych.storage.events import EventKind
from triptych.storage.models import Event, EventDetail


@pytest.fixture
def chained(engine, make_study):
    with writing(engine) as session:
        study, _, _ = make_study(session, annotators=0)
        for n in range(3):
            events.record(session, study.id, EventKind.link_issued, "P-1", new={"n": n})
    return engine, study


def broken(engine, study) -> str | None:
    with reading(engine) as session:
        return events.first_broken(session, study.id)


def test_an_untouched_chain_holds(chained):
    assert broken(*chained) is None


def test_numbers_rise_without_a_gap(chained):
    engine, study = chained
    with reading(engine) as session:
        assert [e.number for e in events.since(session, study.id, 0)] == [1, 2, 3, 4, 5]
        assert events.last_number(session, study.id) == 5


@pytest.mark.parametrize(
    "statement, message",
    [
        ("UPDATE event SET actor = 'P-2' WHERE number = 3", "Event 3 was changed"),
        (
            "UPDATE event_detail SET new = '{\"n\": 9}' WHERE event_id = (SELECT id FROM event WHERE number = 4)",
            "Event 4",
        ),
        ("DELETE FROM event WHERE number = 4", "Event 4 is missing"),
        ("DELETE FROM event WHERE number = 5", "Events after 4 are missing"),
    ],
)
def test_a_row_changed_or_removed_by_hand_is_named(chained, statement, message):
    engine, study = chained
    with engine.begin() as connection:
        if statement.startswith("DELETE"):
            connection.execute(text("DELETE FROM event_detail"))
        connection.execute(text(statement))

    assert message in present(broken(engine, study))


def test_erasing_the_values_of_an_event_leaves_the_chain_whole(chained):
    engine, study = chained
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM event_detail"))

    assert broken(engine, study) is None


def test_the_digest_distinguishes_values_and_is_salted():
    assert events.digest("a", None, {"n": 1}) != events.digest("a", None, {"n": 2})
    assert events.digest("a", None, {"n": 1}) != events.digest("b", None, {"n": 1})


def test_one_transaction_adds_many_events_in_their_order(chained):
    engine, study = chained
    with writing(engine) as session:
        for n in range(3000):
            events.record(session, study.id, EventKind.link_issued, "lead", new={"n": n} if n % 2 else None)
    assert broken(engine, study) is None
    with reading(engine) as session:
        assert [event.number for event in events.since(session, study.id, 5)] == list(range(6, 3006))
        values = session.scalars(select(EventDetail.new).join(Event).where(Event.number > 5).order_by(Event.number))
        assert [present(value)["n"] for value in values] == list(range(1, 3000, 2))


def test_what_a_failed_transaction_recorded_is_not_written(chained):
    engine, study = chained
    with pytest.raises(RuntimeError), writing(engine) as session:
        events.record(session, study.id, EventKind.link_issued, "lead")
        raise RuntimeError("no")
    with reading(engine) as session:
        assert events.last_number(session, study.id) == 5


def test_a_study_that_was_deleted_meanwhile_is_not_found(engine):
    with reading(engine) as session, pytest.raises(NotFound, match="was deleted a moment ago"):
        events.locked_study(session, 1)

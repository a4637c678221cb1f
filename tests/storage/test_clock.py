"""The clock that everything goes by: this computer's, or the database server's where several processes share it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from triptych import clock
from triptych.operations.doctor import _postgres
from triptych.storage import database

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture(autouse=True)
def own_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test leaves the clock as it was."""
    monkeypatch.setattr(clock, "_ahead", timedelta())


def set_clock(monkeypatch: pytest.MonkeyPatch, *times: datetime) -> None:
    """This computer's clock, reading by reading."""
    readings = iter(times)
    monkeypatch.setattr(clock, "of_this_computer", lambda: next(readings))


@pytest.mark.parametrize("away", [-30, 0.5, 45])
def test_a_differing_database_clock_is_followed(monkeypatch, away):
    second = timedelta(seconds=1)
    set_clock(monkeypatch, NOON, NOON + second / 5, NOON + HOUR)
    clock.go_by(lambda: NOON + second / 10 + away * second)

    assert clock.now() == NOON + HOUR + away * second


def test_a_clock_that_may_equal_ours_changes_nothing(monkeypatch):
    set_clock(monkeypatch, NOON, NOON + MINUTE, NOON + HOUR)
    clock.go_by(lambda: NOON + MINUTE / 4)

    assert clock.now() == NOON + HOUR


def test_a_corrected_clock_gets_no_offset(monkeypatch):
    set_clock(monkeypatch, NOON, NOON, NOON + HOUR, NOON + HOUR, NOON + 2 * HOUR)
    clock.go_by(lambda: NOON + HOUR)
    clock.go_by(lambda: NOON + HOUR)

    assert clock.now() == NOON + 2 * HOUR


def test_an_app_on_postgresql_uses_the_servers_clock(postgres_engine, monkeypatch):
    monkeypatch.setattr(database, "RESTED", 0)

    def distance() -> timedelta:
        with postgres_engine.connect() as connection:
            return abs(connection.execute(text("SELECT clock_timestamp()")).scalar() - clock.now())

    for offset in (-HOUR, timedelta(), HOUR):
        monkeypatch.setattr(clock, "of_this_computer", lambda offset=offset: datetime.now(UTC) + offset)
        assert distance() < MINUTE


def test_the_doctor_names_a_clock_that_is_wrong(postgres_engine, monkeypatch):
    monkeypatch.setattr(clock, "of_this_computer", lambda: datetime.now(UTC) - HOUR)
    with postgres_engine.connect() as connection:
        (about_clock,) = [finding for finding in _postgres(connection) if finding.about == "clock"]

    assert not about_clock.problem
    assert "3600 s off the database's clock, which the app uses" in about_clock.text

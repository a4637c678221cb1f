"""Numbers for Prometheus: closed without a token, without names, and correct."""

from __future__ import annotations

import asyncio
import logging

import pytest
from helpers.studies import add_person
from prometheus_client import generate_latest
from sqlalchemy import text
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from triptych.people import accounts, logins
from triptych.storage.database import reading, writing
from triptych.storage.models import Role
from triptych.web import metrics
from triptych.web.session import COOKIE, cookie_value

TOKEN = "a token of this test"


@pytest.fixture
def meter(sqlite_engine, monkeypatch):
    monkeypatch.setenv("TRIPTYCH_METRICS_TOKEN", TOKEN)
    monkeypatch.setattr(metrics, "web_engine", lambda: sqlite_engine)
    make = logging.getLogRecordFactory()
    metrics.meter.cache_clear()
    yield metrics.meter()
    metrics.meter.cache_clear()
    logging.setLogRecordFactory(make)


def numbers(meter) -> dict[str, float]:
    lines = generate_latest(meter.registry).decode().splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


def ask(**headers: str):
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    return metrics.numbers(Request({"type": "http", "headers": raw}))


def call(app, scope, receive=None) -> None:
    async def send(_) -> None:
        pass

    asyncio.run(metrics.Measured(app)({"headers": [], "method": "GET", "path": "/", **scope}, receive, send))


def test_without_a_token_in_the_environment_there_is_nothing(monkeypatch):
    monkeypatch.delenv("TRIPTYCH_METRICS_TOKEN", raising=False)
    metrics.meter.cache_clear()

    assert ask(authorization="Bearer ").status_code == 404


@pytest.mark.parametrize("sent", [{}, {"authorization": "Bearer wrong"}, {"authorization": "Bearer "}])
def test_who_does_not_have_the_token_gets_no_number(meter, sent):
    answer = ask(**sent)

    assert answer.status_code == 401
    assert b"triptych" not in answer.body


def test_the_token_gives_metrics_in_prometheus_format(meter):
    answer = ask(authorization=f"Bearer {TOKEN}")

    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    assert b"triptych_database_up 1.0" in answer.body


def test_requests_are_counted_by_kind_of_address_and_status(meter):
    call(PlainTextResponse("no", 503), {"type": "http", "path": "/desk/draft"})
    call(PlainTextResponse("yes"), {"type": "http", "path": "/export/a-secret-study/ratings.csv"})
    call(PlainTextResponse("yes"), {"type": "http", "path": "/annotate"})

    values = numbers(meter)
    for labels in ('route="/desk/draft",status="503"', 'route="/export",status="200"', 'route="page",status="200"'):
        assert values[f"triptych_request_seconds_count{{{labels}}}"] == 1
    assert "secret-study" not in str(values)


def test_a_request_that_breaks_counts_as_500(meter):
    async def broken(*_) -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError):
        call(broken, {"type": "http", "path": "/desk/act"})

    assert numbers(meter)['triptych_request_seconds_count{route="/desk/act",status="500"}'] == 1


def test_open_pages_and_their_annotators_are_counted(meter, sqlite_engine):
    with writing(sqlite_engine) as session:
        cookies = []
        for name, role in (("ann", Role.annotator), ("lead", Role.lead)):
            who = add_person(session, name, role)
            person = session.get_one(accounts.Person, who.person_id)
            cookies.append(cookie_value(logins.use_ticket(session, logins.issue_sign_in_ticket(session, person))))
    seen: list[dict[str, float]] = []

    def page(cookie: str, inside) -> None:
        async def app(*_) -> None:
            inside()

        header = (b"cookie", f"{COOKIE}={cookie}".encode())
        call(app, {"type": "websocket", "path": "/_stcore/stream", "headers": [header]})

    page(cookies[0], lambda: seen.append(numbers(meter)))
    page(cookies[1], lambda: seen.append(numbers(meter)))
    page("forged", lambda: seen.append(numbers(meter)))

    assert [values["triptych_annotators_connected"] for values in seen] == [1, 0, 0]
    assert [values["triptych_connections"] for values in seen] == [1, 1, 1]
    assert numbers(meter)["triptych_connections"] == 0


def test_errors_are_counted_wherever_they_are_logged_and_transactions_timed(meter, sqlite_engine):
    metrics.watch(sqlite_engine)
    with reading(sqlite_engine) as session:
        session.execute(text("SELECT 1"))
    logging.getLogger("streamlit.elsewhere").error("broken")
    logging.getLogger("streamlit.elsewhere").info("fine")

    values = numbers(meter)
    assert values['triptych_errors_total{part="streamlit"}'] == 1
    assert values["triptych_transaction_seconds_count"] >= 1


def test_an_unavailable_database_is_a_metric_too(meter, monkeypatch, tmp_path):
    from sqlalchemy import create_engine

    monkeypatch.setattr(metrics, "web_engine", lambda: create_engine(f"sqlite:///{tmp_path}/no/folder.db"))
    values = numbers(meter)

    assert values["triptych_database_up"] == 0
    assert "triptych_annotations" not in values


def test_what_is_no_page_passes_uncounted(meter):
    async def app(*_) -> None:
        pass

    call(app, {"type": "lifespan"})
    call(app, {"type": "websocket", "path": "/elsewhere"})

    assert numbers(meter)["triptych_connections"] == 0

"""Metrics of this process for Prometheus, at /metrics with a separate token; closed if no token is set.

No metric is about a person. Each request and each transaction adds one observation.
"""

from __future__ import annotations

import hmac
import logging
import time
from collections import Counter as Tally
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

from sqlalchemy import Engine, event, func, select
from sqlalchemy.pool import ConnectionPoolEntry
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from triptych import settings
from triptych.people.passcodes import secret_hash
from triptych.storage.database import reading
from triptych.storage.models import Login, Person, Role, Submission
from triptych.storage.unavailable import DatabaseUnavailable
from triptych.web.session import cookie_in, login_secret, web_engine

SOCKET = "/_stcore/stream"
# one label for each group of addresses, so that neither studies nor people become labels
DESK = ("/desk/draft", "/desk/renew", "/desk/act", "/desk/items")
NAMED = (*DESK, "/lead", "/auth", "/api", "/export", "/assets", "/healthz", "/readyz", "/metrics", "/_stcore")
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Meter:
    """This process's metrics. Labels: route and status of a request; for an error, the part of the program."""

    def __init__(self) -> None:
        # takes 0.15 s to import, and only a deployment needs it
        from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector

        self.registry = CollectorRegistry()
        seconds = partial(Histogram, buckets=SECONDS, registry=self.registry)
        self.requests = seconds("triptych_request_seconds", "Response time of requests", ["route", "status"])
        self.transactions = seconds("triptych_transaction_seconds", "Time that a database connection is held")
        self.errors = Counter("triptych_errors", "Errors logged", ["part"], registry=self.registry)
        self.sockets: Tally[str] = Tally()
        ProcessCollector(registry=self.registry)
        self.registry.register(self)

    def collect(self) -> Iterator[Any]:
        """The metrics that are counted on request."""
        from prometheus_client.core import GaugeMetricFamily

        annotators, submissions = self._from_database()
        numbers = {
            "triptych_connections": ("Pages open on this process", sum(self.sockets.values())),
            "triptych_annotators_connected": ("Annotators with a page open on this process", annotators),
            "triptych_annotations": ("Submissions stored in the database, by all processes", submissions),
            "triptych_database_up": ("Whether the database responds", float(submissions is not None)),
        }
        for name, (help_text, value) in numbers.items():
            if value is not None:
                yield GaugeMetricFamily(name, help_text, value=value)

    def describe(self) -> list[Any]:
        """Returns nothing, so that registering does not query the database."""
        return []

    def _from_database(self) -> tuple[int | None, int | None]:
        """Number of annotators with an open socket, and of submissions; None for both while the database is
        unavailable.
        """
        hashes = [secret_hash(secret) for cookie in list(self.sockets) if (secret := login_secret(cookie))]
        annotators = (
            select(func.count(Person.id.distinct()))
            .join(Login, Login.person_id == Person.id)
            .where(Login.secret_hash.in_(hashes), Login.revoked_at.is_(None), Person.role == Role.annotator)
        )
        try:
            with reading(web_engine()) as session:
                submissions = session.execute(select(func.count()).select_from(Submission)).scalar_one()
                return session.execute(annotators).scalar_one(), submissions
        except DatabaseUnavailable:
            return None, None


@lru_cache(maxsize=1)
def meter() -> Meter | None:
    """The process's meter; None if no token is set."""
    return Meter() if settings.metrics_token() else None


def watch(engine: Engine) -> None:
    """Count this engine's transactions and every error that is logged from now on."""
    process_meter = meter()
    if process_meter is None:
        return

    def on_checkout(_: object, record: ConnectionPoolEntry, __: object) -> None:
        record.info["checked_out"] = time.perf_counter()

    def on_checkin(_: object, record: ConnectionPoolEntry) -> None:
        began = record.info.pop("checked_out", None)
        if began is not None:
            process_meter.transactions.observe(time.perf_counter() - began)

    event.listen(engine, "checkout", on_checkout)
    event.listen(engine, "checkin", on_checkin)
    _count_errors(process_meter)


def _count_errors(process_meter: Meter) -> None:
    """Count errors when log records are made, since Streamlit's loggers do not propagate to other handlers."""
    make = logging.getLogRecordFactory()

    def counted(*args: object, **kwargs: object) -> logging.LogRecord:
        record = make(*args, **kwargs)
        if record.levelno >= logging.ERROR:
            process_meter.errors.labels(record.name.partition(".")[0]).inc()
        return record

    logging.setLogRecordFactory(counted)


def route_of(path: str) -> str:
    """The route label of a path; everything that Streamlit serves is "page"."""
    return next((name for name in NAMED if path == name or path.startswith(f"{name}/")), "page")


class Measured:
    """ASGI middleware that times requests and counts open pages; does nothing without a meter."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        process_meter = meter()
        if process_meter is None:
            return await self.app(scope, receive, send)
        if scope["type"] == "http":
            return await self._timed(process_meter, scope, receive, send)
        if scope["type"] == "websocket" and scope["path"].endswith(SOCKET):
            return await self._counted(process_meter, scope, receive, send)
        return await self.app(scope, receive, send)

    async def _timed(self, process_meter: Meter, scope: Scope, receive: Receive, send: Send) -> None:
        began, status = time.perf_counter(), 500

        async def send_and_see(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_and_see)
        finally:
            process_meter.requests.labels(route_of(scope["path"]), status).observe(time.perf_counter() - began)

    async def _counted(self, process_meter: Meter, scope: Scope, receive: Receive, send: Send) -> None:
        cookies = HTTPConnection(scope).cookies
        # the gate, which determines the scheme, runs later, so both cookies are tried
        cookie = cookie_in(cookies, https=True) or cookie_in(cookies, https=False) or ""
        sockets = process_meter.sockets
        sockets[cookie] += 1
        try:
            await self.app(scope, receive, send)
        finally:
            sockets[cookie] -= 1
            if not sockets[cookie]:
                del sockets[cookie]


def numbers(request: Request) -> Response:
    """The metrics as text. 404 without a token in the environment, 401 without it in the request."""
    token, process_meter = settings.metrics_token(), meter()
    if token is None or process_meter is None:
        return PlainTextResponse("Not found", status_code=404)
    sent = request.headers.get("authorization", "").removeprefix("Bearer ")
    if not hmac.compare_digest(sent.encode(), token.encode()):
        return PlainTextResponse("A token is needed.", status_code=401, headers={"WWW-Authenticate": "Bearer"})
    from prometheus_client import generate_latest
    from prometheus_client.exposition import CONTENT_TYPE_LATEST

    body = generate_latest(process_meter.registry)
    return Response(body, headers={"Content-Type": CONTENT_TYPE_LATEST, "Cache-Control": "no-store"})


METRICS_ROUTES = [Route("/metrics", numbers)]

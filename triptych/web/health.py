"""Whether this process lives, and whether it can work; for a proxy, a service manager or a watchdog."""

from __future__ import annotations

import logging
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from triptych import settings
from triptych.operations import doctor
from triptych.operations.doctor import Finding
from triptych.storage import database
from triptych.storage.database import DatabaseAway
from triptych.web.session import web_engine

NO_STORE = {"Cache-Control": "no-store"}
log = logging.getLogger("triptych.web")


async def healthz(_: Request) -> JSONResponse:
    """The process answers: on its event loop, so one that hangs does not. Nothing else is asked."""
    return JSONResponse({"status": "ok"}, headers=NO_STORE)


def readyz(_: Request) -> JSONResponse:
    """200 if the database answers at this program's schema and the disk has room; else 503. Says which, in words."""
    findings = [_look(about, look) for about, look in LOOKS.items()]
    ready = not any(finding.problem for finding in findings)
    if not ready:
        log.warning("Not ready: %s", "; ".join(f"{f.about}: {f.text}" for f in findings if f.problem))
    body = {"status": "ready" if ready else "not ready", **{f.about: f.text for f in findings}}
    return JSONResponse(body, status_code=200 if ready else 503, headers=NO_STORE)


def _look(about: str, look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except DatabaseAway:
        return Finding(about, "does not answer", problem=True)


def _database() -> Finding:
    there = database.answers(web_engine())
    return Finding("database", "answers" if there else "does not answer", problem=not there)


LOOKS: dict[str, Callable[[], Finding]] = {
    "database": _database,
    "tables": lambda: doctor.schema(web_engine()),
    "disk": lambda: doctor.disk(settings.local_folder()),
}
HEALTH_ROUTES = [Route("/healthz", healthz), Route("/readyz", readyz)]

"""Reports whether this process runs and whether it can work; for a proxy, a service manager or a watchdog."""

from __future__ import annotations

import logging
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from triptych import settings
from triptych.operations import doctor
from triptych.operations.doctor import Diagnosis
from triptych.storage import database
from triptych.storage.unavailable import DatabaseUnavailable
from triptych.web import budgets
from triptych.web.session import web_engine

NO_STORE = {"Cache-Control": "no-store"}
_latest: dict[str, JSONResponse] = {}
log = logging.getLogger("triptych.web")


async def healthz(_: Request) -> JSONResponse:
    """200 whenever the event loop runs; checks nothing else."""
    return JSONResponse({"status": "ok"}, headers=NO_STORE)


def readyz(_: Request) -> JSONResponse:
    """200 if the database answers with this program's schema and the disk has room, otherwise 503. Lists each check.

    If requests are too frequent, it repeats its last answer, so that strangers cannot make a load balancer's request
    fail.
    """
    if not budgets.spending("readiness").take("everybody") or not _latest:
        _latest["answer"] = _looked()
    return _latest["answer"]


def _looked() -> JSONResponse:
    findings = [_checked(about, check) for about, check in CHECKS.items()]
    ready = not any(finding.problem for finding in findings)
    if not ready:
        problems = (f"{finding.about}: {finding.text}" for finding in findings if finding.problem)
        log.warning("Not ready: %s", "; ".join(problems))
    body = {"status": "ready" if ready else "not ready", **{finding.about: finding.text for finding in findings}}
    return JSONResponse(body, status_code=200 if ready else 503, headers=NO_STORE)


def _checked(about: str, check: Callable[[], Diagnosis]) -> Diagnosis:
    try:
        return check()
    except (DatabaseUnavailable, OSError):  # OSError: the data folder is not there
        return Diagnosis(about, "does not answer", problem=True)


def _database() -> Diagnosis:
    answers = database.answers(web_engine())
    return Diagnosis("database", "answers" if answers else "does not answer", problem=not answers)


CHECKS: dict[str, Callable[[], Diagnosis]] = {
    "database": _database,
    "tables": lambda: doctor.schema(web_engine()),
    "disk": lambda: doctor.disk(settings.local_folder()),
}
HEALTH_ROUTES = [Route("/healthz", healthz), Route("/readyz", readyz)]

"""Whether the process can reach its database; for a proxy or a service manager."""

from __future__ import annotations

import logging

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from triptych.database import reading
from triptych.web.session import web_engine

log = logging.getLogger("triptych.web")


def healthz(_: Request) -> JSONResponse:
    try:
        with reading(web_engine()) as session:
            session.execute(text("SELECT 1"))
    except SQLAlchemyError:
        log.exception("The database does not answer.")
        return JSONResponse({"status": "database unreachable"}, status_code=503)
    return JSONResponse({"status": "ok"}, headers={"Cache-Control": "no-store"})


HEALTH_ROUTES = [Route("/healthz", healthz)]

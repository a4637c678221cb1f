"""All routes that are ours; each module brings its list."""

from __future__ import annotations

from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Router
from starlette.types import ASGIApp

from triptych.storage.database import DatabaseAway
from triptych.web.export import EXPORT_ROUTES
from triptych.web.health import HEALTH_ROUTES
from triptych.web.metrics import METRICS_ROUTES, Measured
from triptych.web.opening import Opened
from triptych.web.personal import PERSONAL_ROUTES
from triptych.web.session import SESSION_ROUTES, current_login
from triptych.web.work import WORK_ROUTES

__all__ = ["ROUTES", "current_login", "explained", "opened"]

# the first that fits is taken, and an annotator at work asks every second
ROUTES = [
    *WORK_ROUTES,
    *HEALTH_ROUTES,
    *METRICS_ROUTES,
    *SESSION_ROUTES,
    *EXPORT_ROUTES,
    *PERSONAL_ROUTES,
]


async def away(_: Request, error: Exception) -> JSONResponse:
    """What any of them answers while the database does not: a sentence, and that it is worth asking again."""
    return JSONResponse(
        {"refused": "away", "message": str(error)}, 503, {"Retry-After": "3", "Cache-Control": "no-store"}
    )


def explained(app: ASGIApp) -> ASGIApp:
    """The app, where a database that does not answer is answered in words."""
    return ExceptionMiddleware(app, {DatabaseAway: away})


def opened() -> Opened:
    """What an open app adds to Streamlit's own routes."""
    return Opened(ROUTES, explained(Router(ROUTES)), Measured)

"""All HTTP routes besides Streamlit's own, and the responses to errors."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from triptych.storage import traces
from triptych.storage.unavailable import DatabaseBusy, DatabaseUnavailable
from triptych.web.api import API_ROUTES
from triptych.web.assets import ASSET_ROUTES
from triptych.web.export import EXPORT_ROUTES
from triptych.web.health import HEALTH_ROUTES
from triptych.web.metrics import METRICS_ROUTES
from triptych.web.origins import prefix_of
from triptych.web.personal import PERSONAL_ROUTES
from triptych.web.rubrics import RUBRIC_ROUTES
from triptych.web.work import SESSION_ROUTES, WORK_ROUTES

# The first match wins, so the workbench's frequent routes are first.
ROUTES = [
    *WORK_ROUTES,
    *ASSET_ROUTES,
    *RUBRIC_ROUTES,
    *HEALTH_ROUTES,
    *METRICS_ROUTES,
    *SESSION_ROUTES,
    *EXPORT_ROUTES,
    *PERSONAL_ROUTES,
    *API_ROUTES,
]


def below(base_path: str) -> list[Route]:
    """All routes below Streamlit's server.baseUrlPath; routes for machines are also at the root."""
    prefix = prefix_of(base_path)
    routes = [Route(f"{prefix}{route.path}", route.endpoint, methods=route.methods) for route in ROUTES]
    return [*routes, *HEALTH_ROUTES, *METRICS_ROUTES] if prefix else ROUTES


async def unavailable(_: Request, error: Exception) -> JSONResponse:
    """503 with a message, and when to retry."""
    reason = "busy" if isinstance(error, DatabaseBusy) else "away"
    return JSONResponse(
        {"refused": reason, "message": str(error)}, 503, {"Retry-After": "3", "Cache-Control": "no-store"}
    )


async def unexpected(_: Request, error: Exception) -> JSONResponse:
    """500 with the id of the stored trace."""
    message = await run_in_threadpool(traces.sentence, error)
    return JSONResponse({"refused": "error", "message": message}, 500, {"Cache-Control": "no-store"})


async def hung_up(_: Request, __: Exception) -> Response:
    """An empty response, which nobody reads: the browser disconnected before it had sent the whole body."""
    return Response(status_code=400)


ERRORS = {DatabaseUnavailable: unavailable, ClientDisconnect: hung_up, Exception: unexpected}

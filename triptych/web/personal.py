"""What is stored about one person, as a file: for that person, and for the leads of a study they annotate in.

Streamlit's own download button serves bytes under an address that needs no sign-in; these routes check who is asking.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlmodel import Session
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from triptych.errors import NotFound
from triptych.privacy import personal_data
from triptych.storage.database import reading
from triptych.storage.models import Role
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.web.session import current_login, web_engine

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
FORMS = {
    "json": ("application/json", personal_data.as_json),
    "csv": ("text/csv; charset=utf-8", personal_data.as_csv),
}
PersonalData = Callable[[Session, Who, Request], dict[str, Any]]


async def of_self(request: Request) -> Response:
    """Everything about the person who is signed in."""
    return await run_in_threadpool(_answer, request, _about_me)


async def of_member(request: Request) -> Response:
    """What one study holds about one of its annotators, for its leads."""
    return await run_in_threadpool(_answer, request, _about_member)


def _about_me(session: Session, who: Who, _: Request) -> dict[str, Any]:
    return personal_data.about(session, who.person_id)


def _about_member(session: Session, who: Who, request: Request) -> dict[str, Any]:
    study = lifecycle.led_by(session, who, request.path_params["slug"])
    return personal_data.of_member(session, study, request.path_params["pseudonym"])


def _answer(request: Request, data_of: PersonalData) -> Response:
    """401 without sign-in, 403 for annotators who ask for others, 404 for people outside this lead's studies."""
    who = current_login(request)
    if who is None:
        return _refusal(401, "Sign in first.")
    if data_of is _about_member and who.role != Role.lead:
        return _refusal(403, "Your own data are on the page My data.")
    form = request.path_params["form"]
    if form not in FORMS:
        return _refusal(404, f"There is no such file; there are {', '.join(FORMS)}.")
    media_type, write = FORMS[form]
    try:
        with reading(web_engine()) as session:
            data = data_of(session, who, request)
    except NotFound as error:
        return _refusal(404, str(error))
    name = f"{data['pseudonym']}.{form}"
    return Response(
        write(data), media_type=media_type, headers={**HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    )


def _refusal(status: int, message: str) -> PlainTextResponse:
    return PlainTextResponse(message, status_code=status, headers=HEADERS)


PERSONAL_ROUTES = [
    Route("/my-data.{form}", of_self, methods=["GET"]),
    Route("/people/{slug}/{pseudonym}.{form}", of_member, methods=["GET"]),
]

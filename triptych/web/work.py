"""The workbench's own routes: drafts and renewals, stored without a script run.

The answer carries the number stored, never the texts, so a saved draft costs the same whatever the item's length.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from sqlmodel import Session
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from triptych import annotations, assignments, people
from triptych.annotations import DraftMessage, Refusal
from triptych.database import writing
from triptych.errors import InvalidAnnotation, TriptychError
from triptych.people import Who
from triptych.web.session import COOKIE, is_our_own, login_secret, web_engine

SIGNED_OUT = "You are signed out. Sign in again; what you wrote is kept in this browser."
MAX_BODY = 4 * 2**20


def refused(status: int, reason: str, message: str, **more: Any) -> JSONResponse:
    return JSONResponse({"refused": reason, "message": message, **more}, status_code=status)


async def _command(request: Request, run: Callable[[Session, Who, Any], JSONResponse]) -> JSONResponse:
    """One command of a signed-in annotator's own page, with its JSON body."""
    if not is_our_own(request):
        return refused(403, "foreign", "This request does not come from a Triptych page.")
    body = await _body(request)
    if body is None:
        return refused(400, "invalid", "The message is not JSON, or too large.")
    return await run_in_threadpool(_run, request, run, body)


async def _body(request: Request) -> Any:
    read = b""
    async for chunk in request.stream():
        read += chunk
        if len(read) > MAX_BODY:
            return None
    try:
        return json.loads(read)
    except (ValueError, RecursionError):
        return None


def _run(request: Request, run: Callable[[Session, Who, Any], JSONResponse], body: Any) -> JSONResponse:
    """Who is asking and what is asked, in one transaction."""
    secret = login_secret(request.cookies.get(COOKIE))
    try:
        with writing(web_engine()) as session:
            who = people.who_is(session, secret) if secret else None
            if who is None:
                return refused(401, "signed_out", SIGNED_OUT)
            return run(session, who, body)
    except InvalidAnnotation as error:
        return refused(400, "invalid", str(error))
    except TriptychError as error:
        return refused(409, "closed", str(error))


def _save_draft(session: Session, who: Who, body: Any) -> JSONResponse:
    answer = annotations.save_draft(session, who, annotations.read_message(DraftMessage, body))
    if isinstance(answer, Refusal):
        more = {"draft": answer.draft, "draft_seq": answer.draft_seq, "receipt": answer.receipt}
        return refused(409, answer.reason, answer.message, **more)
    return JSONResponse({"stored": answer})


def _renew(session: Session, who: Who, body: Any) -> JSONResponse:
    token = body.get("assignment") if isinstance(body, dict) else None
    if not isinstance(token, str):
        raise InvalidAnnotation("A renewal names its assignment.")
    return JSONResponse({"renewed": assignments.renew(session, who, token)})


async def draft(request: Request) -> JSONResponse:
    return await _command(request, _save_draft)


async def renew(request: Request) -> JSONResponse:
    return await _command(request, _renew)


WORK_ROUTES = [Route("/desk/draft", draft, methods=["POST"]), Route("/desk/renew", renew, methods=["POST"])]

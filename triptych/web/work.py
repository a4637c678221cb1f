"""The workbench's own routes: drafts, renewals and actions (submit, skip, back, …), without a script run.

A draft's answer carries the number stored, never the texts, so it costs the same whatever the item's length. An
action's answer is the desk as it lies then: the next view without the rubric, which the browser has, or why there is
no item.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from sqlmodel import Session
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from triptych.annotate import assignments, desk, drafts, reservations
from triptych.annotate.annotations import read_message
from triptych.annotate.desk import Desk
from triptych.annotate.drafts import DraftMessage, Refusal
from triptych.errors import InvalidAnnotation, SignedOut, TriptychError
from triptych.people import accounts
from triptych.storage.database import BUSY, DatabaseAway, DatabaseBusy, writing
from triptych.storage.models import Study
from triptych.study.persons import Who
from triptych.web.session import COOKIE, is_our_own, login_secret, web_engine

MAX_BODY = 4 * 2**20
ANSWER_SECONDS = 9.5
# Four: with more, the thread that holds the study's row on PostgreSQL waits for all others to release the interpreter,
# and they wait for the row (`python -m bench two-processes`)
_threads = ThreadPoolExecutor(4, thread_name_prefix="desk")


def refused(status: int, reason: str, message: str, **more: Any) -> JSONResponse:
    return JSONResponse({"refused": reason, "message": message, **more}, status_code=status)


async def _command(answer: Callable[[str | None, Any], Response], request: Request) -> Response:
    """One command of a signed-in annotator's own page: `answer` gets their login's secret and the JSON body."""
    if not is_our_own(request):
        return refused(403, "foreign", "This request does not come from a Triptych page.")
    body = await _body(request)
    if body is None:
        return refused(400, "invalid", "The message is not JSON, or too large.")
    secret = login_secret(request.cookies.get(COOKIE))
    command = asyncio.get_running_loop().run_in_executor(_threads, answer, secret, body)
    try:
        return await asyncio.wait_for(command, ANSWER_SECONDS)
    except TimeoutError as error:  # behind others that wait; if it is stored later, its repetition is found out
        raise DatabaseBusy(BUSY) from error


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


def _run(
    run: Callable[[Session, str | None, Any], Response], refuse: Callable[..., Response], secret: str | None, body: Any
) -> Response:
    """What is asked, in one transaction, in which `run` finds out who asks; a refusal has changed nothing."""
    try:
        with writing(web_engine()) as session:
            return run(session, secret, body)
    except DatabaseAway:
        raise  # the browser asks again
    except SignedOut as error:
        return refused(401, "signed_out", str(error))
    except TriptychError as error:
        return refuse(error, secret, body)


def _as_refusal(error: TriptychError, secret: str | None, body: Any) -> JSONResponse:
    invalid = isinstance(error, InvalidAnnotation)
    return refused(400 if invalid else 409, "invalid" if invalid else "closed", str(error))


def _refused_desk(error: TriptychError, secret: str | None, body: Any) -> Response:
    """The desk as it is after a refused action, with the reason on it."""
    try:
        with writing(web_engine()) as session:
            who, study = _asked(session, secret, body)
            showing = body.get("showing")
            token = showing if isinstance(showing, str) else None
            current = desk.lay(session, study, who, showing=token, notice=str(error))
        return _answer(current) if current.view is not None else _closed(current, error)
    except DatabaseAway:
        raise
    except TriptychError:
        return _as_refusal(error, secret, body)


def _closed(current: Desk, error: TriptychError) -> JSONResponse:
    """Refused, with no item to show the reason on: no receipt, so the browser keeps the annotator's draft."""
    return refused(409, "closed", str(error), nothing=current.nothing)


def _next_draft(secret: str | None, body: Any) -> Response:
    """A draft of an item that this process gave out, in one statement; any other on the slow path, which says why."""
    try:
        if secret and drafts.save_next_draft(web_engine(), secret, read_message(DraftMessage, body)):
            return JSONResponse({"stored": body["seq"]})
    except InvalidAnnotation:
        pass  # the slow path says so, to people who are signed in
    return _run(_save_draft, _as_refusal, secret, body)


def _save_draft(session: Session, secret: str | None, body: Any) -> JSONResponse:
    who = accounts.signed_in(session, secret)
    answer = drafts.save_draft(session, who, read_message(DraftMessage, body))
    if isinstance(answer, Refusal):
        more = {"draft": answer.draft, "draft_seq": answer.draft_seq, "receipt": answer.receipt}
        return refused(409, answer.reason, answer.message, **more)
    return JSONResponse({"stored": answer})


def _renew(session: Session, secret: str | None, body: Any) -> JSONResponse:
    who = accounts.signed_in(session, secret)
    return JSONResponse({"renewed": reservations.renew(session, who, _text(body, "assignment"))})


def _act(session: Session, secret: str | None, body: Any) -> Response:
    who, study = _asked(session, secret, body)
    return _answer(desk.act(session, study, who, _action(body)))


def _asked(session: Session, secret: str | None, body: Any) -> tuple[Who, Study]:
    """Who asks, and of which study; a signed-out person sees that message first, whatever was sent."""
    try:
        return assignments.asked_by(session, secret, _text(_action(body), "assignment"))
    except InvalidAnnotation:
        accounts.signed_in(session, secret)
        raise


def _action(body: Any) -> Any:
    return body.get("action") if isinstance(body, dict) else None


def _text(message: Any, name: str) -> str:
    """A text that the message must carry. Raises InvalidAnnotation."""
    text = message.get(name) if isinstance(message, dict) else None
    if not isinstance(text, str) or not text.isascii() or "\0" in text:
        raise InvalidAnnotation(f"The message names no {name}.")
    return text


def _answer(current: Desk) -> Response:
    if current.view is None:
        return JSONResponse({"nothing": current.nothing})
    view = current.view.model_dump_json(exclude={"rubric"})
    return Response(f'{{"showing": {json.dumps(current.showing)}, "view": {view}}}', media_type="application/json")


WORK_ROUTES = [
    Route("/desk/draft", partial(_command, _next_draft), methods=["POST"]),
    Route("/desk/renew", partial(_command, partial(_run, _renew, _as_refusal)), methods=["POST"]),
    Route("/desk/act", partial(_command, partial(_run, _act, _refused_desk)), methods=["POST"]),
]

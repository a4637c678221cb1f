"""The workbench's own routes: drafts, renewals and actions (submit, skip, back, …), without a script run; and, in the
same threads, signing in and out.

The response to a draft contains only the stored number, so its cost does not depend on the item's length. The response
to an action is the resulting desk: the next view, without the rubric, which the browser already has, or the reason why
there is no item.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from sqlalchemy import Engine
from sqlmodel import Session
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from triptych.annotate import assignments, desk, drafts, reservations
from triptych.annotate.annotations import read_message
from triptych.annotate.desk import Desk
from triptych.annotate.drafts import DraftMessage, Refusal
from triptych.annotate.own_items import own_items
from triptych.errors import InvalidAnnotation, SignedOut, TriptychError
from triptych.languages import language
from triptych.languages.language import _
from triptych.people import logins
from triptych.rubric.model import LETTERS
from triptych.storage.database import reading, writing
from triptych.storage.models import Role, Study
from triptych.storage.unavailable import BUSY, DatabaseBusy, DatabaseUnavailable
from triptych.study.persons import Who
from triptych.web import budgets
from triptych.web.session import (
    cookie_in,
    is_https,
    is_our_own,
    key_of_address,
    login_secret,
    sign_out,
    use_ticket,
    web_engine,
)

ANSWER_SECONDS = budgets.LONGEST_TURN
AGAIN_SECONDS = 0.1
T = TypeVar("T")
KB = 2**10
SMALL_BODY = 16 * KB  # bytes of longer ones are counted for all logins of a person
USUAL_BODY = 256 * KB
MAX_BODY = 4096 * KB  # for texts of any length
MAX_PARTS = 300_000  # lists, objects and keys of a message, with such signs in its texts
# enough for marking every word of every response; UTF-8 takes up to four bytes per character
BYTES_PER_CHARACTER = 4 * len(LETTERS)
# Four: with more, the thread that holds the study's row on PostgreSQL waits for all others to release the interpreter,
# and they wait for the row (`python -m bench two-processes`)
_threads = ThreadPoolExecutor(4, thread_name_prefix="desk")
_turns: WeakValueDictionary[str | int, asyncio.Lock] = WeakValueDictionary()
_places: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
MAX_ENDED = 10_000
_ended: OrderedDict[str, None] = OrderedDict()  # the logins whose last message was refused as one of nobody signed in


def refused(status: int, reason: str, message: str, **more: object) -> JSONResponse:
    return JSONResponse({"refused": reason, "message": message, **more}, status_code=status)


async def command(
    answer: Callable[[str | None, Any], Response], request: Request, threads: ThreadPoolExecutor | None = None
) -> Response:
    """Run one command of a signed-in person's own page: `answer` gets their login's secret and the JSON body.

    `threads` runs it, for leads only; None for the annotators' threads. Messages are in the language that the page
    requests.
    """
    language.use(language.accepted(request.headers.get("accept-language")))
    if not is_our_own(request):
        return unread(refused(403, "foreign", _("This request does not come from a Triptych page.")))
    secret = login_secret(cookie_in(request.cookies, is_https(request)))
    if secret is None:
        return unread(refused(401, "signed_out", _(logins.SIGNED_OUT)))
    declared = int(request.headers.get("content-length") or 0)  # the gate refuses requests without one
    sender = "" if secret in _ended else secret  # those that ended share one budget and one turn
    key = budgets.key_of(sender, "")
    wait, limit, turn = budgets.spending("requests").take(key), USUAL_BODY, turn_of(sender)
    # those with threads of their own hold none that annotators wait for
    places = nullcontext() if threads else places_of(request)
    end = time.monotonic() + ANSWER_SECONDS
    if (threads or declared > SMALL_BODY) and not wait:
        async with until(end), turn, places:
            key, limit, is_lead = await in_thread(threads or _threads, _sender_and_limit, secret, declared)
        if not limit:
            _note(secret, ended=True)
            return unread(refused(401, "signed_out", _(logins.SIGNED_OUT)))
        if threads and not is_lead:  # many accounts of an open study may be one stranger's
            return unread(refused(403, "lead", "Only a lead may change a rubric."))
        turn = turn_of(key) if threads else turn  # a lead's rubrics, which take seconds, wait for each other
    wait = wait or budgets.spending("body_bytes").take(key, declared)
    if wait:
        headers = {"Retry-After": str(budgets.seconds(wait))}
        return unread(refused(429, "budget", budgets.later(wait)), headers)
    if declared > limit:
        return unread(refused(413, "invalid", f"The message is longer than {limit // KB} KB."))
    before = time.monotonic()
    body, began = await request.body(), time.monotonic()
    async with until(end + began - before), turn:
        async with places:
            response, is_again = await in_thread(threads or _threads, _parsed, answer, secret, body)
        _note(secret, ended=response.status_code == 401)
        if is_again:
            # answering a check again is faster, as its first answer counts; without this pause, the timing would
            # reveal checks to annotators who answer again
            await asyncio.sleep(-(time.monotonic() - began) % AGAIN_SECONDS)
    return response


async def in_place(answer: Callable[[Request], Response], request: Request) -> Response:
    """The answer of a function that writes, from the threads of the workbench's messages; those that open everybody's
    pages wait for no writer. Raises DatabaseBusy.
    """
    async with until(time.monotonic() + ANSWER_SECONDS), places_of(request):
        return await in_thread(_threads, answer, request)


def turn_of(asker: str | int) -> asyncio.Lock:
    """The lock under which the messages of a login, or a lead's rubrics or calls of scripts, run one after another.

    So nobody holds the threads that all share. asker: a login's secret, or the key or id of a lead.
    """
    return _turns.setdefault(asker, asyncio.Lock())


def places_of(request: Request) -> asyncio.Semaphore:
    """The places for messages from this address: in an open study, all accounts there may be one stranger's, who would
    hold all threads.
    """
    places = asyncio.Semaphore(max(1, int(budgets.all_budgets()["address_requests"].at_once)))
    return _places.setdefault(key_of_address(request), places)


def _note(secret: str, *, ended: bool) -> None:
    """Remember whether a login has ended, by the answer to its message."""
    _ended.pop(secret, None)
    if ended:
        _ended[secret] = None
    if len(_ended) > MAX_ENDED:
        _ended.popitem(last=False)


@asynccontextmanager
async def until(end: float) -> AsyncIterator[None]:
    """Raises DatabaseBusy if others held the turn, the threads or the database until then, by the monotonic clock.

    If the command was stored after all, the browser's repetition of it gets the receipt.
    """
    try:
        async with asyncio.timeout(end - time.monotonic()):
            yield
    except TimeoutError as error:
        raise DatabaseBusy(_(BUSY)) from error


async def in_thread(threads: ThreadPoolExecutor, command: Callable[..., T], *arguments: object) -> T:
    """The result of a command that one of these threads runs, in the context of the request."""
    return await asyncio.get_running_loop().run_in_executor(threads, copy_context().run, command, *arguments)


def unread(answer: JSONResponse, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The response to a message whose body is not read, so that the server need not receive the rest."""
    answer.headers.update({"Connection": "close", **(headers or {})})
    return answer


def _sender_and_limit(secret: str, declared: int) -> tuple[str, int, bool]:
    """The budget key of the person with this login, the longest message in bytes, given their studies' texts, and
    whether they are a lead.

    The length is 0 for a login that has ended.
    """
    with reading(web_engine()) as session:
        who = logins.who_is(session, secret)
        if who is None:
            return "", 0, False
        text = assignments.longest_text(session, who) if declared > USUAL_BODY else 0
        limit = min(USUAL_BODY + BYTES_PER_CHARACTER * text, MAX_BODY)
        return budgets.key_of_person(who.person_id), limit, who.role == Role.lead


def parsed_json(body: bytes) -> Any:
    """The content of a message. Raises ValueError, also for very many lists, objects or keys, which take long."""
    if sum(map(body.count, (b"[", b"{", b":"))) > MAX_PARTS:
        raise ValueError(f"more than {MAX_PARTS:,} lists, objects and keys")
    return json.loads(body)


def _parsed(answer: Callable[[str | None, Any], Response], secret: str, body: bytes) -> tuple[Response, bool]:
    """The response to a body, which is parsed in this thread, and whether the message answers an item again."""
    try:
        message = parsed_json(body)
    except (ValueError, RecursionError):
        return refused(400, "invalid", f"The message is not JSON with at most {MAX_PARTS:,} parts."), False
    action = _action(message)
    return answer(secret, message), isinstance(action, dict) and action.get("version") not in (None, 1)


def in_transaction(
    run: Callable[[Session, str | None, Any], Response],
    refuse: Callable[..., Response],
    secret: str | None,
    body: Any,
    *,
    to: Callable[[Engine], AbstractContextManager[Session]] = writing,
) -> Response:
    """Handle a request in one transaction, in which `run` identifies the sender; a refusal stores nothing.

    to: `reading` for a request that stores nothing, so that others can write meanwhile.
    """
    try:
        with to(web_engine()) as session:
            return run(session, secret, body)
    except DatabaseUnavailable:
        raise  # the browser retries
    except SignedOut as error:
        return refused(401, "signed_out", str(error))
    except TriptychError as error:
        return refuse(error, secret, body)


def as_refusal(error: TriptychError, secret: str | None, body: object) -> JSONResponse:
    invalid = isinstance(error, InvalidAnnotation)
    return refused(400 if invalid else 409, "invalid" if invalid else "closed", str(error))


def _refused_desk(error: TriptychError, secret: str | None, body: Any) -> Response:
    """The desk after a refused action, including the reason."""
    try:
        with writing(web_engine()) as session:
            who, study = _asked(session, secret, body)
            showing = body.get("showing")
            token = showing if isinstance(showing, str) else None
            current = desk.lay(session, study, who, showing=token, notice=str(error))
        return _answer(current) if current.view is not None else _closed(current, error)
    except DatabaseUnavailable:
        raise
    except TriptychError:
        return as_refusal(error, secret, body)


def _closed(current: Desk, error: TriptychError) -> JSONResponse:
    """A refusal with no item to show the reason on, and no receipt, so the browser keeps the annotator's draft."""
    return refused(409, "closed", str(error), nothing=current.nothing)


def _next_draft(secret: str | None, body: Any) -> Response:
    """Store a draft of an item that this process assigned, with one statement.

    Any other draft takes the slow path, which gives the reason for a refusal.
    """
    try:
        if secret and drafts.save_next_draft(web_engine(), secret, read_message(DraftMessage, body)):
            return JSONResponse({"stored": body["seq"]})
    except InvalidAnnotation:
        pass  # the slow path reports it to people who are signed in
    return in_transaction(_save_draft, as_refusal, secret, body)


def _save_draft(session: Session, secret: str | None, body: object) -> JSONResponse:
    who = logins.signed_in(session, secret)
    answer = drafts.save_draft(session, who, read_message(DraftMessage, body))
    if isinstance(answer, Refusal):
        return refused(409, answer.reason, answer.message, draft=answer.draft, draft_seq=answer.draft_seq)
    return JSONResponse({"stored": answer})


def _renew(session: Session, secret: str | None, body: object) -> JSONResponse:
    who = logins.signed_in(session, secret)
    return JSONResponse({"renewed": reservations.renew(session, who, text_of(body, "assignment"))})


def _act(session: Session, secret: str | None, body: object) -> Response:
    who, study = _asked(session, secret, body)
    action = _action(body)
    # after training, the guidelines include its items, which the browser does not have yet
    return _answer(desk.act(session, study, who, action), with_rubric=action.get("kind") == "continue")


def _items(session: Session, secret: str | None, body: object) -> Response:
    who, study = assignments.asked_by(session, secret, text_of(body, "assignment"))
    return Response(own_items(session, study, who).model_dump_json(), media_type="application/json")


def _asked(session: Session, secret: str | None, body: object) -> tuple[Who, Study]:
    """The sender, whose membership is locked, and the study. Someone who is signed out gets that message first,
    whatever they sent.
    """
    try:
        return assignments.asked_by(session, secret, text_of(_action(body), "assignment"), to_change=True)
    except InvalidAnnotation:
        logins.signed_in(session, secret)
        raise


def _action(body: object) -> Any:
    return body.get("action") if isinstance(body, dict) else None


def text_of(message: object, name: str) -> str:
    """A required text of the message. Raises InvalidAnnotation."""
    text = message.get(name) if isinstance(message, dict) else None
    if not isinstance(text, str) or not text.isascii() or "\0" in text:
        raise InvalidAnnotation(f"The message has no {name}.")
    return text


def _answer(current: Desk, *, with_rubric: bool = False) -> Response:
    if current.view is None:
        return JSONResponse({"nothing": current.nothing})
    view = current.view.model_dump_json(exclude=None if with_rubric else {"rubric"})
    return Response(f'{{"showing": {json.dumps(current.showing)}, "view": {view}}}', media_type="application/json")


SESSION_ROUTES = [
    Route("/auth/ticket", partial(in_place, use_ticket), methods=["POST"]),
    Route("/auth/sign-out", partial(in_place, sign_out), methods=["POST"]),
]
WORK_ROUTES = [
    Route("/desk/draft", partial(command, _next_draft), methods=["POST"]),
    Route("/desk/renew", partial(command, partial(in_transaction, _renew, as_refusal)), methods=["POST"]),
    Route("/desk/items", partial(command, partial(in_transaction, _items, as_refusal, to=reading)), methods=["POST"]),
    Route("/desk/act", partial(command, partial(in_transaction, _act, _refused_desk)), methods=["POST"]),
]

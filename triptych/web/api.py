"""The routes for scripts: the calls of `scripting/calls` over HTTP, each authorised by its token alone.

The token is checked before a body is read. Slow reads come first; the writes follow in a separate transaction, which
also stores the reply if the request has an idempotency key. A repeated request then acts only once.
"""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache, partial
from typing import cast
from urllib.parse import unquote

from pydantic import BaseModel, ValidationError
from sqlalchemy import delete, select
from sqlmodel import Session
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from triptych import clock
from triptych.errors import Conflict, ImportRefused, SignedOut, TriptychError
from triptych.people import passcodes, tokens
from triptych.scripting import asking, home, openapi
from triptych.scripting.address import BASE, KEY, LEAD
from triptych.scripting.asking import Asker
from triptych.scripting.calls import CALLS, Call
from triptych.scripting.messages import OfStudy, PersonalLink, PersonalLinks, Zip, what_does_not_fit
from triptych.scripting.refusals import word_and_status
from triptych.storage.database import reading, wait_for_others, writing
from triptych.storage.models import StoredAnswer
from triptych.storage.unavailable import DatabaseUnavailable
from triptych.web import budgets
from triptych.web.session import key_of_address, web_engine
from triptych.web.work import MAX_PARTS, in_thread, parsed_json, refused, turn_of, unread

MAX_KEY_CHARACTERS = 200
ANSWERS_LIVE = timedelta(days=1)
NO_TOKEN = "Send a token as Authorization: Bearer …; leads create tokens on the page Account."  # noqa: S105 (a message)
BAD_TOKEN = "This token is unknown, revoked or expired. Create another one on the page Account."  # noqa: S105 (a message)
NO_STORE = {"Cache-Control": "no-store"}
# only two, so that demanding scripts leave the processor to annotators
_threads = ThreadPoolExecutor(2, thread_name_prefix="scripts")


@dataclass(frozen=True)
class Proof:
    """What authenticates a request: the secret of a token, or, with the data folder's key, "" and the lead's name."""

    secret: str
    lead: str = ""

    @property
    def account(self) -> str:
        return f"token {passcodes.secret_hash(self.secret)}" if self.secret else "home"


def proof_in(request: Request) -> Proof | None:
    """The proof in a request; None if there is none. Raises SignedOut for text that is no token, without a query."""
    kind, _, text = request.headers.get("authorization", "").partition(" ")
    if kind.casefold() != "bearer":
        return None
    if home.is_key(text):
        return Proof("", unquote(request.headers.get(LEAD, "")))
    secret = tokens.secret_of(text.strip())
    if secret is None:
        raise SignedOut(BAD_TOKEN)
    return Proof(secret)


async def answer(call: Call, request: Request) -> Response:
    """The response to one call."""
    try:
        proof = proof_in(request)
        if proof is None:
            raise SignedOut(NO_TOKEN)
    except SignedOut as error:
        # counted for the address alone, so that guessing does not use up the budget of a token's owner
        wait = budgets.spending("requests").take(key_of_address(request))
        return _too_much(wait) if wait else _refusal(error)
    length = int(request.headers.get("content-length") or 0)
    wait = budgets.spending("requests").take(proof.account)
    if wait:
        return _too_much(wait)
    try:
        lead = await in_thread(_threads, _identified, call, proof)
        if wait := budgets.spending("body_bytes").take(budgets.key_of_person(lead), length):
            return _too_much(wait)
        if length > call.most_bytes:
            return unread(refused(413, "too_long", f"Such a request has at most {call.most_bytes // 2**20} MB."))
        body = await request.body()
        async with turn_of(lead):
            return await in_thread(_threads, _answered, call, proof, request, body)
    except DatabaseUnavailable:
        raise  # the script retries
    except TriptychError as error:
        return _refusal(error)


def _refusal(error: TriptychError) -> JSONResponse:
    word, status = word_and_status(error)
    refusal = unread(refused(status, word, str(error)), NO_STORE)
    if status == 401:
        refusal.headers["WWW-Authenticate"] = "Bearer"
    return refusal


def _too_much(wait: float) -> JSONResponse:
    headers = {**NO_STORE, "Retry-After": str(budgets.seconds(wait))}
    return unread(refused(429, "budget", budgets.later(wait)), headers)


def _asker(session: Session, call: Call, proof: Proof) -> Asker:
    """The token's owner. Raises SignedOut, NotFound, and NotAllowed if the token's scope does not cover the call."""
    if not proof.secret:
        asker = asking.of_home(session, proof.lead)
    else:
        bearer = tokens.bearer(session, proof.secret)
        if bearer is None:
            raise SignedOut(BAD_TOKEN)
        asker = Asker(bearer.who, bearer.scopes, bearer)
    asking.refuse_without(asker, call.scope)
    return asker


def _identified(call: Call, proof: Proof) -> int:
    """The lead who calls, authenticated before a body is read; records the use of the token."""
    with reading(web_engine()) as session:
        asker = _asker(session, call, proof)
    if asker.bearer and tokens.is_to_be_noted(asker.bearer):
        with writing(web_engine()) as session:
            tokens.note_use(session, asker.bearer)
    return asker.who.person_id


def _answered(call: Call, proof: Proof, request: Request, content: bytes) -> Response:
    message = _message(call, request, content)
    key = request.headers.get(KEY, "") if call.write and call.method != "GET" else ""
    if len(key) > MAX_KEY_CHARACTERS or not (key.isascii() and key.isprintable()):
        raise ImportRefused(f"{KEY} is a text of at most {MAX_KEY_CHARACTERS} ASCII characters.")
    if key:
        key = f"{proof.account} {key}"  # two tokens may use the same key
    digest = hashlib.sha256(b"\0".join([call.name.encode(), str(request.url.path).encode(), content])).hexdigest()
    result = _run(call, proof, message, key, digest)
    if isinstance(result, Zip):
        return Response(result.content, media_type="application/zip", headers=NO_STORE)
    body = result if isinstance(result, dict) else result.model_dump(mode="json")
    return JSONResponse(body, headers=NO_STORE)


def _message(call: Call, request: Request, content: bytes) -> BaseModel:
    """The validated request. Raises ImportRefused naming the invalid fields."""
    fields: dict[str, object] = dict(request.query_params)
    if call.method != "GET":
        try:
            body = parsed_json(content or b"{}")
        except (ValueError, RecursionError) as error:
            raise ImportRefused(f"The body is not JSON with at most {MAX_PARTS:,} lists, objects and keys.") from error
        if not isinstance(body, dict) or fields:
            raise ImportRefused("The body must be a JSON object, and the query must be empty.")
        fields = body
    if fields.keys() & request.path_params.keys():
        raise ImportRefused("Do not repeat fields of the address in the body.")
    try:
        return call.request.model_validate(fields | request.path_params)
    except ValidationError as error:
        raise ImportRefused(what_does_not_fit(error)) from error


def _run(call: Call, proof: Proof, message: BaseModel, key: str, digest: str) -> BaseModel | dict[str, object]:
    """The result of the call, or the stored reply to the same request."""
    with reading(web_engine()) as session:
        asker = _asker(session, call, proof)
        before = _answer_before(session, asker, message, key, digest)
    if before is not None:
        return before
    seen = None
    if call.read:
        with reading(web_engine()) as session:
            seen = call.read(session, asker, message)
    if call.write is None:
        return cast(BaseModel, seen)
    with writing(web_engine()) as session:
        if key:
            wait_for_others(session, f"requests with {KEY} {key}")
        # checked again: meanwhile the request may have been answered or the token revoked
        asker = _asker(session, call, proof)
        before = _answer_before(session, asker, message, key, digest)
        if before is not None:
            return before
        result = call.write(session, asker, message, seen)
        if key:
            _store(session, asker, key, digest, result)
        return result


def _answer_before(
    session: Session, asker: Asker, message: BaseModel, key: str, digest: str
) -> dict[str, object] | None:
    """The stored reply to the same request; None for a new one. Raises Conflict if another request used this key."""
    if not key:
        return None
    if isinstance(message, OfStudy):
        asking.study_of(session, asker, message.study)  # they may have lost access to it since
    own = (StoredAnswer.person_id == asker.who.person_id) & (StoredAnswer.key == key)
    stored = session.scalars(select(StoredAnswer).where(own)).first()
    if stored is None:
        return None
    if stored.request_hash != digest:
        raise Conflict(f"This {KEY} was sent with another request. Use a different key for each request.")
    return stored.answer


def _store(session: Session, asker: Asker, key: str, digest: str, result: BaseModel) -> None:
    """Store the reply for a day, without the secrets of personal links."""
    if isinstance(result, PersonalLinks):
        result = PersonalLinks(people=[PersonalLink(pseudonym=link.pseudonym, link=None) for link in result.people])
    session.execute(delete(StoredAnswer).where(StoredAnswer.stored_at < clock.now() - ANSWERS_LIVE))
    session.add(
        StoredAnswer(
            person_id=asker.who.person_id,
            key=key,
            request_hash=digest,
            answer=result.model_dump(mode="json"),
            stored_at=clock.now(),
        )
    )
    session.flush()


@lru_cache(maxsize=1)
def _document() -> bytes:
    return json.dumps(openapi.document(), ensure_ascii=False).encode()


def _openapi(_: Request) -> Response:
    return Response(_document(), media_type="application/json")


API_ROUTES = [
    Route(f"{BASE}/openapi.json", _openapi, methods=["GET"]),
    *(Route(f"{BASE}{call.path}", partial(answer, call), methods=[call.method]) for call in CALLS),
]

"""The route of the rubric form: stores each input at once and returns the parsed rubric or its mistakes."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from sqlmodel import Session
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from triptych.errors import InvalidAnnotation, NotAllowed, SignedOut, TriptychError
from triptych.people import logins
from triptych.preview import rubric_form
from triptych.rubric.files import read_sheet, rewritten
from triptych.storage.database import reading
from triptych.storage.models import Study
from triptych.storage.unavailable import DatabaseUnavailable
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.web.session import stored_name, web_engine
from triptych.web.work import as_refusal, command, in_transaction, refused, text_of

# separate threads, so that annotators do not wait for rubrics, which may take a second each
_threads = ThreadPoolExecutor(2, thread_name_prefix="rubrics")


def _rubric(secret: str | None, body: Any) -> Response:
    """Parse a lead's text before the transaction, which blocks all other writers.

    Its sender is checked before, since the text of anybody else may not take that time, and again in the transaction,
    since the lead may have been removed meanwhile.
    """
    try:
        with reading(web_engine()) as session:
            who, _ = _asked(session, secret, body)
            text = _text(session, who, body)
        text = _in_form(text, body)
    except DatabaseUnavailable:
        raise  # otherwise a change would be answered like a mere view
    except SignedOut as error:
        return refused(401, "signed_out", str(error))
    except TriptychError as error:
        return as_refusal(error, secret, body)
    if text is not None:
        read_sheet(text)  # caches the result
    return in_transaction(partial(_stored, text), as_refusal, secret, body)


def _stored(text: str | None, session: Session, secret: str | None, body: object) -> JSONResponse:
    who, study = _asked(session, secret, body)
    if text is None:
        return JSONResponse(rubric_form.look(session, study))
    return JSONResponse(rubric_form.change(session, study, text_of(body, "base"), text, who.pseudonym))


def _asked(session: Session, secret: str | None, body: object) -> tuple[Who, Study]:
    who = logins.signed_in(session, secret)
    study = lifecycle.led_by(session, who, text_of(body, "study"))
    if text_of(body, "form") != stored_name(who.pseudonym, study.slug):
        raise NotAllowed("This form belongs to another person, who is signed out in this browser. Open the page again.")
    return who, study


def _text(session: Session, who: Who, body: dict[str, Any]) -> str | None:
    """The text to store: typed, or of another rubric; None if the request only views the rubric."""
    if body.get("start") is not None:
        return rubric_form.source_text(session, who, text_of(body, "start"))
    text = body.get("text")
    if not isinstance(text, str | None):
        raise InvalidAnnotation("The message contains no rubric.")
    return None if text is None else _sound(text)


def _in_form(text: str | None, body: dict[str, Any]) -> str | None:
    """The text, changed to the values of the form if the message has any."""
    value = body.get("value")
    if text is None or value is None or body.get("start") is not None:
        return text
    if not isinstance(value, dict):
        raise InvalidAnnotation("The message contains no rubric.")
    try:
        return rewritten(text, _sound(value))
    except RecursionError as error:
        raise InvalidAnnotation("The rubric is nested too deeply.") from error


def _sound(part: object) -> Any:
    """The value without lone surrogates, which JSON can contain and UTF-8 cannot."""
    return json.loads(json.dumps(part, ensure_ascii=False).encode("utf-8", "replace"))


RUBRIC_ROUTES = [Route("/lead/rubric", partial(command, _rubric, threads=_threads), methods=["POST"])]

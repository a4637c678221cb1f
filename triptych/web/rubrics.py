"""The route of the rubric form: input is stored at once; the response has the parsed rubric or its mistakes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from sqlmodel import Session
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from triptych.errors import InvalidAnnotation, SignedOut, TriptychError
from triptych.people import accounts
from triptych.preview import rubric_form
from triptych.rubric.files import read_sheet, rewritten
from triptych.storage.database import DatabaseUnavailable, reading
from triptych.storage.models import Study
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.web.session import web_engine
from triptych.web.work import as_refusal, command, in_transaction, refused, text_of

# of its own: annotators do not wait for rubrics, which may take a second each
_threads = ThreadPoolExecutor(2, thread_name_prefix="rubrics")


def _rubric(secret: str | None, body: Any) -> Response:
    """A text of a lead is parsed before the transaction, during which nobody else can write; so its sender is looked up
    before, as nobody else's text may take that time, and again in the transaction, as they may have been removed.
    """
    try:
        with reading(web_engine()) as session:
            who, _ = _asked(session, secret, body)
            text = _text(session, who, body)
        text = _in_form(text, body)
    except DatabaseUnavailable:
        raise  # a change must not become a mere look
    except SignedOut as error:
        return refused(401, "signed_out", str(error))
    except TriptychError as error:
        return as_refusal(error, secret, body)
    if text is not None:
        read_sheet(text)  # which remembers it
    return in_transaction(partial(_stored, text), as_refusal, secret, body)


def _stored(text: str | None, session: Session, secret: str | None, body: Any) -> JSONResponse:
    who, study = _asked(session, secret, body)
    if text is None:
        return JSONResponse(rubric_form.look(session, study))
    return JSONResponse(rubric_form.change(session, study, text_of(body, "base"), text, who.pseudonym))


def _asked(session: Session, secret: str | None, body: Any) -> tuple[Who, Study]:
    who = accounts.signed_in(session, secret)
    return who, lifecycle.led_by(session, who, text_of(body, "study"))


def _text(session: Session, who: Who, body: dict[str, Any]) -> str | None:
    """The text that is asked for: typed, or of another rubric; None to look only."""
    if body.get("start") is not None:
        return rubric_form.source_text(session, who, text_of(body, "start"))
    text = body.get("text")
    if not isinstance(text, str | None):
        raise InvalidAnnotation("The message contains no rubric.")
    return None if text is None else _sound(text)


def _in_form(text: str | None, body: dict[str, Any]) -> str | None:
    """The text with the values of the form, where the message has some."""
    value = body.get("value")
    if text is None or value is None or body.get("start") is not None:
        return text
    if not isinstance(value, dict):
        raise InvalidAnnotation("The message contains no rubric.")
    try:
        return rewritten(text, _sound(value))
    except RecursionError as error:
        raise InvalidAnnotation("The rubric is nested too deeply.") from error


def _sound(part: Any) -> Any:
    """Without halves of characters, which JSON can hold and UTF-8 cannot."""
    if isinstance(part, dict):
        return {_sound(key): _sound(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_sound(value) for value in part]
    return part.encode("utf-8", "replace").decode() if isinstance(part, str) else part


RUBRIC_ROUTES = [Route("/lead/rubric", partial(command, _rubric, threads=_threads), methods=["POST"])]

"""The route of the rubric form: input is stored at once; the response has the parsed rubric or its mistakes."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlmodel import Session
from starlette.responses import JSONResponse
from starlette.routing import Route

from triptych.errors import InvalidAnnotation
from triptych.people import accounts
from triptych.preview import rubric_form
from triptych.rubric.files import rewritten
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.web.work import as_refusal, command, in_transaction, text_of


def _rubric(session: Session, secret: str | None, body: Any) -> JSONResponse:
    who = accounts.signed_in(session, secret)
    study = lifecycle.led_by(session, who, text_of(body, "study"))
    text = _text(session, who, body)
    if text is None:
        return JSONResponse(rubric_form.look(session, study))
    return JSONResponse(rubric_form.change(session, study, text_of(body, "base"), text, who.pseudonym))


def _text(session: Session, who: Who, body: dict[str, Any]) -> str | None:
    """The text that is asked for: typed, of another rubric, or with the values of the form; None to look only."""
    text, value = body.get("text"), body.get("value")
    if body.get("start") is not None:
        return rubric_form.source_text(session, who, text_of(body, "start"))
    if text is None:
        return None
    if not isinstance(text, str) or not isinstance(value, dict | None):
        raise InvalidAnnotation("The message contains no rubric.")
    text = _sound(text)
    return text if value is None else rewritten(text, _sound(value))


def _sound(part: Any) -> Any:
    """Without halves of characters, which JSON can hold and UTF-8 cannot."""
    if isinstance(part, dict):
        return {_sound(key): _sound(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_sound(value) for value in part]
    return part.encode("utf-8", "replace").decode() if isinstance(part, str) else part


RUBRIC_ROUTES = [
    Route("/lead/rubric", partial(command, partial(in_transaction, _rubric, as_refusal)), methods=["POST"])
]

"""Everything stored about one person as a file: for that person, and for the leads of a study in which they annotate.

Streamlit's own download button serves bytes at an address that needs no sign-in; these routes check who sends the
request.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial

from sqlmodel import Session
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from triptych.errors import NotFound
from triptych.languages.language import _
from triptych.privacy import personal_data, withdrawal
from triptych.storage.database import reading
from triptych.storage.models import Role
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.web import budgets
from triptych.web.export import NO_STORE, NOBODY, Download, in_turn, refusal
from triptych.web.session import current_login, identity_in, key_of_address, web_engine

FORMS = {
    "json": ("application/json", personal_data.as_json),
    "csv": ("text/csv; charset=utf-8", personal_data.as_csv),
}
HIDDEN_IDENTITY = "stored; shown only if you come by single sign-on"
DataOf = tuple[str, Callable[[Session], dict[str, object]]]  # a pseudonym, and what reads the person's data
FindData = Callable[[Session, Who, Request], DataOf]


def _about_me(_session: Session, who: Who, request: Request) -> DataOf:
    """Everything about the person who is signed in.

    Their identity is named only to a visitor who comes with it: a lead can open a personal link made for somebody else.
    """
    came_with = identity_in(request.headers)

    def read(session: Session) -> dict[str, object]:
        about = personal_data.about(session, who.person_id)
        return about if about["identity"] in (None, came_with) else about | {"identity": HIDDEN_IDENTITY}

    return who.pseudonym, read


def _about_member(session: Session, who: Who, request: Request) -> DataOf:
    """What one study stores about one of its annotators, for its leads. Raises NotFound."""
    study, pseudonym = lifecycle.led_by(session, who, request.path_params["slug"]), request.path_params["pseudonym"]
    withdrawal.annotator(session, study, pseudonym)
    return pseudonym, lambda later: personal_data.of_member(later, study, pseudonym)


def _answer(find: FindData, request: Request) -> Response:
    """401 without sign-in, 403 for annotators who request others' data, 404 for people outside this lead's studies.

    429 for an account with too many requests.
    """
    who = current_login(request)
    if who is None:
        return refusal(401, _(NOBODY))
    if who.role == Role.viewer:
        return refusal(403, "A viewer can see only the results of a study.")
    if find is _about_member and who.role != Role.lead:
        return refusal(403, "Your own data are on the page My data.")
    wait = budgets.spending("personal_data").take(budgets.key_of_person(who.person_id))
    if wait:
        return refusal(429, budgets.later(wait), {**NO_STORE, "Retry-After": str(budgets.seconds(wait))})
    form = request.path_params["form"]
    if form not in FORMS:
        return refusal(404, f"There is no such file; there are {', '.join(FORMS)}.")
    media_type, write = FORMS[form]
    try:
        with reading(web_engine()) as session:
            pseudonym, read = find(session, who, request)
    except NotFound as error:
        return refusal(404, str(error))

    def pieces() -> Generator[bytes, None, None]:
        with reading(web_engine()) as session:
            for piece in write(read(session)):
                session.commit()  # so that no connection is held while the browser reads
                yield piece

    headers = {"Content-Disposition": f'attachment; filename="{pseudonym}.{form}"'}
    # in an open study, all annotators at an address may be one stranger
    holder = key_of_address(request) if who.role == Role.annotator else ""
    return Download(who, pieces(), media_type, headers, holder)


PERSONAL_ROUTES = [
    Route("/my-data.{form}", partial(in_turn, partial(_answer, _about_me)), methods=["GET"]),
    Route("/people/{slug}/{pseudonym}.{form}", partial(in_turn, partial(_answer, _about_member)), methods=["GET"]),
]

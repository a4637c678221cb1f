"""The long CSV files of a study, streamed to its lead and to nobody else.

Streamlit's own download button serves bytes under an address that needs no sign-in; these routes ask who is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlmodel import Session
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from triptych import studies
from triptych.database import reading
from triptych.errors import NotFound
from triptych.formats.long_csv import Cell, write_csv
from triptych.formats.ratings_csv import HIGHLIGHTS_HEADER, RATINGS_HEADER
from triptych.models import Role, Study
from triptych.people import Who
from triptych.web.session import current_login, web_engine

BLOCK = 2**16
NO_STORE = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
Rows = Callable[[Session, Study], Iterator[Sequence[Cell]]]


def _ratings(session: Session, study: Study) -> Iterator[Sequence[Cell]]:
    from triptych import results  # here, because pandas would slow the start down

    return results.export_ratings(session, study)


def _highlights(session: Session, study: Study) -> Iterator[Sequence[Cell]]:
    from triptych import results

    return results.export_highlights(session, study)


FILES: dict[str, tuple[Sequence[str], Rows]] = {
    "ratings": (RATINGS_HEADER, _ratings),
    "highlights": (HIGHLIGHTS_HEADER, _highlights),
}


async def export(request: Request) -> Response:
    return await run_in_threadpool(_answer, request)


def _answer(request: Request) -> Response:
    """401 for strangers, 403 for annotators, 404 for what this lead does not lead."""
    who = current_login(request)
    slug, name = request.path_params["slug"], request.path_params["name"]
    if who is None:
        return _refusal(401, "Sign in first.")
    if who.role != Role.lead:
        return _refusal(403, "Only a lead may take data away.")
    if name not in FILES:
        return _refusal(404, f"There is no such file; there are {', '.join(FILES)}.")
    try:
        with reading(web_engine()) as session:
            studies.led_by(session, who, slug)
    except NotFound as error:
        return _refusal(404, str(error))
    headers = {**NO_STORE, "Content-Disposition": f'attachment; filename="{slug}-{name}.csv"'}
    return StreamingResponse(_blocks(who, slug, name), media_type="text/csv; charset=utf-8", headers=headers)


def _refusal(status: int, message: str) -> PlainTextResponse:
    return PlainTextResponse(message, status_code=status, headers=NO_STORE)


def _blocks(who: Who, slug: str, name: str) -> Iterator[bytes]:
    """The file in pieces of some 64 kB, so that neither the server nor the network sees single lines."""
    header, rows_of = FILES[name]
    with reading(web_engine()) as session:
        lines, size = [], 0
        for line in write_csv(rows_of(session, studies.led_by(session, who, slug)), header):
            lines.append(line)
            size += len(line)
            if size > BLOCK:
                yield "".join(lines).encode()
                lines, size = [], 0
        yield "".join(lines).encode()


EXPORT_ROUTES = [Route("/export/{slug}/{name}.csv", export, methods=["GET"])]

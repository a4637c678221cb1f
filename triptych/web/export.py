"""Streams a study's data to its leads only: the long CSV files, and other formats and reports as zips. Viewers may also
read a report's page.

Streamlit's own download button serves bytes at an address that needs no sign-in; these routes check who sends the
request. Modules that write files are imported on the first request: pandas alone would double the start time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from sqlmodel import Session
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from triptych.errors import NotAllowed, NotFound, TriptychError
from triptych.languages.language import _, message
from triptych.storage.database import reading, see_one_state
from triptych.storage.models import Role, Study
from triptych.storage.unavailable import DatabaseUnavailable
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.web import budgets
from triptych.web.headers import ancestors
from triptych.web.session import cookie_in, current_login, is_https, key_of_address, login_secret, web_engine
from triptych.web.work import ANSWER_SECONDS, turn_of, until

if TYPE_CHECKING:  # it imports the writers of all formats, which annotators do not need
    from triptych.formats.writers.model import ExportOptions

NO_STORE = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
# a report contains no script, and nothing in it may reach the app outside its frame
READ_ONLY = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
Blocks = Callable[[Session, Study], Iterator[bytes]]
WORKBOOK_NUMBER = re.compile("[0-9]{1,9}")
AGAIN_SECONDS = 5.0
NOBODY = message("Sign in first, and open this file from a page of the app.")
ALL = ("all_downloads", "")
_under_way: Counter[tuple[str, str]] = Counter()  # number of downloads by budget and holder


class Download(StreamingResponse):
    """A file: a function that builds it, or pieces that are written while they are sent.

    Only a few are built and sent at a time, and more get 429: for one person (or `holder`), since files wait in memory,
    and for everybody together, where pieces hold a database connection until the client has read them (`connected`). So
    that a few slow readers do not hold all places, the next download of a person with n of them needs more than n free
    places.
    """

    def __init__(
        self,
        who: Who,
        content: Callable[[], bytes] | Generator[bytes, None, None],
        kind: str,
        headers: Mapping[str, str],
        holder: str = "",
        *,
        connected: bool = False,
    ) -> None:
        super().__init__(iter(()), media_type=kind, headers={**NO_STORE, **headers})
        self.own = ("downloads", holder or budgets.key_of_person(who.person_id))
        self.counts = [self.own, ALL] if connected else [self.own]
        self.pieces = content if isinstance(content, Generator) else (build() for build in [content])
        self.body_iterator = iterate_in_threadpool(self.pieces)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._has_place():
            headers = {**NO_STORE, "Retry-After": str(budgets.seconds(AGAIN_SECONDS))}
            sentence = _("Other downloads are under way. Try again when one of them is finished.")
            return await refusal(429, sentence, headers)(scope, receive, send)
        _under_way.update(self.counts)
        try:
            await super().__call__(scope, receive, send)
        finally:
            _under_way.subtract(self.counts)
            await run_in_threadpool(self.pieces.close)  # the browser may have disconnected

    def _has_place(self) -> bool:
        limits, own = budgets.all_budgets(), _under_way[self.own]
        among_all = ALL not in self.counts or _under_way[ALL] + own < limits["all_downloads"].at_once
        return own < limits["downloads"].at_once and among_all


def _answer(prepare: Callable[[Request, Session, Study], tuple[str, str, Blocks]], request: Request) -> Response:
    """401 without sign-in, 403 for annotators, 404 outside this lead's studies, 400 for invalid options, 429 for too
    many downloads at a time.
    """
    who = current_login(request)
    if who is None:
        return refusal(401, NOBODY)
    if who.role != Role.lead:
        return refusal(403, "Only a lead may export data.")
    slug, request.state.who = request.path_params["slug"], who
    try:
        with reading(web_engine()) as session:
            name, kind, blocks = prepare(request, session, lifecycle.led_by(session, who, slug))
    except DatabaseUnavailable:
        raise  # 503
    except TriptychError as error:
        return refusal(404 if isinstance(error, NotFound) else 400, str(error))
    headers = {"Content-Disposition": f'attachment; filename="{slug}-{name}"'}
    return Download(who, _read(who, slug, blocks), kind, headers, connected=True)


async def in_turn(answer: Callable[[Request], Response], request: Request) -> Response:
    """The answer to a request for a file. Those of one login are prepared one after another, as they would otherwise
    hold all threads that open everybody's pages; the next one waits no longer than a message. Raises DatabaseBusy.
    """
    login = login_secret(cookie_in(request.cookies, is_https(request)))
    async with until(monotonic() + ANSWER_SECONDS), turn_of(f"files of {login or key_of_address(request)}"):
        return await run_in_threadpool(answer, request)


def refusal(status: int, message: str, headers: Mapping[str, str] = NO_STORE) -> PlainTextResponse:
    return PlainTextResponse(message, status_code=status, headers=headers)


def _read(who: Who, slug: str, blocks: Blocks) -> Generator[bytes, None, None]:
    """The bytes, all from one state of the database."""
    with reading(web_engine()) as session:
        see_one_state(session)
        yield from blocks(session, lifecycle.led_by(session, who, slug))


def _csv(request: Request, session: Session, study: Study) -> tuple[str, str, Blocks]:
    """One CSV file."""
    from triptych.exchange.csv_files import CSV_FILES, csv_file

    name = request.path_params["name"]
    if name not in CSV_FILES:
        raise NotFound(f"There is no such file; there are {', '.join(CSV_FILES)}.")
    return f"{name}.csv", "text/csv; charset=utf-8", partial(csv_file, name=name)


def _zip(request: Request, session: Session, study: Study) -> tuple[str, str, Blocks]:
    """One format as a zip; `?margin=0.5&criterion=fluency` for formats with these options."""
    from triptych.exchange import exports, underway

    name, options, who = request.path_params["name"], _options(request), request.state.who
    exports.check_request(session, study, name, options)

    def blocks(session: Session, study: Study) -> Iterator[bytes]:
        return exports.export_zip(session, study, name, options, underway.begin(who.person_id, study.slug))

    return f"{name}.zip", "application/zip", blocks


def _report(request: Request, session: Session, study: Study) -> tuple[str, str, Blocks]:
    """The study's newest report, or the one named by `?snapshot=<hash>`, as it was stored."""
    from triptych.reports import snapshot

    sha256 = request.query_params.get("snapshot") or snapshot.newest(session, study)

    def blocks(session: Session, study: Study) -> Iterator[bytes]:
        yield snapshot.file_of(session, study, sha256)

    return f"report-{snapshot.known_hash(session, study, sha256)[:12]}.zip", "application/zip", blocks


def _page(request: Request) -> Response:
    """The page of a report: for the study's leads, and for its viewers with as much as they may read."""
    from triptych.participants.watching import watched
    from triptych.reports import snapshot

    who, slug = current_login(request), request.path_params["slug"]
    if who is None:
        return refusal(401, NOBODY)
    if who.role == Role.annotator:
        return refusal(403, "Only leads and viewers may read reports.")
    sha256 = request.path_params["sha256"]
    try:
        with reading(web_engine()) as session:
            if who.role == Role.lead:
                page = snapshot.page_of(session, lifecycle.led_by(session, who, slug), sha256)
            elif (study := lifecycle.seen_by(session, who)).slug == slug:
                page, seen = snapshot.page_of(session, study, sha256), watched(session, study)
                page = seen.sentence(page if seen.explained else snapshot.without_reasons(page))
            else:
                raise NotFound("There is no study that you can see at this address.")
    except NotFound as error:
        return refusal(404, str(error))
    policy = {"Content-Security-Policy": f"{READ_ONLY}; {ancestors()}"}
    return Download(who, page.encode, "text/html; charset=utf-8", policy)


def _workbook(request: Request, session: Session, study: Study) -> tuple[str, str, Blocks]:
    """The workbook for one annotator."""
    from triptych.annotate import workbooks

    written = request.path_params["number"]
    if not WORKBOOK_NUMBER.fullmatch(written):  # checked here, since Python refuses to convert thousands of digits
        raise NotFound("There is no such workbook in this study.")
    number = int(written)

    def blocks(session: Session, study: Study) -> Iterator[bytes]:
        yield workbooks.file_of(session, study, number)

    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    return workbooks.file_name(session, study, number), kind, blocks


def _capsule(_: Request, session: Session, study: Study) -> tuple[str, str, Blocks]:
    """The whole study as a capsule, once leads may see its systems."""
    from triptych.operations import capsule

    capsule.check_request(study)
    return "capsule.zip", "application/zip", lambda _, study: capsule.pieces(web_engine(), study.slug)


def _options(request: Request) -> ExportOptions:
    """The options in the query. Raises NotAllowed for a margin that is not a number."""
    from triptych.formats.writers.model import ExportOptions

    query = request.query_params
    try:
        return ExportOptions(float(query.get("margin", 0)), query.get("criterion") or None)
    except ValueError as error:
        raise NotAllowed("The margin is a number of 0 or more, in units of the scale.") from error


FILES: dict[str, Callable[[Request], Response]] = {
    "/export/{slug}/{name}.csv": partial(_answer, _csv),
    "/export/{slug}/{name}.zip": partial(_answer, _zip),
    "/workbook/{slug}/{number}.xlsx": partial(_answer, _workbook),
    "/capsule/{slug}.zip": partial(_answer, _capsule),
    "/report/{slug}.zip": partial(_answer, _report),
    "/report/{slug}/{sha256}.html": _page,
}
EXPORT_ROUTES = [Route(path, partial(in_turn, answer), methods=["GET"]) for path, answer in FILES.items()]

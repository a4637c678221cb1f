"""Every call available to scripts: name, address, request fields, and the functions of lower rooms that implement it.

HTTP and the data folder share this table; `web/api` turns it into routes, `openapi` into the document.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection
from dataclasses import dataclass
from inspect import getdoc
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from sqlmodel import Session, select

from triptych import settings
from triptych.errors import Conflict, ImportRefused, NotAllowed
from triptych.formats import read_items
from triptych.formats.model import ItemFile, ReadOptions
from triptych.people import invitations, signing_in
from triptych.people.tokens import Scope
from triptych.rubric.files import parse_rubric, shipped_rubrics
from triptych.scripting import tables
from triptych.scripting.asking import Asker, studies_of, study_of
from triptych.scripting.messages import (
    GUEST_COLUMNS,
    Asking,
    CreatedStudy,
    DryRunNumbers,
    DryRunRequest,
    Guests,
    Judged,
    NewState,
    NewStudy,
    NoFields,
    OfReport,
    OfStudy,
    PersonalLink,
    PersonalLinks,
    Pseudonyms,
    ReportFacts,
    Reports,
    Results,
    Scores,
    Studies,
    StudiesPage,
    StudyFacts,
    TablePage,
    TableRows,
    Zip,
)
from triptych.storage.database import see_one_state
from triptych.storage.models import Membership, Person, Study, StudyState
from triptych.study import launch, lifecycle, saved_setting
from triptych.study.lifecycle import StudyLine
from triptych.study.lint.misfits import misfits

if TYPE_CHECKING:  # pandas and SciPy, which annotators need not wait for
    from triptych.exchange.judge_scores import Checked
    from triptych.reports.build import Report
    from triptych.stats.analysis.collection import Collected

MB = 2**20


@dataclass(frozen=True)
class Call:
    """One call. `path` is relative to the address of this version, with fields of the request in braces.

    `read` runs in a read-only session, so that slow work does not block writers. `write` then runs in a transaction and
    receives the result of `read`. Either may be missing; the last one returns the answer, and its docstring is the
    summary in the OpenAPI document. `most_bytes` limits the body: parsing a long one blocks everybody, so only calls
    with a file allow more than the default.
    """

    name: str
    method: str
    path: str
    scope: Scope
    request: type[BaseModel]
    answer: type[BaseModel]
    read: Callable[[Session, Asker, Any], Any] | None = None
    write: Callable[[Session, Asker, Any, Any], BaseModel] | None = None
    most_bytes: int = MB

    @property
    def summary(self) -> str:
        return getdoc(self.write or self.read) or ""


# Reading


def _asking(session: Session, asker: Asker, _: NoFields) -> Asking:
    """The owner of the token, and its scopes."""
    own = studies_of(session, asker) if asker.study_id is not None else []
    return Asking(
        lead=asker.who.pseudonym,
        scopes=sorted(asker.scopes),
        study=own[0].slug if own else None,
        expires_at=asker.bearer.expires_at if asker.bearer else None,
        version=settings.version(),
    )


def _facts(line: StudyLine) -> dict[str, object]:
    study = line.study
    return {
        "study": study.slug,
        "title": study.title,
        "state": study.state,
        "round": study.round,
        "access": study.access,
        "items": line.items,
        "annotators": line.annotators,
        "done": line.done,
        "expected": line.expected,
        "blind": study.unblinded_at is None,
        "demo": study.demo,
    }


def _facts_of(session: Session, study: Study) -> StudyFacts:
    return StudyFacts(**_facts(lifecycle.line_of(session, study)))


def _list_studies(session: Session, asker: Asker, page: StudiesPage) -> Studies:
    """The lead's studies, newest first."""
    lines = [line for line in lifecycle.lines_for_lead(session, asker.who) if asker.study_id in (None, line.study.id)]
    slugs = [line.study.slug for line in lines]
    begin = slugs.index(page.after) + 1 if page.after in slugs else 0
    shown = lines[begin : begin + page.limit]
    has_more = begin + page.limit < len(lines)
    return Studies(
        studies=[StudyFacts(**_facts(line)) for line in shown], next=shown[-1].study.slug if has_more else None
    )


def _study(session: Session, asker: Asker, request: OfStudy) -> StudyFacts:
    """One study."""
    return _facts_of(session, study_of(session, asker, request.study))


def _read_results(session: Session, asker: Asker, request: OfStudy) -> tuple[Results, Collected | None]:
    from triptych.scripting import numbers  # pandas and SciPy, which annotators need not wait for

    see_one_state(session)
    study = study_of(session, asker, request.study)
    collected = numbers.collected(session, study)  # first: other readers may bring the frame up to date meanwhile
    return numbers.read(session, study), collected


def _results(session: Session, asker: Asker, request: OfStudy, reading: tuple[Results, Collected | None]) -> Results:
    """Every number of the results, with its interval. The log records that results were opened."""
    results, collected = reading
    _log_look(session, study_of(session, asker, request.study), asker, collected)
    return results


def _log_look(session: Session, study: Study, asker: Asker, collected: Collected | None) -> None:
    """Log that the results were viewed, as the results page does."""
    from triptych.results import looking

    if collected is not None:
        looking.log_look(session, study, collected.filled, collected.planned, asker.who.pseudonym)


def _reports(session: Session, asker: Asker, request: OfStudy) -> Reports:
    """List reports."""
    return Reports(reports=_reports_of(session, study_of(session, asker, request.study)))


def _reports_of(session: Session, study: Study) -> list[ReportFacts]:
    from triptych.reports import snapshot

    return [
        ReportFacts(
            sha256=made.sha256,
            event_number=made.event_number,
            event_hash=made.event_hash,
            made_at=made.made_at,
            made_by=made.made_by,
            bytes=made.size,
        )
        for made in snapshot.listed(session, study)
    ]


def _report_file(session: Session, asker: Asker, request: OfReport) -> Zip:
    """Download a report."""
    from triptych.reports import snapshot

    return Zip(content=snapshot.file_of(session, study_of(session, asker, request.study), request.sha256))


def _dry_run(session: Session, asker: Asker, request: DryRunRequest) -> DryRunNumbers:
    """A dry run with simulated annotators; nothing is stored."""
    from triptych.reports.numbers import Book
    from triptych.scripting import numbers
    from triptych.simulate.annotators import Recipe
    from triptych.simulate.dry_run import dry_run

    study = study_of(session, asker, request.study)
    recipe = Recipe(items=request.items, annotators=request.annotators, gap=request.gap, seed=request.seed)
    done = dry_run(session, study, recipe)
    rows = numbers.with_intervals(Book.of(done.analysis).numbers)
    return DryRunNumbers(sentence=done.sentence, annotations=done.annotations, columns=list(numbers.COLUMNS), rows=rows)


# Writing


def _read_new_study(_: Session, asker: Asker, request: NewStudy) -> ItemFile:
    if asker.study_id is not None:
        raise NotAllowed("This token is for one study and cannot create another.")
    file = read_items(request.items.content, request.items.name, ReadOptions(roles=tuple(request.roles.items())))
    if not file.ok:
        raise ImportRefused("The items cannot be used:", *map(str, file.problems))
    return file


def _create_study(session: Session, asker: Asker, request: NewStudy, file: ItemFile) -> CreatedStudy:
    """Create a draft study from a file of items."""
    plan = lifecycle.usual_plan(
        title=request.title,
        raters_per_item=request.raters_per_item,
        access=request.access,
        round=request.round,
        items_per_annotator=request.items_per_annotator,
    )
    shipped = shipped_rubrics().get(request.rubric)
    text = shipped.read_text(encoding="utf-8") if shipped else request.rubric
    rubric = parse_rubric(text)
    study = lifecycle.create_from_file(session, plan, text, file, asker.who)
    for path, value in (("consent.text", request.consent), ("consent.not_needed", request.no_consent)):
        if value:
            saved_setting.write(session, study, path, value, saved_setting.value_of(study, path), asker.who.pseudonym)
    warnings = [*(str(problem) for problem in file.problems), *misfits(rubric, file)]
    return CreatedStudy(**_facts(lifecycle.line_of(session, study)), warnings=warnings)


def _check_launch(session: Session, asker: Asker, request: NewState) -> str | None:
    study = study_of(session, asker, request.study)
    return launch.check(session, study) if _is_launch(study, request) else None


def _is_launch(study: Study, request: NewState) -> bool:
    return study.state == StudyState.draft and request.state == StudyState.open


def _set_state(session: Session, asker: Asker, request: NewState, checked: str | None) -> StudyFacts:
    """Launch, pause or reopen a study."""
    study = study_of(session, asker, request.study)
    if study.state == StudyState.closed:
        raise Conflict("This study is closed. A lead can reopen it in the app.")
    if _is_launch(study, request):
        launch.launch(session, study, asker.who.pseudonym, checked)
    else:
        lifecycle.set_state(session, study, StudyState(request.state), asker.who.pseudonym)
    return _facts_of(session, study)


def _invite(session: Session, asker: Asker, request: Guests, _: None) -> PersonalLinks:
    """Invite annotators, either all of them or none; each gets a personal link."""
    study = study_of(session, asker, request.study)
    with io.StringIO(newline="") as typed:
        rows = [[getattr(guest, column) for column in GUEST_COLUMNS] for guest in request.people]
        csv.writer(typed).writerows([GUEST_COLUMNS, *rows])
        guests = invitations.read_list(session, study, typed.getvalue().encode())
    if not guests.ok:
        raise ImportRefused("Nobody was invited:", *map(str, guests.problems))
    return _links(invitations.invite_all(session, study, guests.guests, asker.who.pseudonym))


def _new_links(session: Session, asker: Asker, request: Pseudonyms, _: None) -> PersonalLinks:
    """New personal links; the earlier ones stop working."""
    study = study_of(session, asker, request.study)
    if asker.study_id is not None:
        _refuse_elsewhere(session, study, request.people)
    return _links(invitations.renew(session, study, request.people, asker.who.pseudonym))


def _refuse_elsewhere(session: Session, study: Study, pseudonyms: Collection[str]) -> None:
    """Raises NotAllowed for people with another study, since a personal link opens all studies of an account."""
    elsewhere = select(Person.pseudonym).join(Membership, Membership.person_id == Person.id).join(Study)
    elsewhere = elsewhere.where(Person.pseudonym.in_(pseudonyms), Study.id != study.id, ~Study.demo).distinct()
    shared = session.scalars(elsewhere.order_by(Person.pseudonym)).all()
    if shared:
        raise NotAllowed(
            f"This token is for one study, and links of these people also open another study: {', '.join(shared)}. "
            "Use a token for all studies, or make these links in the app."
        )


def _links(invited: list[invitations.Invited]) -> PersonalLinks:
    return PersonalLinks(
        people=[PersonalLink(pseudonym=guest.pseudonym, link=f"/?join={guest.secret}") for guest in invited]
    )


def _check_scores(session: Session, asker: Asker, request: Scores) -> Checked:
    from triptych.exchange import judge_scores

    study = study_of(session, asker, request.study)
    scores = [judge_scores.JudgeScore(**dict(score)) for score in request.scores]
    return judge_scores.check(session, study, request.judge, scores)


def _append_scores(session: Session, asker: Asker, request: Scores, checked: Checked) -> Judged:
    """Add the scores of a judge (a model) to a launched study."""
    from triptych.exchange import judge_scores

    study = study_of(session, asker, request.study)
    appended = judge_scores.append(session, study, checked, asker.who.pseudonym)
    return Judged(**vars(appended))


def _build_report(session: Session, asker: Asker, request: OfStudy) -> tuple[Report, Collected | None]:
    from triptych.reports.build import build_report
    from triptych.scripting import numbers

    see_one_state(session)
    study = study_of(session, asker, request.study)
    collected = numbers.collected(session, study)  # first, as in _read_results
    return build_report(session, study), collected


def _keep_report(
    session: Session, asker: Asker, request: OfStudy, built: tuple[Report, Collected | None]
) -> ReportFacts:
    """Make a report of the current state of the study."""
    from triptych.reports import snapshot

    report, collected = built
    study = study_of(session, asker, request.study)
    _log_look(session, study, asker, collected)
    snapshot.keep(session, study, report, asker.who.pseudonym)
    return next(made for made in _reports_of(session, study) if made.sha256 == report.sha256)


def _unblind(session: Session, asker: Asker, request: OfStudy, _: None) -> StudyFacts:
    """Permanently show the names of the systems to all leads."""
    if asker.bearer is None:
        raise NotAllowed("Unblinding asks for a lead's passcode: do it in the app, or with a token that may unblind.")
    study = study_of(session, asker, request.study)
    lifecycle.unblind(session, study, signing_in.proved_by(asker.bearer))
    return _facts_of(session, study)


READ, WRITE, UNBLIND = Scope.read, Scope.write, Scope.unblind
CALLS = (
    Call("asking", "GET", "/asking", READ, NoFields, Asking, _asking),
    Call("studies", "GET", "/studies", READ, StudiesPage, Studies, _list_studies),
    # 28 MB: a file of 20 MB in Base64, and the other fields
    Call("create_study", "POST", "/studies", WRITE, NewStudy, CreatedStudy, _read_new_study, _create_study, 28 * MB),
    Call("study", "GET", "/studies/{study}", READ, OfStudy, StudyFacts, _study),
    Call("set_state", "POST", "/studies/{study}/state", WRITE, NewState, StudyFacts, _check_launch, _set_state),
    Call("items", "GET", "/studies/{study}/items", READ, TablePage, TableRows, tables.items),
    Call("ratings", "GET", "/studies/{study}/ratings", READ, TablePage, TableRows, tables.ratings),
    Call("highlights", "GET", "/studies/{study}/highlights", READ, TablePage, TableRows, tables.highlights),
    Call("results", "GET", "/studies/{study}/results", READ, OfStudy, Results, _read_results, _results),
    Call("dry_run", "POST", "/studies/{study}/dry-run", READ, DryRunRequest, DryRunNumbers, _dry_run),
    Call("invite", "POST", "/studies/{study}/invitations", WRITE, Guests, PersonalLinks, None, _invite),
    Call("new_links", "POST", "/studies/{study}/links", WRITE, Pseudonyms, PersonalLinks, None, _new_links),
    Call(
        "append_scores", "POST", "/studies/{study}/scores", WRITE, Scores, Judged, _check_scores, _append_scores, 8 * MB
    ),
    Call("make_report", "POST", "/studies/{study}/reports", WRITE, OfStudy, ReportFacts, _build_report, _keep_report),
    Call("reports", "GET", "/studies/{study}/reports", READ, OfStudy, Reports, _reports),
    Call("report_file", "GET", "/studies/{study}/reports/{sha256}.zip", READ, OfReport, Zip, _report_file),
    Call("unblind", "POST", "/studies/{study}/unblinding", UNBLIND, OfStudy, StudyFacts, None, _unblind),
)
BY_NAME = {call.name: call for call in CALLS}

"""The checklist before launch: every part of a draft that is done, empty or doubtful, and what stops the launch.

It reads the stored study only, so that what a page shows and what a launch refuses are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import func, select
from sqlmodel import Session

from triptych import settings
from triptych.rubric.files import EMPTY_RUBRIC
from triptych.rubric.model import Rubric
from triptych.rubric.scales import NumberScale
from triptych.rubric.wording import NOT_READ, length_in_words, texts_of
from triptych.stats.numbers import counted
from triptych.storage import host
from triptych.storage.models import Access, Item, Purpose, Study, System
from triptych.study import copies, lifecycle, system_names
from triptych.study.lint import linter
from triptych.study.lint.findings import LintFinding
from triptych.study.lint.giveaways import systems_named
from triptych.study.settings import StudySettings, settings_of, written_amount


class Mark(StrEnum):
    """The state of a part: done, left empty, or filled in but doubtful."""

    done = "done"
    empty = "empty"
    doubtful = "doubtful"


class SetupSection(StrEnum):
    """The sections of a study's setup, as its page names them."""

    study = "Study"
    items = "Items"
    rubric = "Rubric"
    assignment = "Who rates what"
    way_in = "Before the first item"
    checks = "Checks"
    plan = "Plan and preregistration"
    trial = "Try it"


@dataclass(frozen=True)
class CheckPoint:
    """One line of the checklist; stops: it prevents the launch."""

    section: SetupSection
    mark: Mark
    text: str
    advice: str = ""
    stops: bool = False
    finding: LintFinding | None = None


@dataclass(frozen=True)
class _Draft:
    """The input of the checks. names: the systems' names that are no common words."""

    study: Study
    settings: StudySettings
    rubric: Rubric
    is_own: bool
    places: int
    findings: Sequence[LintFinding]
    names: Sequence[str]


def points(session: Session, study: Study, findings: Sequence[LintFinding] | None = None) -> list[CheckPoint]:
    """All lines of the checklist: first those that stop the launch, then doubtful, empty and done parts.

    findings: the linter's findings, if the caller already has them. Names that the settings list as common words are
    passed over.
    """
    places = select(func.sum(Item.raters)).where(Item.study_id == study.id, Item.purpose == Purpose.main)
    rubric = lifecycle.design_of(session, study).rubric
    findings = linter.lint_study(session, study) if findings is None else findings
    is_own = lifecycle.rubric_text(session, study) != EMPTY_RUBRIC
    names = _names(session, study)
    draft = _Draft(
        study, settings_of(study), rubric, is_own, session.execute(places).scalar_one() or 0, findings, names
    )
    order = [Mark.doubtful, Mark.empty, Mark.done]
    lines = [point for check in CHECKS for point in check(draft)]
    return sorted(lines, key=lambda point: (not point.stops, order.index(point.mark)))


def _names(session: Session, study: Study) -> list[str]:
    """None for a copy: the lead of a copy of a blind study could try out names."""
    if copies.originals(session, study):
        return []
    names, common = select(System.name).where(System.study_id == study.id), settings_of(study).common_names
    return [name for name in session.scalars(names) if system_names.mark_of(name) not in common]


def mark_of(lines: Sequence[CheckPoint], section: SetupSection) -> Mark | None:
    """The most serious mark of a section; None if the checklist does not cover it."""
    marks = [point.mark for point in lines if point.section == section]
    return next((mark for mark in (Mark.doubtful, Mark.empty, Mark.done) if mark in marks), None)


def _disk(_: _Draft) -> Iterator[CheckPoint]:
    kind = "" if settings.is_shared() else host.forgetful()
    if kind:
        text = f"The disk of this host is temporary ({kind}): at its next restart every rating would be lost."
        lasts = f"or say with {host.EPHEMERAL}=0 that the data folder is on persistent storage"
        advice = f"Use PostgreSQL on another host ({settings.DATABASE}), {lasts}."
        yield CheckPoint(SetupSection.study, Mark.doubtful, text, advice, True)


def _items(draft: _Draft) -> Iterator[CheckPoint]:
    if not draft.study.item_count:
        yield CheckPoint(
            SetupSection.items, Mark.empty, "This study has no items yet.", "Add a file of items first.", True
        )
        return
    items, each = counted(draft.study.item_count, "item"), counted(draft.study.raters_per_item, "annotator")
    places = counted(draft.places, "annotation")
    yield CheckPoint(SetupSection.items, Mark.done, f"{items}, {each} for each: {places} in all.")
    for finding in draft.findings:
        if finding.severity != "note" and finding.name_mark not in draft.settings.common_names:
            yield CheckPoint(SetupSection.items, Mark.doubtful, finding.text, finding.advice, finding.blocking, finding)


def _named(draft: _Draft) -> Iterator[CheckPoint]:
    """Annotators who read a system's name around the items know that it takes part."""
    for section, place, text in (
        (SetupSection.study, "title", draft.study.title),
        (SetupSection.way_in, "consent text", draft.settings.consent.text),
        (SetupSection.way_in, "instructions", draft.settings.instructions),
        (SetupSection.way_in, "content note", draft.settings.content_note),
        (SetupSection.rubric, "rubric", "\n".join(texts_of(draft.rubric, NOT_READ))),
    ):
        if systems_named(text, draft.names):
            text = f"The name of a system is in the {place}."
            advice = "Annotators read it. Leave the name out, unless it is an ordinary word there."
            yield CheckPoint(section, Mark.doubtful, text, advice)
    if systems_named(draft.study.slug, draft.names):
        text = "The name of a system is in the study's short name."
        advice = "Annotators read it in the address. Create the study with another title, if it is no ordinary word."
        yield CheckPoint(SetupSection.study, Mark.doubtful, text, advice)


def _rubric(draft: _Draft) -> Iterator[CheckPoint]:
    if not draft.is_own:
        text = "The rubric has only the initial question about quality."
        yield CheckPoint(SetupSection.rubric, Mark.doubtful, text, "Write your questions.")
        return
    asked = draft.rubric.asked(draft.study.round)
    yield CheckPoint(
        SetupSection.rubric, Mark.done, f"{counted(len(asked), 'question')} in the {draft.study.round} round."
    )
    for criterion in asked:
        scale = criterion.scale
        if isinstance(scale, NumberScale) and scale.high - scale.low < 1:
            text = f"{criterion.title}: the scale is only {scale.high - scale.low:g} wide."
            advice = "Results are printed with two decimals: ask in percent or thousandths, so that differences show."
            yield CheckPoint(SetupSection.rubric, Mark.doubtful, text, advice)


def _consent(draft: _Draft) -> Iterator[CheckPoint]:
    consent = draft.settings.consent
    if consent.text:
        unsaid = " It does not state what is published." if consent.sharing == "not_asked" else ""
        words = counted(length_in_words(consent.text), "word")
        yield CheckPoint(SetupSection.way_in, Mark.done, f"A consent text of {words}.{unsaid}")
    elif consent.not_needed:
        yield CheckPoint(
            SetupSection.way_in, Mark.done, f"Consent is not asked; the logged reason: {consent.not_needed}"
        )
    else:
        advice = "Annotators would start without being asked. Write it, or state why none is needed."
        yield CheckPoint(SetupSection.way_in, Mark.empty, "The consent text is empty.", advice, True)


def _ethics(draft: _Draft) -> Iterator[CheckPoint]:
    ethics = draft.settings.ethics
    until = f"Data are stored until {ethics.stored_until}." if ethics.stored_until else ""
    approval = f"Ethics approval: {ethics.approval}" if ethics.approval else ""
    complaints = f"Complaints go to: {ethics.complaints}" if ethics.complaints else ""
    yield _filled(SetupSection.study, approval, "The ethics committee's approval is empty.", "Reports print it.")
    yield _filled(SetupSection.study, until, "How long data are stored is not stated.", "The consent page states it.")
    yield _filled(SetupSection.study, complaints, "No contact for complaints is named.", "The consent page names it.")


def _filled(section: SetupSection, done: str, empty: str, advice: str) -> CheckPoint:
    return CheckPoint(section, Mark.done, done) if done else CheckPoint(section, Mark.empty, empty, advice)


def _pay(draft: _Draft) -> Iterator[CheckPoint]:
    pay = draft.settings.pay
    done = f"{pay.currency} {written_amount(pay.per_item)} for an item." if pay.per_item is not None else ""
    yield _filled(SetupSection.assignment, done, "Pay is not set.", "Set it, 0 for volunteers: reports print it.")


def _panel(draft: _Draft) -> Iterator[CheckPoint]:
    if draft.study.access == Access.panel and not draft.settings.panel.return_url:
        advice = "Annotators would have to find their own way back to the panel."
        yield CheckPoint(SetupSection.assignment, Mark.empty, "The panel's return address is empty.", advice)


def _overlap(draft: _Draft) -> Iterator[CheckPoint]:
    overlap = draft.settings.overlap
    if draft.study.raters_per_item == 1 and (overlap.items == 0 or overlap.raters == 1):
        advice = "Give some of the items more annotators."
        yield CheckPoint(
            SetupSection.assignment, Mark.doubtful, "With one annotator per item, agreement cannot be computed.", advice
        )


def _preregistration(draft: _Draft) -> Iterator[CheckPoint]:
    declaration = draft.settings.preregistration
    advice = "All comparisons are reported as exploratory."
    done = "Preregistered; it is frozen at launch." if declaration.declared else ""
    yield _filled(SetupSection.plan, done, "Nothing is preregistered.", advice)
    if declaration.declared and not declaration.family:
        yield CheckPoint(SetupSection.plan, Mark.empty, "No primary criterion is chosen.", advice)


CHECKS: Sequence[Callable[[_Draft], Iterator[CheckPoint]]] = (
    _disk, _consent, _items, _named, _rubric, _pay, _panel, _overlap, _ethics, _preregistration,
)  # fmt: skip

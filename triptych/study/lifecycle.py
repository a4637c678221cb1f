"""Studies: making one from a rubric and items, opening, pausing, closing, unblinding."""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import get_args

from sqlalchemy import ColumnElement, Select, bindparam, func, or_, select
from sqlmodel import Session

from triptych import clock
from triptych.errors import Conflict, ImportRefused, InvalidRubric, NotAllowed, NotFound, StudyNotOpen
from triptych.formats.layout import ITEM_GROUP
from triptych.formats.model import MAX_CANDIDATES, ItemDraft, ItemFile
from triptych.languages.language import _
from triptych.rubric.files import parse_rubric
from triptych.rubric.model import Presentation, Rubric
from triptych.storage import events
from triptych.storage.database import wait_for_others
from triptych.storage.events import EventKind
from triptych.storage.models import (
    IN_PLACE,
    Access,
    Assignment,
    Candidate,
    Item,
    JsonObject,
    Kind,
    Membership,
    Option,
    Person,
    Purpose,
    Role,
    Round,
    RubricText,
    StoredCriterion,
    Study,
    StudyState,
    annotators_part,
)
from triptych.study import contents, copies
from triptych.study.check_items import add_check_items, sorted_out
from triptych.study.persons import Certainty, Who
from triptych.study.settings import (
    USUAL_CHECKS,
    USUAL_ORDER,
    USUAL_UNIT,
    Checks,
    Codes,
    Formats,
    ItemOrder,
    MarkUnit,
    Pay,
    Recruitment,
    StudySettings,
    stored,
)

LONGEST_TITLE = 120
MOST_RATERS = 100
MOST_ITEMS = 1_000_000  # largest limit of items per annotator
TAKEN_AFTER_PAUSING = timedelta(minutes=30)
# column → its values
CHOICES = {"access": tuple(Access), "round": tuple(Round), "presentation": get_args(Presentation)}
_BY_SLUG = select(Study).where(Study.slug == bindparam("slug"))  # built at import: it runs for every annotation
ALLOWED_NEXT = {
    StudyState.draft: {StudyState.open},
    StudyState.open: {StudyState.paused, StudyState.closed},
    StudyState.paused: {StudyState.open, StudyState.closed},
    StudyState.closed: {StudyState.open},
}


@dataclass(frozen=True)
class StudyPlan:
    """The lead's choices for a new study."""

    title: str
    raters_per_item: int = 3
    access: Access = Access.open
    round: Round = Round.main
    presentation: str | None = None
    items_per_annotator: int | None = None
    series: str | None = None
    checks: Checks = Checks()
    item_order: ItemOrder = "cover"
    mark_unit: MarkUnit = "letters"
    common_names: tuple[str, ...] = ()
    formats: Formats = Formats()
    demo: bool = False
    seed: str | None = None


# what a lead chooses from a file of items on, with the usual settings; imports and demos have those of older studies
usual_plan = partial(StudyPlan, checks=USUAL_CHECKS, item_order=USUAL_ORDER, mark_unit=USUAL_UNIT)


@dataclass(frozen=True)
class CriterionRow:
    """A criterion's id, and option key → id."""

    id: int
    options: dict[str, int]


@dataclass(frozen=True)
class Design:
    """The parts that never change after a launch: the rubric, and the rows of criteria that ratings refer to."""

    rubric: Rubric
    criteria: dict[str, CriterionRow]


_designs: dict[tuple[int, str, str], Design] = {}


def design_of(session: Session, study: Study) -> Design:
    """The study's design, cached per process after its launch.

    Seed and time are part of the cache's key, to distinguish studies of other databases.
    """
    if study.opened_at is None:
        return _read_design(session, study)
    name = (study.id, study.seed, study.opened_at.isoformat())
    design = _designs.get(name)
    if design is None:
        design = _designs[name] = _read_design(session, study)
    return design


def forget_designs() -> None:
    """Call it where rows of a launched study may be rolled back: another one may get their number, seed and time."""
    _designs.clear()


def _read_design(session: Session, study: Study) -> Design:
    text = session.get_one(RubricText, study.rubric_id)
    options = select(StoredCriterion, Option).outerjoin(Option).where(StoredCriterion.study_id == study.id)
    rows: dict[str, CriterionRow] = {}
    for criterion, option in session.execute(options):
        row = rows.setdefault(criterion.key, CriterionRow(criterion.id, {}))
        if option is not None:
            row.options[option.key] = option.id
    return Design(contents.parsed(text.yaml), rows)


def rubric_text(session: Session, study: Study) -> str:
    """The rubric's YAML as it was loaded."""
    return session.get_one(RubricText, study.rubric_id).yaml


def lock(session: Session, study_id: int) -> Study:
    """The study's row, locked by every command that writes to the study before it reads what it changes."""
    return events.locked_study(session, study_id)


def create_study(
    session: Session,
    plan: StudyPlan,
    rubric_yaml: str,
    items: Sequence[ItemDraft],
    actor: str,
    lead_id: int | None = None,
) -> Study:
    """Create a draft study with all its items; if an exception is raised, nothing is created."""
    text = contents.store_rubric(session, rubric_yaml)
    rubric = contents.parsed(text.yaml)
    slug = free_slug(session, plan.title)
    study = Study(
        slug=slug,
        series=plan.series or slug,
        round=plan.round,
        title=plan.title,
        access=plan.access,
        demo=plan.demo,
        rubric_id=text.id,
        presentation=plan.presentation or rubric.presentation,
        raters_per_item=plan.raters_per_item,
        settings=_settings(plan, rubric, items),
        seed=plan.seed or secrets.token_hex(8),
        item_count=len(items),
        created_at=clock.now(),
    )
    session.add(study)
    session.flush()
    if lead_id is not None:
        session.add(Membership(study_id=study.id, person_id=lead_id, role=Role.lead, joined_at=clock.now()))
    contents.write_criteria(session, study, rubric)
    contents.write_items(session, study, items)
    contents.write_training(session, study, rubric)
    session.flush()
    events.record(session, study.id, EventKind.study_created, actor, new={"title": study.title, "items": len(items)})
    return study


def start_of(rubric: Rubric, study_round: str) -> JsonObject:
    """The settings that the rubric defines for a new study of this round: name in StudySettings → value."""
    start = rubric.start_in(study_round)
    per_item = None if start.pay_per_item is None else Decimal(str(start.pay_per_item))
    return {
        "pay": Pay(per_item=per_item, currency=start.currency),
        "recruitment": Recruitment(eligibility=tuple(filter(None, map(str.strip, start.eligibility.splitlines())))),
    }


def _settings(plan: StudyPlan, rubric: Rubric, items: Sequence[ItemDraft]) -> JsonObject:
    """The settings that are not columns; a panel study gets completion codes, and grouped items are recognised."""
    codes = Codes().filled() if plan.access == Access.panel else Codes()
    return stored(
        StudySettings(
            items_per_annotator=plan.items_per_annotator,
            codes=codes,
            checks=plan.checks,
            item_order=plan.item_order,
            mark_unit=plan.mark_unit,
            formats=plan.formats,
            group_field=ITEM_GROUP if any(ITEM_GROUP in item.meta for item in items) else "",
            common_names=plan.common_names,
            **start_of(rubric, plan.round),
        )
    )


def free_slug(session: Session, title: str) -> str:
    """A short name made from the title that no study and no series has."""
    without_accents = re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFKD", title)).casefold()
    base = re.sub(r"[^a-z0-9]+", "-", without_accents).strip("-")[:40].strip("-") or "study"
    wait_for_others(session, f"short names like {base}")
    named = select(Study.slug, Study.series).where(
        or_(Study.slug.startswith(base, autoescape=True), Study.series.startswith(base, autoescape=True))
    )
    taken = {name for row in session.execute(named) for name in row}
    return next(slug for n in range(1, len(taken) + 2) if (slug := base if n == 1 else f"{base}-{n}") not in taken)


def set_state(session: Session, study: Study, state: StudyState, actor: str) -> None:
    """Opens, pauses or closes the study. Raises Conflict for a change of state that is not possible."""
    study = lock(session, study.id)
    if state not in ALLOWED_NEXT[study.state]:
        raise Conflict(f"A study that is {study.state} cannot become {state}.")
    if state == StudyState.open and study.opened_at is not None:
        refuse_many_responses(session, study)
    old, study.state = study.state, state
    now: dict[str, object] = {"state": state}
    study.paused_at = clock.now() if state == StudyState.paused else None
    if state == StudyState.open and study.opened_at is None:
        study.opened_at = clock.now()
        study.design_hash = contents.design_hash(session, study)
        now |= {"design_hash": study.design_hash, "systems_seal": contents.systems_seal(session, study)}
        now |= copies.to_log(session, study)
    session.flush()
    events.record(session, study.id, EventKind(f"study {state}"), actor, old={"state": old}, new=now)


def refuse_many_responses(session: Session, study: Study) -> None:
    """Raises Conflict for a study whose items have more responses than a screen shows, as imported ones may have."""
    responses = select(func.count()).select_from(Candidate).join(Item, Item.id == Candidate.item_id)
    responses = responses.where(Item.study_id == study.id).group_by(Item.id)
    most = session.scalar(responses.order_by(func.count().desc()).limit(1)) or 0
    if most > MAX_CANDIDATES:
        raise Conflict(f"An item has {most} responses; annotators can be shown at most {MAX_CANDIDATES}.")


def unblind(session: Session, study: Study, certainty: Certainty) -> None:
    """Show system names to all leads of the study from now on, and log it.

    Raises Conflict for a copy of a study that is still blind: the names would be known there, unlogged.
    """
    study = lock(session, study.id)
    if study.unblinded_at is not None:
        return
    for blind in copies.blind_originals(session, study, certainty.who):
        title = f"“{blind.title}”" if blind in for_lead(session, certainty.who) else "A study of another lead"
        raise Conflict(f"{title} has the same responses and is still blind. It has to be unblinded first.")
    study.unblinded_at = clock.now()
    session.flush()
    events.record(
        session,
        study.id,
        EventKind.unblinded,
        certainty.who.pseudonym,
        new={"after_events": events.last_number(session, study.id)},
        at=study.unblinded_at,
    )


def by_slug(session: Session, slug: str) -> Study:
    """The study. Raises NotFound."""
    study = session.scalars(_BY_SLUG, {"slug": slug}).first() if slug.isprintable() else None
    if study is None:
        raise NotFound(f"There is no study called {slug!r}.")
    return study


def for_lead(session: Session, who: Who) -> list[Study]:
    """The studies this lead runs, and the demo studies, newest first."""
    led = select(Membership.study_id).where(Membership.person_id == who.person_id, Membership.role == Role.lead)
    return list(session.scalars(select(Study).where(Study.demo | Study.id.in_(led)).order_by(Study.id.desc())))


def led_by(session: Session, who: Who, slug: str) -> Study:
    """The study, if this person leads it. Raises NotFound, whether it does not exist or is someone else's."""
    study = next((study for study in for_lead(session, who) if study.slug == slug), None)
    if who.role != Role.lead or study is None:
        raise NotFound(f"You do not lead a study called {slug!r}.")
    return study


def seen_by(session: Session, who: Who) -> Study:
    """The study that this viewer may see. Raises NotFound for anybody else."""
    own = select(Membership.study_id).where(Membership.person_id == who.person_id, Membership.role == Role.viewer)
    study = session.scalars(select(Study).where(Study.id.in_(own))).first()
    if study is None:
        raise NotFound("You are not a viewer of a study.")
    return study


def for_annotator(session: Session, person_id: int) -> list[Study]:
    """The studies this person annotates in, newest first; drafts are not shown."""
    own = select(Membership.study_id).where(Membership.person_id == person_id, Membership.role == Role.annotator)
    begun = select(Study).where(Study.id.in_(own), Study.state != StudyState.draft)
    return list(session.scalars(begun.order_by(Study.id.desc())))


def open_to_all(session: Session) -> list[Study]:
    """Studies that anybody who reaches this server may join with a name."""
    query = select(Study).where(Study.state == StudyState.open, Study.access == Access.open)
    return list(session.scalars(query.order_by(Study.demo, Study.id.desc())))


def still_takes_work(study: Study) -> bool:
    """Whether a paused study was paused so recently that it still accepts the items on annotators' screens."""
    return study.paused_at is not None and abs(clock.now() - study.paused_at) < TAKEN_AFTER_PAUSING


def refuse_unless_writable(study: Study) -> None:
    """Raises StudyNotOpen unless work may be stored; a paused study accepts the items on screen for a while."""
    is_paused = study.state == StudyState.paused
    if study.state == StudyState.open or (is_paused and still_takes_work(study)):
        return
    if is_paused:
        raise StudyNotOpen(_("This study is paused. Your work on this item is saved."))
    raise StudyNotOpen(_("This study is closed. What you wrote is saved; ask the lead if it should still count."))


def create_from_file(session: Session, plan: StudyPlan, rubric_yaml: str, file: ItemFile, who: Who) -> Study:
    """Creates a draft study of this lead from an uploaded file, with all its items or not at all.

    Items with a field `purpose` become attention or gold items (`check_items.sorted_out`). Raises NotAllowed for anyone
    but a lead or an invalid plan, InvalidRubric, and ImportRefused if the file has an error or does not fit the rubric.
    """
    refuse_others(who)
    refuse_unusable_plan(plan)
    refuse_silent(parse_rubric(rubric_yaml), plan.round)
    refuse_faulty(file)
    items, check_items = sorted_out(file.items)
    study = create_study(session, plan, rubric_yaml, items, who.pseudonym, who.person_id)
    if check_items:
        add_check_items(session, study, check_items, who.pseudonym)
    return study


def refuse_others(who: Who) -> None:
    """Raises NotAllowed for anybody but a lead."""
    if who.role != Role.lead:
        raise NotAllowed("Only a lead can create a study.")


def refuse_unusable(title: str, raters_per_item: int) -> None:
    """Raises NotAllowed for a title or a number of annotators per item that no study can have."""
    if not title.strip() or len(title) > LONGEST_TITLE or not title.isprintable():
        raise NotAllowed(f"A study needs a title of 1 to {LONGEST_TITLE} characters on one line.")
    if not 1 <= raters_per_item <= MOST_RATERS:
        raise NotAllowed(f"An item is rated by 1 to {MOST_RATERS} annotators.")


def refuse_unknown(chosen: Mapping[str, str | None]) -> None:
    """Raises NotAllowed for an unknown value of a column in CHOICES, which only a changed page can send."""
    for column, values in CHOICES.items():
        value = chosen.get(column)
        if value is not None and value not in values:
            raise NotAllowed(f"{value[:40]!r} is no value of {column}; choose {', '.join(values)}.")


def refuse_unusable_plan(plan: StudyPlan) -> None:
    """Raises NotAllowed for a plan that no study can have."""
    refuse_unusable(plan.title, plan.raters_per_item)
    refuse_unknown({column: getattr(plan, column) for column in CHOICES})
    if plan.items_per_annotator is not None and not 1 <= plan.items_per_annotator <= MOST_ITEMS:
        raise NotAllowed(f"One annotator has 1 to {MOST_ITEMS:,} items; leave it empty for no limit.")


def refuse_taken(session: Session, series: str, study_round: str) -> None:
    """Raises Conflict if the series has a study of this round."""
    wait_for_others(session, f"round {study_round} of {series}")
    if session.scalars(select(Study.id).where(Study.series == series, Study.round == study_round)).first() is not None:
        raise Conflict(f"This series has a {study_round} round already. Choose another round.")


def refuse_silent(rubric: Rubric, study_round: str) -> None:
    """Raises InvalidRubric if the rubric asks nothing in this round."""
    if not rubric.asked(study_round):
        raise InvalidRubric(f"This rubric asks nothing in a {study_round} round. Choose another round.")


def refuse_faulty(file: ItemFile) -> None:
    """Raises ImportRefused for a file with an error left."""
    if not file.ok:
        raise ImportRefused("The file still has errors, so nothing was imported. Correct them and upload it again.")


@dataclass(frozen=True)
class StudyLine:
    """A study in the lead's list. items: those to rate, without retired ones; expected: all their places; done: filled
    places; annotators: their number.
    """

    study: Study
    items: int
    expected: int
    done: int
    annotators: int


def lines_for_lead(session: Session, who: Who) -> list[StudyLine]:
    """The lead's studies and the demo studies, newest first, with the same counts as the results.

    Simulated annotators count in demo studies only; excluded ones never count.
    """
    return lines_of(session, for_lead(session, who))


def line_of(session: Session, study: Study) -> StudyLine:
    """The line of one study."""
    return lines_of(session, [study])[0]


def items_to_rate(session: Session, study: Study) -> int:
    """The number of items in the study's line."""
    return session.execute(select(func.count()).where(*_to_rate([study.id]))).scalar_one()


def _to_rate(ids: Sequence[int]) -> tuple[ColumnElement[bool], ...]:
    return Item.study_id.in_(ids), Item.purpose == Purpose.main, ~Item.retired


def lines_of(session: Session, studies: Sequence[Study]) -> list[StudyLine]:
    """The lines of these studies, in their order."""
    ids = [study.id for study in studies]
    sizes = select(Item.study_id, func.count(), func.sum(Item.raters)).where(*_to_rate(ids)).group_by(Item.study_id)
    size_of = {study_id: (items, int(places)) for study_id, items, places in session.execute(sizes)}
    counts = (
        Membership.study_id.in_(ids),
        Membership.role == Role.annotator,
        Membership.excluded_at.is_(None),
        or_(Study.demo, Person.kind == Kind.human),
    )
    members = (
        select(Membership.study_id, func.count())
        .join(Person, Person.id == Membership.person_id)
        .join(Study, Study.id == Membership.study_id)
        .where(*counts)
    )
    annotators = _per_study(session, members.group_by(Membership.study_id))
    finished = members.join(Assignment, annotators_part()).join(Item, Item.id == Assignment.item_id)
    finished = finished.where(Assignment.purpose == Purpose.main, Assignment.state.in_(IN_PLACE), ~Item.retired)
    done = _per_study(session, finished.group_by(Membership.study_id))
    return [
        StudyLine(study, *size_of.get(study.id, (0, 0)), done.get(study.id, 0), annotators.get(study.id, 0))
        for study in studies
    ]


def _per_study(session: Session, counted: Select[int, int]) -> dict[int, int]:
    return {study_id: int(number) for study_id, number in session.execute(counted)}

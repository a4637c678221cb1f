"""Studies: making one from a rubric and items, opening, pausing, closing, unblinding."""

from __future__ import annotations

import hashlib
import json
import random
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, bindparam, delete, func, insert, or_, select
from sqlmodel import Session

from triptych import clock, events
from triptych.errors import Conflict, ImportRefused, InvalidRubric, NotAllowed, NotFound, StudyNotOpen
from triptych.formats.model import CandidateDraft, ItemDraft, ItemFile
from triptych.models import (
    Access,
    Assignment,
    AssignmentState,
    Candidate,
    Criterion,
    Item,
    Kind,
    Membership,
    Option,
    Person,
    Purpose,
    Reference,
    Role,
    Round,
    RubricText,
    Study,
    StudyState,
    System,
    Turn,
)
from triptych.people import Who
from triptych.rubric import Choice, Likert, Number, Rubric, TrainingItem, parse_rubric, text_hash
from triptych.study_settings import Codes, StudySettings, stored

LONGEST_TITLE = 120
MOST_RATERS = 100
TRAINING_SYSTEM = "worked example"
_BY_SLUG = select(Study).where(Study.slug == bindparam("slug"))  # prepared once: it runs for every annotation
ALLOWED_NEXT = {
    StudyState.draft: {StudyState.open},
    StudyState.open: {StudyState.paused, StudyState.closed},
    StudyState.paused: {StudyState.open, StudyState.closed},
    StudyState.closed: {StudyState.open},
}


@dataclass(frozen=True)
class Plan:
    """What a lead decides when making a study."""

    title: str
    raters_per_item: int = 3
    access: Access = Access.open
    round: Round = Round.main
    presentation: str | None = None
    items_per_annotator: int | None = None
    series: str | None = None
    demo: bool = False
    seed: str | None = None


def store_rubric(session: Session, yaml_text: str) -> RubricText:
    """The row of this very text; a text seen before keeps its row. Raises InvalidRubric."""
    rubric, sha256 = parse_rubric(yaml_text), text_hash(yaml_text)
    found = session.scalars(select(RubricText).where(RubricText.sha256 == sha256)).first()
    if found is None:
        found = RubricText(key=rubric.key, sha256=sha256, yaml=yaml_text, loaded_at=clock.now())
        session.add(found)
        session.flush()
    return found


@lru_cache(maxsize=64)
def _parsed(sha256: str, yaml_text: str) -> Rubric:
    return parse_rubric(yaml_text)


@dataclass(frozen=True)
class CriterionRow:
    """A criterion's id, and option key → id."""

    id: int
    options: dict[str, int]


@dataclass(frozen=True)
class Design:
    """What never changes once a study is made: its rubric, and the rows its ratings point at."""

    rubric: Rubric
    criteria: dict[str, CriterionRow]


_designs: dict[tuple[int, str, str], Design] = {}


def design_of(session: Session, study: Study) -> Design:
    """The study's design, kept per process; seed and time tell studies of different databases apart."""
    name = (study.id, study.seed, study.created_at.isoformat())
    if name not in _designs:
        text = session.get_one(RubricText, study.rubric_id)
        options = select(Criterion, Option).outerjoin(Option).where(Criterion.study_id == study.id)
        rows: dict[str, CriterionRow] = {}
        for criterion, option in session.execute(options):
            row = rows.setdefault(criterion.key, CriterionRow(criterion.id, {}))
            if option is not None:
                row.options[option.key] = option.id
        _designs[name] = Design(_parsed(text.sha256, text.yaml), rows)
    return _designs[name]


def lock(session: Session, study_id: int) -> Study:
    """The study's row, locked first by every command that writes to the study."""
    return events.locked_study(session, study_id)


def create_study(
    session: Session, plan: Plan, rubric_yaml: str, items: Sequence[ItemDraft], actor: str, lead_id: int | None = None
) -> Study:
    """Makes a draft study with all its items, or raises and makes nothing."""
    text = store_rubric(session, rubric_yaml)
    rubric = _parsed(text.sha256, text.yaml)
    slug = _free_slug(session, plan.title)
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
        settings=_settings(plan),
        seed=plan.seed or secrets.token_hex(8),
        item_count=len(items),
        created_at=clock.now(),
    )
    session.add(study)
    session.flush()
    if lead_id is not None:
        session.add(Membership(study_id=study.id, person_id=lead_id, role=Role.lead, joined_at=clock.now()))
    criteria = _write_criteria(session, study, rubric)
    _write_items(session, study, items)
    _write_training(session, study, rubric, criteria)
    session.flush()
    events.record(session, study.id, "study created", actor, new={"title": study.title, "items": len(items)})
    return study


def _settings(plan: Plan) -> dict[str, Any]:
    """What has no column of its own; a panel's study gets the code that proves to the panel that it was finished."""
    code = secrets.token_hex(4).upper() if plan.access == Access.panel else ""
    return stored(StudySettings(items_per_annotator=plan.items_per_annotator, codes=Codes(finished=code)))


def _free_slug(session: Session, title: str) -> str:
    base = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40] or "study"
    taken = set(session.scalars(select(Study.slug).where(Study.slug.startswith(base, autoescape=True))))
    return next(slug for n in range(1, len(taken) + 2) if (slug := base if n == 1 else f"{base}-{n}") not in taken)


def _write_criteria(session: Session, study: Study, rubric: Rubric) -> dict[str, int]:
    """Rows of the criteria asked in this round, with their options; returns key → id."""
    ids = {}
    for position, criterion in enumerate(rubric.asked(study.round)):
        scale = criterion.scale
        low, high, step = _range(scale)
        row = Criterion(
            study_id=study.id,
            position=position,
            key=criterion.key,
            title=criterion.title,
            kind=scale.kind,
            level=scale.level,
            about=criterion.about,
            low=low,
            high=high,
            step=step,
        )
        session.add(row)
        session.flush()
        ids[criterion.key] = row.id
        if isinstance(scale, Choice):
            options = enumerate(scale.options)
            session.add_all(
                Option(criterion_id=row.id, position=n, key=o.key, title=o.title, missing=o.missing) for n, o in options
            )
    return ids


def _range(scale: Any) -> tuple[float | None, float | None, float | None]:
    if isinstance(scale, Likert):
        return scale.values[0], scale.values[-1], None
    if isinstance(scale, Number):
        return scale.low, scale.high, scale.step
    return None, None, None


def _write_items(session: Session, study: Study, items: Sequence[ItemDraft], purpose: str = Purpose.main) -> list[int]:
    """Bulk rows for items, turns, systems and candidates; returns the items' ids in order."""
    if not items:
        return []
    systems = _write_systems(session, study, (c.system for item in items for c in item.candidates))
    ranks = random.Random(f"{study.seed}|{purpose}").sample(range(len(items)), len(items))  # noqa: S311 (an order, no secret)
    rows = [_item_row(study, item, rank, purpose) for item, rank in zip(items, ranks, strict=True)]
    ids = list(session.scalars(insert(Item).returning(Item.id, sort_by_parameter_order=True), rows))
    turns = [
        {"item_id": item_id, "position": n, "speaker": turn.speaker, "text": turn.text}
        for item_id, item in zip(ids, items, strict=True)
        for n, turn in enumerate(item.context_turns)
    ]
    if turns:
        session.execute(insert(Turn), turns)
    session.execute(
        insert(Candidate),
        [_candidate_row(i, systems, c) for i, item in zip(ids, items, strict=True) for c in item.candidates],
    )
    return ids


def _write_systems(session: Session, study: Study, names: Iterable[str]) -> dict[str, int]:
    """Rows of systems not there yet, numbered in a random order; returns name → id."""
    known = {s.name: s.id for s in session.scalars(select(System).where(System.study_id == study.id))}
    fresh = sorted(set(names) - set(known))
    codes = list(range(len(known) + 1, len(known) + len(fresh) + 1))
    random.Random(f"{study.seed}|systems").shuffle(codes)  # noqa: S311 (an order, no secret)
    for name, code in zip(fresh, codes, strict=True):
        system = System(study_id=study.id, name=name, blind_code=code)
        session.add(system)
        session.flush()
        known[name] = system.id
    return known


def _item_row(study: Study, item: ItemDraft, rank: int, purpose: str) -> dict[str, Any]:
    content = [item.context_text, item.context_turns, item.extra_texts, [(c.text, c.turns) for c in item.candidates]]
    return {
        "study_id": study.id,
        "external_id": item.external_id,
        "purpose": purpose,
        "context": item.context_text or "",
        "meta": dict(item.meta),
        "extra_texts": dict(item.extra_texts),
        "sha256": content_hash(content),
        "raters": study.raters_per_item,
        "taken": 0,
        "priority": 0,
        "rank": rank,
        "retired": False,
    }


def _candidate_row(item_id: int, systems: dict[str, int], candidate: CandidateDraft) -> dict[str, Any]:
    turns = [[turn.speaker, turn.text] for turn in candidate.turns] if candidate.turns else None
    return {
        "item_id": item_id,
        "system_id": systems[candidate.system],
        "text": candidate.text,
        "turns": turns,
        "sha256": content_hash([candidate.text, turns]),
    }


def content_hash(content: Any) -> str:
    """SHA-256 of texts as imported, to compare with what was shown."""
    text = json.dumps(content, ensure_ascii=False, default=lambda turn: [turn.speaker, turn.text])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _write_training(session: Session, study: Study, rubric: Rubric, criteria: dict[str, int]) -> None:
    ids = _write_items(session, study, [_training_draft(item) for item in rubric.training], Purpose.training)
    for item_id, item in zip(ids, rubric.training, strict=True):
        for reference in item.references:
            if reference.criterion in criteria:
                session.add(
                    Reference(
                        item_id=item_id,
                        position=None if reference.slot is None else "ABCDEF".index(reference.slot),
                        criterion_id=criteria[reference.criterion],
                        accepted=str(reference.value),
                        close=reference.close,
                        reason=reference.reason,
                    )
                )


def _training_draft(item: TrainingItem) -> ItemDraft:
    turns = () if isinstance(item.context, str) else item.context
    return ItemDraft(
        external_id=f"training:{item.key}",
        context_text=item.context if isinstance(item.context, str) else None,
        context_turns=tuple(turns),
        candidates=tuple(
            CandidateDraft(f"{TRAINING_SYSTEM} {n}", c.text, tuple(c.turns) or None)
            for n, c in enumerate(item.candidates, 1)
        ),
        meta=dict(item.meta),
        extra_texts={},
        row=0,
    )


def set_state(session: Session, study: Study, state: StudyState, actor: str) -> None:
    """Opens, pauses or closes. Raises Conflict for a step that does not exist."""
    study = lock(session, study.id)
    if state not in ALLOWED_NEXT[StudyState(study.state)]:
        raise Conflict(f"A study that is {study.state} cannot become {state}.")
    old, study.state = study.state, state
    study.paused_at = clock.now() if state == StudyState.paused else None
    if state == StudyState.open and study.opened_at is None:
        study.opened_at = clock.now()
        study.design_hash = _design_hash(session, study)
    session.flush()
    events.record(session, study.id, f"study {state}", actor, old={"state": old}, new={"state": state})


def _design_hash(session: Session, study: Study) -> str:
    """Hash of rubric, items and settings as they stand when the study opens."""
    rubric = session.get_one(RubricText, study.rubric_id)
    items = select(Item.external_id, Item.sha256).where(Item.study_id == study.id).order_by(Item.external_id)
    design = [rubric.sha256, study.presentation, study.raters_per_item, study.round, study.settings, study.seed]
    return content_hash([*design, [list(row) for row in session.execute(items)]])


def unblind(session: Session, study: Study, actor: str) -> None:
    """Shows system names to all leads of the study from now on, and says so in the log."""
    study = lock(session, study.id)
    if study.unblinded_at is not None:
        return
    study.unblinded_at = clock.now()
    session.flush()
    events.record(session, study.id, "unblinded", actor, new={"after_events": events.last_number(session, study.id)})


def by_slug(session: Session, slug: str) -> Study:
    """The study. Raises NotFound."""
    found = session.scalars(_BY_SLUG, {"slug": slug}).first()
    if found is None:
        raise NotFound(f"There is no study called {slug!r}.")
    return found


def for_lead(session: Session, who: Who) -> list[Study]:
    """The studies this lead runs, and the demo studies, newest first."""
    led = select(Membership.study_id).where(Membership.person_id == who.person_id, Membership.role == Role.lead)
    return list(session.scalars(select(Study).where(Study.demo | Study.id.in_(led)).order_by(Study.id.desc())))


def led_by(session: Session, who: Who, slug: str) -> Study:
    """The study, if this person leads it. Raises NotFound, whether it does not exist or is someone else's."""
    found = next((study for study in for_lead(session, who) if study.slug == slug), None)
    if who.role != Role.lead or found is None:
        raise NotFound(f"You lead no study called {slug!r}.")
    return found


def for_annotator(session: Session, person_id: int) -> list[Study]:
    """The studies this person annotates in, newest first; drafts are not shown."""
    own = select(Membership.study_id).where(Membership.person_id == person_id, Membership.role == Role.annotator)
    return list(
        session.scalars(
            select(Study).where(Study.id.in_(own), Study.state != StudyState.draft).order_by(Study.id.desc())
        )
    )


def open_to_all(session: Session) -> list[Study]:
    """Studies that anybody who reaches this server may join with a name."""
    wanted = select(Study).where(Study.state == StudyState.open, Study.access == Access.open)
    return list(session.scalars(wanted.order_by(Study.demo, Study.id.desc())))


def refuse_unless_writable(study: Study) -> None:
    """Raises StudyNotOpen if nothing may be stored now; a paused study takes what is on screen for 30 minutes."""
    match study.state:
        case StudyState.open:
            return
        case StudyState.paused if study.paused_at and (clock.now() - study.paused_at).total_seconds() < 1800:
            return
        case StudyState.paused:
            raise StudyNotOpen("This study is paused. Your work on this item is kept as it is.")
        case _:
            raise StudyNotOpen("This study is closed. What you wrote is kept; ask the lead if it should still count.")


def delete_demo(session: Session) -> int:
    """Removes every demo study with all that belongs to it; returns how many."""
    ids = list(session.scalars(select(Study.id).where(Study.demo)))
    session.execute(delete(Study).where(Study.id.in_(ids)))
    return len(ids)


def create_from_file(session: Session, plan: Plan, rubric_yaml: str, file: ItemFile, who: Who) -> Study:
    """Makes a draft study of this lead from an uploaded file, with all its items or not at all.

    Raises NotAllowed for anybody but a lead or an unusable plan, InvalidRubric, and ImportRefused if the file has an
    error or fits the rubric nowhere.
    """
    if who.role != Role.lead:
        raise NotAllowed("Only a lead can make a study.")
    _refuse_unusable(plan)
    rubric = parse_rubric(rubric_yaml)
    if not rubric.asked(plan.round):
        raise InvalidRubric(f"This rubric asks nothing in a {plan.round} round. Choose another round.")
    if not file.ok:
        raise ImportRefused("The file still has errors, so nothing was imported. Correct them and upload it again.")
    return create_study(session, plan, rubric_yaml, file.items, who.pseudonym, who.person_id)


def _refuse_unusable(plan: Plan) -> None:
    if not plan.title.strip() or len(plan.title) > LONGEST_TITLE or not plan.title.isprintable():
        raise NotAllowed(f"A study needs a title of 1 to {LONGEST_TITLE} characters on one line.")
    if not 1 <= plan.raters_per_item <= MOST_RATERS:
        raise NotAllowed(f"An item is rated by 1 to {MOST_RATERS} annotators.")
    if plan.items_per_annotator is not None and plan.items_per_annotator < 1:
        raise NotAllowed("The most items for one annotator must be at least 1; leave it empty for no limit.")


def misfits(rubric: Rubric, file: ItemFile) -> list[str]:
    """What a lead should know about a file beside this rubric, in sentences; none of it forbids the import."""
    known = {name for speaker in rubric.speakers for name in speaker.names}
    strangers = [speaker for speaker in file.speakers if known and speaker not in known]
    candidates = [candidate for item in file.items for candidate in item.candidates]
    texts = sum(candidate.turns is None for candidate in candidates)
    shown_fields = {*rubric.context.show, *([rubric.context.stars] if rubric.context.stars else [])}
    given_fields = {name for item in file.items for name in item.meta}
    given_texts = {name for item in file.items for name in item.extra_texts}
    found = []
    if strangers:
        names = ", ".join(f"'{name}'" for name in strangers)
        found.append(f"The rubric does not name the speakers {names}; they appear under these names, on the left.")
    if rubric.judged == "conversation" and texts:
        found.append(
            f"The rubric judges whole conversations, but {texts} of {len(candidates)} candidates are one text."
        )
    if rubric.judged == "response" and texts < len(candidates):
        found.append(f"The rubric judges single responses, but {len(candidates) - texts} candidates are conversations.")
    for name in sorted(shown_fields - given_fields):
        found.append(f"The rubric shows the field '{name}' beside the responses, but no item has it.")
    for name in sorted(set(rubric.context.extra_texts) - given_texts):
        found.append(f"The rubric shows the text '{name}' beside the responses, but no item has it.")
    return found


@dataclass(frozen=True)
class StudyLine:
    """A study in the lead's list: finished annotations of the places all items have, and who takes part."""

    study: Study
    done: int
    expected: int
    annotators: int


def lines_for_lead(session: Session, who: Who) -> list[StudyLine]:
    """The lead's studies and the demo studies, newest first, counted as the results count them.

    Simulated annotators count in demo studies only, excluded ones nowhere.
    """
    listed = for_lead(session, who)
    places = select(Item.study_id, func.sum(Item.raters)).where(Item.purpose == Purpose.main, ~Item.retired)
    expected = _per_study(session, places.group_by(Item.study_id))
    counts = (
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
    finished = members.join(
        Assignment, (Assignment.study_id == Membership.study_id) & (Assignment.person_id == Membership.person_id)
    ).join(Item, Item.id == Assignment.item_id)
    finished = finished.where(
        Assignment.purpose == Purpose.main,
        Assignment.state.in_([AssignmentState.submitted, AssignmentState.ignored]),
        ~Item.retired,
    )
    done = _per_study(session, finished.group_by(Membership.study_id))
    return [
        StudyLine(study, done.get(study.id, 0), expected.get(study.id, 0), annotators.get(study.id, 0))
        for study in listed
    ]


def _per_study(session: Session, counted: Select[tuple[int, int]]) -> dict[int, int]:
    return {study_id: int(number) for study_id, number in session.execute(counted)}

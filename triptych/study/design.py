"""The design of a study: edited freely while it is a draft, frozen at launch, amended with a reason afterwards.

An amendment must leave every existing rating valid, so it never changes the rubric, the way responses appear, or a text
that someone may have read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import case, func, select, update
from sqlmodel import Session

from triptych.errors import Conflict, ImportRefused, NotAllowed
from triptych.formats.model import ItemFile
from triptych.formats.names import seen_as, spelled
from triptych.rubric.files import parse_rubric
from triptych.stats.numbers import counted, first_words
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import (
    CHECK_PURPOSES,
    Access,
    Assignment,
    Candidate,
    Event,
    EventDetail,
    Item,
    JsonObject,
    Purpose,
    RubricText,
    Study,
    System,
    Turn,
)
from triptych.storage.models import StudyState as State
from triptych.study import contents, copies, lifecycle
from triptych.study.check_items import add_check_items, sorted_out
from triptych.study.settings import Pay, changed, settings_of, stored

# recorded in the log with the parts that an amendment changed
SEALS = ("design_hash", "systems_seal", "systems_hash", "reason")
# settings that are columns of the study
COLUMNS = ("title", "raters_per_item", "access", "round", "presentation")
LONGEST_REASON = 500
NO_REASON = "A change after launch needs a reason: it is printed in the reports."
FIXED = {
    "round": "The round cannot change after launch. Duplicate the study as its next round instead.",
    "presentation": "How responses appear cannot change after launch: earlier ratings would not be comparable.",
    "overlap": "The overlap subset cannot change after launch: its items are already being rated.",
    "item_order": "The order of items cannot change after launch: people are already working through it.",
    "formats": "How texts are shown cannot change after launch: highlights and ratings refer to what was seen.",
    "preregistration": "A preregistration records what was decided before launch, so it cannot change afterwards.",
    "expertise": "Who the annotators are cannot change after launch: the test of a judge depends on it.",
    "group_field": "The field that groups items cannot change after launch: every interval and test depends on it.",
}
RUBRIC_FIXED = "The rubric cannot change after launch: ratings refer to its criteria. Duplicate the study instead."
NAMES_ITEMS = (
    "This study is a copy of one that is still blind, and new items would show which system has which name. Before the "
    "original is unblinded, only the lead who made it can add items, or all items of a draft can be replaced."
)
ITEMS_FIXED = "Items cannot be replaced after launch. Add new ones, or retire some with a reason."


@dataclass(frozen=True)
class Parts:
    """Changes to a design; None and empty values change nothing.

    settings     fields of StudySettings by name, each replaced as a whole
    new_codes    create completion codes where there are none
    items        a file of items to add, or to replace all items
    retire       ids of items that are no longer assigned; in a draft they are deleted
    """

    title: str | None = None
    raters_per_item: int | None = None
    access: str | None = None
    round: str | None = None
    presentation: str | None = None
    settings: JsonObject = field(default_factory=dict)
    new_codes: bool = False
    rubric_yaml: str | None = None
    items: ItemFile | None = None
    replace_items: bool = False
    retire: tuple[str, ...] = ()

    @property
    def columns(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in COLUMNS if getattr(self, name) is not None}


def amend(session: Session, study: Study, parts: Parts, reason: str, actor: str) -> bool:
    """Change a draft, or amend a launched study; returns whether anything changed.

    Raises Conflict for parts that may no longer change, NotAllowed for invalid values and for an amendment
    without a reason, InvalidRubric and ImportRefused for a rubric or a file that cannot be used.
    """
    if parts.retire or parts.raters_per_item is not None:
        lock_items(session, study)
    study = lifecycle.lock(session, study.id)
    before, named = _snapshot(session, study), _existing_systems_named(session, study, parts)
    write(session, study, parts, reason, actor)
    after = _snapshot(session, study)
    different = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    different |= {"items"} if parts.items else set()
    if not different:
        return False
    old, new = ({name: side.get(name) for name in sorted(different)} for side in (before, after))
    new |= {"existing_systems_named": named} if named else {}
    if study.state == State.draft:
        events.record(session, study.id, EventKind.design_changed, actor, old=old, new=new)
    else:
        seal(session, study, reason, actor, old, new)
    return True


def _existing_systems_named(session: Session, study: Study, parts: Parts) -> int:
    """How many systems of a blind study a file of more items names: the lead knows the names or guessed them."""
    if parts.items is None or parts.replace_items or study.unblinded_at is not None:
        return 0
    names = session.scalars(select(System.name).where(System.study_id == study.id))
    return len({*names} & {*parts.items.systems})


def lock_items(session: Session, study: Study) -> None:
    """Locks a launched study's items, in one order, before the study: commands of annotators do, and would deadlock."""
    if study.state != State.draft:
        items = select(Item.id).where(Item.study_id == study.id).order_by(Item.id)
        session.execute(items.with_for_update(key_share=True)).all()


def write(session: Session, study: Study, parts: Parts, reason: str, actor: str) -> None:
    """Check and write changes to a locked study; the calling command records them. Raises as `amend`."""
    settings = _settings(study, parts)
    _refuse(session, study, parts, settings, actor)
    if study.state != State.draft and (_differs(study, parts, settings) or parts.items or parts.retire):
        _refuse_reason(reason)
    _write(session, study, parts, settings, reason, actor)
    session.flush()


def _settings(study: Study, parts: Parts) -> JsonObject:
    """The new settings; a study for a panel always has a completion code."""
    settings = changed(study, **parts.settings)
    of_panel = (parts.access or study.access) == Access.panel
    if parts.new_codes or (of_panel and not settings.codes.finished):
        settings = settings.model_copy(update={"codes": settings.codes.filled()})
    return stored(settings)


def seal(session: Session, study: Study, reason: str, actor: str, old: JsonObject, new: JsonObject) -> None:
    """Recompute the design hash of a launched study and log the amendment, after a command changed the design.

    Raises NotAllowed without a reason.
    """
    _refuse_reason(reason)
    session.flush()
    before, study.design_hash = study.design_hash, contents.design_hash(session, study)
    session.flush()
    seals = {"design_hash": study.design_hash, "systems_seal": contents.systems_seal(session, study)}
    old = {"design_hash": before, **old}
    new = {**seals, "reason": reason.strip(), **new}
    events.record(session, study.id, EventKind.design_amended, actor, old=old, new=new)


def _refuse_reason(reason: str) -> None:
    if not reason.strip():
        raise NotAllowed(NO_REASON)
    if len(reason) > LONGEST_REASON:
        raise NotAllowed(f"The reason has {len(reason)} characters; at most {LONGEST_REASON} are allowed.")


def _differs(study: Study, parts: Parts, settings: JsonObject) -> bool:
    return settings != stored(settings_of(study)) or any(
        value != getattr(study, name) for name, value in parts.columns.items()
    )


def _refuse(session: Session, study: Study, parts: Parts, settings: JsonObject, actor: str) -> None:
    """Checks all changes before any is written."""
    columns = {"title": study.title, "raters_per_item": study.raters_per_item, **parts.columns}
    lifecycle.refuse_unusable(columns["title"], columns["raters_per_item"])
    lifecycle.refuse_unknown(parts.columns)
    if study.state != State.draft:
        _refuse_after_launch(study, parts, settings)
    if parts.round is not None and parts.round != study.round:
        lifecycle.refuse_taken(session, study.series, parts.round)
    if parts.rubric_yaml is not None or parts.round is not None:
        _refuse_rubric(session, study, parts)
    if parts.items is not None:
        lifecycle.refuse_faulty(parts.items)
        if not parts.replace_items and copies.has_blind_original_of_others(session, study, actor):
            raise Conflict(NAMES_ITEMS)
        _refuse_repeated(session, study, parts.items, parts.replace_items)
    if parts.retire:
        _refuse_unknown(session, study, parts.retire)


def fixed(study: Study, name: str) -> str:
    """Why a setting cannot change after launch; "" if it can. Groups of items that were forgotten can be declared."""
    return "" if name == "group_field" and not settings_of(study).group_field else FIXED.get(name, "")


def _refuse_after_launch(study: Study, parts: Parts, settings: JsonObject) -> None:
    current = stored(settings_of(study))
    for name in FIXED:
        column = parts.columns.get(name)
        differs = (column is not None and column != getattr(study, name)) or settings.get(name) != current.get(name)
        if differs and (sentence := fixed(study, name)):
            raise Conflict(sentence)
    if parts.rubric_yaml is not None:
        raise Conflict(RUBRIC_FIXED)
    if parts.replace_items:
        raise Conflict(ITEMS_FIXED)
    if (parts.raters_per_item or study.raters_per_item) < study.raters_per_item:
        raise Conflict(
            f"An item has {counted(study.raters_per_item, 'annotator')} since launch; the number can only grow, as "
            "some items may have that many already."
        )


def _refuse_rubric(session: Session, study: Study, parts: Parts) -> None:
    present = lifecycle.design_of(session, study).rubric
    rubric = present if parts.rubric_yaml is None else parse_rubric(parts.rubric_yaml)
    study_round = parts.round or study.round
    lifecycle.refuse_silent(rubric, study_round)
    scales = {criterion.key: criterion.scale for criterion in rubric.asked(study_round)}
    references = {row.key for row in contents.references_of(session, study, *CHECK_PURPOSES)}
    unfit = sorted(key for key in references if scales.get(key) != present.criterion(key).scale)
    if unfit:
        raise Conflict(
            f"Check items have references for {', '.join(unfit)}, which this rubric lacks or asks on another scale. "
            "Remove these check items first."
        )
    if session.scalars(select(Assignment.id).where(Assignment.study_id == study.id).limit(1)).first():
        raise Conflict("An item of this draft has already been assigned. Cancel its workbooks first.")


def _refuse_repeated(session: Session, study: Study, file: ItemFile, replace_items: bool) -> None:
    ids = select(Item.external_id).where(Item.study_id == study.id)
    if replace_items:
        ids = ids.where(Item.purpose == Purpose.training)
    lookalikes = set(map(seen_as, session.scalars(ids)))
    twice = sorted(item.external_id for item in file.items if seen_as(item.external_id) in lookalikes)
    if twice:
        raise ImportRefused(f"The study already has items whose ids look like these: {first_words(twice, 5, ', ')}.")
    systems = {seen_as(name): name for name in session.scalars(select(System.name).where(System.study_id == study.id))}
    for name in () if replace_items else file.systems:
        # whatever the study's names are: a refusal of some spellings only would show which name was guessed
        if study.unblinded_at is None and name not in systems.values() and seen_as(name) != name:
            raise ImportRefused(
                f"{spelled(name)} has invisible characters, or letters in several parts. In a blind study only a name "
                "that it has already may be written like this."
            )
        if systems.get(seen_as(name), name) != name:
            raise ImportRefused(
                f"The study has a system that looks like {spelled(name)}, but is written differently. Use the same "
                f"spelling."
            )


def _refuse_unknown(session: Session, study: Study, ids: Sequence[str]) -> None:
    live = select(Item.external_id).where(Item.study_id == study.id, ~Item.retired, Item.purpose != Purpose.training)
    unknown = sorted(set(ids) - set(session.scalars(live)))
    if unknown:
        raise NotAllowed(
            f"The study has no items with these ids, or they are already retired: {', '.join(unknown[:5])}."
        )


def _snapshot(session: Session, study: Study) -> JsonObject:
    """The design, to compare it before and after a change: columns, settings, rubric and items."""
    columns = {name: getattr(study, name) for name in COLUMNS}
    settings = {name: value for name, value in stored(settings_of(study)).items() if name != "heds"}
    counts = select(func.count()).select_from(Item).where(Item.study_id == study.id, Item.purpose != Purpose.training)
    retired = select(Item.external_id).where(Item.study_id == study.id, Item.retired)
    return {
        **settings,
        **columns,
        "rubric": session.get_one(RubricText, study.rubric_id).sha256,
        "items": session.execute(counts).scalar_one(),
        "retired": sorted(session.scalars(retired)),
    }


def _write(session: Session, study: Study, parts: Parts, settings: JsonObject, reason: str, actor: str) -> None:
    new_round = parts.round is not None and parts.round != study.round
    for name, value in parts.columns.items():
        setattr(study, name, value.strip() if name == "title" else value)
    study.settings = settings
    if parts.rubric_yaml is not None or new_round:
        text = session.get_one(RubricText, study.rubric_id)
        text = contents.store_rubric(session, parts.rubric_yaml) if parts.rubric_yaml is not None else text
        if new_round or text.id != study.rubric_id:  # else its rows would get other numbers, and no event
            contents.rewrite_rubric(session, study, text)
    if parts.retire:
        _retire(session, study, parts.retire, reason)
    if parts.items is not None:
        if parts.replace_items:
            contents.remove_items(session, study, Item.purpose != Purpose.training)
        items, check_items = sorted_out(parts.items.items)
        contents.write_items(session, study, items)
        if check_items:
            add_check_items(session, study, check_items, actor)
        if study.state == State.draft:
            contents.number_systems(session, study)
    if parts.raters_per_item is not None:
        _spread_raters(session, study)
    main = select(func.count()).select_from(Item).where(Item.study_id == study.id, Item.purpose == Purpose.main)
    study.item_count = session.execute(main).scalar_one()


def _retire(session: Session, study: Study, ids: Sequence[str], reason: str) -> None:
    chosen = Item.external_id.in_(ids), Item.purpose != Purpose.training
    if study.state == State.draft:
        contents.remove_items(session, study, *chosen)
    else:
        values = {"retired": True, "retired_reason": reason.strip()}
        session.execute(update(Item).where(Item.study_id == study.id, *chosen).values(**values))


def taken_out(session: Session, study: Study) -> dict[str, int]:
    """Item → the number of the event of the amendment that took it out."""
    retiring = [amendment for amendment in _logged_amendments(session, study) if "retired" in amendment.after]
    return {
        item: amendment.number
        for amendment in retiring
        for item in {*amendment.after["retired"]} - {*amendment.before.get("retired", ())}
    }


def _spread_raters(session: Session, study: Study) -> None:
    """Set the study's number of raters for every main item; items of a launched study keep a larger number."""
    query = update(Item).where(Item.study_id == study.id, Item.purpose == Purpose.main)
    if study.state != State.draft:
        query = query.where(Item.raters < study.raters_per_item)
    session.execute(query.values(raters=study.raters_per_item))


@dataclass(frozen=True)
class ItemLine:
    """One item in a list; `begins`: the first words of its context."""

    external_id: str
    purpose: str
    begins: str
    candidates: int
    raters: int
    retired: str | None


def item_lines(session: Session, study: Study, limit: int = 500) -> list[ItemLine]:
    """The first items of the study in order of import, without training."""
    size = select(func.count()).where(Candidate.item_id == Item.id).scalar_subquery()
    first = select(Turn.text).where(Turn.item_id == Item.id, Turn.position == 0).scalar_subquery()
    begins = func.substr(func.coalesce(first, Item.context), 1, 120)
    retired = case((Item.retired, func.coalesce(Item.retired_reason, "")), else_=None)
    query = select(Item.external_id, Item.purpose, begins, size, Item.raters, retired)
    query = query.where(Item.study_id == study.id, Item.purpose != Purpose.training).order_by(Item.id).limit(limit)
    return [ItemLine(*row) for row in session.execute(query)]


def check_items(session: Session, study: Study) -> dict[str, int]:
    """How many gold and attention items the study has."""
    query = select(Item.purpose, func.count()).where(Item.study_id == study.id, ~Item.retired).group_by(Item.purpose)
    counts = dict(map(tuple, session.execute(query)))
    return {name: counts.get(name, 0) for name in ("gold", "attention")}


@dataclass(frozen=True)
class Amendment:
    """One change after launch: the number of its event, when, who (pseudonym), why, which parts, the hash of the design
    from then on, and what it replaced by what, where the log has that.
    """

    number: int
    at: datetime
    who: str
    reason: str
    parts: tuple[str, ...]
    design_hash: str
    before: JsonObject
    after: JsonObject


def amendments(session: Session, study: Study) -> list[Amendment]:
    """The study's amendments, oldest first."""
    events.write_pending(session)
    return _logged_amendments(session, study)


def _logged_amendments(session: Session, study: Study) -> list[Amendment]:
    """Without those of this transaction."""
    columns = select(Event.number, Event.at, Event.actor, EventDetail.old, EventDetail.new)
    query = columns.outerjoin(EventDetail, EventDetail.event_id == Event.id)
    rows = session.execute(
        query.where(Event.study_id == study.id, Event.kind == EventKind.design_amended).order_by(Event.number)
    )
    return [_amendment(number, at, who, old or {}, new or {}) for number, at, who, old, new in rows]


def earlier_pays(session: Session, study: Study) -> list[tuple[datetime, Pay]]:
    """The pay before each amendment of it, with the time of that, oldest first."""
    amended = [amendment for amendment in amendments(session, study) if "pay" in amendment.before]
    return [(amendment.at, Pay.model_validate(amendment.before["pay"] or {})) for amendment in amended]


def _amendment(number: int, at: datetime, who: str, old: JsonObject, new: JsonObject) -> Amendment:
    parts = tuple(name.replace("_", " ") for name in new if name not in SEALS)
    return Amendment(number, at, who, new.get("reason", "erased"), parts, new.get("design_hash", ""), old, new)

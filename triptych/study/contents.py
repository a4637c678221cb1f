"""The rows of a study's rubric and items: written when it is made, rewritten while it is a draft, hashed at launch."""

from __future__ import annotations

import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, delete, func, insert, select
from sqlmodel import Session

from triptych import clock
from triptych.errors import InvalidRubric, NotAllowed
from triptych.formats.model import MAX_SYSTEMS, CandidateDraft, ItemDraft, TurnDraft
from triptych.rubric.files import parse_rubric, text_hash
from triptych.rubric.model import MAX_CRITERIA, Rubric, RubricTurn, TrainingItem
from triptych.rubric.scales import Choice, Likert, NumberScale
from triptych.storage.database import wait_for_others
from triptych.storage.models import (
    Candidate,
    Item,
    JsonObject,
    Option,
    Person,
    PlannedItem,
    Purpose,
    Reference,
    RubricText,
    StoredCriterion,
    Study,
    System,
    Turn,
)
from triptych.storage.writes import add_numbered

TRAINING_SYSTEM = "worked example"


class ReferenceRow(NamedTuple):
    """An item's reference on one criterion: names of item and criterion, then the reference's columns."""

    external_id: str
    key: str
    position: int | None
    accepted: str
    close: float
    reason: str


def store_rubric(session: Session, yaml_text: str) -> RubricText:
    """The row with this text; a text that was stored before has its row already. Raises InvalidRubric."""
    sha256 = text_hash(yaml_text)
    rubric = parsed(yaml_text)
    wait_for_others(session, f"rubric {sha256}")
    row = session.scalars(select(RubricText).where(RubricText.sha256 == sha256)).first()
    if row is None:
        if len(rubric.criteria) > MAX_CRITERIA:  # rubrics of earlier versions may have more
            raise InvalidRubric(f"{len(rubric.criteria)} criteria; a rubric has at most {MAX_CRITERIA}.")
        row = RubricText(key=rubric.key, sha256=sha256, yaml=yaml_text, loaded_at=clock.now())
        session.add(row)
        session.flush()
    return row


@lru_cache(maxsize=64)
def parsed(yaml_text: str) -> Rubric:
    return parse_rubric(yaml_text)


def write_criteria(session: Session, study: Study, rubric: Rubric) -> None:
    """Rows of the criteria asked in this round, with their options."""
    for criterion, options in criteria_asked(rubric, study.round):
        row = StoredCriterion(study_id=study.id, **criterion)
        session.add(row)
        session.flush()
        session.add_all(Option(criterion_id=row.id, **option) for option in options)


def criteria_asked(rubric: Rubric, study_round: str) -> list[tuple[JsonObject, list[JsonObject]]]:
    """The columns of each criterion asked in this round, and of its options, without row numbers."""
    criteria = []
    for position, criterion in enumerate(rubric.asked(study_round)):
        scale = criterion.scale
        low, high, step = _range(scale)
        options = enumerate(scale.options if isinstance(scale, Choice) else ())
        row = {
            "position": position,
            **criterion.model_dump(include={"key", "title", "about"}),
            **{"kind": scale.kind, "level": scale.level, "low": low, "high": high, "step": step},
        }
        named = [{"position": n, "key": o.key, "title": o.title, "missing": o.missing} for n, o in options]
        criteria.append((row, named))
    return criteria


def stored_criteria(session: Session, study: Study) -> list[tuple[JsonObject, list[JsonObject]]]:
    """The same, as stored."""
    query = select(StoredCriterion).where(StoredCriterion.study_id == study.id).order_by(StoredCriterion.position)
    of_study = select(Option).join(StoredCriterion).where(StoredCriterion.study_id == study.id)
    options = defaultdict(list)
    for row in session.scalars(of_study.order_by(Option.position)):
        options[row.criterion_id].append(row.model_dump(exclude={"id", "criterion_id"}))
    return [(row.model_dump(exclude={"id", "study_id"}), options[row.id]) for row in session.scalars(query)]


def _range(scale: object) -> tuple[float | None, float | None, float | None]:
    if isinstance(scale, Likert):
        return scale.values[0], scale.values[-1], None
    if isinstance(scale, NumberScale):
        return scale.low, scale.high, scale.step
    return None, None, None


def write_items(session: Session, study: Study, items: Sequence[ItemDraft], purpose: str = Purpose.main) -> None:
    """Bulk rows for items, turns, systems and candidates."""
    if not items:
        return
    systems = _write_systems(session, study, (c.system for item in items for c in item.candidates))
    same = select(func.max(Item.rank)).where(Item.study_id == study.id, Item.purpose == purpose)
    last = session.execute(same).scalar()
    begin = 0 if last is None else last + 1  # items added later come after existing ones
    ranks = random.Random(f"{study.seed}|{purpose}").sample(range(begin, begin + len(items)), len(items))  # noqa: S311 (an order, no secret)
    rows = [_item_row(study, item, rank, purpose) for item, rank in zip(items, ranks, strict=True)]
    ids = add_numbered(session, Item, rows)
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


def _write_systems(session: Session, study: Study, names: Iterable[str]) -> dict[str, int]:
    """Rows of systems not there yet, numbered in a random order; returns name → id. Raises NotAllowed for too many."""
    ids = {s.name: s.id for s in session.scalars(select(System).where(System.study_id == study.id))}
    fresh = sorted(set(names) - set(ids))
    top = session.execute(select(func.max(System.blind_code)).where(System.study_id == study.id)).scalar() or 0
    if fresh and top + len(fresh) > MAX_SYSTEMS:  # studies of earlier versions may have more
        raise NotAllowed(f"The study would have {top + len(fresh):,} systems; at most {MAX_SYSTEMS} can be compared.")
    codes = list(range(top + 1, top + len(fresh) + 1))
    _order_of_systems(study).shuffle(codes)
    for name, code in zip(fresh, codes, strict=True):
        system = System(study_id=study.id, name=name, blind_code=code)
        session.add(system)
        session.flush()
        ids[name] = system.id
    return ids


def _order_of_systems(study: Study) -> random.Random:
    """A draw that no later change repeats: other names in the same order would show which of the present ones is first
    in the alphabet.
    """
    return random.Random(f"{study.seed}|systems{study.event_number or ''}")  # noqa: S311 (an order, no secret)


def _item_row(study: Study, item: ItemDraft, rank: int, purpose: str) -> dict[str, object]:
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
        "rank": rank,
    }


def _candidate_row(item_id: int, systems: dict[str, int], candidate: CandidateDraft) -> dict[str, object]:
    turns = [[turn.speaker, turn.text] for turn in candidate.turns] if candidate.turns else None
    return {
        "item_id": item_id,
        "system_id": systems[candidate.system],
        "text": candidate.text,
        "turns": turns,
        "sha256": content_hash([candidate.text, turns]),
    }


def content_hash(content: object) -> str:
    """SHA-256 of texts as imported, to compare with what was shown."""
    text = json.dumps(content, ensure_ascii=False, default=lambda turn: [turn.speaker, turn.text])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def write_training(session: Session, study: Study, rubric: Rubric) -> None:
    drafts = [training_draft(item) for item in rubric.training]
    write_items(session, study, drafts, Purpose.training)
    rows = [
        ReferenceRow(draft.external_id, r.criterion, r.position, str(r.value), r.close, r.reason)
        for draft, item in zip(drafts, rubric.training, strict=True)
        for r in item.references
    ]
    write_references(session, study, rows)


def training_draft(item: TrainingItem) -> ItemDraft:
    return ItemDraft(
        external_id=f"training:{item.key}",
        context_text=item.context if isinstance(item.context, str) else None,
        context_turns=() if isinstance(item.context, str) else _turn_drafts(item.context),
        candidates=tuple(
            CandidateDraft(f"{TRAINING_SYSTEM} {n}", c.text, _turn_drafts(c.turns) or None)
            for n, c in enumerate(item.candidates, 1)
        ),
        meta=dict(item.meta),
        extra_texts={},
        row=0,
    )


def _turn_drafts(turns: Iterable[RubricTurn]) -> tuple[TurnDraft, ...]:
    return tuple(TurnDraft(turn.speaker, turn.text) for turn in turns)


def rewrite_rubric(session: Session, study: Study, text: RubricText) -> None:
    """Rewrites criteria and training items of a draft for another rubric, or another round.

    References of other items are kept if the new rubric has a criterion with the same key.
    """
    rubric = parsed(text.yaml)
    references = references_of(session, study, *(set(Purpose) - {Purpose.training}))
    session.execute(delete(StoredCriterion).where(StoredCriterion.study_id == study.id))
    session.execute(delete(Item).where(Item.study_id == study.id, Item.purpose == Purpose.training))
    study.rubric_id = text.id
    session.flush()
    write_criteria(session, study, rubric)
    write_references(session, study, references)
    write_training(session, study, rubric)


def write_references(session: Session, study: Study, rows: Iterable[ReferenceRow]) -> None:
    """Writes references from `references_of`; those for items or criteria that the study lacks are ignored."""
    items = dict(map(tuple, session.execute(select(Item.external_id, Item.id).where(Item.study_id == study.id))))
    keys = select(StoredCriterion.key, StoredCriterion.id).where(StoredCriterion.study_id == study.id)
    criteria = dict(map(tuple, session.execute(keys)))
    session.add_all(
        Reference(item_id=items[item], criterion_id=criteria[key], position=at, accepted=good, close=near, reason=why)
        for item, key, at, good, near, why in rows
        if item in items and key in criteria
    )
    session.flush()


def _references(study: Study) -> Select[str, str, int | None, str, float, str]:
    """item, criterion, position, accepted, close, reason: the references of items, in a fixed order."""
    columns = (getattr(Reference, name) for name in ("position", "accepted", "close", "reason"))
    query = select(Item.external_id, StoredCriterion.key, *columns).join(Item, Item.id == Reference.item_id)
    query = query.join(StoredCriterion, StoredCriterion.id == Reference.criterion_id)
    return query.where(Item.study_id == study.id).order_by(Item.external_id, StoredCriterion.key, Reference.position)


def references_of(session: Session, study: Study, *purposes: Purpose) -> list[ReferenceRow]:
    """The references of the items of these purposes."""
    return [ReferenceRow(*row) for row in session.execute(_references(study).where(Item.purpose.in_(purposes)))]


def remove_items(session: Session, study: Study, *which: ColumnElement[bool]) -> None:
    """Remove these items of a draft, with systems that no other item has, and renumber the other systems."""
    session.execute(delete(Item).where(Item.study_id == study.id, *which))
    used = select(Candidate.system_id).join(Item).where(Item.study_id == study.id)
    session.execute(delete(System).where(System.study_id == study.id, System.id.not_in(used)))
    number_systems(session, study)


def number_systems(session: Session, study: Study) -> None:
    """Renumbers the systems of a draft in a random order, as if all had been imported at once."""
    candidates = select(Candidate.system_id).join(Item)
    of_items = set(session.scalars(candidates.where(Item.study_id == study.id, Item.purpose != Purpose.training)))
    stored = session.scalars(select(System).where(System.study_id == study.id))
    systems = sorted(stored, key=lambda system: system.name)  # not by the database: each sorts texts differently
    judged = [system for system in systems if system.id in of_items]
    codes = list(range(1, len(judged) + 1))
    _order_of_systems(study).shuffle(codes)
    others = [system for system in systems if system.id not in of_items]
    numbered = [*zip(judged, codes, strict=True), *zip(others, range(len(judged) + 1, len(systems) + 1), strict=True)]
    # first moved above all numbers in use: two systems must never have the same number
    for system, code in numbered:
        system.blind_code = code + 2 * len(systems) + max((system.blind_code for system in systems), default=0)
    session.flush()
    for system, code in numbered:
        system.blind_code = code
    session.flush()


def stored_items(
    session: Session,
    study: Study,
    purpose: Purpose = Purpose.main,
    limit: int | None = None,
    *,
    by_number: bool = False,
) -> list[ItemDraft]:
    """The items as drafts, in the order of import, without retired ones; their `row` counts from 1.

    limit: at most so many items. by_number: responses in the order of their systems' numbers, for everything that leads
    see while they are blind: the order in the file would tell which system is which.
    """
    query = select(Item).where(Item.study_id == study.id, Item.purpose == purpose, ~Item.retired).order_by(Item.id)
    items = list(session.scalars(query.limit(limit)))
    last = items[-1].id if items else 0
    among = select(Item.id).where(Item.study_id == study.id, Item.purpose == purpose, Item.id <= last)
    turns, candidates = defaultdict(list), defaultdict(list)
    for turn in session.scalars(select(Turn).where(Turn.item_id.in_(among)).order_by(Turn.item_id, Turn.position)):
        turns[turn.item_id].append(TurnDraft(turn.speaker, turn.text))
    named = select(Candidate, System.name).join(System).where(Candidate.item_id.in_(among))
    for candidate, system in session.execute(named.order_by(System.blind_code if by_number else Candidate.id)):
        spoken = tuple(TurnDraft(*turn) for turn in candidate.turns) if candidate.turns else None
        candidates[candidate.item_id].append(CandidateDraft(system, candidate.text, spoken))
    return [
        ItemDraft(
            external_id=item.external_id,
            context_text=None if turns[item.id] else item.context,
            context_turns=tuple(turns[item.id]),
            candidates=tuple(candidates[item.id]),
            meta=dict(item.meta),
            extra_texts=dict(item.extra_texts),
            row=row,
        )
        for row, item in enumerate(items, 1)
    ]


APART = ("heds", "annotator_groups", "viewers_read_explanations")


def design_hash(
    session: Session, study: Study, former: Mapping[str, str] | None = None, sorted_by_database: bool = False
) -> str:
    """Hash of everything that determines who is asked what: rubric, items, references, settings and plan.

    The datasheet's answers and the groups of annotators only describe the study and are left out. former: pseudonym →
    the person's pseudonym when the hash was computed. sorted_by_database: as versions before 0.2.0 computed it.
    """
    rubric = session.get_one(RubricText, study.rubric_id)
    settings = {name: value for name, value in sorted(study.settings.items()) if name not in APART}
    columns = (study.title, study.access, study.presentation, study.raters_per_item, study.round, study.seed)
    items = select(Item.external_id, Item.sha256, Item.purpose, Item.raters, Item.priority, Item.retired)
    plan = select(Person.pseudonym, Item.external_id, PlannedItem.rank)
    plan = plan.join(Person, Person.id == PlannedItem.person_id).join(Item, Item.id == PlannedItem.item_id)
    parts = (
        (items.where(Item.study_id == study.id).order_by(Item.external_id), 1),
        (_references(study), 2),
        (plan.where(PlannedItem.study_id == study.id).order_by(Person.pseudonym, Item.external_id), 2),
    )
    rows = [_sorted(session, part, 0 if sorted_by_database else texts) for part, texts in parts]
    if former:
        rows[-1] = sorted([former.get(name, name), *place] for name, *place in rows[-1])
    return content_hash([rubric.sha256, columns, settings, rows])


def systems_seal(session: Session, study: Study) -> str:
    """Hash of which system wrote which candidate, the only part of the items that their own hashes leave out.

    With the study's seed, which nobody sees before unblinding: the log shows the hash, and names can be guessed.
    """
    return content_hash([study.seed, _sorted(session, _authorship(study), 3)])


def systems_hash(session: Session, study: Study, sorted_by_database: bool = False) -> str:
    """The same without the seed, as versions before 0.2.0 logged it."""
    return content_hash(_sorted(session, _authorship(study), 0 if sorted_by_database else 1))


def _authorship(study: Study) -> Select[str, str, str]:
    query = select(Item.external_id, System.name, Candidate.sha256).join(Candidate, Candidate.item_id == Item.id)
    query = query.join(System, System.id == Candidate.system_id).where(Item.study_id == study.id)
    return query.order_by(Item.external_id, Candidate.id)


def _sorted(session: Session, query: Select[*tuple[Any, ...]], texts: int) -> list[list[Any]]:
    """The rows of the query, sorted by so many first columns in the order of code points.

    A database sorts texts by its own rules, and a hash must be the same after a move to another.
    """
    return sorted((list(row) for row in session.execute(query)), key=lambda row: row[:texts])

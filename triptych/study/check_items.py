"""Attention and gold items from a file: their references, read and stored with the items."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import select
from sqlmodel import Session

from triptych.errors import MAX_MISTAKES, ImportRefused, InvalidAnnotation, first_lines
from triptych.formats.layout import CHECK_META
from triptych.formats.model import ItemDraft
from triptych.formats.values import typed_number
from triptych.rubric.model import LETTERS, Rubric
from triptych.rubric.scales import Choice, as_typed
from triptych.stats.numbers import first_words
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import CHECK_PURPOSES, Item, Purpose, RubricText, Study
from triptych.study import contents
from triptych.study.contents import ReferenceRow


class Expected(BaseModel):
    """A reference of a check item; without a slot, a criterion about candidates has the same reference for all."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True, str_strip_whitespace=True)

    criterion: str
    slot: str | None = Field(default=None, pattern=f"^[{LETTERS}]$")
    accepted: str = Field(min_length=1)
    close: float = Field(default=0, ge=0, allow_inf_nan=False)
    reason: str = ""


@dataclass(frozen=True)
class CheckDraft:
    """An attention or gold item as a file gives it."""

    item: ItemDraft
    purpose: Purpose
    references: tuple[Expected, ...]


REFERENCE = re.compile(
    rf"(?P<criterion>[a-z][a-z0-9_]*)(?:\s+(?P<slot>[{LETTERS}]))?\s*=\s*(?P<accepted>[^±;()\n]+?)"
    r"(?:\s*(?:±|\+/?-)\s*(?P<close>[\d.]+))?(?:\s*\((?P<reason>[^\n]*)\))?"
)
UNKNOWN_CRITERIA = (
    "References of check items name {strange}, but the criteria of the rubric are {known}. If you write the questions "
    "next, create the study without these items, and add them under Setup, Items, afterwards."
)
MAX_PARTS = 500_000  # of all references, which become objects; an item with one for each answer has some hundred
EXAMPLE = "Write for example: fluency A = 6 ± 1; verdict B = accept | unsure (both do)."


def sorted_out(items: Sequence[ItemDraft]) -> tuple[list[ItemDraft], list[CheckDraft]]:
    """(main items, check items); the fields `purpose` and `reference` make an item an attention or gold item.

    A reference is `criterion slot = accepted ± close (reason)`, several separated by `;` or on separate lines, or a
    JSON list of objects with these names. Raises ImportRefused with a line for each item that does not fit.
    """
    main, checks, wrong = [], [], []
    parts = 0
    for item in items:
        purpose, reference = item.meta.get("purpose", "").strip(), item.meta.get("reference")
        bare = replace(item, meta={name: value for name, value in item.meta.items() if name not in CHECK_META})
        if purpose in CHECK_PURPOSES:
            parts += sum(map((reference or "").count, "{[,;\n"))
            if parts > MAX_PARTS:
                raise ImportRefused(f"The references of check items have more than {MAX_PARTS:,} parts in all.")
            try:
                checks.append(CheckDraft(bare, Purpose(purpose), _read_references(reference or "")))
            except ValueError as error:
                wrong.append(f"Item {item.external_id}: {error}")
        elif purpose == Purpose.main:
            main.append(bare)
        elif purpose and reference:
            wrong.append(f"Item {item.external_id}: the purpose {purpose!r} is not main, gold or attention.")
        else:
            main.append(item)  # the file uses these field names for something else
    _refuse_wrong(wrong)
    return main, checks


def _refuse_wrong(lines: Sequence[str]) -> None:
    """Raise ImportRefused with these lines, if there are any; a page that shows a hundred thousand takes seconds."""
    if lines:
        raise ImportRefused(*first_lines(lines, MAX_MISTAKES))


def _read_references(text: str) -> tuple[Expected, ...]:
    """The references in the text of a field. Raises ValueError for an invalid one."""
    if text.lstrip().startswith("["):
        try:
            return tuple(Expected.model_validate(reference) for reference in json.loads(text))
        except (ValidationError, RecursionError, ValueError) as error:
            raise ValueError(
                f"the reference is not a list of criterion, slot, accepted, close, reason. {EXAMPLE}"
            ) from error
    # with single spaces, since the pattern may begin or end a part of it at each of several
    parts = [" ".join(part.split()) for part in re.split(r"[;\n]", text) if part.strip()]
    matches = [match for match in map(REFERENCE.fullmatch, parts) if match]
    if not matches or len(matches) < len(parts):
        raise ValueError(f"the reference cannot be read. {EXAMPLE}")
    try:
        return tuple(Expected(**{k: v for k, v in match.groupdict().items() if v is not None}) for match in matches)
    except ValidationError as error:
        raise ValueError(f"the reference cannot be read. {EXAMPLE}") from error


def require_criteria(rubric: Rubric, drafts: Sequence[CheckDraft]) -> None:
    """Raises ImportRefused if a reference is about a criterion that the rubric does not have."""
    known = {criterion.key for criterion in rubric.criteria}
    strange = {expected.criterion for draft in drafts for expected in draft.references} - known
    if strange:
        named = first_words(sorted(strange), MAX_MISTAKES, ", ")
        raise ImportRefused(UNKNOWN_CRITERIA.format(strange=named, known=", ".join(sorted(known))))


def add_check_items(session: Session, study: Study, drafts: Sequence[CheckDraft], actor: str) -> None:
    """Adds attention and gold items to a study, all or none. For leads; after launch, called by `design.amend`.

    Existing ratings stay valid: annotators still at work get the new items, those who have finished do not.
    Raises ImportRefused with a line for each reference that does not fit.
    """
    study = events.locked_study(session, study.id)
    text = session.get_one(RubricText, study.rubric_id)
    rubric = contents.parsed(text.yaml)
    taken_ids = set(session.scalars(select(Item.external_id).where(Item.study_id == study.id)))
    rows, wrong = [], []
    for draft in drafts:
        if draft.item.external_id in taken_ids:
            wrong.append(f"Item {draft.item.external_id}: the study already has an item with this id.")
        taken_ids.add(draft.item.external_id)
        try:
            rows += _reference_rows(rubric, study.round, draft)
        except InvalidAnnotation as error:
            wrong.append(f"Item {draft.item.external_id}: {error}")
    _refuse_wrong(wrong)
    for purpose in CHECK_PURPOSES:
        contents.write_items(session, study, [draft.item for draft in drafts if draft.purpose == purpose], purpose)
    contents.write_references(session, study, rows)
    ids = sorted(draft.item.external_id for draft in drafts)
    events.record(session, study.id, EventKind.check_items_added, actor, new={"items": ids})


def _reference_rows(rubric: Rubric, study_round: str, draft: CheckDraft) -> list[ReferenceRow]:
    """The rows of one item's references. Raises InvalidAnnotation for criteria or values not in the rubric."""
    if not draft.references:
        raise InvalidAnnotation(f"It has no reference. {EXAMPLE}")
    rows = []
    for reference in draft.references:
        criterion = rubric.criterion(reference.criterion)
        if not criterion.asked_in(study_round):
            raise InvalidAnnotation(f"{reference.criterion!r} is not asked in a {study_round} round.")
        accepted = _on_scale(criterion.scale, reference)
        places: Sequence[int | None] = (
            range(len(draft.item.candidates)) if reference.slot is None else [LETTERS.index(reference.slot)]
        )
        if not criterion.per_response:
            places = [None]
        if any(place is not None and place >= len(draft.item.candidates) for place in places):
            raise InvalidAnnotation(f"There is no candidate {reference.slot}; it has {len(draft.item.candidates)}.")
        rows += [
            ReferenceRow(
                draft.item.external_id, reference.criterion, place, accepted, reference.close, reference.reason
            )
            for place in places
        ]
    if len({(row.key, row.position) for row in rows}) < len(rows):
        raise InvalidAnnotation("One criterion has two references for the same candidate.")
    return rows


def _on_scale(scale: Any, reference: Expected) -> str:
    """The accepted values as stored. Raises InvalidAnnotation for a value off the scale."""
    parts = [part.strip() for part in reference.accepted.split("|")]
    if isinstance(scale, Choice):
        return "|".join(scale.check(part) for part in parts)
    number = typed_number(reference.accepted)
    if number is None:
        raise InvalidAnnotation(f"{reference.accepted!r} is not a number.")
    if scale.kind == "best":
        if number not in (0, 1):
            raise InvalidAnnotation("For the best response the reference is 1 (chosen) or 0 (not chosen).")
        return as_typed(number)
    return as_typed(scale.check(number))

"""Checks texts and design against the hashes stored when they were imported and frozen.

Every version has logged these hashes, so they also cover content that older logs do not record otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import select
from sqlmodel import Session

from triptych.rubric.files import text_hash
from triptych.storage.arrivals import arrivals, origin
from triptych.storage.models import Candidate, Item, RubricText, Study, Turn
from triptych.study import contents

BATCH = 300


def grouped(rows: Iterable[Any]) -> dict[int, list[Any]]:
    """Rows grouped by their first column, which is removed."""
    groups: dict[int, list[Any]] = defaultdict(list)
    for first, *row in rows:
        groups[first].append(row)
    return groups


def of_texts(session: Session, study: Study) -> Iterator[str]:
    """Problems with items: a context, further text or response that differs from the import."""
    ids = list(session.scalars(select(Item.id).where(Item.study_id == study.id).order_by(Item.id)))
    named = Item.id, Item.external_id, Item.context, Item.extra_texts, Item.sha256
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        turns = select(Turn.item_id, Turn.speaker, Turn.text).where(Turn.item_id.in_(batch)).order_by(Turn.position)
        responses = select(Candidate.item_id, Candidate.text, Candidate.turns, Candidate.sha256)
        spoken = grouped(session.execute(turns))
        candidates = grouped(session.execute(responses.where(Candidate.item_id.in_(batch)).order_by(Candidate.id)))
        for item_id, name, context, extra, sha256 in session.execute(
            select(*named).where(Item.id.in_(batch)).order_by(Item.id)
        ):
            yield from _of_item(name, context, spoken[item_id], extra, candidates[item_id], sha256)


def _of_item(
    name: str, context: str, turns: list[Any], extra: dict[str, str], candidates: list[Any], sha256: str
) -> Iterator[str]:
    changed = [digest for text, spoken, digest in candidates if contents.content_hash([text, spoken]) != digest]
    for _ in changed:
        yield f"A response of item {name} differs from the text that was imported."
    responses = [[text, spoken] for text, spoken, _ in candidates]
    contexts = [None] if turns else [context] if context else ["", None]
    if not changed and all(contents.content_hash([content, turns, extra, responses]) != sha256 for content in contexts):
        yield f"Item {name} differs from what was imported: its context, a further text or its responses were changed."


def of_design(session: Session, study: Study, logged: tuple[dict[str, Any], int] | None) -> Iterator[str]:
    """Problems with the rubric's text and with everything whose hash was logged at launch or by the last amendment."""
    rubric = session.get_one(RubricText, study.rubric_id)
    if text_hash(rubric.yaml) != rubric.sha256:
        yield "The rubric differs from the text that was loaded."
    if logged is None:
        return
    recorded, number = logged
    if "design_hash" not in recorded:
        yield f"The hash of the design is missing from the log (event {number})."
    elif study.design_hash != recorded["design_hash"]:
        yield f"The study's design hash differs from the one in the log (event {number})."
    elif not _fits(recorded["design_hash"], contents.design_hash, session, study, _former(session, study, number)):
        yield f"Settings, items, accepted answers or plan differ from those that were frozen (event {number})."
    differs = f"The assignment of responses to systems differs from what was frozen (event {number})."
    if "systems_seal" in recorded and contents.systems_seal(session, study) != recorded["systems_seal"]:
        yield differs
    if "systems_hash" in recorded and not _fits(recorded["systems_hash"], contents.systems_hash, session, study):
        yield differs


def _fits(recorded: str, compute: Callable[..., str], *about: object) -> bool:
    """Whether this is the hash, as it is computed now or as versions before 0.2.0 computed it on this database."""
    return recorded in (compute(*about, sorted_by_database=order) for order in (False, True))


def _former(session: Session, study: Study, number: int) -> Mapping[str, str]:
    """Current pseudonym → pseudonym when this event was logged."""
    return origin(arrivals(session, study.id), number).former

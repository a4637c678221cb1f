"""An annotator's own items, numbered in the order shown. Hidden checks and repeats look like other items."""

from __future__ import annotations

from datetime import datetime
from statistics import mean
from typing import Any

from sqlalchemy import case, func, or_, select
from sqlmodel import Session

from triptych.annotate import progress
from triptych.annotate.blinding import Seen
from triptych.annotate.outcomes import HowItEnded, ItemState, outcomes_of
from triptych.annotate.reservations import own_assignments
from triptych.formats.texts.markdown import visible_text
from triptych.rubric.model import Rubric
from triptych.storage.models import SEEN, WORK, Assignment, AssignmentState, Item, Origin, Study, Turn
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import formats_of

BEGINS = 60  # characters
MARKUP = 4  # raw characters to read for each visible character


class OwnItem(Seen):
    """One item of the list. state: `open` until submitted. reason: why it was left out, as shown on the screen."""

    number: int
    token: str
    state: ItemState
    reason: str
    noted: bool
    begins: str
    at: datetime | None
    seconds: float


class OwnItems(Seen):
    """The list and the annotator's progress. seconds_per_item: their mean so far, None before the first."""

    items: tuple[OwnItem, ...]
    done: int
    total: int
    minutes_left: int | None
    seconds_per_item: float | None


def own_items(session: Session, study: Study, who: Who) -> OwnItems:
    """All items assigned to this person in the study and not released, oldest first."""
    at_screen = (Assignment.state == AssignmentState.reserved) & (Assignment.origin == Origin.web)
    shown = own_assignments() & Assignment.purpose.in_(WORK) & or_(Assignment.state.in_(SEEN), at_screen)
    first_turn = select(Turn.text).where(Turn.item_id == Item.id, Turn.position == 0).scalar_subquery()
    begins = func.substr(func.coalesce(func.nullif(Item.context, ""), first_turn), 1, MARKUP * BEGINS)
    # the note of a submitted item is a column; all drafts together may be long
    draft = case((Assignment.state == AssignmentState.reserved, Assignment.draft))
    query = select(Assignment.id, Assignment.token, Assignment.state, draft.label("draft"), begins.label("begins"))
    ordered = query.join(Item, Item.id == Assignment.item_id).where(shown).order_by(Assignment.id)
    own = {"study": study.id, "person": who.person_id}
    rows = session.execute(ordered, own).all()
    outcomes = outcomes_of(session, [row.id for row in rows if row.state != AssignmentState.reserved])
    rubric = lifecycle.design_of(session, study).rubric
    is_markdown = formats_of(study).context == "markdown"
    items = tuple(_item(number, row, outcomes.get(row.id), rubric, is_markdown) for number, row in enumerate(rows, 1))
    done = progress.of_work(session, study, who)
    seconds = [item.seconds for item in items if item.state != ItemState.open]
    return OwnItems(
        items=items,
        done=done.done,
        total=done.total,
        minutes_left=done.minutes_left,
        seconds_per_item=mean(seconds) if seconds else None,
    )


def _item(number: int, row: Any, outcome: HowItEnded | None, rubric: Rubric, is_markdown: bool) -> OwnItem:
    begins = row.begins or ""
    note = outcome.note if outcome else (row.draft or {}).get("note")
    return OwnItem(
        number=number,
        token=row.token,
        state=outcome.state if outcome else ItemState.open,
        reason=outcome.reason_in(rubric) if outcome else "",
        noted=bool(note),
        begins=shortened(visible_text(begins) if is_markdown else begins),
        at=outcome.at if outcome else None,
        seconds=round(outcome.seconds) if outcome else 0,
    )


def shortened(begins: str) -> str:
    """The first words of a text on one line; begins: its beginning, longer than what is shown."""
    text = " ".join(begins[: BEGINS + 1].split())
    return text if len(begins) <= BEGINS else f"{text[:BEGINS].rsplit(' ', 1)[0]} …"

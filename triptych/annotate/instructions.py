"""The page before the first item: what is judged and how, generated from the rubric and the study's own texts."""

from __future__ import annotations

from statistics import median

from sqlalchemy import String, cast, func, select
from sqlmodel import Session

from triptych.annotate import onboarding, progress
from triptych.annotate.blinding import Seen, Titled, rubric_in
from triptych.languages import language
from triptych.languages.language import _
from triptych.people.membership import membership_of
from triptych.storage.models import RATED, Assignment, Candidate, Item, JsonObject, Purpose, Study, Turn
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import settings_of, written_amount

MIN_TIMED = 10  # annotations; before them the time is estimated from the texts
CHARACTERS_PER_MINUTE = 1400  # silent reading, 238 words of English a minute (Brysbaert 2019)
SECONDS_PER_ANSWER = 5
ESCAPE, ESCAPED = "\\u", 6  # how JSON begins a letter that is not ASCII, and the characters that it takes


class Instructions(Seen):
    """What the page shows. minutes: time for one item, None if unknown; pay: pay for one item, empty if none is set.

    changed: the annotator has read an earlier version. own: the study's own texts.
    """

    language: str
    version: str
    changed: bool
    study: str
    own: tuple[Titled, ...]
    contact: str
    rubric: JsonObject
    items: int
    minutes: float | None
    pay: str
    training: int


def instructions_for(session: Session, study: Study, who: Who) -> Instructions:
    """The page for this person. Raises NotFound for somebody who is not an annotator of the study."""
    membership, settings = membership_of(session, study, who), settings_of(study)
    rubric = lifecycle.design_of(session, study).rubric.in_language(language.used())
    seen = rubric_in(rubric, study)
    notes = [text for text in (rubric.content_note, settings.content_note) if text]
    own = {_("From the lead of the study"): settings.instructions, _("Please note"): "\n\n".join(notes)}
    pay = settings.pay
    return Instructions(
        language=language.used(),
        version=onboarding.wording_of(study),
        changed=membership.instructions_read_at is not None,
        study=study.title,
        own=tuple(Titled(title=title, text=text) for title, text in own.items() if text),
        contact=settings.contact,
        rubric={**seen, "guidelines": rubric.model_dump(include={"guidelines"})["guidelines"]},
        items=progress.of_work(session, study, who).total,
        minutes=minutes_per_item(session, study),
        pay=f"{written_amount(pay.per_item)} {pay.currency}" if pay.per_item else "",
        training=len(rubric.training),
    )


def minutes_per_item(session: Session, study: Study) -> float | None:
    """Median active time of the annotations so far; while there are too few, an estimate from the texts' length."""
    rated = (Assignment.study_id == study.id) & (Assignment.purpose == Purpose.main) & Assignment.state.in_(RATED)
    seconds = session.scalars(select(Assignment.active_seconds).where(rated, Assignment.active_seconds > 0)).all()
    if len(seconds) >= MIN_TIMED:
        return median(seconds) / 60
    main = (Item.study_id == study.id) & (Item.purpose == Purpose.main) & ~Item.retired
    turns = cast(Candidate.turns, String)
    escaped = (func.length(turns) - func.length(func.replace(turns, ESCAPE, ""))) // len(ESCAPE)
    length = func.coalesce(func.length(Candidate.text), func.length(turns) - (ESCAPED - 1) * escaped)
    texts = select(func.count(), func.sum(length)).select_from(Candidate).join(Item).where(main)
    candidates, characters = session.execute(texts).one()
    items, of_contexts = session.execute(select(func.count(), func.sum(func.length(Item.context))).where(main)).one()
    of_turns = session.execute(select(func.sum(func.length(Turn.text))).join(Item).where(main)).scalar()
    if not items:
        return None
    read = ((characters or 0) + (of_contexts or 0) + (of_turns or 0)) / items / CHARACTERS_PER_MINUTE
    asked = lifecycle.design_of(session, study).rubric.asked(study.round)
    answers = sum(candidates / items if criterion.about == "candidate" else 1 for criterion in asked)
    return read + answers * SECONDS_PER_ANSWER / 60

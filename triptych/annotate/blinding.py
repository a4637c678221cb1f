"""What an annotator's browser may receive: the blinded view, field by field.

Letters stand for slots, a token for the assignment. No system, no file name, no database id, no tag of a reason and
no reference score has a field here, unknown fields are refused, and of a rubric the fields listed here are sent, so
nothing else can be.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel, ConfigDict
from sqlalchemy import Integer, Select, bindparam, case, exists, func, or_, select
from sqlalchemy.orm import aliased
from sqlmodel import Session

from triptych.annotate import progress
from triptych.annotate.checks import in_words
from triptych.annotate.outcomes import outcomes_of
from triptych.annotate.reservations import Assigned, own_assignments
from triptych.languages import language
from triptych.languages.language import _
from triptych.rubric.answers import complete_in_turn, letter, parse_answers
from triptych.rubric.model import RatedItem, Rubric
from triptych.storage.models import (
    BEFORE_WORK,
    SEEN,
    WORK,
    Assignment,
    Candidate,
    Item,
    JsonObject,
    Purpose,
    Slot,
    Study,
    Turn,
)
from triptych.study.persons import Who
from triptych.study.settings import Formats, settings_of

LONGEST_MEAN_WORD = 12  # characters, with its space; a text above it separates no words

# items before the main work are counted separately
PROGRESS = {Purpose.training: progress.of_training, Purpose.entry_test: progress.of_test}
# the parts of a rubric that are sent unchanged
SEEN_AS_IT_IS = {
    *("title", "summary", "instructions", "language", "judged", "content_note", "guidelines", "explanation"),
    *("highlights", "skip", "ignore_item", "set_aside_response"),
}


SEEN_OF_ASK = {"reasons": {"__all__": {"key", "text"}}, "free_text": True}
SEEN_OF_CRITERION: dict[str, Any] = {
    **dict.fromkeys(("key", "title", "question", "definition", "note", "about", "required", "examples"), True),
    "scale": {
        **dict.fromkeys(("kind", "low", "high", "step", "unit", "low_title", "high_title"), True),
        **dict.fromkeys(("sparing_note", "none_option"), True),
        "points": {"__all__": {"value": True, "title": True, "definition": True, "sparing": True, "ask": SEEN_OF_ASK}},
        "options": {"__all__": {"key": True, "title": True, "definition": True, "apart": True, "ask": SEEN_OF_ASK}},
    },
}


class Seen(BaseModel):
    """Base of everything that travels to an annotator's browser."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SeenStudy(Seen):
    """The study's settings for the workbench.

    arrangement: whether the annotator may choose how responses are shown; mark_unit: what a selection is extended to at
    first; longest_words: words of the study's longest response, None if not known.
    """

    title: str
    formats: Formats
    arrangement: str = "choice"
    mark_unit: str = "letters"
    longest_words: int | None = None


class Work(Seen):
    token: str
    version: int
    draft_seq: int
    store_key: str
    state: str
    purpose: str
    active_seconds: float
    can_go_back: bool
    receipt: str | None
    number: int
    outcome: str
    reason: str


class SeenProgress(Seen):
    done: int
    total: int
    minutes_left: int | None


class SeenTurn(Seen):
    speaker: str
    side: str
    text: str


class Fact(Seen):
    title: str
    value: str


class Titled(Seen):
    title: str
    text: str


class SeenContext(Seen):
    title: str
    text: str | None
    turns: tuple[SeenTurn, ...]
    stars: float | None
    facts: tuple[Fact, ...]
    extra_texts: tuple[Titled, ...]


class SeenCandidate(Seen):
    letter: str
    text: str | None
    turns: tuple[SeenTurn, ...]


class SeenItem(Seen):
    context: SeenContext | None
    candidates: tuple[SeenCandidate, ...]


class Notice(Seen):
    kind: str
    text: str


class FeedbackRow(Seen):
    criterion: str
    slot: str | None
    given: str
    reference: str
    verdict: str
    reason: str


class Feedback(Seen):
    rows: tuple[FeedbackRow, ...]


class Routes(Seen):
    draft: str = "desk/draft"
    renew: str = "desk/renew"
    act: str = "desk/act"
    items: str = "desk/items"


class View(Seen):
    """The blinded view of one assignment."""

    study: SeenStudy
    work: Work
    progress: SeenProgress
    rubric: JsonObject
    item: SeenItem
    draft: JsonObject | None
    notice: Notice | None = None
    feedback: Feedback | None = None
    routes: Routes = Routes()


def view(
    session: Session,
    study: Study,
    rubric: Rubric,
    assignment: Assigned,
    who: Who,
    *,
    receipt: str | None = None,
    feedback: Feedback | None = None,
    notice: Notice | None = None,
    answers: object = None,
) -> View:
    """The blinded view of this person's assignment.

    In succession, the view contains only the responses that may be read by now, judged by `answers` or, without them,
    by the stored draft. Raises InvalidAnnotation if `answers` do not fit.
    """
    rubric = rubric.in_language(language.used())
    done = PROGRESS.get(assignment.purpose, progress.of_work)(session, study, who)
    is_work = assignment.purpose in WORK
    number = done.done + (assignment.submitted_at is None)
    if is_work and assignment.submitted_at:
        number = _number(session, study, who, assignment)
    outcome = outcomes_of(session, [assignment.id]).get(assignment.id) if assignment.submitted_at else None
    return View(
        study=_seen_study(session, study),
        work=Work(
            token=assignment.token,
            version=assignment.version,
            draft_seq=assignment.draft_seq,
            store_key=store_key(assignment.token, who),
            state="reserved" if assignment.submitted_at is None else "submitted",
            # checks look like other items
            purpose=assignment.purpose if assignment.purpose in BEFORE_WORK else Purpose.main,
            active_seconds=outcome.seconds if outcome else assignment.active_seconds,
            can_go_back=number > 1 and assignment.purpose not in BEFORE_WORK,
            receipt=receipt,
            number=number,
            outcome=outcome.state if outcome else "",
            reason=outcome.reason_in(rubric) if outcome else "",
        ),
        progress=SeenProgress(done=done.done, total=done.total, minutes_left=done.minutes_left),
        rubric=_cached_rubric(rubric, study, trained=assignment.purpose != Purpose.training),
        item=_in_turn(
            seen_item(session, rubric, study.round, assignment), study, rubric, assignment, answers or assignment.draft
        ),
        draft=assignment.draft,
        notice=notice,
        feedback=feedback,
    )


def _number(session: Session, study: Study, who: Who, assignment: Assigned) -> int:
    """The number of a submitted item among the person's items, in the order they were shown."""
    shown = own_assignments() & Assignment.purpose.in_(WORK) & Assignment.state.in_(SEEN)
    query = select(func.count()).where(shown, Assignment.id <= assignment.id)
    return session.execute(query, {"study": study.id, "person": who.person_id}).scalar_one()


_longest: dict[tuple[int, str, str, str], int | None] = {}


def _seen_study(session: Session, study: Study) -> SeenStudy:
    """The study's settings for the workbench; the longest response is looked up once per process.

    It determines the layout, which must not change between items.
    """
    name = _name(study)
    if name not in _longest:
        _longest[name] = session.scalar(_longest_words(study))
    settings = settings_of(study)
    return SeenStudy(
        title=study.title,
        formats=settings.formats,
        arrangement=settings.arrangement,
        mark_unit=settings.mark_unit,
        longest_words=_longest[name],
    )


def _longest_words(study: Study) -> Select[int]:
    """Words of the longest response, counted in SQL by spaces; without spaces, two characters count as a word."""
    characters = func.length(Candidate.text)
    spaced = characters - func.length(func.replace(Candidate.text, " ", "")) + 1
    words = case((characters > LONGEST_MEAN_WORD * spaced, characters // 2), else_=spaced)
    return select(func.max(words)).join(Item, Item.id == Candidate.item_id).where(Item.study_id == study.id)


def _in_turn(item: SeenItem, study: Study, rubric: Rubric, assignment: Assigned, draft: object) -> SeenItem:
    """The item without the texts of responses that open later."""
    candidates = item.candidates
    if study.presentation != "succession" or len(candidates) < 2 or assignment.submitted_at is not None:
        return item
    opened = complete_in_turn(rubric, study.round, len(candidates), parse_answers(draft or {})) + 1
    later = tuple(candidate.model_copy(update={"text": None, "turns": ()}) for candidate in candidates[opened:])
    return item.model_copy(update={"candidates": candidates[:opened] + later})


def store_key(token: str, who: Who) -> str:
    """Opaque name of the draft stored in the browser: a part for the person, a full stop, a part for the assignment."""
    person = hashlib.blake2b(who.pseudonym.encode(), digest_size=8).hexdigest()
    return f"{person}.{hashlib.blake2b(f'{who.pseudonym}|{token}'.encode(), digest_size=12).hexdigest()}"


def store_keys(session: Session, study: Study, who: Who) -> list[str]:
    """The names of all drafts of this person in the study."""
    own = (Assignment.study_id == study.id) & (Assignment.person_id == who.person_id)
    return [store_key(token, who) for token in session.scalars(select(Assignment.token).where(own))]


def _name(study: Study) -> tuple[int, str, str, str]:
    """Of the study's design, in caches; its number, since an imported study can have all else of another one."""
    return study.id, study.created_at.isoformat(), study.seed, study.design_hash or ""


MAX_RUBRICS = 100  # of a process; each changed wording is another one
_rubrics: dict[tuple[tuple[int, str, str, str], str, str, str, bool], JsonObject] = {}


def _cached_rubric(rubric: Rubric, study: Study, *, trained: bool) -> JsonObject:
    """`rubric_in`, cached per process: the result is the same for all items until the study's own texts change."""
    words = repr((_own_words(study), _content_note(rubric, study)))
    name = (_name(study), study.presentation, language.used(), words, trained)
    seen = _rubrics.get(name)
    if seen is None:
        for oldest in list(_rubrics)[: 1 - MAX_RUBRICS]:
            _rubrics.pop(oldest, None)
        seen = _rubrics[name] = rubric_in(rubric, study, trained=trained)
    return seen


def rubric_in(rubric: Rubric, study: Study, *, trained: bool = False) -> JsonObject:
    """The parts of the rubric that annotators of this study see, with the study's own texts added.

    trained: training is over, so its items may be read again with the scores that were shown as feedback.
    """
    seen = seen_rubric(rubric, study.round, study.presentation)
    guidelines = [*_own_words(study), *seen["guidelines"]]
    training = [rated_example(rubric, study.round, item) for item in rubric.training] if trained else []
    note = _content_note(rubric, study)
    return {**seen, "content_note": note, "guidelines": guidelines, "training": training}


def rated_example(rubric: Rubric, study_round: str, item: RatedItem) -> JsonObject:
    """An item as annotators see it, with its scores for the criteria of this round in the words of the screen."""
    asked = {criterion.key: criterion.title for criterion in rubric.asked(study_round)}
    scores = [
        {
            "criterion": asked[reference.criterion],
            "slot": reference.slot,
            "score": in_words(rubric, reference.criterion, reference.value),
            "reason": reference.reason,
        }
        for reference in item.references
        if reference.criterion in asked
    ]
    seen = seen_unstored(rubric, study_round, item, item.context, {})
    return {**seen.model_dump(mode="json"), "scores": scores}


def seen_unstored(
    rubric: Rubric, study_round: str, item: Any, context: str | Sequence[Any], extra_texts: dict[str, str]
) -> SeenItem:
    """An item that is not in the database, as annotators would see it; item: has meta and candidates, in their order.

    context: a text, or turns.
    """
    text, turns = (context, ()) if isinstance(context, str) else ("", context)
    shown = SimpleNamespace(context=text, meta=item.meta, extra_texts=extra_texts)
    slots = [(n, candidate.text, _spoken(candidate.turns or ())) for n, candidate in enumerate(item.candidates)]
    return as_seen(rubric, study_round, shown, _spoken(turns), slots)


def _spoken(turns: Iterable[Any]) -> list[tuple[str, str]]:
    return [(turn.speaker, turn.text) for turn in turns]


def _content_note(rubric: Rubric, study: Study) -> str:
    """The note on distressing content and who to contact about it; empty where there is no such note."""
    own = settings_of(study)
    notes = [text for text in (rubric.content_note, own.content_note) if text]
    return "\n\n".join([*notes, own.contact]).rstrip() if notes else ""


def _own_words(study: Study) -> list[dict[str, str]]:
    """The study's own texts before the first item, available again at every item."""
    own = settings_of(study)
    parts = {_("This study"): own.instructions, _("Please note"): own.content_note, _("Questions?"): own.contact}
    return [{"title": title, "text": text} for title, text in parts.items() if text]


def seen_rubric(rubric: Rubric, study_round: str, presentation: str) -> JsonObject:
    """The parts of a rubric that annotators see; reasons lose their tags, training and test stay behind."""
    criteria = [criterion.model_dump(include=SEEN_OF_CRITERION) for criterion in rubric.asked(study_round)]
    example = rubric.worked_example and rated_example(rubric, study_round, rubric.worked_example)
    as_it_is = rubric.model_dump(include=SEEN_AS_IT_IS)
    # from the untranslated parts only what is shown: the others contain the reasons of the entry test
    untranslated = sorted(rubric.untranslated & set(_texts_in([as_it_is, criteria])))
    wording = {"wording": rubric.wording, "untranslated": untranslated}
    return {**as_it_is, **wording, "presentation": presentation, "criteria": criteria, "worked_example": example}


def _texts_in(part: object) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict | list | tuple):
        for each in part.values() if isinstance(part, dict) else part:
            yield from _texts_in(each)


def seen_item(session: Session, rubric: Rubric, study_round: str, assignment: Assigned | Assignment) -> SeenItem:
    """Context and candidates of an assignment, as its annotator may see them."""
    run = session.connection().execute
    shown = run(_item_rows(), {"assignment": assignment.id, "item": assignment.item_id}).all()
    item = shown[0]
    turns = run(_turn_rows(), {"item": assignment.item_id}) if item.has_turns else ()
    context_turns = [(speaker, text) for speaker, text in turns]
    slots = [(position, text, spoken or []) for position, text, spoken, *_ in shown if position is not None]
    return as_seen(rubric, study_round, item, context_turns, slots)


@cache  # for every item shown, see `storage.writes`
def _item_rows() -> Select[*tuple[Any, ...]]:
    """A row for each slot; one row without a slot where imported ratings are about the item only."""
    of_assignment, other = bindparam("assignment", type_=Integer), aliased(Slot)
    first_position = select(func.min(other.position)).where(other.assignment_id == of_assignment).scalar_subquery()
    is_first = or_(Slot.position.is_(None), Slot.position == first_position)
    has_turns = exists().where(Turn.item_id == Item.id)
    return (
        select(
            Slot.position,
            Candidate.text,
            Candidate.turns,
            # the item's columns, in one row only: its context may be long
            case((is_first, Item.context)).label("context"),
            case((is_first, Item.meta)).label("meta"),
            case((is_first, Item.extra_texts)).label("extra_texts"),
            case((is_first, has_turns)).label("has_turns"),
        )
        .select_from(Item)
        .outerjoin(Slot, Slot.assignment_id == of_assignment)
        .outerjoin(Candidate, Candidate.id == Slot.candidate_id)
        .where(Item.id == bindparam("item"))
        .order_by(Slot.position)
    )


@cache
def _turn_rows() -> Select[str, str]:
    return select(Turn.speaker, Turn.text).where(Turn.item_id == bindparam("item")).order_by(Turn.position)


def as_seen(
    rubric: Rubric, study_round: str, item: Any, context_turns: list[tuple[str, str]], slots: Iterable[Any]
) -> SeenItem:
    """An item as annotators see it.

    item: has context, meta and extra_texts; slots: each has position, text and turns.
    """
    return SeenItem(
        context=_context(rubric, study_round, item, context_turns),
        candidates=tuple(
            SeenCandidate(letter=letter(position), text=text, turns=_turns(rubric, spoken))
            for position, text, spoken in slots
        ),
    )


def _turns(rubric: Rubric, turns: Iterable[tuple[str, str]]) -> tuple[SeenTurn, ...]:
    """The turns, with the speakers' names on screen; an unknown speaker keeps the name from the file."""
    speakers = {name: speaker for speaker in rubric.speakers for name in speaker.names}
    return tuple(
        SeenTurn(
            speaker=speakers[name].title if name in speakers else name,
            side=speakers[name].side if name in speakers else "left",
            text=text,
        )
        for name, text in turns
    )


def _context(rubric: Rubric, study_round: str, item: Any, turns: list[tuple[str, str]]) -> SeenContext | None:
    shown = rubric.context
    extras = [title for title in shown.extras(study_round) if item.extra_texts.get(title)]
    if not item.context and not turns and not extras:
        return None
    return SeenContext(
        title=shown.title,
        text=item.context or None,
        turns=_turns(rubric, turns),
        stars=_stars(item.meta.get(shown.stars) if shown.stars else None),
        facts=tuple(
            Fact(title=name.replace("_", " ").capitalize(), value=str(item.meta[name]))
            for name in shown.show
            if item.meta.get(name)
        ),
        extra_texts=tuple(Titled(title=title, text=str(item.extra_texts[title])) for title in extras),
    )


def _stars(value: object) -> float | None:
    """Zero to five stars, or none if the file has another value."""
    try:
        stars = float(str(value).replace(",", "."))
    except ValueError:
        return None
    return stars if 0 <= stars <= 5 else None

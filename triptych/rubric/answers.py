"""One annotator's answers for one item, checked against the rubric. Pure: no database, no screen.

The browser's draft names slots by letter and keeps an explanation per option, so that changing an answer back brings
its text back; only the explanation of the chosen option counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from triptych.errors import InvalidAnnotation, first_mistake
from triptych.languages.language import _, message
from triptych.rubric.model import LETTERS, Criterion, Rubric
from triptych.rubric.scales import Ask, Best, Choice, Value, shown
from triptych.rubric.wording import length_in_words

WHOLE_ITEM, CONTEXT = "item", "context"
MAX_TEXT = 10_000
MAX_HIGHLIGHTS = 200  # of an annotation; a withdrawal records all that remain in one transaction
MAX_EARLIER_HIGHLIGHTS = 1000  # that drafts of earlier versions may have
# PostgreSQL cannot store NUL, and no keyboard types one
Text = Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(lambda text: text.replace("\x00", ""))]
Name = Annotated[str, Field(max_length=60)]
MarkUnit = Literal["letters", "words"]
Arrangement = Literal["side_by_side", "one_at_a_time"]  # of the responses of an item


def letter(position: int) -> str:
    """By which a response is called; a number where an import compares more responses than there are letters."""
    return LETTERS[position] if 0 <= position < len(LETTERS) else f"{position + 1}"


def place_in_words(position: int | None) -> str:
    """What a rating or a highlight is about."""
    return "the item" if position is None else f"Response {letter(position)}"


class DraftPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DraftExplanation(DraftPart):
    reasons: list[Name] = Field(default=[], max_length=40)
    text: Text = ""


class DraftHighlight(DraftPart):
    """A marked passage. `slot` is the letter of a response, or "context".

    `unit` is what the selection was extended to (such as words); None in a draft of an earlier version.
    """

    slot: Name
    turn: int | None = Field(default=None, ge=0, strict=True)
    start: int = Field(ge=0, strict=True)
    end: int = Field(ge=1, strict=True)
    label: Name
    comment: Text = ""
    unit: MarkUnit | None = None


class Answers(DraftPart):
    """A draft as the browser holds it."""

    ratings: dict[Name, dict[Name, Any]] = {}
    explanations: dict[Name, dict[Name, dict[Name, DraftExplanation]]] = {}
    highlights: list[DraftHighlight] = Field(default=[], max_length=MAX_EARLIER_HIGHLIGHTS)
    set_aside: dict[Name, Name] = {}
    note: Text = ""


class CheckedRating(NamedTuple):
    """One answer, as it is stored; logs contain it as a list in this order. Position None: about the item.

    Unless missing, exactly one of number and option is set.
    """

    position: int | None
    criterion: str
    number: float | None
    option: str | None
    missing: bool
    reasons: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class CheckedAnswers:
    """The answers to be stored; the position of a highlight is None in the context."""

    ratings: tuple[CheckedRating, ...]
    highlights: tuple[tuple[int | None, DraftHighlight], ...]
    set_aside: dict[int, str]
    note: str


def parse_answers(data: object) -> Answers:
    """The typed draft. Raises InvalidAnnotation naming the part that is invalid."""
    try:
        return Answers.model_validate(data)
    except ValidationError as error:
        raise InvalidAnnotation(f"The answers do not fit at {first_mistake(error, 'their whole')}.") from error


def parse_explanation(data: object) -> DraftExplanation:
    """The typed explanation. Raises as `parse_answers`."""
    try:
        return DraftExplanation.model_validate(data)
    except ValidationError as error:
        raise InvalidAnnotation(f"The explanation does not fit at {first_mistake(error, 'its whole')}.") from error


def check_draft(rubric: Rubric, study_round: str, candidates: int, answers: Answers) -> None:
    """Refuse what the workbench would never send, and too many highlights, but accept an unfinished annotation.

    Raises InvalidAnnotation.
    """
    if len(answers.highlights) > MAX_HIGHLIGHTS:
        sentence = message("An item can have {limit} highlights, and this one has {count}. Remove some.")
        raise InvalidAnnotation(_(sentence, limit=MAX_HIGHLIGHTS, count=len(answers.highlights)))
    criteria = {criterion.key: criterion for criterion in rubric.asked(study_round)}
    for place, values in answers.ratings.items():
        about = "item" if _position(place, candidates) is None else "candidate"
        for key, value in values.items():
            if key not in criteria or criteria[key].about != about:
                raise InvalidAnnotation(f"{key!r} is not asked about {_named(place)} in this study.")
            # a `best` that was ticked and unticked again is an empty list
            if value != [] or not isinstance(criteria[key].scale, Best):
                criteria[key].scale.check(value)
    _check_labels(rubric, candidates, answers)


def check_answers(rubric: Rubric, study_round: str, candidates: int, answers: Answers) -> CheckedAnswers:
    """The whole annotation, complete and on its scales. Raises InvalidAnnotation naming what is missing or wrong."""
    check_draft(rubric, study_round, candidates, answers)
    set_aside = {_slot(place, candidates): reason for place, reason in answers.set_aside.items()}
    criteria = rubric.asked(study_round)
    rows = [row for criterion in criteria for row in _rows(rubric, criterion, candidates, answers, set_aside)]
    return CheckedAnswers(
        ratings=tuple(rows),
        highlights=tuple((_marked_at(span, candidates), span) for span in answers.highlights),
        set_aside=set_aside,
        note=answers.note.strip(),
    )


def complete_in_turn(rubric: Rubric, study_round: str, candidates: int, answers: Answers) -> int:
    """The number of complete responses before the first incomplete one, in display order."""
    asked = [criterion for criterion in rubric.asked(study_round) if criterion.about == "candidate"]
    places = (position for position in range(candidates) if not _is_complete(rubric, asked, position, answers))
    return next(places, candidates)


def _is_complete(rubric: Rubric, asked: Sequence[Criterion], position: int, answers: Answers) -> bool:
    place = LETTERS[position]
    if place in answers.set_aside:
        return True
    given = answers.ratings.get(place, {})
    try:
        for criterion in asked:
            if criterion.key in given:
                _row(rubric, criterion, position, place, answers)
            elif criterion.required:
                return False
    except InvalidAnnotation:
        return False
    return True


def _position(place: str, candidates: int) -> int | None:
    return None if place == WHOLE_ITEM else _slot(place, candidates)


def _marked_at(span: DraftHighlight, candidates: int) -> int | None:
    return None if span.slot == CONTEXT else _slot(span.slot, candidates)


def _slot(place: str, candidates: int) -> int:
    if place not in LETTERS[:candidates] or len(place) != 1:
        raise InvalidAnnotation(f"There is no response {place!r}; there are {shown(LETTERS[:candidates])}.")
    return LETTERS.index(place)


def _check_labels(rubric: Rubric, candidates: int, answers: Answers) -> None:
    labels = {(label.key, label.marked_in) for label in rubric.highlights}
    for span in answers.highlights:
        marked_in = "context" if _marked_at(span, candidates) is None else "candidate"
        if (span.label, marked_in) not in labels or span.end <= span.start:
            raise InvalidAnnotation(
                f"A highlight {span.start}–{span.end} labelled {span.label!r} is not possible here."
            )
    reasons = [reason.key for reason in rubric.set_aside_response.reasons] if rubric.set_aside_response else []
    for place, reason in answers.set_aside.items():
        if _position(place, candidates) is None or reason not in reasons:
            raise InvalidAnnotation(f"{reason!r} is no reason for setting a response aside.")


def _rows(
    rubric: Rubric, criterion: Criterion, candidates: int, answers: Answers, set_aside: dict[int, str]
) -> Iterator[CheckedRating]:
    if isinstance(criterion.scale, Best):
        yield from _best_rows(criterion, criterion.scale, candidates, answers, set_aside)
        return
    places: Sequence[int | None] = range(candidates) if criterion.about == "candidate" else [None]
    for position in places:
        if position in set_aside:
            yield CheckedRating(position, criterion.key, None, None, True, (), "")
            continue
        place = WHOLE_ITEM if position is None else LETTERS[position]
        if criterion.key in answers.ratings.get(place, {}):
            yield _row(rubric, criterion, position, place, answers)
        elif criterion.required:
            raise InvalidAnnotation(f"{criterion.title} is not answered for {_named(place)}.")


def _named(place: str) -> str:
    return "the item" if place == WHOLE_ITEM else f"Response {place}"


def _best_rows(
    criterion: Criterion, scale: Best, candidates: int, answers: Answers, set_aside: dict[int, str]
) -> Iterator[CheckedRating]:
    """One row per slot: 1 if chosen, 0 if not, missing for a response that is set aside."""
    letters = answers.ratings.get(WHOLE_ITEM, {}).get(criterion.key)
    compared = set(range(candidates)) - set_aside.keys()
    if letters is None and compared:
        if criterion.required:
            raise InvalidAnnotation(f"{criterion.title} is not answered.")
        return
    chosen = {_slot(letter, candidates) for letter in scale.check(letters)} if compared else set()
    if not chosen <= compared:
        absent = _named(LETTERS[min(chosen - compared)])
        raise InvalidAnnotation(f"{criterion.title}: {absent} is set aside, so it cannot be chosen.")
    for position in range(candidates):
        if position in compared:
            yield CheckedRating(position, criterion.key, float(position in chosen), None, False, (), "")
        else:
            yield CheckedRating(position, criterion.key, None, None, True, (), "")


def _row(rubric: Rubric, criterion: Criterion, position: int | None, place: str, answers: Answers) -> CheckedRating:
    scale = criterion.scale
    value = scale.check(answers.ratings[place][criterion.key])
    ask = scale.ask_for(value)
    reasons: list[str] = []
    text = ""
    if ask is not None:
        draft = answers.explanations.get(place, {}).get(criterion.key, {}).get(option_name(value), DraftExplanation())
        reasons, text = check_explanation(rubric, criterion, place, ask, draft)
    return CheckedRating(
        position=position,
        criterion=criterion.key,
        number=value if isinstance(value, float) else None,
        option=value if isinstance(value, str) else None,
        missing=isinstance(scale, Choice) and value in scale.missing,
        reasons=tuple(reasons),
        text=text,
    )


def option_name(value: Value) -> str:
    """The key under which the browser stores the explanation of a value: `2.5`, `2`, `accept`."""
    return f"{Decimal(repr(float(value))).normalize():f}" if isinstance(value, float | int) else str(value)


def check_explanation(
    rubric: Rubric, criterion: Criterion, place: str, ask: Ask, draft: DraftExplanation
) -> tuple[list[str], str]:
    """Reasons, in the order offered, and text, as stored. Raises InvalidAnnotation."""
    where = f"{criterion.title}, {_named(place)}"
    offered = [reason.key for reason in ask.reasons]
    unknown = [reason for reason in draft.reasons if reason not in offered]
    if unknown:
        raise InvalidAnnotation(f"{where}: {shown(unknown)} is not among the reasons.")
    text = draft.text.strip() if ask.free_text != "none" else ""
    if ask.free_text == "required" and not text:
        raise InvalidAnnotation(f"{where}: write an explanation.")
    if offered and not draft.reasons and not text:
        raise InvalidAnnotation(f"{where}: tick a reason or write one.")
    low, high = rubric.explanation.min_words, rubric.explanation.max_words
    words = length_in_words(text)
    if text and not low <= words <= high:
        raise InvalidAnnotation(f"{where}: the explanation has {words} words; {low} to {high} are asked for.")
    return [reason for reason in offered if reason in draft.reasons], text


def count_words(text: str) -> int:
    """Number of words, which is stored with each explanation; `verify` compares it with the log."""
    return len(text.split())

"""The columns of a workbook: one per question, with its drop-down list, and the meaning of filled cells.

People type, paste and pick; Excel and LibreOffice change numbers, dashes and quotes. A cell is accepted if it can mean
only one answer: "4", "4,0", "4 – Highly relevant" and "highly relevant" are the same point.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeVar

from triptych.errors import InvalidAnnotation
from triptych.formats.long_csv import restore_cell
from triptych.formats.model import MAX_REASONS
from triptych.formats.values import for_xml, typed_number
from triptych.languages.language import _, message
from triptych.rubric.model import LETTERS, Criterion, Rubric
from triptych.rubric.scales import Ask, Best, Choice, Likert, NumberScale, Scale, Value, as_typed, shown

About = Literal["candidate", "item"]
Answer = TypeVar("Answer", str, float)
KEY, NUMBER, CONTEXT, LETTER, TEXT = "key", "number", "context", "letter", "text"
ASIDE, LEAVE_OUT, NOTE = "aside", "leave_out", "note"
RATING, REASONS, WORDS, EXTRA = "rating:", "reasons:", "words:", "extra:"
BEFORE = message("Before you begin")
AGREE = message("Do you agree to take part?")
AGREED, REFUSED = message("I agree"), message("I do not agree")
NONE_OF_THEM = message("none of them")
LISTED_STEPS = 11
JOINED_REASONS = 3
LONGEST_CHOICE = 1000  # characters of an answer that are compared; normalising takes quadratic time
POINT = re.compile(r"([+-]?\d+(?:[.,]\d+)?)(?:\s*[-:=]\s*|\s+)(.*\D.*)")
DASHES_AND_QUOTES = str.maketrans({"–": "-", "—": "-", "−": "-", "‐": "-", "’": "'", "‘": "'", "“": '"', "”": '"'})
NO_LETTERS = re.compile(r"\band\b|[,;/&+=\s]+")


@dataclass(frozen=True)
class SheetColumn:
    """A column of the sheet. answer: cells can be edited; choices: the drop-down list; limits: the allowed range.

    strict: the spreadsheet refuses values that are not in the list.
    """

    key: str
    title: str
    width: int
    about: About = "candidate"
    answer: bool = False
    choices: tuple[str | float, ...] = ()
    limits: tuple[float, float] | None = None
    strict: bool = True
    hint: str = ""


def columns_of(
    rubric: Rubric, study_round: str, extra_texts: Sequence[str], candidates: int
) -> tuple[SheetColumn, ...]:
    """All columns in order: texts to read, questions about each response, questions about the item.

    extra_texts: titles of the texts shown with the context; candidates: the largest number that an item has.
    """
    questions = [column for criterion in rubric.asked(study_round) for column in _questions(criterion, candidates)]
    return (
        SheetColumn(KEY, KEY, 4),
        SheetColumn(NUMBER, _("Item"), 6, "item"),
        SheetColumn(CONTEXT, rubric.context.title, 44, "item"),
        *(SheetColumn(f"{EXTRA}{n}", title, 32, "item") for n, title in enumerate(extra_texts)),
        SheetColumn(LETTER, "", 5),
        SheetColumn(TEXT, _("Conversation") if rubric.judged == "conversation" else _("Response"), 58),
        *(column for column in questions if column.about == "candidate"),
        *_aside(rubric),
        *(column for column in questions if column.about == "item"),
        *_leaving_out(rubric),
        SheetColumn(
            NOTE, _("Note to the lead"), 24, "item", True, hint=_("If you want to say something. This is no rating.")
        ),
    )


def letters_of(candidates: int) -> str:
    return LETTERS[:candidates]


def _questions(criterion: Criterion, candidates: int) -> Iterator[SheetColumn]:
    about, scale = criterion.about, criterion.scale
    limits = (scale.low, scale.high) if isinstance(scale, NumberScale) else None
    choices = tuple(_choices(scale, letters_of(candidates)))
    # a label may be broken into two lines, a word of the title must not
    words = (len(word) + 3 for word in criterion.title.split())
    width = min(max(14, *words, *(len(str(choice)) * 2 // 3 for choice in choices)), 22)
    hint = criterion.definition
    yield SheetColumn(f"{RATING}{criterion.key}", criterion.title, width, about, True, choices, limits, hint=hint)
    asks = scale.asks.values()
    if any(ask.reasons for ask in asks):
        listed = tuple(dict.fromkeys(text for ask in asks for text in _joined(ask)))
        hint = _("Where your answer asks for reasons. Several: one after the other, with a semicolon between.")
        title = _("{criterion}: reasons", criterion=criterion.title)
        yield SheetColumn(f"{REASONS}{criterion.key}", title, 26, about, True, listed, strict=False, hint=hint)
    if any(ask.free_text != "none" for ask in asks):
        hint = _("Where your answer asks for an explanation, or allows one.")
        title = _("{criterion}: in your words", criterion=criterion.title)
        yield SheetColumn(f"{WORDS}{criterion.key}", title, 30, about, True, hint=hint)


def _aside(rubric: Rubric) -> Iterator[SheetColumn]:
    if rubric.set_aside_response:
        choices = tuple(reason.title for reason in rubric.set_aside_response.reasons)
        hint = _("Only if this response cannot be rated: the reason. Its questions then stay empty.")
        yield SheetColumn(ASIDE, rubric.set_aside_response.title, 20, "candidate", True, choices, hint=hint)


def _leaving_out(rubric: Rubric) -> Iterator[SheetColumn]:
    choices = tuple(ways_out(rubric))
    if choices:
        hint = _("Only if the whole item cannot be rated: the reason. Its other cells then stay empty.")
        yield SheetColumn(LEAVE_OUT, _("Leave the item out"), 24, "item", True, choices, hint=hint)


def ways_out(rubric: Rubric) -> dict[str, tuple[str, str]]:
    """Entry of the drop-down list for leaving an item out → ("skip" or "ignore", the reason's key)."""
    offers = {"skip": rubric.skip, "ignore": rubric.ignore_item}
    return {
        f"{offer.title}: {reason.title}": (kind, reason.key)
        for kind, offer in offers.items()
        if offer is not None
        for reason in offer.reasons
    }


def _joined(ask: Ask) -> dict[str, tuple[str, ...]]:
    """Entry of the list → its reasons: each one and, if they are few, all combinations, so that nobody has to type
    them.
    """
    texts = [reason.text for reason in ask.reasons]
    sizes = range(1, len(texts) + 1 if len(texts) <= JOINED_REASONS else 2)
    return {"; ".join(several): several for size in sizes for several in combinations(texts, size)}


def _choices(scale: Scale, letters: str) -> Iterator[str | float]:
    """Names to pick, then the plain numbers, so that typed numbers are accepted too."""
    if isinstance(scale, Likert):
        yield from (label(point.value, point.title) for point in scale.points if point.title)
        yield from scale.values
    elif isinstance(scale, Choice):
        yield from (option.title for option in scale.options)
    elif isinstance(scale, NumberScale):
        if scale.steps < LISTED_STEPS:
            yield from scale.values
    else:
        for size in range(1, len(letters) + 1):
            yield from (", ".join(combination) for combination in combinations(letters, size))
        if scale.none_option:
            yield _(NONE_OF_THEM)


def label(value: float, title: str) -> str:
    """A point in the drop-down list: `4 – Highly relevant`."""
    return f"{as_typed(value)} – {title}" if title else as_typed(value)


def folded(text: str) -> str:
    """A text in a form to compare: equal for different spellings of the same answer, and with a ' before a formula."""
    composed = unicodedata.normalize("NFKC", for_xml(text[:LONGEST_CHOICE])).translate(DASHES_AND_QUOTES)
    return " ".join(composed.lstrip("'").casefold().split()).rstrip(".")


def meant(cell: str, names: Sequence[tuple[str, Answer]]) -> Answer | None:
    """The answer with the name in a cell: in its exact spelling, otherwise in any; None if no answer has it.

    Raises InvalidAnnotation for a name that several answers have.
    """
    for form in (restore_cell, folded):
        wanted = form(cell)
        answers = {answer for name, answer in names if form(name) == wanted}
        if len(answers) > 1:
            raise InvalidAnnotation(f"{cell!r} may mean several answers.")
        if answers:
            return answers.pop()
    return None


def value_in(scale: Scale, cell: str, letters: str) -> Value:
    """The answer that a cell means. Raises InvalidAnnotation for what is not on the scale."""
    if isinstance(scale, Best):
        return scale.check(_picked(cell, letters))
    if isinstance(scale, Choice):
        titled = meant(cell, [(option.title, option.key) for option in scale.options])
        return scale.check(titled or meant(cell, [(key, key) for key in scale.values]) or cell)
    if isinstance(scale, Likert):
        return scale.check(_point(scale, cell))
    unit = folded(scale.unit)
    return scale.check(_number(folded(cell).removesuffix(unit) if unit else cell))


def _point(scale: Likert, cell: str) -> float:
    """The point that a cell means by its name, its number, or both if they agree."""
    titled = [(point.title, point.value) for point in scale.points if point.title]
    labelled = [(label(value, title), value) for title, value in titled]
    point = meant(cell, [*titled, *labelled, *((as_typed(value), value) for value in scale.values)])
    if point is not None:
        return point
    both = POINT.fullmatch(folded(cell))
    if both is None:
        return _number(cell)
    value, name = _number(both[1]), both[2].strip()
    if value not in [point for title, point in titled if folded(title) == name]:
        raise InvalidAnnotation(f"{cell!r}: the number and the words do not belong together.")
    return value


def _number(text: str) -> float:
    number = typed_number(text)
    if number is None:
        raise InvalidAnnotation(f"{text!r} is not on the scale.")
    return number


def _picked(cell: str, letters: str) -> list[str]:
    if folded(cell) in (folded(_(NONE_OF_THEM)), folded(NONE_OF_THEM), "none"):
        return []
    picked = set("".join(NO_LETTERS.split(folded(cell))).upper())
    if not picked <= set(letters):
        raise InvalidAnnotation(f"{cell!r} names no response.")
    return sorted(picked)


def right_for(scale: Scale, letters: str) -> str:
    """Valid values for a cell of this scale, in words."""
    if isinstance(scale, Likert):
        return shown(label(point.value, point.title) for point in scale.points)
    if isinstance(scale, Choice):
        return shown(option.title for option in scale.options)
    if isinstance(scale, NumberScale):
        low, high, step = map(as_typed, (scale.low, scale.high, scale.step))
        return f"a number from {low} to {high}, in steps of {step}"
    none = f", or {_(NONE_OF_THEM)}" if scale.none_option else ""
    return f"the best response, or several: {shown(letters)}{none}"


def explanation_in(ask: Ask, reasons: str, words: str) -> dict[str, object]:
    """The explanation in the workbench's form. Raises InvalidAnnotation for a reason that this answer does not have.

    ask: the rubric's question for an explanation of the chosen answer.
    """
    keys = {folded(reason.key): reason.key for reason in ask.reasons}
    keys |= {folded(reason.text): reason.key for reason in ask.reasons}
    listed = {folded(entry): several for entry, several in _joined(ask).items()}
    # what follows the last is one strange part: a cell may have megabytes
    parts = listed.get(folded(reasons)) or re.split(r"[;\n]", reasons, maxsplit=MAX_REASONS)
    strange = [part.strip() for part in parts if part.strip() and folded(part) not in keys]
    if strange:
        raise InvalidAnnotation(f"{'; '.join(strange)[:LONGEST_CHOICE]!r} is not among the reasons for this answer.")
    return {"reasons": [keys[folded(part)] for part in parts if part.strip()], "text": words}

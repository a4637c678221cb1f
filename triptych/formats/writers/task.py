"""An item in the form of a labelling tool: texts under fixed letters, one question per criterion and letter.

Tools do not have separate orders for annotators, so the letters a, b, c mean the candidates in the order of their blind
codes, and only annotations.csv has the position on screen. A dialogue becomes one text with a line per turn; offsets of
its highlights are shifted accordingly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from triptych.formats.model import CandidateDraft, TurnDraft
from triptych.formats.writers.model import (
    MAIN_WORK,
    Finished,
    FinishedAnnotation,
    FinishedHighlight,
    FinishedItem,
    FinishedRating,
    Selection,
)
from triptych.rubric.answers import letter
from triptych.rubric.model import Criterion

BETWEEN_TURNS = "\n"
HIGHLIGHT, CONTEXT = "highlight", "context"
MAIN_ONLY = (
    "It contains only main annotations: no training, no repeats, no skipped or ignored items. Those of judge models "
    "and of excluded annotators are among them, and count like any others where the file is imported. annotations.csv "
    "lists all annotations, whether they are surplus, by a judge or by an excluded annotator, and the order on screen."
)
NO_VALUE = (
    "{n} ratings have no value, because the response was set aside, and are left out; annotations.csv gives the reason."
)
UNALIGNED = "{n} imported quotes that are not in their text are left out."
ONE_TEXT = "Each dialogue is one text with one line per turn (speaker: text); offsets of highlights refer to it."


@dataclass(frozen=True)
class Control:
    """One control: a criterion asked about the candidate at a letter, or about the item (no letter)."""

    criterion: Criterion
    letter: str | None

    def named(self, part: str = "") -> str:
        """The control's name: fluency_a, fluency_why_a, or fluency for a question about the item."""
        return "_".join(name for name in (self.criterion.key, part, self.letter) if name)


class ControlAnswer(NamedTuple):
    """An answer to a control; part: "" for the value, "reasons" or "why" for texts that explain it."""

    question: Control
    part: str
    value: str | float | list[str]

    @property
    def name(self) -> str:
        return self.question.named(self.part)

    @property
    def texts(self) -> list[str]:
        """The answer as the texts of a text field."""
        return self.value if isinstance(self.value, list) else [str(self.value)]


class Marked(NamedTuple):
    """A highlight in the text at a letter, or (None) in the context: code points, end exclusive."""

    letter: str | None
    start: int
    end: int
    text: str
    highlight: FinishedHighlight

    @property
    def control(self) -> str:
        """The control's name: highlight_a, or highlight_context."""
        return f"{HIGHLIGHT}_{self.letter or CONTEXT}"


class Tasks:
    """A study's main items as tasks.

    letters: those that some item uses. left_out: sentence with {n} about what a tool cannot represent → its count.
    """

    def __init__(self, finished: Finished) -> None:
        self.finished, self.left_out = finished, Counter[str]()
        self.letters = _letters(finished.most_candidates)
        self._criteria = {criterion.key: criterion for criterion in finished.criteria}

    def questions(self) -> list[Control]:
        """All controls, in the order of the rubric. A `best` is asked separately for each letter, as chosen or not."""
        asked = []
        for criterion in self.finished.criteria:
            places: Sequence[str | None] = self.letters if criterion.per_response else (None,)
            asked += [Control(criterion, letter) for letter in places]
        return asked

    def items(self, annotator: str | None = None) -> Iterator[FinishedItem]:
        """The main items, with main annotations."""
        return self.finished.items(Selection(annotator=annotator, main_only=True) if annotator else MAIN_WORK)

    def marked_in(self, place: Literal["candidate", "context"]) -> list[tuple[str, str]]:
        """(key, title) of every label for highlights in this place, candidates or the context."""
        return [(label.key, label.title) for label in self.finished.rubric.labels_in(place)]

    def answers(self, item: FinishedItem, annotation: FinishedAnnotation) -> Iterator[ControlAnswer]:
        """Every rating of an annotation with its explanation."""
        at = _letters_of(item)
        rated: list[tuple[str | None, FinishedRating]] = [(None, rating) for rating in annotation.about_item]
        rated += [(at[slot.system], rating) for slot in annotation.slots for rating in slot.ratings]
        for place, rating in rated:
            question, value = Control(self._criteria[rating.criterion], place), _value_of(rating)
            if value is None:
                self.left_out[NO_VALUE] += 1
            else:
                yield ControlAnswer(question, "", value)
            if rating.reasons:
                yield ControlAnswer(question, "reasons", list(rating.reasons))
            if rating.explanation:
                yield ControlAnswer(question, "why", [rating.explanation])

    def marked(self, item: FinishedItem, annotation: FinishedAnnotation) -> Iterator[Marked]:
        """Every highlight of an annotation with a place in the text."""
        candidates = {candidate.system: candidate for candidate in item.candidates}
        at = _letters_of(item)
        for slot, mark in annotation.highlights:
            if mark.start is None or mark.end is None:
                self.left_out[UNALIGNED] += 1
                continue
            text, starts = flat(candidates[slot.system]) if slot else context(item)
            shift = 0 if mark.turn is None else starts[mark.turn]
            start, end = mark.start + shift, mark.end + shift
            yield Marked(at[slot.system] if slot else None, start, end, text[start:end], mark)

    def notes(self) -> list[str]:
        """Sentences for the README, after all files were written."""
        notes = [MAIN_ONLY, ONE_TEXT] if self.finished.has_dialogues else [MAIN_ONLY]
        return notes + [sentence.format(n=count) for sentence, count in self.left_out.items() if count]


def _letters(candidates: int) -> list[str]:
    """The letters of so many candidates, and numbers beyond the last letter."""
    return [letter(place).lower() for place in range(candidates)]


def _letters_of(item: FinishedItem) -> dict[str, str]:
    """System → letter."""
    systems = [candidate.system for candidate in item.candidates]
    return dict(zip(systems, _letters(len(systems)), strict=True))


def rated(item: FinishedItem) -> list[FinishedAnnotation]:
    return [annotation for annotation in item.annotations if annotation.rated]


def systems(item: FinishedItem) -> dict[str, str]:
    """system_a, system_b, … → system."""
    return {f"system_{letter}": system for system, letter in _letters_of(item).items()}


def context(item: FinishedItem) -> tuple[str, list[int]]:
    """The context as one text, and the offset of each turn's text; [0] for a text without turns."""
    return joined(item.turns) if item.turns else (item.context, [])


def fields(item: FinishedItem, response: str = "response") -> dict[str, str]:
    """The fields of an item: the context and, for each letter, the response's text and its system."""
    letters = _letters(len(item.candidates))
    texts = {f"{response}_{at}": flat(candidate)[0] for at, candidate in zip(letters, item.candidates, strict=True)}
    return {CONTEXT: context(item)[0], **texts, **systems(item)}


def flat(candidate: CandidateDraft) -> tuple[str, list[int]]:
    """A candidate as one text, and the offset of each turn's text."""
    return joined(candidate.turns) if candidate.turns else (candidate.text or "", [])


def joined(turns: Sequence[TurnDraft]) -> tuple[str, list[int]]:
    """Turns as lines `speaker: text`, and the offset of each turn's text."""
    starts, lines, length = [], [], 0
    for turn in turns:
        prefix = f"{turn.speaker}: "
        starts.append(length + len(prefix))
        lines.append(prefix + turn.text)
        length += len(lines[-1]) + len(BETWEEN_TURNS)
    return BETWEEN_TURNS.join(lines), starts


def _value_of(rating: FinishedRating) -> str | float | None:
    """The option's key, else the number (3, not 3.0), else None."""
    if rating.option is not None or rating.number is None:
        return rating.option
    return int(rating.number) if rating.number.is_integer() else rating.number

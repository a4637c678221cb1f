"""The lead's answers to the datasheet of a study, HEDS 3.0. reports/heds.py adds what the study itself contains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlmodel import Session

from triptych.errors import Conflict
from triptych.rubric.model import Criterion
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import Study
from triptych.study import lifecycle
from triptych.study.heds_questions import ABOUT_CRITERIA, BY_NUMBER, QUESTIONS, SECTIONS, SheetQuestion

LONGEST = 5000
NOT_ANSWERED = "not answered"


@dataclass(frozen=True)
class Answer:
    """A question's answer: options by number from 1, and words, which are the text or the options' explanation."""

    chosen: tuple[int, ...] = ()
    text: str = ""

    def __bool__(self) -> bool:
        return bool(self.chosen or self.text)


Sheet: TypeAlias = dict[tuple[str, str], Answer]
"""(number of the question, key of the criterion or "") → answer."""


class AnswersChanged(Conflict):
    """Somebody else changed answers after they were read."""

    def __init__(self, stored: Sheet) -> None:
        """stored: these answers as they are now."""
        self.stored = stored
        super().__init__(
            "Nothing was saved, because someone else has changed the same answers since your page showed them. "
            "Yours are still in the form. Save again to replace these:",
            *(
                f"{number} {criterion}".strip() + f": {in_words(BY_NUMBER[number], answer)}"
                for (number, criterion), answer in stored.items()
            ),
        )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def in_words(question: SheetQuestion, answer: Answer, quoted: Callable[[str], str] = _one_line) -> str:
    """The answer in one line. quoted: what makes its text safe where the line goes."""
    chosen = ", ".join(question.options[number - 1] for number in answer.chosen)
    text = quoted(answer.text) if answer.text else ""
    return "; ".join(filter(None, (chosen, text))) or NOT_ANSWERED


def stored(sheet: Mapping[str, Any]) -> Sheet:
    """The lead's answers in the study's settings: "4.1.1 fluency" → [[1], "words"]."""
    sheet_ = {}
    for name, (chosen, text) in sheet.items():
        number, _, criterion = name.partition(" ")
        sheet_[number, criterion] = Answer(tuple(chosen), text)
    return sheet_


def store(session: Session, study: Study, answers: Sheet, seen: Sheet, actor: str) -> None:
    """Store the lead's answers that differ from those they saw, and log an event.

    Raises AnswersChanged, and stores nothing, if somebody else has stored another answer to one of these questions.
    """
    study = lifecycle.lock(session, study.id)
    sheet, nothing = stored(study.settings.get("heds", {})), Answer()
    changed = {
        place: answer
        for place, answer in answers.items()
        if answer != seen.get(place, nothing) and BY_NUMBER[place[0]].asked
    }
    overtaken = {
        place: sheet.get(place, nothing)
        for place, answer in changed.items()
        if sheet.get(place, nothing) not in (answer, seen.get(place, nothing))
    }
    if overtaken:
        raise AnswersChanged(overtaken)
    names = {place: " ".join(filter(None, place)) for place in sheet | changed}
    stored_answers = {
        names[place]: [list(answer.chosen), answer.text[:LONGEST]]
        for place, answer in (sheet | changed).items()
        if answer
    }
    study.settings = {**study.settings, "heds": stored_answers}
    session.flush()
    new = {"answers": len(stored_answers), "changed": [names[place] for place in changed]}
    events.record(session, study.id, EventKind.datasheet_answered, actor, new=new)


def asked(criteria: list[Criterion]) -> list[tuple[SheetQuestion, str]]:
    """All questions for the lead; those about criteria are grouped by criterion."""
    keys = [criterion.key for criterion in criteria]
    return [
        (question, key)
        for section in SECTIONS
        for key in (keys if section == ABOUT_CRITERIA else [""])
        for question in QUESTIONS
        if question.asked and question.number.startswith(section)
    ]

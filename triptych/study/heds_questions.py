"""The questions of the Human Evaluation Datasheet, HEDS 3.0 (Belz & Thomson 2024), as its form numbers and names them.

They are in heds_questions.json next to this file. Numbers and ids are the form's, so that it takes our file; the words
are our own and short. Languages are those of ISO 639-1, in the order in which the form numbers them. The form with its
explanations: https://nlp-heds.github.io
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from triptych.storage.models import JsonObject


@dataclass(frozen=True)
class SheetQuestion:
    """One question.

    id: of its field in the form, without the prefix "heds-" and without the -1, -2, … of its options. kind: a text, one
    of the options, or several. asked: of the lead; otherwise it is answered from what the study contains.
    """

    number: str
    id: str
    words: str
    kind: Literal["text", "one", "several"] = "text"
    options: tuple[str, ...] = ()
    asked: bool = False
    per_criterion: bool = False


def _questions(section: str, content: JsonObject) -> Iterator[SheetQuestion]:
    """The questions of a section with the part of the id that they share."""
    for entry in content["questions"]:
        options = LANGUAGE_OPTIONS if entry.get("options") == "languages" else tuple(entry.get("options", ()))
        shared = {"id": content["id"] + entry["id"], "options": options, "per_criterion": section == ABOUT_CRITERIA}
        yield SheetQuestion(**entry | shared)


_SHEET: JsonObject = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
FORM: str = _SHEET["form"]
ABOUT_CRITERIA = "4"
LANGUAGES: dict[str, str] = _SHEET["languages"]
# the form asks for "not applicable" first and for "other" last
LANGUAGE_OPTIONS = ("Not applicable", *LANGUAGES.values(), "Other")
SECTIONS: dict[str, str] = {section: content["title"] for section, content in _SHEET["sections"].items()}
QUESTIONS = tuple(
    question for section, content in _SHEET["sections"].items() for question in _questions(section, content)
)
BY_NUMBER = {question.number: question for question in QUESTIONS}

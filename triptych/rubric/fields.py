"""The rubric as a form: one field for each key of the schema, from the types of `model.py` and the words below.

`fields_of` raises an error for a key without words, so no key of the schema can be forgotten.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from triptych.rubric.model import LETTERS, Rubric
from triptych.rubric.scales import KINDS


@dataclass(frozen=True)
class Wording:
    """Label and help of a field. `more`: folded under *More*; `lines`: a text of several lines."""

    label: str
    hint: str = ""
    more: bool = False
    lines: bool = False


@dataclass(frozen=True)
class Field:
    """One key of a part of the rubric.

    control: what `_control` chooses. of: the type of a part; for `one_of`, the list from which one part is named.

    options: (value, label) of choice and ticks. default: the value if the key is left out, as JSON.
    """

    key: str
    control: str
    label: str
    hint: str = ""
    more: bool = False
    required: bool = False
    nullable: bool = False
    default: object = None
    of: str = ""
    options: tuple[tuple[object, str], ...] = ()


_KEY = Wording("Short name", "The name in exports; lower-case letters, digits and _. The form derives it.", more=True)
_LEVEL = Wording("Level of measurement", "Which distances mean something; statistics follow it.", more=True)
_ROUNDS = Wording("Only in these rounds", "Everywhere, if none is ticked.", more=True)
_KIND = Wording("How it is asked")
_ASK = Wording("Ask why", "Shows reasons to tick, a text field, or both when this is chosen.")
_TITLE = Wording("Name")
_REASONS = Wording("Reasons")

_RATED_ITEM = {
    "context": Wording("Context", lines=True),
    "candidates": Wording("Responses"),
    "references": Wording("Scores", "Each with its reason."),
    "meta": Wording("Meta fields", "One per line, as in domain: hotel.", more=True),
}

WORDING: dict[str, dict[str, Wording]] = {
    "Rubric": {
        "criteria": Wording("Criteria"),
        "title": Wording("Name of the rubric"),
        "key": _KEY,
        "instructions": Wording("Instructions", "Read before the first item, and in the guidelines.", lines=True),
        "summary": Wording("Summary", "One sentence for the list of rubrics."),
        "explanation": Wording("Length of explanations", "Ready-made reasons do not count as words."),
        "highlights": Wording("Highlight labels", "Without labels, nothing can be highlighted."),
        "guidelines": Wording("Guidelines"),
        "worked_example": Wording("A worked example", "On the page before the first item, and in the guidelines."),
        "content_note": Wording("Note about distressing content", "Shown before the first item.", lines=True),
        "judged": Wording("What is judged"),
        "presentation": Wording("Responses appear", "A study may change it."),
        "context": Wording("What is shown next to the responses", more=True),
        "speakers": Wording("Speakers of dialogues", more=True),
        "skip": Wording("Annotators may skip an item"),
        "ignore_item": Wording("Annotators may take an item out of the results"),
        "set_aside_response": Wording("Annotators may set one response aside"),
        "training": Wording("Training items", "Rated first; the reference scores are shown as feedback."),
        "entry_test": Wording("Entry test", "Questions before the first item."),
        "language": Wording("Language of the texts", "Such as en, de or pt-BR; for screen readers.", more=True),
        "study_start": Wording("What a new study begins with", "Annotators per item, pay, eligibility.", more=True),
        "translations": Wording(
            "Translations", "What annotators read in other languages. A text without one stays as it is.", more=True
        ),
        "source": Wording("Source of the protocol", "Leads read it, annotators do not.", more=True, lines=True),
        "deviations": Wording(
            "Where the wording differs from the original",
            "Leads read it; the methods text reports it.",
            more=True,
            lines=True,
        ),
    },
    "Translation": {
        "text": Wording("Text of the rubric", "Exactly as above.", lines=True),
        "into": Wording("In other languages", "One per line, as in de: Flüssigkeit."),
    },
    "Criterion": {
        "title": _TITLE,
        "question": Wording("Question on screen"),
        "definition": Wording("Definition", "What counts, and what to ignore.", lines=True),
        "scale": Wording("Scale"),
        "key": _KEY,
        "note": Wording("Note next to the question", more=True),
        "about": Wording("Asked about", more=True),
        "required": Wording("Must be answered", more=True),
        "rounds": _ROUNDS,
        "examples": Wording("Worked examples for the guidelines", more=True),
    },
    "Likert": {
        "kind": _KIND,
        "points": Wording("Points"),
        "sparing_note": Wording("What dashed points mean", "Where points are to be used sparingly.", lines=True),
        "level": _LEVEL,
    },
    "Point": {
        "value": Wording("Value"),
        "title": _TITLE,
        "sparing": Wording("Sparingly", "For borderline cases only."),
        "ask": _ASK,
        "definition": Wording("Meaning", more=True),
    },
    "Choice": {"kind": _KIND, "options": Wording("Options"), "level": _LEVEL},
    "ChoiceOption": {
        "title": _TITLE,
        "positive": Wording("Positive", "Counts for the share of positive answers."),
        "ask": _ASK,
        "definition": Wording("Meaning", more=True),
        "missing": Wording("Missing", "Counts as no answer.", more=True),
        "apart": Wording("Also show agreement without it", "The headline numbers include it.", more=True),
        "key": _KEY,
    },
    "NumberScale": {
        "kind": _KIND,
        "low": Wording("From"),
        "low_title": Wording("means"),
        "high": Wording("To"),
        "high_title": Wording("means"),
        "step": Wording("In steps of", more=True),
        "unit": Wording("Unit", more=True),
        "level": _LEVEL,
    },
    "Best": {"kind": _KIND, "none_option": Wording("Allow picking none"), "level": _LEVEL},
    "Ask": {"reasons": Wording("Reasons to tick"), "free_text": Wording("Text field")},
    "Reason": {
        "text": Wording("Reason"),
        "tag": Wording("Counted as", "Only the analysis sees it.", more=True),
        "key": _KEY,
    },
    "WorkedExample": {"context": Wording("Context"), "candidates": Wording("Responses")},
    "ExampleCandidate": {
        "text": Wording("Response", lines=True),
        "rating": Wording("Rating it deserves"),
        "reason": Wording("Why", lines=True),
    },
    "RubricTurn": {"speaker": Wording("Speaker"), "text": Wording("Text", lines=True)},
    "HighlightLabel": {
        "title": _TITLE,
        "definition": Wording("Meaning"),
        "marked_in": Wording("Marked in", "In the context: the evidence for an answer."),
        "key": _KEY,
    },
    "Choosable": {"title": Wording("Text"), "key": _KEY},
    "QuestionOption": {"title": Wording("Text"), "key": _KEY},
    "SetAside": {"title": Wording("Text of the button"), "reasons": _REASONS},
    "Speaker": {
        "names": Wording("Names in the files", "Several are separated by commas."),
        "title": Wording("Name on screen"),
        "side": Wording("Side"),
    },
    "Context": {
        "title": Wording("Heading"),
        "show": Wording("Meta fields that annotators see", "Names of columns, separated by commas."),
        "stars": Wording("Meta field that holds stars"),
        "extra_texts": Wording("Further texts shown with it", "Names of columns, separated by commas."),
        "extra_rounds": Wording("Further texts only in these rounds", "Everywhere, if none is ticked."),
    },
    "Section": {"title": Wording("Heading"), "text": Wording("Text", lines=True)},
    "ExplanationRule": {
        "min_words": Wording("Minimum words"),
        "max_words": Wording("Maximum words"),
        "sample": Wording("A good explanation", "Shown where one is asked for.", lines=True),
    },
    "RatedItem": _RATED_ITEM,
    "TrainingItem": {**_RATED_ITEM, "key": _KEY},
    "StudyStart": {
        "raters_per_item": Wording("Annotators per item"),
        "pay_per_item": Wording("Pay per item"),
        "currency": Wording("Currency", "Three capital letters, such as USD."),
        "eligibility": Wording("Who may take part", "Rules that a panel enforces, one per line.", lines=True),
        "rounds": _ROUNDS,
    },
    "TrainingCandidate": {
        "text": Wording("Text", "Either a text or turns.", lines=True),
        "turns": Wording("Turns"),
    },
    "ReferenceScore": {
        "criterion": Wording("Criterion"),
        "slot": Wording("About"),
        "value": Wording("Score", "A number, or the short name of an option."),
        "close": Wording("Close within", "How far off still counts as close.", more=True),
        "reason": Wording("Why", lines=True),
    },
    "EntryTestSpec": {
        "title": Wording("Heading"),
        "study_page": Wording("Page to study first"),
        "questions": Wording("Questions"),
        "pass_percent": Wording("Pass mark, in percent"),
        "attempts": Wording("Attempts"),
        "rounds": _ROUNDS,
    },
    "TestQuestion": {
        "text": Wording("Question", lines=True),
        "options": Wording("Answers"),
        "answer": Wording("Right answer"),
        "reason": Wording("Why", lines=True),
        "key": _KEY,
    },
}
NOUNS = {
    **{"Rubric": "rubric", "Criterion": "criterion", "Point": "point", "ChoiceOption": "option", "Reason": "reason"},
    **{"WorkedExample": "example", "ExampleCandidate": "response", "RubricTurn": "turn", "HighlightLabel": "label"},
    **{"Choosable": "reason", "Speaker": "speaker", "Section": "section", "TrainingItem": "training item"},
    **{"TrainingCandidate": "response", "ReferenceScore": "score", "TestQuestion": "question"},
    **{"RatedItem": "worked example", "StudyStart": "start", "QuestionOption": "answer"},
}
# labels for the values of a choice; other values are shown unchanged
VALUES: dict[object, str] = {
    **{"likert": "Rating scale", "choice": "Choice", "number": "Number or slider", "best": "Pick the best"},
    **{"candidate": "each response", "item": "the item as a whole", None: "the item as a whole"},
    "context": "the context",
    **{"response": "a text that answers the context", "conversation": "a whole dialogue"},
    **{"side_by_side": "side by side", "succession": "one after another"},
    **{"none": "no text field", "optional": "may be left empty", "required": "must be filled in"},
}
# keys that refer to an element of a list, and that list: in the rubric, or in the part that contains the key
ONE_OF = {"criterion": "criteria", "answer": "options"}
SLOTS = {letter: f"response {letter}" for letter in LETTERS}
KEYS, TAGS = "key", "tag"


@lru_cache(maxsize=1)
def form() -> dict[str, tuple[Field, ...]]:
    """Name of a type → its fields in the order of the form, for each type of the schema."""
    return {model.__name__: fields_of(model) for model in models()}


def models() -> list[type[BaseModel]]:
    """Every type that a rubric is made of."""
    seen: dict[type[BaseModel], None] = {}

    def visit(model: type[BaseModel]) -> None:
        if model not in seen:
            seen[model] = None
            for field in model.model_fields.values():
                for part in _types_in(field.annotation):
                    visit(part)

    visit(Rubric)
    return list(seen)


def _types_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _types_in(argument)


def fields_of(model: type[BaseModel]) -> tuple[Field, ...]:
    """The fields of a type. Raises LookupError for a key without words, and for words without a key."""
    wording = WORDING.get(model.__name__, {})
    if set(wording) != set(model.model_fields):
        differing = ", ".join(sorted(set(wording) ^ set(model.model_fields)))
        raise LookupError(f"{model.__name__}: words of the form and keys of the schema differ in {differing}")
    return tuple(_field(key, words, model.model_fields[key]) for key, words in wording.items())


def _field(key: str, words: Wording, info: FieldInfo) -> Field:
    annotation, nullable = _without_none(info.annotation)
    control, of, options = _control(key, annotation, words)
    default = None if info.is_required() else _as_json(info.get_default(call_default_factory=True))
    if nullable and control == "choice":
        options = (*options, (None, VALUES[None]))
    return Field(
        *(key, control, words.label, words.hint, words.more, info.is_required(), nullable, default, of, options)
    )


def _without_none(annotation: Any) -> tuple[Any, bool]:
    """The type inside `Annotated` and `| None`, and whether None was allowed."""
    if get_origin(annotation) is Annotated:
        return _without_none(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        others = [part for part in get_args(annotation) if part is not type(None)]
        if len(others) == 1:
            return _without_none(others[0])[0], True
    return annotation, False


def _control(key: str, annotation: Any, words: Wording) -> tuple[str, str, tuple[tuple[object, str], ...]]:
    """Control, name of the type of its parts, and options. Raises LookupError for a type without a control."""
    if get_origin(annotation) is Literal or (isinstance(annotation, type) and issubclass(annotation, Enum)):
        return ("kind" if key == "kind" else "choice"), "", _options(annotation)
    if annotation in (bool, int, float):
        return ("flag" if annotation is bool else "number"), "", ()
    if annotation is str and key in ONE_OF:
        return "one_of", ONE_OF[key], ()
    if annotation is str:
        return ("key" if key in (KEYS, TAGS) else "text" if words.lines else "line"), "", ()
    if annotation == dict[str, str]:
        return "pairs", "", ()
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "part", annotation.__name__, ()
    if get_origin(annotation) is tuple:
        part = _without_none(get_args(annotation)[0])[0]
        if part is str:
            return "words", "", ()
        control, _, options = _control(key, part, words)
        return ("ticks", "", options) if control == "choice" else ("parts", part.__name__, ())
    return _control_of_several(annotation)


def _control_of_several(annotation: Any) -> tuple[str, str, tuple[tuple[object, str], ...]]:
    """The control of a value that may have one of several types."""
    kinds = get_args(annotation)
    if set(kinds) == set(KINDS.values()):
        return "scale", "", tuple((kind, VALUES[kind]) for kind in KINDS)
    if set(kinds) == {float, str}:
        return "value", "", ()
    if str in kinds and len(kinds) == 2:
        return "text_or_parts", next(_types_in(annotation)).__name__, ()
    raise LookupError(f"the form has no control for {annotation}")


def _options(annotation: Any) -> tuple[tuple[object, str], ...]:
    values = get_args(annotation) or tuple(member.value for member in annotation)
    return tuple((value, VALUES.get(value) or SLOTS.get(value) or str(value)) for value in values)


def _as_json(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, Enum):
        return value.value
    return list(value) if isinstance(value, tuple) else value


def order() -> list[str]:
    """All keys, in the order of the schema, which rubric files follow."""
    return list(dict.fromkeys(key for model in models() for key in model.model_fields))


def place_of(location: tuple[int | str, ...], data: Any) -> str:
    """A location reported by pydantic as a name that people understand: Criterion “Tone”, point 3, Name."""
    model: str = "Rubric"
    words: list[str] = []
    node = data
    for step in location:
        if step in KINDS:
            model = KINDS[step].__name__
            continue
        field = next((field for field in form().get(model, ()) if field.key == step), None)
        node = node[step] if _has(node, step) else None
        if isinstance(step, int):
            noun = NOUNS.get(model, "part")
            name = node.get("title") if isinstance(node, dict) and model != "Point" else None
            words.append(f"{noun} “{name}”" if name else f"{noun} {step + 1}")
        elif field is not None and field.control not in ("parts", "scale"):
            words.append(field.label)
        model = field.of if field is not None and field.of else model
    sentence = ", ".join(words) or "The rubric"
    return sentence[:1].upper() + sentence[1:]


def _has(node: object, step: int | str) -> bool:
    if isinstance(node, dict):
        return step in node
    return isinstance(node, list) and isinstance(step, int) and step < len(node)


def keys_beside(location: tuple[int | str, ...]) -> list[str]:
    """The keys that are allowed next to the last key of a mistake's location."""
    return [field.key for field in form().get(_type_at(location[:-1]), ())]


def values_of(location: tuple[int | str, ...]) -> list[str]:
    """The values that are allowed at a mistake's location."""
    fields = form().get(_type_at(location[:-1]), ())
    return [str(value) for field in fields if field.key == location[-1] for value, _ in field.options]


def _type_at(location: tuple[int | str, ...]) -> str:
    """The type at a location reported by pydantic, which includes the kind of a scale."""
    model = "Rubric"
    for step in location:
        if step in KINDS:
            model = KINDS[step].__name__
        else:
            model = next((field.of for field in form().get(model, ()) if field.key == step and field.of), model)
    return model

"""The rubric: what is judged, on which scales, with which explanations, in one typed YAML file.

A rubric is data. A new criterion or a whole new rubric needs no Python; `rubrics/README.md` is the table of kinds,
`rubrics/schema.json` lets an editor complete the file.
"""

from __future__ import annotations

import hashlib
import json
import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from triptych.errors import InvalidAnnotation, InvalidRubric
from triptych.settings import app_folder
from triptych.storage.models import Round

RUBRICS = app_folder() / "rubrics"
QUOTE_IT = 'this is read as true/false; put it in quotes, as in "yes"'
KEY = r"^[a-z][a-z0-9_]{0,39}$"
Key = Annotated[str, Field(pattern=KEY)]
Words = Annotated[str, Field(min_length=1)]


def unique(keys: list[str], what: str) -> None:
    """Raises ValueError, which pydantic turns into a message with a path, if a key stands twice."""
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise ValueError(f"each {what} may stand once; twice: {shown(twice)}")


def shown(values: Any) -> str:
    return ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


class Level(StrEnum):
    """Level of measurement: which distances between values mean something."""

    nominal = "nominal"
    ordinal = "ordinal"
    interval = "interval"


class Part(BaseModel):
    """Base of every part of a rubric: unknown keys are errors, nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Reason(Part):
    """A ready-made reason; annotators read the text, the analysis counts the tag."""

    key: Key
    text: Words
    tag: Key


class Ask(Part):
    """What an answer asks for besides itself: reasons to tick and/or free text."""

    reasons: tuple[Reason, ...] = ()
    free_text: Literal["none", "optional", "required"] = "optional"

    @model_validator(mode="after")
    def asks_for_something(self) -> Ask:
        if not self.reasons and self.free_text != "required":
            raise ValueError("`ask` without `reasons` needs `free_text: required`; otherwise leave `ask` out")
        unique([reason.key for reason in self.reasons], "reason key")
        return self


class Point(Part):
    """One point of a Likert scale."""

    value: float
    title: str = ""
    definition: str = ""
    sparing: bool = False
    ask: Ask | None = None


class Likert(Part):
    """Ordered points, each named where it has a name; points between may be left unnamed (half points)."""

    kind: Literal["likert"]
    points: tuple[Point, ...] = Field(min_length=2, max_length=21)
    level: Level = Level.ordinal

    @model_validator(mode="after")
    def points_rise(self) -> Likert:
        values = [point.value for point in self.points]
        if values != sorted(set(values)):
            raise ValueError("the values of `points` must rise, each once")
        return self

    @property
    def values(self) -> list[float]:
        return [point.value for point in self.points]

    def check(self, value: Any) -> float:
        """The value as stored; refuses what is not a point of the scale."""
        number = a_number(value)
        if number not in self.values:
            raise InvalidAnnotation(f"{value!r} is not a point of the scale {shown(self.values)}.")
        return number

    def ask_for(self, value: Any) -> Ask | None:
        return next((point.ask for point in self.points if point.value == value), None)


class Option(Part):
    """One option of a choice. `missing: true` takes it out of the headline numbers; leave it out otherwise.

    `apart: true` keeps it in them, and shows agreement without it beside them.
    """

    key: Key
    title: Words
    definition: str = ""
    missing: bool = False
    apart: bool = False
    positive: bool = False
    ask: Ask | None = None


class Choice(Part):
    """One of several options."""

    kind: Literal["choice"]
    options: tuple[Option, ...] = Field(min_length=2, max_length=12)
    level: Level = Level.nominal

    @model_validator(mode="after")
    def options_differ(self) -> Choice:
        unique([option.key for option in self.options], "option key")
        return self

    @property
    def values(self) -> list[str]:
        return [option.key for option in self.options]

    def check(self, value: Any) -> str:
        if not isinstance(value, str) or value not in self.values:
            raise InvalidAnnotation(f"{value!r} is not an option; the options are {shown(self.values)}.")
        return value

    def ask_for(self, value: Any) -> Ask | None:
        return next((option.ask for option in self.options if option.key == value), None)


class Number(Part):
    """A number between two ends, on a step: up to eleven steps are asked as points, more with a slider."""

    kind: Literal["number"]
    low: float
    high: float
    step: float = Field(default=1, gt=0)
    unit: str = ""
    low_title: str = ""
    high_title: str = ""
    level: Level = Level.interval

    @model_validator(mode="after")
    def ends_in_order(self) -> Number:
        if self.low >= self.high:
            raise ValueError("`low` must be smaller than `high`")
        if not is_whole((self.high - self.low) / self.step):
            raise ValueError("`high` must be a whole number of steps above `low`")
        return self

    def check(self, value: Any) -> float:
        """The value as stored, on its step exactly: 0.1 + 0.2 is stored as 0.3."""
        number = a_number(value)
        steps = (number - self.low) / self.step
        if not self.low <= number <= self.high or not is_whole(steps):
            raise InvalidAnnotation(f"{value!r} is not on the scale {self.low:g} to {self.high:g}, step {self.step:g}.")
        return round(self.low + round(steps) * self.step, 9)

    def ask_for(self, value: Any) -> Ask | None:
        return None


class Best(Part):
    """Pick the best response of the item; ties allowed."""

    kind: Literal["best"]
    none_option: bool = False
    level: Level = Level.nominal

    def check(self, value: Any) -> list[str]:
        """A list of slot letters; whether the letters exist is checked against the assignment."""
        fits = isinstance(value, list) and all(isinstance(letter, str) for letter in value)
        if not fits or len(set(value)) != len(value) or (not value and not self.none_option):
            raise InvalidAnnotation("Pick at least one response as the best one, each once.")
        return value

    def ask_for(self, value: Any) -> Ask | None:
        return None


Scale = Annotated[Likert | Choice | Number | Best, Field(discriminator="kind")]
KINDS = {"likert": Likert, "choice": Choice, "number": Number, "best": Best}


class Turn(Part):
    """One turn of a dialogue."""

    speaker: str
    text: Words


class ExampleCandidate(Part):
    """One answer of a worked example, with the rating it deserves and why."""

    text: Words
    rating: Words
    reason: Words


class Example(Part):
    """A worked example shown in the guidelines beside its criterion."""

    context: tuple[Turn, ...] = ()
    candidates: tuple[ExampleCandidate, ...] = Field(min_length=1)


class Criterion(Part):
    """One thing judged: a question, a definition, a scale."""

    key: Key
    title: Words
    question: str = ""
    definition: Words
    note: str = ""
    about: Literal["candidate", "item"] = "candidate"
    required: bool = True
    rounds: tuple[Round, ...] = ()
    scale: Scale
    examples: tuple[Example, ...] = ()

    @model_validator(mode="after")
    def best_is_about_the_item(self) -> Criterion:
        if self.scale.kind == "best" and self.about != "item":
            raise ValueError("a `best` scale compares the responses of an item: write `about: item`")
        return self

    def asked_in(self, study_round: str) -> bool:
        return not self.rounds or study_round in self.rounds


class HighlightLabel(Part):
    key: Key
    title: Words
    definition: str = ""


class Choosable(Part):
    """A reason for not rating: the key is stored, the title is shown."""

    key: Key
    title: Words


class SetAside(Part):
    """Taking an item, or one response, out of the rating with a reason."""

    title: Words
    reasons: tuple[Choosable, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def reasons_differ(self) -> SetAside:
        unique([reason.key for reason in self.reasons], "reason key")
        return self


class Speaker(Part):
    """Names of one speaker in the files, and how annotators see them."""

    names: tuple[str, ...] = Field(min_length=1)
    title: Words
    side: Literal["left", "right"] = "left"


class Context(Part):
    """What stands beside the responses: its title, and which meta fields annotators may see."""

    title: str = "Context"
    show: tuple[str, ...] = ()
    stars: str | None = Field(default=None, description="name of the meta field that holds a rating in stars")
    extra_texts: tuple[str, ...] = ()
    extra_rounds: tuple[Round, ...] = Field(
        default=(), description="rounds in which the extra texts are shown; all if left out"
    )

    def extras(self, study_round: str) -> tuple[str, ...]:
        """The extra texts shown in a round."""
        return self.extra_texts if not self.extra_rounds or study_round in self.extra_rounds else ()


class Section(Part):
    """A part of the guidelines: plain text, blank lines part paragraphs."""

    title: Words
    text: Words


class ReferenceScore(Part):
    """What a training item should get on one criterion, and why."""

    criterion: Key
    slot: Literal["A", "B", "C", "D", "E", "F"] | None = "A"
    value: float | str
    close: float = Field(default=0, ge=0, description="how far an answer may be and still count as close")
    reason: Words

    @field_validator("value", mode="before")
    @classmethod
    def not_true_or_false(cls, value: Any) -> Any:
        """YAML reads an unquoted yes as true, which would pass for the number 1."""
        if isinstance(value, bool):
            raise ValueError(QUOTE_IT)
        return value


class TrainingCandidate(Part):
    text: str | None = None
    turns: tuple[Turn, ...] = ()

    @model_validator(mode="after")
    def text_or_turns(self) -> TrainingCandidate:
        if (self.text is None) == (not self.turns):
            raise ValueError("give either `text` or `turns`")
        return self


class TrainingItem(Part):
    """An item rated before the real ones, answered with feedback per criterion."""

    key: Key
    context: str | tuple[Turn, ...] = ""
    meta: dict[str, str] = {}
    candidates: tuple[TrainingCandidate, ...] = Field(min_length=1, max_length=6)
    references: tuple[ReferenceScore, ...] = Field(min_length=1)


class TestQuestion(Part):
    """A question of the entry test."""

    __test__ = False  # pytest would collect a class of this name

    key: Key
    text: Words
    options: tuple[Choosable, ...] = Field(min_length=2)
    answer: Key
    reason: Words

    @model_validator(mode="after")
    def answer_is_an_option(self) -> TestQuestion:
        unique([option.key for option in self.options], "option key")
        if self.answer not in [option.key for option in self.options]:
            raise ValueError(f"`answer: {self.answer}` is not one of the options")
        return self


class EntryTest(Part):
    """A test before the first item: a page to study, questions, a pass mark."""

    title: Words
    study_page: tuple[Section, ...] = ()
    pass_percent: int = Field(default=80, ge=1, le=100)
    attempts: int = Field(default=1, ge=1, le=10)
    rounds: tuple[Round, ...] = Field(default=(), description="rounds in which the test is asked; all if left out")
    questions: tuple[TestQuestion, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def questions_differ(self) -> EntryTest:
        unique([question.key for question in self.questions], "question key")
        return self

    def asked_in(self, study_round: str) -> bool:
        return not self.rounds or study_round in self.rounds


class ExplanationRule(Part):
    """Word limits of free text; ready-made reasons do not count."""

    min_words: int = Field(default=0, ge=0)
    max_words: int = Field(default=200, ge=1)

    @model_validator(mode="after")
    def limits_in_order(self) -> ExplanationRule:
        if self.min_words > self.max_words:
            raise ValueError("`min_words` must not be larger than `max_words`")
        return self


class Rubric(Part):
    """A whole rubric. Load one with `load_rubric` or `parse_rubric`."""

    key: Key
    title: Words
    summary: Words
    source: str = ""
    language: str = Field(default="en", description="language of the texts, BCP 47")
    judged: Literal["response", "conversation"] = "response"
    presentation: Literal["side_by_side", "succession"] = "side_by_side"
    context: Context = Context()
    speakers: tuple[Speaker, ...] = ()
    instructions: Words
    guidelines: tuple[Section, ...] = ()
    content_note: str = ""
    criteria: tuple[Criterion, ...] = Field(min_length=1)
    explanation: ExplanationRule = ExplanationRule()
    highlights: tuple[HighlightLabel, ...] = Field(default=(), max_length=9)
    skip: SetAside | None = SetAside(
        title="Can't judge this item",
        reasons=(
            Choosable(key="unclear", title="I can't understand the texts"),
            Choosable(key="upsetting", title="The content upsets me"),
            Choosable(key="technical", title="Something is broken or missing"),
            Choosable(key="other", title="Another reason"),
        ),
    )
    ignore_item: SetAside | None = None
    set_aside_response: SetAside | None = None
    training: tuple[TrainingItem, ...] = ()
    entry_test: EntryTest | None = None

    @field_validator("criteria")
    @classmethod
    def criteria_differ(cls, criteria: tuple[Criterion, ...]) -> tuple[Criterion, ...]:
        unique([criterion.key for criterion in criteria], "criterion key")
        return criteria

    @model_validator(mode="after")
    def names_differ_and_training_fits(self) -> Rubric:
        unique([label.key for label in self.highlights], "highlight label")
        unique([name for speaker in self.speakers for name in speaker.names], "speaker name")
        unique([item.key for item in self.training], "training item key")
        for item in self.training:
            for reference in item.references:
                self._check_reference(item, reference)
        return self

    def _check_reference(self, item: TrainingItem, reference: ReferenceScore) -> None:
        where = f"training item `{item.key}`, reference for `{reference.criterion}`"
        criterion = next((c for c in self.criteria if c.key == reference.criterion), None)
        if criterion is None:
            raise ValueError(f"{where}: there is no such criterion; there are {shown(c.key for c in self.criteria)}")
        if (reference.slot is None) != (criterion.about == "item"):
            raise ValueError(f"{where}: about a candidate, name its `slot`; about the item, write `slot: null`")
        if reference.slot is not None and "ABCDEF".index(reference.slot) >= len(item.candidates):
            raise ValueError(f"{where}: slot {reference.slot} has no candidate; the item has {len(item.candidates)}")
        try:
            criterion.scale.check(reference.value)
        except InvalidAnnotation as error:
            raise ValueError(f"{where}: {error}") from error

    def criterion(self, key: str) -> Criterion:
        found = next((criterion for criterion in self.criteria if criterion.key == key), None)
        if found is None:
            raise InvalidAnnotation(f"{key!r} is not a criterion; there are {shown(c.key for c in self.criteria)}.")
        return found

    def asked(self, study_round: str) -> list[Criterion]:
        """The criteria asked in a round, in order."""
        return [criterion for criterion in self.criteria if criterion.asked_in(study_round)]


def a_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidAnnotation(f"{value!r} is not a number.")
    try:
        return float(value)
    except OverflowError as error:
        raise InvalidAnnotation("The number is too large.") from error


def is_whole(number: float) -> bool:
    return math.isfinite(number) and abs(number - round(number)) < 1e-6


class _UniqueKeys(yaml.SafeLoader):
    """A safe loader that refuses a key given twice, which YAML would silently overwrite."""


def _mapping(loader: _UniqueKeys, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[str] = set()
    for key, _ in node.value:
        name = repr(loader.construct_object(key))  # repr: a YAML key may be a list, which no set can hold
        if name in seen:
            raise yaml.constructor.ConstructorError(None, None, f"the key {name} stands twice", key.start_mark)
        seen.add(name)
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


_UniqueKeys.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def parse_rubric(text: str, name: str = "rubric") -> Rubric:
    """The rubric in a YAML text. Raises InvalidRubric with file, path and what would be right."""
    try:
        data = _UniqueKeys(text).get_single_data()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise InvalidRubric(f"{name}{line}: not valid YAML: {getattr(error, 'problem', error)}.") from error
    except ValueError as error:  # what looks like a date or a number but is none, such as 2024-13-45
        raise InvalidRubric(f"{name}: not valid YAML: {error}; put such a value in quotes.") from error
    except RecursionError as error:
        raise InvalidRubric(f"{name}: nested too deeply to be a rubric.") from error
    if not isinstance(data, dict):
        raise InvalidRubric(f"{name}: a rubric is a mapping that starts with `key:`, `title:` and `summary:`.")
    try:
        return Rubric.model_validate(data)
    except ValidationError as error:
        raise InvalidRubric(_readable(error, name)) from error


def _readable(error: ValidationError, name: str) -> str:
    """One line per mistake: where it stands in the file, what is wrong, what would be right."""
    lines = []
    for mistake in error.errors():
        path = ".".join(str(part) for part in mistake["loc"] if part not in KINDS) or "the file"
        lines.append(f"{name}: {path}: {_wording(mistake)}")
    more = f"\n… and {len(lines) - 10} more" if len(lines) > 10 else ""
    return "\n".join(lines[:10]) + more


def _wording(mistake: Any) -> str:
    match mistake["type"]:
        case "extra_forbidden":
            return "there is no such key here; check its spelling against rubrics/README.md."
        case "missing":
            return "is missing; write it."
        case "union_tag_invalid" | "union_tag_not_found":
            return f"`kind` must be one of {shown(KINDS)}."
        case "string_pattern_mismatch":
            return f"{mistake['input']!r} is not a key; use lower-case letters, digits and _, starting with a letter."
        case "string_type" if isinstance(mistake["input"], bool):
            return QUOTE_IT + "."
        case _:
            return mistake["msg"].removeprefix("Value error, ").rstrip(".") + "."


def load_rubric(path: Path) -> Rubric:
    """The rubric in a file. Raises InvalidRubric."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRubric(f"{path.name}: cannot be read as UTF-8 text.") from error
    return parse_rubric(text, path.name)


def shipped_rubrics() -> dict[str, Path]:
    """Key → file of every rubric in `rubrics/`."""
    return {path.stem: path for path in sorted(RUBRICS.glob("*.yaml"))}


def text_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def json_schema() -> str:
    """JSON Schema of a rubric file, for editors; checked in as rubrics/schema.json."""
    return json.dumps(Rubric.model_json_schema(), indent=1, ensure_ascii=False) + "\n"

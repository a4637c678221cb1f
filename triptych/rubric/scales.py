"""The kinds of scale. A new kind is a class here, named in `Scale` and `KINDS`.

CONTRIBUTING.md, *Where do I change …*, lists where a kind is stored, shown, analysed and exported.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from triptych.errors import InvalidAnnotation

KEY = r"^[a-z][a-z0-9_]{0,39}$"
SLIDER_FROM_STEPS = 11  # which are twelve values
JAVASCRIPTS_OWN = "constructor"  # the only word matching KEY that every JavaScript object has as a property


def _no_objects_own(key: str) -> str:
    if key == JAVASCRIPTS_OWN:
        raise ValueError(f"{key!r} is a word of browsers; choose another one")
    return key


Key = Annotated[str, Field(pattern=KEY), AfterValidator(_no_objects_own)]
Words = Annotated[str, Field(min_length=1)]
Value = str | float | list[str]  # an answer: an option, a number, or the letters of the best responses


def unique(keys: list[str], noun: str) -> None:
    """Raises ValueError if a key is repeated; pydantic adds the path to the message."""
    repeated = sorted({key for key in keys if keys.count(key) > 1})
    if repeated:
        raise ValueError(f"each {noun} may be used once; repeated: {shown(repeated)}")


def once(noun: str) -> AfterValidator:
    """A validator for a list field: all its parts must have different keys; `noun` names the key in the message."""

    def check(parts: tuple[Any, ...]) -> tuple[Any, ...]:
        unique([part.key for part in parts], noun)
        return parts

    return AfterValidator(check)


def as_typed(number: float) -> str:
    """A number of a scale as people type it, with all its digits."""
    return f"{number:.15g}"


def shown(values: Iterable[object]) -> str:
    return ", ".join(as_typed(value) if isinstance(value, float) else str(value) for value in values)


class Level(StrEnum):
    """Level of measurement: which distances between values mean something."""

    nominal = "nominal"
    ordinal = "ordinal"
    interval = "interval"


class RubricPart(BaseModel):
    """Base of every part of a rubric: unknown keys are errors, nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Reason(RubricPart):
    """A ready-made reason; annotators read the text, the analysis counts the tag."""

    key: Key
    text: Words
    tag: Key


class Ask(RubricPart):
    """What an answer additionally asks for: reasons to tick and/or free text."""

    reasons: Annotated[tuple[Reason, ...], once("reason key")] = ()
    free_text: Literal["none", "optional", "required"] = "optional"

    @model_validator(mode="after")
    def asks_for_something(self) -> Ask:
        if not self.reasons and self.free_text == "none":
            raise ValueError("`ask` without `reasons` needs a text field: `free_text: required` or `optional`")
        return self


class Point(RubricPart):
    """One point of a Likert scale."""

    value: float
    title: str = ""
    definition: str = ""
    sparing: bool = False
    ask: Ask | None = None


class ScaleKind(RubricPart):
    """The interface of every kind of scale."""

    @property
    def asks(self) -> Mapping[str | float, Ask]:
        """Answers that ask for more than a value (reasons, a text), and what each asks for."""
        return {}

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest number of a result; 0 and 1 for a share."""
        return 0.0, 1.0

    def ask_for(self, value: Value) -> Ask | None:
        return next((ask for answer, ask in self.asks.items() if answer == value), None)


class Likert(ScaleKind):
    """Ordered points, each named where it has a name; points between may be left unnamed (half points)."""

    kind: Literal["likert"]
    points: tuple[Point, ...] = Field(min_length=2, max_length=21)
    sparing_note: str = Field(default="", description="when a point with `sparing: true`, drawn dashed, may be used")
    level: Level = Level.ordinal

    @model_validator(mode="after")
    def points_rise(self) -> Likert:
        values = [point.value for point in self.points]
        if values != sorted(set(values)):
            raise ValueError("the values of `points` must rise, each once")
        if self.sparing_note and not any(point.sparing for point in self.points):
            raise ValueError("`sparing_note` explains points with `sparing: true`, and no point has it")
        return self

    @property
    def values(self) -> list[float]:
        return [point.value for point in self.points]

    @property
    def ends(self) -> tuple[float, float]:
        return self.points[0].value, self.points[-1].value

    @property
    def asks(self) -> dict[str | float, Ask]:
        return {point.value: point.ask for point in self.points if point.ask}

    def check(self, value: object) -> float:
        """The value to store. Raises InvalidAnnotation if it is not a point of the scale."""
        number = as_number(value)
        if number not in self.values:
            raise InvalidAnnotation(f"{value!r} is not a point of the scale {shown(self.values)}.")
        return number


class ChoiceOption(RubricPart):
    """One option of a choice. `missing: true` takes it out of the headline numbers; leave it out otherwise.

    `apart: true` keeps it in them, and shows agreement without it as well.
    """

    key: Key
    title: Words
    definition: str = ""
    missing: bool = False
    apart: bool = False
    positive: bool = False
    ask: Ask | None = None


class Choice(ScaleKind):
    """One of several options."""

    kind: Literal["choice"]
    options: Annotated[tuple[ChoiceOption, ...], once("option key")] = Field(min_length=2, max_length=50)
    level: Level = Level.nominal

    @property
    def values(self) -> list[str]:
        return [option.key for option in self.options]

    @property
    def missing(self) -> list[str]:
        """The options that count as no answer."""
        return [option.key for option in self.options if option.missing]

    @property
    def asks(self) -> dict[str | float, Ask]:
        return {option.key: option.ask for option in self.options if option.ask}

    def check(self, value: object) -> str:
        if not isinstance(value, str) or value not in self.values:
            raise InvalidAnnotation(f"{value!r} is not an option; the options are {shown(self.values)}.")
        return value


class NumberScale(ScaleKind):
    """A number between two ends, on a step: up to eleven values are asked as points, more with a slider."""

    kind: Literal["number"]
    low: float
    high: float
    step: float = Field(default=1, gt=0)
    unit: str = ""
    low_title: str = ""
    high_title: str = ""
    level: Level = Level.interval

    @model_validator(mode="after")
    def ends_in_order(self) -> NumberScale:
        if self.low >= self.high:
            raise ValueError("`low` must be smaller than `high`")
        if not is_whole((self.high - self.low) / self.step):
            raise ValueError("`high` must be a whole number of steps above `low`")
        return self

    @property
    def ends(self) -> tuple[float, float]:
        return self.low, self.high

    @property
    def steps(self) -> int:
        return round((self.high - self.low) / self.step)

    @property
    def values(self) -> list[float]:
        """All numbers on the scale, which may be very many."""
        return [self.after(steps) for steps in range(self.steps + 1)]

    @property
    def is_slider(self) -> bool:
        """Whether it is asked with a slider, see `isSlider` of the workbench."""
        return self.steps >= SLIDER_FROM_STEPS

    def after(self, steps: int) -> float:
        """The number so many steps above the low end: 0.1 + 0.2 is 0.3, and no zero is negative."""
        decimals = max(9, 3 - math.floor(math.log10(self.step)))
        return round(self.low + steps * self.step, decimals) + 0.0

    def check(self, value: object) -> float:
        """The value to store, rounded to its step."""
        number = as_number(value)
        is_inside = self.low <= number <= self.high
        nearest = self.after(round((number - self.low) / self.step)) if is_inside else None
        if nearest is None or abs(number - nearest) > 1e-6 * self.step:
            low, high, step = map(as_typed, (self.low, self.high, self.step))
            raise InvalidAnnotation(f"{value!r} is not on the scale {low} to {high}, step {step}.")
        return nearest


class Best(ScaleKind):
    """Pick the best response of the item; ties allowed."""

    kind: Literal["best"]
    none_option: bool = False
    level: Level = Level.nominal

    def check(self, value: object) -> list[str]:
        """The list of slot letters; `rubric/answers.py` checks that the responses exist."""
        letters = [letter for letter in value if isinstance(letter, str)] if isinstance(value, list) else []
        if letters != value or len(set(letters)) != len(letters) or not (letters or self.none_option):
            raise InvalidAnnotation("Pick at least one response as the best one, each once.")
        return letters


Scale = Annotated[Likert | Choice | NumberScale | Best, Field(discriminator="kind")]
KINDS = {"likert": Likert, "choice": Choice, "number": NumberScale, "best": Best}


def as_number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidAnnotation(f"{value!r} is not a number.")
    try:
        return float(value)
    except OverflowError as error:
        raise InvalidAnnotation("The number is too large.") from error


def is_whole(number: float) -> bool:
    return math.isfinite(number) and abs(number - round(number)) < 1e-6

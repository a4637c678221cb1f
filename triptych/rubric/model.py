"""The rubric: what is judged, on which scales, with which explanations.

A rubric is data. A new criterion or a whole new rubric needs no Python; `rubrics/README.md` is the table of kinds.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field, PrivateAttr, field_validator, model_validator

from triptych.errors import InvalidAnnotation
from triptych.rubric.scales import Best, Key, RubricPart, Scale, Words, once, shown, unique
from triptych.rubric.wording import length_in_words, texts_of, translated
from triptych.storage.models import Round

Presentation = Literal["side_by_side", "succession"]
Letter = Literal["A", "B", "C", "D", "E", "F"]
LETTERS = "".join(get_args(Letter))  # of an item's responses on screen, as many as it may have
MAX_CRITERIA = 50  # every pair of systems is tested under each
QUOTE_IT = 'this is read as true/false; put it in quotes, as in "true"'


class RubricTurn(RubricPart):
    """One turn of a dialogue."""

    speaker: str
    text: Words


class ExampleCandidate(RubricPart):
    """One answer of a worked example, with the rating it deserves and why."""

    text: Words
    rating: Words
    reason: Words


class WorkedExample(RubricPart):
    """A worked example shown in the guidelines with its criterion."""

    context: tuple[RubricTurn, ...] = ()
    candidates: tuple[ExampleCandidate, ...] = Field(min_length=1)


class Criterion(RubricPart):
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
    examples: tuple[WorkedExample, ...] = ()

    @model_validator(mode="after")
    def best_is_about_the_item(self) -> Criterion:
        if self.scale.kind == "best" and self.about != "item":
            raise ValueError("a `best` scale compares the responses of an item: write `about: item`")
        return self

    def asked_in(self, study_round: str) -> bool:
        return not self.rounds or study_round in self.rounds

    @property
    def per_response(self) -> bool:
        """Whether each response gets a value; with `best`, the value is whether the response was chosen."""
        return self.about == "candidate" or isinstance(self.scale, Best)


class HighlightLabel(RubricPart):
    """What a passage is marked as; a label is for one kind of text."""

    key: Key
    title: Words
    definition: str = ""
    marked_in: Literal["candidate", "context"] = "candidate"


class Choosable(RubricPart):
    """A reason for not rating: the key is stored, the title is shown."""

    key: Key
    title: Words


class SetAside(RubricPart):
    """Taking an item, or one response, out of the rating with a reason."""

    title: Words
    reasons: Annotated[tuple[Choosable, ...], once("reason key")] = Field(min_length=1)


class Speaker(RubricPart):
    """Names of one speaker in the files, and how annotators see them."""

    names: tuple[str, ...] = Field(min_length=1)
    title: Words
    side: Literal["left", "right"] = "left"


class Context(RubricPart):
    """What is shown next to the responses: its title, and which meta fields annotators may see."""

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


class Section(RubricPart):
    """A part of the guidelines: plain text, with blank lines between paragraphs."""

    title: Words
    text: Words


class ReferenceScore(RubricPart):
    """What a training item should get on one criterion, and why."""

    criterion: Key
    slot: Letter | None = "A"
    value: float | str
    close: float = Field(default=0, ge=0, description="how far off an answer may be and still count as close")
    reason: Words

    @property
    def position(self) -> int | None:
        """The index of the candidate; None if the score is about the item."""
        return None if self.slot is None else LETTERS.index(self.slot)

    @field_validator("value", mode="before")
    @classmethod
    def not_true_or_false(cls, value: object) -> object:
        """YAML reads an unquoted `true` as a boolean, which Python would accept as the number 1."""
        if isinstance(value, bool):
            raise ValueError(QUOTE_IT)
        return value


class TrainingCandidate(RubricPart):
    text: str | None = None
    turns: tuple[RubricTurn, ...] = ()

    @model_validator(mode="after")
    def text_or_turns(self) -> TrainingCandidate:
        if (self.text is None) == (not self.turns):
            raise ValueError("give either `text` or `turns`")
        return self


class RatedItem(RubricPart):
    """An item with the scores it should get, and why."""

    context: str | tuple[RubricTurn, ...] = ""
    meta: dict[str, str] = {}
    candidates: tuple[TrainingCandidate, ...] = Field(min_length=1, max_length=len(LETTERS))
    references: tuple[ReferenceScore, ...] = Field(min_length=1)


class TrainingItem(RatedItem):
    """An item rated before the main ones, answered with feedback per criterion."""

    key: Key


class QuestionOption(Choosable):
    """An answer to choose at a question of the entry test."""


class TestQuestion(RubricPart):
    """A question of the entry test."""

    __test__ = False  # pytest would collect a class of this name

    key: Key
    text: Words
    options: Annotated[tuple[QuestionOption, ...], once("option key")] = Field(min_length=2)
    answer: Key
    reason: Words

    @model_validator(mode="after")
    def answer_is_an_option(self) -> TestQuestion:
        if self.answer not in [option.key for option in self.options]:
            raise ValueError(f"`answer: {self.answer}` is not one of the options")
        return self


class EntryTestSpec(RubricPart):
    """A test before the first item: a page to study, questions, a pass mark."""

    title: Words
    study_page: tuple[Section, ...] = ()
    pass_percent: int = Field(default=80, ge=1, le=100)
    attempts: int = Field(default=1, ge=1, le=10)
    rounds: tuple[Round, ...] = Field(default=(), description="rounds in which the test is asked; all if left out")
    questions: Annotated[tuple[TestQuestion, ...], once("question key")] = Field(min_length=1)

    def asked_in(self, study_round: str) -> bool:
        return not self.rounds or study_round in self.rounds


class ExplanationRule(RubricPart):
    """Word limits of free text; ready-made reasons do not count."""

    min_words: int = Field(default=0, ge=0)
    max_words: int = Field(default=200, ge=1)
    sample: str = Field(default="", description="a good explanation, shown where one is asked for")

    @model_validator(mode="after")
    def limits_in_order(self) -> ExplanationRule:
        if self.min_words > self.max_words:
            raise ValueError("`min_words` must not be larger than `max_words`")
        words = length_in_words(self.sample)
        if self.sample and not self.min_words <= words <= self.max_words:
            raise ValueError(f"`sample` has {words} words; the limits are {self.min_words} to {self.max_words}")
        return self


class StudyStart(RubricPart):
    """What a new study with this rubric begins with; a lead may change all of it."""

    rounds: tuple[Round, ...] = Field(default=(), description="rounds that begin like this; all if left out")
    raters_per_item: int | None = Field(default=None, ge=1, le=100)
    pay_per_item: float | None = Field(default=None, ge=0)
    currency: str = Field(default="USD", pattern=r"^[A-Z]{3}$")
    eligibility: str = Field(default="", description="rules that a panel enforces, one per line")

    def asked_in(self, study_round: str) -> bool:
        return not self.rounds or study_round in self.rounds


class Translation(RubricPart):
    """A text of the rubric in other languages."""

    text: Words
    into: dict[str, str] = Field(default={}, description="language, as in de → the text in it")


class Rubric(RubricPart):
    """A whole rubric. `parse_rubric` of `rubric/files.py` reads one."""

    key: Key
    title: Words
    summary: Words
    source: str = ""
    deviations: str = Field(default="", description="where the wording is not the original protocol's")
    language: str = Field(default="en", description="language of the texts, BCP 47")
    judged: Literal["response", "conversation"] = "response"
    presentation: Presentation = "side_by_side"
    context: Context = Context()
    speakers: tuple[Speaker, ...] = ()
    instructions: Words
    guidelines: tuple[Section, ...] = ()
    worked_example: RatedItem | None = None
    content_note: str = ""
    criteria: Annotated[tuple[Criterion, ...], once("criterion key")] = Field(
        min_length=1, json_schema_extra={"maxItems": MAX_CRITERIA}
    )
    explanation: ExplanationRule = ExplanationRule()
    highlights: Annotated[tuple[HighlightLabel, ...], once("highlight label")] = Field(default=(), max_length=9)
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
    training: Annotated[tuple[TrainingItem, ...], once("training item key")] = ()
    entry_test: EntryTestSpec | None = None
    study_start: tuple[StudyStart, ...] = ()
    translations: tuple[Translation, ...] = ()
    _in_language: dict[str, Rubric] = PrivateAttr(default_factory=dict)
    _wording: str = PrivateAttr(default="")
    _untranslated: frozenset[str] = PrivateAttr(default=frozenset())

    @property
    def wording(self) -> str:
        """The language of the rubric's own words; `language` is that of its examples and of the items."""
        return self._wording or self.language

    @property
    def untranslated(self) -> frozenset[str]:
        """The texts without a translation into `wording`, which are shown in the original's language."""
        return self._untranslated

    @property
    def speaker_titles(self) -> dict[str, str]:
        """Name of a speaker in the files → its title on screen."""
        return {name: speaker.title for speaker in self.speakers for name in speaker.names}

    def in_language(self, code: str) -> Rubric:
        """The rubric with its texts translated; a text without a translation is unchanged."""
        if code == self.language.partition("-")[0]:
            return self
        if code not in self._in_language:
            words = {each.text: each.into[code] for each in self.translations if each.into.get(code)}
            rubric: Rubric = translated(self, words)
            rubric._wording = code if words else self.language
            rubric._untranslated = frozenset(texts_of(self)) - set(words) if words else frozenset()
            self._in_language[code] = rubric
        return self._in_language[code]

    @model_validator(mode="after")
    def names_differ_and_references_fit(self) -> Rubric:
        unique([name for speaker in self.speakers for name in speaker.names], "speaker name")
        items: dict[str, RatedItem] = {f"training item `{item.key}`": item for item in self.training}
        if self.worked_example is not None:
            items["`worked_example`"] = self.worked_example
        for name, item in items.items():
            for reference in item.references:
                self._check_reference(f"{name}, reference for `{reference.criterion}`", item, reference)
        return self

    def _check_reference(self, where: str, item: RatedItem, reference: ReferenceScore) -> None:
        criterion = next((c for c in self.criteria if c.key == reference.criterion), None)
        if criterion is None:
            raise ValueError(f"{where}: there is no such criterion; there are {shown(c.key for c in self.criteria)}")
        if (reference.slot is None) != (criterion.about == "item"):
            raise ValueError(f"{where}: about a candidate, name its `slot`; about the item, write `slot: null`")
        if reference.position is not None and reference.position >= len(item.candidates):
            raise ValueError(f"{where}: slot {reference.slot} has no candidate; the item has {len(item.candidates)}")
        try:
            criterion.scale.check(reference.value)
        except InvalidAnnotation as error:
            raise ValueError(f"{where}: {error}") from error

    def criterion(self, key: str) -> Criterion:
        criterion = next((criterion for criterion in self.criteria if criterion.key == key), None)
        if criterion is None:
            raise InvalidAnnotation(
                f"{key!r} is not a criterion; the rubric has {shown(c.key for c in self.criteria)}."
            )
        return criterion

    def asked(self, study_round: str) -> list[Criterion]:
        """The criteria asked in a round, in order."""
        return [criterion for criterion in self.criteria if criterion.asked_in(study_round)]

    def labels_in(self, place: Literal["candidate", "context"]) -> list[HighlightLabel]:
        """The labels for passages in responses (`candidate`) or in the context."""
        return [label for label in self.highlights if label.marked_in == place]

    def start_in(self, study_round: str) -> StudyStart:
        """The defaults of a new study in this round: the first entry for it."""
        return next((start for start in self.study_start if start.asked_in(study_round)), StudyStart())

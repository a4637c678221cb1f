"""The rubric schema: what it accepts, what it refuses, and in which words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, cast

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from triptych.errors import InvalidAnnotation, InvalidRubric
from triptych.rubric.files import RUBRICS, json_schema, parse_rubric, read_rubric
from triptych.rubric.model import Criterion, Rubric
from triptych.rubric.scales import KINDS, Best, Likert, NumberScale
from triptych.storage.models import Round

SMALL = """\
key: small
title: Small
summary: One question.
instructions: Read, then judge.
criteria:
  - key: good
    title: Good
    definition: Is it good?
    scale:
      kind: choice
      options:
        - {key: "yes", title: Good, ask: {free_text: required}}
        - {key: "no", title: Not good}
"""
TRAINING = """\
training:
  - key: first
    candidates: [{text: One.}]
    references: [{criterion: good, slot: A, value: "yes", reason: It is.}]
"""
ENTRY_TEST = """\
entry_test:
  title: Test
  questions:
    - {key: q, text: "Which?", options: [{key: a, title: A}, {key: b, title: B}], answer: a, reason: A it is.}
"""
ONE_TO_SEVEN = Likert(kind="likert", points=[{"value": value} for value in range(1, 8)])
HALVES = Likert(kind="likert", points=[{"value": value / 2} for value in range(7)])


def replaced(old: str, new: str, text: str = SMALL) -> str:
    assert old in text
    return text.replace(old, new, 1)


BROKEN = {
    "a misspelt key": (
        replaced("definition: Is", "defintion: Is"),
        [
            "criteria.0.defintion: there is no such key here; check",
            "criteria.0.definition: is missing",
        ],
    ),
    "a missing title": (replaced("title: Small\n", ""), ["bad.yaml: title: is missing; write it."]),
    "an unknown kind": (
        replaced("kind: choice", "kind: stars"),
        ["criteria.0.scale: `kind` must be one of likert, choice, number, best."],
    ),
    "a scale without a kind": (replaced("      kind: choice\n", ""), ["criteria.0.scale: `kind` must be one of"]),
    "an unquoted true": (
        replaced('"yes"', "true"),
        ['criteria.0.scale.options.0.key: this is read as true/false; put it in quotes, as in "true".'],
    ),
    "a key with capitals": (
        replaced("key: good", "key: Good One"),
        ["criteria.0.key: 'Good One' is not a key; use lower-case letters, digits and _"],
    ),
    "a key that every object of a browser has": (
        replaced("key: good", "key: constructor"),
        ["criteria.0.key: 'constructor' is a word of browsers; choose another one"],
    ),
    "an option given twice": (
        replaced('"no"', '"yes"'),
        ["criteria.0.scale.options: each option key may be used once; repeated: yes."],
    ),
    "a YAML key given twice": (
        replaced("summary:", "title: Again\nsummary:"),
        ["bad.yaml, line 3: not valid YAML: the key 'title' is repeated."],
    ),
    "a criterion given twice": (
        SMALL + SMALL[SMALL.index("  - key: good") :],
        ["criteria: each criterion key may be used once; repeated: good."],
    ),
    "no criteria": (SMALL[: SMALL.index("criteria:")] + "criteria: []\n", ["criteria: ", "at least 1"]),
    "points that fall": (
        replaced(SMALL[SMALL.index("      kind:") :], "      {kind: likert, points: [{value: 2}, {value: 1}]}\n"),
        ["criteria.0.scale: the values of `points` must rise, each once."],
    ),
    "ends in the wrong order": (
        replaced(SMALL[SMALL.index("      kind:") :], "      {kind: number, low: 5, high: 1}\n"),
        ["criteria.0.scale: `low` must be smaller than `high`."],
    ),
    "a step that misses the end": (
        replaced(SMALL[SMALL.index("      kind:") :], "      {kind: number, low: 0, high: 10, step: 3}\n"),
        ["criteria.0.scale: `high` must be a whole number of steps above `low`."],
    ),
    "an infinite end": (
        replaced(SMALL[SMALL.index("      kind:") :], "      {kind: number, low: -.inf, high: 1}\n"),
        ["criteria.0.scale.low: Input should be a finite number."],
    ),
    "best about a candidate": (
        replaced(SMALL[SMALL.index("      kind:") :], "      {kind: best}\n"),
        ["criteria.0: a `best` scale compares the responses of an item: write `about: item`."],
    ),
    "an ask for nothing": (
        replaced("free_text: required", "free_text: none"),
        ["criteria.0.scale.options.0.ask: `ask` without `reasons` needs a text field"],
    ),
    "a round that no study has": (
        replaced("    title: Good\n", "    title: Good\n    rounds: [crwd]\n"),
        ["criteria.0.rounds.0: Input should be 'pilot', 'main', 'expert' or 'crowd'."],
    ),
    "word limits in the wrong order": (
        SMALL + "explanation: {min_words: 30, max_words: 3}\n",
        ["explanation: `min_words` must not be larger than `max_words`."],
    ),
    "a sample that is too long": (
        SMALL + "explanation: {max_words: 3, sample: It says nothing new.}\n",
        ["explanation: `sample` has 4 words; the limits are 0 to 3."],
    ),
    "a note about points that are not there": (
        replaced(
            SMALL[SMALL.index("      kind:") :],
            "      {kind: likert, sparing_note: Rarely., points: [{value: 1}, {value: 2}]}\n",
        ),
        ["criteria.0.scale: `sparing_note` explains points with `sparing: true`, and no point has it."],
    ),
    "an empty title": (replaced("title: Small", 'title: ""'), ["bad.yaml, line 2: title: is empty; write it."]),
    "a speaker with two titles": (
        SMALL + "speakers: [{names: [A], title: One}, {names: [B, A], title: Two}]\n",
        ["bad.yaml: the file: each speaker name may be used once; repeated: A."],
    ),
    "a reason to skip given twice": (
        SMALL + "skip: {title: Skip, reasons: [{key: a, title: One}, {key: a, title: Two}]}\n",
        ["skip.reasons: each reason key may be used once; repeated: a."],
    ),
    "a reference for no criterion": (
        SMALL + replaced("criterion: good", "criterion: bad", TRAINING),
        ["training item `first`, reference for `bad`: there is no such criterion; there are good."],
    ),
    "a reference off the scale": (
        SMALL + replaced('"yes"', "maybe", TRAINING),
        ["reference for `good`: 'maybe' is not an option; the options are yes, no."],
    ),
    "a reference read as true": (
        SMALL + replaced('"yes"', "true", TRAINING),
        ['training.0.references.0.value: this is read as true/false; put it in quotes, as in "true".'],
    ),
    "a reference for a slot without a candidate": (
        SMALL + replaced("slot: A", "slot: B", TRAINING),
        ["reference for `good`: slot B has no candidate; the item has 1."],
    ),
    "a reference without a slot": (
        SMALL + replaced("slot: A", "slot: null", TRAINING),
        ["reference for `good`: about a candidate, name its `slot`; about the item, write `slot: null`."],
    ),
    "a training item with text and turns": (
        SMALL + replaced("{text: One.}", "{text: One., turns: [{speaker: A, text: One.}]}", TRAINING),
        ["training.0.candidates.0: give either `text` or `turns`."],
    ),
    "a training item given twice": (
        SMALL + TRAINING + TRAINING[TRAINING.index("  - key") :],
        ["each training item key may be used once; repeated: first."],
    ),
    "a right answer that is no option": (
        SMALL + replaced("answer: a", "answer: c", ENTRY_TEST),
        ["entry_test.questions.0: `answer: c` is not one of the options."],
    ),
    "a test question given twice": (
        SMALL + ENTRY_TEST + ENTRY_TEST[ENTRY_TEST.index("    - {key: q") :],
        ["entry_test.questions: each question key may be used once; repeated: q."],
    ),
    "text that is no YAML": ("key: [", ["bad.yaml, line 1: not valid YAML"]),
    "a list": ("- one\n- two\n", ["bad.yaml: a rubric is a mapping that starts with `key:`, `title:` and `summary:`."]),
    "an empty file": ("", ["bad.yaml: a rubric is a mapping"]),
    "a tag that would run code": ("key: !!python/object/apply:os.getcwd []\n", ["bad.yaml, line 1: not valid YAML"]),
    "an escape that is none": (
        replaced("title: Small", 'title: "\\UFFFFFFFF"'),
        ["bad.yaml: not valid YAML", "in quotes"],
    ),
    "a date that is none": (replaced("title: Small", "title: 2024-13-45"), ["bad.yaml: not valid YAML", "in quotes"]),
    "brackets without end": ("[" * 20_000, ["bad.yaml: nested too deeply for a rubric."]),
}


@pytest.mark.long
@pytest.mark.parametrize(("text", "expected"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_rubric_is_refused_with_path_and_remedy(text: str, expected: list[str]) -> None:
    with pytest.raises(InvalidRubric) as refused:
        parse_rubric(text, "bad.yaml")
    for part in expected:
        assert part in str(refused.value)
    assert all(line.startswith("bad.yaml") for line in str(refused.value).splitlines())
    assert not re.search(r"\.\.(\s|$)", str(refused.value))


def test_the_parts_that_the_broken_rubrics_start_from_are_sound() -> None:
    rubric = parse_rubric(SMALL + TRAINING + ENTRY_TEST)
    assert rubric.key == "small"
    assert rubric.training[0].references[0].value == "yes"
    assert rubric.entry_test is not None


def test_more_than_ten_mistakes_are_counted_not_listed() -> None:
    with pytest.raises(InvalidRubric) as refused:
        parse_rubric(SMALL + "".join(f"wrong_{n}: 1\n" for n in range(14)))
    lines = str(refused.value).splitlines()
    assert len(lines) == 11
    assert lines[-1] == "… and 4 more"


@pytest.mark.parametrize(
    "name, reason", [("latin.yaml", ": cannot be read as UTF-8 text"), ("absent.yaml", " cannot be read: No such file")]
)
def test_an_unreadable_file_is_named_with_its_reason(tmp_path: Any, name: str, reason: str) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"key: caf\xe9\n")
    with pytest.raises(InvalidRubric, match=f"{name}{reason}"):
        read_rubric(tmp_path / name)


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates()
trees = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner))


@given(st.text(alphabet=st.sampled_from("ab0-:,.[]{}&*!#|>'\"\n \t\0é"), max_size=60))
def test_any_text_is_a_rubric_or_refused_as_one(text: str) -> None:
    with pytest.raises(InvalidRubric):
        parse_rubric(text)


@pytest.mark.long
@given(st.sampled_from(sorted(Rubric.model_fields)), trees)
def test_any_value_is_accepted_or_refused_with_a_reason(key: str, value: Any) -> None:
    data = {**yaml.safe_load(SMALL), key: value}
    try:
        assert parse_rubric(yaml.safe_dump(data)).criteria
    except InvalidRubric as refused:
        assert str(refused).startswith("rubric")


@pytest.mark.long
@given(st.sampled_from(["low", "high", "step", "points"]), st.integers() | st.floats() | trees)
def test_any_scale_number_is_accepted_or_refused_with_a_reason(key: str, value: Any) -> None:
    data = yaml.safe_load(SMALL)
    scale: dict[str, Any] = {"kind": "number", "low": 0, "high": 10}
    if key == "points":
        scale = {"kind": "likert"}
        value = [{"value": 0}, {"value": value}]
    data["criteria"][0]["scale"] = {**scale, key: value}
    try:
        assert parse_rubric(yaml.safe_dump(data)).criteria
    except InvalidRubric as refused:
        assert "criteria.0.scale" in str(refused)


def test_a_loaded_rubric_cannot_be_changed() -> None:
    rubric = parse_rubric(SMALL)
    with pytest.raises(ValueError, match="frozen"):
        rubric.title = "Other"  # type: ignore[misc]  # the model is frozen


def test_texts_of_a_rubric_hold_no_nul() -> None:
    """PostgreSQL refuses it: one such study kept the whole database from moving there."""
    rubric = parse_rubric(replaced("    title: Good\n", '    title: "Go\\0od\\u0000"\n'))
    assert rubric.criteria[0].title == "Good"


def test_a_rubric_offers_reasons_to_skip_unless_it_says_null() -> None:
    assert parse_rubric(SMALL).skip is not None
    assert parse_rubric(SMALL + "skip: null\n").skip is None


def test_a_criterion_is_asked_in_its_rounds_or_in_all() -> None:
    everywhere = parse_rubric(SMALL)
    somewhere = parse_rubric(replaced("    title: Good\n", "    title: Good\n    rounds: [crowd, main]\n"))
    for name in Round:
        assert [criterion.key for criterion in everywhere.asked(name)] == ["good"]
        assert bool(somewhere.asked(name)) == (name in ("crowd", "main"))


def test_an_unknown_criterion_key_names_the_existing_ones() -> None:
    rubric = parse_rubric(SMALL)
    assert rubric.criterion("good").title == "Good"
    with pytest.raises(InvalidAnnotation, match="'bad' is not a criterion; the rubric has good"):
        rubric.criterion("bad")


def test_only_an_asking_option_has_an_explanation() -> None:
    scale = parse_rubric(SMALL).criteria[0].scale
    assert scale.ask_for("yes").free_text == "required"
    assert scale.ask_for("no") is None
    low = Likert(kind="likert", points=[{"value": 1, "ask": {"free_text": "required"}}, {"value": 2}])
    assert low.ask_for(1.0) is not None
    assert low.ask_for(2.0) is None
    assert NumberScale(kind="number", low=0, high=1).ask_for(1) is None
    assert Best(kind="best").ask_for(["A"]) is None


# ---- values


@given(st.integers(1, 7))
def test_likert_accepts_its_points_as_int_or_float(value: int) -> None:
    assert ONE_TO_SEVEN.check(value) == ONE_TO_SEVEN.check(float(value)) == value


@given(st.integers() | st.floats())
def test_likert_refuses_every_number_that_is_no_point(value: float) -> None:
    if value in HALVES.values:
        assert HALVES.check(value) == value
    else:
        with pytest.raises(InvalidAnnotation):
            HALVES.check(value)


def test_zero_is_a_value_of_a_scale_that_has_it() -> None:
    assert HALVES.check(0) == 0
    assert NumberScale(kind="number", low=0, high=1).check(0) == 0


@given(st.text(max_size=6))
def test_choice_accepts_its_keys_and_refuses_every_other_text(value: str) -> None:
    scale = parse_rubric(SMALL).criteria[0].scale
    if value in ("yes", "no"):
        assert scale.check(value) == value
    else:
        with pytest.raises(InvalidAnnotation, match="the options are yes, no"):
            scale.check(value)


@given(st.integers(-50, 50), st.integers(1, 60), st.sampled_from([0.05, 0.1, 0.25, 0.5, 1, 3, 10]), st.data())
def test_number_accepts_its_steps_only(low: int, steps: int, step: float, data: st.DataObject) -> None:
    scale = NumberScale(kind="number", low=low, high=low + steps * step, step=step)
    nth = data.draw(st.integers(0, steps))
    assert scale.check(low + nth * step) == pytest.approx(low + nth * step)
    for wrong in (low + (nth + 0.4) * step, low - step, low + (steps + 1) * step):
        with pytest.raises(InvalidAnnotation):
            scale.check(wrong)


def test_number_is_stored_exactly_on_its_step() -> None:
    scale = NumberScale(kind="number", low=0, high=1, step=0.1)
    assert scale.check(0.1 + 0.2) == 0.3


def test_numbers_of_a_scale_end_at_its_high_end() -> None:
    scale = NumberScale(kind="number", low=-0.6, high=0.6, step=0.1)
    assert scale.values[-1] == 0.6 != -0.6 + 12 * 0.1
    assert [scale.check(number) for number in scale.values] == scale.values


@pytest.mark.parametrize(("low", "high", "step"), [(0, 1e-9, 1e-10), (0, 1e-8, 2.5e-10), (1e9, 1e9 + 1, 0.001)])
def test_numbers_of_very_fine_scales_are_stored_as_given(low: float, high: float, step: float) -> None:
    scale = NumberScale(kind="number", low=low, high=high, step=step)
    exact = [float(Decimal(str(low)) + steps * Decimal(str(step))) for steps in range(scale.steps + 1)]
    assert [scale.check(number) for number in exact] == exact
    with pytest.raises(InvalidAnnotation):
        scale.check(low + 1.4 * step)


def test_no_number_of_a_scale_is_a_negative_zero() -> None:
    scale = NumberScale(kind="number", low=-0.9, high=0.9, step=0.3)
    assert f"{scale.check(0)} {scale.values[3]}" == "0.0 0.0"


@pytest.mark.parametrize("value", [True, None, "3", [3], {}, float("nan"), float("inf"), 10**400], ids=str)
def test_a_number_scale_refuses_what_resembles_a_number(value: Any) -> None:
    for scale in (ONE_TO_SEVEN, NumberScale(kind="number", low=0, high=10)):
        with pytest.raises(InvalidAnnotation):
            scale.check(value)


@pytest.mark.parametrize("value", [True, None, 0, ["yes"], {}], ids=str)
def test_choice_refuses_what_is_no_text(value: Any) -> None:
    with pytest.raises(InvalidAnnotation):
        parse_rubric(SMALL).criteria[0].scale.check(value)


@given(st.lists(st.sampled_from("ABCDEF")), st.booleans())
def test_best_takes_distinct_letters_or_an_allowed_none(letters: list[str], none: bool) -> None:
    scale = Best(kind="best", none_option=none)
    if len(set(letters)) == len(letters) and (letters or none):
        assert scale.check(letters) == letters
    else:
        with pytest.raises(InvalidAnnotation):
            scale.check(letters)


@pytest.mark.parametrize("value", ["A", None, 1, [1], [["A"]], {"A": 1}], ids=str)
def test_best_refuses_what_is_no_list_of_letters(value: Any) -> None:
    with pytest.raises(InvalidAnnotation):
        Best(kind="best").check(value)


# ---- the registry, the page and the schema agree


def readme() -> str:
    return (RUBRICS / "README.md").read_text(encoding="utf-8")


def rows_under(heading: str) -> dict[str, list[str]]:
    """First cell (a name in backticks) → the other cells of the table under a heading."""
    section = readme().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.MULTILINE)
    return {name: cells.split(" | ") for name, cells in rows}


def test_registry_readme_and_schema_name_the_same_kinds() -> None:
    mapping = json.loads(json_schema())["$defs"]["Criterion"]["properties"]["scale"]["discriminator"]["mapping"]
    assert set(KINDS) == set(rows_under("Kinds of scale")) == set(mapping)


def fields_of(kind: str) -> dict[str, FieldInfo]:
    return cast(type[BaseModel], KINDS[kind]).model_fields


def test_the_readme_states_each_kinds_default_level() -> None:
    for kind, cells in rows_under("Kinds of scale").items():
        assert cells[1] == fields_of(kind)["level"].default.value


@pytest.mark.parametrize("kind", KINDS)
def test_readme_explains_every_key_of_each_kind(kind: str) -> None:
    section = readme().split("## Kinds of scale\n", 1)[1].split("\n## ", 1)[0]
    assert [key for key in fields_of(kind) if key != "kind" and f"`{key}" not in section] == []


@pytest.mark.parametrize(
    ("heading", "fields"), [("Keys of a rubric", Rubric.model_fields), ("Keys of a criterion", Criterion.model_fields)]
)
def test_readme_explains_every_key_in_the_order_of_the_schema(heading: str, fields: dict[str, Any]) -> None:
    assert list(rows_under(heading)) == list(fields)


def example() -> str:
    return readme().split("```yaml\n", 1)[1].split("```", 1)[0]


def test_the_readmes_example_is_a_rubric_of_25_lines() -> None:
    rubric = parse_rubric(example(), "README.md")
    assert len(example().splitlines()) == 25
    assert [criterion.scale.kind for criterion in rubric.criteria] == ["choice", "number", "best"]


def test_the_checked_in_schema_is_the_one_of_the_code() -> None:
    assert (RUBRICS / "schema.json").read_text(encoding="utf-8") == json_schema()


def without_title(data: dict[str, Any]) -> None:
    del data["title"]


def with_unknown_key(data: dict[str, Any]) -> None:
    data["criteria"][0]["weight"] = 2


def with_unknown_kind(data: dict[str, Any]) -> None:
    data["criteria"][0]["scale"]["kind"] = "stars"


@pytest.mark.parametrize("spoil", [without_title, with_unknown_key, with_unknown_kind])
def test_the_schema_accepts_the_example_and_refuses_it_spoilt(spoil: Callable[[dict[str, Any]], None]) -> None:
    schema = json.loads(json_schema())
    data = yaml.safe_load(example())
    jsonschema.validate(data, schema)
    spoil(data)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema)


@pytest.mark.parametrize(("high", "slider"), [(1.1, False), (1.2, True)])
def test_twelve_values_make_a_slider_however_they_are_rounded(high, slider):
    """(1.2 - 0.1) / 0.1 is less than eleven, and the datasheet said that twelve values were asked as points."""
    assert NumberScale(kind="number", low=0.1, high=high, step=0.1).is_slider is slider

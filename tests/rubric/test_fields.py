"""The rubric as a form: every key of the schema has its field."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from triptych.rubric import fields
from triptych.rubric.fields import Field
from triptych.rubric.files import read_shipped, shipped_rubrics
from triptych.rubric.model import Rubric
from triptych.rubric.scales import KINDS, RubricPart

CONTROLS = (
    *("key", "kind", "line", "text", "number", "flag", "choice", "ticks", "words", "pairs", "value", "one_of"),
    *("part", "parts", "scale", "text_or_parts"),
)


def definitions() -> dict[str, Any]:
    schema = Rubric.model_json_schema()
    return {**schema["$defs"], "Rubric": schema}


def test_every_key_of_the_schema_has_its_field():
    """Walks the JSON Schema, so that the form is compared with what files may hold and not with itself."""
    form = fields.form()
    types = {name: part["properties"] for name, part in definitions().items() if "properties" in part}
    assert {name: {field.key for field in parts} for name, parts in form.items()} == {
        name: set(properties) for name, properties in types.items()
    }
    assert all(field.control in CONTROLS and field.label for parts in form.values() for field in parts)


def test_a_new_key_without_a_field_fails():
    class HighlightLabel(RubricPart):
        key: str
        title: str
        definition: str = ""
        colour: str = ""

    with pytest.raises(LookupError, match="HighlightLabel: .* differ in colour"):
        fields.fields_of(HighlightLabel)


def test_a_new_type_without_a_control_fails(monkeypatch):
    class Odd(RubricPart):
        title: set[int]

    monkeypatch.setitem(fields.WORDING, "Odd", {"title": fields.Wording("Name")})
    with pytest.raises(LookupError, match="no control for set"):
        fields.fields_of(Odd)


def field_at(model: str, key: str) -> Field:
    return next(field for field in fields.form()[model] if field.key == key)


def reached(model: str, value: dict[str, Any]) -> None:
    """Each key of a rubric's data has a field whose control can show its value."""
    for key, part in value.items():
        field = field_at(model, key)
        if field.control == "scale":
            reached(KINDS[part["kind"]].__name__, part)
        elif field.control == "part":
            reached(field.of, part or {})
        elif field.control == "parts" or (field.control == "text_or_parts" and isinstance(part, list)):
            for single in part:
                reached(field.of, single)
        else:
            assert not isinstance(part, list) or field.control in ("words", "ticks")
            assert not isinstance(part, dict) or field.control == "pairs"


@pytest.mark.parametrize("key", sorted(shipped_rubrics()))
def test_every_value_of_a_shipped_rubric_has_a_field(key):
    reached("Rubric", read_shipped()[key][1].model_dump(mode="json", exclude_unset=True))


def test_defaults_and_options_are_those_of_the_schema():
    for model in fields.models():
        for field in fields.form()[model.__name__]:
            info = model.model_fields[field.key]
            assert field.required == info.is_required()
            if field.options and field.control == "choice":
                assert_values(model, field)


def assert_values(model: type[BaseModel], field: Field) -> None:
    schema = definitions()[model.__name__]["properties"][field.key]
    choices = [schema, *schema.get("anyOf", []), *[definitions()[r["$ref"].split("/")[-1]] for r in refs(schema)]]
    allowed = {value for choice in choices for value in choice.get("enum", [])}
    assert {value for value, _ in field.options} - {None} == allowed


def refs(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for part in [schema, *schema.get("allOf", []), *schema.get("anyOf", [])] if "$ref" in part]


def test_a_place_is_named_as_people_call_it():
    data = {"criteria": [{"title": "Tone", "scale": {"kind": "likert", "points": [{}, {"title": "Cold"}]}}]}
    of_point = ("criteria", 0, "scale", "likert", "points", 1, "title")
    assert fields.place_of(of_point, data) == "Criterion “Tone”, point 2, Name"
    assert fields.place_of(("explanation", "min_words"), {}) == "Length of explanations, Minimum words"

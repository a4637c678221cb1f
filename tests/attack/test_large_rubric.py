"""Rubric files that only cost time, or that nothing reads, are refused in a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from triptych.errors import InvalidRubric
from triptych.rubric.files import (
    EMPTY_RUBRIC,
    MAX_CHARACTERS,
    MAX_PARTS,
    parse_rubric,
    read_rubric,
    rewritten,
    shipped_rubrics,
)

SECTION = "- {title: S, text: t}\n"


def test_a_rubric_of_30000_sections_is_refused_unread():
    with pytest.raises(InvalidRubric, match="a rubric has at most 200,000"):
        parse_rubric("guidelines:\n" + SECTION * 30_000)


def test_a_short_text_of_many_parts_is_refused():
    with pytest.raises(InvalidRubric, match="^large.yaml: more than 5,000 keys and values"):
        parse_rubric("guidelines: [" + "a," * 30_000 + "]", "large.yaml")


@pytest.mark.parametrize("keys, times", [(1000, 500), (1, 1200)])
def test_keys_merged_again_and_again_count_each_time(keys, times):
    """`<<: *a` copies: 12 KB took 22 seconds, in which nobody could write."""
    base = f"a: &a {{{', '.join(f'x{n}: 1' for n in range(keys))}}}\n"
    with pytest.raises(InvalidRubric, match="more than 5,000 keys and values"):
        parse_rubric(f"{base}b: [{', '.join(['{<<: *a}'] * times)}]\n")


def test_keys_merged_through_another_mapping_count_too():
    base = f"a: &a {{{', '.join(f'x{n}: 1' for n in range(1000))}}}\nb: &b {{<<: *a}}\n"
    with pytest.raises(InvalidRubric, match="more than 5,000 keys and values"):
        parse_rubric(f"{base}c: [{', '.join(['{<<: *b}'] * 50)}]\n")


@pytest.mark.parametrize("repetition", ["*a", "{*a : 1}"], ids=["values", "keys"])
def test_a_long_text_that_is_repeated_counts_each_time(repetition):
    """150 KB took more than 6 GB: each `*a` becomes a text of its own."""
    with pytest.raises(InvalidRubric, match="more than 2,000,000 characters, with what is repeated"):
        parse_rubric(f'key: &a "{"x" * 100_000}"\nb: [{", ".join([repetition] * 20)}]\n')


def test_a_few_merged_keys_are_read():
    scale = "{kind: likert, points: [{value: 1}, {value: 2}]}"
    criteria = f"- &a {{key: a, title: A, definition: d, scale: {scale}}}\n- {{<<: *a, key: b}}\n"
    rubric = parse_rubric(f"key: k\ntitle: T\nsummary: s\ninstructions: i\ncriteria:\n{criteria}")
    assert [criterion.title for criterion in rubric.criteria] == ["A", "A"]


@pytest.mark.parametrize("value", [[[]] * 60_000, {str(n): n for n in range(20_000)}])
def test_a_form_of_too_many_parts_is_refused(value):
    with pytest.raises(InvalidRubric, match="more than 5,000 keys and values"):
        rewritten(EMPTY_RUBRIC, {"criteria": value})


@pytest.mark.parametrize("depth", [110, 400, 900])
def test_a_form_that_is_nested_too_deeply_is_refused(depth):
    """Some hundred levels were read, and ended the writing of the YAML in an unexpected error."""
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    with pytest.raises(InvalidRubric, match="nested too deeply"):
        rewritten(EMPTY_RUBRIC, value)


def test_the_limits_are_far_above_rubrics_in_six_languages():
    for path in shipped_rubrics().values():
        text = read_rubric(path)
        assert len(text) * 3 < MAX_CHARACTERS
        assert text.count(":") * 2 < MAX_PARTS


@pytest.mark.parametrize(
    "value", ['!!bool "maybe"', '!!int ""', '!!int "0x"', "!!float x", "!!seq {a: 1}", "!!map [1]"]
)
def test_a_value_that_is_not_of_its_tag_is_refused(value):
    with pytest.raises(InvalidRubric):
        parse_rubric(f"title: {value}")

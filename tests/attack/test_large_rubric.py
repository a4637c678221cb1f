"""Rubric files that only cost time, or that nothing reads, are refused in a sentence."""

from __future__ import annotations

import pytest

from triptych.errors import InvalidRubric
from triptych.rubric.files import MAX_CHARACTERS, MAX_PARTS, parse_rubric, read_rubric, shipped_rubrics

SECTION = "- {title: S, text: t}\n"


def test_a_rubric_of_30000_sections_is_refused_unread():
    with pytest.raises(InvalidRubric, match="a rubric has at most 200,000"):
        parse_rubric("guidelines:\n" + SECTION * 30_000)


def test_a_short_text_of_many_parts_is_refused():
    with pytest.raises(InvalidRubric, match="^large.yaml: more than 5,000 keys and values"):
        parse_rubric("guidelines: [" + "a," * 30_000 + "]", "large.yaml")


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

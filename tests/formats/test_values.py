"""Numbers as people type them."""

from __future__ import annotations

import pytest

from triptych.formats.values import typed_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("3", 3),
        (" 3,5 ", 3.5),
        ("-0.125", -0.125),
        ("0,125", 0.125),
        ("1000,5", 1000.5),
        ("1e3", 1000),
        ("1,000", None),
        ("-12,500", None),
        ("1_0", None),
        ("1,000,000", None),
        ("nan", None),
        ("inf", None),
        ("", None),
    ],
)
def test_a_number_has_one_meaning_or_none(text: str, number: float | None) -> None:
    assert typed_number(text) == number

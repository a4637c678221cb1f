"""Texts in Markdown: which look like it, and which of their characters are seen."""

from __future__ import annotations

import pytest
from helpers.studies import draft_items
from hypothesis import given
from hypothesis import strategies as st

from triptych.formats.model import CandidateDraft, ItemDraft
from triptych.formats.texts.markdown import MAX_CHARACTERS, characters, is_formatted, visible
from triptych.formats.texts.text_format import looks_formatted, proposals

PIECES = ("word", " ", "\n\n", "\n", "**", "*", "`", "```\n", "- ", "> ", "# ", "[a](b)", "$x$", "|a|b|\n|-|-|\n", "😀")


def drawn(text: str) -> str:
    return "".join(text[start:end] for start, end in characters(text))


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Try **bold** and *more*.", "Try bold and more."),
        ("# Plan\n\n- one\n- two `x`", "Planonetwo x"),
        ("See [the guide](https://a.test 'T') now", "See the guide now"),
        ("a \\* b &amp; c", "a \\* b &amp; c"),  # each escape is one character
        ("> quoted\n> more", "quoted\nmore"),
        ("```python\nx = 1\n```", "x = 1"),
        ("|a|b|\n|-|-|\n|c \\| d|e|", "abc \\| de"),
        ("It costs $5 and $10, $x^2$ is not.", "It costs $5 and $10, $x^2$ is not."),
        ("- [x] done", "done"),
        ("one\r\ntwo **b**", "one\r\ntwo b"),
        ("<b>raw</b>", "<b>raw</b>"),
        ("", ""),
        ("Let \\(a\\), $$b$$ and \\[c\\]", "Let \\(a\\), $$b$$ and \\[c\\]"),
        ("So\n$$\nx^2\n\ny\n$$\nis *so*", "So$$\nx^2\n\ny\n$$is so"),
        ("$$\r\nx\r\n", "$$\r\nx"),  # never closed
        ("[a][r] and <https://a.test>\n\n[r]: /x\n 'T'", "a and https://a.test[r]: /x\n 'T'"),
        ("<div>\n*a*\n</div>\n\n*b*", "<div>\n*a*\n</div>b"),
        ("> <div>\n> a\n\n- $$\n  x\n\n  $$\n- [r]: /x", "<div>\n> a$$\n  x\n\n  $$[r]: /x"),
        ("1. *a*\n\tb\n2. 2", "a\nb2"),
        ("\u00a0\n*a*", "a"),
        ("|a|\n|-|\n|\\|b|", "a\\|b"),
    ],
)
def test_hidden_signs_are_no_visible_characters(text: str, seen: str) -> None:
    assert drawn(text) == seen


def test_what_is_drawn_as_a_whole_is_one_character() -> None:
    text = "a &amp; b"
    assert visible(text).length == 5
    assert visible(text).span(0, len(text)) == (0, 5)
    assert visible(text).span(4, 6) == visible(text).span(2, 7) == (2, 3)  # a span that cuts it holds it


def test_a_number_in_a_list_is_not_its_sign() -> None:
    assert characters("2. 2") == [(3, 4)]


def test_half_a_character_is_visible() -> None:
    """JSON can hold one, and so can the turns of a study that was imported."""
    assert characters("a\ud800*b*") == [(0, 1), (1, 2), (3, 4)]


def test_a_span_ending_in_hidden_signs_holds_the_text_inside() -> None:
    text = "Try **bold** now"
    assert visible(text).span(4, 12) == visible(text).span(6, 10) == (4, 8)
    assert visible(text).span(4, 6) == (4, 4)  # signs alone


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.data())
def test_spans_count_the_characters_that_they_touch(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    touched = sum(one < end and start < other for one, other in characters(text))
    first, last = visible(text).span(start, end)
    assert last - first == touched if start < end else last == first
    assert visible(text).length == len(characters(text))


def test_texts_beyond_the_limits_stay_as_they_are_written() -> None:
    long = "*a* " * (MAX_CHARACTERS // 4 + 1)
    assert not is_formatted(long)
    assert visible(long).length == len(long)
    for many_lines in (">" * 29 + " a\n" + "a\n" * 2000, "- \r" * 2000, "|a" * 99 + "\n" + "|-" * 99 + "\na" * 300):
        assert not is_formatted(many_lines)
    for quadratic in ("[" * 1000, ">" * 60 + " a", "|" * 3000, "\n".join("  " * n + "- a" for n in range(60))):
        assert not is_formatted(quadratic)


@pytest.mark.parametrize("text", ["5 * 3 * 2", "a - b", "It costs $5 to $10.", "snake_case_name", "1. only one line"])
def test_ordinary_signs_do_not_look_like_markdown(text: str) -> None:
    assert not looks_formatted(text)


@pytest.mark.parametrize(
    "text",
    [
        "**a**",
        "# A",
        "- a\n- b",
        "1. a\n2. b",
        "`x`",
        "```\nx\n```",
        "|a|\n|---|",
        "$x_1=2$",
        "$x_1=" + "2+" * 70 + "2$",
    ],
)
def test_marked_up_texts_look_like_markdown(text: str) -> None:
    assert looks_formatted(text)


def test_one_format_is_proposed_for_all_systems_of_a_field() -> None:
    marked = CandidateDraft("a", "Take **two**:\n\n- one\n- two")
    plain = CandidateDraft("b", "Take two.")
    items = [ItemDraft(str(n), "Why?", (), (marked, plain), {}, {}, n) for n in range(4)]
    found = proposals(items)
    assert (found["responses"].format, found["responses"].marked, found["responses"].texts) == ("markdown", 4, 8)
    assert found["context"].format == "plain"
    assert "extra_texts" not in found
    assert {proposal.format for proposal in proposals(draft_items(3)).values()} == {"plain"}

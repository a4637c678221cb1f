"""Agreement on highlights: by hand, character by character, and every way to be undefined."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from helpers.present import present
from hypothesis import given, settings
from hypothesis import strategies as st

from triptych.stats import spans as highlights
from triptych.stats.agreement import krippendorff_alpha
from triptych.stats.spans import EVERYTHING_MARKED, NOTHING_MARKED, SpanAgreement, span_agreement
from triptych.stats.undefined import Undefined, UndefinedStatistic

NAN = math.nan
LENGTH = 12


def agreement(*rows: tuple, lengths: tuple[int, ...] = (LENGTH,) * 3) -> dict[str | None, SpanAgreement]:
    """Rows (text, annotator, start, end, label) over texts of 12 characters or these lengths; results by label."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * 5
    text, annotator, start, end, label = columns
    result = span_agreement(text, [lengths[number] for number in text], annotator, start, end, label)
    return {row.label: row for row in result}


def silent(text: int, annotator: str) -> tuple:
    """Read, and nothing marked."""
    return text, annotator, NAN, NAN, None


def test_the_same_passages_agree_fully():
    result = agreement((0, "a", 2, 5, "x"), (0, "b", 2, 5, "x"))
    for label in (None, "x"):
        assert (result[label].exact, result[label].overlapping, result[label].alpha) == (1, 1, 1)
        assert (result[label].texts, result[label].spans, result[label].pairs) == (1, 2, 1)


def test_a_shifted_passage_overlaps_but_is_not_the_same():
    result = agreement((0, "a", 2, 5, "x"), (0, "b", 3, 6, "x"), (0, "a", 8, 9, "x"))[None]
    assert (result.exact, result.overlapping) == (0, pytest.approx(2 / 3))


def test_touching_passages_do_not_overlap():
    assert agreement((0, "a", 2, 5, "x"), (0, "b", 5, 6, "x"))[None].overlapping == 0


def test_one_long_passage_is_matched_with_one_short_passage_only():
    result = agreement((0, "a", 0, 12, "x"), *((0, "b", n, n + 1, "x") for n in (1, 4, 7)))[None]
    assert result.overlapping == pytest.approx(2 * 1 / 4)


def test_the_matching_leaves_no_match_unused():
    # a's long passage meets both of b's; taking the first would leave a's second alone.
    result = agreement((0, "a", 0, 9, "x"), (0, "a", 0, 3, "x"), (0, "b", 1, 2, "x"), (0, "b", 6, 8, "x"))[None]
    assert result.overlapping == 1


def test_highlights_that_all_overlap_are_not_matched(monkeypatch):
    """A small file of them took gigabytes: each was paired with each other."""
    rows = [(0, annotator, 3, 4, "x") for annotator in "ab" for _ in range(20)]
    monkeypatch.setattr(highlights, "MAX_OVERLAPS", 20 * 39)
    assert agreement(*rows)[None].overlapping == 1
    monkeypatch.setattr(highlights, "MAX_OVERLAPS", 20 * 39 - 1)
    crowded = agreement(*rows)[None]
    assert (crowded.exact, crowded.overlapping) == (Undefined(highlights.CROWDED),) * 2
    assert (crowded.spans, crowded.pairs, crowded.alpha) == (40, 1, 1)


def test_only_passages_that_overlap_are_paired(monkeypatch):
    monkeypatch.setattr(highlights, "MAX_OVERLAPS", 12)
    rows = [(text, annotator, at, at + 1, "x") for text in range(2) for annotator in "ab" for at in range(6)]
    assert agreement(*rows)[None].exact == 1


def test_labels_count_by_label_and_not_for_any_label():
    result = agreement((0, "a", 2, 5, "good"), (0, "b", 2, 5, "bad"))
    assert result[None].exact == 1
    assert result["good"].exact == result["bad"].exact == 0


def test_silence_of_one_reader_counts_against_agreement():
    result = agreement((0, "a", 2, 5, "x"), (0, "b", 2, 5, "x"), (1, "a", 1, 3, "x"), silent(1, "b"))[None]
    assert result.exact == pytest.approx(2 * 1 / 3)


def test_a_text_with_one_reader_counts_nowhere():
    result = agreement((0, "a", 2, 5, "x"), (0, "b", 2, 5, "x"), (1, "a", 1, 3, "x"))[None]
    assert (result.texts, result.spans, result.exact, result.alpha) == (1, 2, 1, 1)


def test_f1_is_the_mean_over_pairs_of_annotators():
    # a and b agree, c marked something else: 1, 0, 0.
    result = agreement((0, "a", 2, 5, "x"), (0, "b", 2, 5, "x"), (0, "c", 8, 9, "x"))[None]
    assert (result.exact, result.pairs) == (pytest.approx(1 / 3), 3)


def test_a_pair_that_marked_nothing_is_not_averaged():
    result = agreement((0, "a", 2, 5, "x"), (0, "b", 2, 5, "x"), silent(1, "c"), silent(1, "d"))[None]
    assert (result.exact, result.pairs, result.texts) == (1, 1, 2)


def test_overlapping_passages_of_one_annotator_mark_a_character_once():
    twice = agreement((0, "a", 2, 5, "x"), (0, "a", 3, 7, "x"), (0, "b", 2, 7, "x"))[None]
    assert twice.alpha == 1


def test_passages_at_the_ends_of_neighbouring_readings_stay_apart():
    result = agreement((0, "a", 10, 12, "x"), (0, "b", 0, 2, "x"), (1, "a", 0, 2, "x"), (1, "b", 10, 12, "x"))[None]
    assert present(result.alpha) < 0


spans = st.tuples(st.integers(0, 2), st.sampled_from("abcd"), st.integers(0, LENGTH - 1), st.integers(1, LENGTH))
readings = st.sets(st.tuples(st.integers(0, 2), st.sampled_from("abcd")), max_size=9)
passages = st.lists(spans.filter(lambda span: span[2] < span[3]), max_size=15)


@given(passages, readings, st.tuples(*[st.integers(LENGTH, 4 * LENGTH)] * 3))
@settings(max_examples=80)
def test_character_alpha_is_alpha_with_a_row_for_every_character(marked, read, lengths):
    rows = [(*span, "x") for span in marked] + [silent(*row) for row in read]
    ours = attempt(*rows, lengths=lengths)
    covered = {(text, who): np.zeros(lengths[text]) for text, who, *_ in rows}
    for text, who, start, end in marked:
        covered[text, who][start:end] = 1
    units = [sum(lengths[:text]) + at for text, _ in covered for at in range(lengths[text])]
    values = np.concatenate(list(covered.values())) if covered else np.array([])
    try:
        expected = krippendorff_alpha(units, values, "nominal")
    except UndefinedStatistic:
        assert isinstance(ours, Undefined) or isinstance(ours[None].alpha, Undefined)
    else:
        assert ours[None].alpha == pytest.approx(expected, abs=1e-9)


@given(passages, readings)
@settings(max_examples=80)
def test_exact_f1_of_many_readers_counted_one_by_one(marked, read):
    ours = attempt(*[(*span, "x") for span in marked], *[silent(*row) for row in read])
    readers = {(text, who) for text, who, *_ in marked} | read
    scores = []
    for first, second in combinations("abcd", 2):
        both = [text for text in range(3) if {(text, first), (text, second)} <= readers]
        own, others = (
            Counter((text, *span) for text, who, *span in marked if who == name and text in both)
            for name in (first, second)
        )
        if own or others:
            scores.append(2 * (own & others).total() / (own.total() + others.total()))
    if scores:
        assert (ours[None].exact, ours[None].pairs) == (pytest.approx(np.mean(scores)), len(scores))
    else:
        assert isinstance(ours, Undefined) or isinstance(ours[None].exact, Undefined)


@given(st.lists(st.tuples(spans, st.sampled_from("xy")), max_size=12), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_neither_row_order_nor_names_change_agreement(marked, random):
    rows = [(*span, label) for span, label in marked if span[2] < span[3]]
    names = {"a": "c", "b": "a", "c": "d", "d": "b"}
    moved = [(2 - text, names[who], *rest) for text, who, *rest in random.sample(rows, len(rows))]
    before, after = attempt(*rows), attempt(*moved)
    if isinstance(before, Undefined):
        assert before == after
        return
    for row, other in zip(before.values(), after.values(), strict=True):
        assert (row.exact, row.overlapping, row.alpha) == (
            pytest.approx(other.exact) if isinstance(other.exact, float) else other.exact,
            pytest.approx(other.overlapping) if isinstance(other.overlapping, float) else other.overlapping,
            pytest.approx(other.alpha) if isinstance(other.alpha, float) else other.alpha,
        )
        assert isinstance(row.exact, Undefined) or 0 <= row.exact <= row.overlapping <= 1


def attempt(*rows, **lengths):
    try:
        return agreement(*rows, **lengths)
    except UndefinedStatistic as undefined:
        return Undefined(str(undefined))


def test_columns_may_come_from_a_frame_with_missing_values():
    frame = pd.DataFrame(
        {
            "text": ["t", "t", "u", "u"],
            "length": [12, 12, 5, 5],
            "annotator": pd.Categorical(["a", "b", "a", "b"]),
            "start": pd.array([1, 1, None, None], dtype="Int64"),
            "end": pd.array([3, 3, None, None], dtype="Int64"),
            "label": ["x", "x", None, None],
        }
    )
    result = span_agreement(*(frame[column] for column in frame))
    assert [row.label for row in result] == [None, "x"]
    assert result[0].exact == 1


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "No text was read by two annotators."),
        ([(0, "a", 1, 2, "x"), (1, "b", 1, 2, "x")], "No text was read by two annotators."),
    ],
)
def test_undefined_agreement_on_highlights_gives_a_reason(rows, words):
    assert attempt(*rows) == Undefined(words)


def test_texts_without_a_highlight_say_so():
    (result,) = agreement(silent(0, "a"), silent(0, "b")).values()
    assert result.spans == 0
    assert result.exact == result.overlapping == result.alpha == Undefined(NOTHING_MARKED)


def test_a_fully_marked_text_has_f1_but_no_alpha():
    result = agreement((0, "a", 0, LENGTH, "x"), (0, "b", 0, LENGTH, "x"))[None]
    assert (result.exact, result.alpha) == (1, Undefined(EVERYTHING_MARKED))


def test_a_label_used_by_a_lone_reader_has_no_numbers():
    result = agreement((0, "a", 1, 2, "x"), (0, "b", 1, 2, "x"), (1, "a", 1, 2, "lonely"))
    assert set(result) == {None, "x"}


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 3), (5, 4), (0, LENGTH + 1), (3, NAN)])
def test_a_passage_outside_its_text_is_refused(start, end):
    with pytest.raises(ValueError, match="must be within its text"):
        agreement((0, "a", start, end, "x"), (0, "b", 1, 2, "x"))


def test_a_label_is_compared_over_the_texts_of_its_place():
    columns = (
        *(["r", "r", "c", "c"], [10, 10, 1000, 1000], ["x", "y", "x", "y"], [0, 0, 5, 5], [4, 4, 9, 12]),
        ["good", "good", "evidence", "evidence"],
    )
    every, evidence, good = span_agreement(*columns, ["response", "response", "context", "context"])
    assert (every.texts, evidence.texts, good.texts) == (2, 1, 1)
    assert evidence == span_agreement(*(column[2:] for column in columns))[1]
    assert good == span_agreement(*(column[:2] for column in columns))[1]
    assert evidence != span_agreement(*columns)[1]

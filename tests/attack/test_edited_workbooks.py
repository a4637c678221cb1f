"""Filled workbooks in which somebody changed every row: each is compared once with the others."""

from __future__ import annotations

from functools import partial
from unittest.mock import Mock

import pytest

from triptych.formats.workbook import checking
from triptych.formats.workbook.columns import TEXT, letters_of
from triptych.formats.workbook.reading import FilledRow, FilledWorkbook
from triptych.formats.workbook.writing import WorkbookContents, WorkbookItem, row_key
from triptych.rubric.files import read_shipped

ITEMS, RESPONSES = 30, 3
filled = partial(FilledWorkbook, token="book", consent="", agreed="", language="en", without_value=(), merged=())


@pytest.fixture
def book() -> WorkbookContents:
    items = [WorkbookItem(f"item-{n}", f"c {n}", (), [f"r {n} {m}" for m in range(RESPONSES)]) for n in range(ITEMS)]
    return WorkbookContents("book", "S", "P", read_shipped()["rrgen"][1], "main", (), items)


def keys_of(book: WorkbookContents) -> list[str]:
    return [row_key("book", item.token, letter) for item in book.items for letter in letters_of(RESPONSES)]


def test_changed_texts_are_compared_with_texts_read_once(book, monkeypatch):
    plain = Mock(side_effect=checking.plain)
    monkeypatch.setattr(checking, "plain", plain)
    rows = tuple(FilledRow(number, key, {TEXT: "x"}) for number, key in enumerate(keys_of(book), 4))

    problems = checking.check_filled(filled(rows=rows), book).findings

    assert sum("is not the one of item" in problem.what for problem in problems) == len(rows)
    assert plain.call_count <= 5 * len(rows)


class CountedKey(str):
    """A hidden name that counts how often it is compared with another."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        CountedKey.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_repeated_rows_are_found_without_comparing_all(book):
    repeated = [*keys_of(book), *["strange"] * 200, *keys_of(book)[-1:] * 200]
    rows = tuple(FilledRow(number, CountedKey(key), {}) for number, key in enumerate(repeated, 4))

    problems = checking.check_filled(filled(rows=rows), book).findings

    last = 3 + ITEMS * RESPONSES
    assert sum(f"it is also row {last}." in problem.what for problem in problems) == 200
    assert CountedKey.compared <= 10 * len(rows)

"""Every promise of docs/security.md names the test that holds it."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest
from helpers.studies import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
TEST = re.compile(r"`((?:tests/[\w/]+\.py)?)::(test_\w+)`")  # without a file, of the file before it in the line
FILE = re.compile(r"`(tests/[\w/]+\.py)`")
CELL = re.compile(r"(?<!\\)\|")
HEADER = ["| protected | is kept from | by | held by |", "|---|---|---|---|"]
ACTORS = (
    "An annotator",
    "A viewer",
    "A lead",
    "A script",
    "A reader of an archive or capsule",
    "A file from elsewhere",
    "A capsule or backup from elsewhere",
    "The network",
    "A page in the same browser",
    "The next person at a browser",
    "Another user of the machine",
    "Somebody with the file",
    "Another program or a full disk",
    "A package index",
)
# the first column, in the order of a table's rows
PROTECTED = (
    "Blindness",
    "People's data",
    "Ratings and results",
    "Access",
    "Files",
    "Memory and time",
    "Disk and messages",
)


def tables_of_promises() -> dict[str, list[str]]:
    """Actor → the lines of the table below their heading, with its header."""
    _, *sections = re.split(
        r"^### ", re.split(r"^## ", PAGE.partition("\n## Promises\n")[2], flags=re.M)[0], flags=re.M
    )
    sections_lines = [section.splitlines() for section in sections]
    return {actor: [line for line in lines if line.startswith("|")] for actor, *lines in sections_lines}


TABLES = tables_of_promises()
PROMISES = [row for table in TABLES.values() for row in table[2:]]


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in CELL.split(row)[1:-1]]


def named_tests(text: str) -> list[tuple[str, str]]:
    """(file, name) of every test in the text; the file is empty if none is named before it in its line."""
    tests = []
    for line in text.splitlines():
        path = ""
        for file, name in TEST.findall(line):
            path = file or path
            tests.append((path, name))
    return tests


@cache
def functions_of(path: str) -> frozenset[str]:
    if not (ROOT / path).is_file():
        return frozenset()
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def is_there(path: str, name: str) -> bool:
    return name in functions_of(path)


@pytest.mark.parametrize("row", PROMISES)
def test_a_promise_names_a_test_that_exists(row: str):
    tests = named_tests(cells(row)[-1])

    assert tests, "The last column names no test."
    assert all(is_there(*test) for test in tests)


@pytest.mark.parametrize("row", PROMISES)
def test_a_promise_can_be_read_without_other_rows(row: str):
    assert len(cells(row)) == HEADER[0].count("|") - 1
    assert all(cells(row))
    assert not [cell for cell in cells(row) if cell.startswith(("the same", "as before"))]


def test_a_test_without_file_is_in_the_file_before():
    assert named_tests("`tests/a.py::test_b`, `::test_c`\n`::test_d`") == [
        ("tests/a.py", "test_b"),
        ("tests/a.py", "test_c"),
        ("", "test_d"),
    ]
    assert not is_there("", "test_d")


def test_every_test_that_the_page_names_exists():
    assert all(is_there(*test) for test in named_tests(PAGE))
    assert all((ROOT / path).exists() for path in FILE.findall(PAGE))


def test_everybody_the_page_is_about_has_promises():
    assert tuple(TABLES) == ACTORS
    assert not [actor for actor, table in TABLES.items() if table[:2] != HEADER or not table[2:]]


def test_the_table_at_the_top_has_a_row_for_everybody():
    linked = re.findall(r"^\| \[(.+?)\]\(#(.+?)\) \|", PAGE.partition("\n## ")[0], flags=re.M)

    assert linked == [(actor[0].lower() + actor[1:], actor.lower().replace(" ", "-")) for actor in ACTORS]


def test_every_row_that_names_a_test_is_a_promise():
    rows = [line for line in PAGE.splitlines() if line.startswith("|") and named_tests(line)]

    assert sorted(rows) == sorted(PROMISES)


def test_promises_are_sorted_by_what_they_protect():
    for table in TABLES.values():
        places = [PROTECTED.index(cells(row)[0]) for row in table[2:]]
        assert places == sorted(places)

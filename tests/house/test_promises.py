"""Every promise of docs/security.md names the test that holds it."""

from __future__ import annotations

import ast
import re

import pytest
from helpers.studies import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
PROMISES = PAGE.partition("| who | is kept from |")[2].partition("\n\n")[0].splitlines()[2:]
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
FILE = re.compile(r"`(tests/[\w/]+\.py)`")
ACTORS = (
    "An annotator",
    "A lead",
    "Another user",
    "A page in the same browser",
    "The network",
    "Somebody with the file",
    "A file from elsewhere",
    "Another program or a full disk",
    "A package index",
)


def is_there(path: str, name: str) -> bool:
    file = ROOT / path
    tree = ast.parse(file.read_text(encoding="utf-8")) if file.exists() else ast.Module([], [])
    return name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", PROMISES)
def test_a_promise_names_a_test_that_exists(row: str):
    tests = TEST.findall(row.split("|")[-2])

    assert tests, "The last column names no test."
    assert all(is_there(*test) for test in tests)


def test_every_test_that_the_page_names_exists():
    assert all(is_there(*test) for test in TEST.findall(PAGE))
    assert all((ROOT / path).exists() for path in FILE.findall(PAGE))


def test_everybody_the_page_is_about_has_promises():
    assert not [actor for actor in ACTORS if not any(row.startswith(f"| {actor}") for row in PROMISES)]

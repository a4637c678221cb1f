"""Plain technical English: names say what a value is, and what a person reads holds no private language."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from helpers.studies import ROOT

PYTHON = sorted(
    path
    for folder in ("triptych", "components", "pages", "bench", "tests")
    for path in (ROOT / folder).rglob("*.py")
    if "versions" not in path.parts
)
PRODUCT = [path for path in [*PYTHON, ROOT / "app.py"] if "tests" not in path.relative_to(ROOT).parts]
TESTS = [path for path in PYTHON if path not in PRODUCT and path != Path(__file__)]  # this file lists the words
SCRIPTS = sorted(path for path in (ROOT / "components").rglob("*.js") if not {"node_modules", "vendor"} & {*path.parts})
WRITTEN = ("*.md", "*.cff", "docs/**/*.md", ".github/**/*.md", "rubrics/*.md", "data/demo/*.md")
DOCUMENTS = sorted(path for pattern in WRITTEN for path in ROOT.glob(pattern))
# names that say nothing about the value they hold
EMPTY_NAMES = {
    *("one", "found", "said", "given", "kept", "mine", "wanted", "known", "told", "laid", "her", "hers", "thing"),
    *("MOST", "FEW", "ENOUGH", "HOW", "LEFT", "WRONG", "KEPT", "TOLD", "GIVEN"),
}
# pattern of private language: what to write instead
PRIVATE_LANGUAGE = {
    "she|her|hers|herself|his|himself": "they, their",
    "anew": "again",
    "whoever|whom": "anyone who",
    "nobody's|is_nobodys": "public",
    "befell": "status",
    "in earnest": "for real",
    "sign of life": "inactive",
    "takes? the data away": "export",
    "throw of the dice": "random seed",
    "may stand (twice|several times)": "can be repeated",
    "hereby|thereof|therein|wherein|hitherto": "a shorter word",
    "told so": "sees a message",
    "stands (?:in(?! for)|on|at|by|up|under|above|below|before|beside|where|here|there|clearly)": "is, appears",
    "(?:lies|lie) (?:in|inside|within|on|at|above|below|beyond|between|outside|apart)": "is",
    "speaks? (?:for|about) (?!itself)": "applies to, is about",
    "hangs? together": "related",
    "evened out": "adjusted",
    "gravest": "most serious",
    "asks? for a look": "is flagged",
    "laid anew|goes along with|holds its own": "plain words",
}
MAX_WORDS_OF_A_TEST = 10  # in its name, after test_
BANNED = re.compile("|".join(rf"\b(?:{pattern})\b" for pattern in PRIVATE_LANGUAGE), re.IGNORECASE)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, name) of every parameter and every name bound at the top of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement.lineno, statement.name
        elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.For):
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.lineno, node.id


def sentences(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, text) of every string of two words or more, docstrings too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, node.value


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of every comment of a Python file, and of every line of a script."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    else:
        yield from enumerate(source.splitlines(), 1)


def all_tests(tree: ast.Module) -> list[ast.FunctionDef]:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [function for function in functions if function.name.startswith("test_")]


def test_parameters_and_module_names_say_what_they_hold():
    all_names = [(path, line, name) for path in PYTHON for line, name in names(tree_of(path))]
    assert not [f"{name_of(path)}:{line}: {name}" for path, line, name in all_names if name.strip("_") in EMPTY_NAMES]


def test_strings_and_names_of_tests_are_plain_english():
    def read(path: Path) -> Iterator[tuple[int, str]]:
        yield from sentences(tree_of(path))
        yield from ((node.lineno, node.name.replace("_", " ")) for node in all_tests(tree_of(path)))

    texts = [(path, line, text) for path in [*PRODUCT, *TESTS] for line, text in read(path)]
    assert not [f"{name_of(path)}:{line}: {match[0]}" for path, line, text in texts for match in BANNED.finditer(text)]


def test_comments_and_scripts_are_plain_english():
    texts = [(path, line, text) for path in [*PRODUCT, *SCRIPTS] for line, text in comments(path)]
    assert texts
    assert not [f"{name_of(path)}:{line}: {match[0]}" for path, line, text in texts for match in BANNED.finditer(text)]


def test_a_tests_name_has_at_most_ten_words():
    names = [test.name for path in PYTHON for test in all_tests(tree_of(path))]
    assert names
    assert not [name for name in names if len(name.split("_")) - 1 > MAX_WORDS_OF_A_TEST]


def test_documents_are_plain_english():
    lines = [
        (f"{name_of(path)}:{number}", line)
        for path in DOCUMENTS
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    ]
    assert not [f"{place}: {match[0]}" for place, line in lines for match in BANNED.finditer(line)]


def test_a_class_name_has_one_meaning():
    places: dict[str, list[str]] = defaultdict(list)
    for path in PRODUCT:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef) and path.relative_to(ROOT).parts[0] != "bench":
                places[node.name.strip("_")].append(f"{name_of(path)}:{node.lineno}")
    assert not {name: where for name, where in places.items() if len(where) > 1}

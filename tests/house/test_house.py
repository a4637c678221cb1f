"""The rules of the house: which module may import which, and what no file may do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.studies import ROOT

CODE = sorted(
    path for folder in ("triptych", "components", "pages", "bench") for path in (ROOT / folder).rglob("*.py")
) + [ROOT / "app.py"]
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "breakpoint"}
SCRIPTS = "triptych/scripting/connection.py"  # runs in a script, and asks the address that the script names
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "requests", "urllib.request", "http.client"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def in_layer(path: Path, layer: str) -> bool:
    return name_of(path).startswith(f"{layer}/")


@pytest.mark.parametrize("path", [p for p in CODE if in_layer(p, "pages")], ids=name_of)
def test_a_page_imports_no_other_page(path: Path):
    assert not {name for name in imports(path) if name.partition(".")[0] == "pages"}


@pytest.mark.parametrize("path", [p for p in CODE if in_layer(p, "pages")], ids=name_of)
def test_a_page_fits_on_a_screen_or_two(path: Path):
    assert len(path.read_text().splitlines()) <= 120


def test_only_the_router_is_directly_under_pages():
    assert [path.name for path in (ROOT / "pages").glob("*.py")] == ["router.py"]


def test_data_and_rubrics_hold_no_python():
    assert not [*(ROOT / "data").rglob("*.py"), *(ROOT / "rubrics").rglob("*.py")]


@pytest.mark.parametrize("path", CODE, ids=name_of)
def test_session_state_is_touched_in_one_module(path: Path):
    if name_of(path) == "components/shell/state.py":
        return
    assert "session_state" not in path.read_text()


@pytest.mark.parametrize("path", CODE, ids=name_of)
def test_no_form_loses_an_interrupted_click(path: Path):
    if name_of(path) != "components/shell/state.py":
        assert "form_submit_button" not in path.read_text(), "use state.form_button"
    assert "clear_on_submit=" not in path.read_text(), "use state.numbered"


@pytest.mark.parametrize("path", CODE, ids=name_of)
def test_no_function_is_longer_than_fifty_lines(path: Path):
    if "migrations" in path.parts:
        return
    functions = (
        n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    lengths = [(f.name, (f.end_lineno or f.lineno) - f.lineno + 1) for f in functions]
    assert not [f"{name}: {lines}" for name, lines in lengths if lines > 50]


@pytest.mark.parametrize("path", CODE, ids=name_of)
def test_nothing_evaluates_unpickles_or_calls_out(path: Path):
    tree = ast.parse(path.read_text())
    calls = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    calls_out = in_layer(path, "bench") or name_of(path) == SCRIPTS
    outbound = {"pickle", "marshal", "shelve"} if calls_out else FORBIDDEN_MODULES

    assert not calls & FORBIDDEN_CALLS
    assert not set(imports(path)) & outbound
    assert "shell=True" not in path.read_text()


@pytest.mark.parametrize("path", CODE, ids=name_of)
def test_no_user_text_becomes_html(path: Path):
    assert "unsafe_allow_html" not in path.read_text()


SERVES_ANNOTATORS = ["annotations", "blinding", "answers", "desk", "training"]


@pytest.mark.parametrize(
    "path", [p for p in CODE if p.stem in SERVES_ANNOTATORS and in_layer(p, "triptych")], ids=name_of
)
def test_what_serves_annotators_never_joins_a_system(path: Path):
    assert "triptych.storage.models.System" not in set(imports(path))
    assert "system_id" not in path.read_text()

"""The rules of the house: which module may import which, and what no file may do."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from helpers.studies import ROOT

CODE = sorted(
    path for folder in ("triptych", "components", "pages", "bench") for path in (ROOT / folder).rglob("*.py")
) + [ROOT / "app.py"]
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "breakpoint"}
SCRIPTS = "triptych/scripting/connection.py"  # runs in a script, and asks the address that the script names
UNPICKLING, CALLING_OUT = {"pickle", "marshal", "shelve"}, {"requests", "urllib.request", "http.client"}
# these may know which system a candidate is of: one balances the order, one refuses leads' comments that name a system
MAY_KNOW_SYSTEMS = {"candidate_order", "comments"}
STATE = "components/shell/state.py"
ANY_LINES = 250  # lines of the product whose types contain Any, at most
EXCEPTION = re.compile(r"# (?:noqa|type: ignore|ruff: noqa|mypy:)")
WITH_REASON = re.compile(r"# (?:noqa: [A-Z\d, ]+|type: ignore\[[a-z, -]+\]) *(?:\(\w.*\)|- \w.*|# \w.*)$")


# functions that nothing in the product uses, and why they stay
UNUSED = {
    "__getattr__": "Python calls it",
    "krippendorff_alpha": "alpha in one call, for readers who check a report with its copy of stats/",
}
PAGES = [path for path in CODE if path.is_relative_to(ROOT / "pages")]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


@cache
def imports(path: Path) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(names)


def holding(text: str, besides: str = "") -> list[str]:
    """The files that hold this text, but for the one that may."""
    return [name_of(path) for path in CODE if text in text_of(path) and name_of(path) != besides]


def test_a_page_imports_no_other_page():
    assert not [name_of(path) for path in PAGES if any(name.partition(".")[0] == "pages" for name in imports(path))]


def test_a_page_fits_on_a_screen_or_two():
    assert not [name_of(path) for path in PAGES if len(text_of(path).splitlines()) > 120]


def test_only_the_router_is_directly_under_pages():
    assert [path.name for path in (ROOT / "pages").glob("*.py")] == ["router.py"]


def test_data_and_rubrics_hold_no_python():
    assert not [*(ROOT / "data").rglob("*.py"), *(ROOT / "rubrics").rglob("*.py")]


def test_session_state_is_touched_in_one_module():
    assert not holding("session_state", besides=STATE)


def test_no_interrupted_click_is_lost():
    bare = [
        (name_of(path), node.lineno)
        for path in CODE
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".button")
        if ast.unparse(node.func) != "state.button" and "on_click" not in {option.arg for option in node.keywords}
    ]
    assert not bare, "use state.button, or on_click"
    assert not holding("form_submit_button", besides=STATE), "use state.form_button"
    assert not holding("clear_on_submit="), "use state.numbered"


def test_no_function_is_longer_than_fifty_lines():
    functions = [
        (f"{name_of(path)}: {node.name}", (node.end_lineno or node.lineno) - node.lineno + 1)
        for path in CODE
        if "migrations" not in path.parts
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert not [function for function, lines in functions if lines > 50]


def test_rows_and_queries_name_the_types_of_their_columns():
    assert not [file for kind in ("Row", "Select", "Column", "ColumnElement") for file in holding(f"{kind}[Any]")]


def test_any_does_not_spread():
    product = (path for path in CODE if not path.is_relative_to(ROOT / "bench"))
    names = (
        (name_of(path), node) for path in product for node in ast.walk(tree_of(path)) if isinstance(node, ast.Name)
    )
    lines = {(name, node.lineno) for name, node in names if node.id == "Any"}
    assert len(lines) <= ANY_LINES, "use object or the real type; a JSON object is a JsonObject"


def test_exceptions_to_linters_and_type_checkers_have_a_reason():
    checked = [*CODE, *(ROOT / "tests").rglob("*.py")]
    exceptions = [
        (name_of(path), number, match[0])
        for path in checked
        if path != Path(__file__)
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if (match := re.search(f"{EXCEPTION.pattern}.*", line))
    ]
    assert exceptions
    assert not [exception for exception in exceptions if not WITH_REASON.fullmatch(exception[2])]


def test_no_function_is_there_for_tests_alone():
    product = [tree_of(path) for path in CODE if not path.is_relative_to(ROOT / "bench")]
    uses = {name for tree in product for node in ast.walk(tree) for name in names_used(node)}
    definitions = {
        node.name
        for tree in product
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    assert definitions - uses == UNUSED.keys()


def names_used(node: ast.AST) -> list[str]:
    """The names that a node uses; also a text without spaces, which may look one up as "module:name" does."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return [name]
        case ast.Constant(value=str(text)) if re.fullmatch(r"[\w.:]+", text):
            return re.split(r"[.:]", text)
    return []


def test_nothing_evaluates_or_runs_a_shell():
    calls = [
        (name_of(path), node.func.id)
        for path in CODE
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    assert not [call for call in calls if call[1] in FORBIDDEN_CALLS]
    assert not holding("shell=True")


def test_nothing_unpickles_or_calls_out():
    def forbidden(path: Path) -> set[str]:
        calls_out = path.is_relative_to(ROOT / "bench") or name_of(path) == SCRIPTS
        return UNPICKLING if calls_out else UNPICKLING | CALLING_OUT

    assert not [(name_of(path), names) for path in CODE if (names := imports(path) & forbidden(path))]


def test_no_line_of_an_error_holds_a_line_end():
    """A command prints the arguments of an error as its lines, and line ends in them spelled out."""
    errors = (node for path in CODE for node in ast.walk(tree_of(path)) if isinstance(node, ast.Raise))
    joined = [ast.unparse(error) for error in errors if "'\\n'.join" in ast.unparse(error)]
    assert not joined


def test_no_user_text_becomes_html():
    assert not holding("unsafe_allow_html")


def test_a_slider_looks_the_same_in_every_browser():
    """Firefox showed no slider at all until it had an answer."""
    css = text_of(ROOT / "components" / "workbench" / "workbench.css")
    webkit = re.findall(r"(.*)::-webkit-slider-(?:runnable-)?(track|thumb) \{", css)
    assert webkit and webkit == re.findall(r"(.*)::-moz-range-(track|thumb) \{", css)


def test_the_channel_between_tabs_is_named_once():
    scripts = [path for path in (ROOT / "components").rglob("*.js") if "node_modules" not in path.parts]
    (script,) = [path for path in scripts if "`triptych-login" in text_of(path)]
    assert name_of(script) == "components/sign_in/channel.js"


def test_what_serves_annotators_never_joins_a_system():
    annotate = ROOT / "triptych" / "annotate"
    serving = [path for path in CODE if path.parent == annotate and path.stem not in MAY_KNOW_SYSTEMS]
    assert {path.stem for path in annotate.glob("*.py")} > MAY_KNOW_SYSTEMS
    assert not [
        name_of(path)
        for path in serving
        if "triptych.storage.models.System" in imports(path) or "system_id" in text_of(path)
    ]

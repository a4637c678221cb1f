"""Whatever annotators read is in the catalogues, and every catalogue has it whole."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.studies import absent
from helpers.translations import ROOT, SOURCES, extracted

from triptych.languages.language import FOLDER, _, codes, entries_in, for_browser, language, ngettext, using

TRANSLATED = [code for code in codes() if code != "en"]
SCREENS = ("pages/annotator", "pages/everyone", "components/annotator", "components/sign_in")
MODULES = ("components/shell/entrance.py", "components/shell/line.py")
OF_LEADS = {"setup.py"}  # screens in those folders that only leads see
# refusals of these modules reach annotators; InvalidAnnotation is what no browser of ours sends
REFUSING = (
    *("annotate/annotations", "annotate/assignments", "annotate/drafts", "annotate/onboarding", "annotate/entry_test"),
    *("people/membership", "people/places"),
)
REFUSALS = {"NotAllowed", "NotFound", "Conflict", "StudyNotOpen", "AlreadySubmitted", "OpenElsewhere", "StudyFull"}
CATALOGUED = {"_", "ngettext", "message"}
WORDS = re.compile(r"[A-Za-z]{2,} [A-Za-z]|^[A-Z][a-z]+")
MARKUP = re.compile(r"<\w|=>")
NO_WORDS = {"Triptych", "Accept-Language"}
JS_TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|[^`\\])*`", re.DOTALL)
JS_WORDS = re.compile(r"[A-Za-z]{2,} [A-Za-z]|^[A-Z][a-z]+")
JS_OF_LEADS = {"marked.js"}
# keys, headers, selectors, classes and the name of what is judged: what programs read, not people
JS_CODE = re.compile(
    r"^(tw-|\.tw|\[data|:|input|button|a, |textarea|Enter$|Escape$|Arrow|Home$|End$|Page|Delete$|Backspace$"
    r"|Content-Type"
    r"|Conversation$|X-Triptych|Accept-Language|Ctrl(\+Enter)?$|triptych|signed out$|Triptych$|inset |var\()|\[type="
)
# a line of letters, only measured
JS_MEASURED = {
    "The quick answer is that most people read a line of fifty or sixty letters with ease, and lose their ",
    "place in longer ones.",
}


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


@pytest.fixture(scope="module")
def texts() -> dict:
    return extracted()


@pytest.mark.parametrize("code", TRANSLATED)
def test_catalogue_holds_every_text_and_no_other(code: str, texts: dict) -> None:
    head, *entries = entries_in((FOLDER / f"{code}.po").read_text(encoding="utf-8"))
    assert {entry.name: entry.plural for entry in entries} == {entry.name: entry.plural for entry in texts.values()}, (
        "run `make translations`, then translate what is empty"
    )
    assert [entry.name for entry in entries if not all(entry.texts)] == []
    forms = int(head.texts[0].partition("nplurals=")[2].partition(";")[0])
    assert len(language(code).plurals) == forms
    assert {len(entry.texts) for entry in entries if entry.plural} == {forms}


def test_every_text_of_a_module_is_extracted(texts: dict) -> None:
    """Up to Python 3.11, Babel does not see texts inside of an f-string; annotators read one of them in English."""
    calls = [
        (path.name, node.args[0].value)
        for pattern in SOURCES["python"]
        for path in ROOT.glob(pattern)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in CATALOGUED
        if node.args and isinstance(node.args[0], ast.Constant)
    ]
    assert len(calls) > 100
    assert [(name, text) for name, text in calls if text not in texts] == []


@pytest.mark.parametrize("code", TRANSLATED)
def test_translations_have_the_placeholders_of_their_text(code: str) -> None:
    for entry in language(code).entries.values():
        wanted = placeholders(entry.plural or entry.name)
        assert placeholders(entry.texts[-1]) == wanted, entry.name
        assert all(placeholders(text) <= wanted for text in entry.texts), entry.name


@pytest.mark.parametrize("code", TRANSLATED)
def test_browser_takes_the_plural_form_of_gettext(code: str) -> None:
    script = (
        "import { ngettext, use } from './components/workbench/language.js';"
        f"const catalogue = {for_browser(code).decode()};"
        "use({ ...catalogue, texts: { one: catalogue.plurals.map((_, place) => String(place)) } });"
        "console.log(JSON.stringify(Array.from({ length: 301 }, (_, n) => Number(ngettext('one', 'other', n)))));"
    )
    node = shutil.which("node")
    if node is None:
        absent("Node")
    run = subprocess.run(
        [node, "--input-type=module", "--eval", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert json.loads(run.stdout) == [language(code).form(number) for number in range(301)]


def test_texts_follow_the_language_in_use() -> None:
    with using("de"):
        assert _("Item {number}: you answered", number=3) == "Item 3: von Ihnen beantwortet"
        assert ngettext("{count} highlight", "{count} highlights", 2) == "2 Markierungen"
        assert _("no such text") == "no such text"
    with using("ar"):
        assert ngettext("{count} highlight", "{count} highlights", 2) == "تظليلان"
    assert ngettext("{count} highlight", "{count} highlights", 1) == "1 highlight"


def _parents(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    return {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}


def _is_catalogued(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    while node in parents:
        node = parents[node]
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in CATALOGUED:
            return True
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return True  # a docstring
    return False


def _stray(path: Path) -> Iterator[str]:
    """Words in a screen's module that are outside the catalogue."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parents = _parents(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        text = node.value
        is_word = WORDS.search(text) and text not in NO_WORDS and not MARKUP.search(text)
        if is_word and not _is_catalogued(node, parents):
            yield f"{path.name}:{node.lineno}: {text}"


def test_screens_of_annotators_have_no_text_outside_the_catalogue() -> None:
    paths = [path for folder in SCREENS for path in sorted((ROOT / folder).glob("*.py")) if path.name not in OF_LEADS]
    assert [line for path in (*paths, *(ROOT / name for name in MODULES)) for line in _stray(path)] == []


def test_refusals_to_annotators_have_no_text_outside_the_catalogue() -> None:
    for name in REFUSING:
        tree = ast.parse((ROOT / f"triptych/{name}.py").read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                is_refusal = getattr(node.exc.func, "id", "") in REFUSALS
                assert not is_refusal or isinstance(node.exc.args[0], ast.Call | ast.Name), f"{name}:{node.lineno}"


def test_style_sheets_write_no_words() -> None:
    for path in sorted((ROOT / "components").glob("*/*.css")):
        assert not re.findall(r'content: "[^"]*[A-Za-z]{2}', path.read_text(encoding="utf-8")), path.name


def test_workbench_has_no_text_outside_the_catalogue() -> None:
    workbench = ROOT / "components" / "workbench"
    for path in sorted((*workbench.glob("*.js"), *workbench.glob("texts/*.js"))):
        source = path.read_text(encoding="utf-8")
        for match in JS_TOKEN.finditer(source) if path.name not in JS_OF_LEADS else ():
            text = re.sub(r"\$\{(?:[^{}]|\{[^{}]*\})*\}", "", match[0][1:-1])
            if match[0][0] == "/" or not JS_WORDS.search(text) or JS_CODE.search(text) or text in JS_MEASURED:
                continue
            before = source[: match.start()].rstrip()
            is_catalogued = re.search(r"(\b_|message|ngettext)\($", before) or re.search(
                r"ngettext\([^;]*,$", before[-300:]
            )
            assert is_catalogued, f"{path.name}: {match[0]}"

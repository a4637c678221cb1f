"""What the documents of a report do with hostile text: LaTeX that compiles, HTML that stays text, spreadsheets."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from html.parser import HTMLParser
from typing import Any

import pytest
from helpers import browser
from helpers.present import present
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import load_workbook

from triptych.formats.long_csv import FORMULA_STARTS
from triptych.reports import data, html, tex
from triptych.reports.cells import Cell, Table
from triptych.reports.figures import answers, means
from triptych.reports.numbers import Book

chromium = browser.chromium
HOSTILE = [
    r"\input{/etc/passwd} \write18{id} \end{document}",
    "50 % of $x^2_1$ & #1 {un} ~balanced}",
    "<script>alert(1)</script><img src=http://evil.example/x onerror=alert(1)>",
    "</title></style><svg onload=alert(1)>",
    '=HYPERLINK("http://evil.example")',
    "[*] ?`!` -- --- << >> `` '' |",
    "漢字 😀 עברית \u202eRLO\u202c Ħ ß ł \u00ad\x00\x07",
    "",
]
UNESCAPED = re.compile(r"(?<!\\)(?:\\\\)*[#$%&_^~]")


def table_of(texts: list[str]) -> Table:
    rows = tuple((Cell(words), Cell("-0.31 [0.10, 0.52]", "a,1")) for words in texts)
    return Table("hostile", texts[0], ("What", texts[1]), rows, tuple(texts))


def tex_is_safe(text: str) -> bool:
    """Braces are balanced, no special character is unescaped, and only commands that we write occur."""
    without = text.replace(r"\{", "").replace(r"\}", "")
    depth = 0
    for sign in without:
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return False
    commands = set(re.findall(r"\\([a-zA-Z]+)", text))
    ours = {"textbackslash", "textasciicircum", "textasciitilde", "textless", "textgreater", "textbar", "dots"}
    return depth == 0 and not UNESCAPED.search(text) and commands <= ours | {"times", "triptychchar"}


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40) | st.text("\\{}$&#^_~%[]*-`?!<>|\"' a1"))
def test_latex_from_people_is_balanced_and_without_commands(text):
    escaped = tex.escaped(text)
    assert tex_is_safe(escaped), escaped
    assert escaped.isascii() or not tex.UNKNOWN.search("".join(sign for sign in escaped if not sign.isascii()))


# what TeX prints for everything that may be in an escaped text; nothing else may be in it
PRINTED = {
    r"\textbackslash{}": "\\", r"\textasciicircum{}": "^", r"\textasciitilde{}": "~", r"\textless{}": "<",
    r"\textgreater{}": ">", r"\textbar{}": "|", r"\dots{}": "…", r"\(\times\)": "×", r"\(-\)": "-",
    r"\allowbreak{}": "",
    "{[}": "[", "{]}": "]", "{*}": "*", "{}": "", "{---}": "—", "{--}": "–", "{``}": "“", "{''}": "”", "`": "‘",
    "'": "’", **dict.fromkeys(("---", "--", "``", "''"), "ligature"),
    **{f"\\{sign}": sign for sign in "{}$&#_%"},
}  # fmt: skip
TOKEN = re.compile(
    r"\\triptychchar\{([0-9A-F]{4,6})\}|"
    + "|".join(map(re.escape, sorted(PRINTED, key=len, reverse=True)))
    + r"|[^\\{}$&#^_~%\x00-\x1f\[\]*<>|\"`']"
)
ALIKE = str.maketrans({"'": "’", "`": "‘", '"': "”", "−": "–", "\u00a0": " ", "\u00ad": ""})


def as_printed(latex: str) -> str:
    """What TeX prints of an escaped text; fails at anything that it may not hold."""
    out, at = [], 0
    while at < len(latex):
        token = present(TOKEN.match(latex, at))
        out.append(chr(int(token[1], 16)) if token[1] else PRINTED.get(token[0], token[0]))
        at = token.end()
    return "".join(out)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40) | st.text("\\{}$&#^_~%[]*-`?!<>|\"' a1"))
def test_tex_prints_a_text_as_it_was_written(text):
    assert as_printed(tex.escaped(text)) == " ".join(html.readable(text).split()).translate(ALIKE)


@pytest.mark.parametrize("text", [*HOSTILE, "0123456789abcdef" * 4, "a−b “c” ‘d’ – — … ×"])
def test_tex_prints_hostile_text_as_it_was_written(text):
    assert as_printed(tex.escaped(text)) == " ".join(html.readable(text).split()).translate(ALIKE)


def test_every_latex_row_has_a_cell_per_column():
    latex = tex.tabular(table_of(HOSTILE))
    body = latex.split(r"\toprule")[1].split(r"\bottomrule")[0].replace(r"\midrule", "")
    rows = [row for row in body.split("\\\\\n") if row.strip()]
    assert len(rows) == len(HOSTILE) + 1
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {1}
    assert r"\begin{tabular}{lr}" in latex


def test_a_negative_number_gets_a_minus_sign():
    assert tex.escaped("-0.31 [-1.00, 0.52]") == r"\(-\)0.31 {[}\(-\)1.00, 0.52{]}"
    assert tex.escaped("2026-11-21, item-3") == "2026-11-21, item-3"


def test_a_long_latex_table_is_split_without_loss():
    rows = tuple((Cell(f"row {n}"), Cell("1")) for n in range(99))
    latex = tex.tabular(Table("long", "Long", ("What", "A title of two lines"), rows, ("The note.",)))
    assert re.findall(r"row \d+", latex) == [f"row {n}" for n in range(99)]
    parts = latex.split(r"\begin{table}")[1:]
    assert [part.count("row ") for part in parts] == [33, 33, 33]
    assert [r"\label{tab:long}" in part for part in parts] == [True, False, False]
    assert ["The note." in part for part in parts] == [False, False, True]
    assert r"\shortstack{A title of\\two lines}" in latex


def test_a_hash_can_be_broken_into_lines():
    words = "0123456789abcdef" * 4
    assert tex.escaped(f"Snapshot {words}.").replace(r"\allowbreak{}", "") == f"Snapshot {words}."
    assert tex.escaped(words).count(r"\allowbreak{}") == 15


@pytest.mark.parametrize("packages", ["booktabs", "booktabs,graphicx"])
def test_latex_compiles_with_any_text_and_fits_the_page(packages, tmp_path):
    engine = shutil.which("pdflatex")
    if engine is None:
        pytest.skip("pdfLaTeX is missing on this machine.")
    wide = Table("wide", "Wide", ("A title",) * 9, ((Cell("some words in a cell"),) * 9,) * 70, (HOSTILE[5],))
    tables = [tex.tabular(table_of(HOSTILE)), tex.tabular(wide)]
    parts = [*tables, *(tex.escaped(words) + "\n\n" for words in [*HOSTILE, "Snapshot " + "0123456789abcdef" * 4])]
    parts += [tex.tabular(table_of(["a", "b"]))] * 70
    (tmp_path / "hostile.tex").write_text(tex.document("hostile.tex", "a\nb % c", parts), encoding="utf-8")
    (tmp_path / "main.tex").write_text(
        f"\\documentclass{{article}}\\usepackage{{{packages}}}\\begin{{document}}\\input{{hostile.tex}}\\end{{document}}\n"
    )
    command = [engine, "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60)

    log = done.stdout.decode(errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert (tmp_path / "main.pdf").stat().st_size > 1000
    assert "Float too large" not in log
    assert "graphicx" not in packages or not re.search(r"Overfull \\hbox \(\d{3}", log), log


class Tags(HTMLParser):
    """The names of all tags and attributes, and all text."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: dict[str, set[str]] = {}
        self.words: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, set()).add(value or "")

    def handle_data(self, data):
        self.words.append(data)


def hostile_page() -> str:
    sections = [
        html.ReportSection(words, words, [words], tables=[table_of(HOSTILE)], table_titles=True) for words in HOSTILE
    ]
    return html.page(HOSTILE[3], {HOSTILE[2]: HOSTILE[3]}, sections, HOSTILE[2])


def test_the_html_report_holds_text_and_no_outside_link():
    tags = Tags()
    tags.feed(hostile_page())
    assert not tags.names & {"script", "img", "iframe", "link", "a", "form", "object"}
    assert not {name for name in tags.attributes if name.startswith("on") or name in ("src", "href", "style")}
    assert HOSTILE[2] in "".join(tags.words)
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    assert policy in tags.attributes["content"]


@pytest.mark.long
@pytest.mark.browser
def test_the_html_report_opens_offline_and_runs_nothing(chromium, tmp_path):
    (tmp_path / "report.html").write_text(hostile_page(), encoding="utf-8")
    context = chromium.new_context(offline=True)
    page = context.new_page()
    asked, messages = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: messages.append(dialog.message))
    page.on("pageerror", lambda error: messages.append(str(error)))

    page.goto((tmp_path / "report.html").as_uri())

    assert page.locator("h1").inner_text() == HOSTILE[3]
    assert page.locator("td", has_text="<script>").count() > 0
    assert asked == [(tmp_path / "report.html").as_uri()]
    assert messages == []
    context.close()


def test_no_cell_of_the_spreadsheet_is_a_formula():
    content = data.workbook([table_of(HOSTILE)], Book(()), "0" * 64)
    cells = [cell for row in load_workbook(io.BytesIO(content))["hostile"].iter_rows() for cell in row if cell.value]
    assert all(cell.data_type == "s" for cell in cells)
    assert not any(str(cell.value).startswith(FORMULA_STARTS) for cell in cells)


def test_a_criterion_without_answers_has_no_figure():
    from types import SimpleNamespace

    scale = SimpleNamespace(options=())
    empty: Any = SimpleNamespace(systems=(), points=(1.0, 2.0), criterion=SimpleNamespace(title="x", scale=scale))
    assert means(empty, {}) is None
    assert answers(empty, {}) is None

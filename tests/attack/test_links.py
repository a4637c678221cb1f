"""A system whose name is an address: text on every page and in every file, never a link.

tests/browser/test_browser_xss.py looks at the pages themselves, with such names.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from helpers.studies import ROOT

from components.results.charts import short
from components.shell.state import plain
from components.shell.words import read_aloud
from triptych.reports import html
from triptych.reports.cells import Cell, Table
from triptych.reports.documents import code_span
from triptych.reports.html import ReportSection

ADDRESSES = ("https://evil.test/system", "http://evil.test", "www.evil.test", "mailto:a@evil.test", "a@evil.test")
CODE = [path for name in ("components", "pages") for path in sorted((ROOT / name).rglob("*.py"))]
# what makes a link of a value; addresses of our own are given to st.link_button and st.page_link
LINKING = {"LinkColumn", "ListColumn", "ImageColumn", "MarkdownColumn", "html", "markdown"}


def linking(path: Path) -> list[str]:
    """What is drawn in a way that makes links, other than fixed words and what `plain` has escaped."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    return [
        ast.unparse(call)
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in LINKING and not _is_safe(call)
    ]


def _is_safe(call: ast.Call) -> bool:
    """Words of ours: a constant, or an f-string whose only values are escaped."""
    first = call.args[0] if call.args else None
    if not isinstance(first, ast.JoinedStr):
        return isinstance(first, ast.Constant)
    values = [part.value for part in first.values if isinstance(part, ast.FormattedValue)]
    return all(isinstance(value, ast.Call) and ast.unparse(value.func) == "plain" for value in values)


def test_no_page_makes_links_of_values():
    # words of ours: titles, guides of docs/, marks, styles; the steps are escaped one by one
    allowed = {
        "item_review.py": [
            "st.markdown(f'**{title}**')",
            "st.markdown(f'{plain(question.about)}: {given}')",
        ],
        "help.py": ["st.markdown(text, width=820)"],
        "launch_form.py": [
            "st.markdown('\\n'.join((f'{place}. {state.plain(step)}' for place, step in enumerate(steps, 1))))",
            "st.markdown(ICONS[point.mark], width='content')",
        ],
        "grid.py": ["st.html(LOADING)"],
        "screen.py": ["st.html(LOOK)"],
        "tour.py": [
            "st.markdown(f'**Tour, stop {place + 1} of {len(STOPS)}.** {stop.about}')",
            "st.markdown(f'**Try:** {stop.task}')",
        ],
    }

    assert {path.name: uses for path in CODE if (uses := linking(path))} == allowed


@pytest.mark.parametrize("address", ADDRESSES)
def test_markdown_makes_no_link_of_an_address(address: str):
    escaped = plain(address)

    assert not re.search(r"(https?|ftp|mailto):|www\.|\w@\w", escaped)


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_widgets_name_makes_no_link_of_an_address(address: str):
    assert not re.search(r"(https?|ftp)://|www\.|\w@\w", read_aloud(f"Fluency: {address}"))


@pytest.mark.parametrize("address", [*ADDRESSES, '<a href="https://evil.test">x</a>'])
def test_axes_tables_and_documents_make_no_link(address: str):
    table = Table("systems", address, (address,), ((Cell(address),),), (address,))
    section = ReportSection(address, address, [address], (), [table], table_titles=True)
    page = html.page(address, {"System": address}, [section], address)

    assert "<a" not in short(address, "1", 60) + page
    assert code_span(address) == f"`{address}`"

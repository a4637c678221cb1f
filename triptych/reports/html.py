"""The report as one HTML file that opens anywhere without a network: no script, no font, no address in it.

It is built as a tree, so that what people wrote is always text and never markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, tostring

from triptych.reports.cells import Cell, Table

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1.5rem; }
h1, h2, h3 { line-height: 1.2; }
table { border-collapse: collapse; font-size: .875rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #8884; }
thead th { border-bottom: 2px solid currentColor; }
.scroll { overflow-x: auto; }
.scroll table:has(th:nth-child(4)) { min-width: 40rem; }
p, li, h1, h2, h3, footer { overflow-wrap: break-word; }
.note, footer { font-size: .8125rem; opacity: .8; margin: .3rem 0; }
code { overflow-wrap: anywhere; }
svg { width: 100%; max-width: 40rem; height: auto; display: block; margin: .5rem 0; }
@media print { body { max-width: none; padding: 0; } section { break-inside: avoid; } }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def readable(text: str) -> str:
    """The text without characters that no document may hold."""
    return NO_TEXT.sub("\ufffd", text)


def page(title: str, facts: Iterable[tuple[str, str]], parts: Iterable[Element], foot: str) -> str:
    """The whole document. facts: the list under the title."""
    root = Element("html", {"lang": "en"})
    head = SubElement(root, "head")
    SubElement(head, "meta", {"charset": "utf-8"})
    SubElement(head, "meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"})
    SubElement(head, "meta", {"http-equiv": "Content-Security-Policy", "content": POLICY})
    _add(head, "title", title)
    _add(head, "style", STYLE)
    body = SubElement(root, "body")
    _add(body, "h1", title, dir="auto")
    body.append(_table([(name, value) for name, value in facts]))
    body.extend(parts)
    _add(body, "footer", foot)
    return "<!doctype html>\n" + tostring(root, encoding="unicode", method="html") + "\n"


def section(title: str, *parts: Element | None) -> Element:
    """A heading with what belongs under it; what is None is left out."""
    made = Element("section")
    _add(made, "h2", title, dir="auto")
    made.extend([part for part in parts if part is not None])
    return made


def heading(title: str) -> Element:
    """The title of something inside a section."""
    made = Element("h3", {"dir": "auto"})
    made.text = readable(title)
    return made


def text(words: str) -> Element:
    made = Element("p", {"dir": "auto"})
    made.text = readable(words)
    return made


def listed(sentences: Iterable[str]) -> Element | None:
    """A list; None if it is empty."""
    made = Element("ul")
    for words in sentences:
        _add(made, "li", words, dir="auto")
    return made if len(made) else None


def table(content: Table) -> Element:
    """A typed table with its notes."""
    made = Element("div")
    scroll = SubElement(made, "div", {"class": "scroll"})
    grid = SubElement(scroll, "table")
    top = SubElement(SubElement(grid, "thead"), "tr")
    for words in content.header:
        _add(top, "th", words, scope="col", dir="auto")
    rows = SubElement(grid, "tbody")
    for cells in content.rows:
        line = SubElement(rows, "tr")
        for cell in cells:
            _cell(line, cell)
    for note in content.notes:
        _add(made, "p", note, **{"class": "note", "dir": "auto"})
    return made


def _table(rows: Iterable[tuple[str, str]]) -> Element:
    grid = Element("table")
    for name, value in rows:
        line = SubElement(grid, "tr")
        _add(line, "th", name, scope="row")
        _add(SubElement(line, "td", {"dir": "auto"}), "code", value)
    return grid


def _cell(line: Element, cell: Cell) -> None:
    made = _add(line, "td", cell.text, dir="auto")
    if cell.raised:
        _add(made, "sup", cell.raised)


def _add(parent: Element, name: str, words: str, **attributes: str) -> Element:
    made = SubElement(parent, name, attributes)
    made.text = readable(words)
    return made

"""The report as one HTML file that opens without a network: it contains no script, font or address.

report.html.j2 next to this file is its template, which escapes all user texts. The order of the sections is in
`build._sections`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from triptych.reports.cells import Table

NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class PrintedFigure:
    """A figure with its caption.

    svg: in the page's width, a complete drawing as markup, in which user texts are escaped; files: all sizes and
    formats by name.
    """

    name: str
    caption: str
    svg: Markup
    files: dict[str, bytes]


@dataclass(frozen=True)
class TitledText:
    """A text with its line breaks."""

    title: str
    text: str


@dataclass(frozen=True)
class ReportSection:
    """A heading and its content. table_titles: whether tables have headings of their own."""

    title: str
    text: str = ""
    listed: Sequence[str] = ()
    figures: Sequence[PrintedFigure] = ()
    tables: Sequence[Table] = ()
    table_titles: bool = False
    passages: Sequence[TitledText] = ()


def readable(text: str) -> str:
    """The text without characters that are not allowed in documents."""
    return NO_TEXT.sub("\ufffd", text)


def page(
    title: str,
    facts: Mapping[str, str],
    sections: Iterable[ReportSection],
    foot: str,
    links: Mapping[str, str] | None = None,
) -> str:
    """The whole document. facts: the list under the title; links: words → a file of ours in the same folder."""
    template = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=_finished,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    ).get_template("report.html.j2")
    return template.render(title=title, facts=facts, sections=sections, foot=foot, links=links or {})


def _finished(value: Any) -> Any:
    """Drawings are markup; everything else is escaped."""
    if isinstance(value, Markup):
        return value
    return "" if value is None else readable(value)

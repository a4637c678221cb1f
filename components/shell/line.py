"""A line on every page that appears when the server cannot be reached, instead of Streamlit's dialogs."""

from __future__ import annotations

import re
from pathlib import Path

import streamlit as st

from components.shell import state
from triptych.languages import language
from triptych.languages.language import _

FOLDER = Path(__file__).parent
ADDRESS = "address"  # session key: whether this tab's first address was checked
_line = st.components.v2.component(
    "triptych.line",
    html='<p class="triptych-line" role="status"></p>',
    css=(FOLDER / "line.css").read_text(encoding="utf-8"),
    js=(FOLDER / "line.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def watch_line() -> None:
    """The line, empty while the server responds. After a lost connection the page runs again.

    Also sets the page's language and the styles that all pages need.
    """
    code = language.used()
    words = {
        "down": _(
            "The server cannot be reached. This page connects again by itself; until then its buttons do nothing."
        ),
        "broken": _("Something from the server did not arrive whole. Reload the page; what was saved stays."),
    }
    data = {**words, "language": code, "direction": language.language(code).direction}
    _line(data=data, key="line", on_returned_change=state.will_run_by_itself)


def say_unknown_address(page: str) -> None:
    """A message that the address is of no page, if Streamlit shows `page` instead.

    Only a connection's first run has the requested address; later runs have that of the page they leave.
    """
    if state.recall(ADDRESS):
        return
    state.remember(ADDRESS, True)
    # not with urlsplit, which would raise an error on the invalid input that browsers can send; the address of the
    # first page ends with the server's name
    path = re.split("[?#]", st.context.url or "")[0].partition("://")[2].partition("/")[2]
    address = path.rpartition("/")[2]
    base = st.get_option("server.baseUrlPath").strip("/").rpartition("/")[2]
    if address not in ("", page, base):
        sentence = _("No page has this address, or you may not open it. This is your first page instead.")
        state.say(sentence, "info")

"""What a file may call an item, a page can show."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def _page() -> None:
    from components.results.marked import marked_item
    from triptych.results.frame.highlights import HighlightedItem

    marked_item(HighlightedItem("item__1", (), (), (), 0), key="look-study-item__1")


def test_an_id_with_two_low_lines_is_shown():
    page = AppTest.from_function(_page).run(timeout=30)

    assert not page.exception

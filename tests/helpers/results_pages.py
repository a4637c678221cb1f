"""Pages run by Streamlit as one person sees them; what a results page says."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from components.shell import state
from helpers.studies import ROOT

ROUTER = ROOT / "pages" / "router.py"


@pytest.fixture
def visit(monkeypatch):
    """visit(who, page, study=slug) → the page as this person sees it."""

    def visiting(who, page, **query):
        monkeypatch.setattr(state, "current_person", lambda: who)
        app = AppTest.from_file(str(ROUTER), default_timeout=30).run()
        app.switch_page(str(ROUTER.parent / "lead" / page))
        for name, value in query.items():
            app.query_params[name] = value
        app.run()
        assert not app.exception
        return app

    return visiting


def words(app) -> str:
    """All that a page says in text, tables and numbers."""
    kinds = ("text", "caption", "subheader", "markdown", "info", "warning", "error")
    texts = [element.value for kind in kinds for element in app.get(kind)]
    tables = [frame.value.to_string() for frame in app.dataframe]
    return "\n".join(map(str, [*texts, *(metric.value for metric in app.metric), *tables]))


def turn_to(app, study, section: str):
    """The results page with another section open."""
    app.session_state[f"section-{study.slug}"] = section
    app.run()
    assert not app.exception
    return app

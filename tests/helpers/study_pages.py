"""Pages about studies: a lead, what is stored, and the page's buttons."""

from __future__ import annotations

from typing import Any

import pytest
import streamlit as st
from sqlalchemy import select
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx
from streamlit.testing.v1 import AppTest

from components.shell import state
from helpers.studies import ROOT, add_person
from triptych.storage import database
from triptych.storage.models import Role, Study
from triptych.study import lifecycle
from triptych.web.session import web_engine

ROUTER = ROOT / "pages" / "router.py"

SECRET_TEXT = "![x](http://evil.example/x.png) <b>bold</b>"


@pytest.fixture
def lead():
    with database.writing(web_engine()) as session:
        return add_person(session, "lead", Role.lead)


def stored() -> list[Study]:
    with database.reading(web_engine()) as session:
        return list(session.scalars(select(Study).order_by(Study.id)))


def button(app: AppTest, label: str) -> Any:
    return next(button for button in app.button if button.label == label)


def press(app: AppTest, label: str) -> AppTest:
    """The page after a click on this button."""
    button(app, label).click().run()
    assert not app.exception
    return app


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def rendered_markdown(app: AppTest) -> str:
    elements: list[Any] = [element for kind in ("markdown", "error", "warning", "info") for element in app.get(kind)]
    return "\n".join(str(element.value) for element in elements)


def interrupt_once(monkeypatch) -> None:
    """The next run of a lead's page ends before it draws a form, as when another click comes in."""
    whole = lifecycle.for_lead
    interrupted: list[bool] = []

    def for_lead(*arguments):
        if not interrupted:
            interrupted.append(True)
            st.rerun()
        return whole(*arguments)

    monkeypatch.setattr(lifecycle, "for_lead", for_lead)


def click_again_during(monkeypatch, room: Any, command: str) -> None:
    """The button is clicked a second time while the command runs, so that Streamlit ends that run afterwards."""
    monkeypatch.setattr(state, "DOUBLE_CLICK_SECONDS", 600)  # however slow this computer is
    run = getattr(room, command)

    def slow(*arguments, **options):
        monkeypatch.setattr(room, command, run)
        context = get_script_run_ctx()
        assert context is not None and context.script_requests is not None
        clicked = WidgetStates(widgets=context.session_state.get_widget_states())
        context.script_requests.request_rerun(
            RerunData(context.query_string, clicked, page_script_hash=context.page_script_hash)
        )
        return run(*arguments, **options)

    monkeypatch.setattr(room, command, slow)

"""The pages before and after signing in: fields, buttons, and who the browser then is."""

from __future__ import annotations

from typing import Any

import pytest
from sqlmodel import Session
from streamlit.testing.v1 import AppTest

from components.shell import state
from helpers.studies import ROOT
from triptych.people import logins
from triptych.study.persons import Who

ROUTER = str(ROOT / "pages" / "router.py")


def app(**query: str) -> AppTest:
    test = AppTest.from_file(ROUTER, default_timeout=30)
    for name, value in query.items():
        test.query_params[name] = value
    return test.run()


def be(monkeypatch: pytest.MonkeyPatch, who: Who | None) -> None:
    monkeypatch.setattr(state, "current_person", lambda: who)


def shown(test: AppTest) -> str:
    """All that a person reads on the page."""
    assert not test.exception
    parts = [
        test.title,
        test.header,
        test.markdown,
        test.text,
        test.caption,
        test.error,
        test.warning,
        test.info,
        test.code,
    ]
    # as the browser shows it: without the escapes, and without the invisible word joiner
    unescaped = str.maketrans({"\\": None, "\u2060": None})
    return "\n".join(str(element.value).translate(unescaped) for part in parts for element in part)


def field(test: AppTest, label: str) -> Any:
    return next(field for field in test.text_input if field.label.startswith(label))


def press(test: AppTest, label: str) -> AppTest:
    return next(button for button in test.button if button.label == label).click().run()


def arrival(test: AppTest) -> state.Arrival | None:
    return test.session_state["outcomes"].get("arrival")


def signs_in(session: Session, test: AppTest) -> Who | None:
    """Who the browser would be after posting the ticket that the page gave it."""
    came = arrival(test)
    assert came is not None
    return logins.who_is(session, logins.use_ticket(session, came.ticket))

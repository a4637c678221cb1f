"""What several test files share: study pages."""

from __future__ import annotations

import pytest
from sqlalchemy import select
from streamlit.testing.v1 import AppTest

from helpers.studies import ROOT, add_person
from triptych.storage import database
from triptych.storage.models import Role, Study
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


def button(app: AppTest, label: str):
    return next(found for found in app.button if found.label == label)


def labels(app: AppTest) -> list[str]:
    return [found.label for found in app.button]


def rendered_markdown(app: AppTest) -> str:
    return "\n".join(str(found.value) for kind in ("markdown", "error", "warning", "info") for found in app.get(kind))

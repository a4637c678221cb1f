"""Requests of scripts that are refused before anything is done."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from helpers.asgi import sent
from helpers.studies import SMALL_RUBRIC
from starlette.applications import Starlette

from triptych.people import tokens
from triptych.people.tokens import LIVES, Scope
from triptych.scripting.address import BASE, KEY
from triptych.storage.database import writing
from triptych.storage.models import StudyState
from triptych.study import lifecycle
from triptych.web.routes import ROUTES
from triptych.web.session import web_engine

Post = Callable[..., tuple[int, str]]


@pytest.fixture
def asked(make_study) -> tuple[str, Post]:
    """(name of a study, what posts to a path with a token for this study only and returns status and message)."""
    with writing(web_engine()) as session:
        study, lead, _ = make_study(session)
        token = tokens.make(session, lead, "A script", LIVES[0], {Scope.read, Scope.write}, study)
        slug = study.slug

    def post(path: str, body: dict[str, Any], key: str = "k1") -> tuple[int, str]:
        headers = [(b"authorization", f"Bearer {token}".encode()), (KEY.lower().encode(), key.encode())]
        content = json.dumps(body).encode()
        status, answer = asyncio.run(sent(Starlette(routes=ROUTES), "POST", f"{BASE}{path}", headers, content))
        return status, json.loads(answer).get("message", "")

    return slug, post


def test_a_token_of_one_study_creates_no_other(asked):
    _, post = asked
    items = {"name": "items.csv", "content": ""}
    answer = post("/studies", {"title": "Another", "rubric": SMALL_RUBRIC, "items": items})
    assert answer == (403, "This token is for one study and cannot create another.")


def test_a_script_does_not_reopen_a_closed_study(asked):
    slug, post = asked
    with writing(web_engine()) as session:
        lifecycle.by_slug(session, slug).state = StudyState.closed
    answer = post(f"/studies/{slug}/state", {"state": "open"})
    assert answer == (409, "This study is closed. A lead can reopen it in the app.")


def test_a_field_of_the_address_is_not_repeated(asked):
    slug, post = asked
    answer = post(f"/studies/{slug}/state", {"state": "paused", "study": "another"})
    assert answer == (400, "Do not repeat fields of the address in the body.")


@pytest.mark.parametrize("key", ["k" * 201, "clé"])
def test_an_unusable_idempotency_key_is_refused(asked, key):
    slug, post = asked
    answer = post(f"/studies/{slug}/state", {"state": "paused"}, key)
    assert answer == (400, "Idempotency-Key is a text of at most 200 ASCII characters.")

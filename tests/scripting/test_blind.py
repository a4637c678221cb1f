"""A script learns no system's name while its study is blind: every call, every file, and the order of rows."""

from __future__ import annotations

import asyncio
import io
import json
import zipfile
from dataclasses import dataclass
from typing import Any

import pytest
from helpers.annotations import annotate_with_everything
from helpers.asgi import sent
from helpers.studies import SYSTEMS, sure
from sqlalchemy import select
from starlette.applications import Starlette

from triptych.people import tokens
from triptych.people.tokens import LIVES, Scope
from triptych.scripting.address import BASE
from triptych.storage.database import writing
from triptych.storage.models import Person, Role, Study, System
from triptych.study.persons import Who
from triptych.web.routes import ROUTES
from triptych.web.session import web_engine

SCORE = {"item_id": "item-1", "system": "System 1", "criterion": "fluency", "value": 2}


@dataclass(frozen=True)
class Client:
    """Asks the routes in this process with a token."""

    token: str

    def get(self, path: str) -> bytes:
        return self._ask("GET", path)[1]

    def post(self, path: str, body: Any) -> tuple[int, bytes]:
        return self._ask("POST", path, json.dumps(body).encode())

    def _ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        headers = [(b"authorization", f"Bearer {self.token}".encode())]
        return asyncio.run(sent(Starlette(routes=ROUTES), method, path, headers, body))


@pytest.fixture
def asked(make_study):
    """(a client with a token that reads and writes, the address of a blind study with work in it)."""
    with writing(web_engine()) as session:
        study, lead, (anna, ben) = make_study(session)
        for who in (anna, ben):
            annotate_with_everything(session, study, who)
        token = tokens.make(session, lead, "A script", LIVES[0], {Scope.read, Scope.write})
        slug = study.slug
    return Client(token), f"{BASE}/studies/{slug}"


def test_no_answer_names_a_system(asked):
    client, study = asked
    texts = [client.get(f"{study}{part}").decode() for part in ("", "/items", "/ratings", "/highlights", "/results")]
    texts += [client.get(f"{BASE}{part}").decode() for part in ("/asking", "/studies", "/openapi.json")]
    for part, body in (
        ("/scores", {"judge": "model", "scores": [SCORE]}),
        ("/scores", {"judge": "model", "scores": [SCORE | {"value": 99}]}),
        ("/scores", {"judge": "model", "scores": [SCORE | {"item_id": "item-2", "system": "System 9"}]}),
        ("/dry-run", {"annotators": 2, "items": 4}),
        ("/invitations", {"people": [{"name": "Zoe"}]}),
        ("/state", {"state": "paused"}),
        ("/reports", {}),
    ):
        texts.append(client.post(f"{study}{part}", body)[1].decode())
    made = json.loads(texts[-1])
    with zipfile.ZipFile(io.BytesIO(client.get(f"{study}/reports/{made['sha256']}.zip"))) as archive:
        texts += [archive.read(name).decode("utf-8", "replace") for name in archive.namelist()]
    # judges' scores are in what is read now
    texts += [client.get(f"{study}{part}").decode() for part in ("/ratings", "/results", "/reports")]

    assert len(texts) > 30
    assert all("System 1" in text for text in texts[1:3])
    assert [name for name in SYSTEMS for text in texts if name in text] == []


def test_a_name_tells_nothing_whether_it_is_right_or_not(asked):
    client, study = asked
    answers = [
        client.post(f"{study}/scores", {"judge": "m", "scores": [SCORE | {"system": name}]})
        for name in (SYSTEMS[0], "nonsense")
    ]

    assert [status for status, _ in answers] == [400, 400]
    assert answers[0][1].replace(SYSTEMS[0].encode(), b"nonsense") == answers[1][1]


def test_rows_are_in_the_order_of_the_codes(asked):
    client, study = asked
    rows = json.loads(client.get(f"{study}/items"))["rows"]

    assert [row[2] for row in rows[:3]] == ["System 1", "System 2", "System 3"]


def test_only_a_token_that_unblinds_shows_the_names(asked):
    client, study = asked
    assert client.post(f"{study}/unblinding", {})[0] == 403
    with writing(web_engine()) as session:
        row = session.scalars(select(Study)).one()
        names = set(session.scalars(select(System.name)))
        person = session.scalars(select(Person).where(Person.role == Role.lead)).one()
        lead = Who(person.id, person.pseudonym, person.role, None, 0)
        token = tokens.make(session, lead, "It may", LIVES[0], {*Scope}, row, sure(lead))
    assert Client(token).post(f"{study}/unblinding", {})[0] == 200

    assert {row[2] for row in json.loads(client.get(f"{study}/items"))["rows"]} == names == {*SYSTEMS}

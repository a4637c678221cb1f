"""The code of docs/scripting.md runs, in its order, against a running app; the OpenAPI document says what is there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from helpers.attackers import ask
from helpers.ratings import assigned, resubmit
from helpers.studies import ROOT
from sqlalchemy import select

from bench.server import running_app
from triptych.people import accounts, tokens
from triptych.people.tokens import Scope
from triptych.rubric.answers import LETTERS
from triptych.scripting import openapi
from triptych.scripting.address import BASE, IN_PATH
from triptych.scripting.calls import CALLS
from triptych.storage import database
from triptych.storage.database import writing
from triptych.storage.models import Membership, Person, Role, Study
from triptych.study.persons import Who

PAGE = (ROOT / "docs" / "scripting.md").read_text(encoding="utf-8")
STEPS = re.compile(r"^```python\n(.*?)^```|^(<!-- annotators rate -->)", re.DOTALL | re.MULTILINE)


@pytest.fixture
def app(tmp_path: Path, forked, monkeypatch) -> Iterator[Any]:
    """A running app and the engine of its database; a lead's token is in the environment."""
    with running_app(tmp_path, start=forked) as server:
        engine = database.open_engine(f"sqlite:///{tmp_path / 'triptych.db'}")
        with writing(engine) as session:
            lead = accounts.create_lead(session, "Ada", "correct horse battery")
            who = Who(lead.id, lead.pseudonym, lead.role, lead.name, 0)
            token = tokens.make(session, who, "A notebook", tokens.LIVES[0], {Scope.read, Scope.write})
        monkeypatch.setenv("TRIPTYCH_URL", server.url)
        monkeypatch.setenv("TRIPTYCH_TOKEN", token)
        monkeypatch.chdir(tmp_path)
        yield server, engine
        engine.dispose()


def rate(engine, slug: str) -> None:
    """Everybody who was invited rates everything."""
    rng = Random(1)
    with writing(engine) as session:
        study = session.scalars(select(Study).where(Study.slug == slug)).one()
        annotators = (Membership.study_id == study.id) & (Membership.role == Role.annotator)
        people = select(Person).join(Membership, Membership.person_id == Person.id).where(annotators)
        for person in session.scalars(people).all():
            who = Who(person.id, person.pseudonym, person.role, person.name, 0)
            for _ in range(study.item_count):
                ratings = {letter: {"helpful": rng.randint(1, 5)} for letter in LETTERS[:3]}
                resubmit(session, who, assigned(session, study, who), {"ratings": ratings})


def test_the_page_runs_while_the_app_is_open(app):
    server, engine = app
    names: dict[str, Any] = {}
    for code, pause in STEPS.findall(PAGE):
        if pause:
            rate(engine, names["study"].name)
        else:
            exec(compile(code, "docs/scripting.md", "exec"), names)  # noqa: S102 (the page's own code)

    assert len(names["invited"]) == 3
    assert "planted effects" in names["tried"].attrs["sentence"]
    assert len(names["ratings"]) == 3 * 4 * 3
    assert len(names["means"]) == 3
    assert names["means"]["value"].between(1, 5).all()
    assert names["judged"].ratings == 3
    assert names["study"].facts.state == "paused"
    assert Path("report.zip").stat().st_size == len(names["study"].report_file(names["made"].sha256))
    assert ask(server.url, "GET", f"{BASE}/openapi.json").status == 200


def test_the_document_describes_every_call():
    document = openapi.document()
    described = {
        (method.upper(), path): operation
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }

    assert {*described} == {(call.method, f"{BASE}{call.path}") for call in CALLS}
    for call in CALLS:
        operation = described[call.method, f"{BASE}{call.path}"]
        in_path = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
        assert in_path == set(IN_PATH.findall(call.path))
    text = json.dumps(document)
    named = set(re.findall(r'"#/components/schemas/(\w+)"', text))
    assert named <= set(document["components"]["schemas"])

"""The code of docs/scripting.md and of the notebook runs against a running app; OpenAPI describes every call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
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
from triptych.rubric.model import LETTERS
from triptych.scripting import openapi
from triptych.scripting.address import BASE, IN_PATH
from triptych.scripting.calls import CALLS
from triptych.storage import database
from triptych.storage.database import writing
from triptych.storage.models import Membership, Person, Role, Study
from triptych.study.persons import Who

pytestmark = pytest.mark.long

PAGE = (ROOT / "docs" / "scripting.md").read_text(encoding="utf-8")
STEPS = re.compile(r"^```python\n(.*?)^```|^(Then people rate in their browsers\.)", re.DOTALL | re.MULTILINE)
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, forked) -> Iterator[Any]:
    """A running app and the engine of its database; a lead's token is in the environment."""
    home = tmp_path_factory.mktemp("app")
    with running_app(home, start=forked) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIPTYCH_HOME", str(home))  # its secret signs the token
        engine = database.open_engine(f"sqlite:///{home / 'triptych.db'}")
        with writing(engine) as session:
            lead = accounts.create_lead(session, "Ada", "correct horse battery")
            who = Who(lead.id, lead.pseudonym, lead.role, lead.name, 0)
            token = tokens.make(session, who, "A notebook", tokens.LIVES[0], {Scope.read, Scope.write})
        patch.setenv("TRIPTYCH_URL", server.url)
        patch.setenv("TRIPTYCH_TOKEN", token)
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


def run(steps: Iterable[tuple[str, bool]], source: str, engine) -> dict[str, Any]:
    """The names that the code has set. steps: code, or that annotators rate."""
    names: dict[str, Any] = {}
    for code, is_pause in steps:
        if is_pause:
            rate(engine, names["study"].name)
        else:
            exec(compile(code, source, "exec"), names)  # noqa: S102 (the document's own code)
    return names


def test_the_page_runs_while_the_app_is_open(app, tmp_path, monkeypatch):
    server, engine = app
    monkeypatch.chdir(tmp_path)

    names = run([(code, bool(pause)) for code, pause in STEPS.findall(PAGE)], "docs/scripting.md", engine)

    assert len(names["invited"]) == 3
    assert "planted effects" in names["tried"].attrs["sentence"]
    assert len(names["ratings"]) == 3 * 4 * 3
    assert len(names["means"]) == 3
    assert names["means"]["value"].between(1, 5).all()
    assert names["judged"].ratings == 3
    assert names["study"].facts.state == "paused"
    assert Path("report.zip").stat().st_size == len(names["study"].report_file(names["made"].sha256))
    assert ask(server.url, "GET", f"{BASE}/openapi.json").status == 200


def test_the_notebook_runs_while_the_app_is_open(app, capsys):
    _, engine = app
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert not [cell for cell in cells if cell.get("outputs")]  # of one installation, with its links
    pauses = ["annotators-rate" in cell["metadata"].get("tags", ()) for cell in cells]
    steps = [
        ("".join(cell["source"]), is_pause)
        for cell, is_pause in zip(cells, pauses, strict=True)
        if is_pause or cell["cell_type"] == "code"
    ]
    assert sum(pauses) == 1

    names = run(steps, "docs/notebook.ipynb", engine)

    assert "planted effects" in capsys.readouterr().out
    assert len(names["invited"]) == 3
    assert len(names["ratings"]) == 3 * 4 * 3
    assert names["means"]["value"].between(1, 5).all()
    assert len(names["means"]) == 3
    assert names["both"]["annotator_kind"].value_counts().to_dict() == {"human": 36, "judge": 12}


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

"""A host whose disk does not last: on SQLite no study is launched there."""

from __future__ import annotations

import pytest
from helpers.studies import SMALL_RUBRIC, add_person

from triptych.errors import Conflict
from triptych.formats import read_items
from triptych.storage import database, host
from triptych.storage.models import Role, Study, StudyState
from triptych.study import launch, lifecycle

ITEMS = b"item_id,context,cand:alpha,cand:beta\n1,Why?,Because.,Never mind.\n"


@pytest.fixture
def session(sqlite_engine):
    with database.writing(sqlite_engine) as session:
        yield session


@pytest.fixture
def draft(session) -> Study:
    plan, lead = lifecycle.StudyPlan(title="A study"), add_person(session, "lead", Role.lead)
    study = lifecycle.create_from_file(session, plan, SMALL_RUBRIC, read_items(ITEMS, "items.csv"), lead)
    study.settings = {**study.settings, "consent": {"not_needed": "A test."}}
    return study


@pytest.mark.parametrize("variable", ["TRIPTYCH_EPHEMERAL", *host.FORGETFUL])
def test_a_launch_where_ratings_would_be_lost_is_refused(session, draft, monkeypatch, variable):
    monkeypatch.setenv(variable, "1")
    with pytest.raises(Conflict, match=r"The disk of this host is temporary \(.+\).*Use PostgreSQL on another host"):
        launch.check(session, draft)
    assert draft.state == StudyState.draft


@pytest.mark.parametrize(
    "environment",
    [
        {"SPACE_ID": "lab/study", "TRIPTYCH_EPHEMERAL": "0"},
        {"SPACE_ID": "lab/study", "TRIPTYCH_DATABASE_URL": "postgresql://lab/triptych"},
        {},
    ],
)
def test_a_disk_that_lasts_lets_a_study_start(session, draft, monkeypatch, environment):
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    launch.launch(session, draft, "P-lead", launch.check(session, draft))
    assert draft.state == StudyState.open

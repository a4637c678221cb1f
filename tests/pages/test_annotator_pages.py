"""The pages of an annotator at work: the list, and the page when no item is left for them."""

from __future__ import annotations

import json

import pytest
from helpers.annotations import submitting
from helpers.present import present
from helpers.sign_in import ROUTER, be, press, shown
from helpers.studies import ROOT
from sqlalchemy import update
from streamlit.testing.v1 import AppTest

from triptych.annotate import desk
from triptych.storage import database
from triptych.storage.models import Assignment, StudyState
from triptych.study import lifecycle
from triptych.web.session import web_engine

BACK = "Back to what I submitted"


@pytest.fixture
def finished(make_study, monkeypatch):
    """The slug of a study whose only item the annotator who is asking has submitted, and the item's token."""
    with database.writing(web_engine()) as session:
        study, _, (who, _) = make_study(session, items=1)
        view = desk.lay(session, study, who).view
        desk.act(session, study, who, submitting(view, "submission-1"))
    be(monkeypatch, who)
    return study.slug, present(view).work.token


def on_the_workbench(app: AppTest) -> list[tuple[str, str | None]]:
    """Token of the item that is drawn, and of the item that the workbench goes back to."""
    drawn = [json.loads(element.proto.json) for element in app.get("bidi_component")]
    return [(json.loads(data["view"])["work"]["token"], data["showing"]) for data in drawn]


def test_finished_annotators_can_reopen_submissions_until_the_study_closes(finished):
    slug, token = finished
    app = AppTest.from_file(str(ROOT / "pages" / "annotator" / "annotate.py"), default_timeout=30)
    app.query_params["study"] = slug
    app.run()
    assert [title.value for title in app.title] == ["All done"]

    press(app, BACK)
    assert on_the_workbench(app.run()) == [(token, token)]

    with database.writing(web_engine()) as session:
        lifecycle.set_state(session, lifecycle.by_slug(session, slug), StudyState.closed, "P-lead")
    assert [title.value for title in app.run().title] == ["Closed"]
    assert BACK not in [button.label for button in app.button]


@pytest.mark.usefixtures("finished")
def test_work_beyond_what_the_study_needed_is_listed_as_submitted():
    with database.writing(web_engine()) as session:
        session.execute(update(Assignment).values(state="surplus"))

    app = AppTest.from_file(ROUTER, default_timeout=30).run()

    assert "What I have done (1)" in [element.label for element in app.expander]
    assert list(app.dataframe[0].value["State"]) == ["submitted"]
    assert "surplus" not in shown(app)

"""The pages of an annotator at work: the list, and the page when no item is left for them."""

from __future__ import annotations

import json

import pytest
from helpers.annotations import submitting
from helpers.present import present
from helpers.sign_in import ROUTER, be, press, shown
from helpers.studies import ROOT, add_person, join
from sqlalchemy import update
from streamlit.testing.v1 import AppTest

from triptych.annotate import comments, desk
from triptych.people import joining
from triptych.simulate import demo
from triptych.storage import database
from triptych.storage.models import Assignment, StudyState
from triptych.study import lifecycle
from triptych.web.session import web_engine

BACK = "Back to my last item"


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
    drawn = [json.loads(element.proto.json or "{}") for element in app.get("bidi_component")]
    return [(json.loads(data["view"])["work"]["token"], data["showing"]) for data in drawn if "view" in data]


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
    assert [title.value for title in app.run().title] == ["All done"]
    assert BACK not in [button.label for button in app.button]


@pytest.mark.usefixtures("finished")
def test_finished_work_is_opened_not_started():
    app = AppTest.from_file(str(ROOT / "pages" / "annotator" / "my_work.py"), default_timeout=30).run()
    assert [(button.label, button.proto.type) for button in app.button][:1] == [("Open", "secondary")]


def test_studies_of_other_leads_are_not_offered(make_study, monkeypatch):
    with database.writing(web_engine()) as session:
        _, _, (who, _) = make_study(session, title="Own")
        other, _, _ = make_study(session, title="Of others")
    be(monkeypatch, who)
    app = AppTest.from_file(str(ROOT / "pages" / "annotator" / "my_work.py"), default_timeout=30).run()
    assert "Of others" not in [element.value for element in app.text]

    app.query_params["study"] = other.slug
    app.run()
    app.button(key=f"join-{other.slug}").click().run()
    assert "a study with other leads" in app.error[0].value


@pytest.mark.long
def test_a_newcomer_sees_demo_studies_as_demos(make_study, monkeypatch):
    demo.load_demo(web_engine())
    with database.writing(web_engine()) as session:
        study, _, (who, _) = make_study(session, title="Real work")
        joined = next(each for each in lifecycle.open_to_all(session) if each.demo)
        joining.join(session, joined, who)
    be(monkeypatch, who)
    app = AppTest.from_file(str(ROOT / "pages" / "annotator" / "my_work.py"), default_timeout=30).run()

    texts = [element.value for element in app.text]
    assert texts[:2] == ["Real work", joined.title]
    assert [element.value for element in app.header] == ["Demo studies"]
    assert "Nobody waits for this work" in app.caption[0].value
    assert len(texts) == 4
    start, of_demo, *others = app.button
    assert [start.proto.type, of_demo.proto.type] == ["primary", "secondary"]
    assert {button.label for button in others} == {"Try it"}


@pytest.mark.long
def test_people_in_a_demo_alone_are_in_a_study(monkeypatch):
    demo.load_demo(web_engine())
    with database.writing(web_engine()) as session:
        who = join(session, lifecycle.open_to_all(session)[0], add_person(session, "Anna"))
    be(monkeypatch, who)
    page = AppTest.from_file(ROUTER, default_timeout=30).run()

    assert "not in a study" not in shown(page)


@pytest.mark.usefixtures("finished")
def test_work_beyond_what_the_study_needed_is_listed_as_rated():
    with database.writing(web_engine()) as session:
        session.execute(update(Assignment).values(state="surplus"))

    app = AppTest.from_file(ROUTER, default_timeout=30).run()

    assert "What I have done (1)" in [element.label for element in app.expander]
    assert list(app.dataframe[0].value["State"]) == ["Rated"]
    assert "surplus" not in shown(app)


@pytest.mark.usefixtures("finished")
def test_finished_work_has_times_like_those_of_comments():
    app = AppTest.from_file(ROUTER, default_timeout=30).run()

    assert app.dataframe[0].value["Submitted"].str.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC").all()


def test_an_annotator_answers_a_lead_and_opens_the_item(make_study, monkeypatch):
    with database.writing(web_engine()) as session:
        study, lead, (who, other) = make_study(session, items=1)
        view = present(desk.lay(session, study, who).view)
        desk.act(session, study, who, submitting(view, "submission-1"))
        comments.ask(session, study, "item-1", who.pseudonym, "Why <b>so</b> low?", lead)
    be(monkeypatch, other)
    assert "Why <b>so</b> low?" not in shown(AppTest.from_file(str(ROUTER), default_timeout=30).run())
    be(monkeypatch, who)
    app = AppTest.from_file(str(ROUTER), default_timeout=30).run()
    app.toggle[0].set_value(True).run()
    text = shown(app)
    assert "A lead asks about item 1" in [block.label for block in app.expander]
    assert "Why <b>so</b> low?" in text and "Response A" in text
    assert not [name for name in (lead.pseudonym, "plumbum", "item-1") if name in text]
    app.text_area[0].set_value("It is rude.")
    press(app, "Answer")
    assert [message.value for message in app.success] == ["Your answer was sent\\."]
    assert "Item 1: you answered" in [block.label for block in app.expander]
    with database.writing(web_engine()) as session:
        comments.ask(session, study, "item-1", who.pseudonym, "Always?", lead)
    press(app.run(), "Open item 1")
    assert on_the_workbench(app) == [(view.work.token, view.work.token)]
    assert "Always?" in str([element.proto.json for element in app.get("bidi_component")])

"""The pages Items and Log, run as Streamlit runs them."""

from __future__ import annotations

import pytest
from helpers.ratings import submit
from helpers.results_pages import words
from helpers.studies import full_answers
from sqlalchemy import text
from streamlit.testing.v1 import AppTest

from components.shell import log_table
from triptych.operations import backup
from triptych.results import adjudication
from triptych.storage import events
from triptych.storage.database import reading, writing
from triptych.storage.events import EventFilters
from triptych.storage.models import Item, Study
from triptych.study import lifecycle
from triptych.web.session import web_engine

HOSTILE = "![x](http://evil.example/x.png) <b>bold</b>"


@pytest.fixture
def lab(make_study):
    """(study, lead, annotators, item) in the app's own database; both annotators have rated its only item."""
    with writing(web_engine()) as session:
        study, lead, people = make_study(session, items=1)
        for who, fluency in zip(people, (3, 2), strict=True):
            submit(session, study, who, full_answers(fluency=fluency) | {"note": HOSTILE})
        return study, lead, people, session.scalars(text("SELECT external_id FROM item")).one()


def button(app: AppTest, label: str):
    return next(element for element in app.button if element.label == label)


def box(app: AppTest, label: str):
    return next(element for element in [*app.selectbox, *app.text_input] if element.label == label)


def test_an_item_is_read_and_decided_on_its_page(visit, lab):
    study, lead, people, item = lab
    app = visit(lead, "items.py", study=study.slug)
    text = words(app)
    assert all(who.pseudonym in text for who in people)
    assert "No final value yet" in text
    assert HOSTILE in text  # as a cell of a table, where it is text
    assert not any(HOSTILE in element.value for element in app.markdown)
    assert not any(name in text for name in ("plumbum", "stannum", "ferrum"))
    box(app, "Fluency: System 1").set_value(3.0)
    box(app, "Why").set_value("both were too strict")
    button(app, "Record the final values").click().run()
    assert not app.exception
    assert [element.value for element in app.success] == ["The final values of item\\-1 are recorded\\."]
    with reading(web_engine()) as session:
        assert adjudication.final_values(session, study)[item].values == {(1, "fluency"): 3.0}
    assert f"Decided by {lead.pseudonym}" in words(app)


def test_a_final_value_needs_a_reason(visit, lab):
    study, lead, _, _ = lab
    app = visit(lead, "items.py", study=study.slug)
    box(app, "Fluency: System 1").set_value(3.0)
    button(app, "Record the final values").click().run()
    assert "Say why" in app.error[0].value


def test_a_study_without_ratings_still_lists_its_items(visit, make_study):
    with writing(web_engine()) as session:
        study, lead, _ = make_study(session)
    app = visit(lead, "items.py", study=study.slug)
    assert "4 of 4 items" in words(app)
    assert "Nobody has rated this item yet." in words(app)


def test_the_log_is_filtered_by_the_address(visit, lab):
    study, lead, people, _ = lab
    app = visit(lead, "log.py", study=study.slug)
    assert "8 events, newest first" in words(app)
    app = visit(lead, "log.py", study=study.slug, kind="submitted", person=people[0].pseudonym)
    text = words(app)
    assert "1 event with these filters" in text
    assert people[0].pseudonym in app.dataframe[0].value.to_string()
    assert people[1].pseudonym not in app.dataframe[0].value.to_string()


def test_the_log_filters_events_and_hides_what_would_unblind(engine, make_study):
    with writing(engine) as session:
        study, _, (first, second) = make_study(session)
        done = submit(session, study, first)
        submit(session, study, second)
    with reading(engine) as session:
        every, count = events.listed(session, study, EventFilters())
        assert count == len(every) == 10
        hidden = [entry for entry in every if entry.withheld]
        assert {entry.event.kind for entry in hidden} == {"reserved"}
        assert all(entry.new is None for entry in hidden)
        listed, _ = events.listed(session, study, EventFilters(assignment=done.id))
        assert [entry.event.kind for entry in listed] == ["submitted", "reserved"]
        item = session.get_one(Item, done.item_id).external_id
        assert {entry.item for entry in events.listed(session, study, EventFilters(item=item))[0]} == {item}
        at = every[2].event.at
        assert (
            events.listed(session, study, EventFilters(until=at))[1]
            + events.listed(session, study, EventFilters(since=at))[1]
            == 10
        )
        assert [entry.event.number for entry in events.listed(session, study, EventFilters(), 2, 3)[0]] == [8, 7, 6]


def test_an_edit_is_shown_rating_by_rating():
    old = {"version": 1, "ratings": [[0, "fluency", 2.0, None, False, [], ""]], "highlights": [], "note": None}
    new = {
        "version": 2,
        "ratings": [
            [0, "fluency", 3.0, None, False, ["wrong"], "so"],
            [None, "verdict", None, "accept", False, [], ""],
        ],
        "highlights": [[1, None, 0, 6, "good", ""]],
        "note": "mended",
    }
    changes = {row["Value"]: (row["Was"], row["Is"]) for row in log_table.changed_values(old, new)}
    assert changes["fluency, Response A"] == ("2", "3")
    assert changes["fluency, Response A: explanation"] == ("–", "wrong · so")
    assert changes["verdict, the item"] == ("–", "accept")
    assert changes["highlight 1, Response B"] == ("–", "good, characters 0 to 6")
    assert changes["note"] == ("–", "mended")


def test_the_check_reports_success_or_names_problems(visit, lab):
    study, lead, _, _ = lab
    app = visit(lead, "log.py", study=study.slug)
    app.session_state[f"log-section-{study.slug}"] = "Integrity check"
    app.run()
    button(app, "Check everything now").click().run()
    assert "every row is as it says" in app.success[0].value
    with writing(web_engine()) as session:
        session.execute(text("UPDATE rating SET number = 1 WHERE number = 3"))
    button(app, "Check everything now").click().run()
    assert "rows changed outside the app" in app.error[0].value
    assert "the log says 3" in words(app)


def test_a_backup_is_made_and_restored_on_the_page(visit, lab):
    study, lead, _, _ = lab
    app = visit(lead, "log.py", study=study.slug)
    app.session_state[f"log-section-{study.slug}"] = "Backup and capsule"
    app.run()
    assert "There is no backup yet." in words(app)
    button(app, "Back up now").click().run()
    assert not app.exception
    assert len(backup.listed()) == 1
    with writing(web_engine()) as session:
        session.get_one(Study, study.id).title = "Another title"
    button(app, "Restore this backup").click().run()
    with reading(web_engine()) as session:
        assert session.get_one(Study, study.id).title == "Another title"
    assert "Lost will be 0 events since then in 0 studies, 0 of them made since." in words(app)
    app.checkbox(key="certain-restore-sure").check()
    button(app, "Restore this backup").click().run()
    assert not app.exception
    assert "The database was restored from" in app.success[0].value
    with reading(web_engine()) as session:
        assert session.get_one(Study, study.id).title == study.title
        assert events.since(session, study.id, 0)[-1].kind == "restored from a backup"


def test_the_capsule_is_there_once_the_study_is_unblinded(visit, lab):
    study, lead, _, _ = lab
    app = visit(lead, "log.py", study=study.slug)
    app.session_state[f"log-section-{study.slug}"] = "Backup and capsule"
    assert "This study is blind." in words(app.run())
    with writing(web_engine()) as session:
        lifecycle.unblind(session, study, lead.pseudonym)
    assert "This study is blind." not in words(app.run())

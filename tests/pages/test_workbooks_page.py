"""The page of workbooks, as a lead sees it: made, checked, stored, cancelled; and the file itself over HTTP."""

from __future__ import annotations

import asyncio

import pytest
from helpers.downloads import get
from helpers.results_pages import words
from helpers.study_pages import ROUTER, click_again_during, labels, press
from helpers.turns import turns_held
from helpers.workbooks import Sheet
from starlette.applications import Starlette
from streamlit.testing.v1 import AppTest

from components.shell import state
from triptych.annotate import workbooks
from triptych.formats.workbook import reading
from triptych.storage import database
from triptych.web import export
from triptych.web.session import web_engine


@pytest.fixture
def lab(make_study):
    with database.writing(web_engine()) as session:
        return make_study(session, items=2)


def listed(study) -> list[workbooks.WorkbookLine]:
    with database.reading(web_engine()) as session:
        return workbooks.listed(session, study)


def upload(app: AppTest, data: bytes) -> str:
    app.file_uploader[0].upload("filled.xlsx", data)
    app.run()
    assert not app.exception
    return words(app)


@pytest.mark.long
def test_a_workbook_is_made_stored_or_cancelled(visit, lab):
    study, lead, (first, second) = lab
    app = visit(lead, "workbooks.py", study=study.slug)
    assert "has no workbooks yet" in words(app)
    app.selectbox(key=f"workbook_for-{study.slug}").set_value(first.pseudonym).run()
    press(app, "Make a workbook")
    assert "contains 2 items" in app.success[0].value
    assert f"{first.pseudonym} · workbook 1 · given out" in words(app)

    with database.reading(web_engine()) as session:
        sheet = Sheet(workbooks.file_of(session, study, 1)).fill()
    sheet.put(0, "rating:fluency", "9")
    text = upload(app, sheet.saved())
    assert "One cell or row must be corrected" in text.replace("\\", "")
    assert "'9' is not on the scale." in text
    assert "Store the answers" not in labels(app)

    sheet.put(0, "rating:fluency", "3")
    for row in (3, 4, 5):
        sheet.put(row, "rating:fluency", None)
        sheet.put(row, "rating:verdict", None)
    upload(app, sheet.saved())
    app.checkbox(key=f"workbook_partly-{study.slug}").check().run()
    press(app, "Store the answers")
    assert "The receipt is" in app.success[0].value
    assert [(workbook.state, workbook.done) for workbook in listed(study)] == [("handed in in part", 1)]
    press(app, "Cancel the workbook")
    assert [workbook.state for workbook in listed(study)] == ["cancelled"]


def test_a_filled_workbook_is_read_before_the_turn_to_write(visit, lab, monkeypatch):
    study, lead, (first, _) = lab
    with database.writing(web_engine()) as session:
        workbooks.make(session, study, first.pseudonym, 2, lead.pseudonym)
    with database.reading(web_engine()) as session:
        sheet = Sheet(workbooks.file_of(session, study, 1)).fill()
    held = turns_held(monkeypatch, reading, "_refuse_other_formats")
    app = visit(lead, "workbooks.py", study=study.slug)
    upload(app, sheet.saved())
    press(app, "Store the answers")

    assert "The receipt is" in app.success[0].value
    assert set(held) == {False}


def test_a_second_click_makes_no_other_workbook(visit, lab, monkeypatch):
    study, lead, (first, _) = lab
    app = visit(lead, "workbooks.py", study=study.slug)
    app.selectbox(key=f"workbook_for-{study.slug}").set_value(first.pseudonym).run()
    app.number_input(key=f"workbook_items-{study.slug}").set_value(1)
    click_again_during(monkeypatch, workbooks, "make")
    press(app, "Make a workbook")

    assert "contains 1 item" in app.success[0].value
    assert len(listed(study)) == 1


def test_a_new_person_gets_a_workbook(visit, lab):
    study, lead, _ = lab
    app = visit(lead, "workbooks.py", study=study.slug)
    app.selectbox(key=f"workbook_for-{study.slug}").set_value("Someone new, by name").run()
    press(app, "Make a workbook")
    assert "1 to 80 characters" in app.error[0].value
    app.text_input(key=f"workbook_name-{study.slug}").set_value("Dr Expert")
    app.number_input(key=f"workbook_items-{study.slug}").set_value(1)
    press(app, "Make a workbook")
    assert [line.items for line in listed(study)] == [1]
    assert "Dr Expert" not in words(app)
    assert "not an Excel workbook" in upload(app, b"PK\x03\x04 nothing")


def test_the_file_is_for_the_lead_of_its_study_only(lab, monkeypatch, make_study):
    study, lead, (first, _) = lab
    with database.writing(web_engine()) as session:
        made = workbooks.make(session, study, first.pseudonym, 1, lead.pseudonym)
        other, other_lead, _ = make_study(session, title="Another")
    app = Starlette(routes=export.EXPORT_ROUTES)
    path = f"/workbook/{study.slug}/{made.id}.xlsx"
    for who, status in ((None, 401), (first, 403), (other_lead, 404), (lead, 200)):
        monkeypatch.setattr(export, "current_login", lambda _, who=who: who)
        answer = asyncio.run(get(app, path))
        assert answer.status_code == status
    assert answer.pieces[0].startswith(b"PK")
    monkeypatch.setattr(export, "current_login", lambda _: other_lead)
    assert asyncio.run(get(app, f"/workbook/{other.slug}/{made.id}.xlsx")).status_code == 404


def test_annotators_reach_the_page_not(lab, monkeypatch):
    _, _, (first, _) = lab
    monkeypatch.setattr(state, "current_person", lambda: first)
    app = AppTest.from_file(str(ROUTER.parent / "lead" / "workbooks.py"), default_timeout=30).run()
    assert "This page is for leads" in app.error[0].value
    assert not app.file_uploader

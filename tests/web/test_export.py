"""The long CSV files: who may have them, what they hold, and that no spreadsheet runs them."""

from __future__ import annotations

import asyncio
import csv
import io

import pytest
from helpers.downloads import get
from helpers.ratings import first_work, resubmit, set_aside, submit
from helpers.studies import add_person, full_answers, sure
from starlette.applications import Starlette

from triptych.annotate import comments
from triptych.formats import long_csv
from triptych.formats.ratings_csv import HIGHLIGHTS_HEADER, RATINGS_HEADER
from triptych.storage import database
from triptych.storage.models import Item, Role
from triptych.study import lifecycle
from triptych.web import export


@pytest.fixture
def filled(engine, make_study):
    """(study, lead, annotators) with two annotations, one of them with a hostile explanation, and a highlight."""
    with database.writing(engine) as session:
        study, lead, people = make_study(session, title="Export me")
        answers = full_answers(verdict="reject")
        answers["explanations"] = {
            letter: {"verdict": {"reject": {"reasons": ["rude"], "text": '=HYPERLINK("http://x") now'}}}
            for letter in "ABC"
        }
        answers["highlights"] = [{"slot": "B", "turn": None, "start": 0, "end": 6, "label": "bad", "comment": "+no;=1"}]
        submit(session, study, people[0], answers)
        submit(session, study, people[1])
        set_aside(session, study, people[1], "ignore", "empty")
    return study, lead, people


@pytest.fixture
def ask(engine, monkeypatch):
    """ask(who, path) → the answer of the export route to this person (None: nobody is signed in)."""
    app = Starlette(routes=export.EXPORT_ROUTES)
    monkeypatch.setattr(export, "web_engine", lambda: engine)

    def asking(who, path):
        monkeypatch.setattr(export, "current_login", lambda request: who)
        return asyncio.run(get(app, path))

    return asking


def rows_of(answer):
    return list(csv.DictReader(io.StringIO(answer.text, newline="")))


def test_only_the_lead_of_the_study_gets_its_data(ask, filled, engine):
    study, lead, people = filled
    with database.writing(engine) as session:
        stranger = add_person(session, "another lead", Role.lead)
    path = f"/export/{study.slug}/ratings.csv"
    assert [ask(who, path).status_code for who in (None, people[0], stranger, lead)] == [401, 403, 404, 200]
    assert ask(lead, "/export/no-such-study/ratings.csv").status_code == 404
    assert ask(lead, f"/export/{study.slug}/people.csv").status_code == 404
    assert not any("fluency" in ask(who, path).text for who in (None, people[0], stranger))


def test_no_browser_or_proxy_keeps_an_export(ask, filled):
    study, lead, people = filled
    for who in (None, people[0], lead):
        assert ask(who, f"/export/{study.slug}/ratings.csv").headers["cache-control"] == "no-store"
    disposition = ask(lead, f"/export/{study.slug}/ratings.csv").headers["content-disposition"]
    assert disposition == f'attachment; filename="{study.slug}-ratings.csv"'


def test_the_long_file_has_a_row_per_rating(ask, filled):
    study, lead, people = filled
    answer = ask(lead, f"/export/{study.slug}/ratings.csv")
    rows = rows_of(answer)
    assert answer.text.splitlines()[0] == (
        "study,round,design_hash,annotator,annotator_kind,item_id,system,position,criterion,value,option,missing,reasons,"
        "explanation,explanation_words,purpose,repeat_of,surplus,version,submitted_at,active_seconds,excluded,"
        "exclusion_reason"
    )
    assert len(rows) == 12
    first = rows[0]
    assert (first["study"], first["round"], first["annotator"]) == (study.slug, "main", people[0].pseudonym)
    assert (first["criterion"], first["value"], first["option"], first["missing"]) == ("fluency", "2.0", "", "0")
    assert (first["purpose"], first["repeat_of"], first["surplus"], first["version"]) == ("main", "", "0", "1")
    assert first["design_hash"] == study.design_hash
    rejected = [row for row in rows if row["option"] == "reject"]
    assert [(row["reasons"], row["explanation_words"], row["value"]) for row in rejected] == [("rude", "2", "")] * 3


def test_a_spreadsheet_finds_no_formula_in_an_export(ask, filled):
    study, lead, _ = filled
    explanations = {row["explanation"] for row in rows_of(ask(lead, f"/export/{study.slug}/ratings.csv"))}
    assert explanations == {"", '\'=HYPERLINK("http://x") now'}
    (mark,) = rows_of(ask(lead, f"/export/{study.slug}/highlights.csv"))
    assert mark["comment"] == "'+no;'=1"


def test_comments_are_exported_with_their_annotation(ask, filled, engine):
    study, lead, people = filled
    with database.writing(engine) as session:
        work = first_work(session, people[0])
        item = session.get_one(Item, work.item_id).external_id
        comments.ask(session, study, item, people[0].pseudonym, "=1+1?", lead)
        comments.answer(session, study, people[0], work.token, "Yes.")
    rows = rows_of(ask(lead, f"/export/{study.slug}/comments.csv"))
    assert [(row["item_id"], row["annotator"]) for row in rows] == [(item, people[0].pseudonym)] * 2
    assert [(row["role"], row["text"]) for row in rows] == [("lead", "'=1+1?"), ("annotator", "Yes.")]


def test_exports_name_systems_only_after_unblinding(ask, filled, engine):
    study, lead, _ = filled
    paths = [f"/export/{study.slug}/{name}.csv" for name in ("ratings", "highlights")]
    blind = {row["system"] for path in paths for row in rows_of(ask(lead, path))}
    assert blind == {"System 1", "System 2", "System 3"}
    assert not any(name in ask(lead, path).text for path in paths for name in ("plumbum", "stannum", "ferrum"))
    with database.writing(engine) as session:
        lifecycle.unblind(session, study, sure(lead))
    assert {row["system"] for row in rows_of(ask(lead, paths[0]))} == {"plumbum", "stannum", "ferrum"}


def test_a_rows_system_is_the_one_shown_at_its_position(ask, filled, engine):
    study, lead, people = filled
    with database.writing(engine) as session:
        lifecycle.unblind(session, study, sure(lead))
        work = first_work(session, people[0])
        item = session.get_one(Item, work.item_id).external_id
        last = {
            "slot": "C",
            "turn": None,
            "start": 0,
            "end": len(f"Answer {item[-1]} in words of its own 😀 x"),
            "label": "good",
        }
        resubmit(session, people[0], work, {**full_answers(), "highlights": [last]})
    (mark,) = rows_of(ask(lead, f"/export/{study.slug}/highlights.csv"))
    assert (mark["position"], mark["start"], mark["annotator"], mark["item_id"]) == (
        "2",
        "0",
        people[0].pseudonym,
        item,
    )
    # a quote ends with the first letter of the system that wrote it
    assert mark["quote"][-1] == mark["system"][0]
    assert list(mark) == list(HIGHLIGHTS_HEADER)


def test_a_long_export_leaves_in_blocks_and_loses_no_row(ask, filled, monkeypatch):
    study, lead, _ = filled
    monkeypatch.setattr("triptych.formats.writers.writing.BLOCK_CHARACTERS", 300)
    monkeypatch.setattr(long_csv, "ROWS_PER_PIECE", 2)
    answer = ask(lead, f"/export/{study.slug}/ratings.csv")
    assert len(answer.pieces) > 3
    assert len(rows_of(answer)) == 12
    assert list(rows_of(answer)[0]) == list(RATINGS_HEADER)

"""What a viewer's pages show: results without pseudonyms, and what annotators wrote only where a lead allows it."""

from __future__ import annotations

import threading

import pytest
from helpers.ratings import exclude, resubmit, submit
from helpers.sign_in import shown
from helpers.studies import ROOT, full_answers
from sqlalchemy import select, update
from streamlit.testing.v1 import AppTest

from components.results.first_screen import beside
from components.shell import state
from triptych import clock
from triptych.annotate import comments, exclusions
from triptych.participants.watching import watched
from triptych.people import invitations, links, viewers
from triptych.results import adjudication, looking
from triptych.results.first_screen import conclusion
from triptych.results.frame.model import Counted
from triptych.storage import database, events
from triptych.storage.events import EventKind
from triptych.storage.models import Assignment, Explanation, Item, Kind, Person, Role, Snapshot, Study
from triptych.storage.unavailable import BUSY, DatabaseBusy
from triptych.study import annotator_groups, design
from triptych.study.design import Parts
from triptych.study.persons import Who
from triptych.web.session import web_engine

WORDS = "Plainly untrue throughout"
NAMES = ("results", "items", "report")


def explained() -> dict:
    answers = full_answers()
    answers["ratings"]["A"]["verdict"] = "reject"
    answers["explanations"] = {"A": {"verdict": {"reject": {"reasons": ["wrong"], "text": WORDS}}}}
    return answers


@pytest.fixture
def world(make_study):
    """(study, its lead and annotators, its viewer), with ratings of two annotators, one of them excluded."""
    with database.writing(web_engine()) as session:
        study, lead, people = make_study(session, annotators=3)
        for person in people:
            for _ in range(4):
                submit(session, study, person, explained())
        exclude(session, study, people[0])
        adjudication.record(session, study, "item-1", {(1, "verdict"): "accept"}, "read again", lead)
        secret = invitations.invite_one(session, study, "Hana", "", Role.viewer, lead.pseudonym).secret
        person = links.invited(session, secret)
    return study, (lead, *people), Who(person.id, person.pseudonym, person.role, person.name, 0)


def opened(monkeypatch, who: Who, name: str) -> AppTest:
    monkeypatch.setattr(state, "current_person", lambda: who)
    app = AppTest.from_file(str(ROOT / "pages" / "router.py"), default_timeout=60).run()
    app.switch_page(str(ROOT / "pages" / "viewer" / f"{name}.py"))
    app.run()
    assert not app.exception
    return app


def everything(app: AppTest) -> str:
    """All that the page says and draws."""
    drawn = "".join(element.proto.json for element in app.get("bidi_component"))
    charts = "".join(str(element.proto) for element in app.get("plotly_chart"))
    return shown(app) + drawn + charts + "".join(frame.value.to_string() for frame in app.dataframe)


def test_no_page_of_a_viewer_shows_a_pseudonym_or_explanation(monkeypatch, world):
    study, people, viewer = world
    for name in NAMES:
        app = opened(monkeypatch, viewer, name)
        for section in ["Can it be trusted", "Who disagrees"] if name == "results" else [""]:
            if section:
                app.session_state[f"section-{study.slug}"] = section
                app.run()
            text = everything(app)
            assert study.title in text
            assert not [person.pseudonym for person in people if person.pseudonym in text], (name, section)
            assert WORDS not in text
            assert not [name for name in ("plumbum", "stannum", "ferrum") if name in text], (name, section)
            assert not {"Make a report", "Unblind", "Close", "Record the final values"} & {b.label for b in app.button}
    assert "What leads do next" in [part.value for part in opened(monkeypatch, viewer, "results").subheader]
    assert "Decided by a lead (1 item)" in everything(opened(monkeypatch, viewer, "results"))
    assert "Annotator 2" in everything(opened(monkeypatch, viewer, "items"))
    report = opened(monkeypatch, viewer, "report")
    assert "There is no report yet. Leads of the study make reports" in everything(report)
    assert not report.header  # no methods that a report's findings are missing from


@pytest.mark.long
def test_no_pseudonym_is_in_a_reason_that_viewers_read(monkeypatch, world):
    study, (lead, *people), viewer = world
    with database.writing(web_engine()) as session:
        why = f"{people[1].pseudonym} could not open the picture"
        design.amend(session, session.get_one(Study, study.id), Parts(retire=("item-1",)), why, lead.pseudonym)
    app = opened(monkeypatch, viewer, "items")
    app.session_state[f"view-{study.slug}"] = "all"
    app.run()

    assert "Annotator 2 could not open the picture" in everything(app)
    assert people[1].pseudonym not in everything(app)


def quoting(session, study: Study, lead: Who, people: list[Who]) -> set[str]:
    """Names an annotator in every text that people write about a study; returns those that viewers may read."""
    name = people[1].pseudonym
    text = "the {} names " + name
    answers = explained() | {"note": text.format("note")}
    answers["explanations"]["A"]["verdict"]["reject"]["text"] = text.format("explanation")
    answers["highlights"] = [{"slot": "A", "start": 0, "end": 6, "label": "good", "comment": text.format("comment")}]
    rated = select(Assignment).join(Item, Item.id == Assignment.item_id).where(Item.external_id == "item-2")
    for assignment in session.scalars(rated).all():
        who = next(person for person in people if person.person_id == assignment.person_id)
        resubmit(session, who, assignment, answers)
    imported = update(Explanation).where(Explanation.reasons != []).values(reasons=[text.format("imported reason")])
    session.execute(imported)
    exclusions.exclude(session, study, people[2].pseudonym, text.format("exclusion"), lead.pseudonym)
    groups = {people[0].pseudonym: text.format("group"), name: "others"}
    annotator_groups.assign(session, study, groups, lead.pseudonym)
    comments.ask(session, study, "item-2", name, text.format("question"), lead)
    adjudication.record(session, study, "item-2", {(1, "verdict"): "reject"}, text.format("final value"), lead)
    design.amend(session, study, Parts(retire=("item-3",)), text.format("amendment"), lead.pseudonym)
    return {"explanation", "comment", "imported reason", "final value", "amendment"}


@pytest.mark.long
def test_nothing_that_people_wrote_tells_viewers_a_pseudonym(monkeypatch, world):
    study, (lead, *people), viewer = world
    with database.writing(web_engine()) as session:
        mine = session.get_one(Study, study.id)
        exclude(session, mine, people[0], out=False)
        shown_to_viewers = quoting(session, mine, lead, people)
        viewers.let_read_explanations(session, mine, True, lead.pseudonym)

    read = ""
    for name in NAMES:
        app = opened(monkeypatch, viewer, name)
        sections = [(f"section-{study.slug}", tab.label) for tab in app.tabs]
        for key, choice in sections or [(f"view-{study.slug}", "all")]:
            app.session_state[key], app.query_params["look"] = choice, "item-2"
            read += everything(app.run())
    with database.writing(web_engine()) as session:
        mine = session.get_one(Study, study.id)
        look = watched(session, mine).look(session, mine, "item-3", Counted())
    read += str((look, look.ratings.to_string()))

    assert {what for what in shown_to_viewers if f"the {what} names Annotator 2" in read} == shown_to_viewers
    assert [person.pseudonym for person in (lead, *people) if person.pseudonym in read] == []


@pytest.mark.long
def test_a_viewer_reads_that_ratings_are_simulated(monkeypatch, world):
    study, people, viewer = world
    with database.writing(web_engine()) as session:
        session.merge(study).demo = True
        session.execute(
            update(Person).where(Person.id.in_([person.person_id for person in people])).values(kind=Kind.simulated)
        )
    assert "simulated annotators" in everything(opened(monkeypatch, viewer, "results"))


@pytest.mark.long
def test_a_viewer_reads_explanations_once_a_lead_allows_it(monkeypatch, world):
    study, (lead, *_), viewer = world
    assert "What they say" not in [tab.label for tab in opened(monkeypatch, viewer, "results").tabs]
    with database.writing(web_engine()) as session:
        viewers.let_read_explanations(session, study, True, lead.pseudonym)
    assert "What they say" in [tab.label for tab in opened(monkeypatch, viewer, "results").tabs]


@pytest.mark.long
@pytest.mark.parametrize(("section", "table"), [("Who disagrees", "items"), ("What they say", "explanations")])
def test_a_viewer_reads_the_item_that_they_pick(monkeypatch, world, section, table):
    """The pages said that picking an item shows it, and showed nothing."""
    study, (lead, *people), viewer = world
    with database.writing(web_engine()) as session:
        viewers.let_read_explanations(session, study, True, lead.pseudonym)
    app = opened(monkeypatch, viewer, "results")
    app.session_state[f"section-{study.slug}"], app.session_state[f"why-{study.slug}"] = section, "verdict"
    app.run()
    assert "Question number" not in everything(app)

    app.session_state[f"{table}-{study.slug}"] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    app.run()

    assert not app.exception
    picked = next(frame.value["Item"].iloc[0] for frame in app.dataframe if "Item" in frame.value)
    assert picked.replace("item-", "Question number ") in everything(app)
    assert not [person.pseudonym for person in people if person.pseudonym in everything(app)]


@pytest.mark.long
def test_a_viewer_reads_reports_that_leads_made(monkeypatch, world):
    study, (lead, *_), viewer = world
    assert "There is no report yet." in everything(opened(monkeypatch, viewer, "report"))
    with database.writing(web_engine()) as session:
        made = {"event_hash": "", "made_at": clock.now(), "made_by": lead.pseudonym, "file": b"zip"}
        session.add(Snapshot(study_id=study.id, event_number=1, sha256="a" * 64, **made))
    app = opened(monkeypatch, viewer, "report")
    assert "only leads of the study can download them" in everything(app)
    assert [code.value for code in app.code] == ["a" * 64]


def test_a_viewer_of_a_study_without_ratings_reads_that(monkeypatch, make_study):
    with database.writing(web_engine()) as session:
        study, lead, _ = make_study(session)
        person = links.invited(
            session, invitations.invite_one(session, study, "Hana", "", Role.viewer, lead.pseudonym).secret
        )
    viewer = Who(person.id, person.pseudonym, person.role, person.name, 0)
    app = opened(monkeypatch, viewer, "results")
    assert "There is no rating yet" in [header.value for header in app.header]
    assert looks_of(study, viewer) == 0


def looks_of(study, who: Who) -> int:
    with database.reading(web_engine()) as session:
        log = events.since(session, study.id, 0)
        return [(event.kind, event.actor) for event in log].count((EventKind.results_opened, who.pseudonym))


def test_a_viewer_opens_results_only_when_that_is_logged(monkeypatch, world):
    """A lead read interim results from a viewer's seat, and the report said that nobody had opened them."""
    study, _, viewer = world

    def busy(*_) -> None:
        raise DatabaseBusy(BUSY)

    with monkeypatch.context() as held:
        held.setattr(looking, "log_look", busy)
        app = opened(monkeypatch, viewer, "results")
        assert BUSY in shown(app)
        assert "What leads do next" not in [part.value for part in app.subheader]
    assert looks_of(study, viewer) == 0

    app.run()

    assert "What leads do next" in [part.value for part in app.subheader]
    app = opened(monkeypatch, viewer, "results")
    assert "Leads see in the log on which days you opened results." in [part.value for part in app.caption]
    assert looks_of(study, viewer) == 1


@pytest.mark.long
def test_a_viewer_of_a_large_study_sees_the_conclusion(monkeypatch, world):
    """Each run of the page asked for a conclusion of its own, which the next one did not find."""
    monkeypatch.setattr(beside, "LARGE", 0)
    monkeypatch.setattr(conclusion, "HEAD_START", 0)
    app = opened(monkeypatch, world[2], "results")
    for thread in threading.enumerate():
        if thread.name == "conclusion":
            thread.join()

    assert "Counts and means so far" not in [heading.value for heading in app.run().header]
    assert app.get("plotly_chart")

"""The lead's results pages, run as Streamlit runs them."""

from __future__ import annotations

import re
import time
from functools import partial
from unittest.mock import Mock

import pytest
from helpers.ratings import exclude, set_aside, submit
from helpers.results_pages import ROUTER, turn_to, words
from helpers.studies import SMALL_RUBRIC, add_person, full_answers
from sqlalchemy import select
from streamlit.testing.v1 import AppTest

from components.results import disagreement
from components.results.first_screen import beside, screen
from components.results.more import ANALYSES, LENGTHS
from components.shell import live, state
from triptych.exchange import underway
from triptych.stats.analysis.statistics import SPANS, columns
from triptych.storage import database, events
from triptych.storage.models import Item, Kind, Person, Role, Study, StudyState
from triptych.study import lifecycle
from triptych.study.duplicate import duplicate
from triptych.web.session import web_engine

HOSTILE = "![x](http://evil.example/x.png) <b>bold</b> $x$ :material/star:"


@pytest.fixture
def lab(make_study):
    """(study, lead, annotators) in the app's own database; both have rated its only item."""
    with database.writing(web_engine()) as session:
        study, lead, people = make_study(session, items=1)
        for who, fluency in zip(people, (3, 2), strict=True):
            answers = full_answers(fluency=fluency)
            answers["highlights"] = [{"slot": "A", "turn": None, "start": 0, "end": 6, "label": "good", "comment": ""}]
            submit(session, study, who, answers)
    return study, lead, people


def open_numbers(app, *criteria: str):
    """The same page with the numbers of these criteria open."""
    for key in criteria:
        app.session_state[f"numbers-{key}"] = True
    return app.run()


def progress_of(app) -> str:
    """What the bar of the study's progress says."""
    return app.get("progress")[0].proto.text


SECTIONS = ["Which is better", "Can it be trusted", "Who disagrees", "What they say", "Slices", "More analyses"]


@pytest.mark.long
def test_the_page_shows_progress_and_findings_per_criterion(visit, lab):
    study, lead, people = lab
    app = visit(lead, "results.py", study=study.slug)
    assert progress_of(app) == "2 of 3 annotations · 66 %"
    assert [heading.value for heading in app.header] == [state.plain("Fluency: No interval: one item is too few.")]
    headings = [heading.value for heading in app.subheader]
    assert headings == ["Can it be trusted?", "Progress", "What to do next", "Fluency", "Verdict"]
    text = words(app)
    assert "0 of 1 item complete." in text and "1 annotation to go" in text
    assert "no variation" in text
    assert "2 annotators: too few to know what others would prefer; 5 are needed." in text
    assert len(app.get("plotly_chart")) == 5


@pytest.mark.long
def test_a_filtered_page_says_that_exports_are_not(visit, lab):
    study, lead, people = lab
    app = visit(lead, "results.py", study=study.slug)
    assert state.plain("Filtered.") not in words(app)
    app.session_state[f"people-{study.slug}"] = [people[0].pseudonym]
    filters = f"Filtered. Ratings by human annotators; only by {people[0].pseudonym};"
    (caption,) = (each.value for each in app.run().caption if each.value.startswith(state.plain(filters)))
    assert caption.endswith(state.plain("Files under Export are not filtered."))


@pytest.mark.long
def test_a_closed_study_has_no_date_of_completion(visit, lab):
    study, lead, _people = lab
    assert "No date yet" in words(visit(lead, "results.py", study=study.slug))
    with database.writing(web_engine()) as session:
        lifecycle.set_state(session, session.get_one(Study, study.id), StudyState.closed, lead.pseudonym)

    text = words(visit(lead, "results.py", study=study.slug))
    assert "The study is closed. 0 of 1 item complete." in text
    assert "No date yet" not in text


@pytest.mark.long
def test_a_section_is_drawn_only_when_opened(visit, lab):
    study, lead, people = lab
    app = visit(lead, "results.py", study=study.slug)
    assert "Gwet's AC" not in words(app)
    app = turn_to(app, study, "Can it be trusted")
    assert "Gwet's AC" in words(app)
    assert "Not defined: no variation (every rating is the same)." in words(app)
    assert "Fluency" not in [heading.value for heading in app.subheader]
    app = turn_to(app, study, "Who disagrees")
    assert f"{people[0].pseudonym} is farthest from the others" in words(app)
    app = turn_to(app, study, "What they say")
    assert "No rating has an explanation or a ticked reason." in words(app)
    assert app.get("plotly_chart")


@pytest.mark.long
def test_titles_like_the_apps_own_choices_are_told_apart(visit, make_study):
    own_titles = {"Accept": "Every", "Reject": "–", "Verdict": "None"}
    rubric = re.sub(r"title: (Accept|Reject|Verdict)", lambda title: f"title: {own_titles[title[1]]}", SMALL_RUBRIC)
    answers = full_answers()
    answers["ratings"]["A"]["verdict"] = "reject"
    answers["explanations"] = {"A": {"verdict": {"reject": {"reasons": ["wrong"]}}}}
    with database.writing(web_engine()) as session:
        study, lead, people = make_study(session, rubric=rubric)
        plan = lifecycle.StudyPlan(title="Draft")
        draft = lifecycle.create_study(session, plan, rubric, [], lead.pseudonym, lead.person_id)
        for number, item in enumerate(session.scalars(select(Item))):
            item.meta = {"Every item": number % 2}
        submit(session, study, people[0], answers)
    results = visit(lead, "results.py", study=study.slug)
    results.session_state[f"why-{study.slug}"] = "verdict"
    reading = visit(lead, "items.py", study=study.slug)
    setup = visit(lead, "design.py", study=draft.slug, section="Plan and preregistration")
    pages = turn_to(results, study, "What they say"), reading, setup
    offered = {box.label.partition(":")[0]: box.options for page in pages for box in page.selectbox}
    assert offered["Answer"] == ["Every", "Every · Every", "–", "Cannot say"]
    assert offered["Only items with"] == ["Every item", "Every item · Every item"]
    assert offered["None"] == ["–", "Every", "– · reject", "Cannot say"]
    assert offered["Primary criterion"] == ["None", "Fluency", "None · verdict"]


@pytest.mark.long
def test_every_further_analysis_draws_and_says_when_to_use_it(visit, lab):
    study, lead, _ = lab
    app = turn_to(visit(lead, "results.py", study=study.slug), study, "More analyses")
    box = next(box for box in app.selectbox if box.label == "Analysis")
    for title in box.options:
        next(box for box in app.selectbox if box.label == "Analysis").set_value(key_of(title)).run()
        assert not app.exception, title
        assert any(caption.value == when_of(title) for caption in app.caption), title


def key_of(title: str) -> str:
    return next((key for key, analysis in ANALYSES.items() if analysis.title == title), "lengths")


def when_of(title: str) -> str:
    return ANALYSES[key_of(title)].when if key_of(title) in ANALYSES else LENGTHS


def test_a_study_without_ratings_says_so_and_shows_no_number(visit, make_study):
    with database.writing(web_engine()) as session:
        study, lead, _ = make_study(session)
    app = visit(lead, "results.py", study=study.slug)
    assert "There is no rating yet" in [header.value for header in app.header]
    assert not app.get("plotly_chart")


def test_a_study_whose_annotations_hold_no_rating_says_so(visit, make_study):
    with database.writing(web_engine()) as session:
        optional = SMALL_RUBRIC.replace("    definition:", "    required: false\n    definition:")
        study, lead, people = make_study(session, items=1, rubric=optional)
        for who in people:
            submit(session, study, who, {"ratings": {}})
    app = visit(lead, "results.py", study=study.slug)
    assert "The annotations contain no rating." in [text.value for text in app.text]


@pytest.mark.long
def test_a_page_without_remaining_ratings_explains_why(visit, lab):
    study, lead, people = lab
    with database.writing(web_engine()) as session:
        for who in people:
            exclude(session, study, who)
    app = visit(lead, "results.py", study=study.slug)
    for section in SECTIONS:
        text = words(turn_to(app, study, section))
        assert "nan" not in text.lower().split()
        if section == "Can it be trusted":
            assert "No item was rated by two annotators." in text


@pytest.mark.long
def test_names_stay_blind_until_a_logged_unblinding(visit, lab):
    study, lead, _ = lab
    app = open_numbers(visit(lead, "results.py", study=study.slug), "fluency")
    assert "System 1" in words(app)
    assert not any(name in words(app) for name in ("plumbum", "stannum", "ferrum"))
    app.checkbox(key=f"certain-unblind-{study.slug}-sure").check()
    next(button for button in app.button if button.label == "Show the system names").click().run()
    assert not app.exception
    text = words(open_numbers(app, "fluency"))
    assert "System 1" not in text
    assert "plumbum" in text
    with database.reading(web_engine()) as session:
        last = events.since(session, study.id, 0)[-1]
    assert (last.kind, last.actor) == ("unblinded", lead.pseudonym)


def test_unblinding_names_the_blind_copies_that_it_reveals(visit, lab):
    study, lead, _ = lab
    with database.writing(web_engine()) as session:
        copy = duplicate(session, study, "The main round", lead)
        lifecycle.set_state(session, copy, StudyState.open, lead.pseudonym)

    assert "with the same responses: “The main round”." in words(visit(lead, "results.py", study=study.slug))
    assert "with the same responses" not in words(visit(lead, "results.py", study=copy.slug))


def test_a_lead_sees_no_study_of_another_lead(visit, lab, make_study):
    study, lead, _ = lab
    with database.writing(web_engine()) as session:
        _, other, _ = make_study(session, title="Hers")
    for page in ("results.py", "ratings.py"):
        app = visit(other, page, study=study.slug)
        assert "You do not lead a study with this address" in app.error[0].value
        assert not app.metric and not app.dataframe
        assert study.title not in words(app)


@pytest.mark.parametrize("page", ["results.py", "ratings.py"])
def test_results_pages_refuse_annotators(visit, lab, page):
    _, _, people = lab
    with pytest.raises(ValueError, match="Could not find a navigation page"):
        visit(people[0], page)
    app = AppTest.from_file(str(ROUTER.parent / "lead" / page), default_timeout=30).run()
    assert not app.exception
    assert "This page is for leads" in app.error[0].value
    assert "System 1" not in words(app)
    assert not app.metric and not app.dataframe and not app.multiselect


def test_nobody_is_farthest_where_all_gave_the_same_ratings(visit, make_study):
    with database.writing(web_engine()) as session:
        study, lead, people = make_study(session, items=1)
        for who in people:
            submit(session, study, who, full_answers(fluency=3))

    text = words(turn_to(visit(lead, "results.py", study=study.slug), study, "Who disagrees"))
    assert text.count(disagreement.ALL_AGREE) == 2  # of the annotators and of the items
    assert "farthest" not in text


def test_simulated_ratings_count_only_when_asked_for_and_are_named(visit, lab):
    study, lead, people = lab
    with database.writing(web_engine()) as session:
        for who in people:
            session.get_one(Person, who.person_id).kind = Kind.simulated
    app = visit(lead, "results.py", study=study.slug)
    assert progress_of(app) == "0 of 3 annotations · 0 %"
    app.multiselect[0].set_value(["simulated"]).run()
    assert progress_of(app) == "2 of 3 annotations · 66 %"
    assert "simulated annotators" in app.warning[0].value


@pytest.mark.long
def test_items_most_raters_ignored_can_be_included_again(visit, make_study):
    with database.writing(web_engine()) as session:
        study, lead, people = make_study(session, items=1, annotators=3)
        submit(session, study, people[0])
        for who in people[1:]:
            set_aside(session, study, who, "ignore", "empty")
    app = visit(lead, "results.py", study=study.slug)
    assert not app.get("plotly_chart")
    app.toggle[0].set_value(True).run()
    assert app.get("plotly_chart")


def test_the_list_of_ratings_counts_what_passes_its_filters(visit, lab):
    study, lead, people = lab
    app = visit(lead, "ratings.py", study=study.slug)
    assert app.text[1].value == "12 of 12 ratings."
    box = {widget.label: widget for widget in app.multiselect}
    box["Annotator"].set_value([people[0].pseudonym])
    box["Criterion"].set_value(["fluency"])
    app.run()
    assert app.text[1].value == "3 of 12 ratings."


@pytest.mark.parametrize(("by", "groups"), [("Item", "1 item"), ("Annotator", "2 annotators")])
def test_ratings_are_grouped_by_item_or_annotator(visit, lab, by, groups):
    study, lead, _ = lab
    app = visit(lead, "ratings.py", study=study.slug)
    app.selectbox(key="group").set_value(by).run()

    assert app.text[1].value == f"{groups} with such ratings. Click the box at the left to list them."
    assert len(app.dataframe[0].value) == int(groups[0])
    assert app.dataframe[0].value["Ratings"].sum() == 12


def test_ratings_beyond_a_page_are_on_the_next_one(visit, make_study):
    with database.writing(web_engine()) as session:
        study, lead, people = make_study(session, items=42)
        for who in people * 42:
            submit(session, study, who, full_answers())
    app = visit(lead, "ratings.py", study=study.slug)
    assert app.text[1].value == "504 of 504 ratings; rows 1 to 500 are shown."
    next(box for box in app.number_input if box.label == "Page, of 2").set_value(2).run()
    assert app.text[1].value == "504 of 504 ratings; rows 501 to 504 are shown."


@pytest.mark.long
def test_the_export_menu_shows_how_files_begin_and_their_progress(visit, lab):
    study, lead, _ = lab
    app = visit(lead, "results.py", study=study.slug)
    app.session_state[f"first-lines-{study.slug}"] = True
    app.run()
    assert r"ratings\.csv" in [caption.value for caption in app.caption]
    assert any("annotator" in code.value for code in app.code)

    underway.ask(lead.person_id, study.slug)
    bar = underway.begin(lead.person_id, study.slug)
    app.run()
    said = [part.proto.text for part in app.get("progress")]
    assert r"The download starts\. You can leave this page in the meantime\." in said
    pieces = bar.sending([b"zip", b"zip"])
    bar.file, bar.walked, bar.rows = "ratings.csv", 6, 1200
    next(pieces)
    app.run()
    said = [part.proto.text for part in app.get("progress")]
    assert r"Writing ratings\.csv\, 6 of 1\,200 rows\. You can leave this page in the meantime\." in said
    pieces.close()
    app.run()
    assert "The download ended before the last file. Start it again." in [caption.value for caption in app.caption]


@pytest.mark.long
def test_comments_on_highlights_open_the_item_of_the_one_picked(visit, make_study):
    with database.writing(web_engine()) as session:
        study, lead, people = make_study(session, items=1)
        for who, label, comment in zip(people, ("good", "bad"), ("too vague", "not true"), strict=True):
            mark = {"slot": "A", "turn": None, "start": 0, "end": 6, "label": label, "comment": comment}
            submit(session, study, who, full_answers() | {"highlights": [mark]})
    app = turn_to(visit(lead, "results.py", study=study.slug), study, "What they say")
    assert any(text.value.startswith("Comments on highlights: 2, most on System ") for text in app.text)
    app.multiselect(key=f"comment-{study.slug}").set_value(["bad"]).run()
    (listed,) = (frame.value for frame in app.dataframe if "Comment" in frame.value.columns)
    assert listed[["Label", "Comment"]].values.tolist() == [["Bad passage", "not true"]]

    before = len(app.get("bidi_component"))
    app.session_state[f"comments-{study.slug}"] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    app.run()
    assert not app.exception
    assert len(app.get("bidi_component")) == before + 1


def test_a_number_links_to_the_filtered_list(visit, lab):
    study, lead, people = lab
    app = visit(lead, "ratings.py", study=study.slug, criterion="Fluency", system=["System 1", "System 2"])
    assert app.text[1].value == "4 of 12 ratings."
    box = {widget.label: widget for widget in app.multiselect}
    assert (box["Criterion"].value, box["System"].value) == (["fluency"], [1, 2])


@pytest.mark.long
def test_highlights_have_the_columns_of_the_report(visit, lab):
    study, lead, _ = lab
    app = turn_to(visit(lead, "results.py", study=study.slug), study, "What they say")

    (table,) = (frame.value for frame in app.dataframe if "Label" in frame.value.columns and len(frame.value))
    assert [*table.columns] == ["Label", *columns(SPANS)]
    assert table.loc[0, ["Label", "Highlights", "Pairs"]].tolist() == ["Any label", "2", "1"]


def test_a_system_without_highlights_is_counted_as_zero(visit, make_study):
    """It was missing, as if nobody had read it."""
    with database.writing(web_engine()) as session:
        study, lead, people = make_study(session, items=1)
        mark = {"slot": "A", "turn": None, "start": 0, "end": 6, "label": "good", "comment": ""}
        submit(session, study, people[0], full_answers() | {"highlights": [mark]})
    app = turn_to(visit(lead, "results.py", study=study.slug), study, "What they say")
    (table,) = (frame.value for frame in app.dataframe if frame.value.index.name == "label")
    assert sorted(table.iloc[0]) == [0, 0, 1]


@pytest.mark.long
def test_filters_hold_for_every_section(visit, lab):
    study, lead, people = lab
    app = visit(lead, "results.py", study=study.slug)
    next(box for box in app.multiselect if box.label == "Annotators").set_value([people[0].pseudonym]).run()
    assert any("only by" in caption.value.replace("\\", "") for caption in app.caption)
    text = words(open_numbers(app, "fluency"))
    assert "3.00" in text and "2.50" not in text
    assert "No item was rated by two annotators." in words(turn_to(app, study, "Can it be trusted"))
    assert "No response has been rated by two annotators yet." in words(turn_to(app, study, "Who disagrees"))


def test_a_new_event_redraws_the_page_and_nothing_else_does(monkeypatch):
    drawn = []
    monkeypatch.setattr(live.st, "rerun", lambda scope: drawn.append(scope))
    monkeypatch.setattr(live.st, "fragment", lambda run_every: lambda function: function)
    live.follow(lambda: 7, 7)
    assert drawn == []
    live.follow(lambda: 8, 7)
    assert drawn == ["app"]
    assert live.POLL_SECONDS < 5


def test_pages_of_a_study_space_out_slow_redraws():
    pace = live.Pace(drawn=7, since=100.0)
    assert pace.advance(8, 100.0) == 8
    pace.spent = 1.0
    waits = 1.0 / live.CPU_SHARE
    assert (pace.advance(9, 99.0 + waits), pace.advance(9, 101.0 + waits), pace.spent) == (8, 9, 0.0)
    pace.spent = 1e6
    assert (
        pace.advance(10, pace.since + live.MAX_WAIT_SECONDS - 1),
        pace.advance(10, pace.since + live.MAX_WAIT_SECONDS),
    ) == (9, 10)
    pace.spent = 1e6
    assert pace.advance(3, pace.since) == 3


def test_a_page_redraws_for_later_numbers_or_a_restored_backup(monkeypatch):
    drawn = []
    monkeypatch.setattr(live.st, "rerun", lambda scope: drawn.append(scope))
    monkeypatch.setattr(live.st, "fragment", lambda run_every: lambda function: function)
    monkeypatch.setattr(live, "_paces", {"study": live.Pace(drawn=7, since=time.monotonic(), spent=1e6)})
    for number, seen in ((7, 7), (9, 7), (9, 9)):
        live.follow_at_a_pace("study", partial(int, number), seen)
    assert drawn == []
    live.follow_at_a_pace("study", lambda: 9, 6)
    live.follow_at_a_pace("study", lambda: 5, 9)
    assert drawn == ["app", "app"]


def test_pages_that_must_wait_do_not_read_the_number(monkeypatch):
    monkeypatch.setattr(live.st, "fragment", lambda run_every: lambda function: function)
    monkeypatch.setattr(live, "_paces", {"study": live.Pace(drawn=7, since=time.monotonic(), spent=1e6)})
    live.follow_at_a_pace("study", lambda: pytest.fail("read"), 7)


@pytest.mark.long
def test_a_picture_is_drawn_once_per_event_but_findings_always(visit, lab, monkeypatch):
    """Findings change without an event of the study: reservations end, and accounts are disabled in other studies."""
    study, lead, people = lab
    app = visit(lead, "results.py", study=study.slug)
    findings, picture = Mock(wraps=beside.caveats), Mock(wraps=screen.picture)
    monkeypatch.setattr(beside, "caveats", findings)
    monkeypatch.setattr(screen, "picture", picture)
    app.run()
    assert (findings.call_count, picture.call_count) == (1, 0)
    with database.writing(web_engine()) as session:
        lifecycle.set_state(session, session.get_one(Study, study.id), StudyState.paused, lead.pseudonym)
    app.run()
    assert (findings.call_count, picture.call_count) == (2, 1)


def test_titles_of_a_rubric_are_shown_literally(visit, make_study):
    rubric = SMALL_RUBRIC.replace("title: Fluency", f"title: '{HOSTILE}'")
    with database.writing(web_engine()) as session:
        study, lead, people = make_study(session, rubric=rubric)
        submit(session, study, people[0])
    app = visit(lead, "results.py", study=study.slug)
    assert state.plain(HOSTILE) in [heading.value for heading in app.subheader]
    assert state.plain(HOSTILE) in app.header[0].value
    raw = [element.value for kind in ("markdown", "caption", "subheader") for element in app.get(kind)]
    assert not any("](http" in text or "<b>" in text for text in map(str, raw))


def test_a_demo_study_is_open_to_every_lead(visit, make_study):
    with database.writing(web_engine()) as session:
        study, _, people = make_study(session, demo=True)
        submit(session, study, people[0])
        other = add_person(session, "second lead", Role.lead)
    assert progress_of(visit(other, "results.py", study=study.slug)) == "1 of 12 annotations · 8 %"
    with database.reading(web_engine()) as session:
        assert [s.slug for s in lifecycle.for_lead(session, other)] == [session.scalars(select(Study)).one().slug]

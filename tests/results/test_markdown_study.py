"""A study with Markdown behind the screen: what was seen is stored, spans agree by what is visible, reports say it."""

from __future__ import annotations

import csv
import io
import zipfile

import pytest
from helpers.annotations import submission
from helpers.present import present
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, full_answers, join
from sqlalchemy import select

from triptych.annotate.annotations import submit
from triptych.annotate.assignments import Assigned, current
from triptych.errors import Conflict
from triptych.exchange.exports import export_zip
from triptych.formats.model import CandidateDraft, ItemDraft
from triptych.formats.writers.model import ExportOptions
from triptych.preview.views import view_of
from triptych.reports.facts import facts_of
from triptych.reports.methods_text import text_views
from triptych.results import texts
from triptych.results.frame.highlights import highlights_of_item
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.results.study_analysis import analyse, spans
from triptych.rubric.files import parse_rubric
from triptych.storage import database
from triptych.storage.models import Assignment, Highlight, Role, StudyState
from triptych.study import design, lifecycle
from triptych.study.design import Parts
from triptych.study.lint import linter
from triptych.study.settings import Formats
from triptych.study.system_names import system_names

TEXT = "Pay **now** or later."
WHOLE, INSIDE = (4, 11), (6, 9)  # **now**, now
FORMATTED = Formats(responses="markdown")


def open_markdown(session, formats: Formats = FORMATTED):
    lead = add_person(session, "lead", Role.lead)
    plan = lifecycle.StudyPlan(title="Markdown", seed="m", raters_per_item=3, formats=formats)
    item = ItemDraft("i1", "Why?", (), (CandidateDraft("one", TEXT),), {}, {}, 1)
    study = lifecycle.create_study(session, plan, SMALL_RUBRIC, [item], lead.pseudonym, lead.person_id)
    lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
    return study


def mark(session, study, name: str, span: tuple[int, int] | None, text_view: str | None) -> Assignment:
    who = join(session, study, add_person(session, name))
    work = current(session, study, who)
    assert isinstance(work, Assigned)
    place = {"slot": "A", "label": "good"}
    marked = [] if span is None else [{**place, "start": span[0], "end": span[1]}]
    answers = {**full_answers("A"), "highlights": marked}
    submit(session, who, submission(work, name=f"of-{name}-12", answers=answers, text_view=text_view))
    return session.get_one(Assignment, work.id, populate_existing=True)


def test_the_same_visible_words_are_the_same_highlight(sqlite_engine):
    with database.writing(sqlite_engine) as session:
        study = open_markdown(session)
        mark(session, study, "ann", WHOLE, "written")
        mark(session, study, "ben", INSIDE, "formatted")
        mark(session, study, "cem", (4, 6), "formatted")  # signs alone
        assert session.scalars(select(Highlight.quote).order_by(Highlight.id)).all() == ["**now**", "now", "**"]
        rows = texts.readings_of(session, study, frame_of(session, study), Counted())
        assert set(rows["length"]) == {len(TEXT) - 4}
        assert rows.dropna(subset="start")[["start", "end"]].to_numpy().tolist() == [[4, 7], [4, 7]]
        agreement = spans(rows[rows["annotator"] != "P-cem"])
        assert isinstance(agreement, tuple)
        assert (agreement[0].exact, agreement[0].alpha) == (1.0, 1.0)
        passages = highlights_of_item(session, study, "i1", Counted())
        assert passages.candidates[0].passages[0].format == "markdown"
        assert passages.context[0].format == "plain"
        assert {(span.start, span.end) for span in passages.candidates[0].passages[0].spans} == {WHOLE, INSIDE, (4, 6)}


def test_what_was_seen_is_stored_exported_and_printed(sqlite_engine):
    with database.writing(sqlite_engine) as session:
        study = open_markdown(session)
        views = [mark(session, study, *row).text_view for row in (("ann", None, "formatted"), ("ben", None, "written"))]
        assert views == ["formatted", "written"]
        mark(session, study, "cem", None, "mixed")
        with zipfile.ZipFile(io.BytesIO(b"".join(export_zip(session, study, "csv", ExportOptions())))) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith("annotations.csv"))
            exported = csv.DictReader(io.StringIO(archive.read(name).decode()))
            assert sorted(row["text_view"] for row in exported) == ["formatted", "mixed", "written"]
        facts = facts_of(session, study, analyse(frame_of(session, study), Counted(), system_names(session, study)))
        assert list(text_views(facts)) == [
            "For each item, the responses were shown as formatted Markdown, except in 1 annotation made from the texts "
            "as they were written and in 1 annotation with some texts too large to be formatted."
        ]


def test_a_plain_study_stores_written_whatever_a_browser_says(sqlite_engine):
    with database.writing(sqlite_engine) as session:
        study = open_markdown(session, Formats())
        assert mark(session, study, "ann", None, "formatted").text_view == "written"
        assert study.settings.get("formats") is None
        rubric = lifecycle.design_of(session, study).rubric
        assert set(view_of(study, rubric, draft_items(1), 0).study.formats.model_dump().values()) == {"plain"}


def test_the_format_cannot_change_after_launch(sqlite_engine):
    with database.writing(sqlite_engine) as session:
        study = open_markdown(session)
        with pytest.raises(Conflict, match="How texts are shown"):
            design.amend(session, study, Parts(settings={"formats": {}}), "Because.", "P-lead")


def test_the_linter_is_quiet_about_markdown_that_is_formatted():
    texts_of = ("Take **two** of `<b>` &amp; rest.\n\n```html\n<div>x</div>\n```", "Say <br> this.")
    items = [
        ItemDraft(f"i{n}", f"Why {n}?", (), (CandidateDraft("one", f"{n} {text}"),), {}, {}, n)
        for n, text in enumerate(texts_of)
    ]
    rubric = parse_rubric(SMALL_RUBRIC)
    plain, formatted = (linter.lint_file(rubric, items, formats) for formats in (Formats(), FORMATTED))
    markup = present(next((finding for finding in plain if "Markdown, such as" in finding.text), None))
    assert "Show the texts as Markdown, or clean the file" in markup.advice
    assert not any("Markdown, such as" in finding.text for finding in formatted)
    html = present(next((finding for finding in formatted if "HTML" in finding.text), None))
    assert html.items == ("i1",)

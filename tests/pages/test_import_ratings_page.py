"""The page that imports finished ratings, and the results of what it made, as a lead sees them."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from helpers.results_pages import turn_to, words
from helpers.studies import SMALL_RUBRIC, add_person
from helpers.study_pages import ROUTER, labels, press, rendered_markdown, stored
from sqlalchemy import select
from streamlit.testing.v1 import AppTest

from components.shell import state
from triptych.storage import database
from triptych.storage.models import Highlight, Person, Study
from triptych.web.session import web_engine

LONG = "item_id,system,annotator,criterion,value\n"
SECRET = "![x](http://evil.example/x.png) <b>bold</b>"
ROWS = LONG + "1,zincum,w1,fluency,4\n1,zincum,w2,fluency,5\n1,argentum,w1,fluency,2\n1,argentum,w2,fluency,1\n"
JUDGE = LONG + "1,zincum,big-model,fluency,1\n1,argentum,big-model,fluency,5\n"
ITEMS = "item_id,context,cand:zincum,cand:argentum\n1,Why?,So it is,Thus\n"
MARKS = "item_id,system,annotator,label,start,end,quote\n1,zincum,w1,good,0,2,So\n1,zincum,w1,good,-1,-1,nowhere\n"


@pytest.fixture
def page(visit, lead) -> AppTest:
    return visit(lead, "import_ratings.py")


def upload(app: AppTest, key: str, *files: tuple[str, str]) -> AppTest:
    for name, text in files:
        app.file_uploader(key=key).upload(name, text.encode())
    app.run()
    assert not app.exception
    return app


def test_a_large_import_says_that_others_wait(page):
    rows = "".join(f"i{n},m,w1,fluency,4\n" for n in range(5001))
    upload(page, "ratings_files", ("ratings.csv", LONG + rows))

    assert "5,001 annotations are stored at once. Without PostgreSQL nobody can store anything" in words(page)


@pytest.mark.long
def test_ratings_are_previewed_then_stored_with_a_results_page(page):
    upload(page, "ratings_files", ("ratings.csv", ROWS))
    text = words(page)
    assert "ratings.csv: Table of ratings, 4 ratings" in text
    assert "Values: 1 (1), 2 (1), 4 (1), 5 (1)" in text
    assert "Will be made: 1 item, 2 systems, 2 annotators, 2 annotations, 4 ratings" in text
    assert stored() == []

    page.text_input(key="title").set_value("From elsewhere")
    press(page, "Import")

    assert [(study.title, study.state) for study in stored()] == [("From elsewhere", "closed")]
    text = words(page)
    assert "fluency" in text
    assert "2 of 2" in text
    assert "System 1" in text
    assert "zincum" not in text
    assert "argentum" not in text


@pytest.mark.long
def test_judge_scores_are_kept_apart_from_people(page, visit, lead):
    upload(page, "ratings_files", ("ratings.csv", ROWS))
    upload(page, "judge_files", ("judge.csv", JUDGE))
    page.text_input(key="title").set_value("With a judge")
    press(page, "Import")

    app = visit(lead, "results.py", study=stored()[0].slug)
    kinds = next(box for box in app.multiselect if box.label == "Ratings by")
    assert kinds.value == ["human"]
    people = words(app)
    assert words(kinds.set_value(["human", "judge"]).run()) != people
    with database.reading(web_engine()) as session:
        assert session.scalars(select(Person.name).where(Person.kind == "judge")).all() == ["big-model"]


@pytest.mark.long
def test_a_metric_gets_its_own_proposed_criterion(page, visit, lead):
    upload(page, "ratings_files", ("ratings.csv", ROWS))
    upload(page, "judge_files", ("metric.csv", JUDGE.replace("fluency,1", "fluency,0.12").replace("y,5", "y,0.31")))
    assert "Values: 1 (1), 2 (1), 4 (1), 5 (1)" in words(page)
    assert page.number_input(key="proposed-fluency-step").value == 1
    assert any("analysed like a metric instead" in warning.value for warning in page.warning)
    page.text_input(key="title").set_value("With a metric")
    press(page, "Import")

    slug = stored()[0].slug
    app = turn_to(visit(lead, "results.py", study=slug), stored()[0], "More analyses")
    app.selectbox(key=f"analysis-{slug}").set_value("judges").run()
    (row,) = next(frame.value for frame in app.dataframe if "Its scores" in frame.value).to_dict("records")
    assert (row["Its scores"], row["May stand in"], row["Within items: Kendall"]) == ("fluency (judge)", "–", "-1.00")
    assert "Within items: Candidates compared within 1 items. No interval below 10 items." in words(app)
    app.selectbox(key=f"more-{slug}").set_value("fluency_judge").run()
    assert "are shown under the other criteria, as a metric" in words(app)


@pytest.mark.long
def test_texts_and_highlights_appear_on_the_results_page(page, visit, lead):
    upload(page, "ratings_files", ("ratings.csv", ROWS), ("marks.csv", MARKS))
    upload(page, "items_of_ratings", ("items.csv", ITEMS))
    assert "the quote 'nowhere' is not in the text of item '1'" in words(page)
    page.text_input(key="title").set_value("With texts")
    press(page, "Import")

    with database.reading(web_engine()) as session:
        slug = session.scalars(select(Study.slug).where(Study.title == "With texts")).one()
    results = visit(lead, "results.py", study=slug)
    results.session_state[f"section-{slug}"] = "What they say"
    results.run()
    assert "1 imported quotes are not in the text" in words(results)
    with database.reading(web_engine()) as session:
        assert [mark.quote for mark in session.scalars(select(Highlight))] == ["So", "nowhere"]


def test_unfit_values_are_named_and_can_become_missing(page):
    upload(page, "ratings_files", ("ratings.csv", ROWS + "2,zincum,w1,fluency,five\n"))
    assert any("1 rating" in error.value and "five" in error.value for error in page.error)
    assert "Row 6, column 'fluency': 'five' does not fit" in words(page)
    assert "Import" not in labels(page)

    page.multiselect(key="proposed-fluency-missing").set_value(["five"]).run()
    assert "Import" in labels(page)
    assert "1 missing" in words(page)


def test_the_lead_changes_the_scale_or_leaves_a_criterion_out(page):
    upload(page, "ratings_files", ("ratings.csv", ROWS + "1,zincum,w1,verdict,yes\n1,argentum,w1,verdict,no\n"))
    page.selectbox(key="proposed-fluency-use").set_value("interval").run()
    page.multiselect(key="proposed-verdict-positive").set_value(["yes"]).run()
    assert "6 ratings" in words(page)
    page.selectbox(key="proposed-verdict-use").set_value("leave out").run()
    assert "4 ratings" in words(page).partition("Will be made")[2]
    page.number_input(key="proposed-fluency-high").set_value(4.0).run()
    assert "'5' does not fit" in words(page)


def test_a_zip_brings_ratings_and_texts_together(page):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("mine/ratings.csv", ROWS)
        archive.writestr("mine/items.csv", ITEMS)
    page.file_uploader(key="ratings_files").upload("mine.zip", data.getvalue())
    page.run()
    assert "mine/ratings.csv: Table of ratings, 4 ratings, 1 item" in words(page)
    assert len(page.radio(key="state_after").options) == 2


@pytest.mark.long
def test_a_rubric_that_exists_can_be_chosen(page):
    upload(page, "ratings_files", ("r.csv", LONG + "1,m,w,fluency,3\n1,m,w,verdict,Accept\n1,m,w,grace,2\n"))
    page.radio(key="rubric_way").set_value("An existing rubric").run()
    page.selectbox(key="rubric").set_value("A rubric file of my own (YAML)").run()
    upload(page, "rubric_file", ("own.yaml", SMALL_RUBRIC))
    upload(page, "judge_files", ("metric.csv", LONG + "1,m,bleu,bleu,0.3\n"))
    assert "Added to the rubric for judges' scores, to be analysed like metrics: bleu." in words(page)
    assert "the rubric has no criterion 'grace'" in words(page)
    page.multiselect(key="strangers").set_value(["grace"]).run()
    page.text_input(key="title").set_value("By my rubric")
    press(page, "Import")
    assert "Verdict" in words(page)


def test_a_file_with_errors_creates_nothing(page):
    upload(page, "ratings_files", ("ratings.csv", LONG + "1,m,,c,4\n"))
    assert "Row 2, column 'annotator': has no annotator." in words(page)
    assert "Import" not in labels(page)

    upload(page, "judge_files", ("x.csv", "a,b\n1,2\n"))
    assert any("must name the columns" in error.value.replace("\\", "") for error in page.error)
    assert stored() == []


@pytest.mark.long
def test_an_open_study_needs_texts_and_a_title(page):
    upload(page, "ratings_files", ("ratings.csv", ROWS))
    assert len(page.radio(key="state_after").options) == 1
    upload(page, "items_of_ratings", ("items.csv", ITEMS))
    page.radio(key="state_after").set_value(page.radio(key="state_after").options[1]).run()
    page.number_input(key="raters").set_value(5)
    press(page, "Import")
    assert "title" in page.error[0].value
    page.text_input(key="title").set_value("To go on")
    press(page, "Import")
    assert [(study.state, study.raters_per_item) for study in stored()] == [("open", 5)]


def test_texts_of_files_never_become_markup(page):
    text = LONG + f'"{SECRET}","{SECRET}",w,"{SECRET}",4\n1,m,w,c,"{SECRET}"\n1,m,w,c,"{SECRET}"\n'
    upload(page, "ratings_files", (f"{SECRET[:12]}.csv", text))
    assert "evil" not in rendered_markdown(page).replace(state.plain(SECRET), "")
    assert SECRET in words(page)


def test_only_leads_reach_the_page_from_the_studies(visit, lead, monkeypatch):
    links = {link.proto.label: link.proto.page for link in visit(lead, "new_study.py").get("page_link")}
    assert links["Import ratings made elsewhere"] == "import_ratings"
    app = visit(lead, "import_ratings.py")
    assert [title.value for title in app.title] == ["Import ratings"]

    with database.writing(web_engine()) as session:
        annotator = add_person(session, "ann")
    monkeypatch.setattr(state, "current_person", lambda: annotator)
    app = AppTest.from_file(str(ROUTER.parent / "lead" / "import_ratings.py"), default_timeout=30).run()
    assert "This page is for leads" in app.error[0].value
    assert not app.file_uploader


SHAPES = Path(__file__).parents[1] / "formats" / "shapes"


def test_levels_have_roles_that_the_lead_can_change(page):
    upload(page, "ratings_files", ("by_annotator.json", (SHAPES / "by_annotator.json").read_text()))
    assert page.selectbox(key="role-level 1").value == "annotator"
    assert "8 items, 1 system, 3 annotators" in words(page)

    page.selectbox(key="role-level 1").set_value("item")
    page.selectbox(key="role-level 2").set_value("annotator").run()
    assert not page.exception
    assert "3 items, 1 system, 8 annotators" in words(page)


def test_columns_without_known_names_are_named_by_the_lead(page):
    upload(page, "ratings_files", ("plain.csv", "a,model,b,c\nq1,m,x,4\nq1,m,y,5\n"))
    assert "No column gives the item" in words(page)

    for column, role in {"a": "item", "b": "annotator", "c": "value"}.items():
        page.selectbox(key=f"role-{column}").set_value(role)
    page.run()
    assert "1 item, 1 system, 2 annotators, 2 annotations, 2 ratings" in words(page)


def test_a_mapping_saved_before_names_the_columns(page):
    upload(page, "ratings_files", ("plain.csv", "a,model,b,c\nq1,m,x,4\nq1,m,y,5\n"))
    saved = '{"roles": {"a": "item", "b": "annotator", "c": "value"}}'
    upload(page, "role-mapping", ("mapping.json", saved))
    assert "1 item, 1 system, 2 annotators, 2 annotations, 2 ratings" in words(page)


def test_files_of_two_groups_and_repeats_come_in_together(page):
    for group in ("expert", "crowd"):
        page.file_uploader(key="ratings_files").upload(f"{group}.csv", ROWS.encode())
    page.run()
    assert "rated 'fluency' of item '1'" in words(page)
    page.selectbox(key="duplicates").set_value("first").run()
    assert "2 annotators, 2 annotations, 4 ratings" in words(page)

    for box in page.text_input:
        if box.key.startswith("group-"):
            box.set_value(box.label.removeprefix("Group of ").split()[0])
    page.run()
    assert "4 annotators, 4 annotations, 8 ratings" in words(page)

"""The datasheet: every control of the official form, the fields that the study knows, the questions that are asked."""

from __future__ import annotations

import csv
import json
import random

import pytest
from test_reports import new_study, opened, report_of, some_answers
from test_results import submit

from triptych import database, events, studies
from triptych.reports import heds
from triptych.reports.heds import Answer
from triptych.reports.heds_questions import QUESTIONS
from triptych.rubric import parse_rubric

KNOWN = """3.1.1 3.1.2 3.1.3.1 3.1.3.2 3.1.3.3 3.2.1 3.2.4 3.3.2 3.3.3.1 3.3.3.2 3.3.4.1 3.3.4.2 3.3.5
4.2.2 4.3.1.1 4.3.2 4.3.3 4.3.4 4.3.5 4.3.6 4.3.7 4.3.8 4.3.9 4.3.10 4.3.11.1 4.3.11.2 4.3.12.1 4.3.12.2"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Of a study with two annotators over two items."""
    engine, rng = opened(tmp_path_factory.mktemp("heds")), random.Random(5)
    with database.writing(engine) as session:
        study, _, people = new_study(session, items=2, annotators=2)
        for who in people * 2:
            submit(session, study, who, some_answers(rng))
    yield report_of(engine, study)
    engine.dispose()


@pytest.fixture
def sheet(report):
    return json.loads(report.files["heds.json"])


@pytest.fixture
def form(shared):
    """id → (number, whether it stands once per criterion) of every control of the form."""
    with (shared / "heds3_fields.csv").open(encoding="utf-8", newline="") as file:
        return {
            row["element_id"]: (row["number"], row["repeated_per_criterion"] == "1") for row in csv.DictReader(file)
        }


def test_the_file_has_every_control_of_the_form_and_no_other(sheet, form):
    assert sheet.keys() == form.keys()
    assert {name: one.get("number", "") for name, one in sheet.items()} == {
        name: number for name, (number, _) in form.items()
    }


def test_controls_about_criteria_hold_one_value_per_criterion_the_others_one(sheet, form):
    for name, (_, per_criterion) in form.items():
        if name != "heds-criteria-criterion":
            assert list(sheet[name]["data"]) == (["Fluency", "Verdict"] if per_criterion else [""]), name
    assert sheet["heds-criteria-criterion"] == {"data": {}, "control": {"Fluency": True, "Verdict": False}, "text": {}}


def test_options_are_true_or_false_with_words_only_where_chosen_and_boxes_are_text(sheet):
    for name, one in sheet.items():
        if name.rpartition("-")[2].isdigit():
            assert all(isinstance(chosen, bool) for chosen in one["data"].values())
            assert {key: bool(words) for key, words in one["text"].items()} == one["data"], name
        elif name != "heds-criteria-criterion":
            assert all(isinstance(words, str) for words in one["data"].values())
            assert "text" not in one


def test_one_option_at_most_is_chosen_where_the_form_takes_one(sheet):
    for question in (question for question in QUESTIONS if question.kind == "one"):
        options = [sheet[f"heds-{question.id}-{n}"]["data"] for n in range(1, len(question.options) + 1)]
        assert all(sum(option[key] for option in options) <= 1 for key in options[0])


def test_the_study_knows_28_questions_and_the_lead_is_asked_the_34_others(sheet):
    assert len(KNOWN.split()) == 28
    assert sorted(question.number for question in QUESTIONS if not question.asked) == sorted(KNOWN.split())
    assert sum(question.asked for question in QUESTIONS) == 34
    for question in (question for question in QUESTIONS if not question.asked):
        ids = [f"heds-{question.id}"] if question.kind == "text" else _options(question)
        for key in sheet[ids[0]]["data"]:
            assert any(sheet[name]["data"][key] for name in ids), question.number


def _options(question) -> list[str]:
    return [f"heds-{question.id}-{n}" for n in range(1, len(question.options) + 1)]


def test_agreement_scale_and_form_of_response_are_those_of_the_study(sheet, report):
    before = "heds-criteria-criterion-response_elicitation-"
    assert sheet[f"{before}size_of_scale"]["data"] == {"Fluency": "3", "Verdict": "3"}
    assert sheet[f"{before}list_or_range"]["data"]["Fluency"] == "1: Poor; 2; 3: Good"
    assert sheet[f"{before}form_of_response-2"]["data"] == {"Fluency": True, "Verdict": False}
    assert sheet[f"{before}form_of_response-7"]["data"] == {"Fluency": False, "Verdict": True}
    score = sheet[f"{before}inter_annotator-agreement_score"]["data"]["Fluency"]
    assert score.split()[1].rstrip(";") in report.files["report.html"].decode()
    assert sheet["heds-system-input_languages-42"]["text"] == {"": "42. English"}


def test_answers_are_kept_with_the_study_go_into_the_file_and_are_logged(tmp_path, make_study):
    engine = opened(tmp_path)
    given = {
        ("1.1.1", ""): Answer((1,), "https://example.org/paper"),
        ("1.3.2.1", ""): Answer(text="Ada `L.`"),
        ("2.3", ""): Answer((10, 16)),
        ("4.1.1", "fluency"): Answer((2,)),
        ("5.1", ""): Answer(),
    }
    with database.writing(engine) as session:
        study, lead, _ = make_study(session)
        before = study.design_hash
        heds.store(session, study, given, lead.pseudonym)
        assert events.since(session, study.id, 0)[-1].kind == "datasheet answered"
    with database.reading(engine) as session:
        study = studies.by_slug(session, study.slug)
        assert heds.stored(study.settings["heds"]) == {place: answer for place, answer in given.items() if answer}
        assert (study.design_hash, study.settings.get("items_per_annotator")) == (before, None)
    report = report_of(engine, study)
    sheet = json.loads(report.files["heds.json"])
    engine.dispose()

    assert sheet["heds-paper_and_resources-paper-link-1"]["data"] == {"": True}
    assert sheet["heds-paper_and_resources-paper-link-other_text"]["data"] == {"": "https://example.org/paper"}
    assert [n for n in range(1, 21) if sheet[f"heds-system-tasks-{n}"]["data"][""]] == [10, 16]
    assert sheet["heds-criteria-criterion-criteria-quality_type-2"]["data"] == {"Fluency": True, "Verdict": False}
    text = report.files["heds.md"].decode()
    assert "- 1.3.2.1 Contact author: name: `` Ada `L.` ``" in text
    assert "- 5.1 Which ethics committee approved the experiment?: not answered" in text
    assert "Ada `L.`" in report.files["CITATION.cff"].decode()


def test_criteria_of_the_same_title_get_tabs_of_their_own():
    rubric = parse_rubric(
        """
key: twins
title: Twins
summary: Two of one title.
instructions: Rate.
criteria:
  - {key: one, title: Same, definition: a, scale: {kind: number, low: 0, high: 100}}
  - {key: two, title: Same, definition: b, scale: {kind: number, low: 0, high: 3, step: 0.5}}
"""
    )
    names = heds.criterion_names(list(rubric.criteria))
    assert names == {"one": "Same (one)", "two": "Same (two)"}
    found = heds.heds_json({}, list(rubric.criteria))
    assert list(found["heds-criteria-criterion"]["control"]) == ["Same (one)", "Same (two)"]

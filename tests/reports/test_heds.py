"""The datasheet: every control of the official form, the fields that the study knows, the questions that are asked."""

from __future__ import annotations

import csv
import json
import random
import re
from dataclasses import replace
from datetime import date

import pytest
from helpers.check_items import add_check, rate
from helpers.entry import QUESTIONS as ENTRY_QUESTIONS
from helpers.entry import answer_all
from helpers.ratings import submit
from helpers.reports import new_study, numbers, opened, report_of, some_answers
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, full_answers, join
from helpers.workbooks import Sheet
from sqlmodel import select

from triptych.annotate import entry_test, workbooks
from triptych.annotate.entry_test import EntryTest
from triptych.formats.workbook.reading import read_filled
from triptych.privacy import withdrawal
from triptych.reports import heds
from triptych.reports.facts import BeforeWork
from triptych.results.frame.model import Counted
from triptych.rubric.files import parse_rubric
from triptych.storage import database
from triptych.storage.models import Assignment, Item, Purpose, StudyState
from triptych.study import design, heds_answers, lifecycle, log
from triptych.study.heds_answers import Answer
from triptych.study.heds_questions import QUESTIONS
from triptych.study.settings import Consent, EntryRules, Ethics, changed, stored

KNOWN = """3.1.1 3.1.2 3.2.1 3.2.4 3.3.2 3.3.3.1 3.3.3.2 3.3.4.1 3.3.4.2 3.3.5
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
    """id → (number, whether it occurs once per criterion) of every control of the form."""
    with (shared / "heds3_fields.csv").open(encoding="utf-8", newline="") as file:
        return {
            row["element_id"]: (row["number"], row["repeated_per_criterion"] == "1") for row in csv.DictReader(file)
        }


@pytest.mark.long
def test_the_file_has_exactly_the_controls_of_the_form(sheet, form):
    assert sheet.keys() == form.keys()
    assert {name: answer.get("number", "") for name, answer in sheet.items()} == {
        name: number for name, (number, _) in form.items()
    }


def test_controls_about_criteria_hold_a_value_per_criterion(sheet, form):
    for name, (_, per_criterion) in form.items():
        if name != "heds-criteria-criterion":
            assert list(sheet[name]["data"]) == (["Fluency", "Verdict"] if per_criterion else [""]), name
    assert sheet["heds-criteria-criterion"] == {"data": {}, "control": {"Fluency": True, "Verdict": False}, "text": {}}


def test_options_are_booleans_and_boxes_are_text(sheet):
    for name, field in sheet.items():
        if name.rpartition("-")[2].isdigit():
            assert all(isinstance(chosen, bool) for chosen in field["data"].values())
            assert {key: bool(words) for key, words in field["text"].items()} == field["data"], name
        elif name != "heds-criteria-criterion":
            assert all(isinstance(words, str) for words in field["data"].values())
            assert "text" not in field


def test_a_single_choice_has_at_most_one_option(sheet):
    for question in (question for question in QUESTIONS if question.kind == "one"):
        options = [sheet[f"heds-{question.id}-{n}"]["data"] for n in range(1, len(question.options) + 1)]
        assert all(sum(option[key] for option in options) <= 1 for key in options[0])


def test_the_study_answers_25_questions_and_the_lead_37(sheet):
    assert len(KNOWN.split()) == 25
    assert sorted(question.number for question in QUESTIONS if not question.asked) == sorted(KNOWN.split())
    assert sum(question.asked for question in QUESTIONS) == 37
    for question in (question for question in QUESTIONS if not question.asked):
        ids = [f"heds-{question.id}"] if question.kind == "text" else _options(question)
        for key in sheet[ids[0]]["data"]:
            assert any(sheet[name]["data"][key] for name in ids), question.number


def _options(question) -> list[str]:
    return [f"heds-{question.id}-{n}" for n in range(1, len(question.options) + 1)]


def test_the_datasheet_has_the_studys_agreement_and_scale(sheet, report):
    before = "heds-criteria-criterion-response_elicitation-"
    assert sheet[f"{before}size_of_scale"]["data"] == {"Fluency": "3", "Verdict": "3"}
    assert sheet[f"{before}list_or_range"]["data"]["Fluency"] == "1: Poor; 2; 3: Good"
    assert sheet[f"{before}form_of_response-2"]["data"] == {"Fluency": True, "Verdict": False}
    assert sheet[f"{before}form_of_response-7"]["data"] == {"Fluency": False, "Verdict": True}
    score = sheet[f"{before}inter_annotator-agreement_score"]["data"]["Fluency"]
    assert score.split()[1].rstrip(";") in report.files["report.html"].decode()
    assert sheet["heds-system-input_languages-42"]["text"] == {"": "42. English"}


@pytest.mark.long
def test_repeats_and_checks_are_in_the_datasheet(sheet, tmp_path, make_study):
    asked_twice = "heds-criteria-criterion-response_elicitation-intra_annotator-intra_annotator_agreement"
    quality = "heds-sample_evaluators_design-experimental_design-quality_assurance-description"
    assert sheet[asked_twice]["data"] == {"Fluency": "Not measured.", "Verdict": "Not measured."}
    assert "hidden" not in sheet[quality]["data"][""] and "a second time" not in sheet[quality]["data"][""]

    engine = opened(tmp_path)
    with database.writing(engine) as session:
        study, _, (who, other) = make_study(session, items=3)
        for fluency in (1, 2, 3):
            submit(session, study, who, full_answers(fluency=fluency))
        submit(session, study, other)
        for work in session.scalars(select(Assignment).where(Assignment.person_id == who.person_id)).all()[:2]:
            item = session.get_one(Item, work.item_id)
            rate(session, study, who, item, Purpose.repeat, (1, 2, 3), repeat_of=work.id)
        attention_item = add_check(session, study, Purpose.attention, 1)
        rate(session, study, who, attention_item, Purpose.attention, (1, 3, 1))
        rate(session, study, other, attention_item, Purpose.attention, (1, 1, 1))
        rate(session, study, other, add_check(session, study, Purpose.gold, 1), Purpose.gold, (1, 3, 1))
    report = report_of(engine, study)
    without = report_of(engine, study, Counted(annotators=frozenset({who.pseudonym})))
    engine.dispose()
    datasheet = json.loads(report.files["heds.json"])

    rows = (row for row in numbers(report) if row["part"] == "repeats")
    twice = {(row["criterion"], row["statistic"]): row["printed"] for row in rows}
    alpha, percent = twice["fluency", "alpha"], twice["fluency", "percent"]
    score = f"alpha: {alpha}; percent agreement: {percent}; rated twice: 6"
    assert datasheet[f"{asked_twice}_score"]["data"] == {"Fluency": score, "Verdict": "N/A"}
    assert datasheet[asked_twice]["data"]["Fluency"].startswith("Krippendorff's alpha (ordinal) and percent agreement")
    assert datasheet[asked_twice]["data"]["Verdict"] == "Not measured."
    words = datasheet[quality]["data"][""]
    assert "attention items hidden among the others: 2 given, 1 of them not answered as instructed" in words
    assert "gold items hidden among the others: 1 given, 1 of them answered as agreed beforehand" in words
    assert "items given a second time among the others: see 4.3.12" in words
    words = json.loads(without.files["heds.json"])[quality]["data"][""]
    assert "attention items hidden among the others: 1 given, 0 of them" in words and "gold items" not in words


def test_only_the_leads_power_analysis_is_in_the_datasheet(sheet, tmp_path, make_study):
    box = "heds-sample_evaluators_design-sample-statistical_power"
    assert [sheet[f"{box}-{name}"]["data"] for name in ("method", "value", "script")] == [{"": ""}] * 3

    engine = opened(tmp_path)
    with database.writing(engine) as session:
        study, lead, _ = make_study(session)
        heds_answers.store(
            session, study, {("3.1.3.2", ""): Answer(text="0.83, as the planner said")}, {}, lead.pseudonym
        )
    datasheet = json.loads(report_of(engine, study).files["heds.json"])
    engine.dispose()

    assert datasheet[f"{box}-value"]["data"] == {"": "0.83, as the planner said"}


def test_answers_are_stored_logged_and_in_the_file(tmp_path, make_study):
    engine = opened(tmp_path)
    answers = {
        ("1.1.1", ""): Answer((1,), "https://example.org/paper"),
        ("1.3.2.1", ""): Answer(text="Ada `L.`"),
        ("2.3", ""): Answer((10, 16)),
        ("4.1.1", "fluency"): Answer((2,)),
        ("5.1", ""): Answer(),
    }
    with database.writing(engine) as session:
        study, lead, _ = make_study(session)
        before = study.design_hash
        heds_answers.store(session, study, answers, {}, lead.pseudonym)
    with database.reading(engine) as session:
        *_, entry = log.entries(session, study)
        assert (entry.event.kind, entry.new) == (
            "datasheet answered",
            {"answers": 4, "changed": ["1.1.1", "1.3.2.1", "2.3", "4.1.1 fluency"]},
        )
        study = lifecycle.by_slug(session, study.slug)
        assert heds_answers.stored(study.settings["heds"]) == {
            place: answer for place, answer in answers.items() if answer
        }
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


def test_criteria_of_the_same_title_get_separate_tabs():
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
    datasheet = heds.heds_json({}, list(rubric.criteria))
    assert list(datasheet["heds-criteria-criterion"]["control"]) == ["Same (one)", "Same (two)"]


@pytest.mark.long
@pytest.mark.parametrize("withdrawn", [False, True])
def test_training_and_entry_test_are_those_that_took_place(sqlite_engine, withdrawn):
    """Workbooks skip both, and a study may set another test than its rubric, or none. Where those who had failed
    withdrew and their attempts were deleted, everybody who took it had passed."""
    training = """
  - key: one
    context: A question?
    candidates: [{text: First answer.}, {text: Second answer.}, {text: Third answer.}]
    references: [{criterion: fluency, slot: B, value: 2, reason: It reads well.}]
"""
    rubric = f"{SMALL_RUBRIC}{ENTRY_QUESTIONS}training:{training}"
    consent = Consent(after_withdrawal="delete")
    with database.writing(sqlite_engine) as session:
        plan = lifecycle.StudyPlan(title="Trained", seed="s")
        study = lifecycle.create_study(session, plan, rubric, draft_items(2), "lead")
        study.settings = stored(changed(study, entry=EntryRules(pass_percent=50), consent=consent))
        lifecycle.set_state(session, study, StudyState.open, "lead")
        in_browser, by_workbook = (join(session, study, add_person(session, name)) for name in ("ann", "ben"))
        submit(session, study, in_browser)
        entry_test.start(session, study, in_browser)
        answer_all(session, study, in_browser)
        submit(session, study, in_browser)
        turned_away = join(session, study, add_person(session, "cleo"))
        submit(session, study, turned_away)
        entry_test.start(session, study, turned_away)
        answer_all(session, study, turned_away, {"one": "a", "two": "b"})
        if withdrawn:
            withdrawal.withdraw(session, study, turned_away.pseudonym, "lead")
        book = workbooks.make(session, study, by_workbook.pseudonym, 2, "lead")
        filled = read_filled(Sheet(workbooks.file_of(session, study, book.id)).fill().saved())
        assert workbooks.take_back(session, study, filled, "lead").stored == 2

    files = report_of(sqlite_engine, study).files
    datasheet = files["heds.md"].decode()
    assert "1 training item, answered with feedback by 1 of 2 annotators." in datasheet
    test = "An entry test of 2 questions, with 50 % to pass: 1 of 2 people who took it passed, among them 1 of 2 "
    assert test in datasheet
    assert test in files["methods.txt"].decode()
    assert "In the log: 1 failed attempt at the entry test, whose right answers chose who rates" in datasheet
    assert "1 of 2 annotators began with 1 training item with feedback." in files["methods.txt"].decode()


@pytest.mark.long
def test_guidelines_approval_and_groups_are_stated_as_given(sqlite_engine, make_study):
    agreed = SMALL_RUBRIC.replace("title: Poor", "title: Disagree").replace("title: Good", "title: Agree")
    rng = random.Random(3)
    sections = "guidelines: [{title: Ties, text: Give both the same.}]\ndeviations: The scale had five points\n"
    with database.writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=4, rubric=agreed + sections)
        ethics = Ethics(approval="Board 7, no. 12", stored_until=date(2031, 1, 2))
        study.settings = stored(changed(study, ethics=ethics, group_field="topic"))
        for item in session.scalars(select(Item)):
            item.meta = {"topic": "even" if item.id % 2 else "odd"}
        for who in people * 4:
            submit(session, study, who, some_answers(rng))
    files = report_of(sqlite_engine, study).files
    datasheet, methods = files["heds.md"].decode(), files["methods.txt"].decode()
    assert "`Guidelines in 1 section.`" in datasheet
    assert "approved the experiment?: `Board 7, no. 12`" in datasheet
    assert "4.3.8 Form of the response: Agreement with a statement" in datasheet
    assert "The study was approved: Board 7, no. 12. Data are stored until 2031-01-02." in methods
    assert "Deviations from the original protocol: The scale had five points." in methods
    assert "by the field topic of the items file (2 groups of 4 items): errors of" in methods


@pytest.mark.parametrize(
    ("finished", "admitted", "words"),
    [
        (0, 0, "An entry test of 1 question, which nobody took."),
        (1, 0, "An entry test of 1 question, with 50 % to pass: 0 of 1 person who took it passed."),
    ],
)
def test_an_entry_test_admits_nobody_who_did_not_take_it(finished, admitted, words):
    """Where all ratings come from judges, "0 of 0 people who took it passed, among them all annotators" stood there."""
    before = BeforeWork(0, 0, 0, EntryTest("questions", 50, 2, 1), finished, admitted)
    assert before.tested == words


@pytest.mark.long
@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (EntryRules(pass_percent=100), "An entry test of 2 questions, with 100 % to pass"),
        (EntryRules(kind="none"), "No entry test at the end"),
    ],
)
def test_an_amended_entry_test_is_reported_with_the_earlier_one(sqlite_engine, rules, words):
    """The last rule was reported for all, or no test at all."""
    with database.writing(sqlite_engine) as session:
        plan = lifecycle.StudyPlan(title="Tested", seed="s")
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC + ENTRY_QUESTIONS, draft_items(1), "lead")
        study.settings = stored(changed(study, entry=EntryRules(pass_percent=50)))
        lifecycle.set_state(session, study, StudyState.open, "lead")
        who = join(session, study, add_person(session, "ann"))
        entry_test.start(session, study, who)
        answer_all(session, study, who)
        submit(session, study, who)
        design.amend(session, study, design.Parts(settings={"entry": rules.model_dump()}), "Wording.", "lead")
    files = report_of(sqlite_engine, study).files
    earlier = r" \(2 questions, with 50 % to pass until 20[-0-9]+ [0-9:]+ UTC\)"
    sentence = f"{words}{earlier}: 1 of 1 person who took it passed, among them all annotators\\."
    for name in ("methods.txt", "heds.md"):
        assert re.search(sentence, files[name].decode())


@pytest.mark.long
def test_neither_order_nor_judgements_are_claimed_where_there_are_none(sqlite_engine):
    """Where each item has one response, and a question that may stay open has no answer."""
    scale = "{kind: number, low: 0, high: 9}"
    optional = f"  - {{key: extra, title: Is it more?, definition: How much., required: false, scale: {scale}}}\n"
    drafts = [replace(draft, candidates=draft.candidates[:1]) for draft in draft_items(2)]
    with database.writing(sqlite_engine) as session:
        rubric = SMALL_RUBRIC.replace("explanation:", f"{optional}explanation:", 1)
        study, _, people = new_study(session, 2, 2, rubric, drafts)
        for who in people * 2:
            submit(session, study, who, full_answers("A"))

    files = report_of(sqlite_engine, study).files
    for name in ("heds.md", "methods.txt"):
        assert "Responses were shown without the names of their systems." in files[name].decode()
        assert "balanced" not in files[name].decode()
    methods = files["methods.txt"].decode()
    assert "They judged 2 criteria: Fluency" in methods
    assert "No answer counts under 1 criterion: Is it more? Responses" in methods

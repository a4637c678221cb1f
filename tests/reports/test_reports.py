"""A report of a study: one list of numbers behind every file, recomputed by the script in its zip."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import random
import re
import subprocess
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml
from helpers.ratings import exclude, submit
from helpers.reports import SECRET_WORDS, again, new_study, numbers, opened, report_of, some_answers, unpack
from helpers.studies import SMALL_RUBRIC, SYSTEMS, draft_items, full_answers, join, sure
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl import load_workbook
from sqlmodel import select

from triptych.formats.long_csv import write_csv
from triptych.people import accounts, roster
from triptych.reports import analysis, data, replay
from triptych.reports.build import ABOUT
from triptych.reports.numbers import Book
from triptych.reports.tables import tables_of
from triptych.results.criterion import spoken_number
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import build_frame
from triptych.results.study_analysis import StudyAnalysis
from triptych.stats.numbers import p_words, written
from triptych.storage import database
from triptych.storage.models import Assignment, Membership
from triptych.study import lifecycle
from triptych.study.system_names import system_names

ALONE = """
import runpy, sys
ALLOWED = {"numpy", "scipy", "stats", *sys.stdlib_module_names}
class Refuse:
    def find_spec(self, name, path=None, target=None):
        outermost = name.split(".")[0]
        if outermost not in ALLOWED and not outermost.startswith("_"):
            raise ImportError(f"{name} is not there")
sys.meta_path.insert(0, Refuse())
sys.path.insert(0, sys.argv[1])
sys.argv = ["analysis.py"]
runpy.run_path("analysis.py", run_name="__main__")
"""
NOT_A_NUMBER = re.compile(r"(?<![\w-])[+-]?(nan|inf|infinity)(?!\w)", re.IGNORECASE)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """(engine, study, lead, annotators): six annotators over four items, a seventh excluded."""
    engine, rng = opened(tmp_path_factory.mktemp("reports")), random.Random(7)
    with database.writing(engine) as session:
        study, lead, people = new_study(session, items=4, annotators=7)
        for _ in range(4):
            for who in people:
                submit(session, study, who, some_answers(rng), seconds=30.6)
        exclude(session, study, people[-1])
        membership = select(Membership).where(Membership.person_id == people[-1].person_id)
        session.scalars(membership).one().excluded_reason = "=too fast"
    yield engine, study, lead, people
    engine.dispose()


@pytest.fixture(scope="module")
def report(filled):
    engine, study, *_ = filled
    return report_of(engine, study, figures=True)


def test_the_reports_script_recomputes_every_number(report, tmp_path):
    folder = unpack(report, tmp_path / "report")

    done = run_alone(folder)

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert f"{len(numbers(report))} numbers, 0 differences. Snapshot {report.sha256[:12]}." in done.stdout


def run_alone(folder):
    """analysis.py in a fresh interpreter that can import only NumPy, SciPy and the standard library."""
    command = [sys.executable, "-I", "-c", ALONE, str(folder)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "pattern", "planted", "sentence"),
    [
        ("ratings.csv", r",3\.0,", ",1.0,", "its files give"),
        ("results.csv", r"(,alpha low,[^,]+,number,)[^\r]+", r"\g<1>0.99", "the report says 0.99"),
        ("results.csv", r"[^\r\n]+,mean,[^\r]+\r\n", "", "is not in the report"),
        ("results.csv", r"[0-9a-f]{64},study,", "0" * 64 + ",study,", "') belongs to another snapshot.\n"),
        ("snapshot.json", r"\n", "\n\n", "snapshot.json is not the file of this snapshot.\n"),
    ],
)
def test_the_script_run_alone_finds_a_planted_difference(report, tmp_path, name, pattern, planted, sentence):
    folder = unpack(report, tmp_path / "report")
    text = (folder / name).read_bytes().decode()
    (folder / name).write_bytes(re.sub(pattern, planted, text, count=1).encode())

    done = run_alone(folder)

    assert (done.returncode, done.stderr) == (1, ""), done.stderr
    assert sentence in done.stdout


@pytest.mark.long
def test_the_script_run_alone_reads_long_names_of_groups(report, tmp_path):
    """Beyond 131,072 characters it ended in an error of Python's module for CSV."""
    folder = unpack(report, tmp_path / "report")
    text = (folder / "ratings.csv").read_bytes().decode()
    (folder / "ratings.csv").write_bytes(text.replace(",item-1,,,", f",{'g' * 140_000},,,").encode())

    done = run_alone(folder)

    assert (done.returncode, done.stderr) == (1, "")
    assert "ratings.csv is not the file of this snapshot.\n" in done.stdout
    assert " 1 differences." in done.stdout


def test_a_changed_rating_makes_the_script_name_the_numbers(report, tmp_path, monkeypatch):
    rows = report.files["ratings.csv"].decode().replace(",3.0,", ",1.0,", 1)
    changed = type(report)(**{**vars(report), "files": {**report.files, "ratings.csv": rows.encode()}})

    wrong = again(changed, tmp_path / "changed", monkeypatch)

    assert "ratings.csv is not the file of this snapshot." in wrong
    assert any("'fluency'" in words and "'mean'" in words and "the report says" in words for words in wrong)


def test_a_changed_number_makes_the_script_fail(report, tmp_path, monkeypatch):
    rows = report.files["results.csv"].decode()
    changed = re.sub(r"(,alpha low,[^,]+,number,)[^\r]+", r"\g<1>0.99", rows, count=1)
    other = type(report)(**{**vars(report), "files": {**report.files, "results.csv": changed.encode()}})

    assert any("the report says 0.99" in words for words in again(other, tmp_path / "other", monkeypatch))


def test_a_changed_style_makes_the_script_fail(report, tmp_path, monkeypatch):
    rows = report.files["results.csv"].decode()
    changed = re.sub(r"(,alpha low,[^,]+),number,", r"\1,share,", rows, count=1)
    other = type(report)(**{**vars(report), "files": {**report.files, "results.csv": changed.encode()}})

    (wrong,) = again(other, tmp_path / "other", monkeypatch)
    assert "(share), its files give" in wrong and wrong.endswith("(number).")


def test_every_file_names_the_snapshot_or_is_listed_there(report):
    listed = json.loads(report.files["snapshot.json"])["files"]
    assert hashlib.sha256(report.files["snapshot.json"]).hexdigest() == report.sha256
    for name, content in report.files.items():
        if name in listed:
            assert hashlib.sha256(content).hexdigest() == listed[name]
        elif name.endswith(".xlsx"):
            assert load_workbook(io.BytesIO(content))["numbers"]["A2"].value == report.sha256
        elif name.endswith(".parquet"):
            assert pq.read_schema(io.BytesIO(content)).metadata[b"snapshot"].decode() == report.sha256
        elif name != "snapshot.json" and not name.startswith("stats/"):
            assert report.sha256.encode() in content, name
    assert {re.sub("/.*", "/", name) for name in report.files} == {*ABOUT, "README.md"}
    assert sorted(zipfile.ZipFile(io.BytesIO(report.zip)).namelist()) == sorted(
        f"report-b-me-b-50-report-{report.sha256[:12]}/{name}" for name in report.files
    )


def test_all_tables_print_the_numbers_of_the_csv(report):
    tex, page = (report.files[name].decode() for name in ("results.tex", "report.html"))
    sheet = load_workbook(io.BytesIO(report.files["results.xlsx"]))["results"]
    cells = {cell.value for row in sheet.iter_rows() for cell in row}
    by_place = {
        tuple(row[name] for name in ("part", "criterion", "system", "statistic")): row for row in numbers(report)
    }
    for criterion, share in (("fluency", False), ("verdict", True)):
        for system in ("System 1", "System 2", "System 3"):
            mean, low, high = (
                by_place["systems", criterion, system, name] for name in ("mean", "interval low", "interval high")
            )
            cell = f"{mean['printed']} [{low['printed']}, {high['printed']}]"
            assert cell in page
            assert cell in cells
            assert cell.replace("%", r"\%").replace("[", "{[}").replace("]", "{]}") in tex
            assert mean["printed"] == spoken_number(float(mean["value"]), share)
    table = pq.read_table(io.BytesIO(report.files["results.parquet"])).to_pylist()
    assert [(row["statistic"], row["printed"]) for row in table] == [
        (row["statistic"], row["printed"]) for row in numbers(report)
    ]


@pytest.mark.long
def test_a_report_made_again_has_the_same_bytes(filled, report):
    engine, study, *_ = filled
    again = report_of(engine, study, figures=True)
    assert again.sha256 == report.sha256
    assert [name for name, content in again.files.items() if content != report.files[name]] == []


def test_a_hash_depends_on_filters(filled, report):
    engine, study, *_ = filled
    assert report_of(engine, study, Counted(with_excluded=True)).sha256 != report.sha256


@pytest.mark.long
def test_a_report_counts_with_and_without_excluded_annotators(filled, report, tmp_path, monkeypatch):
    engine, study, *_ = filled
    everybody = report_of(engine, study, Counted(with_excluded=True))
    counted = [
        next(row["printed"] for row in numbers(version) if row["statistic"] == "annotators")
        for version in (report, everybody)
    ]
    assert counted == ["6", "7"]
    assert again(everybody, tmp_path / "everybody", monkeypatch) == []


def test_exclusions_say_who_when_why_and_whether_they_count(filled, report):
    _, _, _, people = filled
    (row,) = csv.DictReader(io.StringIO(report.files["exclusions.csv"].decode()))
    assert (row["what"], row["which"], row["who"]) == ("annotator", people[-1].pseudonym, "P-lead")
    assert row["when"].endswith("Z")
    assert (row["reason"], row["annotations"], row["in the numbers"]) == ("'=too fast", "4", "0")


def test_a_blind_report_holds_no_system_name_and_no_seed(filled, report):
    for name, content in report.files.items():
        assert not any(system.encode() in content.lower() for system in SYSTEMS), name
        assert b"fixed|" not in content
    assert b"System 3" in report.files["ratings.csv"]


@pytest.mark.long
def test_an_unblinded_report_has_names_and_order_seeds(tmp_path, monkeypatch):
    engine, rng = opened(tmp_path), random.Random(1)
    with database.writing(engine) as session:
        study, lead, people = new_study(session, items=2, annotators=2)
        for who in people * 2:
            submit(session, study, who, some_answers(rng))
        lifecycle.unblind(session, study, sure(lead))
    report = report_of(engine, study)

    rows = list(csv.DictReader(io.StringIO(report.files["assignments.csv"].decode())))
    assert {row["made_again"] for row in rows} == {"1"}
    assert all(row["tie_seed"].startswith(f"fixed|{row['annotator']}|") for row in rows)
    assert all(set(json.loads(row["shown"])) == set(SYSTEMS) for row in rows)
    assert again(report, tmp_path / "named", monkeypatch) == []
    engine.dispose()


def test_a_report_marks_what_a_lead_rated_after_the_unblinding(sqlite_engine):
    with database.writing(sqlite_engine) as session:
        study, lead, people = new_study(session, items=2, annotators=3)
        join(session, study, lead)
        before = submit(session, study, people[0])
        lifecycle.unblind(session, study, sure(lead))
        late = [submit(session, study, who) for who in (lead, people[1])][0]
        roster.enrol_lead(session, study, accounts.create_lead(session, "Ada", "passcode of a lead"), lead.pseudonym)
        session.flush()
        roster.remove_lead(session, study, lead.pseudonym, sure(lead))  # knew the names all the same
    report = report_of(sqlite_engine, study)

    rows = list(csv.DictReader(io.StringIO(report.files["annotations.csv"].decode())))
    assert {row["annotation"] for row in rows if row["after_unblinding"] == "1"} == {str(late.id)}
    assert {row["annotation"] for row in rows} > {str(before.id), str(late.id)}
    assert "after_unblinding" in json.loads(report.files["codebook.json"])["columns"]


@pytest.mark.long
def test_a_report_shows_what_is_unusual_about_single_annotators(sqlite_engine):
    rng = random.Random(2)
    with database.writing(sqlite_engine) as session:
        study, _, people = new_study(session, items=4, annotators=3)
        for _ in range(4):
            for who in people:
                submit(session, study, who, full_answers(verdict="unsure") if who is people[0] else some_answers(rng))
    report = report_of(sqlite_engine, study)

    sentence = f"{people[0].pseudonym}: 12 of 24 answers are marked missing."
    rows = load_workbook(io.BytesIO(report.files["results.xlsx"]))["findings"].values
    assert sentence in [row[0] for row in rows]
    assert f'<li dir="auto">{sentence}</li>' in report.files["report.html"].decode()


def test_orders_follow_from_their_seed_only(filled):
    engine, study, *_ = filled
    with database.reading(engine) as session:
        shown = replay.shown_in(session, study)
        assignments = select(Assignment.id).where(Assignment.study_id == study.id)
        assert [assignment.number for assignment in shown] == list(session.scalars(assignments.order_by(Assignment.id)))
    assert list(replay.replayed(shown, "fixed")) == [assignment.systems for assignment in shown]
    assert list(replay.replayed(shown, "another")) != [assignment.systems for assignment in shown]


def test_no_text_that_an_annotator_wrote_is_in_a_report(report):
    files_with_text = [name for name, content in report.files.items() if SECRET_WORDS.encode() in content]
    assert files_with_text == []


def test_agreement_on_highlights_is_printed_without_quotes(report):
    rows = list(csv.DictReader(io.StringIO(report.files["highlights.csv"].decode())))
    assert len(rows) == 6 * 4 * 3
    assert {(row["start"], row["end"], row["label"]) for row in rows} == {
        ("", "", ""),
        ("0", "4", "bad"),
        ("0", "6", "bad"),
    }
    sheet = load_workbook(io.BytesIO(report.files["results.xlsx"]))["highlights"]
    table = {row[0]: row[1:] for row in sheet.iter_rows(values_only=True)}
    assert table["Label"][3:6] == ("F1, same passage", "F1, overlapping", "Alpha over characters")
    assert table["Any label"][:2] == ("12", "24")
    assert 0 <= float(table["Any label"][3]) <= float(table["Any label"][4]) <= 1


def test_the_citation_file_is_what_its_format_asks(report):
    citation = yaml.safe_load(report.files["CITATION.cff"])
    assert {"cff-version", "title", "message", "authors"} <= citation.keys()
    assert citation["cff-version"] == "1.2.0"
    assert all(author["name"] for author in citation["authors"])


ALL_ALIKE = full_answers(fluency=2, verdict="accept")
ALL_MISSING = full_answers(fluency=1, verdict="unsure")
ONE_SYSTEM = [
    type(draft)(**{**vars(draft), "candidates": draft.candidates[:1]}) for draft in draft_items(2)
]  # fmt: skip
ONLY_A = {"ratings": {"A": {"fluency": 2, "verdict": "accept"}}}
ABOUT_ITEMS = """
key: odd
title: Odd kinds
summary: One of each kind that cannot be compared, and best.
instructions: Answer.
criteria:
  - {key: best, title: Best, definition: Pick., about: item, scale: {kind: best}}
  - {key: whole, title: Whole, definition: Rate., about: item, scale: {kind: number, low: 0, high: 100}}
  - key: kind
    title: Kind
    definition: Choose.
    scale: {kind: choice, options: [{key: one, title: One}, {key: two, title: Two}]}
"""
ODD = {
    "ratings": {"item": {"best": ["B"], "whole": 30}, **{letter: {"kind": "one"} for letter in "ABC"}},
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("annotators", "rubric", "drafts", "answers"),
    [
        pytest.param(1, SMALL_RUBRIC, None, [], id="no rating"),
        pytest.param(1, SMALL_RUBRIC, None, [some_answers(random.Random(3))], id="one annotator, one item"),
        pytest.param(3, SMALL_RUBRIC, None, [ALL_ALIKE, ALL_ALIKE], id="all alike"),
        pytest.param(2, SMALL_RUBRIC, None, [ALL_MISSING, ALL_MISSING], id="every verdict missing"),
        pytest.param(2, SMALL_RUBRIC, ONE_SYSTEM, [ONLY_A, ONLY_A], id="one system"),
        pytest.param(2, ABOUT_ITEMS, None, [ODD, ODD], id="nothing to compare"),
    ],
)
def test_a_degenerate_study_prints_words_and_no_nan(annotators, rubric, drafts, answers, tmp_path, monkeypatch):
    engine = opened(tmp_path)
    with database.writing(engine) as session:
        study, _, people = new_study(session, 2, annotators, rubric, drafts)
        for answer in answers:
            for who in people:
                submit(session, study, who, answer)
    report = report_of(engine, study)
    engine.dispose()

    for name, content in report.files.items():
        if not name.endswith((".xlsx", ".parquet", ".pdf", ".py")):
            assert not NOT_A_NUMBER.search(content.decode()), name
    undefined = [row for row in numbers(report) if not row["value"]]
    assert undefined
    assert all(re.search(r"[a-z]", row["printed"]) for row in undefined)
    assert again(report, tmp_path / "report", monkeypatch) == []


def test_a_median_of_seconds_keeps_its_decimals_in_results(tmp_path, monkeypatch):
    engine = opened(tmp_path)
    with database.writing(engine) as session:
        study, _, people = new_study(session, 1, 2)
        for who in people:
            submit(session, study, who, seconds=40.8)
    report = report_of(engine, study)
    engine.dispose()
    seconds = [(row["value"], row["printed"]) for row in numbers(report) if row["statistic"] == "seconds"]
    assert seconds == [("40.8", "41"), ("40.8", "41")]
    assert again(report, tmp_path / "report", monkeypatch) == []


@pytest.fixture(scope="module")
def frame(filled):
    """The study's frame, the names of its systems, and no annotator excluded."""
    engine, study, *_ = filled
    with database.reading(engine) as session:
        study = lifecycle.by_slug(session, study.slug)
        return build_frame(session, study), system_names(session, study)


@pytest.mark.long
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6), row_share=st.floats(0, 1), points=st.sampled_from([[2.0], [1.0, 3.0], [1.0, 2.0, 3.0]])
)
def test_any_ratings_give_finite_numbers_or_reasons(seed, row_share, points, frame, report, tmp_path):
    of_study, names = frame
    rng = np.random.default_rng(seed)
    rows = of_study.ratings.sample(frac=row_share, random_state=seed).reset_index(drop=True)
    options = rng.choice(["accept", "reject", "unsure"], len(rows), p=rng.dirichlet([0.3] * 3))
    is_choice = (rows["criterion"] == "verdict").to_numpy()
    rows["option"] = pd.Categorical(pd.Series(options).where(is_choice), rows["option"].cat.categories)
    rows["missing"] = is_choice & (options == "unsure")
    rows["value"] = np.where(is_choice, np.nan, rng.choice(points, len(rows)))
    results = StudyAnalysis(replace(of_study, ratings=rows), Counted(with_excluded=bool(seed % 2)), names)
    book = Book.of(results)

    assert all(number.printed for number in book.numbers)
    assert all(number.value is None or math.isfinite(number.value) for number in book.numbers)
    assert all(cell.text for table in tables_of(results, book) for row in table.rows for cell in row[:-1])
    (tmp_path / "codebook.json").write_bytes(report.files["codebook.json"])
    for name, header, lines in (
        ("ratings", data.RATINGS_HEADER, data.rating_rows(results)),
        ("repeats", data.RATINGS_HEADER, []),
        ("annotations", data.ANNOTATIONS_HEADER, data.annotation_rows(results, {})),
        ("highlights", data.HIGHLIGHTS_HEADER, []),
    ):
        (tmp_path / f"{name}.csv").write_text("".join(write_csv(lines, header)), encoding="utf-8", newline="")
    again = {number.place: number.value for number in analysis.recomputed(tmp_path)}
    assert again.keys() == {number.place for number in book.numbers}
    for listed in book.numbers:
        value = again[listed.place]
        assert (value is None) == (listed.value is None), listed
        assert listed.value is None or value == pytest.approx(listed.value, rel=1e-9, abs=1e-9), listed


def test_the_report_script_restores_texts_of_its_files(tmp_path):
    texts = ["=1", "so;=1", 'so;"=1"', "so\n- one\n'- two", "'so'"]
    (tmp_path / "texts.csv").write_text("".join(write_csv([[text] for text in texts], ["text"])), newline="")
    assert [row["text"] for row in analysis.read_rows(tmp_path / "texts.csv")] == texts


def test_neither_negative_zero_nor_a_p_of_zero_is_written():
    styles = ("number", "difference", "share", "points", "count")
    assert [written(-1e-12, style) for style in styles] == ["0.00", "0.00", "0 %", "0 pp", "0"]
    assert written(1e-9, "p") == "< 0.001"
    assert written(0.12500000000000003, "number") == written(0.125, "number")
    assert (written(-0.315, "points"), written(0.5, "difference")) == ("-32 pp", "+0.50")


def test_no_p_is_written_as_the_bound_it_misses():
    p_values = (0.0494, 0.0496, 0.04999, 0.05, 0.0501, 0.0506)
    assert [written(p, "p") for p in p_values] == ["0.049", "0.0496", "0.04999", "0.050", "0.0501", "0.051"]
    # bounds of values of a declared field, and before collection is over
    shared = [(0.0073166, 0.05 / 7), (0.0070, 0.05 / 7), (0.0005, 0.05 / 7), (0.0002, 0.001 / 7), (0.0123, 0.001 / 7)]
    assert [p_words(p, bound) for p, bound in shared] == [
        "p = 0.0073",
        "p = 0.007",
        "p < 0.001",
        "p = 0.0002",
        "p = 0.012",
    ]

"""Ratings from elsewhere become one whole study, or none: rubric, people, slots, ratings, highlights, events."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.frames import criterion_results
from helpers.present import present
from helpers.ratings import submit
from helpers.ratings_import import public_set, read
from helpers.reports import again
from helpers.studies import SMALL_RUBRIC, add_person, join, sure
from sqlalchemy import event, func, select, update

from triptych.annotate import exclusions
from triptych.cli.main import main
from triptych.errors import Conflict, ImportRefused, InvalidRubric, NotAllowed
from triptych.exchange import import_ratings
from triptych.formats import read_items
from triptych.formats.ratings import read_ratings
from triptych.formats.ratings.assemble import Assembled, assemble
from triptych.formats.ratings.model import in_group
from triptych.formats.ratings_csv import RATINGS_HEADER
from triptych.operations import verify
from triptych.people import accounts
from triptych.privacy import personal_data
from triptych.reports.build import build_report
from triptych.results.caveats import caveats
from triptych.results.criterion import criterion_ratings
from triptych.results.frame.counted import counted_ratings
from triptych.results.frame.csv_rows import export_ratings
from triptych.results.frame.highlights import highlight_counts, highlights_of_item
from triptych.results.frame.model import Counted, Frame
from triptych.results.frame.upkeep import frame_of
from triptych.results.judges import judges
from triptych.results.looking import log_look
from triptych.results.progress import overview
from triptych.results.study_analysis import StudyAnalysis
from triptych.stats.analysis.listing import Listing
from triptych.stats.correlation import segment_correlation
from triptych.storage import database, events
from triptych.storage.models import (
    Assignment,
    Event,
    EventDetail,
    Explanation,
    Highlight,
    Item,
    Membership,
    Person,
    Rating,
    Role,
    Slot,
    Study,
    StudyState,
    System,
)
from triptych.study import launch, lifecycle
from triptych.study.annotator_groups import late_groups
from triptych.study.duplicate import duplicate
from triptych.study.lifecycle import StudyPlan
from triptych.study.settings import settings_of
from triptych.study.system_names import system_names
from triptych.web.session import web_engine

LONG = "item_id,system,annotator,criterion,value\n"
ROWS = LONG + "1,m,w1,fluency,4\n1,m,w2,fluency,5\n1,n,w1,fluency,2\n2,m,w1,fluency,3\n"
ITEMS = b"item_id,context,cand:m,cand:n\n1,Why?,So it is,Thus\n2,How?,Like this,Or that\n"
JUDGED = LONG + "1,m,big-model,fluency,1\n"
TEXTS = "methods.txt", "heds.md", "preregistration.md"
EVERYONE = Counted(frozenset({"human", "judge"}))


def together(*texts: str, items: bytes | None = None, rubric: str | None = None, judge: str = "") -> Assembled:
    files = [read(text, f"file{n}.csv") for n, text in enumerate(texts)]
    files += [read(judge, "judge.csv", "judge")] if judge else []
    if rubric:
        asked = import_ratings.asked_by(rubric, files)
    else:
        asked = import_ratings.asked_as_proposed("Imported", files, import_ratings.proposed(files))
    return assemble(files, asked, read_items(items, "items.csv") if items else None)


def problems_of(ratings: Assembled, severity: str = "error") -> list[str]:
    return [str(problem) for problem in ratings.problems if problem.severity == severity]


def means(frame: Frame, session: Any, study: Study) -> dict[tuple[str, str], float]:
    query = select(System.blind_code, System.name).where(System.study_id == study.id)
    names = dict(session.execute(query).all())
    rows = frame.ratings.assign(name=frame.ratings["system"].map(names))
    return rows.groupby(["name", "criterion"], observed=True)["value"].mean().to_dict()


def test_a_table_without_texts_becomes_a_closed_study(imported):
    study, frame, session = imported(together(ROWS))

    assert (study.state, study.access, study.raters_per_item) == ("closed", "invited", 2)
    assert means(frame, session, study) == {("m", "fluency"): 4.0, ("n", "fluency"): 2.0}
    view = overview(session, study, Counted())
    assert (view.done, view.expected, view.items_complete) == (3, 3, 2)
    assert present(criterion_results(frame)[0].agreement.table).units == 1


def test_only_the_people_table_holds_names(imported):
    study, frame, session = imported(together(ROWS, judge=LONG + "1,m,big-model,fluency,1\n"))

    people = session.scalars(select(Person).where(Person.role == Role.annotator)).all()
    assert {(person.kind, person.name) for person in people} == {
        ("human", "w1"),
        ("human", "w2"),
        ("judge", "big-model"),
    }
    assert all(person.pseudonym[:2] == ("J-" if person.kind == "judge" else "A-") for person in people)
    assert set(frame.ratings["annotator"].astype(str)) == {person.pseudonym for person in people}
    details = session.scalars(select(Event.actor).where(Event.study_id == study.id)).all()
    assert "w1" not in str(details)


@pytest.mark.parametrize(
    ("column", "values", "items", "problem"),
    [
        ("context", ("On cats", "On taxes"), None, "item '1' has another text in file1.csv than in file0.csv."),
        ("response", ("Cats", "Taxes"), None, "item '1', system 'm', has another text in file1.csv than in file0.csv."),
        ("item group", ("cats", "taxes"), None, "item '1' has another group in file1.csv than in file0.csv."),
        ("context", ("On cats", "On  cats\t"), ITEMS, "item '1' has another text in the items than in file1.csv."),
        ("context", ("On cats", "On  cats\t"), None, None),
    ],
)
def test_one_id_for_different_items_of_two_files_is_refused(column, values, items, problem):
    one, two = (LONG.replace("value", f"value,{column}") + f"1,m,w{n},fluency,4,{values[n]}\n" for n in (0, 1))

    refused = problems_of(together(one, two, items=items))

    assert [sentence.partition(" Give ")[0] for sentence in refused[:1]] == [problem][: bool(problem)]


def test_items_without_an_id_are_the_same_by_their_context():
    """They were numbered in each file, from 1."""
    header = "HITId,WorkerId,AssignmentStatus,Input.context,Input.model,Answer.fluency\n"
    first = header + "H1,w1,Approved,On cats,m,4\nH2,w1,Approved,On dogs,m,3\n"
    second = header + "H3,w2,Approved,On taxes,m,4\nH4,w2,Approved,On dogs,m,2\n"

    ratings = together(first, second)

    assert problems_of(ratings) == []
    assert [item.context_text for item in ratings.items] == ["On cats", "On dogs", "On taxes"]
    assert sum(work.item == ratings.items[1].external_id for work in ratings.works) == 2


def test_the_log_names_no_imported_file(imported):
    """A file of one annotator is often named after them."""
    file = read(ROWS, "Wilhelmina-ratings.csv")
    study, _, session = imported(
        assemble([file], import_ratings.asked_as_proposed("Imported", [file], import_ratings.proposed([file])))
    )

    events.write_pending(session)
    logged = session.scalars(select(EventDetail.new).join(Event).where(Event.study_id == study.id)).all()
    assert {"files": 1}.items() <= next(new for new in logged if "files" in new).items()
    assert "Wilhelmina" not in str(logged)


def test_a_judge_counts_only_on_request(imported):
    study, frame, session = imported(together(ROWS, judge=LONG + "1,m,big-model,fluency,1\n2,m,big-model,fluency,1\n"))

    assert len(counted_ratings(frame, Counted())) == 4
    assert len(counted_ratings(frame, EVERYONE)) == 6
    origins = session.execute(select(Assignment.origin, func.count()).group_by(Assignment.origin)).all()
    assert dict(map(tuple, origins)) == {"import": 3, "judge": 2}
    assert overview(session, study, Counted()).done == 3


PEOPLE = LONG + "".join(
    f"{item},{system},w{who},fluency,{1 + (item + place + who) % 3}\n"
    for item in range(12)
    for place, system in enumerate("mno")
    for who in range(2)
)
SCORES = LONG + "".join(
    f"{item},{system},bleu,{{name}},{0.1 + 0.1 * ((item + place) % 3)}\n"
    for item in range(12)
    for place, system in enumerate("mno")
)


@pytest.mark.parametrize("name", ["fluency", "bertscore"])
@pytest.mark.parametrize("rubric", [None, SMALL_RUBRIC], ids=["a proposed rubric", "the lead's rubric"])
def test_a_metric_is_correlated_and_leaves_the_scale_unchanged(imported, name, rubric):
    ratings = together(PEOPLE, judge=SCORES.format(name=name), rubric=rubric)
    study, frame, session = imported(ratings)

    (fluency,) = (criterion.scale for criterion in frame.rubric.criteria if criterion.key == "fluency")
    assert (fluency.kind, fluency.level, [*fluency.values][0], len(fluency.values)) == ("likert", "ordinal", 1, 3)
    metric = frame.rubric.criteria[-1]
    assert metric.title == ("fluency (judge)" if name == "fluency" else name)
    (judge,) = judges(frame, Counted(), criterion_ratings(frame, Counted()))
    assert (judge.criterion, judge.scores, judge.shared) == ("fluency", metric.key, 36)
    assert judge.within_items.kendall.value == segment(PEOPLE, SCORES)
    assert verify.verify(session, session.get_one(Study, study.id)).holds
    assert ratings.asked.scores == {metric.key}


@pytest.mark.long
def test_a_report_says_neither_metrics_nor_unrated_systems_were_judged(imported, tmp_path, monkeypatch):
    lines = "".join(f"{item},Why {item}?,So,Thus,Hence,Never rated\n" for item in range(12))
    items = f"item_id,context,cand:m,cand:n,cand:o,cand:p\n{lines}".encode()
    study, frame, session = imported(together(PEOPLE, items=items, judge=SCORES.format(name="bertscore")))
    report = build_report(session, study)

    assert "rated responses of 3 of 4 systems to 12 of 12 items" in report.files["methods.txt"].decode()
    assert re.search(r"No response of System \d was rated", report.files["report.html"].decode())
    assert re.search(r"Outputs per system: .*System \d: 0", report.files["heds.md"].decode())
    assert "They judged 1 criterion: fluency (3 points, ordinal)." in report.files["methods.txt"].decode()
    assert json.loads(report.files["heds.json"])["heds-criteria-criterion"]["control"] == {"fluency": True}
    assert again(report, tmp_path / "report", monkeypatch) == []


def segment(people: str, scores: str) -> Any:
    """Kendall's tau-b within items of the tables themselves."""
    rows, given_scores = (pd.read_csv(io.StringIO(text)) for text in (people, scores))
    both = rows.merge(given_scores, on=["item_id", "system"], suffixes=("", "_of_metric"))
    columns = (both[column] for column in ("value", "item_id", "system", "value_of_metric"))
    return pytest.approx(segment_correlation(*columns).kendall.value)


def test_a_continued_study_does_not_ask_people_for_judge_scores(imported):
    scores = LONG + "1,m,bleu,bertscore,0.2\n1,n,bleu,bertscore,0.3\n"
    with pytest.raises(ImportRefused, match="asked for bertscore, which only judges scored"):
        imported(together(ROWS, judge=scores, items=ITEMS), stays_open=True)
    study, _, _ = imported(together(LONG + "1,m,w,fluency,2\n", judge=JUDGED, items=ITEMS), stays_open=True)
    assert study.state == "open"


@pytest.mark.long
def test_a_continued_import_vouches_for_annotations_made_here_only(imported):
    study, _, session = imported(together(ROWS, items=ITEMS), stays_open=True, raters=3)
    who = join(session, study, add_person(session, "ann"))
    for _ in range(2):
        submit(session, study, who, {"ratings": {slot: {"fluency": 3} for slot in "AB"}})
    files = {name: content.decode() for name, content in build_report(session, study).files.items() if name in TEXTS}

    said = (
        "3 of 5 annotations were collected elsewhere and imported; what annotators saw, and in which order, is unknown."
    )
    assert f"{said} How responses were shown and items assigned, below, is about the others only. " in files[TEXTS[0]]
    unknown = "Unknown for 3 of 5 annotations, which were made elsewhere and imported. For the others: "
    for number in ("3.1.2", "3.2.4", "3.3.2", "3.3.4.1", "3.3.4.2", "3.3.5", "4.3.2", "4.3.7"):
        (line,) = re.findall(rf"^- {re.escape(number)} .*$", files["heds.md"], re.MULTILINE)
        assert unknown in line
    assert "what was declared before them is unknown" in files["preregistration.md"]


def test_human_ratings_without_a_known_scale_are_errors():
    words = LONG + "".join(f"{n},m,gpt,why,because {n}\n" for n in range(20))
    errors = problems_of(together(LONG + "1,m,w,grace,3\n1,m,w,fluency,3\n", judge=words, rubric=SMALL_RUBRIC))
    assert ["'grace'" in errors[0], "'why'" in errors[1], len(errors)] == [True, True, 2]


def test_systems_stay_blind_until_the_lead_unblinds(imported):
    study, _, session = imported(together(ROWS))

    assert set(system_names(session, study).values()) == {"System 1", "System 2"}
    lifecycle.unblind(session, study, sure("L-1"))
    assert set(system_names(session, study).values()) == {"m", "n"}


def test_positions_are_unknown_unless_the_file_has_them(imported):
    header = "item_id,system,annotator,criterion,value,position\n"
    _, frame, session = imported(together(header + "1,m,w,c,4,2\n1,n,w,c,3,\n1,o,w,c,5,0\n"))

    slots = session.scalars(select(Slot).order_by(Slot.position)).all()
    assert [(slot.position, slot.order_known) for slot in slots] == [(0, True), (1, False), (2, True)]
    assert sorted(frame.ratings["position"]) == [-1, 0, 2]


def test_imported_annotations_are_numbered_in_the_order_of_their_times(imported):
    """What an annotator read of a context before depends on it."""
    header = "item_id,system,annotator,criterion,value,submitted_at\n"
    rows = "1,m,w,c,4,2026-03-02T10:00:00Z\n2,m,w,c,3,2026-03-01T10:00:00Z\n3,m,w,c,3,\n"
    _, frame, _ = imported(together(header + rows))
    assert frame.work.sort_values("assignment")["item"].tolist() == ["2", "1", "3"]


@pytest.mark.parametrize("positions", ["0,0", "9,1", "-1,0"])
def test_positions_that_cannot_be_are_errors(positions):
    first, second = positions.split(",")
    header = "item_id,system,annotator,criterion,value,position\n"
    assert "position" in problems_of(together(header + f"1,m,w,c,4,{first}\n1,n,w,c,3,{second}\n"))[0]


def test_a_repeated_rating_is_refused_with_both_rows(imported):
    ratings = together(LONG + "i1,s,w1,c,3\ni1,s,w1,c,5\ni1,s,w2,c,4\n")

    assert "Row 3" in problems_of(ratings)[0]
    assert "row 2" in problems_of(ratings)[0]
    with pytest.raises(ImportRefused):
        imported(ratings)


def test_a_repeat_in_the_file_stays_a_repeat(imported):
    study, frame, session = imported(
        together("item_id,system,annotator,criterion,value,repeat\ni1,s,w1,c,3,\ni1,s,w1,c,5,second\n")
    )

    assert frame.ratings["value"].tolist() == [3]
    first, again = session.scalars(select(Assignment).order_by(Assignment.id)).all()
    assert (again.purpose, again.repeat_of) == ("repeat", first.id)
    assert [row[RATINGS_HEADER.index("value")] for row in export_ratings(session, study)] == [3, 5]
    alone = together("item_id,system,annotator,criterion,value,repeat\ni1,s,w1,c,5,second\n")
    assert "without having rated it before" in problems_of(alone)[0]


def test_a_second_repeat_of_an_item_is_refused(imported):
    header = "item_id,system,annotator,criterion,value,repeat\n"
    ratings = together(header + "i1,s,w1,c,3,\ni1,s,w1,c,5,second\ni1,s,w1,c,4,third\n")

    assert "Row 4: 'w1' rated item 'i1' more than twice" in problems_of(ratings)[0]
    with pytest.raises(ImportRefused):
        imported(ratings)


def test_an_empty_value_has_no_row_and_counts_nowhere(imported):
    _, frame, session = imported(together(LONG + "i1,s1,w,c,90\ni2,s1,w,c,92\ni1,s2,w,c,91\ni2,s2,w,c,\n"))

    system = criterion_results(frame)[0].systems
    assert sorted((result.n, result.summary.mean) for result in system) == [(1, 91), (2, 91)]


def test_equal_values_leave_agreement_undefined_with_a_reason(imported):
    rows = "".join(f"i{n},s,w{w},c,4\n" for n in range(4) for w in range(2))
    _, frame, _ = imported(together(LONG + rows))

    agreement = criterion_results(frame)[0].agreement
    assert agreement.percent == 1
    assert "no variation" in agreement.alpha.reason


def test_values_off_the_scale_are_named_row_by_row():
    ratings = together(LONG + 'i1,s,w1,q,100\ni1,s,w2,q,80\ni2,s,w1,q,"4,5"\ni2,s,w2,q,five\n')
    assert problems_of(ratings) == [
        "Row 4, column 'q': '4,5' does not fit the scale of 'q'.",
        "Row 5, column 'q': 'five' does not fit the scale of 'q'.",
    ]


@pytest.mark.parametrize("value", ["1e400", "-1e308", "inf"])
def test_a_number_too_large_for_statistics_fits_no_scale(value):
    ratings = together(LONG + f"1,s,w1,q,4\n1,s,w2,q,5\n2,s,w1,q,2\n2,s,w2,q,{value}\n")
    assert problems_of(ratings) == [f"Row 5, column 'q': '{value}' does not fit the scale of 'q'."]


def test_a_word_that_means_missing_is_stored_as_missing(imported):
    _, frame, _ = imported(together(LONG + "1,m,w,c,4\n1,n,w,c,N/A\n2,m,w,c,5\n"))
    assert frame.ratings["missing"].sum() == 1
    assert criterion_results(frame)[0].missing == 1


def test_explanations_notes_and_reasons_come_along(imported):
    header = "item_id,system,annotator,criterion,value,explanation,reasons\n"
    _, frame, _ = imported(together(header + "1,m,w,c,4,=Because of it.,a;b\n1,n,w,c,4,,\n"))
    row = frame.ratings[frame.ratings["explanation"] != ""].iloc[0]
    assert (row["explanation"], row["reasons"]) == ("=Because of it.", "a,b")


def test_unaligned_highlights_are_stored_without_a_place(imported):
    marks = "item_id,system,annotator,label,start,end,quote,comment\n"
    ratings = together(ROWS, marks + "1,m,w1,good,0,2,So,Nice\n1,m,w2,bad,-1,-1,not there,\n", items=ITEMS)
    assert (
        "Row 3: file1.csv: the quote 'not there' is not in the text of item '1'" in problems_of(ratings, "warning")[0]
    )

    study, frame, session = imported(ratings)
    stored = session.scalars(select(Highlight).order_by(Highlight.id)).all()
    assert [(mark.start, mark.end, mark.label, mark.quote, mark.comment) for mark in stored] == [
        (0, 2, "good", "So", "Nice"),
        (None, None, "bad", "not there", ""),
    ]
    assert [label.key for label in frame.rubric.highlights] == ["good", "bad"]
    assert highlights_of_item(session, study, "1", Counted()).unaligned == 1


def test_items_missing_from_the_item_file_are_errors(imported):
    study, _, session = imported(together(ROWS, items=ITEMS))
    item = highlights_of_item(session, study, "1", Counted())
    assert item.context[0].text == "Why?"
    assert {candidate.passages[0].text for candidate in item.candidates} == {"So it is", "Thus"}

    stray = problems_of(together(LONG + "9,m,w,c,4\n1,x,w,c,4\n1,x,w,d,4\n", items=ITEMS))
    assert stray == [
        "Row 2: item '9' is not in the file of items.",
        "Row 3: item '1' has no candidate of system 'x' in the file of items.",
    ]


ABOUT_ITEMS = SMALL_RUBRIC.replace("definition: How", "about: item\n    definition: How")
MARKED = "item_id,system,annotator,label,start,end,quote\n1,m,w,x,0,1,S\n"


@pytest.mark.parametrize(
    ("rows", "rubric", "problem"),
    [
        (["1,m,w,fluency,2\n"], ABOUT_ITEMS, "Row 2: 'fluency' is about the item, but its row names a system."),
        (["1,,w,fluency,2\n"], SMALL_RUBRIC, "Row 2: item '1' has a rating of a response without its system."),
        (["1,m,w,fluency,\n"], SMALL_RUBRIC, "There are no ratings left to import."),
        (
            ["1,m,w,fluency,2\n", MARKED],
            SMALL_RUBRIC,
            "Row 2: file1.csv: the rubric has no label 'x' for highlights.",
        ),
    ],
)
def test_ratings_that_do_not_fit_the_rubric_are_named(rows, rubric, problem):
    assert problems_of(together(LONG + rows[0], *rows[1:], rubric=rubric)) == [problem]


def test_a_rating_without_system_is_of_the_only_response():
    items = b"item_id,context,cand:m\n1,Why?,So\n"
    ratings = together("item_id,annotator,criterion,value\n1,w,fluency,2\n", items=items, rubric=SMALL_RUBRIC)
    assert [rating.system for work in ratings.works for rating in work.ratings] == ["m"]


def test_a_text_next_to_several_ratings_is_a_note():
    header = "resp_a,resp_b,id,fluency_a,sense_a,free_a,annotator,annotation_id,lead_time\n"
    ratings = together(header + 'So,Thus,7,4,3,"{""text"":[""Because""]}",ann,1,3.5\n')
    assert [(work.notes, len(work.ratings)) for work in ratings.works] == [(["free: Because"], 2)]


def test_a_rubric_takes_values_by_key_or_title(imported):
    good = "1,m,w,Fluency,3\n1,m,w,verdict,Accept\n1,n,w,fluency,1\n1,n,w,verdict,unsure\n"
    study, frame, _ = imported(together(LONG + good, rubric=SMALL_RUBRIC))
    assert frame.rubric.title == "Small rubric"
    assert sorted(frame.ratings["option"].dropna()) == ["accept", "unsure"]
    assert frame.ratings["missing"].sum() == 1

    bad = problems_of(together(LONG + "1,m,w,grace,3\n1,m,w,fluency,9\n1,m,w,verdict,maybe\n", rubric=SMALL_RUBRIC))
    assert "the rubric has no criterion 'grace'; it has fluency, verdict" in bad[0]
    assert bad[1:] == [
        "Row 3, column 'fluency': '9' does not fit the scale of 'Fluency'.",
        "Row 4, column 'verdict': 'maybe' does not fit the scale of 'Verdict'.",
    ]


def test_a_best_of_rubric_takes_its_own_export(imported):
    rubric = SMALL_RUBRIC.replace(
        "explanation: {min",
        "  - {key: best, title: Best, definition: The best, about: item, scale: {kind: best}}\nexplanation: {min",
    )
    _, frame, _ = imported(together(LONG + "1,m,w,best,1\n1,n,w,best,0\n", rubric=rubric))
    assert sorted(frame.ratings["value"]) == [0, 1]
    assert "does not fit" in problems_of(together(LONG + "1,m,w,best,2\n", rubric=rubric))[0]


def test_an_exported_study_is_imported_with_the_same_ratings(imported, make_study):
    first, frame, session = imported(together(ROWS, judge=LONG + "1,m,big-model,fluency,1\n", items=ITEMS))
    exported = [RATINGS_HEADER, *export_ratings(session, first)]
    text = "\n".join(",".join("" if cell is None else str(cell) for cell in row) for row in exported)

    again, copy, _ = imported(together(text), title="Again")

    columns = ["item", "kind", "criterion", "value", "submitted_at"]
    order = ["item", "kind", "value"]
    before, after = (
        table.ratings[columns].astype({"item": str, "kind": str, "criterion": str}).sort_values(order)
        for table in (frame, copy)
    )
    assert before["value"].tolist() == after["value"].tolist()
    assert before["kind"].tolist() == after["kind"].tolist()
    assert (before["submitted_at"].dt.floor("s").to_numpy() == after["submitted_at"].to_numpy()).all()


def test_texts_of_an_export_of_another_version_lose_their_protection(imported):
    header = "item_id,annotator,annotator_kind,system,criterion,value,explanation,explanation_words,design_hash\n"
    _, frame, session = imported(together(header + "1,w,human,m,c,4,'=1+1,1,x\n"))
    assert session.scalars(select(Explanation.text)).all() == ["=1+1"]


def test_excluded_annotators_of_an_export_stay_excluded(imported):
    header = "item_id,system,annotator,criterion,value,excluded,exclusion_reason\n"
    study, frame, session = imported(together(header + "1,m,w,c,4,0,\n1,m,v,c,1,1,too fast\n"))
    assert frame.ratings.set_index("value")["excluded"].to_dict() == {4: False, 1: True}
    assert overview(session, study, Counted()).done == 1


def test_every_imported_annotation_is_an_event_in_the_chain(imported):
    study, _, session = imported(together(ROWS))
    kinds = [event.kind for event in events.since(session, study.id, 0)]
    assert kinds == ["study created", "study open", "ratings imported", *["imported"] * 3, "study closed"]
    assert events.first_broken(session, study.id) is None
    assert events.last_number(session, study.id) == 7


def test_imported_simulated_annotators_take_no_places(imported):
    """Neither `verify` nor an exclusion counts places that they never took."""
    kind = "item_id,system,annotator,criterion,value,annotator_kind\n"
    study, _, session = imported(together(kind + "1,a,bot,fluency,1,simulated\n2,a,bot,fluency,2,simulated\n"))
    robot = session.scalars(select(Person).where(Person.kind == "simulated")).one()

    assert verify.verify(session, study).differences == ()
    exclusions.exclude(session, study, robot.pseudonym, "no person", "L-1")
    assert verify.verify(session, study).differences == ()


def test_data_of_more_responses_than_letters_are_shown(imported):
    """The file about an annotator ended in an error."""
    rows = "".join(f"1,s{n},p1,fluency,{n % 2}\n" for n in range(9))
    study, _, session = imported(together("item_id,system,annotator,criterion,value\n" + rows))
    annotator = session.scalars(select(Person).where(Person.name == "p1")).one()

    data = personal_data.of_member(session, study, annotator.pseudonym)

    (work,) = data["studies"][0]["annotations"]
    assert {rating["response"] for rating in work["ratings"]} == {*"ABCDEF", "7", "8", "9"}


def test_a_report_lists_no_thousands_of_pairs(imported):
    rows = "".join(f"{item},m,a{n},fluency,{n % 5 + 1}\n" for n in range(60) for item in (1, 2))
    study, frame, session = imported(together(LONG + rows))

    analysis = StudyAnalysis(frame, Counted(), system_names(session, study))
    pairs = [number for number in Listing(analysis, analysis.names).numbers() if number.part == "annotator pairs"]

    assert {number.system for number in pairs} == {""}
    assert next(number.value for number in pairs if number.statistic == "pairs") == 60 * 59 / 2


def test_more_systems_than_can_be_compared_are_refused():
    rows = "".join(f"1,s{n},a,fluency,1\n" for n in range(51))
    problems = together("item_id,system,annotator,criterion,value\n" + rows).problems
    assert "51 systems; at most 50 can be compared" in "\n".join(map(str, problems))


@pytest.mark.parametrize("stays_open", [False, True])
def test_imported_ratings_are_complete_unless_the_study_stays_open(imported, stays_open):
    study, _, session = imported(together(ROWS, items=ITEMS), stays_open=stays_open, raters=3)
    if stays_open:
        log_look(session, study, 3, 6, "L-1")
        lifecycle.set_state(session, study, StudyState.closed, "L-1")

    numbers = StudyAnalysis(frame_of(session, study), Counted(), {}).collection

    assert numbers.interim is stays_open
    assert ("imported without a plan" in numbers.sentence) is not stays_open


@pytest.mark.parametrize("counting", ["first", "last"])
def test_results_say_which_of_two_imported_ratings_counts(imported, counting):
    twice = read("item_id,system,annotator,criterion,value\n1,s,w,fluency,2\n1,t,w,fluency,2\n1,s,w,fluency,4\n")
    asked = import_ratings.asked_as_proposed("E", [twice], import_ratings.proposed([twice]))
    study, _, session = imported(assemble([twice], asked, duplicates=counting))

    findings = caveats(session, study, StudyAnalysis(frame_of(session, study), Counted(), {}))

    (sentence,) = [finding.sentence for finding in findings if finding.kind == "imported"]
    assert "1 further rating in the files was left out" in sentence
    assert f"the {counting} rating counts, as a lead chose" in sentence


def test_an_imported_study_opens_only_with_texts(imported):
    study, _, session = imported(together(ROWS, items=ITEMS), stays_open=True, raters=3)
    assert study.state == "open"
    places = session.execute(select(Item.external_id, Item.raters, Item.taken).where(Item.study_id == study.id))
    assert {tuple(row) for row in places} == {("1", 3, 2), ("2", 3, 1)}
    assert events.first_broken(session, study.id) is None
    with pytest.raises(ImportRefused, match="Without the texts"):
        imported(together(ROWS), stays_open=True)


def test_nothing_is_half_imported(sqlite_engine, monkeypatch):
    def fail(*_: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(import_ratings.WorkWriter, "_highlights", fail)
    with pytest.raises(RuntimeError), database.writing(sqlite_engine) as session:
        import_ratings.import_ratings(
            session, StudyPlan(title="x"), together(ROWS), add_person(session, "l", Role.lead)
        )
    with database.reading(sqlite_engine) as session:
        counts = [
            session.execute(select(func.count()).select_from(t)).scalar_one() for t in (Study, Item, Person, Rating)
        ]
    assert counts == [0, 0, 0, 0]


def test_only_a_lead_imports_and_a_study_needs_a_title(sqlite_engine):
    with database.writing(sqlite_engine) as session:
        with pytest.raises(NotAllowed):
            import_ratings.import_ratings(session, StudyPlan(title="x"), together(ROWS), add_person(session, "a"))
        with pytest.raises(NotAllowed, match="title"):
            import_ratings.import_ratings(
                session, StudyPlan(title=""), together(ROWS), add_person(session, "l", Role.lead)
            )


def test_an_import_without_criteria_or_with_ten_labels_is_refused():
    free = LONG + "".join(f"{n},m,w,why,text {n}\n" for n in range(20))
    with pytest.raises(ImportRefused, match="Every criterion is left out"):
        together(free)
    marks = "item_id,system,annotator,label,start,end,quote\n" + "".join(f"1,m,w,l{n},0,1,S\n" for n in range(10))
    with pytest.raises(ImportRefused, match="at most 9"):
        together(ROWS, marks)
    with pytest.raises(InvalidRubric):
        import_ratings.asked_by("key: x", [read(ROWS)])


def test_both_databases_take_an_import(engine):
    with database.writing(engine) as session:
        header = "item_id,system,annotator,criterion,value,explanation,repeat\n"
        ratings = together(header + "1,m,w,c,4,Why,\n1,m,w,c,5,Again,r\n1,m,v,c,yes,,\n".replace("yes", "3"))
        study = import_ratings.import_ratings(
            session, StudyPlan(title="x"), ratings, add_person(session, "l", Role.lead)
        )
    with database.reading(engine) as session:
        assert sorted(frame_of(session, study).ratings["value"]) == [3, 4]
        verdict = verify.verify(session, session.get_one(Study, study.id))
        assert verdict.holds, verdict.sentence
    with database.writing(engine) as session:
        session.execute(update(Item).values(raters=9))
        extra = add_person(session, "nobody")
        session.add(Membership(study_id=study.id, person_id=extra.person_id, joined_at=study.created_at))
    with database.reading(engine) as session:
        differences = verify.verify(session, session.get_one(Study, study.id)).differences
    for part in (
        "(P-nobody): the row is not in the log",
        "raters is not what the log says",
        "differ from those that were frozen",
    ):
        assert any(part in difference for difference in differences), part


def test_more_ratings_take_no_more_statements(sqlite_engine):
    """Each item, annotation and rating was a statement of its own, during which nobody else could store anything."""
    sent: list[str] = []
    event.listen(sqlite_engine, "before_cursor_execute", lambda *arguments: sent.append(arguments[2]))
    counts = []
    for items in (5, 50):
        ratings = together(LONG + "".join(f"{item},m,w,fluency,{item % 5 + 1}\n" for item in range(items)))
        sent.clear()
        with database.writing(sqlite_engine) as session:
            lead = add_person(session, f"lead{items}", Role.lead)
            import_ratings.import_ratings(session, StudyPlan(title="x"), ratings, lead)
        counts.append(len(sent))
    assert counts[1] <= counts[0]


def test_the_command_line_previews_and_writes_on_request(tmp_path, capsys):
    (tmp_path / "r.csv").write_text(ROWS)
    with database.writing(web_engine()) as session:
        accounts.create_lead(session, "Ann", "a long passcode 42")
    words = ["study", "import-ratings", "Ann", "From elsewhere", str(tmp_path / "r.csv")]

    assert main(words) == 0
    assert "Will be made: 2 items, 2 systems, 2 annotators, 3 annotations, 4 ratings" in capsys.readouterr().out
    with database.reading(web_engine()) as session:
        assert session.scalars(select(Study)).all() == []
    assert main([*words, "--write"]) == 0
    with database.reading(web_engine()) as session:
        assert [study.title for study in session.scalars(select(Study))] == ["From elsewhere"]
    assert main([*words[:4], str(tmp_path / "none.csv")]) == 2
    assert "cannot be read" in capsys.readouterr().err


TASKS = "HITId,WorkerId,AssignmentStatus,WorkTimeInSeconds,Input.model,Input.id,Answer.Fluency,Answer.Clarity\n"


def test_task_times_of_one_item_add_up(imported):
    rows = "H1,w,Approved,30,m,1,4,5\nH2,w,Approved,40,n,1,3,2\nH3,v,Approved,20,m,1,4,4\n"
    _, frame, _ = imported(together(TASKS + rows))
    assert sorted(frame.work["active_seconds"]) == [20, 70]

    header = "item_id,system,annotator,criterion,value,active_seconds\n"
    _, frame, _ = imported(together(header + "1,m,w,c,4,60\n1,n,w,c,5,60\n"), title="A time for the whole item")
    assert frame.work["active_seconds"].tolist() == [60]


def test_the_command_line_says_which_options_count_as_positive(tmp_path, capsys):
    (tmp_path / "r.csv").write_text(LONG + "1,m,w,verdict,accept\n1,n,w,verdict,reject\n2,m,w,verdict,reject\n")
    with database.writing(web_engine()) as session:
        accounts.create_lead(session, "Ann", "a long passcode 42")
    words = ["study", "import-ratings", "Ann", "Verdicts", str(tmp_path / "r.csv"), "--write", "--positive"]

    assert main([*words, "verdict=maybe"]) == 2
    assert "no criterion 'verdict' has an option 'maybe'" in capsys.readouterr().err
    assert main([*words, "verdict=accept"]) == 0
    with database.reading(web_engine()) as session:
        frame = frame_of(session, session.scalars(select(Study)).one())
    (scale,) = (criterion.scale for criterion in frame.rubric.criteria)
    assert [(option.key, option.positive) for option in scale.options] == [("accept", True), ("reject", False)]


# Public rating sets


SMALL = ("newsroom", "squality")
LARGE = ("dices350", "dices990", "hanna", "pandalm", "recipes", "summeval_crowd", "summeval_experts")


@pytest.mark.long
@pytest.mark.parametrize("name", [*SMALL, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)])
def test_a_public_set_keeps_means_and_shares_when_imported(imported, shared: Path, name: str):
    source = pd.read_csv(public_set(shared, name), dtype=str, keep_default_na=False)

    study, frame, session = imported(together(public_set(shared, name).read_text()))

    criteria = {criterion.title: criterion for criterion in frame.rubric.criteria}
    assert len(frame.ratings) == len(source)
    for criterion, rows in source.groupby("criterion"):
        key, scale = criteria[criterion].key, criteria[criterion].scale
        if scale.kind == "choice":
            titles = {option.key: option.title for option in scale.options}
            stored = frame.ratings.loc[frame.ratings["criterion"] == key, "option"].map(titles).value_counts()
            assert stored.to_dict() == rows["value"].value_counts().to_dict()
        else:
            expected = rows["value"].astype(float).groupby(rows["system"]).mean()
            observed = means(frame, session, study)
            assert {system: observed[system, key] for system in expected.index} == pytest.approx(expected.to_dict())


@pytest.mark.parametrize("name", ["pandalm", "recipes"])
def test_a_large_public_set_fits_its_proposed_scale(shared: Path, name: str):
    path = public_set(shared, name)
    with path.open() as lines:
        rows = sum(1 for _ in csv.reader(lines)) - 1
    file = read(path.read_bytes(), path.name)
    assert (len(file.ratings), file.problems) == (rows, ())
    assert not [value for proposal in import_ratings.proposed([file]) for value in proposal.unfit]


@pytest.mark.long
def test_real_ratings_with_texts_and_highlights_become_a_finished_study(imported, shared: Path):
    real = shared / "real"
    files = [read((real / name).read_bytes(), name) for name in ("squality_3_ratings.csv", "squality_3_highlights.csv")]
    asked = import_ratings.asked_as_proposed("S", files, import_ratings.proposed(files))
    ratings = assemble(files, asked, read_items((real / "squality_3.jsonl").read_bytes(), "squality_3.jsonl"))

    study, frame, session = imported(ratings)

    assert len(frame.ratings) == len(files[0].ratings)
    marks = session.scalars(select(Highlight)).all()
    assert len(marks) == len(files[1].highlights)
    without = sum(mark.start is None for mark in marks)
    warnings = [problem for problem in ratings.problems if problem.severity == "warning"]
    assert 97 <= without == sum(1 + warning.more for warning in warnings) < 110
    assert len(warnings) == 1
    item = highlights_of_item(session, study, next(iter(highlight_counts(session, study, Counted()))), Counted())
    texts = {passage.text for candidate in item.candidates for passage in candidate.passages}
    assert all(
        0 <= s.start < s.end <= max(map(len, texts)) for c in item.candidates for p in c.passages for s in p.spans
    )


SHAPES = Path(__file__).parents[1] / "formats" / "shapes"


def test_groups_are_stored_with_items_and_in_the_log(imported):
    name = "sentences_with_responses.jsonl"
    file = in_group(read_ratings((SHAPES / name).read_bytes(), name), "crowd")
    asked = import_ratings.asked_as_proposed("Groups", [file], import_ratings.proposed([file]))
    study, _, session = imported(assemble([file], asked))

    query = select(Item.meta).where(Item.study_id == study.id).order_by(Item.id)
    assert [meta["item_group"] for meta in session.scalars(query)][:4] == ["1", "1", "2", "2"]
    assert settings_of(study).group_field == "item_group"
    groups = settings_of(study).annotator_groups
    assert list(groups.values()) == ["crowd"] * 3
    assert all(name.startswith("A-") for name in groups)


def test_groups_that_come_with_ratings_count_as_late(imported):
    name = "sentences_with_responses.jsonl"
    file = in_group(read_ratings((SHAPES / name).read_bytes(), name), "crowd")
    study, _, session = imported(
        assemble([file], import_ratings.asked_as_proposed("Groups", [file], import_ratings.proposed([file])))
    )
    assert present(late_groups(session, study)).annotators == 3


def test_ratings_without_groups_have_no_late_ones(imported):
    name = "sentences_with_responses.jsonl"
    file = read_ratings((SHAPES / name).read_bytes(), name)
    study, _, session = imported(
        assemble([file], import_ratings.asked_as_proposed("None", [file], import_ratings.proposed([file])))
    )
    assert late_groups(session, study) is None


def test_the_command_line_writes_and_takes_a_mapping(tmp_path, capsys):
    written = tmp_path / "mapping.json"
    words = ["study", "import-ratings", "Ann", "Shapes"]
    assert main([*words, str(SHAPES / "by_annotator.json"), "--mapping-out", str(written)]) == 0
    assert "8 items, 1 system, 3 annotators" in capsys.readouterr().out
    roles = {"level 1": "item", "level 2": "annotator", "value": "value"}
    written.write_text(json.dumps({"roles": roles}))
    assert main([*words, str(SHAPES / "by_annotator.json"), "--mapping", str(written)]) == 0
    assert "3 items, 1 system, 8 annotators" in capsys.readouterr().out


def test_the_command_line_takes_folders_groups_and_second_batches(capsys):
    words = ["study", "import-ratings", "Ann", "Shapes"]
    assert main([*words, str(SHAPES / "folder_per_system")]) == 0
    assert "6 items, 2 systems, 6 annotators" in capsys.readouterr().out
    votes = SHAPES / "by_annotator.json"
    assert main([*words, f"expert={votes}", f"crowd={votes}"]) == 0
    assert "8 items, 1 system, 6 annotators" in capsys.readouterr().out
    batches = [str(SHAPES / "mturk_batch.csv"), str(SHAPES / "mturk_second_batch.csv")]
    assert main([*words, *batches]) == 2
    assert main([*words, *batches, "--duplicates", "last"]) == 0
    assert "7 items, 3 systems, 5 annotators, 30 annotations, 228 ratings" in capsys.readouterr().out


def test_items_of_more_responses_than_letters_are_not_annotated(imported):
    """Such a study was opened, and every annotator's page ended in an error."""
    rows = [f"{item},s{n},ann,flu,{n % 5},text {n},Q{item}" for item in (1, 2) for n in range(7)]
    files = [read("\n".join(["item_id,system,annotator,criterion,value,response,context", *rows]))]
    asked = import_ratings.asked_as_proposed("Imported", files, import_ratings.proposed(files))
    study, _, session = imported(assemble(files, asked))
    lead = add_person(session, "other lead", Role.lead)
    copy = duplicate(session, study, "Copy", lead)
    for act in (
        lambda: imported(assemble(files, asked), stays_open=True),
        lambda: lifecycle.set_state(session, study, StudyState.open, "L"),
        lambda: launch.check(session, copy),
    ):
        with pytest.raises(Conflict, match="An item has 7 responses"):
            act()

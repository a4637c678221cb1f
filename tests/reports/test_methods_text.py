"""The methods text names what was computed, and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from helpers.analyses import analysis
from helpers.frames import crossed, likert_rubric, make_frame
from helpers.ratings import BEST_RUBRIC, submit
from helpers.reports import report_of
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, join
from hypothesis import given, settings
from hypothesis import strategies as st

from components.results.comparisons import leaders
from triptych.reports.facts import Facts
from triptych.reports.heds import _effect
from triptych.reports.methods_text import at_a_time, mark_units, statistics, together
from triptych.reports.numbers import Book
from triptych.reports.tables import contrasts, main_table
from triptych.results.frame.collection import Planned
from triptych.results.warnings import findings
from triptych.storage import database
from triptych.storage.models import StudyState
from triptych.study import design, lifecycle, plans
from triptych.study.settings import Overlap, Preregistration, StudySettings, changed, stored

# words of the text: (part, statistic) of which results.csv must hold a number
NEEDED = {
    "t-test": (("contrasts", "p"), ("contrasts", "p these annotators")),
    "t-tests clustered by item and annotator": (("contrasts", "p"),),
    "Holm": (("contrasts", "p Holm"), ("contrasts", "p Holm these annotators")),
    "Benjamini and Hochberg": (("contrasts", "p Benjamini-Hochberg"),),
    "Raised letters": (("contrasts", "p Holm"), ("contrasts", "p Holm these annotators")),
    "Raised numbers": (("contrasts", "p Holm"), ("contrasts", "p Holm these annotators")),
    "least squares": (("contrasts", "difference"),),
    "proportional odds": (("ordinal", "difference"),),
    "Agreement is": (("agreement", "alpha"),),
    "jackknife": (("agreement", "alpha low"),),
    "95 % intervals clustered": (("systems", "interval low"),),
    "alternative annotator test": (("judges", "epsilon"),),
    "best constant answer": (("judges", "constant winning rate"),),
    "practically equal": (("contrasts", "p equivalence"),),
    "Schuirmann": (("contrasts", "p equivalence"),),
    "p is adjusted by Holm": (("contrasts", "p Holm"), ("contrasts", "p Holm these annotators")),
    "a difference is clear only with an adjusted p": (
        ("contrasts", "p Holm"),
        ("contrasts", "p Holm these annotators"),
    ),
    "clustered by group": (("systems", "interval low"), ("contrasts", "p these annotators")),
    "exploratory": (("contrasts", "p Holm"), ("contrasts", "p Holm these annotators")),
    "percent agreement": (("agreement", "percent"),),
    "Means and shares": (("systems", "interval low"),),
    "In intervals t has": (("systems", "interval low"),),
    "Metrics (": (("metrics", "Kendall"),),
}


DECLARED = (
    StudySettings(),
    StudySettings(preregistration=Preregistration(margins={"c1": 0.5})),
    StudySettings(preregistration=Preregistration(criteria=("c2",), interim_bound=0, margins={"c1": 0.5})),
    StudySettings(group_field="dialogue"),
)
PLANNED = (
    Planned(),
    Planned(places=1000, looks=frozenset({("2026-01-01", "L-1")})),
    Planned(imported=True, closed=True),
)


def some_study(
    seed: int, annotators: int, items: int, systems: int, share: float, points: int, criteria: int = 1, **part
):
    """Random ratings; `share` of them is in."""
    rng = np.random.default_rng(seed)
    item, rater, system = (grid.ravel() for grid in np.indices((items, annotators, systems)))
    rows = pd.DataFrame({"item": item, "annotator": rater, "system": system + 1, "criterion": "c1"})
    rows["value"] = rng.integers(1, points + 1, len(rows)).astype(float)
    rows = rows[rng.random(len(rows)) < share].reset_index(drop=True)
    rows["item"], rows["annotator"] = "item-" + rows["item"].astype(str), "P-" + rows["annotator"].astype(str)
    meta = {item: {"dialogue": item[-1]} for item in rows["item"]}
    return replace(make_frame(likert_rubric(criteria), rows, **part), meta=meta)


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    annotators=st.integers(1, 7),
    items=st.integers(1, 5),
    systems=st.integers(1, 3),
    share=st.sampled_from([0.15, 0.5, 1.0]),
    points=st.sampled_from([1, 2, 7]),
    declared=st.sampled_from(DECLARED),
    planned=st.sampled_from(PLANNED),
)
def test_no_sentence_names_a_test_without_its_numbers(
    seed, annotators, items, systems, share, points, declared, planned
):
    part = {"settings": declared, "planned": planned, "criteria": 2}
    study = analysis(some_study(seed, annotators, items, systems, share, points, **part))
    book = Book.of(study)
    sentences = [*statistics(study, book), _effect(book, "c1"), *main_table(study, book).notes]
    text = " ".join([*sentences, contrasts(study, book).notes[0]])
    for words, numbers in NEEDED.items():
        if words in text:
            assert any(book.defined(*number) for number in numbers), (words, text)


def test_a_declared_slice_without_tests_states_no_bound():
    """The text removed the rule with the bound that the slices share, and printed the rule of the study."""
    declared = StudySettings(preregistration=Preregistration(slices=("dialogue",)))
    whole = some_study(1, annotators=3, items=12, systems=1, share=1, points=5, settings=declared, planned=PLANNED[1])
    study = analysis(whole, field="dialogue", value="1")
    text = " ".join(statistics(study, Book.of(study)))
    assert "Results are interim: 36 of 1,000 planned annotations are in. 1 person opened" in text


def test_a_criterion_that_few_rated_is_about_them_only():
    """Its letters, the leading sentence and the methods text spoke for annotators like these, as the other's could."""
    whole = some_study(1, annotators=6, items=20, systems=2, share=1, points=7, criteria=2)
    second = whole.ratings[whole.ratings["annotator"].isin(["P-0", "P-1", "P-2"])].assign(criterion="c2")
    columns = ["annotator", "item", "system", "criterion", "value"]
    study = analysis(make_frame(likert_rubric(2), pd.concat([whole.ratings, second])[columns]))
    book = Book.of(study)

    only_here = "On Criterion 2, t-tests are clustered by item only and apply to these annotators only."
    assert only_here in [*statistics(study, book)]
    assert (
        "clearly above, on Criterion 2 for these annotators (others may differ)," in main_table(study, book).notes[-1]
    )
    assert leaders(study, ["c1", "c2"]).endswith(
        "On Criterion 2, this applies to these annotators only: there are too few to generalise."
    )
    assert (
        "Too few annotators rated Criterion 2" in [f.sentence for f in findings(study) if f.kind == "few annotators"][0]
    )


@pytest.mark.parametrize("left", [1.0, 0.7])
def test_sets_of_different_size_are_a_matter_of_method(left):
    """Where differences of best are no differences of shares."""
    item, rater, system = (grid.ravel() for grid in np.indices((8, 5, 3)))
    rows = pd.DataFrame({"item": item.astype(str), "annotator": rater.astype(str), "system": system + 1})
    rows = rows.assign(criterion="winner", value=(system == (item + rater) % 3).astype(float))
    study = analysis(make_frame(BEST_RUBRIC, rows.sample(frac=left, random_state=1, ignore_index=True)))
    sentences = [sentence for sentence in statistics(study, Book.of(study)) if "sets of different size" in sentence]
    assert len(sentences) == (left < 1)
    assert all("for differences under Winner, the mean of the annotator's sets" in sentence for sentence in sentences)


def test_an_annotator_alone_gets_no_word_of_holm_or_agreement():
    study = analysis(some_study(1, annotators=1, items=1, systems=2, share=1, points=7))
    text = " ".join(statistics(study, Book.of(study)))
    assert "Holm" not in text
    assert "No alpha for Criterion 1. No item was rated by two annotators." in text


@pytest.mark.parametrize(("annotators", "clustered"), [(3, "by item only"), (6, "by item and annotator")])
def test_tests_are_named_by_how_they_are_clustered(annotators, clustered):
    study = analysis(some_study(2, annotators, items=6, systems=2, share=1, points=7))
    text = " ".join(statistics(study, Book.of(study)))
    assert f"with t-tests clustered {clustered}" in text
    assert "There is a single test, so its p is not adjusted." in text


@pytest.mark.parametrize(("systems", "raised"), [(3, ["a,b", "a", ""]), (9, ["8", "7", "6"])])
def test_the_main_table_names_or_counts_systems_below(systems, raised):
    study = analysis(crossed(items=30, annotators=6, systems=systems, gap=1.0, points=12))
    table = main_table(study, Book.of(study))
    assert [row[1].raised for row in reversed(table.rows[:systems])][:3] == raised
    assert f"Raised {'letters' if systems == 3 else 'numbers'}:" in " ".join(table.notes)


@pytest.mark.parametrize(("presentation", "counts", "words"), [
    ("side_by_side", {"side_by_side": 9}, "side by side"),
    ("side_by_side", {"one_at_a_time": 9}, "one at a time"),
    ("side_by_side", {"one_at_a_time": 6, "side_by_side": 3},
     "one at a time (6) or side by side (3) in the 9 annotations where that is known"),
    ("side_by_side", {}, "together"),
    ("succession", {}, "one after another"),
])  # fmt: skip
def test_responses_were_shown_as_each_annotation_says(presentation, counts, words):
    shown: Any = SimpleNamespace(study=SimpleNamespace(presentation=presentation), arrangements=counts)
    assert together(cast(Facts, shown)) == words


@pytest.mark.parametrize(("units", "sentences"), [
    ({"words": 1200, "letters": 3},
     ["Highlights were marked by whole words (1,200) and by letters (3), where that is known."]),
    ({}, []),
])  # fmt: skip
def test_highlights_were_marked_as_each_says(units, sentences):
    assert list(mark_units(cast(Facts, SimpleNamespace(mark_units=units)))) == sentences


def test_a_design_without_whole_items_is_said():
    whole = some_study(1, annotators=3, items=4, systems=3, share=1.0, points=5)
    pairs = whole.ratings[whole.ratings["system"] != 1 + whole.ratings["assignment"] % 3]
    said = [list(at_a_time(analysis(frame))) for frame in (whole, replace(whole, ratings=pairs))]
    assert said == [[], ["An annotation holds at most 2 of the 3 systems."]]


@pytest.mark.long
@pytest.mark.parametrize(("overlapping", "after"), [(0, ""), (1, ", after those of the overlap subset")])
def test_the_order_of_items_is_described_as_a_rule(sqlite_engine, overlapping, after):
    """Where the overlap subset came first, or items were added, not "all were assigned once" before another round."""
    with database.writing(sqlite_engine) as session:
        plan = lifecycle.StudyPlan(title="Ordered", seed="s", raters_per_item=2)
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(2), "lead")
        study.settings = stored(changed(study, overlap=Overlap(items=overlapping, raters=3)))
        lifecycle.set_state(session, study, StudyState.open, "lead")
        for name in ("ann", "ben"):
            submit(session, study, join(session, study, add_person(session, name)))
    methods = report_of(sqlite_engine, study).files["methods.txt"].decode()
    assert f"Items with the fewest annotators were assigned first{after}. " in methods
    assert "assigned once" not in methods


def test_annotations_without_a_rating_are_no_missing_annotations(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        optional = SMALL_RUBRIC.replace("    definition:", "    required: false\n    definition:")
        study, _, people = make_study(session, items=1, rubric=optional)
        for who in people:
            submit(session, study, who, {"ratings": {}})
    assert report_of(sqlite_engine, study).files["methods.txt"].startswith(b"The annotations contain no rating.")


@pytest.mark.long
def test_amended_plans_and_raters_are_reported_with_earlier_ones(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, people = make_study(session, items=3, annotators=4)
        design.amend(session, study, design.Parts(raters_per_item=4), "More.", lead.pseudonym)
        plans.store(session, study, plans.propose(session, study), lead.pseudonym, "As agreed.")
        submit(session, study, people[0])
    methods = report_of(sqlite_engine, study).files["methods.txt"].decode()

    assert re.search(r"; 4 annotators per item were planned \(3 until [-0-9]+ [0-9:]+ UTC\)\. ", methods)
    assert re.search(
        r"Items were assigned according to a plan \(without a plan until [-0-9]+ [0-9:]+ UTC\)\. ", methods
    )

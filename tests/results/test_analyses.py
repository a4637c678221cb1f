"""The analysis of a study: every number of its pages and reports, and the words where there is none."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.analyses import NAMES, analysis
from helpers.frames import crossed, likert_rubric, make_frame
from helpers.present import present
from helpers.ratings import BEST_RUBRIC, first_work, resubmit, submit
from helpers.studies import SMALL_RUBRIC, SYSTEMS, add_person, draft_items, full_answers
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from components.results.annotators import _differences
from triptych.formats import read_items
from triptych.formats.model import ItemFile
from triptych.results import texts, warnings
from triptych.results.annotators import speeds_of
from triptych.results.criterion import criterion_ratings
from triptych.results.disagreement import disagreement
from triptych.results.frame.model import Counted, Frame
from triptych.results.frame.table import ratings_table
from triptych.results.frame.upkeep import frame_of
from triptych.results.study_analysis import lengths, spans
from triptych.results.verdicts import extremes, verdict
from triptych.results.warnings import findings, not_run
from triptych.rubric.answers import letter
from triptych.stats.analysis.annotators import NO_TIMES
from triptych.stats.analysis.listing import response
from triptych.stats.analysis.ratings import NO_ORDER
from triptych.stats.diagnostics import StraightLining
from triptych.stats.effects import PositionEffect
from triptych.stats.undefined import Undefined
from triptych.storage import database
from triptych.storage.models import Item, Kind, Role, StudyState
from triptych.study import design, lifecycle
from triptych.study.design import Parts
from triptych.study.settings import Preregistration, StudySettings

SECTIONS = (
    "criteria",
    "contrasts",
    "agreement",
    "people",
    "annotators",
    "effects",
    "ranks",
    "strengths",
    "disagreement",
    "ordinal_models",
)


def leaves(value: Any) -> Iterator[Any]:
    """Every number and text in nested dataclasses, tuples and dicts; columns of ratings aside."""
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if field.name not in ("criterion", "table") or isinstance(getattr(value, field.name), str):
                yield from leaves(getattr(value, field.name))
        yield from (
            leaf
            for name in ("dominance", "signed_rank")
            if hasattr(value, name)
            for leaf in leaves(getattr(value, name))
        )
    elif isinstance(value, dict):
        yield from (leaf for part in value.values() for leaf in leaves(part))
    elif isinstance(value, tuple | list):
        yield from (leaf for part in value for leaf in leaves(part))
    else:
        yield value


def rated(*values: Any, criterion: str = "c1", annotators: int = 2, systems: int = 3) -> list[dict[str, Any]]:
    """Rows where annotators rate item after item; the values go round."""
    rows = []
    for n, value in enumerate(values):
        system, rest = n % systems + 1, n // systems
        annotator, item = f"P-{rest % annotators}", f"item-{rest // annotators}"
        rows.append({"annotator": annotator, "item": item, "system": system, "criterion": criterion, "value": value})
    return rows


MISSING = [dict(row, missing=True) for row in rated(*[np.nan] * 12)]
UNMATCHED = [
    {"annotator": f"P-{n % 6}", "item": f"item-{n % 4}", "system": n % 6 % 2 + 1, "criterion": "c1", "value": n % 7 + 1}
    for n in range(24)
]
TWICE = rated(*[1, 2, 3, 4, 5, 6] * 4)
DEGENERATE = {
    "empty": lambda: make_frame(likert_rubric(2), []),
    "one rating": lambda: make_frame(likert_rubric(), rated(3)),
    "one annotator": lambda: crossed(items=12, annotators=1),
    "one item": lambda: crossed(items=1, annotators=6),
    "all equal": lambda: make_frame(likert_rubric(), rated(*[4] * 60, annotators=5)),
    "all missing": lambda: make_frame(likert_rubric(), MISSING),
    "one system": lambda: crossed(items=8, annotators=6, systems=1),
    "unmatched systems": lambda: make_frame(likert_rubric(), UNMATCHED),
    "no place known": lambda: make_frame(likert_rubric(), [dict(row, position=-1) for row in TWICE]),
    "one moment": lambda: make_frame(
        likert_rubric(), [dict(row, submitted_at=datetime(2026, 1, 1, tzinfo=UTC)) for row in TWICE]
    ),
    "options": lambda: make_frame(
        SMALL_RUBRIC, [dict(row, value=np.nan, option="accept", criterion="verdict") for row in TWICE]
    ),
    "options marked missing": lambda: make_frame(
        SMALL_RUBRIC,
        [dict(row, value=np.nan, option="unsure", missing=True, criterion="verdict") for row in TWICE],
    ),
    "best": lambda: make_frame(
        BEST_RUBRIC, [dict(row, value=float(row["value"] > 3), criterion="winner") for row in TWICE]
    ),
}


@cache
def degenerate(name: str) -> Frame:
    return DEGENERATE[name]()


@pytest.mark.parametrize("name", DEGENERATE)
def test_any_data_give_a_finite_number_or_a_sentence(name: str):
    each = analysis(degenerate(name))
    sections = {name: getattr(each, name) for name in SECTIONS}
    for section, numbers in (sections | {"findings": findings(each), "not run": not_run(each)}).items():
        for leaf in leaves(numbers):
            if isinstance(leaf, float):
                assert math.isfinite(leaf), section
            if isinstance(leaf, str):
                assert "nan" not in leaf.lower().split(), section
    for result in each.criteria:
        assert "nan" not in verdict(each, result.criterion.key).lower()


@pytest.mark.parametrize(
    ("name", "check", "why"),
    [
        ("one annotator", "Test for annotators like these", "1 annotator is too few"),
        ("one item", "Test for annotators like these", "one item is too few"),
        ("all equal", "Krippendorff's alpha", "no variation"),
        ("all missing", "Krippendorff's alpha", "No item was rated by two annotators."),
        ("unmatched systems", "Comparison of systems", "no item and annotator link these two systems"),
        ("no place known", "Effect of the place on screen", "24 ratings have an unknown place and are left out."),
        ("one moment", "Change over time", NO_TIMES.reason),
        ("best", "Comparison of systems", "Asked about the item, not about a system."),
    ],
)
def test_a_check_that_cannot_run_gives_its_reason(name: str, check: str, why: str):
    listed = [each.why for each in not_run(analysis(degenerate(name))) if each.check == check]
    assert any(why in words for words in listed), listed


@pytest.mark.parametrize(("count", "words"), [(1, "1 rating has"), (2, "2 ratings have")])
def test_ratings_of_unknown_place_are_counted_in_words(count: int, words: str):
    effects = replace(analysis(degenerate("no place known")).effects[0], unplaced=count)
    ((_, _, sentence),) = warnings._unplaced(effects)
    assert sentence.startswith(f"{words} an unknown place and ")


def test_equal_ratings_are_counted_without_times():
    looks = analysis(degenerate("one moment")).annotators
    assert {(type(look.equal), look.drift) for look in looks} == {(StraightLining, NO_TIMES)}


def test_a_shared_reason_is_listed_once_with_its_criteria():
    listed = [each for each in not_run(analysis(degenerate("empty"))) if each.check == "Krippendorff's alpha"]
    assert [each.criteria for each in listed] == [("Criterion 1", "Criterion 2")]


def test_a_contrast_is_the_mean_of_paired_differences():
    frame = crossed(items=40, annotators=8, raters=4, gap=0.8)
    each = analysis(frame)
    wide = frame.ratings.pivot(index=["item", "annotator"], columns="system", values="value")
    for contrast in each.contrasts:
        expected = wide[contrast.system] - wide[contrast.baseline]
        assert contrast.difference.mean == pytest.approx(expected.mean())
        assert (contrast.dominance.wins, contrast.dominance.losses) == ((expected > 0).sum(), (expected < 0).sum())
    stated = (
        "All differ clearly, from high to low: System 3, System 2, System 1. System 3 is higher than System 1 by 1."
    )
    assert verdict(each, "c1").startswith(stated)
    assert "p < 0.001" in verdict(each, "c1")


def test_the_family_is_every_pair_under_every_numeric_criterion():
    each = analysis(crossed(items=20, annotators=6, criteria=2, gap=0.1))
    assert len(each.contrasts) == 6
    assert each.family == "p is adjusted by Holm over all 6 tests: 3 pairs of systems × 2 criteria."
    smallest = min(present(contrast.p) for contrast in each.contrasts)
    assert min(present(contrast.holm) for contrast in each.contrasts) == pytest.approx(min(1, 6 * smallest))


def test_a_difference_that_needs_these_annotators_says_so():
    """Two of six annotators have a strong taste: these annotators differ clearly, others might not."""
    random = np.random.default_rng(3)
    rows = [
        {"annotator": f"P-{a}", "item": f"item-{i}", "system": s, "criterion": "c1", "value": value}
        for a in range(6)
        for i in range(30)
        for s, value in ((1, 3), (2, 3 + 3 * (a < 2) + int(random.integers(-1, 2))))
    ]
    each = analysis(make_frame(likert_rubric(), rows))
    (contrast,) = each.contrasts
    assert contrast.clear_here and not contrast.clear
    assert [finding.kind for finding in findings(each)][0] == "these annotators only"
    assert verdict(each, "c1").startswith("No clear difference between the systems")
    assert "For these 6 annotators only, also clear: System 2 is above System 1." in verdict(each, "c1")


def spoiled(turned: int) -> pd.DataFrame:
    """Twelve annotators prefer system 2 a little; `turned` more prefer system 1 a lot."""
    random = np.random.default_rng(5)
    rows = []
    for a in range(12 + turned):
        for i in range(20):
            gap = int(random.integers(0, 3)) if a < 12 else -6
            base = int(random.integers(3, 5)) if a < 12 else 7
            rows += [
                {"annotator": f"P-{a}", "item": f"i{i}", "system": 1, "criterion": "c1", "value": base},
                {"annotator": f"P-{a}", "item": f"i{i}", "system": 2, "criterion": "c1", "value": base + gap},
            ]
    return pd.DataFrame(rows)


def test_exclusions_that_decide_a_conclusion_come_first():
    rows = spoiled(3)
    rows["excluded"] = rows["annotator"].isin(["P-12", "P-13", "P-14"])
    each = analysis(make_frame(likert_rubric(), rows))
    first = findings(each)[0]
    assert first.kind == "exclusions"
    assert first.sentence == (
        "Criterion 1: System 2 against System 1 is clear here, and turned around for these annotators only with "
        "excluded annotators."
    )
    with_them = analysis(each.frame, with_excluded=True)
    assert with_them.n_annotators == 15
    assert findings(with_them)[0].sentence.endswith(
        "is clear for these annotators only here, and turned around without excluded annotators."
    )


def test_exclusions_decide_also_among_few_annotators():
    rows = spoiled(3)
    rows = rows[rows["annotator"].isin(["P-0", "P-1", "P-12", "P-13"])].reset_index(drop=True)
    rows["excluded"] = rows["annotator"].isin(["P-12", "P-13"])
    first = findings(analysis(make_frame(likert_rubric(), rows)))[0]
    assert first.sentence == (
        "Criterion 1: System 2 against System 1 is clear for these annotators only here, and turned around with "
        "excluded annotators."
    )


def test_an_exclusion_that_leaves_four_makes_nothing_clear_for_others():
    """It was "clear here, and clear for these annotators only with" all five, though four allow no other test."""
    rows = with_a_taste(3)
    rows = rows[rows["annotator"].isin([f"P-{n}" for n in (0, 1, 2, 3, 4)])].reset_index(drop=True)
    rows["excluded"] = rows["annotator"].eq("P-4")
    frame = make_frame(likert_rubric(), rows)
    first = findings(analysis(frame))[0].sentence
    assert first.endswith(
        " is clear for these annotators only here, and not clear for annotators like these with excluded annotators."
    )
    other = findings(analysis(frame, with_excluded=True))[0].sentence
    assert other.endswith(
        " is not clear for annotators like these here, and clear for these annotators only without excluded annotators."
    )


def with_a_taste(some: int) -> pd.DataFrame:
    """Ten annotators who find two systems equal, except that the first few prefer system 2."""
    random = np.random.default_rng(5)
    item, annotator, system = (grid.ravel() for grid in np.indices((60, 10, 2)))
    value = 4 + random.normal(0, 1, 60)[item] + 1.2 * (annotator < some) * system + random.normal(0, 0.8, len(item))
    columns = {"annotator": np.char.add("P-", annotator.astype(str)), "item": np.char.add("i", item.astype(str))}
    return pd.DataFrame({**columns, "system": system + 1, "criterion": "c1", "value": np.clip(np.round(value), 1, 7)})


def test_exclusions_that_alone_make_systems_equal_are_reported():
    rows = with_a_taste(1)
    rows.loc[(rows["annotator"] == "P-1") & (rows["system"] == 2), "value"] -= 1.2
    rows["excluded"] = rows["annotator"].isin(["P-0", "P-1"])
    margin = StudySettings(preregistration=Preregistration(margins={"c1": 0.2}))
    frame = dataclasses.replace(make_frame(likert_rubric(), rows), settings=margin)
    first = findings(analysis(frame))[0]
    assert (first.kind, first.sentence) == (
        "exclusions",
        "Criterion 1: System 2 against System 1 is practically equal here, and not shown to be equal with excluded "
        "annotators.",
    )
    other = findings(analysis(frame, with_excluded=True))[0].sentence
    assert other.endswith("is not shown to be equal here, and practically equal without excluded annotators.")


@pytest.mark.parametrize(("excluded_taste", "with_them"), [(-2.5, "turned around"), (-1.3, "not clear")])
def test_exclusions_that_decide_what_holds_here_are_reported(excluded_taste, with_them):
    """With a difference that is clear for these annotators only, "this changes no conclusion" stood in reports."""
    random = np.random.default_rng(2)
    item, annotator, system = (grid.ravel() for grid in np.indices((80, 10, 2)))
    taste = np.array([excluded_taste] * 2 + [0.5, 0.0, 0.1, -1.4, 1.6, 1.1, 0.1, 0.9])
    value = 4 + random.normal(0, 1, 80)[item] + taste[annotator] * system + random.normal(0, 0.8, len(item))
    columns = {"annotator": np.char.add("P-", annotator.astype(str)), "item": np.char.add("i", item.astype(str))}
    rows = pd.DataFrame({**columns, "system": system + 1, "criterion": "c1", "value": np.clip(np.round(value), 1, 7)})
    rows["excluded"] = annotator < 2
    first = findings(analysis(make_frame(likert_rubric(), rows)))[0]
    assert first.sentence == (
        "Criterion 1: System 2 against System 1 is clear for these annotators only here, and "
        f"{with_them} with excluded annotators."
    )


def test_exclusions_that_make_groups_differ_are_reported():
    rows = with_a_taste(7)
    rows["excluded"] = rows["annotator"].isin(["P-5", "P-6"])
    groups = {f"P-{n}": "fans" if n < 5 else "others" for n in range(10)}
    frame = dataclasses.replace(make_frame(likert_rubric(), rows), settings=StudySettings(annotator_groups=groups))
    sentences = [finding.sentence for finding in findings(analysis(frame)) if finding.kind == "exclusions"]
    assert (
        "Criterion 1: System 2 against System 1, fans against others, is clear for these annotators only here, and "
        "not clear for annotators like these with excluded annotators."
    ) in sentences


def test_clear_differences_of_three_annotators_rest_on_their_agreement():
    sentences = [each.sentence for each in findings(analysis(crossed(60, 3, systems=2, gap=1.0)))]
    (low,) = [sentence for sentence in sentences if "agree too little" in sentence]
    assert low.endswith("Clear differences depend on these ratings.")


def test_a_system_that_strict_annotators_rated_is_adjusted():
    """All rate system 1; system 2, a point better, is rated by the strict half and system 3 by the other."""
    rows = [
        {"annotator": f"P-{who}", "item": f"i{item}", "criterion": "c1", "system": system, "value": 4 + gap + severity}
        for item in range(12)
        for who in range(6)
        for severity in ((item + who) % 2 - 2 * (who < 3),)
        for system, gap in ((1, 0), (2, 1) if who < 3 else (3, 0))
    ]
    each = analysis(make_frame(likert_rubric(), rows))
    words = extremes(each, each.criteria[0])
    assert words.startswith("Highest: System 3")
    assert words.endswith("After adjusting for items and annotators, System 2 is the highest and System 3 the lowest.")
    complete = analysis(crossed(20, 6, systems=3, gap=0.5))
    assert "After adjusting" not in extremes(complete, complete.criteria[0])


def test_an_interval_ends_where_the_scale_does():
    rows = [
        {"annotator": f"P-{who}", "item": f"i{item}", "criterion": "c1", "system": system, "value": value}
        for item in range(6)
        for who in range(6)
        for system, value in ((1, 1), (2, 7 if (item, who) != (0, 0) else 1))
    ]
    (contrast,) = analysis(make_frame(likert_rubric(), rows)).contrasts
    assert not isinstance(contrast.difference, Undefined)
    assert contrast.difference.these.high == contrast.difference.alike.high == 6
    assert present(contrast.difference.alike.low) < contrast.difference.mean < 6


def test_options_without_order_have_no_mean_and_say_why():
    rubric = SMALL_RUBRIC.replace("positive: true", "positive: false")
    rows = [
        {"annotator": "P-1", "item": f"i{item}", "criterion": "verdict", "system": system, "option": "accept"}
        for item in range(3)
        for system in (1, 2)
    ]
    verdicts = next(of for of in analysis(make_frame(rubric, rows)).criteria if of.criterion.key == "verdict")
    first = verdicts.systems[0]
    assert {first.interval, first.summary, first.of_items} == {NO_ORDER}


def test_clear_pairs_beyond_those_listed_are_counted():
    words = verdict(analysis(crossed(60, 6, systems=4, gap=1.5, points=12)), "c1")
    assert "All differ clearly, from high to low: System 4, System 3, System 2, System 1." in words
    assert "3 more pairs differ clearly." in words
    assert "more pair" not in verdict(analysis(crossed(60, 6, systems=3, gap=1.5, points=12)), "c1")


def test_most_of_many_systems_are_named_by_the_others():
    rows = crossed(60, 6, systems=7).ratings.copy()
    rows.loc[rows["system"] == 2, "value"] -= 3
    words = verdict(analysis(make_frame(likert_rubric(), rows)), "c1")
    assert "Clearly below no other: all but System 2." in words
    rows = rows[rows["system"].ne(7) | rows["item"].eq("item-0")].reset_index(drop=True)
    words = verdict(analysis(make_frame(likert_rubric(), rows)), "c1")
    assert "Clearly below no other: all that can be compared but System 2." in words
    assert "Not compared: System 7 and System 1;" in words


def test_ignored_items_that_decide_a_conclusion_are_reported():
    """System 2 is a little better on twenty items; two thirds ignore ten more, and the others prefer system 1 there."""
    random = np.random.default_rng(5)
    rows = []
    for item, annotator in product(range(30), range(12)):
        odd = item >= 20
        row = {"annotator": f"P-{annotator}", "item": f"i{item}", "criterion": "c1"}
        row["state"] = "ignored" if odd and annotator < 8 else "submitted"
        gap = -6 if odd else int(random.integers(0, 3))
        rows += [row | {"system": 1, "value": 7 if odd else 4}, row | {"system": 2, "value": 4 + gap + 3 * odd}]
    frame = make_frame(likert_rubric(), rows)
    given = frame.ratings[frame.ratings["state"] != "ignored"].reset_index(drop=True)
    each = analysis(dataclasses.replace(frame, ratings=given))
    assert [finding.sentence for finding in findings(each) if finding.kind == "ignored items"] == [
        "Criterion 1: System 2 against System 1 is clear here, and not clear with the items that most annotators "
        "ignored."
    ]
    (other,) = (f for f in findings(analysis(each.frame, with_ignored=True)) if f.kind == "ignored items")
    assert other.sentence.endswith("is not clear here, and clear without the items that most annotators ignored.")


def test_a_difference_one_annotator_makes_names_them():
    rows = rated(*[4, 4] * 40, systems=2, annotators=4)
    for row in rows:
        if row["annotator"] == "P-0" and row["system"] == 2:
            row["value"] = 7
        elif row["system"] == 2 and row["item"] in ("item-1", "item-2"):
            row["value"] = 3
    each = analysis(make_frame(likert_rubric(), rows))
    named = [finding for finding in findings(each) if finding.kind == "one annotator"]
    assert [finding.sentence for finding in named] == [
        "Criterion 1: without P-0 the difference of System 2 and System 1 turns around."
    ]
    assert named[0].examples.annotators == {"P-0"}


def test_findings_keep_no_fit_without_an_annotator():
    each = analysis(crossed(items=20, annotators=6, gap=1))
    before = findings(each)
    kept = each.compared.values()
    assert any(of.turned for of in kept)
    assert not any(of.refitted for of in kept)
    assert findings(each) == before


def test_simulated_annotators_are_the_first_thing_a_reader_learns():
    frame = crossed(items=20, annotators=6)
    for part in (frame.work, frame.ratings):
        part["kind"] = pd.Series(["simulated"] * len(part), dtype="str").astype("category")
    assert analysis(frame).n_ratings == 0
    assert findings(analysis(frame, kinds=frozenset(Kind)))[0].kind == "simulated"


@pytest.mark.parametrize(("people", "few"), [(4, "Without judges, 4 annotators would be too few"), (5, "")])
def test_a_judge_among_too_few_people_is_reported(people, few):
    frame = crossed(items=20, annotators=people + 1)
    for part in (frame.work, frame.ratings):
        part["kind"] = pd.Categorical(np.where(part["annotator"] == f"P-{people}", "judge", "human"))
    reported = findings(analysis(frame, kinds=frozenset({"human", "judge"})))[0]
    assert reported.kind == "judge" and few in reported.sentence
    assert ("too few" in reported.sentence) == bool(few)


def test_ratings_by_a_lead_after_unblinding_are_reported():
    frame = crossed(items=5, annotators=2)
    late = frame.work["annotator"].eq("P-1") & (frame.work["submitted_at"] > frame.work["submitted_at"].median())
    frame = dataclasses.replace(frame, late=frozenset(frame.work.loc[late, "assignment"]))
    reported = [finding for finding in findings(analysis(frame)) if finding.kind == "after unblinding"]
    assert reported[0].sentence.startswith(f"{late.sum()} annotations by a lead came after unblinding")
    marked = ratings_table(frame, present(reported[0].examples), NAMES)
    assert marked.count == 3 * late.sum()
    assert set(marked.rows["Marks"]) == {"after unblinding"}


def test_filters_hold_for_every_number():
    frame = crossed(items=10, annotators=3)
    frame = dataclasses.replace(frame, meta={f"item-{n}": {"domain": "hotel" if n < 4 else "food"} for n in range(10)})
    assert frame.fields == {"domain": ["food", "hotel"]}
    each = analysis(frame, field="domain", value="hotel")
    assert (each.n_items, each.n_ratings, len(each.disagreement.items)) == (4, 36, 4)
    assert sum(system.n for system in each.criteria[0].systems) == 36
    assert each.contrasts[0].difference.n == 24
    assert "only items with domain = hotel" in each.scope.sentence
    alone = analysis(frame, annotators=frozenset({"P-1"}))
    assert (alone.n_annotators, len(alone.annotators)) == (1, 1)
    assert alone.agreement[0].table == Undefined("No item was rated by two annotators.")


@pytest.mark.parametrize(("second", "reported"), [(0.03, ["Criterion 2"]), (0.2, [])])
def test_places_on_screen_are_tested_over_all_criteria(monkeypatch, second, reported):
    """With six criteria, one of them had an effect of the place by chance in every fourth study."""
    each = analysis(crossed(20, 3, 2, criteria=3))
    effect = next(of for of in each.positions.values() if isinstance(of, PositionEffect))
    p = {"c1": 0.04, "c2": second / 3, "c3": 0.9}
    monkeypatch.setitem(each.__dict__, "positions", {key: dataclasses.replace(effect, p=p[key]) for key in p})
    sentences = [finding.sentence for finding in findings(each) if finding.kind == "order on screen"]
    assert [sentence.partition(":")[0] for sentence in sentences] == reported


def test_a_missing_option_that_matters_is_reported():
    rows = []
    for item in range(40):
        for annotator in range(2):
            unsure = item % 2 == 0
            option = "unsure" if unsure else ("accept", "reject")[(item // 2 + annotator * (item % 3 == 0)) % 2]
            row = {"annotator": f"P-{annotator}", "item": f"i{item}", "system": 1, "criterion": "verdict"}
            rows.append(row | {"option": option, "missing": unsure})
    each = analysis(make_frame(SMALL_RUBRIC, rows))
    result = next(result for result in each.agreement if result.criterion == "verdict")
    assert present(result.table).units == 20
    assert present(present(result.category)["alpha"].value) > present(result.alpha) + 0.1
    assert "“Cannot say” as a category of its own" in result.note
    kinds = {finding.kind for finding in findings(each)}
    assert {"missing as a category", "missing answers"} <= kinds


def test_an_option_set_apart_stays_in_the_headline():
    rubric = SMALL_RUBRIC.replace("missing: true", "apart: true")
    rows = [
        {"annotator": f"P-{n}", "item": f"i{item}", "system": 1, "criterion": "verdict"}
        | {"option": ("unsure" if n and item % 2 else ("accept", "reject")[item // 2 % 2])}
        for item in range(40)
        for n in range(2)
    ]
    result = next(each for each in analysis(make_frame(rubric, rows)).agreement if each.criterion == "verdict")
    assert (present(result.table).units, result.percent) == (40, 0.5)
    assert (present(result.apart).units, present(result.apart)["percent"].value) == (20, 1.0)
    assert result.category is None


def test_without_missing_options_there_is_no_second_version():
    plain = analysis(crossed(items=6, annotators=3)).agreement[0]
    assert (plain.category, plain.apart) == (None, None)


def test_a_random_annotator_is_flagged_a_severe_is_not():
    frame = crossed(items=40, annotators=6, gap=0.5)
    ratings, random = frame.ratings.copy(), np.random.default_rng(2)
    ratings.loc[ratings["annotator"] == "P-0", "value"] = random.integers(1, 8, 120)
    severe = ratings["annotator"] == "P-1"
    ratings.loc[severe, "value"] = (ratings.loc[severe, "value"] - 1).clip(1)
    each = analysis(dataclasses.replace(frame, ratings=ratings, name=(0, "spoiled", "")))
    looks = {look.annotator: look for look in each.annotators}
    assert looks["P-0"].flags and not looks["P-1"].flags
    assert looks["P-1"].severity.difference < -0.1
    assert any(finding.kind == "annotator" and "P-0" in finding.sentence for finding in findings(each))
    assert each.disagreement.annotators[0].name == "P-0"


def test_the_same_rating_throughout_is_the_graver_flag():
    """It weighed less than a low correlation, because its sentence lacks that word."""
    frame = crossed(items=40, annotators=6, gap=0.5)
    ratings = frame.ratings.copy()
    ratings.loc[ratings["annotator"] == "P-0", "value"] = 4
    each = analysis(dataclasses.replace(frame, ratings=ratings, name=(0, "constant", "")))
    weights = [finding.weight for finding in findings(each) if finding.kind == "annotator"]
    assert weights == [65, 45]


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(1, 2), st.integers(1, 5)), max_size=40))
def test_disagreement_equals_the_plain_definition(cells):
    given_once = {(item, annotator, system): value for item, annotator, system, value in cells}
    rows = [
        {"annotator": f"P-{a}", "item": f"i{i}", "system": s, "criterion": "c1", "value": value}
        for (i, a, s), value in given_once.items()
    ]
    frame = make_frame(likert_rubric(points=5), rows)
    every = criterion_ratings(frame, Counted())
    result = disagreement(every, frame.ratings["item"].cat.categories, frame.ratings["annotator"].cat.categories)
    expected: dict[str, list[float]] = {}
    for item in range(3):
        for system in (1, 2):
            values = [v for (i, _, s), v in given_once.items() if (i, s) == (item, system)]
            apart = [abs(x - y) / 4 for x, y in combinations(values, 2)]
            if apart:
                expected.setdefault(f"i{item}", []).append(float(np.mean(apart)))
    assert {each.name: pytest.approx(each.score) for each in result.items} == {
        item: float(np.mean(scores)) for item, scores in expected.items()
    }
    assert all(0 <= each.criteria["c1"] <= 1 for each in result.annotators)


def test_disagreement_about_options_counts_who_chose_another_one():
    chosen = {"P-0": "accept", "P-1": "accept", "P-2": "reject"}
    rows = [
        {"annotator": who, "item": "i", "system": 1, "criterion": "verdict", "option": option}
        for who, option in chosen.items()
    ]
    rubric = SMALL_RUBRIC.replace(", positive: true", "")
    result = analysis(make_frame(rubric, rows)).disagreement
    assert result.items[0].score == pytest.approx(2 / 3)
    assert {each.name: each.criteria["verdict"] for each in result.annotators} == {
        "P-0": 0.5,
        "P-1": 0.5,
        "P-2": 1,
    }


def test_options_differ_also_where_none_is_the_positive_one():
    """Wrong or rude: the share of OK is 0 for both, so they counted as agreed, and nobody read the item again."""
    rubric = SMALL_RUBRIC.replace("- {key: unsure", "- {key: rude, title: Rude}\n        - {key: unsure")
    rows = [
        {"annotator": who, "item": "i", "system": 1, "criterion": "verdict", "option": option}
        for who, option in (("P-0", "rude"), ("P-1", "reject"))
    ]
    result = analysis(make_frame(rubric, rows)).disagreement
    assert [item.score for item in result.items] == [1.0]
    assert [each.criteria["verdict"] for each in result.annotators] == [1.0, 1.0]


def test_every_item_in_dispute_has_a_distance():
    """The 200 farthest had one; the others looked as if one person had rated them, and were never to decide."""
    rows = [
        {"annotator": f"P-{a}", "item": f"i{i}", "system": 1, "criterion": "c1", "value": 2 + a}
        for i in range(210)
        for a in range(2)
    ]
    assert len(analysis(make_frame(likert_rubric(points=5), rows)).disagreement.items) == 210


def test_examples_lead_from_a_difference_to_its_items():
    each = analysis(crossed(items=30, annotators=6, raters=3, gap=0.5))
    contrast = each.contrasts_of("c1")[1]
    shown = each.examples(contrast)
    wide = each.frame.ratings.pivot(index=["item", "annotator"], columns="system", values="value")
    by_item = (wide[contrast.system] - wide[contrast.baseline]).groupby(level=0, observed=True).mean()
    assert len(shown) == 20
    assert shown[0].difference == by_item.max() and shown[-1].difference == by_item.min()
    assert all(example.difference == pytest.approx(by_item[example.item]) and example.n == 3 for example in shown)


def test_an_analysis_is_kept_until_the_frame_changes():
    frame = crossed(items=5, annotators=3)
    each = analysis(frame)
    assert analysis(frame) is each
    assert analysis(frame, with_ignored=True) is not each
    newer = dataclasses.replace(frame, number=2)
    assert analysis(newer) is not each
    assert analysis(newer) is analysis(newer)


def test_longer_responses_that_please_show_in_the_effect_of_length():
    frame = crossed(items=30, annotators=4, gap=1.0)
    pieces = [(0, f"item-{i}", system, -1, 10 * system, 2 * system) for i in range(30) for system in (1, 2, 3)]
    columns = ["candidate", "item", "system", "turn", "characters", "words"]
    defined = texts.Texts(pd.DataFrame(pieces, columns=columns), pd.DataFrame())
    (result,) = lengths(analysis(frame), defined).values()
    assert present(result).kendall.value > 0.5
    (result,) = lengths(analysis(frame), texts.Texts(pd.DataFrame(columns=columns), pd.DataFrame())).values()
    assert result == Undefined("Not defined: the candidates have no text.")


@pytest.fixture
def marked(sqlite_engine, make_study):
    """(session, study, frame): two annotators read one item; one of them marks the first word of Response A."""
    with database.writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=1)
        for who in people:
            submit(session, study, who)
        spans = [{"slot": "A", "turn": None, "start": 0, "end": 6, "label": "good", "comment": ""}]
        resubmit(session, people[0], first_work(session, people[0]), {**full_answers(), "highlights": spans})
        yield session, study, frame_of(session, study)


def test_readings_hold_those_who_marked_nothing_too(marked):
    session, study, frame = marked
    rows = texts.readings_of(session, study, frame, Counted())
    assert (len(rows), int(rows["start"].notna().sum())) == (6, 1)
    assert set(rows["length"]) == {32}
    every, good = present(spans(rows))
    assert (every.texts, every.spans, good.label, good.exact) == (3, 1, "good", 0.0)
    alone = Counted(annotators=frozenset({frame.ratings["annotator"].iloc[0]}))
    assert spans(texts.readings_of(session, study, frame, alone)) == Undefined("No text was read by two annotators.")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("语气轻松，与病人的担忧不符。", 6),
        ("ふりだした雨", 3),
        ("น้ำเสียงสบายๆ ไม่ตรงกับความกังวลของผู้ป่วย", 9),
        ("ភាសាខ្មែរ yes", 3),
    ],
    ids=["Chinese", "Japanese", "Thai", "Khmer"],
)
def test_words_to_read_are_estimated_without_white_space(marked, monkeypatch, text, words):
    session, study, _ = marked
    monkeypatch.setattr(texts, "_texts", {})
    session.execute(update(Item).values(context=text))
    assert texts.texts_of(session, study).contexts["words"].tolist() == [words]


def test_words_to_read_include_context_and_all_candidates(marked):
    session, study, frame = marked
    result = texts.texts_of(session, study)
    assert [*result.reading(frame.work).values()] == [3 + 3 * 9] * 2
    assert texts.texts_of(session, study) is result
    speeds = speeds_of(frame, Counted(), result)
    assert [(speed.n, speed.median, speed.unread) for speed in speeds] == [(1, 30.0, 0), (1, 30.0, 0)]


def test_turns_that_an_annotator_read_before_are_not_read_again():
    """With whole dialogues as contexts, careful people seemed faster than anyone can read."""
    pieces = pd.DataFrame({"item": ["turn-1", "turn-2", "turn-3"], "words": [5, 5, 5]})
    contexts = pd.DataFrame(
        [(f"turn-{item}", part, 40) for item in (1, 2, 3) for part in range(item)], columns=["item", "part", "words"]
    )
    order = [("P-1", "turn-1"), ("P-1", "turn-2"), ("P-2", "turn-3"), ("P-2", "turn-1"), ("P-1", "turn-3")]
    work = pd.DataFrame(order, columns=["annotator", "item"]).assign(assignment=range(5), submitted_at=range(5))
    work.loc[0, "submitted_at"] = 9  # edited later
    expected = {0: 45, 1: 45, 2: 125, 3: 5, 4: 45}
    assert texts.Texts(pieces, contexts).reading(work.sample(frac=1, random_state=1)) == expected


def test_texts_of_a_draft_are_those_of_its_present_items(sqlite_engine):
    """A report vouched for a length effect in texts that a lead had replaced before the launch."""

    def items(words: int) -> ItemFile:
        answers = dict.fromkeys(SYSTEMS, "word " * words)
        return read_items(json.dumps([{"id": "item-1", "context": "c", "candidates": answers}]).encode(), "items.json")

    with database.writing(sqlite_engine) as session:
        lead, plan = add_person(session, "lead", Role.lead), lifecycle.StudyPlan(title="Draft", seed="draft")
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(1), lead.pseudonym, lead.person_id)
        seen = []
        for words in (9, 50):
            design.amend(session, study, Parts(items=items(words), replace_items=True), "", lead.pseudonym)
            seen.append(texts.texts_of(session, study).words)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        seen.append(texts.texts_of(session, study).words)
        assert [lengths.tolist() for lengths in seen] == [[words] * 3 for words in (9, 50, 50)]


def test_the_largest_differences_of_many_systems_are_named():
    stated = verdict(analysis(crossed(items=60, annotators=8, systems=5, gap=0.7)), "c1")
    assert stated.startswith("All differ clearly, from high to low: System 5, System 4, System 3, System 2, System 1.")
    assert stated.count("is higher than") == 3


def test_proportional_odds_are_fitted_once_per_criterion():
    each = analysis(crossed(items=12, annotators=8, raters=4, systems=2, gap=1.0))
    (model,) = each.ordinal_models.values()
    assert present(model)[0].estimate.mean > 0
    assert next(iter(each.ordinal_models.values())) is model


def test_places_are_called_as_annotators_see_them():
    assert [response(place) for place in range(40)] == [f"Response {letter(place)}" for place in range(40)]


def test_differences_clear_for_few_annotators_have_a_star():
    of_four = analysis(crossed(40, 4, gap=1))
    assert not any(contrast.clear for contrast in of_four.contrasts)
    assert all(words.endswith(" *") for words in _differences(of_four).values())

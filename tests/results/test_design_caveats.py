"""Designs in which the tests err, as docs/validation.md shows: what a reader of the results is warned of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.frames import crossed, likert_rubric, make_frame
from helpers.ratings import BEST_RUBRIC

from triptych.results.design_caveats import one_at_a_time, unequal_sets, unevenly_missing, ungrouped
from triptych.results.frame.model import Counted, Frame
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.texts import Texts
from triptych.results.verdicts import extremes
from triptych.stats.analysis.study import UNEQUAL_SETS
from triptych.study.settings import StudySettings

NO_TEXTS = Texts(pd.DataFrame(), pd.DataFrame())


def analysed(frame: Frame) -> StudyAnalysis:
    return StudyAnalysis(frame, Counted(), {code: f"System {code}" for code in frame.systems})


def with_rows(frame: Frame, keep: pd.Series) -> Frame:
    return replace(frame, ratings=frame.ratings[keep].reset_index(drop=True))


def renamed(frame: Frame, name: str) -> Frame:
    """Items with ids such as dialogue-3-turn-1."""
    names = {item: name.format(group=n // 4, turn=n % 4) for n, item in enumerate(frame.ratings["item"].cat.categories)}
    ratings = frame.ratings.assign(item=frame.ratings["item"].cat.rename_categories(names))
    return replace(frame, ratings=ratings)


@pytest.mark.parametrize("rule", ["marked", "left out"])
def test_low_ratings_missing_for_one_system_are_said(rule):
    frame = crossed(60, 8, systems=3, raters=3)
    low = (frame.ratings["system"] == 3) & (frame.ratings["value"] <= 3)
    if rule == "marked":
        ratings = frame.ratings.assign(missing=low, value=frame.ratings["value"].mask(low))
        frame = replace(frame, ratings=ratings)
    else:
        frame = with_rows(frame, ~low)
    (finding,) = unevenly_missing(analysed(frame))
    assert finding.sentence.startswith("Criterion 1: ratings of System 3 are missing more often than those of System ")
    assert "beyond chance. If low ratings are missing, its mean is too high" in finding.sentence


def test_a_gap_of_exactly_five_points_is_said():
    """0.15 minus 0.1 is a little less than 0.05."""
    frame, random = crossed(125, 4, systems=2), np.random.default_rng(1)
    missing = np.concatenate([random.permutation(500) < count for count in (50, 75)])
    ratings = frame.ratings.sort_values("system", kind="stable").reset_index(drop=True)
    ratings = ratings.assign(missing=missing, value=ratings["value"].mask(missing))
    (finding,) = unevenly_missing(analysed(replace(frame, ratings=ratings)))
    assert "by 5 percentage points, beyond chance" in finding.sentence


def test_ratings_missing_at_random_are_not_said():
    findings = 0
    for seed in range(20):
        frame = crossed(40, 6, systems=3, raters=3, seed=seed)
        present = pd.Series(np.random.default_rng(seed).random(len(frame.ratings)) > 0.2)
        findings += len([*unevenly_missing(analysed(with_rows(frame, present)))])
    assert findings <= 3


def test_designs_that_show_some_of_the_systems_miss_none():
    frame = crossed(60, 8, systems=3, raters=3)
    shown = pd.Series((frame.ratings["position"] < 2).to_numpy())
    assert not [*unevenly_missing(analysed(with_rows(frame, shown)))]


def test_responses_rated_one_at_a_time_are_said():
    frame = crossed(60, 8, systems=3, raters=3)
    codes = frame.ratings["annotator"].cat.codes + frame.ratings["item"].cat.codes
    alone = with_rows(frame, (codes % 3 + 1 == frame.ratings["system"]))
    (finding,) = one_at_a_time(analysed(alone))
    assert "mostly rated one response of an item" in finding.sentence
    assert not [*one_at_a_time(analysed(frame))]


def test_a_criterion_that_few_answered_is_no_single_response():
    """Where all responses were rated side by side under another criterion."""
    frame = crossed(60, 8, systems=3, criteria=2)
    few = np.random.default_rng(1).random(len(frame.ratings)) < 0.3
    analysis = analysed(with_rows(frame, (frame.ratings["criterion"] == "c1") | few))
    assert not [*one_at_a_time(analysis)]


def test_no_tests_are_called_conservative_where_none_is_possible():
    frame = crossed(60, 8, systems=3, raters=3)
    own_items = frame.ratings["item"].cat.codes % 3 + 1 == frame.ratings["system"]
    assert not [*one_at_a_time(analysed(with_rows(frame, own_items)))]


def test_mostly_absent_ratings_of_one_system_are_no_single_responses():
    frame = crossed(60, 8, systems=2)
    high = (frame.ratings["system"] == 1) | (frame.ratings["value"] >= 6)
    analysis = analysed(with_rows(frame, high))
    (finding,) = unevenly_missing(analysis)
    assert "ratings of System 2 are missing more often than those of System 1" in finding.sentence
    assert not [*one_at_a_time(analysis)]


def test_a_system_asked_about_less_often_is_not_missing():
    frame = crossed(60, 8, systems=2)
    item, annotator = (frame.ratings[name].cat.codes for name in ("item", "annotator"))
    system = frame.ratings["system"]
    alone = analysed(with_rows(frame, system == np.where((item + annotator) % 4 == 0, 2, 1)))
    assert not [*unevenly_missing(alone)] and [*one_at_a_time(alone)]
    for part in (item < 20, annotator < 3):
        assert not [*unevenly_missing(analysed(with_rows(frame, part | (system == 1))))]


def test_answers_about_a_single_system_have_no_such_caveat():
    frame = crossed(20, 6, systems=2, criteria=2)
    analysis = analysed(with_rows(frame, (frame.ratings["system"] == 1) | (frame.ratings["criterion"] == "c1")))
    assert analysis.contrasts_of("c2")
    assert not [*one_at_a_time(analysis)] and not [*unevenly_missing(analysis)]


def items_of(frame: Frame) -> list[str]:
    return list(frame.ratings["item"].cat.categories)


def test_items_that_look_grouped_are_said_until_groups_are_declared():
    frame = renamed(crossed(40, 6, systems=2, raters=2), "dialogue-{group}-turn-{turn}")
    (finding,) = ungrouped(analysed(frame), NO_TEXTS)
    assert finding.sentence.startswith(
        "Ids look like 10 groups of items, such as dialogue-0, and no groups of items are"
    )
    declared = replace(frame, settings=StudySettings(group_field="dialogue"))
    (mistyped,) = ungrouped(analysed(declared), NO_TEXTS)
    assert "and the field dialogue groups none of them: if items" in mistyped.sentence
    grouped = replace(declared, meta={item: {"dialogue": item.partition("-turn")[0]} for item in items_of(frame)})
    assert not [*ungrouped(analysed(grouped), NO_TEXTS)]


def test_a_field_that_groups_two_items_is_no_declaration():
    frame = renamed(crossed(40, 6, systems=2, raters=2), "dialogue-{group}-turn-{turn}")
    meta = {item: {"pair": "p" if at < 2 else item} for at, item in enumerate(items_of(frame))}
    paired = replace(frame, settings=StudySettings(group_field="pair"), meta=meta)
    (finding,) = ungrouped(analysed(paired), NO_TEXTS)
    assert "and the field pair groups only 2 of 40 items: if items" in finding.sentence


def test_shared_contexts_look_grouped():
    analysis = analysed(crossed(40, 6, systems=2, raters=2))
    (finding,) = ungrouped(analysis, replace(NO_TEXTS, shared_contexts=12))
    assert finding.sentence.startswith("12 items share their context with another item, and no groups")
    assert not [*ungrouped(analysis, NO_TEXTS)]


def test_a_study_of_one_system_has_no_such_caveat():
    rows = [
        {"annotator": f"P-{who}", "item": f"i{n}", "criterion": "c1", "system": 1, "value": 1 + (n + who) % 7}
        for who in range(3)
        for n in range(6)
    ]
    analysis = analysed(make_frame(likert_rubric(), rows))
    assert not [*unevenly_missing(analysis), *one_at_a_time(analysis), *ungrouped(analysis, NO_TEXTS)]


@pytest.mark.parametrize("third_items", [0, 4, 12])
def test_shares_of_best_in_sets_of_different_size(third_items: int):
    random = np.random.default_rng(4)
    rows: list[dict[str, Any]] = []
    for item, who in np.ndindex(12, 5):
        shown = (1, 2, 3) if item < third_items else (1, 2)
        best = int(random.choice(shown))
        named = {"annotator": f"P-{who}", "item": f"i{item}", "criterion": "winner"}
        rows += [{**named, "system": system, "value": float(system == best)} for system in shown]
    analysis = analysed(make_frame(BEST_RUBRIC, rows))
    sentences = [finding.sentence for finding in unequal_sets(analysis)]
    words = extremes(analysis, next(of for of in analysis.criteria if of.criterion.key == "winner"))
    assert ("Shares cannot be compared" in words) == (third_items == 4)
    assert len(sentences) == (third_items == 4)
    if sentences:
        assert "would be chosen in 44 % and System 3 in 33 %" in sentences[0]
        assert "Highest" not in words
        assert "After adjusting for items and annotators" in words


def test_without_preferences_no_system_wins_in_sets_of_different_size():
    """The third is set aside in half of the sets, which leaves two to choose from: that alone lowered its share."""
    rows: list[dict[str, Any]] = []
    for item, who in np.ndindex(12, 6):
        shown = (1, 2, 3) if (item + who) % 2 else (1, 2)
        best = shown[(item // 2 + who // 2) % len(shown)]
        named = {"annotator": f"P-{who}", "item": f"i{item}", "criterion": "winner"}
        rows += [{**named, "system": system, "value": float(system == best)} for system in shown]
    analysis = analysed(make_frame(BEST_RUBRIC, rows))
    differences = [contrast.difference.mean for contrast in analysis.contrasts_of("winner")]
    assert differences == pytest.approx([0, 0, 0], abs=1e-9)
    model = analysis.ordinal_models["winner"]
    assert model == UNEQUAL_SETS


def test_ticking_more_in_larger_sets_favours_no_system():
    """Half of the annotators tick one response and mostly see two, half tick everything and mostly see three."""
    rows: list[dict[str, Any]] = []
    for item, who in np.ndindex(24, 6):
        ticks_all = who >= 3
        shown = (1, 2, 3) if ((item + who) % 4 > 0) == ticks_all else (1, 2)
        best = shown[(item // 4) % len(shown)]
        named = {"annotator": f"P-{who}", "item": f"i{item}", "criterion": "winner"}
        rows += [{**named, "system": system, "value": float(ticks_all or system == best)} for system in shown]
    contrasts = analysed(make_frame(BEST_RUBRIC, rows)).contrasts_of("winner")
    assert [contrast.difference.mean for contrast in contrasts] == pytest.approx([0, 0, 0], abs=0.005)


def test_equal_sets_keep_their_shares_where_none_is_picked():
    """Two of three are shown, and the first is picked wherever it is shown; without it nobody picks any."""
    rows: list[dict[str, Any]] = []
    for item, who in np.ndindex(12, 6):
        shown = ((1, 2), (1, 3), (2, 3))[(item + who) % 3]
        named = {"annotator": f"P-{who}", "item": f"i{item}", "criterion": "winner"}
        rows += [{**named, "system": system, "value": float(system == 1)} for system in shown]
    contrasts = analysed(make_frame(BEST_RUBRIC, rows)).contrasts_of("winner")
    assert [contrast.difference.mean for contrast in contrasts] == pytest.approx([-1, -1, 0], abs=1e-9)

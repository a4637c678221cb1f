"""A judge model compared with the annotators, of a whole study."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers.frames import likert_rubric, make_frame
from helpers.ratings import BEST_RUBRIC

from triptych.results.criterion import criterion_ratings
from triptych.results.frame.model import Counted, Frame
from triptych.results.judges import excluded_judges, judges, judges_in, sides
from triptych.stats.analysis.judges import JudgeOf, judge_differences
from triptych.stats.correlation import Correlations
from triptych.stats.judge import AltTest
from triptych.stats.undefined import Undefined
from triptych.study.settings import StudySettings

OPTIONS = """
key: options
title: Options
summary: One choice.
instructions: Choose.
criteria:
  - key: c1
    title: Kind
    definition: Of which kind.
    scale: {kind: choice, options: [{key: red, title: Red}, {key: blue, title: Blue}]}
"""


def table(noise_of_judge: float, items: int = 40) -> pd.DataFrame:
    """Three annotators near a candidate's quality, and a judge as far from it as `noise_of_judge` says."""
    random = np.random.default_rng(3)
    quality = random.normal(size=(items, 3))
    given = {f"P-{n}": ("human", 0.7) for n in range(3)} | {"J-1": ("judge", noise_of_judge)}
    return pd.DataFrame(
        {"annotator": name, "kind": kind, "item": f"item-{item}", "system": system + 1, "criterion": "c1"}
        | {"value": float(np.clip(np.round(4 + 1.5 * quality[item, system] + noise * random.normal()), 1, 7))}
        for name, (kind, noise) in given.items()
        for item in range(items)
        for system in range(3)
    )


def found_in(frame: Frame, **scope) -> list[JudgeOf]:
    counted = Counted(**scope)
    return judges(frame, counted, criterion_ratings(frame, counted))


def test_a_judge_of_the_best_response_is_tested_like_annotators():
    """None of its answers counted as an answer to what they had rated."""
    whole = table(0.3)
    best = whole["value"] == whole.groupby(["annotator", "item"])["value"].transform("max")
    chosen = whole.assign(value=best.astype(float), criterion="winner")
    judge = found_in(make_frame(BEST_RUBRIC, chosen))[0]

    assert (judge.criterion, judge.shared) == ("winner", 120)
    assert isinstance(judge.stand_in, AltTest) and judge.stand_in.passes


def test_a_judge_of_best_is_compared_with_one_system():
    """With "none of them", which nobody may answer, as the constant answer, no judge of noisy annotators passed."""
    random, rows = np.random.default_rng(1), []
    quality = random.normal(size=(60, 3))
    for name, kind, noise in [*((f"P-{n}", "human", 1.2) for n in range(5)), ("J-1", "judge", 0.3)]:
        best = (quality + noise * random.normal(size=quality.shape)).argmax(axis=1)
        named = {"annotator": name, "kind": kind, "criterion": "winner"}
        rows += [
            {**named, "item": f"item-{item}", "system": system + 1, "value": float(best[item] == system)}
            for item, system in np.ndindex(quality.shape)
        ]
    stand_in = found_in(make_frame(BEST_RUBRIC, rows))[0].stand_in
    assert isinstance(stand_in, AltTest) and stand_in.passes
    always = [row | {"value": float(row["system"] == 2)} if row["kind"] == "judge" else row for row in rows]
    stand_in = found_in(make_frame(BEST_RUBRIC, always))[0].stand_in
    assert isinstance(stand_in, AltTest) and not stand_in.passes


def test_the_best_of_more_responses_is_not_compared():
    """Chance chooses in a set of three less often than in one of two, for every system."""
    whole = table(0.3)
    unseen = (whole["kind"] == "human") & (whole["system"] == 3)
    set_aside = whole.assign(value=whole["value"].mask(unseen), missing=unseen)
    for rows, compared in ((whole, 3), (whole[~unseen], 0), (set_aside, 0)):
        best = (rows["value"] == rows.groupby(["annotator", "item"])["value"].transform("max")).astype(float)
        chosen = best.where(rows["value"].notna())
        frame = make_frame(BEST_RUBRIC, rows.assign(value=chosen, criterion="winner"))
        every = judge_differences(*sides(frame, Counted(), criterion_ratings(frame, Counted())), 0.05)
        assert sum(not isinstance(of.difference, Undefined) for _, of in every) == compared


def test_declared_groups_of_items_count_once_for_a_judge():
    frame = make_frame(likert_rubric(), table(0.3, items=80), settings=StudySettings(group_field="dialogue"))
    meta = {f"item-{item}": {"dialogue": f"d{item // 2}"} for item in range(80)}
    (result,) = found_in(replace(frame, meta=meta))
    assert isinstance(result.stand_in, AltTest) and isinstance(result.within_items, Correlations)
    assert {each.n for each in result.stand_in.comparisons} == {40}
    assert "over groups of items" in result.within_items.sentence

    fewer = {item: {"dialogue": f"d{int(item[5:]) // 4}"} for item in meta}
    (result,) = found_in(replace(frame, meta=fewer))
    assert "the most that anyone shares is 20" in str(result.stand_in)


def test_a_good_judge_may_replace_people_a_guessing_may_not():
    good, guessing = (found_in(make_frame(likert_rubric(), table(noise)))[0] for noise in (0.3, 9.0))

    assert isinstance(good.stand_in, AltTest) and isinstance(guessing.stand_in, AltTest)
    assert (good.stand_in.passes, guessing.stand_in.passes) == (True, False)
    assert isinstance(good.within_items, Correlations) and isinstance(guessing.within_items, Correlations)
    assert good.within_items.kendall.value > 0.5 > guessing.within_items.kendall.value
    assert (good.judge, good.criterion, good.shared) == ("J-1", "c1", 120)


def test_excluded_judges_stay_next_to_the_best_one():
    """Of many judges that were tried, the best looked like the only one."""
    tried = pd.concat([table(0.3), table(9.0).query("kind == 'judge'").assign(annotator="J-2", excluded=True)])
    frame = make_frame(likert_rubric(), tried.fillna({"excluded": False}).reset_index(drop=True))
    assert [each.judge for each in found_in(frame)] == ["J-1", "J-2"]
    assert excluded_judges(frame) == ["J-2"]


def test_the_judge_is_compared_with_annotators_by_their_pseudonyms():
    (result,) = found_in(make_frame(likert_rubric(), table(0.3)))

    assert [each.annotator for each in result.stand_in.comparisons] == ["P-0", "P-1", "P-2"]


def test_three_systems_are_too_few_for_a_correlation_over_systems():
    (result,) = found_in(make_frame(likert_rubric(), table(0.3)))

    assert isinstance(result.of_systems, Undefined) and "3 systems" in result.of_systems.reason


def test_a_judge_is_never_compared_with_itself():
    frame = make_frame(likert_rubric(), table(0.3))

    both = found_in(frame, kinds=frozenset({"human", "judge"}))

    assert both == found_in(frame)


def test_unordered_options_are_compared_by_share_of_agreement():
    rows = table(0.3)
    rows["option"], rows["value"] = np.where(rows["value"] > 4, "red", "blue"), np.nan
    (result,) = found_in(make_frame(OPTIONS, rows))

    assert isinstance(result.stand_in, AltTest) and result.stand_in.measure == "accuracy"
    assert isinstance(result.within_items, Undefined)


def test_the_kind_of_annotators_decides_the_judges_tolerance():
    result = [
        found_in(make_frame(likert_rubric(), table(0.3), settings=StudySettings(expertise=people)))[0].stand_in
        for people in ("expert", "crowd")
    ]

    assert [each.epsilon for each in result] == [0.2, 0.1]
    assert result[0].comparisons[0].p < result[1].comparisons[0].p


def test_without_a_judge_there_is_nothing_to_show():
    rows = table(0.3)
    frame = make_frame(likert_rubric(), rows[rows["kind"] == "human"])

    assert judges_in(frame) == [] and found_in(frame) == []


def with_metric(**part) -> Frame:
    """Criteria c1 and c2 rated by people, and c3 by the judge alone."""
    rows = table(0.3)
    people, scores = rows[rows["kind"] == "human"], rows[rows["kind"] == "judge"]
    other = people.assign(criterion="c2", value=8 - people["value"])
    scores = scores.assign(criterion="c3", value=scores["value"] / 7)
    return make_frame(likert_rubric(3), pd.concat([people, other, scores], ignore_index=True), **part)


def test_ratings_from_judges_alone_are_a_metric():
    c1, c2 = found_in(with_metric())

    assert [(each.judge, each.criterion, each.scores, each.shared) for each in (c1, c2)] == [
        ("J-1", "c1", "c3", 120),
        ("J-1", "c2", "c3", 120),
    ]
    assert c1.is_metric and isinstance(c1.stand_in, Undefined)
    assert c1.within_items.kendall.value > 0.5
    assert c2.within_items.kendall.value == pytest.approx(-c1.within_items.kendall.value)


def test_a_metric_is_correlated_only_with_ordered_criteria():
    scale = "scale: {kind: choice, options: [{key: red, title: Red, positive: true}, {key: blue, title: Blue}]}"
    positive = f"  - {{key: c2, title: Better, definition: Which., {scale}}}\n"
    about_item = (
        "  - {key: c4, title: Hard, definition: How hard., about: item, scale: {kind: number, low: 0, high: 9}}\n"
    )
    metric = "  - {key: c3, title: Metric, definition: Any., scale: {kind: number, low: 0, high: 9}}\n"
    rows = table(0.3)
    rows["option"] = np.where(rows["value"] > 4, "red", "blue")
    rows.loc[rows["kind"] == "judge", "option"] = None
    people, scores = rows[rows["kind"] == "human"].assign(value=np.nan), rows[rows["kind"] == "judge"]
    about = people.assign(criterion="c4", system=0, option=None, value=3.0).drop_duplicates(["annotator", "item"])
    parts = [people, people.assign(criterion="c2"), about, scores.assign(criterion="c3")]
    (result,) = found_in(make_frame(OPTIONS + positive + about_item + metric, pd.concat(parts, ignore_index=True)))

    assert (result.criterion, result.scores) == ("c2", "c3")
    assert result.within_items.kendall.value > 0.5


def test_a_judge_of_a_criterion_people_rated_is_no_metric():
    frame = with_metric()
    rows = frame.ratings.assign(criterion=frame.ratings["criterion"].astype(str).replace("c3", "c1"))
    (result,) = found_in(make_frame(likert_rubric(3), rows))

    assert (result.criterion, result.scores, result.is_metric) == ("c1", "c1", False)

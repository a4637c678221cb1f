"""Groups of items, groups of annotators, and camps that nobody declared."""

from __future__ import annotations

import csv
import random
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.analyses import NAMES
from helpers.frames import crossed, likert_rubric, make_frame
from helpers.present import present
from helpers.ratings import BEST_RUBRIC, submit
from helpers.reports import new_study, report_of, some_answers
from helpers.results_pages import visit, words  # noqa: F401  (fixtures)
from helpers.studies import full_answers, sure
from helpers.study_pages import button

from triptych.errors import NotAllowed
from triptych.formats.model import MAX_GROUPS
from triptych.privacy import erasure
from triptych.results import verdicts
from triptych.results.caveats import caveats
from triptych.results.first_screen.slices import slices
from triptych.results.frame.model import Counted, Frame
from triptych.results.frame.upkeep import build_frame
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.verdicts import between_groups
from triptych.results.warnings import BY_CHANCE, findings
from triptych.stats.analysis.collection import Collected
from triptych.stats.analysis.study import length_of
from triptych.stats.crossed import CrossedEffects, Difference
from triptych.stats.numbers import p_words
from triptych.storage import database, events
from triptych.storage.events import EventKind
from triptych.storage.models import Person
from triptych.study.annotator_groups import assign, set_group
from triptych.study.settings import StudySettings, settings_of
from triptych.web.session import web_engine


def analysed(frame: Frame, **settings: object) -> StudyAnalysis:
    return StudyAnalysis(replace(frame, settings=StudySettings.model_validate(settings)), Counted(), NAMES)


def test_a_field_of_the_items_groups_their_errors():
    frame = crossed(40, 6)
    frame = replace(frame, meta={f"item-{n}": {"dialogue": f"d{n // 4}"} for n in range(40)})
    alone, grouped = analysed(frame), analysed(frame, group_field="dialogue")
    ratings = grouped.ratings[0]
    columns = (ratings.number, ratings.item, ratings.annotator, ratings.system)
    names = np.array([f"d{int(str(grouped.item_names[item])[5:]) // 4}" for item in ratings.item])
    expected = CrossedEffects.build(*columns, names).difference(2, 1)
    assert grouped.contrasts[0].difference == expected
    assert grouped.contrasts[0].difference.mean == pytest.approx(alone.contrasts[0].difference.mean)
    assert grouped.contrasts[0].difference.items == 10
    won, won_alone = (present(of.contrasts[0].dominance).estimate for of in (grouped, alone))
    assert (won.items, won_alone.items) == (10, 40)
    assert "over groups of items" in present(length_of(ratings, ratings.at + ratings.system)).sentence
    assert won.mean == won_alone.mean
    assert grouped.criteria[0].systems[0].interval.items == 10
    table, alone_table = (present(of.agreement[0].table)["alpha"] for of in (grouped, alone))
    assert table.value == pytest.approx(alone_table.value)
    assert table.interval != alone_table.interval


def test_the_ordinal_model_clusters_by_groups_of_items():
    frame = crossed(40, 6)
    frame = replace(frame, meta={f"item-{n}": {"dialogue": f"d{n // 4}"} for n in range(40)})
    model = present(next(iter(analysed(frame, group_field="dialogue").ordinal_models.values())))
    assert {pair.estimate.items for pair in model} == {10}


def test_an_item_without_the_field_is_its_own_group():
    frame = replace(crossed(6, 3), meta={"item-0": {"d": 1}, "item-1": {"d": "1"}, "item-2": {"d": ""}})
    ratings = analysed(frame, group_field="d").ratings[0]
    assert len(np.unique(ratings.group)) == 5


def test_an_item_with_the_id_of_a_group_stays_apart():
    fields = {"item-0": {"d": "item-2"}, "item-1": {"d": "item-2"}, "item-3": {"d": "item item-2"}}
    frame = replace(crossed(6, 3), meta=fields)
    ratings = analysed(frame, group_field="d").ratings[0]
    assert len(np.unique(ratings.group)) == 5


def test_the_text_none_is_a_value_like_any_other():
    kinds: list[dict[str, Any]] = [{"d": "None"}, {"d": None}, {}, {"d": "Pain"}]
    meta = {f"item-{n}": kinds[n % 4] for n in range(8)}
    frame = replace(crossed(8, 3), meta=meta)
    filtered = StudyAnalysis(frame, Counted(field="d", value="None"), NAMES)
    assert filtered.n_items == 2
    assert {each.value: each.items for each in slices(analysed(frame), "c1", "d")} == {"None": 2, "Pain": 2}


@pytest.fixture(scope="module")
def experts(shared) -> Frame:
    with (shared / "real" / "summeval_3_ratings.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["criterion"] == "consistency"]
    table = pd.DataFrame(rows)
    systems = {name: code for code, name in enumerate(sorted(table["system"].unique()), 1)}
    return make_frame(
        likert_rubric(1, 5),
        pd.DataFrame(
            {
                "annotator": table["annotator"],
                "item": table["item_id"],
                "system": table["system"].map(systems),
                "position": -1,
                "criterion": "c1",
                "value": table["value"].astype(float),
            }
        ),
    )


def test_declared_experts_open_the_page_with_their_own_agreement(experts):
    names = experts.ratings["annotator"].cat.categories
    groups = {name: "expert" if name.startswith("expert") else "crowd" for name in names}
    analysis = analysed(experts, annotator_groups=groups)
    first, (low, high) = findings(analysis)[0], present(analysis.agreement[0].interval)
    assert (first.kind, first.weight) == ("groups", 93)
    assert re.search(r"0\.80 \(0\.\d\d to 0\.\d\d\) inside expert", first.sentence)
    assert first.sentence.endswith(f"against 0.14 ({low:.2f} to {high:.2f}) pooled.")
    assert {of.group: of.annotators for of in analysis.group_agreement} == {"expert": 3, "crowd": 5}


def test_undeclared_experts_are_hinted_at(experts):
    hint = next(finding for finding in findings(analysed(experts)) if finding.kind == "camps")
    within = r"two camps that agree more within \(0\.\d\d of the largest possible correlation, on average\) than across"
    assert re.search(within, hint.sentence)
    assert ": 3 on one side, 5 others on the other" in hint.unnamed
    camps = analysed(experts).camps[0].camps
    people = analysed(experts).people_names
    sides = {frozenset(people[code][:6] for code in side) for side in (camps.first, camps.second)}
    assert frozenset({"expert"}) in sides


def test_a_hint_at_tastes_mentions_chance():
    analysis = replace(apart(), frame=replace(apart().frame, settings=StudySettings()))
    hint = next(finding for finding in findings(analysis) if "camps with different preferences" in finding.sentence)
    assert hint.sentence.endswith(f". {BY_CHANCE}")


YES_OR_NO = """
key: flag
title: Flag
summary: One answer.
instructions: Rate.
criteria:
  - key: c1
    title: Safe
    definition: Is it safe?
    scale: {kind: choice, options: [{key: yes_, title: Safe, positive: true}, {key: no_, title: Unsafe}]}
"""


@pytest.mark.parametrize(("kind", "hinted"), [("five points", True), ("three points", False), ("yes or no", False)])
def test_camps_by_agreement_are_looked_for_on_five_points(kind, hinted):
    """With yes/no answers, or incomplete sets, hints appeared in 20 to 73 % of studies without camps."""
    random = np.random.default_rng(1)
    item, annotator, system = (grid.ravel() for grid in np.indices((60, 8, 3)))
    latent = random.normal(0, 1, (60, 3))[item, system] + random.normal(0, 1, (60, 3, 2))[item, system, annotator % 2]
    latent += random.logistic(0, 0.5, len(item))
    labels = {"annotator": np.char.add("P-", annotator.astype(str)), "item": np.char.add("i", item.astype(str))}
    rows = pd.DataFrame({**labels, "system": system + 1, "criterion": "c1"})
    if kind == "yes or no":
        frame = make_frame(YES_OR_NO, rows.assign(option=np.where(latent > 0, "yes_", "no_")))
    else:
        cuts = [-2, -0.7, 0.7, 2] if kind == "five points" else [-0.7, 0.7]
        frame = make_frame(likert_rubric(1, len(cuts) + 1), rows.assign(value=np.digitize(latent, cuts) + 1.0))
    assert bool(analysed(frame).camps) == hinted
    incomplete = replace(frame, ratings=frame.ratings[frame.ratings["system"] < 3 - annotator % 2])
    assert not analysed(incomplete).camps


def test_only_groups_that_are_the_camps_silence_the_hint(experts):
    first, second = analysed(experts).camps[0].camps.first, analysed(experts).camps[0].camps.second
    names = analysed(experts).people_names
    same = dict.fromkeys((names[code] for code in first), "a") | dict.fromkeys((names[code] for code in second), "b")
    others = {name: "ab"[place % 2] for place, name in enumerate(names)}
    singles = {name: name for name in names}
    hinted = [bool(analysed(experts, annotator_groups=groups).camps) for groups in (same, others, singles)]
    assert hinted == [False, True, True]


def test_a_hint_counts_the_members_of_each_group(experts):
    names = analysed(experts).people_names
    groups = dict(zip(names, ["a", "b", "a", "b", "a", "b", "a", ""], strict=True))
    hint = next(of for of in findings(analysed(experts, annotator_groups=groups)) if of.kind == "camps")
    first = [groups[names[code]] for code in analysed(experts).camps[0].camps.first]
    assert f"({first.count('a')} of 4 in a, {first.count('b')} of 3 in b on the first)" in hint.sentence


def test_groups_without_camps_are_listed():
    analysis = analysed(crossed(30, 6), annotator_groups={f"P-{n}": "ab"[n % 2] for n in range(6)})
    assert analysis.camps == ()
    assert [(of.group, of.annotators) for of in analysis.group_agreement] == [("a", 3), ("b", 3)]


def test_alphas_apart_by_chance_are_no_first_finding():
    """Two halves of one population were said to hide another agreement, where a few items decide."""
    analysis = analysed(
        crossed(30, 8, systems=2, criteria=4, raters=4, seed=3),
        annotator_groups={f"P-{n}": "ab"[n % 2] for n in range(8)},
    )
    pooled = {of.criterion: present(of.alpha) for of in analysis.agreement}
    gaps = [abs(present(of.agreement.alpha) - pooled[of.criterion]) for of in analysis.group_agreement]
    weights = {finding.weight for finding in findings(analysis) if finding.kind == "groups"}
    assert max(gaps) > 0.1 and weights == {35}


def apart(seed: int = 1, **settings: object) -> StudyAnalysis:
    """Two groups of six, of which the second rates the third system two points higher than the first does."""
    frame = crossed(40, 12, gap=0.3, seed=seed)
    second = frame.ratings["annotator"].astype(str).str[2:].astype(int) % 2 == 1
    values = frame.ratings["value"] + 2 * (second & (frame.ratings["system"] == 3))
    groups = {f"P-{n}": ("crowd", "expert")[n % 2] for n in range(12)}
    frame = replace(frame, ratings=frame.ratings.assign(value=values.clip(1, 7)))
    return analysed(frame, annotator_groups=groups, **settings)


def test_the_smallest_p_is_one_that_decides():
    """Two annotators of a third group, without a test for others like them, gave p < 0.001 and no clear difference."""
    frame = crossed(40, 14, systems=2, seed=4)
    of_two = frame.ratings["annotator"].isin(["P-12", "P-13"]) & frame.ratings["system"].eq(2)
    frame = replace(frame, ratings=frame.ratings.assign(value=(frame.ratings["value"] + 2 * of_two).clip(1, 7)))
    analysis = analysed(frame, annotator_groups={f"P-{n}": "ab"[n % 2] if n < 12 else "c" for n in range(14)})
    assert between_groups(analysis, "c1").startswith("No clear difference between groups (smallest adjusted p = 1.000)")


def test_the_smallest_of_several_p_is_named():
    analysis = analysed(crossed(40, 12, seed=2), annotator_groups={f"P-{n}": "ab"[n % 2] for n in range(12)})
    adjusted = [present(of.p_holm) for of in analysis.group_differences if of.other]
    assert len({round(p, 3) for p in adjusted}) > 1
    assert f"(smallest adjusted {p_words(min(adjusted))})" in between_groups(analysis, "c1")


@pytest.mark.long
def test_a_small_group_with_little_work_prefers_nothing_by_chance():
    """Permuted labels said so in 8 of these 20 studies without a difference."""
    groups = {f"P-{n}": "crowd" if n < 3 else "expert" for n in range(18)}
    sentences: list[str] = []
    for seed in range(20):
        frame = crossed(40, 18, seed=seed)
        person, item = (frame.ratings[of].astype(str).str[-2:] for of in ("annotator", "item"))
        idle = person.isin(["-0", "-1", "-2"]) & ~item.isin(["-0", "-1", "-2", "-3"])
        analysis = analysed(replace(frame, ratings=frame.ratings[~idle]), annotator_groups=groups)
        sentences += [of.sentence for of in findings(analysis) if of.kind == "groups"]
    assert sum("prefer" in sentence or " differ on " in sentence for sentence in sentences) <= 3


def test_each_group_has_the_differences_of_its_own_ratings():
    analysis = apart()
    inside = [of for of in analysis.group_differences if not of.other]
    assert len(inside) == 6
    for of in inside:
        ratings = analysis.ratings[0]
        names = np.array([analysis.groups[analysis.people_names[code]] for code in ratings.annotator])
        alone = ratings.take(np.flatnonzero(names == of.group))
        fit = CrossedEffects.build(alone.number, alone.item, alone.annotator, alone.system)
        expected = fit.difference(of.system, of.baseline)
        assert isinstance(of.difference, Difference)
        assert of.difference.mean == pytest.approx(expected.mean)
        assert present(of.difference.test).error == pytest.approx(present(expected.test).error)
        assert present(of.difference.test).freedom == pytest.approx(present(expected.test).freedom)


def test_each_group_has_its_own_chance_of_being_best():
    """The first picks both of two responses, and no group prefers any."""
    rows: list[dict[str, Any]] = []
    for item, who in np.ndindex(12, 12):
        shown = (1, 2, 3) if (item + who) % 2 else (1, 2)
        best = shown if who < 6 and len(shown) == 2 else (shown[(item // 2 + who // 2) % len(shown)],)
        named = {"annotator": f"P-{who}", "item": f"i{item}", "criterion": "winner"}
        rows += [{**named, "system": system, "value": float(system in best)} for system in shown]
    groups = {f"P-{who}": "ab"[who // 6] for who in range(12)}
    analysis = analysed(make_frame(BEST_RUBRIC, rows), annotator_groups=groups)
    assert len(analysis.group_differences) == 9
    for of in analysis.group_differences:
        assert present(of.difference).mean == pytest.approx(0, abs=1e-9)


def test_groups_that_differ_are_told_apart_in_words():
    analysis = apart()
    between = {(of.system, of.baseline): of for of in analysis.group_differences if of.other}
    assert [pair for pair, of in between.items() if of.clear] == [(3, 1), (3, 2)]
    sentence = between_groups(analysis, "c1")
    assert "crowd and expert differ on System 3 minus System 1" in sentence
    assert any(finding.kind == "groups" and sentence in finding.sentence for finding in findings(analysis))


def test_a_single_further_difference_between_groups_is_one(monkeypatch):
    monkeypatch.setattr(verdicts, "MAX_LISTED", 1)
    assert "1 more clear difference between groups is in the table." in between_groups(apart(), "c1")


def test_a_milder_group_at_the_scales_end_is_named():
    """Both groups saw the same difference, which the end of the scale cut for one of them."""
    random, rows = np.random.default_rng(3), []
    quality = random.normal(0.4, 0.8, (80, 2)) + [0, 1]
    for item, who, system in np.ndindex(80, 12, 2):
        seen = 3 + quality[item, system] + 1.5 * (who % 2) + random.normal(0, 0.7)
        named = {"annotator": f"P-{who}", "item": f"i{item}", "system": system + 1, "criterion": "c1"}
        rows.append({**named, "value": float(np.clip(np.round(seen), 1, 5))})
    groups = {f"P-{who}": ("severe", "mild")[who % 2] for who in range(12)}
    analysis = analysed(make_frame(likert_rubric(1, 5), rows), annotator_groups=groups)
    (finding,) = (finding for finding in findings(analysis) if "apart by" in finding.sentence)
    assert finding.sentence.endswith(
        "have the highest possible value: differences are smaller near an end of the scale, so severity alone may "
        "explain this."
    )
    assert "severity" not in between_groups(apart(), "c1")


def test_no_severity_explains_a_smaller_difference_away_from_the_ends():
    """A group without a difference has more answers at the top, but the one with a difference is near the bottom."""
    rows = []
    for item, who, system in np.ndindex(40, 12, 2):
        noise = (item + who // 2) % 5
        value = noise + 1 if who % 2 else 1 + 2 * system * (noise > 1)
        named = {"annotator": f"P-{who}", "item": f"i{item}", "system": system + 1, "criterion": "c1"}
        rows.append({**named, "value": float(value)})
    groups = {f"P-{who}": ("severe", "mild")[who % 2] for who in range(12)}
    sentence = between_groups(analysed(make_frame(likert_rubric(1, 5), rows), annotator_groups=groups), "c1")
    assert "apart by" in sentence and "severity" not in sentence


def test_no_severity_explains_an_opposite_preference():
    """The mild group is at the top of the scale, but clearly prefers the system that the other likes less."""
    rows = []
    for item, who, system in np.ndindex(40, 12, 2):
        noise = (item + who // 2) % 5
        value = 5 - system * (noise < 3) if who % 2 else 2 + system + (noise > 1)
        named = {"annotator": f"P-{who}", "item": f"i{item}", "system": system + 1, "criterion": "c1"}
        rows.append({**named, "value": float(value)})
    groups = {f"P-{who}": ("severe", "mild")[who % 2] for who in range(12)}
    sentence = between_groups(analysed(make_frame(likert_rubric(1, 5), rows), annotator_groups=groups), "c1")
    assert "-0.60 against +1.00" in sentence
    assert "severity" not in sentence


def test_groups_are_not_tested_before_collection_is_over():
    analysis = apart()
    vars(analysis)["collection"] = Collected(bound=0, interim=True)
    assert not any(of.clear or of.p for of in analysis.group_differences)
    assert between_groups(analysis, "c1") == analysis.untested != ""


def test_a_small_group_is_tested_for_these_annotators_only(experts):
    names = experts.ratings["annotator"].cat.categories
    groups = {name: "expert" if name.startswith("expert") else "crowd" for name in names}
    analysis = analysed(experts, annotator_groups=groups)
    between = [of for of in analysis.group_differences if of.other]
    assert all(of.p is None and of.p_here is not None for of in between)
    assert between_groups(analysis, "c1").endswith("others in their groups may differ.")


def test_one_group_has_nothing_to_be_compared_with():
    analysis = analysed(crossed(30, 6), annotator_groups={f"P-{n}": "a" for n in range(6)})
    assert between_groups(analysis, "c1") == ""
    assert not analysis.group_differences
    assert not analysis.group_agreement
    assert not [finding for finding in findings(analysis) if finding.kind == "groups"]


def test_a_judge_that_does_not_count_makes_no_second_group():
    frame = crossed(30, 6)
    for part in (frame.work, frame.ratings):
        part["kind"] = pd.Categorical(np.where(part["annotator"] == "P-5", "judge", "human"))
    analysis = analysed(frame, annotator_groups={f"P-{n}": "a" for n in range(5)})
    assert analysis.groups == {}


def test_thousands_of_groups_of_an_import_are_not_compared():
    """The settings of a capsule may name any groups, also of people who are not there."""
    several = {"P-0": "a", "P-1": "b"}
    assert analysed(crossed(30, 6), annotator_groups=several).groups == several
    many = several | {f"P-{n}": f"group {n}" for n in range(6, 3000)}
    assert analysed(crossed(30, 6), annotator_groups=many).groups == {}


def test_more_groups_than_can_be_compared_are_refused(engine, make_study):
    with database.writing(engine) as session:
        study, lead, _ = make_study(session)
        many = {f"P-{n}": f"group {n}" for n in range(MAX_GROUPS)}
        assign(session, study, many, lead.pseudonym)

        with pytest.raises(NotAllowed, match="at most 20 groups"):
            assign(session, study, {"P-more": "one more"}, lead.pseudonym)


def put(session, study, lead, **groups: Person) -> None:
    for group, person in groups.items():
        set_group(session, study, [person.pseudonym], group, lead.pseudonym)


def late_sentences(session, study) -> list[str]:
    analysis = StudyAnalysis(build_frame(session, study), Counted(), NAMES)
    return [finding.sentence for finding in caveats(session, study, analysis) if finding.kind == "groups set late"]


def test_only_groups_set_after_first_annotations_are_reported(engine, make_study):
    with database.writing(engine) as session:
        study, lead, (one, two, _) = make_study(session, annotators=3)
        put(session, study, lead, expert=one)
        submit(session, study, one, full_answers())
        put(session, study, lead, crowd=two)
        submit(session, study, two, full_answers())
        assert late_sentences(session, study) == []

        put(session, study, lead, crowd=one)
        put(session, study, lead, expert=two)
        (sentence,) = late_sentences(session, study)
        assert sentence.startswith(
            "2 annotators were put into a group, or out of one, with or after their first annotation ("
        )
        assert "erasure" not in sentence

        put(session, study, lead, expert=one, crowd=two)
        assert late_sentences(session, study) == []


def test_groups_older_than_an_erasure_may_count_as_late(engine, make_study):
    with database.writing(engine) as session:
        study, lead, (one, two, three) = make_study(session, annotators=3, raters_per_item=3)
        put(session, study, lead, others=three, expert=one, crowd=two)
        for person in (one, two, three):
            submit(session, study, person, full_answers())
        assert late_sentences(session, study) == []
        erasure.erase(session, study, three.pseudonym, sure(lead))
        (sentence,) = late_sentences(session, study)
        assert sentence.endswith("count as late: the log no longer has them.")


def test_the_methods_text_says_that_groups_were_set_late(sqlite_engine):
    with database.writing(sqlite_engine) as session:
        study, lead, (one, two) = new_study(session, items=2, annotators=2)
        for person in (one, two):
            submit(session, study, person, some_answers(random.Random(1)))
        put(session, study, lead, expert=one, crowd=two)
    methods = report_of(sqlite_engine, study).files["methods.txt"].decode()
    assert "2 annotators were put into a group, or out of one, with or after their first annotation" in methods


def test_a_lead_groups_annotators_and_the_log_says_so(make_study, visit):
    with database.writing(web_engine()) as session:
        study, lead, people = make_study(session, annotators=3)
        hashed = study.design_hash
    page = visit(lead, "people.py", study=study.slug)
    page.multiselect(key=f"chosen-{study.slug}").set_value([people[0].pseudonym, people[1].pseudonym]).run()
    next(box for box in page.text_input if box.label == "Group").set_value("expert")
    button(page, "Save the group").click().run()
    assert not page.exception
    with database.writing(web_engine()) as session:
        study = session.merge(study)
        session.refresh(study)
        assert settings_of(study).annotator_groups == dict.fromkeys(
            (people[0].pseudonym, people[1].pseudonym), "expert"
        )
        set_group(session, study, [people[1].pseudonym], " ", lead.pseudonym)
        assert settings_of(study).annotator_groups == {people[0].pseudonym: "expert"}
        kinds = [event.kind for event in events.since(session, study.id, 0)]
        assert kinds.count(EventKind.annotators_grouped) == 2
        assert study.design_hash == hashed

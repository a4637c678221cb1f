"""The planner: what a round shows about scatter, what a plan is worth, and how fast it answers."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from helpers.frames import crossed, make_frame
from helpers.present import present
from helpers.ratings import submit
from helpers.studies import full_answers

from triptych.results.frame.model import Counted
from triptych.results.study_analysis import StudyAnalysis
from triptych.simulate import planner
from triptych.simulate.planner import PERCENT, advise, bases, chances, pay_per_hour, pooled_components, preset, rounds
from triptych.stats.components import PRESETS, Components
from triptych.stats.power import Plan, effort
from triptych.stats.undefined import UndefinedStatistic
from triptych.storage import database
from triptych.storage.models import Membership, Role
from triptych.study.settings import changed, stored

SOME = Components(item=0.5, annotator=0.4, residual=1.2)
YES_NO = """
key: yes_no
title: Yes or no
summary: One question.
instructions: Answer.
criteria:
  - key: good
    title: Good
    definition: Is it good?
    scale: {kind: choice, options: [{key: aye, title: Aye, positive: true}, {key: nay, title: Nay}]}
"""


def analysed(frame) -> StudyAnalysis:
    return StudyAnalysis(frame, Counted(), {code: f"System {code}" for code in frame.systems})


def test_components_of_a_round_average_over_pairs_of_systems():
    # differences of crossed() have a residual of sqrt(2), and neither items nor annotators with tastes for a system
    pooled = pooled_components(analysed(crossed(80, 8, systems=3, points=21)).contrasts)
    assert pooled.residual == pytest.approx(2**0.5, rel=0.1)
    assert max(pooled.item, pooled.annotator) < 0.3


def test_too_few_ratings_give_a_reason_instead_of_components():
    assert pooled_components(()) == planner.NOT_YET
    assert (
        "no item was rated by two annotators" in pooled_components(analysed(crossed(6, 3, raters=1)).contrasts).reason
    )


def test_shares_of_answers_are_planned_in_percent():
    rows = [
        {
            "annotator": f"P-{who}",
            "item": f"i{item}",
            "criterion": "good",
            "system": system,
            "option": "aye" if (item + who + system * item) % 3 else "nay",
        }
        for who in range(4)
        for item in range(6)
        for system in (1, 2)
    ]
    (basis,) = planner._bases(analysed(make_frame(YES_NO, rows)), "pilot")
    assert basis.width == PERCENT
    assert basis.title == "Good (pilot round)"
    assert 10 < basis.components.residual < 100
    assert 0 <= present(basis.mean_difference) <= PERCENT


def test_a_preset_grows_with_the_scale():
    assert preset("high", 4).components == PRESETS["high"].on_scale(4)


def test_an_outlook_gives_chance_hours_cost_and_advice():
    worth = effort(Plan(200, 3, 5), 60, 12.0)
    assert (worth.hours, worth.hours_each, worth.cost) == (10.0, 2.0, 120.0)
    advice = advise(Plan(200, 3, 5), 0.4, Components(0.2, 0.5, 0.8))
    assert advice.sentence.startswith("A few more annotators buy more than more items")
    with pytest.raises(UndefinedStatistic, match="3 raters per item need 3 annotators"):
        advise(Plan(20, 3, 2), 0.4, SOME)


def test_a_point_of_a_slider_is_simulated_once():
    advise.cache_clear()
    first, other, again = (advise(Plan(items, 3, 13), 0.31, SOME) for items in (30, 40, 30))
    assert advise.cache_info().misses == 2
    assert first is again and first != other


def test_the_map_grows_and_leaves_out_impossible_designs():
    table = chances(Plan(40, 4, 6), 0.5, SOME)
    assert table.items == (20, 30, 40, 60, 80)
    assert table.annotators == (3, 4, 6, 9, 12)
    assert np.isnan(table.shares[0]).all()
    assert table.shares[1, 0] < table.shares[4, 4]
    assert (np.diff(table.shares[1:], axis=1) > -0.1).all()


def test_the_planner_reads_the_leads_own_rounds_of_a_series(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        main, lead, _ = make_study(session, series="s", round="main")
        pilot, other, people = make_study(session, items=3, series="s", round="pilot", title="Pilot")
        make_study(session, title="Another series")
        assert rounds(session, lead, main) == [main]
        session.add(Membership(study_id=pilot.id, person_id=lead.person_id, role=Role.lead, joined_at=main.created_at))
        session.flush()
        assert rounds(session, lead, main) == [main, pilot]
        assert bases(session, main) == ()
        for who, values in zip(people, ((1, 2, 3), (3, 1, 2)), strict=True):
            for value in values:
                submit(session, pilot, who, full_answers(fluency=value))
        titles = [basis.title for basis in bases(session, pilot)]
    assert titles == ["Fluency (pilot round)", "Verdict (pilot round)"]


def test_pay_per_hour_follows_pay_per_item_or_floor(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, _ = make_study(session)
        assert pay_per_hour(study, 90) is None
        study.settings = stored(changed(study, pay={"floor_per_hour": Decimal(11)}))
        assert pay_per_hour(study, 90) == 11.0
        study.settings = stored(changed(study, pay={"per_item": Decimal("0.5")}))
        assert pay_per_hour(study, 90) == pytest.approx(20.0)

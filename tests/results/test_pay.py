"""Fair pay: what the pay for an item comes to per hour."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triptych.results import pay
from triptych.stats.undefined import UndefinedStatistic
from triptych.study.settings import Pay

HALF = Pay(per_item=Decimal("0.50"), floor_per_hour=Decimal("12"))


def test_pay_per_hour_uses_mean_times_lowest_first():
    result = pay.meter(HALF, ["P-1", "P-1", "P-2"], [100.0, 200.0, 60.0])

    assert [(each.annotator, each.items, each.seconds, each.per_hour) for each in result.annotators] == [
        ("P-1", 2, 150.0, 12.0),
        ("P-2", 1, 60.0, 30.0),
    ]
    assert result.numbers.seconds == 100.0
    assert (result.quantiles["Lowest"], result.quantiles["Median"], result.quantiles["Highest"]) == (12.0, 21.0, 30.0)
    assert not result.warning


def test_pay_below_the_floor_is_named_with_the_remedy():
    result = pay.meter(HALF, ["P-1", "P-2", "P-2"], [151.0, 60.0, 60.0])

    assert [each.annotator for each in result.below] == ["P-1"]
    assert result.warning == (
        "1 of 2 annotators earns less than USD 12.00 per hour; P-1 earns USD 11.92. USD 0.51 per item would reach it "
        "for everyone so far."
    )


@settings(max_examples=40)
@given(
    seconds=st.lists(st.floats(1, 4000), min_size=1, max_size=12),
    floor=st.decimals(Decimal("0.01"), 90, places=2),
    rate=st.decimals(Decimal("0.01"), 9, places=2),
)
def test_the_proposed_pay_just_reaches_the_floor_for_everybody(seconds, floor, rate):
    names = [f"P-{n % 3}" for n in range(len(seconds))]
    result = pay.meter(Pay(per_item=rate, floor_per_hour=floor), names, seconds)
    cents = round(Decimal(str(result.needed)), 2)

    assert not pay.meter(Pay(per_item=cents, floor_per_hour=floor), names, seconds).below
    if cents > Decimal("0.01"):
        less = pay.meter(Pay(per_item=cents - Decimal("0.01"), floor_per_hour=floor), names, seconds)
        assert less.annotators[0].per_hour < float(floor) + 1e-6


def test_unknown_times_are_left_out_of_pay():
    result = pay.meter(HALF, ["P-1", "P-2", "P-3"], [60.0, 0.0, float("nan")])

    assert [each.annotator for each in result.annotators] == ["P-1"]
    with pytest.raises(UndefinedStatistic, match="no active time"):
        pay.meter(HALF, ["P-1"], [0.0])
    with pytest.raises(UndefinedStatistic, match="no pay per item"):
        pay.meter(Pay(), ["P-1"], [60.0])


def test_a_guess_before_the_launch_is_held_against_the_floor():
    assert pay.expected(HALF, 60) == "At 60 seconds per item, USD 0.50 per item comes to USD 30.00 per hour."
    stated = pay.expected(HALF, 180)
    assert stated.endswith("USD 10.00 per hour, less than the floor of USD 12.00. USD 0.60 per item would reach it.")
    with pytest.raises(UndefinedStatistic):
        pay.expected(HALF, 0)


def test_an_amount_keeps_the_decimals_that_the_lead_entered():
    assert pay.money(Decimal("0.005"), "EUR") == "EUR 0.005"
    assert pay.money(Decimal("0.5"), "EUR") == "EUR 0.50"
    assert pay.money(12.3456, "EUR") == "EUR 12.35"

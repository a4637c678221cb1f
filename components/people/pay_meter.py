"""Pay per hour, computed from the pay per item: live, from a pilot, or from a guess before launch."""

from __future__ import annotations

import streamlit as st

from components.shell.state import say
from triptych.results.pay import PayMeter, money, rate_of

TIME_NOTE = (
    "Active time of finished annotations: pauses over 120 seconds and hidden tabs are not counted. "
    "Not included: attention, gold and repeated items, instructions, training and the entry test. The table of "
    "annotators shows how long training and test took."
)
LAST_RATE = (
    "The pay was changed after launch, and everything here is computed as if all work were paid at the last rate. "
    "“Pay due”, under “People”, uses the rate of each item."
)


def pay_meter(meter: PayMeter, whose: str, changed: bool = False) -> None:
    """Draw the pay for finished annotations.

    whose: names the study, as in "this study"; changed: whether the pay for an item was another one earlier.
    """
    pay = meter.pay
    st.text(f"{rate_of(pay)}, with a median of {meter.numbers.seconds:.0f} active seconds per item in {whose}.")
    if changed:
        st.text(LAST_RATE)
    with st.container(horizontal=True, gap="medium"):
        for name, rate in meter.quantiles.items():
            st.metric(f"{name}, per hour", money(rate, pay.currency), width="content")
    if meter.warning:
        say(meter.warning, "warning")
    elif pay.floor_per_hour is None:
        st.caption(
            "No minimum pay per hour is set, so there can be no warning here. Set it under Setup, Who rates what."
        )
    else:
        at_last = "At this rate, nobody" if changed else "Nobody"
        st.text(f"{at_last} earns less than {money(pay.floor_per_hour, pay.currency)} per hour.")
    rows = [
        {
            "Annotator": annotator.annotator,
            "Items": annotator.items,
            "Active s per item": round(annotator.seconds),
            f"{pay.currency} per hour": f"{annotator.per_hour:.2f}",
            "Below minimum": "yes" if annotator.below else "",
        }
        for annotator in meter.annotators
    ]
    with st.expander(f"By annotator, lowest first ({len(rows)})"):
        st.dataframe(rows, hide_index=True, key="pay")
    st.caption(TIME_NOTE)


def guess(slug: str) -> float | None:
    """The seconds per item that the lead guesses; None until they enter a number."""
    st.text("Nothing has been annotated yet, and the study has no pilot. Estimate how long an item takes.")
    return st.number_input(
        "Seconds per item", 1, 7200, None, key=f"guess-{slug}", placeholder="for example 90", width=260
    )

"""A study's members as a list to choose from, and the table of its leads."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from components.shell.choices import choose_for_act
from components.shell.words import moment
from triptych.people.roster import Member
from triptych.storage.models import Role

PROGRESS = st.column_config.ProgressColumn("Progress", format="%d %%", min_value=0, max_value=100)


def consent(row: Member) -> str:
    """When a member consented, and whether the text has changed since."""
    if row.consent == "none":
        return "not yet"
    return moment(row.consented_at) + (" to an earlier text" if row.consent == "outdated" else "")


def choose_member(rows: Sequence[Member], label: str, key: str) -> Member | None:
    """A box to choose a member to act on, by pseudonym and name."""
    named = {row.pseudonym: f"{row.pseudonym} · {row.name}" if row.name else row.pseudonym for row in rows}
    chosen = choose_for_act(label, named, key)
    return next((row for row in rows if row.pseudonym == chosen), None)


def leads_table(rows: Sequence[Member]) -> None:
    """The leads of the study; one who has not set a passcode yet is shown as invited."""
    leads = [row for row in rows if row.role == Role.lead]
    if not leads:
        st.text("Every lead on this server can see this demo study.")
        return
    table = {
        "Lead": [row.pseudonym for row in leads],
        "Name": [row.name or "" for row in leads],
        "State": [row.state.capitalize() for row in leads],
        "Since": [moment(row.joined_at) for row in leads],
    }
    st.dataframe(pd.DataFrame(table), hide_index=True, key="leads")

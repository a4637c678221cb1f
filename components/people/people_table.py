"""The progress of a study, and who takes part in it, by pseudonym."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from components.shell.choices import choose
from components.shell.words import duration, moment
from triptych.people.roster import Member
from triptych.results.progress import AnnotatorProgress
from triptych.storage.models import Role

PROGRESS = st.column_config.ProgressColumn("Progress", format="%d %%", min_value=0, max_value=100)


def people_table(rows: Sequence[AnnotatorProgress]) -> None:
    """One line per annotator: progress, time left, last annotation."""
    table = pd.DataFrame(
        {
            "Annotator": [row.pseudonym for row in rows],
            "Kind": [row.kind + (", excluded" if row.excluded else "") for row in rows],
            "Progress": [round(100 * row.done / row.total) if row.total else 0 for row in rows],
            "Done": [f"{row.done} of {row.total}" for row in rows],
            "Skipped": [row.skipped for row in rows],
            "Time left": [duration(row.minutes_left) for row in rows],
            "Last annotation": [moment(row.last_at) for row in rows],
        }
    )
    st.dataframe(table, hide_index=True, column_config={"Progress": PROGRESS}, key="people")


def members_table(rows: Sequence[Member], asks_consent: bool) -> None:
    """The annotators with their names, state and consent."""
    columns = {
        "Annotator": [row.pseudonym for row in rows],
        "Name": [row.name or "" for row in rows],
        "E-mail": [row.email or "" for row in rows],
        "Panel id": [row.panel_id or "" for row in rows],
        "State": [row.state.capitalize() for row in rows],
        "Joined": [moment(row.joined_at) for row in rows],
        "Consent": [_consent(row) for row in rows],
        "Link valid until": [f"{row.link_until:%Y-%m-%d}" if row.link_until else "" for row in rows],
    }
    names = [name for name, cells in columns.items() if any(cells) and (name != "Consent" or asks_consent)]
    st.dataframe(pd.DataFrame({name: columns[name] for name in names}), hide_index=True, key="members")


def _consent(row: Member) -> str:
    if row.consent == "none":
        return "not yet"
    return moment(row.consented_at) + (" to an earlier text" if row.consent == "outdated" else "")


def choose_member(rows: Sequence[Member], label: str, key: str) -> Member:
    """The member the lead chooses, by pseudonym and name."""
    named = {row.pseudonym: f"{row.pseudonym} · {row.name}" if row.name else row.pseudonym for row in rows}
    chosen = choose(label, named, key)
    return next(row for row in rows if row.pseudonym == chosen)


def leads_table(rows: Sequence[Member]) -> None:
    """Who leads the study; somebody who has not chosen a passcode yet is invited."""
    leads = [row for row in rows if row.role == Role.lead]
    if not leads:
        st.text("Every lead on this server sees this demo study.")
        return
    table = {
        "Lead": [row.pseudonym for row in leads],
        "Name": [row.name or "" for row in leads],
        "State": [row.state.capitalize() for row in leads],
        "Since": [moment(row.joined_at) for row in leads],
    }
    st.dataframe(pd.DataFrame(table), hide_index=True, key="leads")

"""The table of a study's annotators, one row each, and which of them the lead has selected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo, available_timezones

import pandas as pd
import streamlit as st

from components.shell.state import key_of
from components.shell.words import NONE, moment
from triptych.participants.participant import Participant, Phase
from triptych.people.roster import Member
from triptych.results.pay import money

FLAGGED, EVERYBODY = "Flagged", "Everybody"
FLAGS = "Flags, and why"
STATES = (*Phase, FLAGGED)
# columns that are left out if nobody has a value
OPTIONAL = ("Name", "Group", "E-mail", "Panel id", "Pay due", "Consent", "Link until")

PROGRESS = st.column_config.ProgressColumn("Progress", format="%d %%", min_value=0, max_value=100)
DUE_NOTE = (
    "For every item that they rated or ignored, with checks and repeats, at the pay that was set when it was first "
    "handed in. Skipped items, training, tests and final values are not counted."
)


def filtered(people: Sequence[Participant], slug: str) -> list[Participant]:
    """The people in the selected state whose code, name, address or group contains the typed text."""
    counts = Counter(person.state for person in people)
    states = [EVERYBODY, *(state for state in STATES if counts[state])]
    counts[EVERYBODY] = len(people)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        state = st.pills(
            "State",
            states,
            default=EVERYBODY,
            required=True,
            format_func=lambda state: f"{state} {counts[state]}",
            key=f"state-{slug}",
        )
        words = st.text_input("Find", placeholder="Code, name, e-mail or group", key=f"find-{slug}", width=260)
    return [person for person in people if state in (EVERYBODY, person.state) and _holds(person, words)]


def _holds(person: Participant, words: str) -> bool:
    member = person.member
    texts = (member.pseudonym, member.name, member.email, member.panel_id, person.group)
    return words.strip().casefold() in " ".join(filter(None, texts)).casefold()


def table(people: Sequence[Participant], slug: str, asks_consent: bool) -> list[Participant]:
    """Draw the people; returns those selected by row or by name."""
    names = {person.pseudonym: person for person in people}
    zone = _zone()
    columns = _columns(people, zone)
    hidden = {name for name in OPTIONAL if not any(columns[name])} | ({"Consent"} if not asks_consent else set())
    shown = pd.DataFrame({name: cells for name, cells in columns.items() if name not in hidden})
    picked = st.dataframe(
        shown,
        hide_index=True,
        # Streamlit remembers selected row numbers by key, so other rows need another key
        key=selection_key(people, slug),
        on_select="rerun",
        selection_mode="multi-row",
        placeholder=NONE,
        alt="Annotators, one per row; select rows to act on them, or select people by name below.",
        column_config={
            "Progress": PROGRESS,
            "Last seen": st.column_config.DatetimeColumn("Last seen", format="D MMM, HH:mm", timezone=str(zone)),
            FLAGS: st.column_config.TextColumn(width="large" if {*columns[FLAGS]} != {NONE} else None),
            "Pay due": st.column_config.TextColumn(help=DUE_NOTE),
        },
    )
    st.caption(
        f"Pace is the median of active minutes per item. Times are in {zone}. Names and addresses appear on this page "
        f"only; everywhere else people appear under pseudonyms. A flag is a prompt to look; it excludes nobody."
    )
    by_name = st.multiselect(
        "Select by name",
        list(names),
        format_func=lambda name: f"{name} · {names[name].member.name}" if names[name].member.name else name,
        key=f"chosen-{slug}",
        placeholder="Or tick them in the table",
    )
    ticked = {people[row].pseudonym for row in picked.selection.rows if row < len(people)}
    return [person for person in people if person.pseudonym in ticked | {*by_name}]


def selection_key(people: Sequence[Participant], slug: str) -> str:
    """A key for the table of these people, or for the actions on them."""
    return key_of(f"people-{slug}", [person.pseudonym for person in people])


def _columns(people: Sequence[Participant], zone: ZoneInfo) -> dict[str, Sequence[object]]:
    members = [person.member for person in people]
    seen = pd.to_datetime([person.seen_at for person in people], utc=True)
    return {
        "Person": [member.pseudonym for member in members],
        "Name": [member.name or "" for member in members],
        "Group": [person.group for person in people],
        "State": [person.state for person in people],
        FLAGS: [" ".join(filter(None, (person.why, *person.flags))) or NONE for person in people],
        "Progress": [100 * person.done // person.total if person.total else 0 for person in people],
        "Done": [_done(person) for person in people],
        "Pace": [_minutes(person.seconds) for person in people],
        "Last seen": seen.tz_convert(zone),
        "Pay due": [" and ".join(money(due, currency) for currency, due in person.due.items()) for person in people],
        "E-mail": [member.email or "" for member in members],
        "Panel id": [member.panel_id or "" for member in members],
        "Consent": [_consent(member) for member in members],
        "Link until": [_day(member.link_until, zone) for member in members],
    }


def _done(person: Participant) -> str:
    skipped = f", {person.skipped} skipped" if person.skipped else ""
    return f"{person.done} of {person.total}{skipped}"


def _minutes(seconds: float | None) -> str:
    return NONE if seconds is None else "{}:{:02d}".format(*divmod(round(seconds), 60))


def _day(at: datetime | None, zone: ZoneInfo) -> str:
    return f"{at.astimezone(zone):%Y-%m-%d}" if at else ""


def _zone() -> ZoneInfo:
    """The browser's time zone."""
    name = st.context.timezone
    return ZoneInfo(name if name in available_timezones() else "UTC")


def _consent(member: Member) -> str:
    """When a member consented, and whether the text has changed since."""
    if member.consent == "none":
        return "not yet"
    return moment(member.consented_at) + (" to an earlier text" if member.consent == "outdated" else "")

"""Inviting one person or a list; and the new links, which are shown once."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from components.shell import addresses, state
from components.shell.uploads import content_of
from triptych.formats.long_csv import write_csv
from triptych.formats.model import Problem
from triptych.people.accounts import LONGEST_NAME
from triptych.people.invitations import Guest, GuestList, Invited
from triptych.stats.numbers import counted
from triptych.storage.models import Role

LIST_HINT = (
    "A CSV file with a line per person: name, and optionally email and role (annotator or lead). Either everybody on "
    "it is invited, or nobody."
)
ONCE_HINT = "Copy these links now: they are not stored and cannot be shown again. Each is valid for 90 days."
LINKS_HEADER = ("name", "email", "role", "pseudonym", "link")


def form_name(slug: str) -> str:
    """The name of all invitation forms of a study, to renew them by."""
    return f"invite-{slug}"


def guest_form(role: Role, slug: str) -> tuple[str, str] | None:
    """Name and e-mail address of one person to invite."""
    key = f"{role}-{state.numbered(form_name(slug))}"
    with st.form(key, width=560):
        name = st.text_input("Name", max_chars=LONGEST_NAME)
        email = st.text_input("E-mail address (optional)", max_chars=200)
        if state.form_button("Create a personal link", key):
            return name, email
    return None


def list_upload(slug: str) -> bytes | None:
    """The bytes of an uploaded list."""
    st.caption(LIST_HINT)
    uploaded = st.file_uploader("List", ["csv", "tsv", "txt"], key=f"list-{state.numbered(form_name(slug))}")
    return content_of(uploaded) if uploaded else None


def list_preview(guest_list: GuestList) -> bool:
    """The people on the list and its problems, by row; returns whether to invite them."""
    for severity, title in (("error", "Nobody is invited until this is corrected:"), ("note", "Notes:")):
        lines = [problem for problem in guest_list.problems if problem.severity == severity]
        if lines:
            st.text("\n".join([title, *map(str, sorted(lines, key=_row))]))
    if guest_list.guests:
        st.dataframe(_guests(guest_list.guests), hide_index=True, key="guests")
    return guest_list.ok and st.button(f"Invite {counted(len(guest_list.guests), 'person', 'people')}", type="primary")


def _row(problem: Problem) -> int:
    return problem.row or 0


def _guests(guests: Sequence[Guest]) -> pd.DataFrame:
    rows = [(guest.row, guest.name, guest.email or "", guest.role) for guest in guests]
    return pd.DataFrame(rows, columns=["Row", "Name", "E-mail", "Role"])


def links(invited: Sequence[Invited]) -> None:
    """The new links: one to copy, several as a table and a file."""
    if not invited:
        return
    if len(invited) == 1:
        st.text(f"Personal link of {invited[0].name or invited[0].pseudonym}. {ONCE_HINT}")
        st.code(addresses.personal_address(invited[0].secret), language=None, wrap_lines=True)
        return
    given = [(one.name, one.email or "", one.role, one.pseudonym) for one in invited]
    rows = [(*facts, addresses.personal_address(one.secret)) for facts, one in zip(given, invited, strict=True)]
    st.text(f"{len(invited)} personal links. {ONCE_HINT}")
    st.dataframe(pd.DataFrame(rows, columns=["Name", "E-mail", "Role", "Pseudonym", "Link"]), hide_index=True)
    # no download button: Streamlit would serve these secrets to anybody who has the address of the file
    st.caption("As CSV, to copy into a file or a spreadsheet:")
    st.code("".join(write_csv(rows, LINKS_HEADER)), language=None, height=160)

"""Forms to invite people: annotators by lines of text or from a file, a lead by name."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from components.people.links import form_name, keep
from components.shell import state
from components.shell.uploads import content_of
from triptych.errors import ImportRefused
from triptych.formats.model import Problem
from triptych.people import invitations
from triptych.people.invitations import Guest, GuestList, Invited
from triptych.people.names import LONGEST_NAME
from triptych.results.progress import Overview
from triptych.stats.numbers import counted
from triptych.storage.models import Access, Role, Study

LINES_HINT = (
    "One person per line: name, e-mail address, group, all of them optional. “crowd × 5” makes five links without a "
    "name."
)
LIST_HINT = (
    "A CSV file with one line per person and these columns, all optional: name, email, group (of annotators) and role "
    "(annotator or lead; a lead needs a name). Either everyone in the file is invited, or nobody."
)
EXAMPLE = "Mika Sørli, mika@example.org, expert\nira@example.org\ncrowd × 5"


def invite(study: Study, view: Overview, actor: str) -> list[Invited] | None:
    """Draw the ways to invite annotators; returns the people just invited, whose links are shown in the next run."""
    if study.access == Access.panel:
        st.text("Annotators of this study come from a panel; its address is above.")
    guests = _typed(study)
    places = max(view.expected - view.done, 0)
    more = f"{places:,} of {view.expected:,} places are open. Creates one link without a name."
    if places and state.button("Invite one more", f"more-{study.slug}", help=more):
        guests = (Guest(1, "", None, Role.annotator),)
    with st.expander("From a CSV file"):
        data = _list_upload(study.slug)
        guest_list = _read(study, data) if data else None
        if guest_list and _preview(guest_list, study.slug):
            guests = guest_list.guests
    run = state.run_command
    invited: list[Invited] | None = run(invitations.invite_all, study, guests, actor) if guests else None
    keep(study.slug, invited)
    state.show_messages()
    return invited


def _typed(study: Study) -> tuple[Guest, ...]:
    """The people on the lines that the lead sent; empty if any line has a mistake."""
    data = _lines_form(study.slug)
    guest_list = _read(study, data) if data is not None else None
    if guest_list is None:
        return ()
    _problems(guest_list)
    return guest_list.guests if guest_list.ok else ()


def _read(study: Study, data: bytes) -> GuestList | None:
    try:
        with state.reading() as session:
            return invitations.read_list(session, study, data)
    except ImportRefused as refusal:
        state.say(str(refusal))
        return None


def _lines_form(slug: str) -> bytes | None:
    """The lead's text, one person per line; None until it is sent."""
    key = f"lines-{state.numbered(form_name(slug))}"
    with st.form(key):
        typed = st.text_area("People to invite", key=f"{key}-text", placeholder=EXAMPLE, height=120)
        st.caption(LINES_HINT)
        return typed.encode() if state.form_button("Make personal links", key, type="primary") else None


def guest_form(role: Role, slug: str) -> tuple[str, str] | None:
    """Name and e-mail address of one person to invite; None until they are sent."""
    key = f"{role}-{state.numbered(form_name(slug))}"
    with st.form(key, width=560):
        name = st.text_input("Name", max_chars=LONGEST_NAME)
        email = st.text_input("E-mail address (optional)", max_chars=200)
        if state.form_button("Create a personal link", key):
            return name, email
    return None


def _list_upload(slug: str) -> bytes | None:
    """The bytes of an uploaded list."""
    st.caption(LIST_HINT)
    uploaded = st.file_uploader(
        "List", ["csv", "tsv", "txt"], key=f"list-{state.numbered(form_name(slug))}", max_upload_size=1
    )
    return content_of(uploaded) if uploaded else None


def _preview(guest_list: GuestList, slug: str) -> bool:
    """Draw the people on an uploaded list and its problems by row; returns whether to invite them."""
    _problems(guest_list)
    if guest_list.guests:
        st.dataframe(_guests(guest_list.guests), hide_index=True, key="guests")
    label = f"Invite {counted(len(guest_list.guests), 'person', 'people')}"
    return guest_list.ok and state.button(label, f"invite-list-{slug}", type="primary")


def _problems(guest_list: GuestList) -> None:
    """Draw the problems of a list, by row."""
    for severity, title in (("error", "Nobody will be invited until this is corrected:"), ("note", "Notes:")):
        lines = [problem for problem in guest_list.problems if problem.severity == severity]
        if lines:
            st.text("\n".join([title, *map(str, sorted(lines, key=_row))]))


def _row(problem: Problem) -> int:
    return problem.row or 0


def _guests(guests: Sequence[Guest]) -> pd.DataFrame:
    rows = [(guest.row, guest.name, guest.email or "", guest.group, guest.role) for guest in guests]
    return pd.DataFrame(rows, columns=["Row", "Name", "E-mail", "Group", "Role"])

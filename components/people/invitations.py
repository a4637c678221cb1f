"""Forms to invite people: annotators by lines of text or from a file, a lead by name."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from components.people.links import form_name, show_links
from components.shell import state
from components.shell.uploads import content_of
from triptych.errors import ImportRefused
from triptych.people import invitations
from triptych.people.invitations import Guest, GuestList
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


def invite(study: Study, view: Overview, actor: str) -> None:
    """Draw the ways to invite annotators."""
    if study.access == Access.panel:
        st.text("Annotators of this study come from a panel; its address is above.")
    guests = _typed(study)
    places = max(view.expected - view.done, 0)
    more = f"{places:,} of {view.expected:,} places are open. Creates one link without a name."
    if places and state.button("Invite one more", f"more-{study.slug}", help=more):
        guests = (Guest(1, "", None, Role.annotator),)
    with st.expander("From a CSV file"):
        guests = _listed(study) or guests
    if guests:
        show_links(study.slug, *(state.run_command(invitations.invite_all, study, guests, actor) or ()))
    state.show_messages()


def _typed(study: Study) -> tuple[Guest, ...]:
    """The people on the lines that the lead sent, one per line; empty if any line has a mistake."""
    key = f"lines-{state.numbered(form_name(study.slug))}"
    with st.form(key):
        typed = st.text_area("People to invite", key=f"{key}-text", placeholder=EXAMPLE, height=120)
        st.caption(LINES_HINT)
        sent = state.form_button("Make personal links", key, type="primary")
    guest_list = _read(study, typed.encode()) if sent else None
    return guest_list.guests if guest_list and guest_list.ok else ()


def _listed(study: Study) -> tuple[Guest, ...]:
    """The people on an uploaded list, once the lead has seen them and confirms; empty if any row has a mistake."""
    st.caption(LIST_HINT)
    key = f"list-{state.numbered(form_name(study.slug))}"
    uploaded = st.file_uploader("List", ["csv", "tsv", "txt"], key=key, max_upload_size=1)
    data = content_of(uploaded) if uploaded else None
    guest_list = _read(study, data) if data else None
    if guest_list is None:
        return ()
    if guest_list.guests:
        rows = [(guest.row, guest.name, guest.email or "", guest.group, guest.role) for guest in guest_list.guests]
        columns = ["Row", "Name", "E-mail", "Group", "Role"]
        st.dataframe(pd.DataFrame(rows, columns=columns), hide_index=True, key="guests")
    label = f"Invite {counted(len(guest_list.guests), 'person', 'people')}"
    confirmed = guest_list.ok and state.button(label, f"invite-list-{study.slug}", type="primary")
    return guest_list.guests if confirmed else ()


def _read(study: Study, data: bytes) -> GuestList | None:
    """The people on a list, with its problems drawn by row; None after a message about a file that is not text."""
    try:
        guest_list = state.read(invitations.read_list, study, data)
    except ImportRefused as refusal:
        state.say(str(refusal))
        return None
    for severity, title in (("error", "Nobody will be invited until this is corrected:"), ("note", "Notes:")):
        lines = [problem for problem in guest_list.problems if problem.severity == severity]
        if lines:
            st.text("\n".join([title, *map(str, sorted(lines, key=lambda problem: problem.row or 0))]))
    return guest_list


def guest_form(role: Role, slug: str) -> tuple[str, str] | None:
    """Name and e-mail address of one person to invite; None until they are sent."""
    key = f"{role}-{state.numbered(form_name(slug))}"
    with st.form(key, width=560):
        name = st.text_input("Name", max_chars=LONGEST_NAME)
        email = st.text_input("E-mail address (optional)", max_chars=200)
        if state.form_button("Create a personal link", key):
            return name, email
    return None

"""The address or link to send to annotators."""

from __future__ import annotations

import streamlit as st

from components.shell import addresses, state
from triptych import settings
from triptych.people import places
from triptych.storage.models import Access, Study, StudyState
from triptych.study.settings import settings_of

ONLY_HERE = (
    "These addresses work on this computer only. To let others connect, stop Triptych, start it with {command} and "
    "open this page at the address it prints."
)


def access_address(study: Study) -> None:
    """The address for annotators or for the panel, or a hint to invite people."""
    if study.state == StudyState.closed:
        st.write("This study is closed: nobody can join or annotate. *Setup* reopens it.")
        return
    if addresses.reaches_this_computer_only():
        st.caption(ONLY_HERE.format(command=settings.start_for_network()))
    if study.access == Access.panel:
        st.write("Give this address to the panel; it fills in the two ids.")
        st.code(addresses.panel_address(study), language=None, wrap_lines=True)
        if settings_of(study).panel.proof == "signature":
            st.write("The panel signs each id with this key: HMAC-SHA-256 of the id, in hexadecimal, or a JWT (HS256).")
            st.code(places.key_of(study), language=None)
        with state.reading() as session:
            held, most = places.people_with_a_place(session, study), places.most_people(session, study)
        st.caption(f"{held} of {most} places are taken. When all are taken, new arrivals are asked to come back later.")
        code = settings_of(study).codes.finished
        if code:
            st.write("Annotators who finish see this completion code, which the panel asks for.")
            st.code(code, language=None)
        else:
            st.write("There is no completion code yet: create the codes under *Setup → Who rates what*.")
    elif study.access == Access.open:
        st.write("Anyone who opens this address can take part under a name.")
        st.code(addresses.study_address(study), language=None, wrap_lines=True)
    else:
        st.write("Only people with a personal link can take part. Create the links below.")

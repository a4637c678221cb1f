"""The stored reports of a study, to read; only leads get their files."""

import streamlit as st

from components.results.snapshots import read_here
from components.shell import state
from components.shell.study_choice import watched_study
from components.shell.words import moment
from triptych.reports import snapshot

FILES = "The files contain every rating with its annotator's pseudonym, so only leads of the study can download them."

who = state.require("viewer")
with watched_study(who, "Report") as (session, study):
    made = snapshot.listed(session, study)
st.text(FILES if made else "There is no report yet. Leads of the study make reports, with methods and tables.")
for frozen in made:
    with st.container(border=True):
        st.text(f"{moment(frozen.made_at)} · event {frozen.event_number}")
        st.code(frozen.sha256, language=None, wrap_lines=True)
        read_here(study, frozen)

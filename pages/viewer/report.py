"""The methods section of a report, and the stored reports to read; only leads get their files."""

import streamlit as st

from components.results.snapshots import read_here
from components.shell import state
from components.shell.study_choice import watched_study
from components.shell.words import moment
from triptych.participants.watching import watched
from triptych.reports import snapshot
from triptych.reports.facts import facts_of
from triptych.reports.further import further_of
from triptych.reports.methods_text import paragraph
from triptych.reports.numbers import Book
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.model import Counted
from triptych.results.study_analysis import analyse
from triptych.study.system_names import system_names

FILES = "The files contain every rating with its annotator's pseudonym, so only leads of the study can download them."

who = state.require("viewer")
with watched_study(who, "Report") as (session, study):
    view, made = watched(session, study), snapshot.listed(session, study)
    analysis = analyse(view.frame, Counted(kinds_by_default(study)), system_names(session, study))
st.header("Methods", anchor=False)
with st.spinner("Writing the paragraph …"), state.reading() as session:
    facts = facts_of(session, study, analysis)
    book = Book.of(analysis, further_of(session, study, analysis, facts.pay).numbers)
st.text(view.sentence(paragraph(facts, analysis, book)))
st.header("Reports made", anchor=False)
st.text(FILES if made else "None yet.")
for frozen in made:
    with st.container(border=True):
        st.text(f"{moment(frozen.made_at)} · event {frozen.event_number}")
        st.code(frozen.sha256, language=None, wrap_lines=True)
        read_here(study, frozen)

"""Arriving from a panel, with the person's id in the address."""

from __future__ import annotations

import streamlit as st

from components.shell import state
from components.shell.entrance import ask_before_changing_person, column
from triptych.languages.language import _
from triptych.people import panels
from triptych.storage.models import Person
from triptych.study import lifecycle
from triptych.study.settings import settings_of

parameters = st.query_params.to_dict()
with state.reading() as session:
    study = lifecycle.by_slug(session, parameters["study"])
    panel = settings_of(study).panel
    participant = parameters.get(panel.id_param, "")
    person_id = panels.panel_person(session, study, participant)


def join() -> Person:
    visit, proof = parameters.get(panel.session_param, ""), parameters.get(panel.proof_param, "")
    with state.writing() as session:
        return panels.join_from_panel(session, study, panel.name, participant, visit, proof)


with column(_("Welcome")):
    ask_before_changing_person(state.current_person(), person_id, participant)
    state.sign_in_by(join)
    state.show_messages()
    st.write(_("If this is a mistake, open the study again from your panel, or write to the study's contact there."))

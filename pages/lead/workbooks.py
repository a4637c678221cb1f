"""Annotation in spreadsheets: workbooks are made for annotators, and stored when they are returned."""

from __future__ import annotations

import streamlit as st

from components.shell import state
from components.shell.study_choice import chosen_study
from components.study.workbook_check import PARTLY_LABEL, choose_annotator, workbook_check, workbook_list
from triptych.annotate import workbooks
from triptych.annotate.workbooks import Stored, WorkbookLine
from triptych.errors import TriptychError
from triptych.formats.workbook import reading
from triptych.stats.numbers import counted
from triptych.storage.models import Study, StudyState

INTRODUCTION = (
    "For people who would rather work in a spreadsheet. A workbook contains items reserved for its annotator, in their "
    "own order and without system names. Send it by e-mail, and upload it here when it comes back."
)


def made(workbook: WorkbookLine) -> str:
    return f"Workbook {workbook.id} contains {counted(workbook.items, 'item')}. Download it below."


def stored(receipt: Stored) -> str:
    return f"Stored: {counted(receipt.stored, 'item')} of {receipt.pseudonym}. The receipt is {receipt.receipt}."


def make(study: Study) -> None:
    """The form for a new workbook, for an annotator of the study or for a new one."""
    pseudonyms = state.read(workbooks.eligible, study)
    annotator, is_name, count = choose_annotator(pseudonyms, study.slug)
    key = f"make-workbook-{study.slug}-{'new' if is_name else annotator}"
    is_open = study.state == StudyState.open
    if state.button("Make a workbook", key, type="primary", disabled=not is_open):
        command = workbooks.make_for_new if is_name else workbooks.make
        state.run_command(command, study, annotator, int(count), who.pseudonym, done=made)
        st.rerun()
    if not is_open:
        st.caption("Workbooks can be created while the study is open. Open it under Setup.")


def cancel(workbook_id: int) -> None:
    done = "The workbook was cancelled; its open items are available to others."
    state.run_command(workbooks.cancel, study, workbook_id, who.pseudonym, done=done)
    st.rerun()


def take_back(study: Study) -> None:
    """The upload of a filled workbook; all findings are shown before anything is stored."""
    upload = st.file_uploader("Filled workbook (.xlsx)", ["xlsx"], key=f"workbook_file-{study.slug}")
    if upload is None:
        return
    partly = False
    try:
        filled = reading.read_filled(upload.getvalue())
        checked = state.read(workbooks.check, study, filled)
        if checked.only_unfinished and (partly := st.checkbox(PARTLY_LABEL, key=f"workbook_partly-{study.slug}")):
            checked = state.read(workbooks.check, study, filled, partly=True)
    except TriptychError as refusal:
        state.say(str(refusal))
        return
    workbook_check(checked)
    key = f"store-workbook-{study.slug}"
    if checked.ok and checked.messages and state.button("Store the answers", key, type="primary"):
        state.run_command(workbooks.take_back, study, filled, who.pseudonym, done=stored, partly=partly)
        st.rerun()


who = state.require("lead")
with chosen_study(who) as (session, study):
    lines = workbooks.listed(session, study)
st.text(INTRODUCTION)
st.header("Make a workbook", anchor=False)
make(study)
st.header("Upload a filled workbook", anchor=False)
take_back(study)
st.header("Workbooks of this study", anchor=False)
if lines:
    workbook_list(study, lines, cancel)
else:
    st.text("This study has no workbooks yet. Choose an annotator above and create one.")

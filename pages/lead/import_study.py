"""Import of a whole study from a file that another installation exported."""

from __future__ import annotations

from typing import IO

import streamlit as st

from components.shell import state
from triptych.errors import ImportRefused
from triptych.formats.model import MAX_UPLOAD
from triptych.operations import arrival, capsule
from triptych.operations.arrival import Arrived
from triptych.study.persons import Who

ABOUT = (
    "The file is a study's capsule: a lead downloads it on the page Log, or an administrator writes it with triptych "
    "study export. It contains the study's log, texts and ratings; you will lead the study. Everything is checked "
    "against the log first; if anything differs, nothing is stored."
)


def imported(file: IO[bytes], name: str, who: Who) -> Arrived | None:
    """The imported study; None after a refusal, which becomes a message."""
    try:
        with capsule.uploaded(file, name) as source:
            arrived: Arrived | None = state.run_command(arrival.arrive, source, who, done=announced)
            return arrived
    except ImportRefused as refusal:
        state.say(str(refusal))
        return None


def announced(arrived: Arrived) -> str:
    return " ".join(["The study was imported.", *capsule.notes_on(arrived)])


who = state.require("lead")
st.title("Import a study", anchor=False)
st.text(ABOUT)
upload = st.file_uploader("Capsule (ZIP)", ["zip"], key="capsule", max_upload_size=MAX_UPLOAD // 2**20)
if upload is not None and state.button("Import", "import-study", type="primary"):
    with st.spinner("Checking every row against the log …"):
        arrived = imported(upload, upload.name, who)
    if arrived:
        st.switch_page("lead/people.py", query_params={"study": arrived.slug})
state.show_messages()
st.caption(capsule.COMMAND)

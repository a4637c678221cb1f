"""The screens an annotator meets when there is no item for her: each says what happens next."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from components.live import follow
from triptych import clock
from triptych.assignments import Nothing

SAYS = {
    Nothing.not_open: ("Not open yet", "The lead has not opened this study. Come back to this page when it starts."),
    Nothing.paused: ("Paused", "The lead has paused this study. Everything you submitted and wrote is kept."),
    Nothing.closed: ("Closed", "This study is closed. Thank you for your work; everything you submitted is kept."),
    Nothing.excluded: (
        "Finished for you",
        "You have no further items in this study. Ask the lead if you have questions.",
    ),
    Nothing.finished: ("All done", "You have annotated every item there is for you. Thank you!"),
    Nothing.nothing_free: (
        "Nothing free at the moment",
        "Other annotators are working on the last items. This page looks again by itself.",
    ),
}
LOOK_AGAIN = 15


def draw(reason: Nothing, completion_code: Callable[[], str | None]) -> None:
    """Heading and sentence for the reason; the completion code when a panel's annotator has finished."""
    heading, sentence = SAYS[reason]
    st.title(heading, anchor=False)
    st.write(sentence)
    if reason is Nothing.finished and (code := completion_code()):
        st.write("Give this completion code to the panel you came from:")
        st.code(code, language=None)
    if reason is Nothing.nothing_free:
        follow(_quarter_minute, _quarter_minute())
    if st.button("My work", icon=":material/arrow_back:"):
        st.switch_page("annotator/my_work.py")


def _quarter_minute() -> int:
    return int(clock.now().timestamp()) // LOOK_AGAIN

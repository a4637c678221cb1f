"""The screens an annotator meets when there is no item for her: each says what happens next."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from components.shell.live import follow
from triptych import clock
from triptych.annotate.assignments import Nothing
from triptych.annotate.onboarding import Ending

SAYS = {
    Nothing.not_open: ("Not open yet", "The lead has not opened this study. Come back to this page when it starts."),
    Nothing.paused: (
        "Paused",
        "The lead has paused this study. Everything you submitted and wrote is kept. This page looks again by itself.",
    ),
    Nothing.closed: ("Closed", "This study is closed. Thank you for your work; everything you submitted is kept."),
    Nothing.excluded: (
        "Finished for you",
        "You have no further items in this study. Ask the lead if you have questions.",
    ),
    Nothing.withdrawn: ("You have withdrawn", "You take part in this study no longer. Thank you for your time."),
    Nothing.screened_out: (
        "You do not take part",
        "You did not agree to take part, so nothing more is asked of you. Thank you for your time.",
    ),
    Nothing.failed_test: (
        "Thank you for taking the test",
        "The pass mark was not reached this time, so there are no items for you in this study. We value your time.",
    ),
    Nothing.entry: ("One more step", "Something is left to read or to answer first. Reload this page to go on."),
    Nothing.finished: ("All done", "You have annotated every item there is for you. Thank you!"),
    Nothing.none_left: (
        "No item for you",
        "Every item has its annotators already, or none is planned for you. Thank you for coming. If a panel sent you, "
        "give your place back there: a completion code is for those who have annotated.",
    ),
    Nothing.nothing_free: (
        "Nothing free at the moment",
        "Other annotators are working on the last items. This page looks again by itself.",
    ),
}
MAY_PASS = (Nothing.paused, Nothing.nothing_free)
LOOK_AGAIN = 15


def draw(reason: Nothing, ending: Ending, go_back: Callable[[], None] | None = None) -> None:
    """Heading and sentence for the reason; code and way back for somebody who came from a panel.

    `go_back` opens what she submitted last, where that may still be changed.
    """
    heading, sentence = SAYS[reason]
    st.title(heading, anchor=False)
    st.write(sentence)
    if ending.code:
        st.write("Give this completion code to the panel you came from:")
        st.code(ending.code, language=None)
    if ending.address:
        st.link_button("Back to the panel", ending.address, type="primary", icon=":material/open_in_new:")
    if reason in MAY_PASS:
        follow(_quarter_minute, _quarter_minute())
    with st.container(horizontal=True):
        if st.button("My work", icon=":material/arrow_back:"):
            st.switch_page("annotator/my_work.py")
        if go_back:
            st.button("Back to what I submitted", icon=":material/undo:", on_click=go_back)


def _quarter_minute() -> int:
    return int(clock.now().timestamp()) // LOOK_AGAIN

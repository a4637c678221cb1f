"""The screens for an annotator without an item; each explains what happens next."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from components.shell import state
from components.shell.live import follow
from triptych import clock
from triptych.annotate.assignments import NoItem
from triptych.annotate.onboarding import Ending
from triptych.languages.language import _, message

MESSAGES = {
    NoItem.not_open: (
        message("Not open yet"),
        message("The lead has not opened this study. Come back to this page when it starts."),
    ),
    NoItem.paused: (
        message("Paused"),
        message(
            "The lead has paused this study. Everything you submitted or wrote is saved. This page checks again by "
            "itself."
        ),
    ),
    NoItem.closed: (
        message("Closed"),
        message("This study is closed. Thank you for your work; everything you submitted is saved."),
    ),
    NoItem.excluded: (
        message("Finished for you"),
        message("You have no further items in this study. Ask the lead if you have questions."),
    ),
    NoItem.withdrawn: (
        message("You have withdrawn"),
        message("You no longer take part in this study. Thank you for your time."),
    ),
    NoItem.screened_out: (
        message("You are not taking part"),
        message(
            "You did not agree to the text, so there are no items for you. Under *My data* you can read what is stored "
            "about you, and withdraw. Thank you for your time."
        ),
    ),
    NoItem.failed_test: (
        message("Thank you for taking the test"),
        message(
            "The pass mark was not reached this time, so there are no items for you in this study. We value your time."
        ),
    ),
    NoItem.entry: (
        message("One more step"),
        message("There is something to read or answer first. Reload this page to continue."),
    ),
    NoItem.finished: (message("All done"), message("You have annotated all your items. Thank you!")),
    NoItem.none_left: (
        message("No item for you"),
        message(
            "Every item already has its annotators, none is planned for you, or you skipped yours. Thank you for "
            "coming. If a panel sent you, return your place there: only people who have annotated get a completion "
            "code."
        ),
    ),
    NoItem.nothing_free: (
        message("No free item at the moment"),
        message("Other annotators are working on the last items. This page checks again by itself."),
    ),
}
TEMPORARY = (NoItem.paused, NoItem.nothing_free)
CHECK_SECONDS = 15


def draw(reason: NoItem, ending: Ending, go_back: Callable[[], None] | None = None) -> None:
    """Heading and message for the reason; for people from a panel also the completion code and the return link.

    `go_back` opens the item that they submitted last, if it may still be changed.
    """
    heading, sentence = MESSAGES[reason]
    st.title(_(heading), anchor=False)
    st.write(_(sentence))
    if ending.code:
        st.write(_("Give this completion code to the panel you came from:"))
        st.code(ending.code, language=None)
    if ending.address:
        st.link_button(_("Back to the panel"), ending.address, type="primary", icon=":material/open_in_new:")
    if reason in TEMPORARY:
        follow(_check_number, _check_number())
    with st.container(horizontal=True):
        if state.button(_("My work"), "to-my-work", icon=":material/arrow_back:"):
            st.switch_page("annotator/my_work.py")
        if go_back:
            st.button(_("Back to my last item"), icon=":material/undo:", on_click=go_back)


def _check_number() -> int:
    return int(clock.now().timestamp()) // CHECK_SECONDS

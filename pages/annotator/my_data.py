"""What is stored about the signed-in person: to read, to download, and to withdraw from a study."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import streamlit as st

from components.shell import state
from components.shell.choices import confirmed
from components.shell.words import moment
from triptych.privacy import erasure, personal_data, withdrawal
from triptych.privacy.personal_data import Part
from triptych.stats.numbers import counted
from triptych.storage.database import DatabaseAway
from triptych.storage.models import Study, StudyState

STORED_NOTE = (
    "Stored about you: your name and e-mail address if you or the lead gave them, a pseudonym, when you joined and "
    "agreed, and everything you submit: ratings, highlights, explanations, notes and the time an item took. Results "
    "and files that leave this server carry your pseudonym, never your name."
)
WITHDRAWAL_NOTES = {
    "keep": "You get no further item. Your ratings stay in the results under your pseudonym; your explanations, "
    "comments and notes, and what you have not submitted, are removed.",
    "delete": "You get no further item. All your work in this study is removed.",
}
FINAL_NOTE = (
    "Your name is removed too, unless you take part in another study here; you are then signed out for good. This "
    "cannot be undone."
)
WITHDRAWN_MESSAGE = "You have withdrawn from this study. Thank you for your work."


def withdraw(study: Study) -> None:
    # callbacks run before the page checks the person: they may have signed out in another tab since the last run
    if state.current_person() == who and state.run_command(
        withdrawal.withdraw_myself, study, who, done=WITHDRAWN_MESSAGE
    ):
        with suppress(DatabaseAway):  # they have withdrawn; the next clearing removes what is left in the files
            erasure.wipe(state.engine())


def draw(part: Part) -> None:
    with st.container(border=True):
        st.text(part.study.title)
        agreed = f" · consent given {moment(part.membership.consented_at)}" if part.membership.consented_at else ""
        st.caption(f"Joined {moment(part.membership.joined_at)}{agreed}")
        st.text(
            f"{counted(part.annotations, 'item')} with ratings · {counted(part.highlights, 'highlight')} · "
            f"{counted(part.explanations, 'explanation')}"
        )
        if part.membership.withdrawn_at:
            st.caption(f"You withdrew {moment(part.membership.withdrawn_at)}.")
            return
        consequence, place = f"{WITHDRAWAL_NOTES[part.promised]} {FINAL_NOTE}", f"withdraw-{part.study.slug}"
        label, sure = "Withdraw from this study", "I want to withdraw"
        later: Any = {"type": "secondary", "on_click": withdraw, "args": (part.study,)}
        confirmed(label, consequence, "Withdraw now", place, sure, **later)


who = state.require("annotator")
st.title("My data", anchor=False)
state.show_messages()
st.text(STORED_NOTE)
with st.container(horizontal=True):
    st.link_button("Everything as JSON", "my-data.json", icon=":material/download:")
    st.link_button("My ratings as CSV", "my-data.csv", icon=":material/download:")
with state.reading() as session:
    parts = [part for part in personal_data.parts_of(session, who) if part.study.state != StudyState.draft]
for part in parts:
    draw(part)
if not parts:
    st.text("You are not in a study yet.")

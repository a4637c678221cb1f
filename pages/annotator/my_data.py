"""What is stored about the signed-in person: to read, to download, and to withdraw from a study."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from components.annotator import unsent
from components.shell import state
from components.shell.choices import choose_language, confirmed
from components.shell.words import moment
from triptych.annotate.blinding import store_keys
from triptych.languages.language import _, message, ngettext
from triptych.privacy import erasure, personal_data, withdrawal
from triptych.privacy.personal_data import Part
from triptych.storage.models import Study, StudyState
from triptych.storage.unavailable import DatabaseUnavailable

STORED_NOTE = message(
    "Stored about you: your name and e-mail address if you or the lead gave them, a pseudonym, when you joined and "
    "agreed, and everything you submit: ratings, highlights, explanations, notes and the time an item took. Results "
    "and files that leave this server carry your pseudonym, never your name."
)
WITHDRAWAL_NOTES = {
    "keep": message(
        "You get no further item. Your ratings stay in the results under your pseudonym; your explanations, "
        "comments and notes, and what you have not submitted, are removed."
    ),
    "delete": message("You get no further item. All your work in this study is removed."),
}
FINAL_NOTE = message(
    "Your name is removed too, unless you take part in another study here; you are then signed out for good. This "
    "cannot be undone."
)
WITHDRAWN_MESSAGE = message("You have withdrawn from this study. Thank you for your work.")


def withdraw(study: Study) -> None:
    if state.run_command(withdrawal.withdraw_myself, study, who, done=_(WITHDRAWN_MESSAGE)):
        unsent.forget(state.run_query(store_keys, study, who) or ())  # now: the login may have ended
        with suppress(DatabaseUnavailable):  # the next clearing removes what is left in the files
            erasure.wipe(state.engine())
    st.rerun()


def draw(part: Part) -> None:
    with st.container(border=True):
        st.text(part.study.title)
        joined, agreed = moment(part.membership.joined_at), part.membership.consented_at
        dates = [_("Joined {date}", date=joined), *([_("consent given {date}", date=moment(agreed))] if agreed else [])]
        st.caption(" · ".join(dates))
        counts = [
            ngettext("{count} item with ratings", "{count} items with ratings", part.annotations),
            ngettext("{count} highlight", "{count} highlights", part.highlights),
            ngettext("{count} explanation", "{count} explanations", part.explanations),
        ]
        st.text(" · ".join(counts))
        if part.membership.withdrawn_at:
            st.caption(_("You withdrew {date}.", date=moment(part.membership.withdrawn_at)))
            return
        consequence, place = f"{_(WITHDRAWAL_NOTES[part.promised])} {_(FINAL_NOTE)}", f"withdraw-{part.study.slug}"
        label, sure = _("Withdraw from this study"), _("I want to withdraw")
        if confirmed(label, consequence, _("Withdraw now"), place, sure, type="secondary"):
            withdraw(part.study)


who = state.require("annotator")
st.title(_("My data"), anchor=False)
state.show_messages()
st.text(_(STORED_NOTE))
with st.container(horizontal=True):
    st.link_button(_("Everything as JSON"), "my-data.json", icon=":material/download:")
    st.link_button(_("My ratings as CSV"), "my-data.csv", icon=":material/download:")
with state.reading() as session:
    parts = [part for part in personal_data.parts_of(session, who) if part.study.state != StudyState.draft]
for part in parts:
    draw(part)
if not parts:
    st.text(_("You are not in a study yet."))
choose_language(who)

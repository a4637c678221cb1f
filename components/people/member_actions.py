"""Actions on one annotator, each with its consequences."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from components.shell.choices import certain, confirmed
from components.shell.clearing import clear, run_and_clear
from components.shell.state import button, form_button, key_of, run_command
from components.shell.words import moment
from triptych.annotate import exclusions
from triptych.annotate.exclusions import LONGEST_REASON
from triptych.people import roster
from triptych.people.roster import Member
from triptych.privacy import erasure, withdrawal
from triptych.privacy.erasure import Copy
from triptych.stats.numbers import counted
from triptych.storage.models import Kind, Study
from triptych.study.persons import Who

LOST_WITH_COPIES = (
    "A backup is deleted with everyone else's work in it. Packed files that cannot be searched are listed too, "
    "whatever they hold."
)
DISABLE_HINT = "Signs this person out everywhere at once. Nothing is lost; they can sign in again when you enable them."
ENABLE_HINT = "Lets this person sign in again."
LET_IN_HINTS = {
    "failed_test": "This person did not pass the entry test. If you let them in, they get items; their attempts remain "
    "on record.",
    "screened_out": "This person did not agree to take part. If you let them in, they will be asked for consent again.",
}
WITHDRAW_HINTS = {
    "keep": "Permanently ends this person's participation. Their ratings are kept and marked as surplus, as stated in "
    "the consent; their explanations, comments, notes and unsubmitted work are removed. Their items become available "
    "again.",
    "delete": "Permanently ends this person's participation. All their work is deleted, as stated in the consent. "
    "Their items become available again.",
}
NAME_HINT = (
    "Their name and address, links and logins are removed too, unless they take part in another study here. The "
    "database is rewritten, which can take a minute; nobody can save in that time."
)
ERASE_HINT = (
    "Withdraws this person from every study of yours and permanently removes: name, e-mail address, panel ids, links, "
    "logins, explanations, comments and notes, also from the log. Ratings are kept or deleted as stated in the "
    "consent. The "
    "database is rewritten, which can take a minute; nobody can save in that time."
)


def actions(member: Member, study: Study, promised: str, who: Who, annotations: int) -> None:
    """Draw the actions, and perform the one that the lead requests.

    `promised` is what the consent promises for the person's ratings, "keep" or "delete"; `annotations` is how many they
    submitted in this study.
    """
    name, human = member.pseudonym, member.kind == Kind.human
    with st.container(horizontal=True, vertical_alignment="center"):
        _switch(member, study, who)
        if member.turned_away_as and not member.withdrawn_at:
            _let_in(name, LET_IN_HINTS[member.turned_away_as], study, who)
        if member.kind != Kind.judge and not member.withdrawn_at:
            hint = f"{WITHDRAW_HINTS[promised]} {NAME_HINT}"
            if confirmed("Withdraw", hint, f"Withdraw {name}", f"Withdraw-{name}", sure="I am sure"):
                run_and_clear(withdrawal.withdraw, study, name, who.pseudonym, done=f"{name} has withdrawn.")
        if human and not member.erased:
            with st.popover("Erase"):
                losses = f"{counted(annotations, 'annotation')} of {name} in this study. {ERASE_HINT}"
                certainty = certain(who, f"Erase {name}", losses, f"erase-{name}")
                if certainty:
                    run_and_clear(erasure.erase, study, name, certainty, done=f"{name} was erased.")
        for form in ("json", "csv"):
            address = f"people/{study.slug}/{name}.{form}"
            st.link_button(f"Data as {form.upper()}", address, icon=":material/download:")


def _switch(member: Member, study: Study, who: Who) -> None:
    """The button to disable the account of a human annotator, or to enable it."""
    name, key = member.pseudonym, f"{member.pseudonym}-{study.slug}"
    if member.disabled:
        if not member.erased and button("Enable", f"enable-{key}", help=ENABLE_HINT, icon=":material/lock_open:"):
            run_command(roster.enable, study, name, who, done=f"{name} can sign in again.")
            st.rerun()
    elif member.kind == Kind.human and button("Disable", f"disable-{key}", help=DISABLE_HINT, icon=":material/lock:"):
        run_command(roster.disable, study, name, who, done=f"{name} is signed out and disabled.")
        st.rerun()


def _let_in(name: str, hint: str, study: Study, who: Who) -> None:
    """A form to readmit somebody who was turned away."""
    key = f"let-in-{study.slug}-{name}"
    with st.popover("Let in"), st.form(key, border=False):
        st.text(hint)
        why = st.text_input("Why", max_chars=LONGEST_REASON, key=f"why-{name}")
        if form_button(f"Let {name} in", key, type="primary"):
            run_command(exclusions.let_in, study, name, why, who.pseudonym, done=f"{name} can continue.")
            st.rerun()


def copies(study: Study, remaining: Sequence[Copy], who: Who) -> None:
    """Draw copies that still contain people who have left, and delete them once the lead has confirmed it."""
    if not remaining:
        st.text("No backup, capsule or report in the data folder is known to contain anyone who left.")
        return
    st.text("These copies still contain people who have left since.")
    rows = [
        {"Copy": copy.name, "Where": copy.place, "Made": moment(copy.made_at), "Contains": who}
        for copy in remaining
        for who in [", ".join(copy.holds)]
    ]
    st.dataframe(rows, hide_index=True, key="copies")
    if all(copy.path is None and copy.sha256 is None for copy in remaining):
        return
    reports = any(copy.sha256 is not None for copy in remaining)
    with_reports = reports and st.checkbox("Delete the reports as well; their numbers will no longer be available")
    key = key_of("delete-copies", [copy.name for copy in remaining])
    certainty = certain(who, "Delete these copies", LOST_WITH_COPIES, key)
    if certainty:
        delete = erasure.delete_copies
        run_command(delete, study, certainty, remaining, bool(with_reports), done="The copies are deleted.")
        clear()
        st.rerun()

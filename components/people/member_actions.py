"""Actions on one annotator, each with its consequences."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from components.shell.choices import certain, confirmed
from components.shell.clearing import clear
from components.shell.state import button, form_button, key_of, run_command
from components.shell.words import moment
from triptych.annotate.exclusions import LONGEST_REASON
from triptych.people.roster import Member
from triptych.privacy import erasure
from triptych.privacy.erasure import Copy
from triptych.stats.numbers import counted
from triptych.storage.models import Kind, Study
from triptych.study.persons import Certainty, Who

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


def steps(member: Member, study: Study, promised: str, who: Who, annotations: int) -> tuple[str, str] | None:
    """Draw the actions; returns the chosen one (disable, enable, let in or withdraw) and the reason for letting in.

    `promised` is what the consent promises for the person's ratings, "keep" or "delete"; `annotations` is how many they
    submitted in this study.
    """
    with st.container(horizontal=True, vertical_alignment="center"):
        human = member.kind == Kind.human
        chosen = [
            step
            for step, offered, label, hint, icon in (
                ("disable", human and not member.disabled, "Disable", DISABLE_HINT, ":material/lock:"),
                ("enable", member.disabled and not member.erased, "Enable", ENABLE_HINT, ":material/lock_open:"),
            )
            if offered and button(label, f"{step}-{member.pseudonym}-{study.slug}", help=hint, icon=icon)
        ]
        why = _reason_to_let_in(member, study)
        if why is not None:
            chosen.append("let in")
        may_withdraw = member.kind != Kind.judge and not member.withdrawn_at
        if may_withdraw and _confirmed("Withdraw", f"{WITHDRAW_HINTS[promised]} {NAME_HINT}", member):
            chosen.append("withdraw")
        if human and not member.erased:
            with st.popover("Erase"):
                losses = f"{counted(annotations, 'annotation')} of {member.pseudonym} in this study. {ERASE_HINT}"
                certainty = certain(who, f"Erase {member.pseudonym}", losses, f"erase-{member.pseudonym}")
                if certainty:
                    _erase(member, study, certainty)
        for form in ("json", "csv"):
            address = f"people/{study.slug}/{member.pseudonym}.{form}"
            st.link_button(f"Data as {form.upper()}", address, icon=":material/download:")
    return (chosen[0], why or "") if chosen else None


def _erase(member: Member, study: Study, certainty: Certainty) -> None:
    done = f"{member.pseudonym} was erased."
    if run_command(erasure.erase, study, member.pseudonym, certainty, done=done):
        clear()
    st.rerun()


def _reason_to_let_in(member: Member, study: Study) -> str | None:
    """The lead's reason for readmitting somebody who was turned away; None until it is sent."""
    if member.turned_away_as is None or member.withdrawn_at:
        return None
    key = f"let-in-{study.slug}-{member.pseudonym}"
    with st.popover("Let in"), st.form(key, border=False):
        st.text(LET_IN_HINTS[member.turned_away_as])
        why = st.text_input("Why", max_chars=LONGEST_REASON, key=f"why-{member.pseudonym}")
        return why if form_button(f"Let {member.pseudonym} in", key, type="primary") else None


def _confirmed(label: str, consequence: str, member: Member) -> bool:
    """Whether the lead confirmed an irreversible action."""
    key = f"{label}-{member.pseudonym}"
    return confirmed(label, consequence, f"{label} {member.pseudonym}", key, "I am sure")


def copies(remaining: Sequence[Copy], who: Who) -> tuple[Certainty, bool] | None:
    """Draw copies that still contain people who have left.

    Once the lead has confirmed that they are to be deleted, returns the proof and whether to delete reports too.
    """
    if not remaining:
        st.text("No backup, capsule or report in the data folder is known to contain anyone who left.")
        return None
    st.text("These copies still contain people who have left since.")
    rows = [
        {"Copy": copy.name, "Where": copy.place, "Made": moment(copy.made_at), "Contains": who}
        for copy in remaining
        for who in [", ".join(copy.holds)]
    ]
    st.dataframe(rows, hide_index=True, key="copies")
    if all(copy.path is None and copy.sha256 is None for copy in remaining):
        return None
    reports = any(copy.sha256 is not None for copy in remaining)
    with_reports = reports and st.checkbox("Delete the reports as well; their numbers will no longer be available")
    key = key_of("delete-copies", [copy.name for copy in remaining])
    certainty = certain(who, "Delete these copies", LOST_WITH_COPIES, key)
    return (certainty, bool(with_reports)) if certainty else None

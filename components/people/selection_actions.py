"""Actions on the people selected in the table."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from components.people.links import show_links
from components.people.participants_table import selection_key
from components.shell.choices import confirmed
from components.shell.state import button, form_button, run_command
from triptych.annotate import exclusions
from triptych.annotate.exclusions import LONGEST_REASON
from triptych.participants.participant import Participant, Phase
from triptych.people import invitations, roster
from triptych.people.invitations import MAX_GROUP_CHARACTERS
from triptych.stats.numbers import counted
from triptych.storage.models import Kind, Study
from triptych.study import annotator_groups

REMIND_HINT = (
    "Creates a further personal link with an e-mail text for each person, for you to send. Links are not stored, so an "
    "existing one cannot be sent again; it works until the new one is first used."
)
RENEW_HINT = (
    "A new personal link for each person, if they lost theirs or it should be revoked. Earlier links stop working now."
)
END_HINT = "Their personal links stop working now. People who are signed in remain signed in until they sign out."
GROUP_HINT = (
    "For example expert, crowd or a language: results show agreement and differences of systems in each group, and "
    "whether groups differ. Leave empty to remove them from their group."
)
EXCLUDE_HINT = (
    "Excluding deletes nothing: the ratings are kept and marked, and results are shown with and without them."
)


def actions(study: Study, chosen: Sequence[Participant], actor: str) -> None:
    """Draw the selected people, and the actions on all of them. A refusal for one person becomes a message."""
    people = [person.pseudonym for person in chosen]
    with st.container(border=True, key="selected"):
        st.text(f"{counted(len(people), 'person', 'people')} selected: {', '.join(people)}")
        with st.container(horizontal=True, vertical_alignment="center"):
            key = selection_key(chosen, study.slug)
            for draw in (_links, _group, _count):
                draw(study, chosen, actor, key)


def _links(study: Study, chosen: Sequence[Participant], actor: str, key: str) -> None:
    """Actions on links, offered only if everyone selected can still sign in; the next run shows new links."""
    people = [person.pseudonym for person in chosen]
    if all(person.phase != Phase.stopped and person.member.kind == Kind.human for person in chosen):
        if button("Remind", f"remind-{key}", help=REMIND_HINT, icon=":material/mail:"):
            show_links(study.slug, *(run_command(invitations.remind, study, people, actor) or ()))
            st.rerun()
        if confirmed("New links", RENEW_HINT, "Replace their links", f"renew-{key}"):
            show_links(study.slug, *(run_command(invitations.renew, study, people, actor) or ()))
            st.rerun()
    has_link = any(person.member.link_until for person in chosen)
    if has_link and confirmed("End links", END_HINT, "End their links", f"end-{key}"):
        for name in people:
            run_command(roster.end_link, study, name, actor, done=f"The links of {name} were revoked.")
        st.rerun()


def _group(study: Study, chosen: Sequence[Participant], actor: str, key: str) -> None:
    key = f"group-{key}"
    with st.popover("Set group"), st.form(key, border=False):
        st.text(GROUP_HINT)
        groups = {person.group for person in chosen}
        known_group = groups.pop() if len(groups) == 1 else ""
        group = st.text_input("Group", known_group, max_chars=MAX_GROUP_CHARACTERS, key=f"{key}-name")
        if form_button("Save the group", key):
            people = [person.pseudonym for person in chosen]
            run_command(annotator_groups.set_group, study, people, group, actor, done="The group is saved.")
            st.rerun()


def _count(study: Study, chosen: Sequence[Participant], actor: str, key: str) -> None:
    """Excluding people who count in the results, or reinstating excluded people."""
    out = [person.member.excluded_at is not None for person in chosen]
    if any(out) != all(out) or any(person.member.withdrawn_at for person in chosen):
        return
    name, label = ("reinstate", "Reinstate") if all(out) else ("exclude", "Exclude")
    key = f"{name}-{key}"
    with st.popover(label), st.form(key, border=False):
        st.text(EXCLUDE_HINT)
        why = st.text_input("Why", max_chars=LONGEST_REASON, key=f"{key}-why")
        if form_button(f"{label} {counted(len(chosen), 'person', 'people')}", key):
            command = exclusions.reinstate if all(out) else exclusions.exclude
            for person in chosen:
                run_command(command, study, person.pseudonym, why, actor, done=f"{person.pseudonym}: {name}d.")
            st.rerun()

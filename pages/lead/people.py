"""The people of one study, by name: invitations, links, accounts, withdrawal, erasure, fellow leads."""

from __future__ import annotations

import streamlit as st

from components.people import invitations as forms
from components.people import member_actions
from components.people.leads import leads
from components.people.people_table import choose_member, members_table
from components.shell import state
from components.shell.clearing import clear, what_is_left
from components.shell.study_choice import chosen_study
from triptych.annotate import exclusions
from triptych.errors import ImportRefused
from triptych.people import invitations, roster
from triptych.people.invitations import Invited
from triptych.people.roster import Member
from triptych.privacy import erasure, withdrawal
from triptych.storage.models import Access, Role
from triptych.study import annotator_groups
from triptych.study.settings import settings_of

NEW_LINKS = "links made"


def keep_links(invited: list[Invited] | None) -> None:
    """Show new links until others are made, or the page is reloaded."""
    if invited:
        state.renew(forms.form_name(slug))
        state.remember(NEW_LINKS, [(slug, invitation) for invitation in invited])
    st.rerun()


def invite() -> None:
    if study.access == Access.panel:
        st.text("Annotators of this study come from a panel; its address is on the page Overview.")
    single, several = st.tabs(["One person", "A list"])
    with single:
        guest = forms.guest_form(Role.annotator, slug)
    with several:
        data = forms.list_upload(slug)
        if data is not None:
            invite_list(data)
    if guest:
        invited = state.run_command(invitations.invite_one, study, *guest, Role.annotator, who.pseudonym)
        keep_links(invited and [invited])


def invite_list(data: bytes) -> None:
    try:
        with state.reading() as session:
            guest_list = invitations.read_list(session, study, data)
    except ImportRefused as refusal:
        state.say(str(refusal))
        return
    if forms.list_preview(guest_list):
        keep_links(state.run_command(invitations.invite_all, study, guest_list.guests, who.pseudonym))


def run_step(step: str, why: str, member: Member) -> None:
    """Run the chosen step for an annotator."""
    name, run = member.pseudonym, state.run_command
    if step == "link":
        secret = run(roster.new_link, study, name, who.pseudonym)
        keep_links(secret and [Invited(member.name or name, member.email, Role.annotator, name, secret)])
    if step == "disable":
        run(roster.disable, study, name, who, done=f"{name} is signed out and disabled.")
    if step == "enable":
        run(roster.enable, study, name, who, done=f"{name} can sign in again.")
    if step == "let in":
        run(exclusions.let_in, study, name, why, who.pseudonym, done=f"{name} can continue.")
    if step == "withdraw" and run(withdrawal.withdraw, study, name, who.pseudonym, done=f"{name} has withdrawn."):
        clear()
    if step == "erase" and run(erasure.erase, study, name, who, done=f"{name} was erased."):
        clear()
    st.rerun()


who = state.require("lead")
with chosen_study(who, "People") as (session, study):
    slug = study.slug
    everybody = roster.members_of(session, study)
    copies = erasure.copies(session, study)
annotators = [member for member in everybody if member.role == Role.annotator]
state.show_messages()
what_is_left()
forms.links([link for where, link in state.recall(NEW_LINKS, []) if where == slug])
st.subheader("Invite annotators", anchor=False)
invite()
st.subheader("Annotators", anchor=False)
st.caption("Names appear on this page only. Everywhere else a person is a pseudonym.")
if annotators:
    members_table(annotators, bool(settings_of(study).consent.text))
    chosen = choose_member(annotators, "Annotator", f"member-{slug}")
    with state.reading() as session:
        promised = withdrawal.promised_to(session, study, chosen.pseudonym)
        submitted = erasure.annotations_of(session, study, chosen.pseudonym)
    step = member_actions.steps(chosen, study, promised, who, submitted)
    if step:
        run_step(*step, chosen)
    if group := member_actions.group_form(annotators, settings_of(study).annotator_groups, slug):
        state.run_command(annotator_groups.set_group, study, *group, who.pseudonym, done="The group is saved.")
        st.rerun()
else:
    st.text("Nobody has joined yet. Invite people above, or give out the address on the page Overview.")
st.subheader("Leads", anchor=False)
new_lead = leads(study, everybody, who)
if new_lead:
    keep_links([new_lead])
if any(member.erased or member.withdrawn_at for member in annotators):
    st.subheader("Copies made earlier", anchor=False)
    with_reports = member_actions.copies(copies)
    if with_reports is not None:
        state.run_command(erasure.delete_copies, study, who.pseudonym, with_reports, done="The copies are deleted.")
        clear()
        st.rerun()

"""The people of one study: the table of annotators, invitations, links, accounts, other leads."""

from __future__ import annotations

import streamlit as st

from components.people import invitations as forms
from components.people import member_actions
from components.people.leads import leads
from components.people.links import links
from components.people.participants_table import filtered, table
from components.people.selection_actions import actions
from components.people.viewers import viewers
from components.shell import state
from components.shell.clearing import what_is_left
from components.shell.study_choice import chosen_study
from components.study.access_address import access_address
from triptych.participants.mail import failure_of
from triptych.participants.notices import notices
from triptych.participants.participant import Participant, participants
from triptych.people import roster
from triptych.privacy import erasure, withdrawal
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.results.progress import overview
from triptych.results.quality import flags_of
from triptych.storage.models import StudyState
from triptych.study.settings import settings_of

NOBODY = "Nobody has joined yet. Invite people below."
NOBODY_IN_DRAFT = "Nobody has joined yet. You can invite people below already; they begin when the study is launched."


def one_person(person: Participant) -> None:
    """Actions on one person at a time."""
    with state.reading() as session:
        promised = withdrawal.promised_to(session, study, person.pseudonym)
        submitted = erasure.annotations_of(session, study, person.pseudonym)
    member_actions.actions(person.member, study, promised, who, submitted)


who = state.require("lead")
with chosen_study(who) as (session, study):
    slug, everybody, copies = study.slug, roster.members_of(session, study), erasure.copies(session, study, who)
    frame, settings = frame_of(session, study), settings_of(study)
    view = overview(session, study, Counted(kinds_by_default(study)))
    mail_failure = failure_of(session, study)
    people = participants(session, study, everybody, frame, view, flags_of(session, study, frame))
    news = [*notices(session, study, view, people)]
what_is_left()
access_address(study)
links(study)
for notice in news:
    state.say(notice.sentence, notice.kind)
if mail_failure:
    state.say(f"The last e-mail about this study was not sent to every lead: {mail_failure}.", "warning")
st.header("Annotators", anchor=False)
if people:
    chosen = table(filtered(people, slug), slug, bool(settings.consent.text))
    if chosen:
        actions(study, chosen, who.pseudonym)
    if len(chosen) == 1:
        one_person(chosen[0])
else:
    st.text(NOBODY_IN_DRAFT if study.state == StudyState.draft else NOBODY)
st.header("Invite annotators", anchor=False)
forms.invite(study, view, who.pseudonym)
st.header("Leads", anchor=False)
leads(study, everybody, who)
st.subheader("Viewers", anchor=False)
viewers(study, everybody, who)
if any(person.member.erased or person.member.withdrawn_at for person in people):
    st.header("Copies made earlier", anchor=False)
    member_actions.copies(study, copies, who)

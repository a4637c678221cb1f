"""The annotator's start page: their studies, progress and finished work."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from components.annotator.comments import thread
from components.annotator.finished_work import finished_work
from components.annotator.study_card import next_step, offer
from components.shell import state
from components.shell.choices import choose_language
from components.shell.words import DEMO_NOTE
from triptych.annotate import assignments, comments, progress
from triptych.annotate.comments import OwnThread
from triptych.annotate.own_items import OwnItem, own_items
from triptych.languages.language import _, message
from triptych.people import joining, panels, shared_accounts
from triptych.people.membership import AnnotatorMembership, membership_of
from triptych.storage.models import Study
from triptych.study import lifecycle

ANNOTATE, MY_DATA = "annotator/annotate.py", "annotator/my_data.py"
NO_STUDY = message("You are not in a study yet. If you were invited, open your personal link.")

who = state.require("annotator")


def go(study: Study) -> None:
    state.remember("go", study.slug)


def join(study: Study) -> None:
    # callbacks run before the page checks the person, who may have signed out in another tab since the last run
    if state.current_person() == who and state.run_command(joining.join, study, who) is not None:
        go(study)


def show_item(study: Study, token: str) -> None:
    state.remember(f"back-{study.slug}", token)
    go(study)


def draw(
    study: Study,
    member: AnnotatorMembership,
    done: progress.Progress,
    work: Sequence[OwnItem],
    threads: list[tuple[OwnThread, bool]],
) -> None:
    with st.container(border=True):
        if next_step(study, member, done, go):
            for own, is_open in threads:
                thread(own, study, who, partial(show_item, study, own.token) if is_open else None)
            finished_work(work)


chosen = state.take("go")
if chosen:
    st.switch_page(ANNOTATE, query_params={"study": chosen})
if linked := st.query_params.get("study"):  # a link to a study opens its next step
    joined = {study.slug for study in state.read(lifecycle.for_annotator, who.person_id)}
    if linked in joined:
        st.switch_page(ANNOTATE, query_params={"study": linked})
st.title(_("My work"), anchor=False)
state.show_messages()
with state.reading() as session:
    studies = lifecycle.for_annotator(session, who.person_id)
    parts = [
        (
            s,
            membership_of(session, s, who),
            progress.of_work(session, s, who),
            [item for item in own_items(session, s, who).items if item.at],
            [
                (own, assignments.changeable(session, s, who, own.token) == own.token)
                for own in comments.threads_of(session, s, who)
            ],
        )
        for s in studies
    ]
    open_now = [] if panels.came_from_panel(session, who) else lifecycle.open_to_all(session)
    new = sorted((s for s in open_now if s not in studies), key=lambda study: study.slug != linked)
    others = [study for study in new if study.slug == linked or shared_accounts.may_join(session, study, who)]
own, demos = ([part for part in parts if part[0].demo == is_demo] for is_demo in (False, True))
joinable, to_try = ([study for study in others if study.demo == is_demo] for is_demo in (False, True))
for part in own:
    draw(*part)
if not parts:
    st.write(_(NO_STUDY))
if joinable:
    st.header(_("Studies you can join"), anchor=False)
for study in joinable:
    offer(study, join)
if demos or to_try:
    st.header(_("Demo studies"), anchor=False)
    st.caption(_(DEMO_NOTE))
for part in demos:
    draw(*part)
for study in to_try:
    offer(study, join)
if parts:
    st.page_link(MY_DATA, label=_("My data, and how to withdraw"), icon=":material/lock:")
choose_language(who)

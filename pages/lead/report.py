"""Reports of one study, stored with everything that a paper needs, and the questions of its datasheet."""

import streamlit as st

from components.results.first_screen.looks import log_look
from components.results.heds_form import heds_form
from components.results.scope import choose_scope
from components.results.snapshots import snapshots
from components.shell import state
from components.shell.empty_state import no_rating_yet
from components.shell.study_choice import chosen_study
from triptych.reports import build, snapshot
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.storage.database import see_one_state
from triptych.storage.models import Study
from triptych.study import heds_answers, lifecycle
from triptych.study.persons import Who

WHAT = (
    "A report freezes the study at this moment: tables for LaTeX and spreadsheets, a page that opens offline, a "
    "methods paragraph, a datasheet, the data, and a script that recomputes every number. All of its files contain the "
    "same hash."
)
BLIND = (
    "This study is blind: the report calls its systems System 1, 2, … To get their names, unblind the study first, on "
    "the results page."
)


def make(who: Who, study: Study, scope: Counted) -> None:
    """Build and store a report while others keep writing; this counts as viewing the results."""
    frame = state.read(frame_of, study)
    log_look(study, frame, who.pseudonym)
    bar = st.progress(0.0, "Making the report …")

    def show_share(share: float, doing: str) -> None:
        bar.progress(share, f"{doing} …")

    with state.reading() as session:
        see_one_state(session)
        study = lifecycle.led_by(session, who, study.slug)
        report = build.build_report(session, study, scope, show_share)
    done = f"The report is ready. Its hash begins with {report.sha256[:12]}."
    state.run_command(snapshot.keep, study, report, who.pseudonym, done=done)
    st.rerun()


def datasheet(study: Study, who: Who) -> None:
    """The questions that the study's data cannot answer."""
    with state.reading() as session:
        criteria = lifecycle.design_of(session, study).rubric.asked(study.round)
    sheet = heds_answers.stored(study.settings.get("heds", {}))
    questions = len(heds_answers.asked(criteria))
    with st.expander(f"Datasheet (HEDS 3.0): {len(sheet)} of {questions} questions answered"):
        sent = heds_form(criteria, sheet, study.slug)
    if sent:
        store(study, who, *sent)
        st.rerun()


def store(study: Study, who: Who, answers: heds_answers.Sheet, seen: heds_answers.Sheet) -> None:
    """Store the answers, or show what somebody else answered since; `seen` follows what the lead knows."""

    def command(session) -> bool:
        try:
            heds_answers.store(session, study, answers, seen, who.pseudonym)
        except heds_answers.AnswersChanged as refusal:
            seen.update(refusal.stored)
            raise
        return True

    if state.run_command(command, done="Answers saved."):
        seen.update(answers)


who = state.require("lead")
with chosen_study(who) as (session, study):
    slug = study.slug
    frame = frame_of(session, study)
    made = snapshot.listed(session, study)
if frame.ratings.empty:
    no_rating_yet(study)
st.text(WHAT)
with st.expander("What is in it"):
    st.dataframe({"File": list(build.ABOUT), "What it is": list(build.ABOUT.values())}, hide_index=True)
if study.unblinded_at is None:
    st.caption(BLIND)
with st.container(horizontal=True, vertical_alignment="center"):
    scope = choose_scope(frame, kinds_by_default(study), slug)
    asked = state.button("Make a report", f"report-{slug}", type="primary", icon=":material/lock:")
if asked:
    make(who, study, scope)
datasheet(study, who)
st.header("Reports made", anchor=False)
if made:
    snapshots(study, made)
else:
    st.text("None yet. Make the first one above, once the ratings are in.")

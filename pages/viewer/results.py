"""Results of the study that a viewer sees: which system is better, can it be trusted, who disagrees."""

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from components.results import comparisons, disagreement, explanations, trust
from components.results.first_screen.beside import shown
from components.results.first_screen.looks import log_look
from components.results.first_screen.screen import first_screen, no_rating
from components.results.marked import marked_item
from components.results.scope import scope_notes
from components.shell import live, state
from components.shell.choices import in_tabs
from components.shell.study_choice import watched_study
from triptych.participants.watching import watched, watched_frame
from triptych.results import adjudication
from triptych.results.first_screen.next_step import next_step
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.highlights import highlights_of_item
from triptych.results.frame.model import Counted
from triptych.results.page import Board
from triptych.results.progress import overview
from triptych.results.study_analysis import StudyAnalysis
from triptych.study.system_names import system_names


def compared(analysis: StudyAnalysis) -> None:
    comparisons.every_criterion(analysis, slug)
    finals = state.read(adjudication.final_values, study)
    decided = [view.final(final) for final in adjudication.decided_ones(finals)]
    comparisons.both_versions(analysis, adjudication.both_versions(analysis, finals), decided)


def trusted(analysis: StudyAnalysis) -> None:
    trust.agreement(analysis, slug)


def disagreed(analysis: StudyAnalysis) -> None:
    disagreement.people(analysis, slug)
    item(disagreement.items(analysis, slug), "apart")


def explained(analysis: StudyAnalysis) -> None:
    explanations.reasons(analysis)
    item(explanations.browser(analysis, slug), "explained")


def item(chosen: str | None, where: str) -> None:
    """The selected item, and a link to its ratings. `where` names the table."""
    if chosen is None:
        return
    texts = view.texts(state.read(highlights_of_item, study, chosen, scope))
    marked_item(texts, key=f"marked-{where}-{slug}-{chosen}")
    label = state.plain(f"Ratings of {chosen}")
    st.page_link("viewer/items.py", label=label, icon=":material/table_rows:", query_params={"look": chosen})


SECTIONS: dict[str, Callable[[StudyAnalysis], None]] = {
    "Which is better": compared,
    "Can it be trusted": trusted,
    "Who disagrees": disagreed,
}

who = state.require("viewer")
with watched_study(who, "Results") as (session, study):
    slug, kinds, view = study.slug, kinds_by_default(study), watched(session, study)
    scope = Counted(kinds)
    board = Board(study, view.frame, system_names(session, study), overview(session, study, scope))
step = replace(next_step(study, board.overview), place="", heading="What leads do next")
live.follow(lambda: live.number_now(study), view.frame.number)
if view.frame.ratings.empty:
    no_rating(board, step)
    st.stop()
log_look(study, view.frame, who.pseudonym)
tools = st.container(key="tools", horizontal=True)
scope_notes(view.frame, scope, kinds)
results = shown(board, scope, step, source=watched_frame)
analysis = results.analysis
first_screen(replace(results, findings=lambda: view.findings(results.findings())), board, tools, step)
in_tabs(SECTIONS | ({"What they say": explained} if view.explained else {}), f"section-{slug}", analysis)
st.caption("Leads see in the log on which days you opened results.")

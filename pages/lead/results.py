"""Live results of one study: which system is better, can they be trusted, who disagrees, what do they say."""

import streamlit as st

from components.results import comparisons, disagreement, explanations, trust
from components.results.first_screen.beside import shown
from components.results.first_screen.looks import log_look
from components.results.first_screen.screen import first_screen, no_rating
from components.results.marked import item
from components.results.more import more
from components.results.scope import choose_scope, scope_notes
from components.results.slices import slices_section
from components.results.study_tools import study_tools
from components.shell import live, state
from components.shell.choices import choose, in_tabs
from components.shell.study_choice import chosen_study
from triptych.results import adjudication, texts
from triptych.results.annotators import speeds_of
from triptych.results.first_screen.next_step import next_step
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.upkeep import frame_of
from triptych.results.page import Board, read_board
from triptych.results.study_analysis import StudyAnalysis, spans
from triptych.storage.models import Study


def texts_of(study: Study) -> texts.Texts:
    return state.read(texts.texts_of, study)


def compared(analysis: StudyAnalysis, board: Board) -> None:
    comparisons.every_criterion(analysis, board.study.slug)
    finals = state.read(adjudication.final_values, board.study)
    comparisons.both_versions(analysis, adjudication.both_versions(analysis, finals), adjudication.decided_ones(finals))


def trusted(analysis: StudyAnalysis, board: Board) -> None:
    trust.agreement(analysis, board.study.slug)
    trust.annotators(analysis.annotators, speeds_of(analysis.frame, analysis.scope, texts_of(board.study)))


def disagreed(analysis: StudyAnalysis, board: Board) -> None:
    study = board.study
    disagreement.people(analysis, study.slug)
    item(analysis, study, disagreement.items(analysis, study.slug), "apart")
    st.subheader("Items behind a difference", anchor=False)
    titles = {key: analysis.title(key) for key in analysis.compared}
    if titles:
        key = choose("Criterion", titles, f"difference-{study.slug}")
        item(analysis, study, comparisons.behind(analysis, key, study.slug), "behind")


def explained(analysis: StudyAnalysis, board: Board) -> None:
    study, labels = board.study, analysis.frame.rubric.highlights
    explanations.reasons(analysis)
    item(analysis, study, explanations.browser(analysis, study.slug), "explained")
    if not labels:
        return
    st.subheader("Highlights", anchor=False)
    with state.reading() as session:
        readings = texts.readings_of(session, study, analysis.frame, analysis.scope)
        comments = texts.comments_of(session, study, analysis.frame, analysis.scope)
    explanations.highlights(readings, spans(readings), labels, analysis, study.slug)
    item(analysis, study, explanations.comments(comments, labels, analysis, study.slug), "comment")
    if board.highlights:
        marked = [f"{name} ({count})" for name, count in board.highlights.items()]
        chosen = st.selectbox("Item, most highlighted first", marked, key=f"item-{study.slug}")
        item(analysis, study, list(board.highlights)[marked.index(chosen)], "marked")


SECTIONS = {
    "Which is better": compared,
    "Can it be trusted": trusted,
    "Who disagrees": disagreed,
    "What they say": explained,
    "Slices": lambda analysis, board: slices_section(analysis, board.study.slug),
    "More analyses": lambda analysis, board: more(analysis, lambda: texts_of(board.study), board.study.slug),
}
who = state.require("lead")
with chosen_study(who) as (_, study):
    slug, kinds = study.slug, kinds_by_default(study)
with live.drawing(slug):
    frame = state.read(frame_of, study)
    if not frame.ratings.empty:
        log_look(study, frame, who.pseudonym)
    with (tools := st.container(key="tools", horizontal=True, vertical_alignment="center")):
        scope = choose_scope(frame, kinds, slug)
        board = state.read(read_board, study, scope)
        study_tools(board, who)
    scope_notes(board.frame, scope, kinds)
    step = next_step(board.study, board.overview)
    live.follow_at_a_pace(slug, lambda: live.number_now(study), board.frame.number)
    if board.frame.ratings.empty:
        no_rating(board, step)
        st.stop()
    results = shown(board, scope, step)
    analysis = results.analysis
    first_screen(results, board, tools, step)
    in_tabs(SECTIONS, f"section-{slug}", analysis, board)

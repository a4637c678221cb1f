"""Results of one study, live: which system is better, can it be trusted, who disagrees, what do they say."""

import streamlit as st

from components.people.people_table import people_table
from components.results import comparisons, disagreement, explanations, findings, trust
from components.results.marked import marked_item
from components.results.more import more
from components.results.overview import overview
from components.results.scope import choose_scope, scope_notes
from components.results.study_tools import log_look, study_tools
from components.shell import live, state
from components.shell.choices import choose
from components.shell.study_choice import chosen_study
from triptych.results import texts
from triptych.results.annotators import speeds_of
from triptych.results.caveats import caveats
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.highlights import highlights_of_item
from triptych.results.frame.table import Filters
from triptych.results.frame.upkeep import frame_of
from triptych.results.page import Board, read_board
from triptych.results.study_analysis import StudyAnalysis, analyse, spans
from triptych.storage.models import Study

SECTIONS = ["Which is better", "Can it be trusted", "Who disagrees", "What they say", "More analyses"]
SMALL = 30_000


def texts_of(study: Study) -> texts.Texts:
    with state.reading() as session:
        return texts.texts_of(session, study)


def compared(analysis: StudyAnalysis, board: Board) -> None:
    overview(analysis)
    for result in analysis.criteria:
        comparisons.criterion_block(analysis, result, board.study.slug)


def trusted(analysis: StudyAnalysis, board: Board) -> None:
    trust.agreement(analysis, board.study.slug)
    st.subheader("Annotators", anchor=False)
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


def item(analysis: StudyAnalysis, study: Study, chosen: str | None, where: str) -> None:
    """The item that was picked there, as its annotators saw it, with everybody's highlights."""
    if chosen is None:
        return
    with state.reading() as session:
        highlighted = highlights_of_item(session, study, chosen, analysis.scope)
    marked_item(highlighted, key=f"marked-{where}-{study.slug}-{chosen}")
    findings.ratings_link(f"Ratings of {chosen}", Filters(item=chosen), analysis, study.slug)
    if highlighted.unaligned:
        st.caption(f"{highlighted.unaligned} imported quotes are not in the text and are not shown.")


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


def beyond(analysis: StudyAnalysis, board: Board) -> None:
    more(analysis, lambda: texts_of(board.study), board.study.slug)


who = state.require("lead")
with chosen_study(who) as (_, study):
    slug, kinds = study.slug, kinds_by_default(study)
with live.drawing(slug):
    with state.reading() as session:
        frame = frame_of(session, study)
    with st.container(horizontal=True, vertical_alignment="center"):
        scope = choose_scope(frame, kinds, slug)
        with state.reading() as session:
            board = read_board(session, study, scope)
        study_tools(board, who)
    scope_notes(board.frame, scope, kinds)
    findings.progress(board.overview, "State", study.state.capitalize())
    with st.expander(f"Annotators ({len(board.overview.annotators)})", key="annotators-open"):
        people_table(board.overview.annotators)
    live.follow_at_a_pace(slug, lambda: live.number_now(study), board.frame.number)
    if board.frame.ratings.empty:
        st.info("There is no rating yet. Results appear here by themselves as soon as the first annotation is in.")
        st.stop()
    analysis = analyse(board.frame, scope, board.names)
    with state.reading() as session:
        listed = caveats(session, study, analysis, quick=analysis.n_ratings > SMALL)
    findings.conclusions(listed, analysis, slug)
    sections = st.tabs(SECTIONS, key=f"section-{slug}", on_change="rerun")
    for section, draw in zip(sections, (compared, trusted, disagreed, explained, beyond), strict=True):
        if section.open:
            with section:
                draw(analysis, board)
log_look(study, analysis, who.pseudonym)

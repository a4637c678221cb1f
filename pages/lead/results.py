"""Results of one study, live: which system is better, can it be trusted, who disagrees, what do they say."""

import streamlit as st

from components.people.people_table import people_table
from components.results import comparisons, disagreement, explanations, findings, trust
from components.results.marked import marked_item
from components.results.more import more
from components.results.overview import overview
from components.results.scope import choose_scope, scope_notes
from components.results.study_tools import study_tools
from components.shell import live, state
from components.shell.study_choice import choose_study
from triptych.results import texts, warnings
from triptych.results.annotators import speeds_of
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.highlights import highlights_of_item
from triptych.results.frame.table import Filters
from triptych.results.frame.upkeep import frame_of
from triptych.results.page import Board, read_board
from triptych.results.study_analysis import StudyAnalysis, analyse, spans
from triptych.storage.models import Study
from triptych.study import lifecycle

SECTIONS = ["Which is better", "Can it be trusted", "Who disagrees", "What they say", "More analyses"]
SMALL = 30_000


def texts_of(study: Study) -> texts.Texts:
    with state.reading() as session:
        return texts.texts_of(session, study)


def compared(one: StudyAnalysis, board: Board) -> None:
    overview(one)
    for result in one.criteria:
        comparisons.criterion_block(one, result, board.study.slug)


def trusted(one: StudyAnalysis, board: Board) -> None:
    trust.agreement(one, board.study.slug)
    st.subheader("Annotators", anchor=False)
    trust.annotators(one.annotators, speeds_of(one.frame, one.scope, texts_of(board.study)))


def disagreed(one: StudyAnalysis, board: Board) -> None:
    study = board.study
    disagreement.people(one, study.slug)
    item(one, study, disagreement.items(one, study.slug), "apart")
    st.subheader("Items behind a difference", anchor=False)
    titles = {key: one.title(key) for key in one.tables}
    if titles:
        key = st.selectbox("Criterion", list(titles), format_func=titles.__getitem__, key=f"difference-{study.slug}")
        item(one, study, comparisons.behind(one, key, study.slug), "behind")


def item(one: StudyAnalysis, study: Study, chosen: str | None, where: str) -> None:
    """The item that was picked there, as its annotators saw it, with everybody's highlights."""
    if chosen is None:
        return
    with state.reading() as session:
        found = highlights_of_item(session, study, chosen, one.scope)
    marked_item(found, key=f"marked-{where}-{study.slug}-{chosen}")
    findings.ratings_link(f"Ratings of {chosen}", Filters(item=chosen), one, study.slug)
    if found.unaligned:
        st.caption(f"{found.unaligned} imported quotes are not in the text and are not shown.")


def said(one: StudyAnalysis, board: Board) -> None:
    study, labels = board.study, one.frame.rubric.highlights
    explanations.reasons(one)
    item(one, study, explanations.browser(one, study.slug), "explained")
    if not labels:
        return
    st.subheader("Highlights", anchor=False)
    with state.reading() as session:
        readings = texts.readings_of(session, study, one.frame, one.scope)
        comments = texts.comments_of(session, study, one.frame, one.scope)
    explanations.highlights(readings, spans(readings), labels, one, study.slug)
    item(one, study, explanations.comments(comments, labels, one, study.slug), "comment")
    if board.highlights:
        marked = [f"{name} ({count})" for name, count in board.highlights.items()]
        chosen = st.selectbox("Item, most highlighted first", marked, key=f"item-{study.slug}")
        item(one, study, list(board.highlights)[marked.index(chosen)], "marked")


def beyond(one: StudyAnalysis, board: Board) -> None:
    more(one, lambda: texts_of(board.study), board.study.slug)


who = state.require("lead")
with state.reading() as session:
    mine = lifecycle.for_lead(session, who)
slug = choose_study(mine)
with live.drawing(slug):
    with state.reading() as session:
        study = lifecycle.led_by(session, who, slug)
        kinds, frame = kinds_by_default(study), frame_of(session, study)
    with st.container(horizontal=True, vertical_alignment="center"):
        scope = choose_scope(frame, kinds, slug)
        with state.reading() as session:
            board = read_board(session, study, scope)
        study_tools(board, who.pseudonym)
    scope_notes(board.frame, scope, kinds)
    findings.header(board)
    with st.expander(f"Annotators ({len(board.overview.annotators)})", key="annotators-open"):
        people_table(board.overview.annotators)
    live.follow_at_a_pace(slug, lambda: live.number_now(study), board.frame.number)
    if board.frame.ratings.empty:
        st.info("There is no rating yet. Results appear here by themselves as soon as the first annotation is in.")
        st.stop()
    one = analyse(board.frame, scope, board.names)
    st.subheader("Before you conclude", anchor=False)
    found_in = warnings.all_findings if one.n_ratings <= SMALL else warnings.findings
    findings.conclusions(found_in(one), one, slug)
    sections = st.tabs(SECTIONS, key=f"section-{slug}", on_change="rerun")
    for section, draw in zip(sections, (compared, trusted, disagreed, said, beyond), strict=True):
        if section.open:
            with section:
                draw(one, board)

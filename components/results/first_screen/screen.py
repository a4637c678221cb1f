"""The first screen of the results: one verdict, one picture, its trustworthiness, the progress, and the next step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components.results import charts
from components.results.findings import trust_lines
from components.results.first_screen.picture import picture, row_name, table
from components.shell.choices import choose
from components.shell.places import PLACES
from components.shell.state import plain
from components.shell.words import duration, moment
from triptych.results.criterion import interval_note
from triptych.results.first_screen.next_step import NextStep
from triptych.results.first_screen.ranking import FirstVerdict, Order, first_verdict, in_order, pictured, primary
from triptych.results.page import Board
from triptych.results.progress import Overview
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.warnings import Finding
from triptych.stats.numbers import counted
from triptych.storage.models import StudyState

LOOK = Path(__file__).with_suffix(".css")
SIDES = [2, 1]


@dataclass(frozen=True)
class ShownResults:
    """findings: returns what readers should know about the numbers, called after the chart is drawn. note: draws text
    below the chart.
    """

    analysis: StudyAnalysis
    findings: Callable[[], Sequence[Finding]]
    note: Callable[[], None] = lambda: None


def first_screen(shown: ShownResults, board: Board, tools: DeltaGenerator, step: NextStep) -> None:
    """Draw the screen. `tools` is the row above the chart, for the order of its rows and the button for its numbers."""
    slug, analysis = board.study.slug, shown.analysis
    left, right = screen_sides()
    with left:
        verdict = first_verdict(analysis)
        _verdict(verdict, analysis)
        _picture(analysis, board, verdict, tools)
        shown.note()
    with right:
        trust = st.container(border=True, gap="xsmall")
        progress(board)
        next_card(step, slug)
    with trust:
        st.subheader("Can it be trusted?", anchor=False)
        trust_lines(shown.findings(), analysis, slug)


def screen_sides() -> tuple[DeltaGenerator, DeltaGenerator]:
    """The left side, for the verdict with its picture, and the right side, for the cards."""
    st.html(LOOK)
    with st.container(key="first-screen"):
        left, right = st.columns(SIDES, gap="medium")
    return left, right.container(key="cards")


def _verdict(verdict: FirstVerdict, analysis: StudyAnalysis) -> None:
    short = first_verdict(analysis.renamed({code: row_name(analysis, code) for code in analysis.systems}))
    is_whole = short.headline == verdict.headline
    st.header(plain(short.headline), anchor=False, help=None if is_whole else plain(verdict.headline))
    if short.second:
        st.text(short.second)


def _groups(verdict: FirstVerdict) -> None:
    with st.popover("Every group"):
        st.text("\n".join(f"{place}. {names}" for place, names in enumerate(verdict.groups, 1)))
        st.caption("Within a group no two systems differ clearly; each is clearly below one in the group above.")


def _picture(analysis: StudyAnalysis, board: Board, verdict: FirstVerdict, tools: DeltaGenerator) -> None:
    shown = pictured(analysis)
    if not shown:
        st.text("No criterion has an order to draw; the answers are below.")
        return
    with tools:
        order = in_order(analysis, _order(analysis, board))
        numbers = table(analysis, shown, order)
        charts.data(numbers)
        if verdict.groups:
            _groups(verdict)
    figure, is_wide = charts.made_once(analysis, f"systems-{order}", lambda: picture(analysis, shown, order))
    with st.container(key="every-system-wide" if is_wide else "every-system"):
        charts.show(figure, "systems", f"{board.study.slug}-systems", f"{verdict.headline} {ALT}")
    st.caption(plain(interval_note(shown[0]).split(". ")[0].rstrip(".") + "."))


ALT = "Mean and 95 % interval of each system on each criterion; Data has the numbers."


def _order(analysis: StudyAnalysis, board: Board) -> Order:
    """The order of rows; in a blind study that of the systems' numbers, so that a new rating does not move them."""
    titles: dict[Order, str] = {
        "number": "number",
        "primary": analysis.title(primary(analysis)),
        "mean": "mean of the criteria",
    }
    usual = "number" if board.study.unblinded_at is None else "primary"
    titles = {key: f"Sorted by {words}" for key, words in titles.items()}
    name = f"order-{board.study.slug}-{usual}"
    return choose("Sorted by", titles, name, usual, label_visibility="collapsed", width=280)


def progress(board: Board) -> None:
    """The number of finished and expected annotations, and the expected date."""
    view = board.overview
    percents = min(100 * view.done // view.expected, 100) if view.expected else 0  # 100 only when all are there
    with st.container(border=True, gap="xsmall"):
        st.subheader("Progress", anchor=False)
        st.progress(percents, text=f"{view.done:,} of {counted(view.expected, 'annotation')} · {percents} %")
        st.text(f"{_when(board.study.state, view)} {view.items_complete:,} of {counted(view.items, 'item')} complete.")
        apart = {"skipped": view.skipped, "ignored": view.ignored, "surplus": view.surplus}
        extra = [f"{n} {word}" for word, n in apart.items() if n]
        st.caption(" · ".join([f"Last annotation: {moment(view.last_at)}", *extra]))


def _when(state: StudyState, view: Overview) -> str:
    if not view.expected:
        return "Nothing is planned yet."
    if view.done >= view.expected:
        return "All expected annotations are in."
    if state in (StudyState.paused, StudyState.closed):
        return f"The study is {state}."
    left = "" if view.minutes_left is None else f", {duration(view.minutes_left)} of work"
    if view.done_at is None:
        return f"No date yet: too few annotations in the last week{left}."
    return f"Done about {view.done_at:%-d %B %Y} at the pace of the last week{left}."


def next_card(step: NextStep, slug: str) -> None:
    with st.container(border=True, gap="xsmall"):
        st.subheader(step.heading, anchor=False)
        st.text(step.sentence)
        if step.place:
            st.page_link(PLACES[step.place][0].page, label=step.place, query_params={"study": slug})


def no_rating(board: Board, step: NextStep) -> None:
    """The page of a study without ratings."""
    left, right = screen_sides()
    with left:
        st.header("There is no rating yet", anchor=False)
        if board.overview.done:
            st.text("The annotations contain no rating.")
        else:
            st.text("Results appear here automatically as soon as the first annotation is in.")
    with right:
        progress(board)
        next_card(step, board.study.slug)

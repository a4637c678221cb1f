"""The first screen of a large study: the last complete results and their date, while newer ones are computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import streamlit as st

from components.results.first_screen.screen import ShownResults, next_card, progress, screen_sides
from components.shell import state
from components.shell.words import clock_time, moment
from triptych.results.caveats import caveats
from triptych.results.first_screen.conclusion import LARGE, TOTAL_STEPS, Conclusion, Latest, Source, latest
from triptych.results.first_screen.means import means
from triptych.results.first_screen.next_step import NextStep
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.results.page import Board
from triptych.results.study_analysis import analyse
from triptych.stats.numbers import counted

ASK_SECONDS = 1.0


def shown(board: Board, scope: Counted, step: NextStep, source: Source = frame_of) -> ShownResults:
    """The numbers to show; for a large study those of the last complete computation.

    If there is none yet, the page shows counts and means, and stops. `source` returns the board's frame.
    """
    if len(board.frame.ratings) > LARGE:
        return _last_whole(board, scope, step, source)
    analysis = analyse(board.frame, scope, board.names)
    return ShownResults(analysis, lambda: state.read(caveats, board.study, analysis))


def _last_whole(board: Board, scope: Counted, step: NextStep, source: Source) -> ShownResults:
    def ask() -> Latest:
        return state.read(latest, board.study, scope, source)

    last = ask()
    if last.conclusion is None:
        _counts_and_means(board, scope, step, lambda: _follow(ask, last))
    conclusion = last.conclusion

    def note() -> None:
        st.caption(up_to(conclusion))
        if not last.current:
            _follow(ask, last)

    return ShownResults(conclusion.analysis, lambda: conclusion.findings, note)


def _counts_and_means(board: Board, scope: Counted, step: NextStep, follow: Callable[[], None]) -> NoReturn:
    """Shown by a process that has no complete results yet."""
    left, right = screen_sides()
    with left:
        st.header("Counts and means so far", anchor=False)
        follow()
        st.dataframe(means(board.frame, scope, board.names), hide_index=True, key="means-so-far")
    with right:
        progress(board)
        next_card(step, board.study.slug)
    st.stop()


def up_to(conclusion: Conclusion) -> str:
    annotations, ratings = (
        counted(conclusion.annotations, "annotation"),
        counted(conclusion.analysis.n_ratings, "rating"),
    )
    return (
        f"Computed at {clock_time(conclusion.at)} of {annotations} ({ratings}), up to the one handed in on "
        f"{moment(conclusion.last_at)}, entry {conclusion.number:,} of the log."
    )


def _follow(ask: Callable[[], Latest], drawn: Latest) -> None:
    """Show the progress of the computation until it is complete, and then run the page again."""
    newer = "Newer results" if drawn.conclusion else "The verdict, intervals and agreement"

    @st.fragment(run_every=ASK_SECONDS)
    def follow() -> None:
        now = ask()
        if now.conclusion is not drawn.conclusion:
            state.run_again_by_itself()
        if now.failure:
            state.say(now.failure)
        elif now.progress:
            share = (now.progress.done + 1) / (TOTAL_STEPS + 1)
            words = f"{newer} are being computed: {now.progress.step}. You can leave this page in the meantime."
            st.progress(share, text=words)
        else:
            st.caption(f"{newer} will follow in a moment.")

    follow()

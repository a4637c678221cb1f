"""Results of one study, live."""

import streamlit as st

from components import findings as shown
from components import state
from components.live import follow
from components.marked import marked_item
from components.study_choice import choose_study
from triptych import events, findings, results, studies
from triptych.models import Study
from triptych.results import Board, Counted

BLIND = (
    "System names appear on every page and in every export of this study, for all its leads, from now on. "
    "This is written to the log and cannot be taken back."
)


def number_now(study: Study) -> int:
    with state.reading() as session:
        return events.last_number(session, study.id)


def what_counts(study: Study) -> Counted:
    """Whose ratings, and which items; asked only where there is a choice."""
    with state.reading() as session:
        frame = results.frame_of(session, study)
        kinds = results.kinds_by_default(study)
        ignored = results.mostly_ignored(frame, Counted(kinds))
    if set(frame.kinds) - {"human"}:
        asked = st.multiselect(
            "Ratings by",
            ["human", "judge", "simulated"],
            [k for k in frame.kinds if k in kinds],
            key=f"kinds-{study.slug}",
        )
        kinds = frozenset(asked)
        if "simulated" in kinds:
            st.warning(
                "Some of these ratings come from simulated annotators. They show how results look, nothing else."
            )
    with_ignored = bool(ignored) and st.toggle(
        f"Include items that most annotators ignored ({len(ignored)})", key=f"ignored-{study.slug}"
    )
    return Counted(kinds, with_ignored)


def tools(board: Board, pseudonym: str) -> None:
    study = board.study
    with st.container(horizontal=True, vertical_alignment="center"):
        st.page_link("lead/ratings.py", label="Every rating", query_params={"study": study.slug})
        st.link_button("Ratings as CSV", f"export/{study.slug}/ratings.csv")
        if board.frame.rubric.highlights:
            st.link_button("Highlights as CSV", f"export/{study.slug}/highlights.csv")
        if study.unblinded_at is None:
            with st.popover("Unblind"):
                st.text(BLIND)
                if st.button("Show the system names", type="primary"):
                    state.run_command(studies.unblind, study, pseudonym)
                    st.rerun()
        else:
            st.text(f"Unblinded {study.unblinded_at:%Y-%m-%d %H:%M} UTC")


def highlights(board: Board, counted: Counted) -> None:
    if not board.highlights:
        st.text("Nothing has been highlighted yet.")
        return
    items = list(board.highlights)
    label = "Item, most highlighted first"
    chosen = st.selectbox(
        label, items, format_func=lambda i: f"{i} ({board.highlights[i]})", key=f"item-{board.study.slug}"
    )
    with state.reading() as session:
        item = results.highlights_of_item(session, board.study, chosen, counted)
    marked_item(item, key=f"marked-{board.study.slug}")
    if item.unaligned:
        st.caption(f"{item.unaligned} imported quotes are not in the text and are not shown.")


who = state.require("lead")
with state.reading() as session:
    mine = studies.for_lead(session, who)
slug = choose_study(mine)
with state.reading() as session:
    study = studies.led_by(session, who, slug)
counted = what_counts(study)
with state.reading() as session:
    board = results.board(session, study, counted)
found = findings.criterion_results(board.frame, counted)
shown.header(board)
tools(board, who.pseudonym)
with st.expander(f"Annotators ({len(board.overview.annotators)})", key="annotators-open"):
    shown.annotators(board.overview.annotators)
# of a very large study every thousandth event draws anew: the numbers take seconds, and hardly move
every = 1 if len(board.frame.ratings) < 100_000 else 1000
follow(lambda: number_now(study) // every, board.frame.number // every)
if board.frame.ratings.empty:
    st.info("There is no rating yet. Results appear here by themselves as soon as the first annotation is in.")
    st.stop()
for result in found:
    shown.criterion_block(result, board.names, study.slug)
st.subheader("Agreement", anchor=False)
shown.agreement(found)
st.subheader("Order on screen", anchor=False)
shown.positions(found)
st.subheader("Reasons", anchor=False)
shown.reasons(found, board.names)
if board.frame.rubric.highlights:
    st.subheader("Highlights", anchor=False)
    highlights(board, counted)

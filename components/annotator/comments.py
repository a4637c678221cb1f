"""A lead's questions to an annotator about their annotations, with the item and a form to answer. Shows only texts that
the annotator saw or wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import streamlit as st

from components.shell.state import form_button, numbered, plain, run_command
from components.shell.words import moment
from triptych.annotate.blinding import SeenCandidate, SeenContext
from triptych.annotate.comments import LONGEST_COMMENT, GivenRating, OwnThread, answer
from triptych.languages.language import _
from triptych.storage.models import Study
from triptych.study.persons import Who


def thread(own: OwnThread, study: Study, who: Who, open_item: Callable[[], None] | None) -> None:
    """Draw one thread, and store the answer once it is sent. `open_item` opens the item; None if it can no longer be
    changed.
    """
    slug, waits = study.slug, own.thread.is_waiting
    title = _("A lead asks about item {number}", number=own.number)
    if not waits:
        title = _("Item {number}: you answered", number=own.number)
    with st.expander(title, expanded=waits, icon=":material/chat:", key=f"thread-{slug}-{own.number}"):
        for comment in own.thread.comments:
            author = _("Lead") if comment.from_lead else _("You")
            st.caption(f"{author} · {moment(comment.at)}")
            st.text(comment.text)
        with st.container(horizontal=True, vertical_alignment="center"):
            shows = st.toggle(_("Show the item and your ratings"), key=f"show-{slug}-{own.number}")
            if open_item:
                st.button(
                    _("Open item {number}", number=own.number), key=f"item-{slug}-{own.number}", on_click=open_item
                )
        if shows:
            _item(own)
        form = f"answer-{slug}-{own.number}"
        key = numbered(form)
        with st.form(key, border=False):
            text = st.text_area(_("Your answer"), max_chars=LONGEST_COMMENT, key=f"{key}-text")
            if form_button(_("Answer"), key):
                run_command(answer, study, who, own.token, text, done=_("Your answer was sent."), empties=form)
                st.rerun()


def _item(own: OwnThread) -> None:
    """The texts as the workbench showed them, and below each response the annotator's answers."""
    given = {letter: list(ratings) for letter, ratings in groupby(_by_letter(own), lambda rating: rating.letter)}
    if own.item.context is not None:
        _text(own.item.context)
        for extra in own.item.context.extra_texts:
            st.caption(plain(extra.title))
            st.text(extra.text)
    _ratings(given.get("", []))
    for candidate in own.item.candidates:
        title = _("Response {letter}", letter=candidate.letter)
        st.markdown(f"**{plain(title)}**")
        _text(candidate)
        _ratings(given.get(candidate.letter, []))


def _by_letter(own: OwnThread) -> list[GivenRating]:
    return sorted(own.given, key=lambda rating: rating.letter)


def _text(part: SeenContext | SeenCandidate) -> None:
    """A text, or the turns of a conversation with their speakers."""
    if part.text:
        st.text(part.text)
    for turn in part.turns:
        st.text(f"{turn.speaker}: {turn.text}")


def _ratings(ratings: Sequence[GivenRating]) -> None:
    if ratings:
        st.caption(plain(" · ".join(f"{rating.criterion}: {rating.value}" for rating in ratings)))

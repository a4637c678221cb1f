"""A study on an annotator's start page: progress and the button to continue, or the offer to join it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import streamlit as st

from triptych.annotate.progress import Progress
from triptych.languages.language import _, message, ngettext
from triptych.people.membership import AnnotatorMembership
from triptych.storage.models import Study, StudyState

STATES = {
    StudyState.paused: message("This study is paused by the lead."),
    StudyState.closed: message("This study is closed."),
}


def next_step(study: Study, member: AnnotatorMembership, done: Progress, go: Callable[[Study], None]) -> bool:
    """Title, progress and the button to continue; returns whether the study has items for this annotator."""
    st.text(study.title)
    if member.turned_away_as or member.withdrawn_at:
        st.caption(_("There are no items for you in this study."))
        st.button(_("Show the reason"), key=f"go-{study.slug}", on_click=go, args=(study,))
        return False
    line = [ngettext("{done} of at most {count} item", "{done} of at most {count} items", done.total, done=done.done)]
    if done.minutes_left and not study.demo:
        line.append(_("about {minutes} min left", minutes=done.minutes_left))
    st.progress(done.done / max(done.total, 1), " · ".join(line))
    if study.state == StudyState.open:
        is_done = 0 < done.total <= done.done
        urgency: Literal["primary", "secondary"] = "secondary" if study.demo or is_done else "primary"
        label = _("Continue with item {number}", number=done.done + 1) if done.done else _("Start")
        if is_done:
            label = _("Open")
        st.button(label, key=f"go-{study.slug}", type=urgency, on_click=go, args=(study,))
    else:
        st.caption(_(STATES[study.state]))
    return True


def offer(study: Study, join: Callable[[Study], None]) -> None:
    """A study that the annotator may join."""
    with st.container(border=True, horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.text(study.title, width="content")
        st.button(_("Try it") if study.demo else _("Join"), key=f"join-{study.slug}", on_click=join, args=(study,))

"""The stored reports of a study, with hashes and links."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from components.shell.addresses import own_path
from components.shell.state import plain
from components.shell.words import moment, size
from triptych.reports.snapshot import Frozen
from triptych.stats.numbers import counted
from triptych.storage.models import Study

FRAME_HEIGHT = 640  # pixels


def snapshots(study: Study, made: Sequence[Frozen]) -> None:
    """One block per report, newest first."""
    for frozen in made:
        with st.container(border=True):
            later = study.event_number - frozen.event_number
            since = "nothing has happened since" if not later else f"{counted(later, 'event')} since"
            st.text(f"{moment(frozen.made_at)} · by {frozen.made_by} · event {frozen.event_number}, {since}")
            st.caption(plain(frozen.counted.sentence))
            st.code(frozen.sha256, language=None, wrap_lines=True)
            link = f"report/{study.slug}.zip?snapshot={frozen.sha256}"
            st.link_button(f"Download ({size(frozen.size)})", link, icon=":material/download:")
            read_here(study, frozen)


def read_here(study: Study, frozen: Frozen) -> None:
    """The report's page in a frame that cannot access its surroundings."""
    key = f"read-{study.slug}-{frozen.sha256[:12]}"
    with st.expander("Read it here", icon=":material/article:", key=key, on_change="rerun") as box:
        if box.open:
            page = own_path(f"report/{study.slug}/{frozen.sha256}.html")
            st.iframe(page, height=FRAME_HEIGHT, alt=f"Report of event {frozen.event_number}")

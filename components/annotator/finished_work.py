"""A table of the annotations that an annotator has finished, for them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from components.shell.words import moment
from triptych.annotate.outcomes import ItemState
from triptych.annotate.own_items import OwnItem
from triptych.languages.language import _, message

STATES = {
    ItemState.open: message("Begun"),
    ItemState.rated: message("Rated"),
    ItemState.ignored: message("Ignored"),
    ItemState.skipped: message("Skipped"),
}


def finished_work(items: Sequence[OwnItem]) -> None:
    """The items, newest first, with the numbers that the workbench shows; nothing before the first annotation."""
    if not items:
        return
    rows = [
        {
            _("Item"): item.number,
            _("State"): ": ".join(filter(None, [_(STATES[item.state]), item.reason])),
            _("Submitted"): moment(item.at),
            _("Minutes"): round(item.seconds / 60, 1),
        }
        for item in reversed(items)
    ]
    with st.expander(_("What I have done ({count})", count=len(items))):
        st.dataframe(rows, hide_index=True, width="stretch")

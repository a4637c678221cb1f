"""Launching a draft with its checklist, and the amendments after launch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pandas as pd
import streamlit as st

from components.annotator.consent import read
from components.shell import state
from components.shell.words import moment
from triptych.stats.numbers import counted, first_words
from triptych.storage.models import Study
from triptych.study.checklist import CheckPoint, Mark, SetupSection
from triptych.study.design import Amendment
from triptych.study.settings import settings_of

ICONS = {Mark.done: ":material/check_circle:", Mark.empty: ":material/error:", Mark.doubtful: ":material/help:"}
LAUNCH_NOTE = (
    "Launching opens the study and freezes rubric, items, settings and plan under one hash, which is stored with every "
    "rating and export. Later changes are amendments: dated, with a reason, printed in reports."
)
MAX_IDS = 12


def launch_form(
    study: Study, points: Sequence[CheckPoint], unsaved: Sequence[str], go: Callable[[SetupSection], None]
) -> bool:
    """The checklist with links to the sections, and the launch button; whether it was pressed.

    `unsaved`: labels of fields with unsaved content, which prevent the launch, since it uses stored values only.
    """
    stops = sum(point.stops for point in points) + len(unsaved)
    open_points = sum(point.mark != Mark.done for point in points)
    summary = f"{counted(stops, 'point')} must be resolved" if stops else "Nothing blocks the launch"
    st.caption(f"{summary}; {open_points} of {len(points)} points are open.")
    for label in unsaved:
        state.say(f"{label}: the text in the field is not saved.")
    numbers: Counter[SetupSection] = Counter()
    for place, point in enumerate(points):
        numbers[point.section] += 1
        # lines appear and disappear: a button must not turn into another section's while the lead clicks
        key = f"to-{point.section.name}-{numbers[point.section]}"
        with st.container(horizontal=True, vertical_alignment="center", key=f"point-{place}"):
            st.markdown(ICONS[point.mark], width="content")
            with st.container(gap="xxsmall", width="stretch"):
                st.text(point.text + (" This stops the launch." if point.stops else ""))
                if point.mark != Mark.done:
                    st.caption(state.plain(f"{point.advice} {_items(point)}"))
            st.button(point.section, key=key, type="tertiary", on_click=go, args=(point.section,))
    st.text(LAUNCH_NOTE)
    options = {"type": "primary", "icon": ":material/rocket_launch:", "disabled": bool(stops)}
    return state.button("Launch the study", f"launch-{study.slug}", **options)


def _items(point: CheckPoint) -> str:
    """The items that a finding is about."""
    if point.finding is None or not point.finding.items:
        return ""
    return f"Items: {first_words(point.finding.items, MAX_IDS, ', ')}."


def what_comes_first(study: Study, steps: Sequence[str]) -> None:
    """The steps before an annotator's first item, and the consent page as they will see it."""
    settings = settings_of(study)
    st.markdown("\n".join(f"{place}. {state.plain(step)}" for place, step in enumerate(steps, 1)))
    if settings.consent.text:
        read(settings.consent, settings.ethics)
    for heading, words in (("Instructions", settings.instructions), ("Please note", settings.content_note)):
        if words:
            st.caption(heading)
            st.text(words)


def frozen(study: Study, amendments: Sequence[Amendment]) -> None:
    """The current hash of the design, and all amendments."""
    st.text(f"Launched {moment(study.opened_at)}. The hash of the design:")
    st.code(study.design_hash or "", language=None, wrap_lines=True)
    st.header("Amendments", anchor=False)
    if not amendments:
        st.text("None. Changes are listed here, with date and reason.")
        return
    table = pd.DataFrame(
        {
            "When": [moment(amendment.at) for amendment in amendments],
            "Who": [amendment.who for amendment in amendments],
            "Changed": [", ".join(amendment.parts) for amendment in amendments],
            "Reason": [amendment.reason for amendment in amendments],
            "Design hash since then": [amendment.design_hash[:12] for amendment in amendments],
        }
    )
    st.dataframe(table, hide_index=True, key="amendments")

"""An explicit plan of who rates which item: edited, uploaded or proposed."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from components.shell import state
from components.shell.uploads import content_of
from triptych.rubric.files import text_hash
from triptych.storage.models import Study, StudyState
from triptych.study import plans
from triptych.study.pairing import PlanLine

PLAN_NOTE = (
    "Without a plan, every annotator gets the item that most needs annotations. With a plan, each annotator gets only "
    "their planned items, so invite everyone first."
)
REFUSED = "This plan cannot be saved until the file is corrected:"


def plan_form(study: Study, stored: Sequence[PlanLine]) -> tuple[PlanLine, ...] | None:
    """The stored, proposed or uploaded plan as a table to edit; returns the lines to store.

    No lines: items are assigned automatically. A file with mistakes is not used at all.
    """
    st.text(PLAN_NOTE)
    proposal, uploader, known = (f"plan-{each}-{study.slug}" for each in ("offered", "file", "known"))
    if state.button("Propose a balanced plan", f"plan-propose-{study.slug}"):
        state.keep(proposal, state.run_query(plans.propose, study) or ())
        state.renew(uploader)
        st.rerun()
    name = f"Your own plan ({plans.EXAMPLE})"
    upload = st.file_uploader(name, list(plans.CONTENTS.endings), key=state.numbered(uploader))
    data = None if upload is None else content_of(upload)
    uploaded = None if upload is None or data is None else state.run_query(plans.read, study, data, upload.name)
    if uploaded is not None and uploaded.problems:
        state.say("The plan has problems:" if uploaded.ok else REFUSED, "warning" if uploaded.ok else "error")
        st.text("\n".join(map(str, uploaded.problems)))
    lines = (uploaded.lines if uploaded.ok else ()) if uploaded else state.recall(proposal) or stored
    edited = _table(lines, study) if lines else ()
    version = _hash(stored)
    seen = state.recall(known) or version
    state.keep(known, version)
    if seen != version:
        state.say(_news(lines, stored), "warning")
    drawn = f"{study.slug}-{_hash(lines)}-{version}"  # a click made under another table or stored plan is not read
    with st.container(horizontal=True):
        label = "Save this plan" if study.state == StudyState.draft else "Amend the plan"
        save = bool(lines) and state.button(label, f"plan-save-{drawn}", type="primary")
        remove = bool(stored) and state.button("Remove the plan", f"plan-remove-{drawn}")
    if remove:
        state.renew(uploader)
    if save or remove:
        state.keep(proposal, ())
        state.keep(known, "")
        return () if remove else edited
    return None


def _hash(lines: Sequence[PlanLine]) -> str:
    return text_hash(plans.as_csv(lines))[:8]


def _news(lines: Sequence[PlanLine], stored: Sequence[PlanLine]) -> str:
    """What a lead reads under the table after somebody else stored another plan."""
    if not stored:
        return "The plan was removed meanwhile."
    if lines is stored:
        return "The plan was changed meanwhile; it is shown above."
    return "The plan was changed meanwhile. Saving replaces it with the lines above."


def _table(lines: Sequence[PlanLine], study: Study) -> tuple[PlanLine, ...]:
    """The edited lines; the table's own menu saves them as CSV."""
    st.caption(f"{len(lines):,} lines. Change, add or delete lines in the table; its menu downloads them as CSV.")
    table = pd.DataFrame([[line.annotator, line.item_id, line.rank] for line in lines], columns=plans.HEADER)
    key = f"plan-{study.slug}-{_hash(lines)}"
    edited = st.data_editor(table, num_rows="dynamic", hide_index=True, height=320, key=key)
    rows = edited.astype(object).where(edited.notna(), None).itertuples(index=False)
    return tuple(
        PlanLine(str(annotator or "").strip(), str(item or "").strip(), None if rank is None else int(rank), place)
        for place, (annotator, item, rank) in enumerate(rows, 1)
        if annotator or item
    )

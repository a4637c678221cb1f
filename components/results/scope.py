"""Which ratings count: the filters of the results, which apply to every number on the page, not to exports."""

from __future__ import annotations

import streamlit as st

from components.shell.choices import choose
from components.shell.state import plain
from triptych.results.frame.counted import mostly_ignored
from triptych.results.frame.model import Counted, Frame
from triptych.storage.models import Kind


def choose_scope(frame: Frame, kinds: frozenset[str], slug: str) -> Counted:
    """The filters set by the lead; a box appears only if there is a choice. `kinds` count by default."""
    with st.popover("Filters", icon=":material/filter_alt:"):
        kinds = _kinds(frame, kinds, slug)
        people = st.multiselect(
            "Annotators", sorted(frame.work["annotator"].cat.categories), placeholder="All", key=f"people-{slug}"
        )
        field, value = _field(frame, slug)
        excluded = bool(frame.work["excluded"].any()) and st.toggle(
            "Count excluded annotators too", key=f"excluded-{slug}"
        )
        ignored = mostly_ignored(frame, Counted(kinds, with_excluded=excluded, field=field, value=value))
        with_ignored = bool(ignored) and st.toggle(
            f"Include items that most annotators ignored ({len(ignored)})", key=f"ignored-{slug}"
        )
    return Counted(kinds, with_ignored, excluded, frozenset(people), field, value)


def _kinds(frame: Frame, kinds: frozenset[str], slug: str) -> frozenset[str]:
    if not set(frame.kinds) - {Kind.human}:
        return kinds
    every, usual = [kind.value for kind in Kind], [kind for kind in frame.kinds if kind in kinds]
    chosen = st.multiselect("Ratings by", every, usual, key=f"kinds-{slug}")
    return kinds if set(chosen) == set(usual) else frozenset(chosen)


def _field(frame: Frame, slug: str) -> tuple[str, str]:
    """A field of the items file and the value to filter by."""
    fields = frame.fields
    if not fields:
        return "", ""
    field = choose("Only items with", {"": "Every item"} | {name: name for name in fields}, f"field-{slug}")
    return field, st.selectbox("Value", fields[field], key=f"value-{slug}-{field}") if field else ""


def scope_notes(frame: Frame, scope: Counted, kinds: frozenset[str]) -> None:
    """Notes on which ratings count, if that differs from the default."""
    if Kind.simulated in scope.kinds & set(frame.kinds):
        st.warning("Some of these ratings come from simulated annotators. They only show what results look like.")
    if scope != Counted(kinds):
        st.caption(plain(f"Filtered. {scope.sentence} Files under Export are not filtered."))

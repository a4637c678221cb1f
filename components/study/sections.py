"""The sections of a study's setup: opening the one named in the address, and each section's mark from the checklist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from components.shell import state
from components.study.saved_field import SettingsSheet, css_key
from triptych.storage.models import Study
from triptych.study import checklist
from triptych.study.checklist import CheckPoint, Mark, SetupSection
from triptych.study.lint import linter
from triptych.study.lint.findings import LintFinding

LAUNCH = "Launch"
SIGNS = {Mark.done: "✓", Mark.empty: "!", Mark.doubtful: "?"}
# names of sections in addresses of earlier versions
EARLIER_NAMES = {
    "Basics": SetupSection.study,
    "Plan": SetupSection.assignment,
    "Panel and pay": SetupSection.assignment,
    "Annotators' path": SetupSection.way_in,
    "Preregistration": SetupSection.plan,
}


def checked(study: Study, version: int) -> tuple[list[LintFinding], list[CheckPoint]]:
    """The linter's findings in a draft, and its checklist; the items are read again only after a change of input."""
    place, asked = f"findings-{study.slug}", (version, study.raters_per_item)
    with state.reading() as session:
        study = session.get_one(Study, study.id)  # the page read it before `version`
        if state.recall(place, (None,))[0] != asked:
            state.remember(place, (asked, linter.lint_study(session, study)))
        findings = state.recall(place)[1]
        return findings, checklist.points(session, study, findings)


def begin(sheet: SettingsSheet, points: Sequence[CheckPoint]) -> None:
    """Open the section named in the address, once; in a tab's first run without one, the first incomplete section."""
    asked = st.query_params.get("section", "")
    if asked != sheet.memory.asked:
        sheet.memory.asked, sheet.memory.go_to = asked, EARLIER_NAMES.get(asked, asked)
    if not sheet.memory.has_begun and not sheet.memory.go_to and sheet.is_draft:
        first = next((point.section for point in points if point.mark != Mark.done), SetupSection.study)
        state.remember(section_key(sheet, first), True)
    sheet.memory.has_begun = True


def section_key(sheet: SettingsSheet, section: str) -> str:
    return css_key(f"section-{sheet.study.slug}-{section}")


def section_box(sheet: SettingsSheet, section: SetupSection) -> Any:
    """The section's expander; draw its content only if `open`.

    The label must not change: a new label creates a new, closed expander with new fields.
    """
    key = section_key(sheet, section)
    if sheet.memory.go_to == section:
        state.remember(key, True)
    return st.expander(f"**{section}**", key=key, on_change="rerun")


def summaries(sheet: SettingsSheet, points: Sequence[CheckPoint]) -> dict[str, str]:
    """Key of each section → its mark and summary, which the browser writes next to its name."""
    lines = {}
    for point in reversed(points):
        mark = checklist.mark_of(points, point.section)
        lines[section_key(sheet, point.section)] = f"{SIGNS[mark] if mark else ''} {point.text}"
    return lines

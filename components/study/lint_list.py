"""What the linter found before launch: the gravest open, the rest folded."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from components.shell import state
from triptych.study import lint
from triptych.study.lint import LintFinding

KINDS = {"grave": "error", "warning": "warning", "note": "info"}
MOST_IDS = 12


def lint_list(findings: Sequence[LintFinding]) -> None:
    """Every finding with what to do and the items it is about; only what says so stands in the way."""
    shown, folded = lint.gravest_first(findings)
    if not shown:
        state.say("Nothing was found that stands in the way.", "success")
    for finding in shown:
        _finding(finding)
    if folded:
        what = "more" if shown else "note" if len(folded) == 1 else "notes"
        with st.expander(f"{len(folded)} {what}"):
            for finding in folded:
                _finding(finding)


def _finding(finding: LintFinding) -> None:
    stop = " Launch is not possible before." if finding.blocking else ""
    state.say(f"{finding.text} {finding.advice}{stop}", KINDS[finding.severity])
    if finding.items:
        placed = zip(finding.items, finding.rows, strict=True)
        named = [f"{item} (item {row:,})" for item, row in placed][:MOST_IDS]
        more = f" … and {len(finding.items) - MOST_IDS:,} more" if len(finding.items) > MOST_IDS else ""
        st.text(", ".join(named) + more)

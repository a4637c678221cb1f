"""The linter's findings before launch: the gravest shown, the rest folded."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from components.shell import state
from triptych.study import lint
from triptych.study.lint import LintFinding

KINDS = {"grave": "error", "warning": "warning", "note": "info"}
MAX_IDS = 12


def lint_list(findings: Sequence[LintFinding]) -> None:
    """Every finding with its advice and its items; only blocking findings prevent a launch."""
    graver, folded = lint.gravest_first(findings)
    if not graver:
        state.say("Nothing was found that prevents the launch.", "success")
    for finding in graver:
        _finding(finding)
    if folded:
        noun = "more" if graver else "note" if len(folded) == 1 else "notes"
        with st.expander(f"{len(folded)} {noun}"):
            for finding in folded:
                _finding(finding)


def _finding(finding: LintFinding) -> None:
    stop = " This prevents the launch." if finding.blocking else ""
    state.say(f"{finding.text} {finding.advice}{stop}", KINDS[finding.severity])
    if finding.items:
        placed = zip(finding.items, finding.rows, strict=True)
        named = [f"{item} (item {row:,})" for item, row in placed][:MAX_IDS]
        more = f" … and {len(finding.items) - MAX_IDS:,} more" if len(finding.items) > MAX_IDS else ""
        st.text(", ".join(named) + more)

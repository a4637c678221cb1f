"""Launching a draft, and the amendments since."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from components.shell.words import moment
from components.study.lint_list import lint_list
from triptych.storage.models import Study
from triptych.study.design import Amendment
from triptych.study.lint import LintFinding
from triptych.study.settings import settings_of

LAUNCH_NOTE = (
    "Launching opens the study and freezes rubric, items, settings and plan under one hash, which every rating and "
    "every export carries. Later changes are amendments: dated, with a reason, printed in reports."
)
PREREGISTRATION_NOTE = (
    "Nothing is preregistered. If you want to declare beforehand which difference counts, with how many items and "
    "annotators, and when you stop, do it now under Preregistration: it is frozen with the rest."
)


def launch_form(study: Study, findings: Sequence[LintFinding]) -> bool:
    """The linter's findings, what launching means, and the button; whether it was pressed."""
    lint_list(findings)
    st.text(LAUNCH_NOTE)
    if settings_of(study).preregistration.declared:
        st.text("The preregistration is frozen with it.")
    else:
        st.info(PREREGISTRATION_NOTE)
    blocked = not study.item_count or any(finding.blocking for finding in findings)
    return st.button("Launch the study", type="primary", icon=":material/rocket_launch:", disabled=blocked)


def frozen(study: Study, amendments: Sequence[Amendment]) -> None:
    """The present hash of the design, and every amendment."""
    st.text(f"Launched {moment(study.opened_at)}. The hash of the design:")
    st.code(study.design_hash or "", language=None, wrap_lines=True)
    st.subheader("Amendments", anchor=False)
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

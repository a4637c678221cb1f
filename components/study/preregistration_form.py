"""The preregistration: a form before launch, a text to file with a registry afterwards."""

from __future__ import annotations

import streamlit as st

from components.shell.choices import choose
from components.shell.state import plain
from components.study.settings_form import DesignRequest, finish, form_key, is_draft, long_text
from triptych.results.criterion import variable_of
from triptych.rubric.model import Rubric
from triptych.stats.analysis.collection import INTERIM
from triptych.storage.models import Study
from triptych.study import preregistration
from triptych.study.design import Parts
from triptych.study.settings import Preregistration, settings_of

EARLY = "Results that are opened before the planned annotations are in"
BOUNDS = {
    INTERIM: "Clear only with an adjusted p below 0.001",
    INTERIM / 10: "Clear only with an adjusted p below 0.0001",
    0.0: "Estimates without tests",
}


def preregistered(study: Study, rubric: Rubric) -> DesignRequest | None:
    """The form of a draft, and the declaration as a text."""
    declaration = settings_of(study).preregistration
    request = _form(study, rubric) if is_draft(study) else None
    if declaration.declared:
        st.caption("As a text, for a registry such as OSF")
        st.code(preregistration.as_text(study, rubric, declaration), language=None, wrap_lines=True)
    elif not is_draft(study):
        st.text("Nothing was preregistered before this study was launched.")
    return request


def _form(study: Study, rubric: Rubric) -> DesignRequest | None:
    """What is declared before launch."""
    now, key = settings_of(study).preregistration, form_key(study, "preregistration")
    titles = {criterion.key: criterion.title for criterion in rubric.asked(study.round)}
    reported = [key for key in now.criteria if key in titles]
    bounds = {now.interim_bound: f"Clear only with an adjusted p below {now.interim_bound:g}"} | BOUNDS
    with st.form(key, border=False):
        criteria = st.multiselect(
            "Criteria that will be reported", list(titles), reported, titles.__getitem__, key=f"{key}-all"
        )
        names = {"": "None", **titles}
        label = "Primary contrast: which systems, which difference, which test"
        values = {
            "criteria": criteria,
            "primary_criterion": choose("Primary criterion", names, f"{key}-one", now.primary_criterion),
            "primary_contrast": st.text_input(label, now.primary_contrast, max_chars=500, key=f"{key}-contrast"),
            "sample": long_text("Items and annotators: how many, and why", now.sample, f"{key}-n"),
            "stop_rule": long_text("When collection stops", now.stop_rule, f"{key}-stop"),
            "exclusions": long_text("Who and what will be left out of the results", now.exclusions, f"{key}-out"),
            "margins": _margins(now, rubric, study.round, key),
            "interim_bound": choose(EARLY, bounds, f"{key}-early", now.interim_bound),
        }
        return finish(study, key, Parts(settings={"preregistration": values}))


def _margins(now: Preregistration, rubric: Rubric, study_round: str, key: str) -> dict[str, float]:
    """By criterion, the difference up to which systems count as practically equal; left out where it is empty."""
    st.caption(
        "Practically equal: the largest difference in scale points (of shares, from 0 to 1) that would not matter to "
        "you. Equality is tested from five annotators on. Empty: it is not tested."
    )
    columns = st.columns(3)
    margins = {
        criterion.key: columns[place % 3].number_input(
            plain(criterion.title),
            0.01,
            None,
            now.margins.get(criterion.key),
            0.05,
            key=f"{key}-margin-{criterion.key}",
        )
        for place, criterion in enumerate(rubric.asked(study_round))
        if not variable_of(criterion).not_comparable
    }
    return {criterion: margin for criterion, margin in margins.items() if margin is not None}

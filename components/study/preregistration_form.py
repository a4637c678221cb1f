"""The preregistration: a form before launch, a text to file with a registry afterwards."""

from __future__ import annotations

import streamlit as st

from components.study.settings_form import Wanted, finish, form_key, is_draft, long_text
from triptych.rubric.model import Rubric
from triptych.storage.models import Study
from triptych.study import preregistration
from triptych.study.design import Parts
from triptych.study.settings import settings_of


def preregistered(study: Study, rubric: Rubric) -> Wanted | None:
    """The form of a draft, and the declaration as a text."""
    said = settings_of(study).preregistration
    wanted = _form(study, rubric) if is_draft(study) else None
    if said.declared:
        st.caption("As a text, for a registry such as OSF")
        st.code(preregistration.as_text(study, rubric, said), language=None, wrap_lines=True)
    elif not is_draft(study):
        st.text("Nothing was preregistered before this study was launched.")
    return wanted


def _form(study: Study, rubric: Rubric) -> Wanted | None:
    """What is declared before launch."""
    now, key = settings_of(study).preregistration, form_key(study, "preregistration")
    titles = {criterion.key: criterion.title for criterion in rubric.asked(study.round)}
    known = [one for one in now.criteria if one in titles]
    with st.form(key, border=False):
        criteria = st.multiselect("Criteria that will be reported", list(titles), known, titles.get, key=f"{key}-all")
        place = list(titles).index(now.primary_criterion) if now.primary_criterion in titles else None
        first = st.selectbox("Primary criterion", list(titles), place, titles.get, placeholder="None", key=f"{key}-one")
        label = "Primary contrast: which systems, which difference, which test"
        contrast = st.text_input(label, now.primary_contrast, max_chars=500, key=f"{key}-contrast")
        sample = long_text("Items and annotators: how many, and why", now.sample, f"{key}-n")
        stop = long_text("When collection stops", now.stop_rule, f"{key}-stop")
        out = long_text("Who and what will be left out of the results", now.exclusions, f"{key}-out")
        reason = finish(study, key)
    if reason is None:
        return None
    said = {
        "criteria": criteria,
        "primary_criterion": first or "",
        "primary_contrast": contrast,
        "sample": sample,
        "stop_rule": stop,
        "exclusions": out,
    }
    return Wanted(Parts(settings={"preregistration": said}), reason)

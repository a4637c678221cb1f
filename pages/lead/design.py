"""The design of one study: everything a lead decides, launch, and amendments after it."""

from __future__ import annotations

import streamlit as st

from components.shell import state
from components.shell.study_choice import chosen_study
from components.study import design_items, preregistration_form, settings_form
from components.study.launch_form import frozen, launch_form
from components.study.plan_form import plan_form
from components.study.rubric_editor import rubric_editor
from components.study.rubric_preview import rubric_preview
from components.study.settings_form import DesignRequest, is_draft
from triptych.rubric.model import Rubric
from triptych.storage.models import Study
from triptych.study import design, lifecycle, lint, pairing, plans
from triptych.study import launch as launching
from triptych.study.design import Parts

SAVED_MESSAGE, SEEN = "Saved.", "sections seen"


def save(study: Study, request: DesignRequest | None) -> None:
    """Save what a form asked for, or show why it cannot be saved."""
    if request is not None:
        state.run_command(design.amend, study, request.parts, request.reason, who.pseudonym, done=SAVED_MESSAGE)
        st.rerun()


def what_is_asked(study: Study, rubric: Rubric) -> None:
    label, address = "See it as annotators will", {"study": study.slug}
    st.page_link("lead/preview.py", label=label, icon=":material/visibility:", query_params=address)
    if not is_draft(study):
        st.caption("The rubric is fixed after launch: ratings refer to its criteria.")
        rubric_preview(rubric, rubric.asked(study.round))
        return
    with state.reading() as session:
        text = lifecycle.rubric_text(session, study)
    changed = rubric_editor(text, f"rubric_text-{study.slug}")
    if changed is None:
        return
    if st.button("Use this rubric", type="primary", disabled=changed[0] == text):
        save(study, DesignRequest(Parts(rubric_yaml=changed[0]), ""))
    with st.expander(f"{len(changed[1].asked(study.round))} questions in the {study.round} round"):
        rubric_preview(changed[1], changed[1].asked(study.round))


def items(study: Study, rubric: Rubric) -> None:
    with state.reading() as session:
        lines = design.item_lines(session, study)
    design_items.item_table(lines, study.item_count)
    st.subheader("More items", anchor=False)
    save(study, design_items.more_items(study, rubric))
    if lines:
        with st.expander("Retire items" if not is_draft(study) else "Remove items"):
            save(study, design_items.retired_items(study))


def plan(study: Study, rubric: Rubric) -> None:
    with state.reading() as session:
        stored = pairing.lines_of(session, study)
    run = state.run_command
    change = plan_form(
        study, stored, lambda: run(plans.propose, study), lambda data, name: run(plans.read, study, data, name)
    )
    if change is not None:
        run(plans.store, study, change.lines, who.pseudonym, change.reason, done=SAVED_MESSAGE)
        st.rerun()


def checks(study: Study, rubric: Rubric) -> None:
    with state.reading() as session:
        counts = design.check_items(session, study)
    save(study, settings_form.check_rules(study, **counts))


def launch(study: Study, rubric: Rubric) -> None:
    with state.reading() as session:
        findings = lint.lint_study(session, study) if is_draft(study) else []
        amendments = design.amendments(session, study)
    if not is_draft(study):
        frozen(study, amendments)
    elif launch_form(study, findings):
        state.run_command(launching.launch, study, who.pseudonym, done="The study is open.")
        st.rerun()


SECTIONS = {
    "Basics": lambda study, _: save(study, settings_form.basics(study)),
    "Rubric": what_is_asked,
    "Items": items,
    "Plan": plan,
    "Annotators' path": lambda study, rubric: save(study, settings_form.path(study, rubric)),
    "Panel and pay": lambda study, _: save(study, settings_form.panel(study)),
    "Checks": checks,
    "Preregistration": lambda study, rubric: save(study, preregistration_form.preregistered(study, rubric)),
    "Launch": launch,
}
who = state.require("lead")
with chosen_study(who, "Design") as (session, study):
    slug = study.slug
    rubric = lifecycle.design_of(session, study).rubric
st.page_link("lead/study.py", label="Overview", icon=":material/arrow_back:", query_params={"study": slug})
requested = st.query_params.get("section")
default = requested if requested in SECTIONS else None
tabs = st.tabs(list(SECTIONS), default=default, key=f"design-{slug}", on_change="rerun")
# a section stays drawn once seen, so that typed values survive a change of tab; the last one has no fields
seen = state.recall(SEEN, frozenset()) | {(slug, name) for name, tab in zip(SECTIONS, tabs, strict=True) if tab.open}
state.remember(SEEN, seen)
for tab, (name, draw) in zip(tabs, SECTIONS.items(), strict=True):
    if tab.open or (name != "Launch" and (slug, name) in seen):
        with tab:
            draw(study, rubric)

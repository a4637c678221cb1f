"""Setup of one study: settings that are saved as they are typed, the checklist, launch, and amendments."""

from __future__ import annotations

import streamlit as st

from components.rubric_builder import rubric_builder
from components.shell import state
from components.shell.study_choice import chosen_study
from components.study import design_items, sections, setup_fields
from components.study.launch_form import frozen, launch_form, what_comes_first
from components.study.lifecycle_bar import lifecycle_bar
from components.study.plan_form import plan_form
from components.study.saved_field import SettingsSheet
from triptych.annotate import onboarding
from triptych.preview import rubric_form
from triptych.rubric.model import Rubric
from triptych.storage.models import StudyState
from triptych.study import design, lifecycle, pairing, plans, saved_setting
from triptych.study import launch as launching
from triptych.study.checklist import SetupSection
from triptych.study.design import Parts

SAVED_MESSAGE, WHY = "Saved.", "Amend: why you change something (dated, and printed in reports)"


def change(parts: Parts | None) -> None:
    """Change something other than a setting, or show why that is not possible."""
    if parts is not None:
        state.run_command(design.amend, study, parts, sheet.reason, who.pseudonym, done=SAVED_MESSAGE)
        st.rerun()


def items(sheet: SettingsSheet, rubric: Rubric) -> None:
    with state.reading() as session:
        lines, total = design.item_lines(session, study), lifecycle.items_to_rate(session, study)
    setup_fields.common_names(sheet, findings)
    design_items.item_table(lines, total)
    st.header("More items", anchor=False)
    change(design_items.more_items(study, rubric, version))
    if lines:
        with st.popover("Remove items" if sheet.is_draft else "Retire items"):
            change(design_items.retired_items(study, version))


def what_is_asked(sheet: SettingsSheet, rubric: Rubric) -> None:
    if not sheet.is_draft:
        st.caption("The rubric is fixed after launch: ratings refer to its criteria.")
    with state.reading() as session:
        current = rubric_form.look(session, study)
        sources = rubric_form.sources(session, who, study)
    rubric_builder(study.slug, current, sources, pseudonym=who.pseudonym, locked=not sheet.is_draft)


def assignment(sheet: SettingsSheet, rubric: Rubric) -> None:
    setup_fields.assignment(sheet)
    if setup_fields.panel(sheet):
        change(Parts(new_codes=True))
    st.header("A plan of who rates what", anchor=False)
    stored = state.read(pairing.lines_of, study)
    lines = plan_form(study, stored)
    if lines is not None:
        state.run_command(plans.store, study, lines, who.pseudonym, sheet.reason, done=SAVED_MESSAGE)
        st.rerun()


def checks(sheet: SettingsSheet, rubric: Rubric) -> None:
    counts = state.read(design.check_items, study)
    setup_fields.check_rules(sheet, **counts)


SECTIONS = {
    SetupSection.study: lambda sheet, _: setup_fields.study_itself(sheet),
    SetupSection.items: items,
    SetupSection.rubric: what_is_asked,
    SetupSection.assignment: assignment,
    SetupSection.way_in: setup_fields.way_in,
    SetupSection.checks: checks,
    SetupSection.plan: setup_fields.declaration,
    SetupSection.trial: lambda sheet, _: setup_fields.trial(sheet),
}
who = state.require("lead")
with chosen_study(who) as (session, study):
    rubric = lifecycle.design_of(session, study).rubric
    log, version = saved_setting.changes(session, study), saved_setting.material_number(session, study)
    amendments, steps = design.amendments(session, study), onboarding.way_in(session, study)
draft, above, status = study.state == StudyState.draft, st.container(key="above"), st.container()
reason = "" if draft else st.text_input(WHY, max_chars=design.LONGEST_REASON, key=f"why-{study.slug}").strip()
sheet = SettingsSheet(study, who, log, reason)
findings, points = sections.checked(study, version) if draft else ([], [])
with above:
    lifecycle_bar(study, who, sheet.memory.go)
sections.begin(sheet, points)
for name, draw in SECTIONS.items():
    with sections.section_box(sheet, name) as box:
        if box.open:
            draw(sheet, rubric)
with st.container(border=True, key=sections.section_key(sheet, sections.LAUNCH)):
    st.header("Launch" if draft else "Launched", anchor=False)
    if not draft:
        frozen(study, amendments)
    elif launch_form(study, points, sheet.unsaved, sheet.memory.go):
        if checked := state.run_query(launching.check, study):
            state.run_command(launching.launch, study, who.pseudonym, checked, done="The study is open.")
        state.show_next("above")
        st.rerun()
with st.expander("What annotators meet first", icon=":material/visibility:"):
    what_comes_first(study, steps)
with status:
    go_to = sections.section_key(sheet, sheet.memory.go_to) if sheet.memory.go_to else ""
    sheet.status(go_to, sections.summaries(sheet, points))
sheet.memory.go("")

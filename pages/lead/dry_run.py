"""A dry run: simulated annotators fill a copy of the study, and the analysis is compared with the simulated effects."""

import streamlit as st

from components.shell import state
from components.shell.empty_state import empty_state
from components.shell.study_choice import chosen_study
from components.study import dry_run_report
from triptych.simulate.annotators import Recipe
from triptych.simulate.dry_run import DryRun, dry_run
from triptych.storage.models import Study
from triptych.study import lifecycle

INTRODUCTION = (
    "Simulated annotators fill a copy of this study: some systems are better than others, one annotator is strict, one "
    "answers at random, and the response shown first has an advantage. The analysis does not know this. If it recovers "
    "an effect, your study can show it; if the effect remains unclear, it cannot. The copy is not stored."
)


def run(study: Study, recipe: Recipe) -> DryRun | None:
    """The run, with a progress bar; None after a message if the recipe is not possible."""
    bar = st.progress(0.0, "Simulated annotators are working …")
    try:
        simulated = state.run_query(dry_run, study, recipe, bar.progress)
    finally:
        bar.empty()
    state.show_messages()
    return simulated


who = state.require("lead")
with chosen_study(who) as (session, study):
    slug, items = study.slug, lifecycle.items_to_rate(session, study)
st.text(INTRODUCTION)
if items < 2:
    empty_state("A dry run needs at least two items. Add items first.", "Setup", slug)
    st.stop()
recipe = dry_run_report.choose_recipe(items, slug)
if recipe is not None:
    state.remember(f"dry-run-{slug}", run(study, recipe))
result = state.recall(f"dry-run-{slug}")
if result is not None:
    dry_run_report.report(result, slug)

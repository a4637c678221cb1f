"""A dry run: the effects to plant, and which of them the analysis recovered."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from components.results import charts, comparisons, figures, trust
from components.shell.state import plain
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.warnings import verdict
from triptych.simulate.annotators import Recipe
from triptych.simulate.dry_run import DryRun
from triptych.simulate.recovery import Check, Recovered
from triptych.stats.numbers import counted

USUAL = Recipe()
MARKS = {Recovered.yes: "✓ yes", Recovered.unclear: "? unclear", Recovered.no: "✗ no"}
NO_TIME = "Not defined: simulated annotators take no time."
UNCLEAR = (
    "Unclear means that the study is too small for this effect, or the effect too small for the study: the planner "
    "says what more annotators or more items would do."
)
WRONG = (
    "An effect was found the wrong way round, or where none was planted. Once in twenty tests that is bad "
    "luck: run it again with another random seed. If it happens again, the study is too small."
)


def choose_recipe(items: int, slug: str) -> Recipe | None:
    """The recipe set by the sliders, when the button was pressed."""
    with st.form(f"recipe-{slug}"):
        left, right = st.columns(2)
        given = {
            "annotators": left.slider("Simulated annotators", 2, 40, USUAL.annotators, key=f"people-{slug}"),
            "items": right.slider("Items at most", 2, max(items, 3), min(items, USUAL.items), key=f"most-{slug}"),
            "careless": left.slider("Answering at random", 0, 3, USUAL.careless, key=f"careless-{slug}"),
            "seed": right.number_input("Random seed", 1, 9999, USUAL.seed, key=f"seed-{slug}"),
        }
        st.caption("How large the effects are, in percent of the width of a scale:")
        left, right = st.columns(2)
        shares = {
            "gap": left.slider("From the worst system to the best", 0, 60, _percent(USUAL.gap), key=f"gap-{slug}"),
            "first": right.slider(
                "Gain of the response shown first", 0, 40, _percent(USUAL.first), key=f"first-{slug}"
            ),
            "spread": left.slider(
                "How much annotators differ in strictness", 0, 20, _percent(USUAL.spread), key=f"spread-{slug}"
            ),
            "severe": right.slider(
                "How much stricter one of them is", 0, 40, _percent(USUAL.severe), key=f"severe-{slug}"
            ),
        }
        if st.form_submit_button("Run", type="primary", icon=":material/play_arrow:"):
            return Recipe(**given, **{name: share / 100 for name, share in shares.items()})
    return None


def _percent(share: float) -> int:
    return round(100 * share)


def report(run: DryRun, slug: str) -> None:
    """Planted and recovered effects, then the tables of a paper."""
    one = run.analysis
    st.subheader("Recovered", anchor=False)
    st.text(
        f"{counted(run.annotators, 'simulated annotator')} made {counted(run.annotations, 'annotation')} of "
        f"{counted(run.items, 'item')} in {run.seconds:.0f} s. {run.sentence}"
    )
    rows = pd.DataFrame([_row(check) for check in run.checks])
    st.dataframe(rows, hide_index=True, height="content", key=f"checks-{slug}")
    found = {check.recovered for check in run.checks}
    if Recovered.unclear in found:
        st.caption(UNCLEAR)
    if Recovered.no in found:
        st.caption(WRONG)
    st.subheader("The tables of the paper", anchor=False)
    st.text("As the results page will show them, from simulated ratings: they show nothing about your systems.")
    _comparison(one, slug)
    st.subheader("Agreement", anchor=False)
    trust.agreement(one, f"dry-run-{slug}")
    st.subheader("Annotators", anchor=False)
    trust.annotators(one.annotators, NO_TIME)


def _row(check: Check) -> dict[str, str]:
    return {
        "Planted effect": check.effect,
        "About": check.about,
        "Planted": check.planted,
        "Found": check.found,
        "Recovered": MARKS[check.recovered],
    }


def _comparison(one: StudyAnalysis, slug: str) -> None:
    """Means and differences of one criterion."""
    results = {result.criterion.key: result for result in one.criteria}
    key = st.selectbox(
        "Criterion", list(results), format_func=lambda key: results[key].criterion.title, key=f"criterion-{slug}"
    )
    mine = one.contrasts_of(key)
    if any(not isinstance(contrast.difference, str) for contrast in mine):
        said = verdict(one, key)
        st.text(said)
        charts.show(
            figures.forest(mine, one.names, results[key].widest), f"dry-forest-{slug}", f"dry-run-{slug}-{key}", said
        )
        st.dataframe(comparisons.contrast_table(mine, one), hide_index=True, key=f"dry-contrasts-{slug}")
        st.caption(plain(f"{comparisons.whom_for(mine)} {one.family}"))
    comparisons.means(one, results[key], f"dry-run-{slug}")

"""A dry run: the simulated effects, and which of them the analysis found."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from components.results import charts, comparisons, figures, trust
from components.shell.choices import choose
from components.shell.state import form_button, plain
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.verdicts import verdict
from triptych.simulate.annotators import Recipe
from triptych.simulate.dry_run import DryRun
from triptych.simulate.recovery import Recovered
from triptych.stats.numbers import counted
from triptych.stats.undefined import Undefined

DEFAULTS = Recipe()
# effect → its label, and its maximum in percent of a scale's width
EFFECTS = {
    "gap": ("From the worst system to the best", 60),
    "first": ("Advantage of the response shown first", 40),
    "spread": ("How much annotators differ in strictness", 20),
    "severe": ("How much stricter one of them is", 40),
}
MARKS = {Recovered.yes: "✓ yes", Recovered.unclear: "? unclear", Recovered.no: "✗ no"}
CHECK_WIDTHS = {"Planted effect": 180, "About": 380, "Planted": 245, "Found": 375, "Recovered": 100}  # px
NO_TIME = Undefined("Not defined: simulated annotators take no time.")
UNCLEAR_NOTE = (
    "Unclear means that the study is too small for this effect: use the planner to see what more annotators or items "
    "would achieve."
)
WRONG_NOTE = (
    "An effect was found in the wrong direction, or where none was planted. One in twenty tests does this by chance: "
    "run it again with another random seed. If it happens again, the study is too small."
)


def choose_recipe(items: int, slug: str) -> Recipe | None:
    """The recipe set with the sliders, once the button is pressed."""
    with st.form(f"recipe-{slug}"):
        left, right = st.columns(2)
        counts = {
            "annotators": left.slider("Simulated annotators", 2, 40, DEFAULTS.annotators, key=f"people-{slug}"),
            "items": right.slider("Items at most", 2, max(items, 3), min(items, DEFAULTS.items), key=f"most-{slug}"),
            "careless": left.slider("Answering at random", 0, 3, DEFAULTS.careless, key=f"careless-{slug}"),
            "seed": right.number_input("Random seed", 1, 9999, DEFAULTS.seed, key=f"seed-{slug}"),
        }
        st.caption("How large the effects are, in percent of the width of a scale:")
        columns = st.columns(2)
        shares = {
            name: columns[n % 2].slider(label, 0, most, round(100 * getattr(DEFAULTS, name)), key=f"{name}-{slug}")
            for n, (name, (label, most)) in enumerate(EFFECTS.items())
        }
        if form_button("Run", f"recipe-{slug}", type="primary", icon=":material/play_arrow:"):
            return replace(Recipe(**counts), **{name: share / 100 for name, share in shares.items()})
    return None


def report(run: DryRun, slug: str) -> None:
    """Simulated and found effects, then tables as in a paper."""
    analysis = run.analysis
    st.header("Recovered", anchor=False)
    st.text(
        f"{counted(run.annotators, 'simulated annotator')} made {counted(run.annotations, 'annotation')} of "
        f"{counted(run.items, 'item')} in {run.seconds:.0f} s. {run.sentence}"
    )
    rows = [
        {
            "Planted effect": check.effect,
            "About": check.about,
            "Planted": check.planted,
            "Found": check.observed,
            "Recovered": MARKS[check.recovered],
        }
        for check in run.checks
    ]
    widths = {column: st.column_config.Column(width=width) for column, width in CHECK_WIDTHS.items()}
    st.dataframe(rows, hide_index=True, height="content", key=f"checks-{slug}", column_config=widths)
    outcomes = {check.recovered for check in run.checks}
    if Recovered.unclear in outcomes:
        st.caption(UNCLEAR_NOTE)
    if Recovered.no in outcomes:
        st.caption(WRONG_NOTE)
    st.header("The tables of the paper", anchor=False)
    st.text("As on the results page, but from simulated ratings: they say nothing about your systems.")
    _comparison(analysis, slug)
    st.header("Agreement", anchor=False)
    trust.agreement(analysis, f"dry-run-{slug}")
    st.header("Annotators", anchor=False)
    trust.annotators(analysis.annotators, NO_TIME)


def _comparison(analysis: StudyAnalysis, slug: str) -> None:
    """Means and differences of one criterion."""
    key = choose("Criterion", analysis.titles, f"criterion-{slug}")
    contrasts = analysis.contrasts_of(key)
    if any(not isinstance(contrast.difference, Undefined) for contrast in contrasts):
        sentence = verdict(analysis, key)
        st.text(sentence)
        widest = next(result.variable.width for result in analysis.criteria if result.criterion.key == key)
        figure = figures.forest(contrasts, analysis.names, widest)
        charts.show(figure, f"dry-forest-{slug}", f"dry-run-{slug}-{key}", sentence)
        st.dataframe(comparisons.contrast_table(contrasts, analysis), hide_index=True, key=f"dry-contrasts-{slug}")
        st.caption(plain(f"{comparisons.whom_for(contrasts)} {analysis.family}"))
    comparisons.means(analysis, key, f"dry-run-{slug}")

"""How results begin: how far the study is, what would change the conclusion, what could not be checked."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from components.shell.state import plain
from components.shell.words import duration, moment
from triptych.results import warnings
from triptych.results.frame.table import Filters
from triptych.results.progress import Overview
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.warnings import Finding

SHOWN_FIRST = 2


def progress(view: Overview, name: str, figure: str) -> None:
    """What is in and what is expected, time to go, and one more figure under its name."""
    with st.container(horizontal=True, gap="medium"):
        st.metric("Annotations in", f"{view.done:,} of {view.expected:,}", width="content")
        st.metric("Items complete", f"{view.items_complete:,} of {view.items:,}", width="content")
        st.metric("Annotator time to go", duration(view.minutes_left), width="content")
        st.metric(name, figure, width="content")
    st.progress(min(view.done / view.expected, 1.0) if view.expected else 0.0)
    apart = {"skipped": view.skipped, "ignored": view.ignored, "surplus": view.surplus}
    extra = [f"{n} {word}" for word, n in apart.items() if n]
    st.caption(" · ".join([f"Last annotation: {moment(view.last_at)}", *extra]))


def conclusions(findings: Sequence[Finding], analysis: StudyAnalysis, slug: str) -> None:
    """What would change the conclusion; the first few at once, the rest in an expander."""
    st.subheader("Before you conclude", anchor=False)
    findings = [finding for finding in findings if finding.kind != "simulated"]  # said above already, in colour
    if not findings:
        st.text("Nothing stands out that would change the conclusion.")
        return
    for place, finding in enumerate(findings[:SHOWN_FIRST]):
        _finding(finding, analysis, slug, place)
    if len(findings) > SHOWN_FIRST:
        with st.expander(f"{len(findings) - SHOWN_FIRST} more", key="more-findings"):
            for place, finding in enumerate(findings[SHOWN_FIRST:], SHOWN_FIRST):
                _finding(finding, analysis, slug, place)


def _finding(finding: Finding, analysis: StudyAnalysis, slug: str, place: int) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"finding-{place}"):
        st.text(f"{place + 1}.  {finding.sentence}", width="stretch")
        if finding.examples:
            ratings_link("See the ratings", finding.examples, analysis, slug)


def ratings_link(label: str, examples: Filters, analysis: StudyAnalysis, slug: str) -> None:
    """A link to the list of ratings, filtered to those behind a number."""
    titles = {criterion.key: criterion.title for criterion in analysis.frame.rubric.asked(analysis.frame.round)}
    query = {
        "study": slug,
        "annotator": sorted(examples.annotators),
        "system": [analysis.name(code) for code in sorted(examples.systems)],
        "criterion": [titles[key] for key in sorted(examples.criteria) if key in titles],
        "value": sorted(examples.values),
        "item": examples.item,
        "only": sorted(examples.marks),
    }
    asked = {name: value for name, value in query.items() if value}
    st.page_link("lead/ratings.py", label=plain(label), icon=":material/table_rows:", query_params=asked)


def not_run(analysis: StudyAnalysis, _key: str, _slug: str) -> None:
    """Checks that these data do not allow, with the reason."""
    checks = warnings.not_run(analysis)
    if not checks:
        st.text("Every check could run.")
        return
    rows = [
        {"Check": check.check, "Criterion": ", ".join(check.criteria) or "All", "Why not": check.why}
        for check in checks
    ]
    st.dataframe(rows, hide_index=True, key="not-run", column_config={"Why not": {"width": "large"}})

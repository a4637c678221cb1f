"""Findings that could change the conclusion, checks that were not possible, and links to the ratings behind them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from components.shell.state import plain
from triptych.results import warnings
from triptych.results.frame.table import Filters
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.warnings import Finding
from triptych.stats.numbers import counted

SHOWN_FIRST, LETTERS_FIRST = 3, 360  # so that the cards below fit a laptop's screen
DECISIVE = 70  # weight from which a finding can change the verdict


def trust_lines(findings: Sequence[Finding], analysis: StudyAnalysis, slug: str) -> None:
    """Findings for readers: those that can change the verdict first, the others folded."""
    findings = [finding for finding in findings if finding.kind != "simulated"]  # already shown above, in colour
    if not findings:
        st.text("Nothing that would change the verdict stands out.")
        return
    first = first_lines(finding for finding in findings if finding.weight >= DECISIVE)
    if not first:
        st.text("Nothing that would change the verdict was found.")
    for place, finding in enumerate(first):
        _finding(finding, analysis, slug, place)
    if rest := findings[len(first) :]:
        with st.popover(f"{counted(len(rest), 'more line')}", key="more-findings"):
            for place, finding in enumerate(rest, len(first)):
                _finding(finding, analysis, slug, place)


def first_lines(decisive: Iterable[Finding]) -> list[Finding]:
    """The most serious findings that fit, at least one."""
    first: list[Finding] = []
    for finding in decisive:
        letters = sum(len(each.sentence) for each in (*first, finding))
        if first and (len(first) == SHOWN_FIRST or letters > LETTERS_FIRST):
            break
        first.append(finding)
    return first


def _finding(finding: Finding, analysis: StudyAnalysis, slug: str, place: int) -> None:
    with st.container(key=f"finding-{place}"):
        st.text(finding.sentence)
        if finding.examples:
            ratings_link("See the ratings", finding.examples, analysis, slug)


def ratings_link(label: str, examples: Filters, analysis: StudyAnalysis, slug: str) -> None:
    """A link to the list of ratings with these filters; none for viewers, who cannot see the list."""
    if analysis.frame.watched:
        return
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
    """Checks that these data do not allow, and why."""
    checks = warnings.not_run(analysis)
    if not checks:
        st.text("Every check was run.")
        return
    rows = [
        {"Check": check.check, "Criterion": ", ".join(check.criteria) or "All", "Why not": check.why}
        for check in checks
    ]
    st.dataframe(rows, hide_index=True, key="not-run", column_config={"Why not": {"width": "large"}})

"""Annotators one by one: their checks, what is unusual, and excluding one with a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from components.results.findings import ratings_link
from components.results.statistics_row import cells
from components.results.trust import look_row
from components.shell.state import form_button, say
from components.shell.words import NONE, limits, moment, percent, signed
from triptych.results.quality import Line
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.verdicts import clear_of_criteria
from triptych.results.warnings import Finding
from triptych.stats.analysis.annotators import Repeated
from triptych.stats.analysis.contrasts import Contrast
from triptych.stats.analysis.statistics import AGREEMENT
from triptych.stats.coefficients import AgreementTable
from triptych.stats.diagnostics import FlaggedRate
from triptych.stats.undefined import Undefined
from triptych.storage.models import EntryAttempt

CONFIG = {"Annotator": st.column_config.Column(pinned=True)}
SHOWN_FIRST = 6
COLUMN_HELP = {
    "With the others": "Correlation with the mean of the others; the only alarm about the ratings themselves.",
    "Severity": "Own rating minus that of the others, in % of the scale; a habit, not an error.",
    "All equal": "Annotations with the same rating throughout.",
    "Attention": "Items that state what to answer; two failed ones raise a flag; a skipped one counts as failed.",
    "Gold": "Items with a known answer, with the interval of the share; a skipped one counts as wrong.",
    "Twice": "Share of repeated ratings that were the same; the mean distance in % of the scale.",
    "Before work": "Active time in training and entry test.",
}
BOTH_WAYS = (
    "Mean difference with its 95 % interval; * if it is clear after adjusting for multiple tests, for these annotators "
    "only where they are too few to generalise."
)
FLAGS = "A flag is a prompt to look; it excludes nobody."


def annotators(lines: Sequence[Line]) -> None:
    """Why annotators are flagged, then one row per annotator, flagged ones first."""
    if not lines:
        st.text("Nobody has annotated anything yet. Annotators appear here with their first annotation.")
        return
    _reasons([line for line in lines if line.flags and not line.standing.excluded_at])
    table = pd.DataFrame([_row(line) for line in lines]).fillna(NONE)
    # columns without any value are dropped
    same = [name for name in table if set(table[name]) <= ({"human", NONE} if name == "Kind" else {NONE})]
    shown = table.drop(columns=[*same, "Why to look"], errors="ignore")
    st.dataframe(shown, hide_index=True, key="quality", column_config=CONFIG)
    st.caption(" ".join([*(f"{name}: {words}" for name, words in COLUMN_HELP.items() if name in shown), FLAGS]))


def _reasons(flagged: Sequence[Line]) -> None:
    """One line per flagged annotator."""
    if not flagged:
        st.text("No annotator stands out.")
        return
    sentences = [f"{line.standing.annotator}: {' '.join(line.flags)}" for line in flagged]
    st.text("\n".join(["Look at:", *sentences[:SHOWN_FIRST]]))
    if sentences[SHOWN_FIRST:]:
        with st.expander(f"{len(sentences) - SHOWN_FIRST} more"):
            st.text("\n".join(sentences[SHOWN_FIRST:]))


def _row(line: Line) -> dict[str, str]:
    standing = line.standing
    row = {"Annotator": standing.annotator + (" (excluded)" if standing.excluded_at else "")}
    row |= look_row(line.look, line.speed) if line.look else {"Annotations": "0"}
    return row | {
        "Attention": f"{standing.attention_failed} of {standing.attention} failed" if standing.attention else NONE,
        "Gold": _rate(standing.gold),
        "Twice": _twice(line.repeated),
        "Entry test": _tries(standing.attempts),
        "Before work": f"{standing.before_work / 60:.0f} min" if standing.before_work else NONE,
    }


def _rate(rate: FlaggedRate | Undefined) -> str:
    """Number right out of all, with the interval of the share."""
    if isinstance(rate, Undefined):
        return NONE
    share = rate.rate
    return f"{share.hits} of {share.n} right ({limits(share.low, share.high)})"


def _twice(repeated: Repeated | None) -> str:
    return f"{percent(repeated.same.share)} of {repeated.same.n}, {percent(repeated.apart)} apart" if repeated else NONE


def _tries(attempts: Sequence[EntryAttempt]) -> str:
    if not attempts:
        return NONE
    last = attempts[-1]
    end = {True: "passed", False: "failed", None: "going on"}[last.passed]
    return f"{last.right} of {last.asked}, {end}" + (f", try {last.number}" if last.number > 1 else "")


def rubric_warnings(findings: Sequence[Finding], analysis: StudyAnalysis, slug: str) -> None:
    """Criteria that many annotators could not answer; draws nothing if there are none."""
    if findings:
        st.header("The rubric", anchor=False)
    for finding in findings:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text(f"{finding.sentence} This points to the rubric, not to the annotators.", width="stretch")
            if finding.examples:
                ratings_link("See the ratings", finding.examples, analysis, slug)


def with_self(results: Mapping[str, AgreementTable | Undefined], titles: dict[str, str]) -> None:
    """Agreement of annotators with themselves, by criterion."""
    rows = [{"Criterion": titles[key], **cells(AGREEMENT, table)} for key, table in results.items()]
    st.dataframe(pd.DataFrame(rows).fillna(""), hide_index=True, key="with-self")
    st.caption("Items shown a second time, in another order and unannounced. Intervals leave out one item at a time.")


def excluded(lines: Sequence[Line]) -> None:
    """Who is excluded, since when and why."""
    out = [line.standing for line in lines if line.standing.excluded_at]
    if not out:
        st.text("Nobody is excluded.")
        return
    rows = [{"Annotator": m.annotator, "Since": moment(m.excluded_at), "Reason": m.excluded_reason} for m in out]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="excluded")


def decision(title: str, annotators: Sequence[str], button: str, key: str) -> tuple[str, str] | None:
    """A form for an annotator and a reason; returns both once the lead sends it."""
    if not annotators:
        return None
    with st.form(key, width=560):
        who = st.selectbox(title, annotators, index=None, placeholder="Choose an annotator")
        reason = st.text_input("Reason", max_chars=500, help="Appears in the log and in every report.")
        pressed = form_button(button, key)
    if pressed and who is None:
        say("Choose an annotator first.")
    return (who, reason) if pressed and who else None


def both_ways(analysis: StudyAnalysis) -> None:
    """Every difference with and without excluded annotators; `analysis` is without them."""
    if not analysis.contrasts:
        return
    without = _differences(analysis)
    included = _differences(analysis.other_way) if analysis.other_way else {}
    rows = [
        {
            "Criterion": analysis.title(criterion),
            "Difference": f"{analysis.name(system)} − {analysis.name(baseline)}",
            "Without the excluded": difference,
            "With them": included.get((criterion, system, baseline), NONE),
        }
        for (criterion, system, baseline), difference in without.items()
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="both-ways")
    st.caption(BOTH_WAYS)


def _differences(analysis: StudyAnalysis) -> dict[tuple[str, int, int], str]:
    """(criterion, system, baseline) → the difference in words, with an asterisk if it is clear."""
    clear = clear_of_criteria(analysis.contrasts)
    return {
        (of.criterion, of.system, of.baseline): _difference(of) + (" *" if of in clear else "")
        for of in analysis.contrasts
    }


def _difference(contrast: Contrast) -> str:
    if isinstance(contrast.difference, Undefined):
        return contrast.difference.reason
    interval = contrast.difference.headline
    return signed(interval.mean, contrast.share) + interval.limits(lambda limit: signed(limit, contrast.share))

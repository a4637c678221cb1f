"""The linter's findings in an items file before import, each with its passage."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from components.shell import state
from components.shell.uploads import read_once
from triptych.errors import ImportRefused
from triptych.formats.model import ItemFile
from triptych.rubric.model import Rubric
from triptych.stats.numbers import counted
from triptych.study.lint import linter
from triptych.study.lint.findings import LintFinding
from triptych.study.settings import Formats

FINDINGS = "item_findings"
MAX_NAMED = 5
COMMON = "This is a common word and does not reveal a system"


def item_findings(file: ItemFile, rubric: Rubric, formats: Formats, common: Sequence[str] = ()) -> tuple[str, ...]:
    """The most serious findings, and the others folded; the linter reads a file again only after a change.

    `common`: hashes of system names marked as common words; returned with the lead's changes.
    """
    source = (file, rubric, formats)  # kept with the findings, which therefore have the file's size
    try:
        read = read_once(FINDINGS, lambda: linter.lint_file(rubric, file.items, formats), lambda _: file.size, source)
    except ImportRefused as refusal:
        state.say(str(refusal))
        return tuple(common)
    findings = {finding: _is_ticked(finding, common) for finding in read}
    graver, folded = linter.gravest_first([finding for finding, is_ticked in findings.items() if not is_ticked])
    asked = {""}
    for finding in graver:
        _draw(finding, common, asked)
    if folded:
        with st.expander(counted(len(folded), "more remark" if graver else "remark")):
            for finding in folded:
                _draw(finding, common, asked)
    for finding, is_ticked in findings.items():
        if is_ticked and finding.name_mark not in asked:
            st.caption(state.plain(finding.text))
            _ask(finding, common, asked)
    marks = {finding.name_mark for finding in findings}
    ticked = {finding.name_mark for finding, is_ticked in findings.items() if is_ticked}
    return tuple(sorted({*common} - marks | ticked))


def _is_ticked(finding: LintFinding, common: Sequence[str]) -> bool:
    mark = finding.name_mark
    return bool(mark) and bool(state.recall(f"common-{mark}", mark in common))


def _ask(finding: LintFinding, common: Sequence[str], asked: set[str]) -> None:
    """Ask whether a system's name is an ordinary word here; once per name, which is then added to `asked`."""
    mark = finding.name_mark
    if mark not in asked:
        asked.add(mark)
        st.checkbox(COMMON, value=mark in common, key=f"common-{mark}")


def _draw(finding: LintFinding, common: Sequence[str], asked: set[str]) -> None:
    stop = " This will prevent the launch." if finding.blocking else ""
    state.say(f"{finding.text} {finding.advice}{stop}", "info" if finding.severity == "note" else "warning")
    if finding.items:
        passages = finding.passages or [""] * len(finding.items)
        lines = [
            f"row {row:,}, {item}" + (f": {passage}" if passage else "")
            for item, row, passage in zip(finding.items, finding.rows, passages, strict=True)
        ]
        more = [f"and {len(lines) - MAX_NAMED:,} more"] if len(lines) > MAX_NAMED else []
        st.text("\n".join([*lines[:MAX_NAMED], *more]))
    _ask(finding, common, asked)

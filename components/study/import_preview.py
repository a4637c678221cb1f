"""Preview of an uploaded items file: problems by row, the linter's findings, columns, and the first items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from components.shell import state
from components.shell.uploads import read_once
from components.study.text_formats import choose_formats
from components.workbench import workbench
from triptych.errors import ImportRefused
from triptych.formats.changes import differences
from triptych.formats.model import ItemDraft, ItemFile, Problem, TurnDraft
from triptych.formats.ratings.model import FinishedRatings
from triptych.preview import views
from triptych.rubric.model import Rubric
from triptych.stats.numbers import counted
from triptych.storage.models import Study
from triptych.study.lint import linter
from triptych.study.lint.findings import LintFinding
from triptych.study.lint.misfits import misfits
from triptych.study.settings import Formats, formats_of, settings_of

MAX_CHARACTERS = 2000
SEVERITIES = {"error": "Errors", "warning": "Warnings", "note": "Notes"}
MAX_LINES = 12
FIRST_ITEMS = 3
WAYS = ("As annotators will see them", "As read from the file, with systems")
BLINDING_NOTE = (
    "This shows the system of each response. If you are going to rate in this study yourself, ask someone else to "
    "check it."
)
FINDINGS = "item_findings"
MAX_NAMED = 5
COMMON = "This is a common word and does not reveal a system"


def import_preview(
    file: ItemFile, rubric: Rubric, before: ItemFile | None = None, study: Study | None = None
) -> tuple[Formats, tuple[str, ...]]:
    """Draw everything that was read, and the linter's findings; all texts of the file are shown unformatted.

    Returns the lead's choices: how texts are shown, and which systems are named by a common word.
    before: the file that this one replaces. study: an existing study that gets the items, which fixes the formats.
    """
    common = settings_of(study).common_names if study else ()
    _summary(file)
    if before is not None:
        st.caption("Compared with the previous file")
        st.text("\n".join(differences(before, file)))
    _problems(file)
    for sentence in misfits(rubric, file) if file.ok else ():
        state.say(sentence, "warning")
    formats = formats_of(study) if study else choose_formats(file.items)
    if file.ok:
        common = item_findings(file, rubric, formats, common)
    if file.items:
        _first_items(file, rubric, study or views.study_to_be(rubric, formats))
    _columns(file)
    return formats, common


def _first_items(file: ItemFile, rubric: Rubric, study: Study) -> None:
    """The first items as annotators will see them, or side by side with the names of their systems."""
    st.subheader("The first items", anchor=False)
    way = st.segmented_control("Shown", WAYS, default=WAYS[0], required=True, label_visibility="collapsed", key="first")
    first = file.items[:FIRST_ITEMS]
    if way == WAYS[0]:
        ids = [state.plain(item.external_id) for item in first]
        place = st.segmented_control("Item", range(len(ids)), default=0, required=True, format_func=ids.__getitem__)
        view = views.view_of(study, rubric, first, place)
        workbench(view, key=f"first-{views.name_of(view)}")
        return
    if file.systems:
        st.caption(BLINDING_NOTE)
    for column, item in zip(st.columns(len(first)), first, strict=True):
        with column:
            _item(item)


def _summary(file: ItemFile) -> None:
    sizes = Counter(len(item.candidates) for item in file.items)
    each = " or ".join(str(size) for size in sorted(sizes)) or "no"
    parts = [counted(len(file.items), "item"), f"{each} candidates each", counted(len(file.systems), "system")]
    st.text(f"{file.kind}: {', '.join(parts)}")


def _problems(file: ItemFile) -> None:
    """Whether the file can be imported, then one line per problem, in order of rows."""
    counts = Counter(problem.severity for problem in file.problems)
    if counts["error"]:
        errors = counted(counts["error"], "error")
        state.say(f"{errors}. Correct the roles of its columns above, or correct the file and upload it again.")
    elif file.ok:
        state.say("The file was read without errors.", "success")
    else:
        state.say("There is no item in the file.")
    problem_lists(file.problems)


def problem_lists(problems: Sequence[Problem]) -> None:
    """Errors, warnings and notes, one per line; all texts of the file are shown unformatted."""
    for severity, title in SEVERITIES.items():
        lines = [str(problem) for problem in sorted(problems, key=_place) if problem.severity == severity]
        if lines:
            st.caption(title)
            with st.container(border=True, height=320 if len(lines) > MAX_LINES else "content"):
                st.text("\n".join(lines))


def _place(problem: Problem) -> tuple[bool, str, int]:
    """The sort key of a problem: problems of the whole file first, then by file and row, "and n more" at the end."""
    return problem.is_rest, problem.file or "", problem.row or 0


def _columns(file: ItemFile) -> None:
    """The table of columns, loaded when it is opened, and the parts of the file that are not stored."""
    meanings = column_meanings(file)
    with (box := st.expander("Role of each column", key="read-as", on_change="rerun")):
        if box.open:
            st.dataframe(meanings, hide_index=True, key="columns")
    if file.ignored:
        columns = counted(len(meanings["Read as"]), "column")
        st.caption(f"{len(file.ignored)} of {columns} will be ignored and not stored.")


def column_meanings(file: ItemFile | FinishedRatings) -> dict[str, list[str]]:
    """The table of a file's columns or fields and the meaning of each."""
    meanings = {**file.recognised, **dict.fromkeys(file.ignored, "ignored")}
    return {"In the file": list(meanings), "Read as": list(meanings.values())}


def _item(item: ItemDraft) -> None:
    with st.container(border=True, height=420, gap="small"):
        _content("Id", item.external_id, ())
        if item.context_text or item.context_turns:
            _content("Context", item.context_text, item.context_turns)
        for title, text in item.extra_texts.items():
            _content("Shown next to the responses", f"{title}\n{text}", ())
        if item.meta:
            _content("Fields", "\n".join(f"{name}: {value}" for name, value in item.meta.items()), ())
        for number, candidate in enumerate(item.candidates, 1):
            _content(f"Candidate {number}, {state.plain(candidate.system)}", candidate.text, candidate.turns or ())


def _content(label: str, text: str | None, turns: Sequence[TurnDraft]) -> None:
    """A text or turns under a label, shortened."""
    whole = "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns) if text is None else text
    with st.container(gap=None):
        st.caption(label)
        st.text(whole[:MAX_CHARACTERS] or "(empty)")
        if len(whole) > MAX_CHARACTERS:
            st.caption(f"… and {len(whole) - MAX_CHARACTERS:,} more characters")


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

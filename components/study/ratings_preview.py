"""Uploaded finished ratings: the files' contents, the proposed scales, and the resulting study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

import streamlit as st

from components.shell import state
from components.shell.choices import distinct
from components.shell.uploads import Upload, content_of, read_once
from components.shell.words import read_aloud
from components.study.column_roles import choose_mapping, first_ratings
from components.study.import_preview import column_meanings, problem_lists
from components.study.study_form import choose_rubric
from triptych.errors import ImportRefused, InvalidRubric
from triptych.exchange import import_ratings
from triptych.formats import read_items
from triptych.formats.model import MAX_UPLOAD, ItemFile, Problem
from triptych.formats.ratings import ARCHIVE, ENDINGS, read_files
from triptych.formats.ratings.assemble import Asked, Assembled, assemble
from triptych.formats.ratings.model import FinishedRatings, RaterKind, in_group
from triptych.formats.ratings.proposal import MAX_OPTIONS, ProposedCriterion, Use, number_in
from triptych.formats.ratings.roles import ColumnMapping, Duplicates, RolesNeeded
from triptych.formats.ratings.sources import RATINGS
from triptych.formats.readers import READERS
from triptych.stats.numbers import counted

RATINGS_LIMIT = f"CSV at most {RATINGS.most_bytes // 2**20} MB each, others {MAX_UPLOAD // 2**20}"
USE_LABELS: dict[Use, str] = {
    "ordinal": "Ordinal: an order, the steps may differ",
    "interval": "Interval: the steps are equal",
    "nominal": "Nominal: no order",
    "leave out": "Leave out",
}
PROPOSED, EXISTING = "Proposed from the values", "An existing rubric"
ENDS_NOTE = (
    "Compare lowest and highest with the original scale: a point that nobody chose does not appear in the files."
)
MAX_VALUES = 12
MAX_OFFERED = 200
ASSEMBLED = "ratings assembled"


def choose_files() -> tuple[tuple[FinishedRatings, ...], Duplicates]:
    """The uploaded files of people and judge models, read with the lead's choices, and the meaning of duplicates.

    Empty if there is no file or one cannot be read.
    """
    left, right = st.columns(2)
    title = f"Ratings and highlights by people ({RATINGS_LIMIT})"
    people = left.file_uploader(title, [*ENDINGS, ARCHIVE], accept_multiple_files=True, key="ratings_files")
    title = f"Scores by a model as a judge ({RATINGS_LIMIT})"
    judges = right.file_uploader(title, [*ENDINGS, ARCHIVE], accept_multiple_files=True, key="judge_files")
    uploads: list[tuple[Upload, RaterKind]] = [(upload, "human") for upload in people] + [
        (upload, "judge") for upload in judges
    ]
    try:
        contents = [(upload, kind, data) for upload, kind in uploads if (data := content_of(upload)) is not None]
        if len(contents) < len(uploads):
            return (), "error"
        proposed = tuple(chain.from_iterable(_as_proposed(*content) for content in contents))
        mapping = choose_mapping(proposed) if proposed else ColumnMapping()
        groups = _groups(people)
        read = [
            in_group(file, groups.get(upload.file_id, ""))
            for upload, kind, data in contents
            for file in _read(upload, kind, data, mapping.roles)
        ]
    except ImportRefused as refusal:
        state.say(str(refusal))
        return (), "error"
    first_ratings(read)
    return tuple(read), mapping.duplicates


def _read(upload: Upload, kind: RaterKind, data: bytes, roles: Mapping[str, str]) -> tuple[FinishedRatings, ...]:
    key = upload.file_id, f"{kind} {sorted(roles.items())}"
    return read_once(key, lambda: read_files(data, upload.name, kind, roles), lambda files: sum(map(_size, files)))


def _as_proposed(upload: Upload, kind: RaterKind, data: bytes) -> tuple[FinishedRatings, ...]:
    """The file read with proposed roles; only its columns if the lead must assign roles first."""
    try:
        return _read(upload, kind, data, {})
    except RolesNeeded as unclear:
        return (FinishedRatings(upload.name, "", roles=unclear.roles),)


def _groups(uploads: Sequence[Upload]) -> dict[str, str]:
    """Id of an uploaded file → the group of all its annotators, if several files have groups."""
    if len(uploads) < 2:
        return {}
    with st.expander("Groups of annotators, if each file comes from a different one"):
        st.caption("The same id in two groups means two annotators.")
        labels = {upload.file_id: f"Group of {upload.name}" for upload in uploads}
        return {
            number: st.text_input(read_aloud(label), max_chars=40, key=f"group-{number}").strip()
            for number, label in labels.items()
        }


def choose_items() -> tuple[ItemFile | None, bool]:
    """The items' texts, if uploaded, and whether the import can continue."""
    title, megabytes = "Items, if the texts are not in these files", MAX_UPLOAD // 2**20
    upload = st.file_uploader(title, list(READERS), key="items_of_ratings", max_upload_size=megabytes)
    if upload is None:
        return None, True
    try:
        data = content_of(upload)
        if data is None:
            return None, False
        file = read_once(upload.file_id, lambda: read_items(data, upload.name), lambda file: file.size)
    except ImportRefused as refusal:
        state.say(str(refusal))
        return None, False
    if not file.ok:
        state.say(f"{upload.name} has errors and cannot be imported.")
    problems(file.problems)
    return file, file.ok


def _size(file: FinishedRatings | ItemFile | None) -> int:
    """Number of ratings, highlights, notes and responses; a thousand characters of a text count like one of them."""
    if isinstance(file, FinishedRatings):
        texts = sum(len(str(text)) for text in file.texts.values()) // 1000
        return len(file.ratings) + len(file.highlights) + len(file.notes) + texts + _size(file.items)
    return file.size if file else 0


def files_preview(files: Sequence[FinishedRatings]) -> None:
    """Every file: its format, what was recognised, what was ignored, and all problems by row."""
    for file in files:
        with st.container(border=True):
            counts = {"rating": len(file.ratings), "highlight": len(file.highlights), "free text": len(file.notes)}
            counts["item"] = len(file.items.items) if file.items else 0
            parts = [counted(number, word) for word, number in counts.items() if number]
            st.text(f"{file.name}: {file.format}, {', '.join(parts) or 'nothing'}")
            columns = len(file.recognised) + len(file.ignored)
            with st.expander(f"{columns} columns or fields, {len(file.ignored)} ignored"):
                st.dataframe(column_meanings(file), hide_index=True)
            problems(file.problems)


def problems(problems: Sequence[Problem]) -> None:
    """An explanation of errors, then all problems."""
    if any(problem.severity == "error" for problem in problems):
        state.say("Nothing can be imported until this is corrected:")
    problem_lists(problems)


def choose_asked(files: Sequence[FinishedRatings]) -> Asked | None:
    """How values are interpreted: by a rubric proposed from them and confirmed here, or by an existing one."""
    way = st.radio("Rubric", [PROPOSED, EXISTING], horizontal=True, key="rubric_way")
    try:
        if way == PROPOSED:
            st.caption(ENDS_NOTE)
            criteria = tuple(_criterion(criterion) for criterion in import_ratings.proposed(files))
            return import_ratings.asked_as_proposed("Imported ratings", files, criteria)
        chosen = choose_rubric()
        return None if chosen is None else _mapped(import_ratings.asked_by(chosen[0], files))
    except (ImportRefused, InvalidRubric) as refusal:
        state.say(str(refusal))
        return None


def _mapped(asked: Asked) -> Asked:
    """Criteria missing from the rubric may be left out; those added for judges' scores are listed."""
    added = [criterion.title for criterion in asked.rubric.criteria if criterion.key in asked.scores]
    if added:
        st.text(f"Added to the rubric for judges' scores, to be analysed like metrics: {', '.join(added)}.")
    unmatched = [name for name, key in asked.names.items() if not key]
    if not unmatched:
        return asked
    left_out = st.multiselect("Not in this rubric; ignore it", unmatched, key="strangers")
    return replace(asked, names=dict(asked.names) | dict.fromkeys(left_out))


def _criterion(proposal: ProposedCriterion) -> ProposedCriterion:
    """One proposed criterion with the lead's changes."""
    with st.container(border=True):
        left, right = st.columns([2, 5])
        left.text(proposal.name)
        left.caption("about the item" if proposal.about == "item" else "about each response")
        most = sorted(proposal.values.items(), key=_in_order)[:MAX_VALUES]
        more = f" and {len(proposal.values) - len(most):,} more" if len(proposal.values) > len(most) else ""
        right.text("Values: " + ", ".join(f"{_display(value)} ({number:,})" for value, number in most) + more)
        for remark in proposal.remarks:
            state.say(remark, "warning")
        with right:
            chosen = _scale(proposal)
        if chosen.unfit:
            rows = sum(proposal.values[value] for value in chosen.unfit)
            misfits = ", ".join(repr(value) for value in chosen.unfit[:MAX_VALUES])
            state.say(
                f"{rows:,} rating(s) do not fit: {misfits}. Change the scale, or choose them under Means missing."
            )
        return chosen


def _in_order(counted: tuple[str, int]) -> tuple[float, int]:
    """Sort key: numbers ascending, then other values, most frequent first."""
    number = number_in(counted[0])
    return (float("inf") if number is None else number), -counted[1]


def _display(value: str) -> str:
    return value or "(empty)"


def _scale(proposal: ProposedCriterion) -> ProposedCriterion:
    uses: list[Use] = list(USE_LABELS) if proposal.numbers else ["nominal", "ordinal", "leave out"]
    if not proposal.numbers and not 0 < len(proposal.labels) <= MAX_OPTIONS:
        uses = ["leave out"]
    key = f"proposed-{proposal.key}"
    use = st.selectbox("Level", uses, uses.index(proposal.use), USE_LABELS.__getitem__, key=f"{key}-use")
    if use == "leave out":
        return replace(proposal, use=use)
    offered = list(dict.fromkeys([*proposal.unfit, *proposal.missing, *proposal.values]))[:MAX_OFFERED]
    names = distinct({value: _display(value) for value in offered})
    missing = tuple(st.multiselect("Means missing", offered, proposal.missing, names.__getitem__, key=f"{key}-missing"))
    if proposal.numbers:
        columns = st.columns(3)
        low = columns[0].number_input("Lowest", value=float(proposal.low), format="%g", key=f"{key}-low")
        high = columns[1].number_input("Highest", value=float(proposal.high), format="%g", key=f"{key}-high")
        step = columns[2].number_input("Step", 1e-6, None, float(proposal.step), format="%g", key=f"{key}-step")
        return replace(proposal, use=use, low=low, high=high, step=step, missing=missing)
    labels = proposal.labels
    if use == "ordinal":
        labels = tuple(st.multiselect("Options, lowest first", labels, labels, key=f"{key}-labels"))
    good = tuple(st.multiselect("Counts as positive", labels, list(proposal.positive), key=f"{key}-positive"))
    return replace(proposal, use=use, labels=labels, missing=missing, positive=good)


def assembled(
    files: Sequence[FinishedRatings], asked: Asked, items: ItemFile | None, duplicates: Duplicates
) -> Assembled:
    """All files combined; computed only after a change."""
    source = (files, asked, items, duplicates)
    return read_once(ASSEMBLED, lambda: assemble(*source), lambda _: sum(map(_size, files)), source)


def assembled_preview(result: Assembled) -> None:
    """The resulting study, and problems that appear only when the files are combined."""
    st.text(result.summary()[-1])
    problems(result.problems)
    if result.ok:
        state.say("The ratings can be imported.", "success")

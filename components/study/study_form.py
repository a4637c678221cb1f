"""The form of a new study: rubric, item file and how to read it, settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import streamlit as st

from components.shell import state
from components.shell.choices import choose
from components.shell.uploads import Upload, content_of, forget_read, read_once, recall_read
from components.shell.words import read_aloud
from components.study.column_roles import choose_item_roles
from triptych.errors import ImportRefused, InvalidRubric
from triptych.formats import read_items
from triptych.formats.joined import join_files
from triptych.formats.model import MAX_UPLOAD, ItemFile, ReadOptions
from triptych.formats.readers import READERS
from triptych.rubric.files import EMPTY_RUBRIC, parse_rubric, read_shipped
from triptych.rubric.model import Rubric
from triptych.storage.models import Access, Round
from triptych.study.lifecycle import LONGEST_TITLE, MOST_RATERS, StudyPlan, usual_plan

OWN_QUESTIONS, OWN_FILE = "My own questions, written next", "A rubric file of my own (YAML)"
EXAMPLE_ITEMS = """\
item_id,context,cand:system one,cand:system two
1,"Do I have to pay? I returned both books on Saturday.","No. They are booked in on Monday.","Please pay at the desk."
2,"When do you open on Sundays?","At ten.","We are closed on Sundays, but the night box is open."
"""
FILE_LAYOUTS = ["One file", "One file per system"]
COLUMNS = 3
LATEST, BEFORE = "file_latest", "file_before"
ACCESS = {
    Access.open: "Open: anyone with the address",
    Access.invited: "Invited: personal links only",
    Access.panel: "Panel: people sent by a panel such as Prolific",
}
ROUNDS = {
    Round.pilot: "Pilot: a first try, never mixed with the main round",
    Round.main: "Main",
    Round.expert: "Expert",
    Round.crowd: "Crowd",
}
PRESENTATIONS = {
    "side_by_side": "Side by side",
    "succession": "One response after another",
}


def choose_rubric() -> tuple[str, Rubric] | None:
    """The rubric's YAML and the rubric; None if none is chosen, or after showing its mistakes."""
    shipped = read_shipped()
    titles = {key: rubric.title for key, (_, rubric) in shipped.items()}
    chosen = choose("Rubric", {**titles, OWN_QUESTIONS: OWN_QUESTIONS, OWN_FILE: OWN_FILE}, "rubric")
    if chosen == OWN_QUESTIONS:
        st.caption("Once the study exists, its set-up opens with a form for your questions.")
        return EMPTY_RUBRIC, parse_rubric(EMPTY_RUBRIC)
    if chosen != OWN_FILE:
        st.caption("You can change it in the study's set-up once the study exists.")
        return shipped[chosen]
    upload = st.file_uploader("Rubric file (YAML)", type=["yaml", "yml"], key="rubric_file", max_upload_size=1)
    if upload is None:
        st.caption("The shipped files in the folder rubrics/ are good examples; its README describes every field.")
    example = next(iter(shipped.values()))[0]
    st.download_button("Example of a rubric (YAML)", example, "rubric.yaml", on_click="ignore")
    return None if upload is None else _read_own(upload)


def _read_own(upload: Upload) -> tuple[str, Rubric] | None:
    """The text of an uploaded rubric and the rubric; None after showing its mistakes."""
    try:
        text = upload.getvalue().decode("utf-8")
        return text, parse_rubric(text, upload.name)
    except UnicodeDecodeError:
        state.say(f"{upload.name} is not UTF-8 text.")
    except InvalidRubric as refusal:
        state.say("This rubric cannot be used yet:")
        st.text(str(refusal))
    return None


def choose_file(rubric: Rubric, key: str = "item_file") -> ItemFile | None:
    """The uploaded items, read with the lead's choices; None without a file or if it cannot be read."""
    one_file = FILE_LAYOUTS[0]
    layout = st.segmented_control("Responses come in", FILE_LAYOUTS, default=one_file, required=True, key=f"{key}-way")
    st.download_button("Example of a file of items (CSV)", EXAMPLE_ITEMS, "items.csv", "text/csv", on_click="ignore")
    label, megabytes = f"Items ({', '.join(READERS).upper()})", MAX_UPLOAD // 2**20
    if layout != one_file:
        several = st.file_uploader(label, list(READERS), True, key=f"{key}-several", max_upload_size=megabytes)
        return _joined(several, rubric, key)
    upload = st.file_uploader(label, list(READERS), key=key, max_upload_size=megabytes)
    if upload is None:
        return None
    judged = rubric.judged == "conversation"
    options = ReadOptions(judge_conversation=judged)
    try:
        data = content_of(upload)
        if data is None:
            return None
        file = _read(upload, data, options)
        sheet = _choose_sheet(file)
        if sheet:
            options = replace(options, sheet=sheet)
            file = _read(upload, data, options)
        roles = choose_item_roles(file) if file.roles else {}
        if roles != file.roles:
            options = replace(options, roles=tuple(roles.items()))
            file = _read(upload, data, options)
        if judged and file.fields:
            field, speaker = _choose_last_turn(file, rubric)
            more = replace(options, append_field=field, append_speaker=speaker)
            file = _read(upload, data, more) if field else file
    except ImportRefused as refusal:
        state.say(str(refusal))
        return None
    return file


def _joined(uploads: Sequence[Upload], rubric: Rubric, key: str) -> ItemFile | None:
    """Files of one system each, joined by item id; the lead names the systems."""
    if not uploads:
        st.caption(
            "Every file contains the same item ids and the responses of one system. Contexts may be in any of them."
        )
        return None
    columns = st.columns(min(len(uploads), COLUMNS))
    named = []
    for place, upload in enumerate(uploads):
        with columns[place % len(columns)]:
            label = f"System of {upload.name}"
            st.text(label)
            named_after, place_key = Path(upload.name).stem, f"{key}-system-{place}"
            system = st.text_input(read_aloud(label), named_after, 200, place_key, label_visibility="collapsed")
        data = content_of(upload)
        if data is not None:
            named.append((upload.name, data, system))
    if len(named) < len(uploads):
        return None
    try:
        return join_files(named, ReadOptions(judge_conversation=rubric.judged == "conversation"))
    except ImportRefused as refusal:
        state.say(str(refusal))
        return None


def _read(upload: Upload, data: bytes, options: ReadOptions) -> ItemFile:
    """Read a file once for each combination of options, not in every run."""
    key, latest = (upload.file_id, options), state.recall(LATEST)
    if latest is None or latest[0] != upload.file_id:
        state.remember(BEFORE, latest)
    state.remember(LATEST, key)
    return read_once(key, lambda: read_items(data, upload.name, options), lambda file: file.size)


def file_before() -> ItemFile | None:
    """The items file uploaded before the current one, as last read; None if it is no longer in memory."""
    before = recall_read(state.recall(BEFORE))
    return before[1] if before else None


def forget_files() -> None:
    """Forget the items files after they were added to a study."""
    forget_read()
    for name in (LATEST, BEFORE):
        state.forget(name)


def _choose_sheet(file: ItemFile) -> str | None:
    if len(file.sheets) < 2:
        return None
    return st.selectbox("Sheet", file.sheets, index=None, placeholder="The one that looks like items", key="sheet")


def _choose_last_turn(file: ItemFile, rubric: Rubric) -> tuple[str | None, str | None]:
    """The field with the last turn, if it is outside the list of turns, and its speaker."""
    left, right = st.columns(2)
    field = left.selectbox("Append as last turn", file.fields, index=None, placeholder="Nothing", key="append_field")
    if field is None:
        return None, None
    speakers = [name for speaker in rubric.speakers for name in speaker.names]
    names = list(dict.fromkeys([*file.speakers, *speakers]))
    label = "Speaker"
    return field, right.selectbox(label, names, index=None, accept_new_options=True, key="append_speaker")


def choose_plan(rubric: Rubric) -> StudyPlan:
    """The lead's decisions about a study, not yet validated."""
    title = st.text_input("Title", max_chars=LONGEST_TITLE, help="Annotators see it.", key="title")
    left, right = st.columns(2)
    place_of_raters = left.container()
    limit = right.number_input("Most items for one annotator", 1, None, None, placeholder="No limit", key="limit")
    access = choose("Who may take part", ACCESS, "access", Access.open, left)
    key = f"presentation-{rubric.key}"
    presentation = choose("Responses appear", PRESENTATIONS, key, rubric.presentation, right)
    study_round = choose("Round", ROUNDS, "round", Round.main, left)
    usual = rubric.start_in(study_round).raters_per_item
    key = f"raters-{usual}" if usual else "raters"
    raters = place_of_raters.number_input(
        "Annotators per item", 1, MOST_RATERS, usual or StudyPlan.raters_per_item, key=key
    )
    return usual_plan(
        title=title.strip(),
        raters_per_item=raters,
        access=access,
        round=study_round,
        presentation=presentation,
        items_per_annotator=limit,
    )

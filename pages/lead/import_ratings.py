"""Import of finished ratings from elsewhere; everything is previewed before it is stored."""

from __future__ import annotations

import streamlit as st

from components.shell import state, uploads
from components.study import ratings_preview as preview
from components.study.text_formats import choose_formats
from triptych.exchange import import_ratings
from triptych.formats.ratings.assemble import Assembled
from triptych.storage.models import Access
from triptych.study.lifecycle import LONGEST_TITLE, MOST_RATERS, StudyPlan

FORMATS = (
    "Tables with item_id, system, annotator, criterion, value (or a column for each criterion or annotator), as CSV, "
    "XLSX, Parquet or JSON, nested JSON whose levels you can name, and the files of Label Studio, Argilla, factgenie, "
    "Pearmut and Mechanical Turk. Tables of highlights have item_id, system, annotator, label, start, end, quote. "
    "A zip may hold several files, an export of this app or the whole project folder of Potato."
)
MANY_WORKS = 5000  # annotations, which take seconds to store
HOLDS_WRITERS = (
    "{count:,} annotations are stored at once. Without PostgreSQL nobody can store anything in any study meanwhile; "
    "browsers of annotators repeat what they sent. Import when few people annotate."
)
CLOSED, OPEN = "Finished: the study is closed", "Unfinished: the study stays open for people you invite"


def choose_plan(assembled: Assembled) -> tuple[StudyPlan, bool]:
    """Title, how texts are shown, and whether the study stays open, which requires the texts."""
    title = st.text_input("Title", max_chars=LONGEST_TITLE, key="title")
    state_after = st.radio("These ratings are", [CLOSED, OPEN] if assembled.has_texts else [CLOSED], key="state_after")
    raters = 1
    if state_after == OPEN:
        raters = st.number_input("Annotators per item in total", 1, MOST_RATERS, 3, key="raters")
    formats = choose_formats(assembled.items)
    plan = StudyPlan(title=title.strip(), raters_per_item=raters, access=Access.invited, formats=formats)
    return plan, state_after == OPEN


who = state.require("lead")
st.title("Import ratings", anchor=False)
st.header("1. The files", anchor=False)
st.caption(FORMATS)
files, duplicates = preview.choose_files()
items, usable = preview.choose_items()
if not files:
    st.stop()
preview.files_preview(files)
if not usable or not all(file.ok for file in files):
    st.stop()

st.header("2. The scales", anchor=False)
mapping = preview.choose_asked(files)
if mapping is None:
    st.stop()

st.header("3. The study", anchor=False)
assembled = preview.assembled(files, mapping, items, duplicates)
preview.assembled_preview(assembled)
if not assembled.ok:
    st.stop()
plan, stays_open = choose_plan(assembled)
if len(assembled.works) > MANY_WORKS:
    st.caption(HOLDS_WRITERS.format(count=len(assembled.works)))
if state.button("Import", "import-ratings", type="primary"):
    study = state.run_command(import_ratings.import_ratings, plan, assembled, who, stays_open=stays_open)
    if study:
        uploads.forget_read()
        st.switch_page("lead/results.py", query_params={"study": study.slug})
state.show_messages()
st.caption(
    "Names of annotators and systems stay hidden, as in every study: pseudonyms, and System 1, 2, … until unblinding."
)

"""Exports and unblinding on the results page."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import streamlit as st

from components.results import charts
from components.shell import state
from components.shell.choices import certain, choose
from components.shell.words import size
from triptych import settings
from triptych.exchange import exports, underway
from triptych.exchange.underway import Underway
from triptych.formats.writers import FORMATS, ExportFormat
from triptych.formats.writers.model import ExportOptions
from triptych.results.page import Board
from triptych.stats.numbers import counted
from triptych.storage.models import Study
from triptych.study import copies, lifecycle
from triptych.study.persons import Who

BLIND = (
    "From now on, system names appear on every page and in every export of this study, for all its leads. Anything "
    "that leads rate or decide after this is not blind. This is logged and cannot be undone."
)
BLIND_COPIES = "You will also know which system is which in these blind studies with the same responses: {titles}."
BLIND_FILES = (
    "This study is blind, so systems are called System 1, 2, … here. To include their names, unblind the study first."
)
NOT_PUBLIC = (
    "Exports contain the ratings and texts of all annotators, whatever they agreed to have published. For publication, "
    f"make an archive with the command “{settings.program()} study archive”."
)
EVERY = ""
ASK_SECONDS = 1.0


def study_tools(board: Board, who: Who) -> None:
    """Exports, and unblinding, which is irreversible and logged for `who`."""
    study = board.study
    with st.popover("Export"):
        st.link_button("Ratings as CSV", f"export/{study.slug}/ratings.csv")
        if board.frame.rubric.highlights:
            st.link_button("Highlights as CSV", f"export/{study.slug}/highlights.csv")
        st.link_button("Comments as CSV", f"export/{study.slug}/comments.csv")
        asked = board.frame.rubric.asked(board.frame.round)
        export_menu(study, {criterion.key: criterion.title for criterion in asked}, who.person_id)
        charts.choose_picture()
    if study.unblinded_at is None:
        with st.popover("Unblind"):
            overview = board.overview
            reach = f"Unblinding at {overview.done} of {counted(overview.expected, 'annotation')}."
            losses = f"{reach} {BLIND}{_named(study, who)}"
            certainty = certain(who, "Show the system names", losses, f"unblind-{study.slug}")
            if certainty:
                state.run_command(lifecycle.unblind, study, certainty)
                st.rerun()


def _named(study: Study, who: Who) -> str:
    """A sentence about the blind copies of the study, whose systems become known with its own."""
    titles = [f"“{copy.title}”" for copy in state.read(copies.blind_copies, study, who)]
    return f" {BLIND_COPIES.format(titles=', '.join(titles))}" if titles else ""


def export_menu(study: Study, criteria: Mapping[str, str], person_id: int) -> None:
    """A box to choose a format, and a link that downloads it. `criteria`: key → title; `person_id`: who downloads."""
    key = choose("Format", {key: each.title for key, each in FORMATS.items()}, f"export-{study.slug}")
    chosen = FORMATS[key]
    st.text(chosen.sentence)
    st.caption(NOT_PUBLIC)
    options = _options(chosen, criteria, f"export-{study.slug}")
    if study.unblinded_at is None and chosen.names_systems:
        st.caption(BLIND_FILES)
    with (box := st.expander("How its files begin", key=f"first-lines-{study.slug}", on_change="rerun")):
        if box.open:
            _first_lines(study, key, options)
    query = f"?{urlencode(options)}" if options else ""
    address, asked = f"export/{study.slug}/{key}.zip{query}", (person_id, study.slug)
    name = f"download-{study.slug}"
    st.link_button(
        "Download", address, icon=":material/download:", key=name, on_click=underway.ask, args=asked, type="primary"
    )
    latest = underway.newest(*asked)
    if latest is not None:
        _how_far(latest, *asked)


def _first_lines(study: Study, key: str, options: Mapping[str, str]) -> None:
    """The first lines of each file with the current data."""
    asked = ExportOptions(float(options.get("margin", 0)), options.get("criterion"))
    with state.reading() as session:
        for name, lines in exports.first_lines(session, study, key, asked):
            st.caption(state.plain(name))
            st.code(lines, language=None)


def _how_far(shown: Underway, person_id: int, slug: str) -> None:
    """Progress of the file that is being written, until all are; the download continues without the page."""
    if shown.has_ended:
        whole = f"The download is complete: {size(shown.sent)}."
        st.caption(whole if shown.is_whole else "The download ended before the last file. Start it again.")
        return

    @st.fragment(run_every=ASK_SECONDS)
    def follow() -> None:
        if shown.has_ended or underway.newest(person_id, slug) is not shown:
            state.run_again_by_itself()
        rows = f", {shown.walked:,} of {shown.rows:,} rows" if shown.rows else ""
        doing = f"Writing {shown.file}{rows}." if shown.file else "The download starts."
        st.progress(shown.share, text=state.plain(f"{doing} You can leave this page in the meantime."))

    follow()


def _options(chosen: ExportFormat, criteria: Mapping[str, str], name: str) -> dict[str, str]:
    """The options of the format as query parameters."""
    options: dict[str, str] = {}
    if "criterion" in chosen.asks:
        picked = choose("Criterion", {EVERY: "Every criterion", **criteria}, f"{name}-criterion")
        options |= {"criterion": picked} if picked else {}
    if "margin" in chosen.asks:
        hint = (
            "Pairs whose mean ratings differ by no more than this count as ties and are left out. In units of the "
            "scale."
        )
        margin = st.number_input("Margin", min_value=0.0, value=0.0, step=0.1, help=hint, key=f"{name}-margin")
        options["margin"] = f"{margin:g}"
    return options

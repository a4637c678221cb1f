"""Exporting a study's data: which format, what it asks, and the link."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import streamlit as st

from components.shell.choices import choose
from triptych.formats.writers import FORMATS, ExportFormat
from triptych.storage.models import Study

BLIND = "This study is blind, so systems are called System 1, 2, … here. To get their names, unblind the study first."
EVERY = ""


def export_menu(study: Study, criteria: Mapping[str, str]) -> None:
    """A box to choose a format and a link that downloads it. criteria: key → title."""
    key = choose("Format", {key: each.title for key, each in FORMATS.items()}, f"export-{study.slug}")
    chosen = FORMATS[key]
    st.text(chosen.sentence)
    options = _options(chosen, criteria, f"export-{study.slug}")
    if study.unblinded_at is None and chosen.names_systems:
        st.caption(BLIND)
    query = f"?{urlencode(options)}" if options else ""
    st.link_button("Download", f"export/{study.slug}/{key}.zip{query}", icon=":material/download:")


def _options(chosen: ExportFormat, criteria: Mapping[str, str], name: str) -> dict[str, str]:
    """What the format asks, as it is in the address."""
    options: dict[str, str] = {}
    if "criterion" in chosen.asks:
        picked = choose("Criterion", {EVERY: "Every criterion", **criteria}, f"{name}-criterion")
        options |= {"criterion": picked} if picked else {}
    if "margin" in chosen.asks:
        hint = "Pairs whose mean ratings differ by no more than this are ties and left out. In units of the scale."
        margin = st.number_input("Margin", min_value=0.0, value=0.0, step=0.1, help=hint, key=f"{name}-margin")
        options["margin"] = f"{margin:g}"
    return options

"""How the texts of a study are shown: a proposal for an uploaded file, and the lead's choice."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from components.shell.choices import choose
from triptych.formats.model import ItemDraft
from triptych.formats.texts.text_format import Field, Format, proposals
from triptych.stats.numbers import counted
from triptych.study.settings import Formats

FIELD_LABELS: dict[Field, str] = {"context": "Contexts", "responses": "Responses", "extra_texts": "Further texts"}
FORMAT_NAMES: dict[Format, str] = {"plain": "Plain text", "markdown": "Markdown, formatted"}
NOTE = (
    "One format applies to all systems, and it cannot change after launch. Plain text shows Markdown markup literally."
)


def choose_formats(items: Sequence[ItemDraft]) -> Formats:
    """Choose a format for each field of the items; the preset is guessed from the texts."""
    proposed = proposals(items)
    if not proposed:
        return Formats()
    st.caption("How texts are shown to annotators")
    formats: dict[str, Format] = {}
    for column, (field, proposal) in zip(st.columns(len(FIELD_LABELS)), proposed.items(), strict=False):
        # a new key for each proposal, so that the box shows it
        name = f"format-{field}-{proposal.format}"
        formats[field] = choose(FIELD_LABELS[field], FORMAT_NAMES, name, proposal.format, column)
        column.caption(f"{proposal.marked:,} of {counted(proposal.texts, 'text')} look like Markdown.")
    st.caption(NOTE)
    return Formats(**formats)

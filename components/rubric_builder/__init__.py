"""The rubric form next to the workbench: one component that saves while a lead types. No script run, no rule."""

from __future__ import annotations

import json
from dataclasses import asdict

import streamlit as st

from components.shell.state import will_run_by_itself
from components.workbench import AHEAD_OF_WORKBENCH, from_assets
from triptych.rubric import fields
from triptych.rubric.scales import KINDS
from triptych.storage.models import JsonObject
from triptych.web.session import stored_name

_mount = st.components.v2.component(
    "triptych.rubric_builder",
    js=from_assets("rubric_builder/builder.js", AHEAD_OF_WORKBENCH),
    isolate_styles=False,
)


def rubric_builder(
    slug: str, state: JsonObject, sources: list[tuple[str, str]], *, pseudonym: str, locked: bool
) -> None:
    """Draw the form, its YAML and the first item.

    `state` is the result of `preview.rubric_form.look`; a `locked` form is read-only.
    `pseudonym`: the person whose unsaved text a reload brings back.
    """
    form = {name: [asdict(field) for field in parts] for name, parts in fields.form().items()}
    kinds = {kind: scale.__name__ for kind, scale in KINDS.items()}
    data = {"stored": stored_name(pseudonym, slug), "study": slug, "locked": locked, "sources": sources}
    data |= {"form": form, "kinds": kinds, "nouns": fields.NOUNS}
    # as one string: Streamlit searches nested data for Arrow tables, and imports pandas to do so
    _mount(
        data={"json": json.dumps({**data, "state": state})},
        key=f"rubric-builder-{slug}",
        on_stored_change=will_run_by_itself,
    )

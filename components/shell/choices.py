"""Choosing one of several by its name; confirming what cannot be undone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

Key = TypeVar("Key")


def choose(
    label: str,
    names: Mapping[Key, str],
    key: str,
    current: Any = None,
    place: DeltaGenerator | None = None,
    **more: Any,
) -> Key:
    """The chosen key of `names`, which the box shows by name; at first `current`, or the first one.

    `place`: a column to draw the box in; `more`: as for st.selectbox.
    """
    keys = list(names)
    index = keys.index(current) if current in names else 0
    return (place or st).selectbox(label, keys, index, format_func=names.__getitem__, key=key, **more)


def confirmed(label: str, consequence: str, button: str, key: str, sure: str = "", **more: Any) -> bool:
    """Whether the lead pressed `button`, which stands under its consequence, behind the button `label`.

    sure: what must be ticked before it; `more`: as for st.button.
    """
    with st.popover(label):
        st.text(consequence)
        ticked = not sure or st.checkbox(sure, key=f"{key}-sure")
        return st.button(button, key=key, disabled=not ticked, **{"type": "primary", **more})

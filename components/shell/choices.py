"""Choosing one of several by name or by a tab, and confirming irreversible actions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components.shell import state
from triptych.languages import language
from triptych.languages.language import _
from triptych.study.persons import Certainty, Who

Key = TypeVar("Key")
ASKED = "Your passcode (you last gave it more than 15 minutes ago)"


def choose(
    label: str,
    names: Mapping[Key, str],
    key: str,
    current: Any = None,
    place: DeltaGenerator | None = None,
    **more: Any,
) -> Key:
    """A box that shows the values of `names` and returns the chosen key; at first `current`, or the first one.

    `place`: a column to draw the box in; `more`: options of st.selectbox. A key None is handed on as "": Streamlit
    draws a cross in a box whose choice is None.
    """
    keys = {"" if each is None else each: each for each in names}
    shown = distinct(names)
    index = list(names).index(current) if current in names else 0
    chosen = (place or st).selectbox(
        label, list(keys), index, format_func=lambda each: shown[keys[each]], key=key, **more
    )
    return keys.get(chosen, chosen)


def choose_for_act(label: str, names: Mapping[Key, str], key: str, **more: Any) -> Key | None:
    """As `choose`, for what a button acts on. None until one is chosen, and again when the chosen one is gone: in the
    box of `choose`, the first one would take its place, also for a click that was meant for the other.

    The button's key names the chosen one, unless both are in one form.
    """
    shown = distinct(names)
    return st.selectbox(label, list(names), None, format_func=lambda each: shown.get(each, ""), key=key, **more)


def distinct(names: Mapping[Key, str]) -> dict[Key, str]:
    """The browser sends names, so equal ones get their keys; a choice of the app's own, without a key, gets none."""
    often = Counter(names.values())
    return {
        each: name if often[name] == 1 or each in ("", None) else f"{name} · {each}" for each, name in names.items()
    }


def in_tabs(sections: Mapping[str, Callable[..., None]], key: str, *arguments: object) -> None:
    """Sections as tabs under their titles; only that of the open tab is drawn, by its function with the arguments."""
    for tab, draw in zip(st.tabs(list(sections), key=key, on_change="rerun"), sections.values(), strict=True):
        if tab.open:
            with tab:
                draw(*arguments)


def choose_language(who: Who | None) -> None:
    """A box of the available languages; the choice applies from the next run on."""
    names = {code: language.language(code).name for code in language.codes()}
    used = language.used()
    key = f"language-{used}"
    choose(_("Language"), names, key, used, on_change=lambda: state.choose_language(who, state.recall(key)), width=220)


def confirmed(label: str, consequence: str, button: str, key: str, sure: str = "", **more: Any) -> bool:
    """Whether `button` was pressed, which appears below its consequence after a click on the button `label`.

    sure: the label of a box to tick first; `more`: options of st.button.
    """
    with st.popover(label):
        st.text(consequence)
        ticked = not sure or st.checkbox(sure, key=f"{key}-sure")
        return state.button(button, key, disabled=not ticked, **{"type": "primary", **more})


def certain(who: Who, label: str, losses: str, key: str) -> Certainty | None:
    """Draw what will be lost, and a button. Returns the proof once the lead has confirmed and typed their passcode,
    unless they did so recently.
    """
    with st.form(f"certain-{key}", border=False):
        st.text(losses)
        is_fresh = state.passcode_is_fresh(who)
        passcode = "" if is_fresh else st.text_input(ASKED, type="password", autocomplete="current-password")
        is_sure = st.checkbox("I am sure", key=f"certain-{key}-sure")
        pressed = state.form_button(label, f"certain-{key}-pressed", type="primary")
    if pressed and not is_sure:
        state.say("Nothing was changed. Tick the box first.", "info")
    certainty = state.certainty(who, passcode) if pressed and is_sure else None
    if pressed and not certainty:
        state.show_messages()
    return certainty

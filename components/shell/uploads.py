"""Uploaded files: their content after a lead has confirmed an unclear encoding, and what was read from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from itertools import islice
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import streamlit as st

from components.shell import state
from triptych.errors import ImportRefused
from triptych.formats.decode import SAVE_AS, UnconfirmedEncoding, recoded, unconfirmed
from triptych.formats.ratings import ARCHIVE, archives
from triptych.stats.numbers import counted

SHOWN_FILES = 5
# ratings and responses that all tabs keep as read, about 1 GB; a tab with more keeps what it read last
MOST_KEPT = 800_000
TAB = "uploads as read"
T = TypeVar("T")
Upload = st.runtime.uploaded_file_manager.UploadedFile


class _Tab:
    """What one tab has read: key → (value, its number of ratings and responses). It ends with the tab."""

    def __init__(self) -> None:
        self.read: dict[Hashable, tuple[object, int]] = {}


_tabs: WeakKeyDictionary[_Tab, None] = WeakKeyDictionary()  # the one that read last is the last
_lock = Lock()


def recall_read(key: Hashable) -> Any:
    """What this tab has read under the key; None if nothing, or if other tabs needed the memory since."""
    return _own().read.get(key, (None, 0))[0]


def keep_read(key: Hashable, value: T, size: int) -> T:
    """Keep what was read from uploads for later runs of this tab. size: its number of ratings and responses."""
    own = _own()
    with _lock:
        _tabs.pop(own, None)
        _tabs[own] = None
        own.read[key] = value, size
        for tab in [*list(_tabs)[:-1], own]:
            if sum(size for other in _tabs for _, size in other.read.values()) > MOST_KEPT:
                tab.read = {key: own.read[key]} if tab is own else {}
    return value


def read_once(key: Hashable, read: Callable[[], T], size: Callable[[T], int], source: object = None) -> T:
    """What `read` returns, kept under the key for later runs of this tab, while `source` is the same."""
    before: tuple[object, T] | None = recall_read(key)
    if before is None or before[0] != source:
        now = read()
        before = keep_read(key, (source, now), size(now))
    return before[1]


def forget_read() -> None:
    """Forget what this tab has read, after it was stored."""
    state.forget(TAB)


def _own() -> _Tab:
    tab: _Tab | None = state.recall(TAB)
    if tab is None:
        state.remember(TAB, tab := _Tab())
    return tab


def content_of(upload: Upload) -> bytes | None:
    """The file's bytes, with text converted to UTF-8, also in a zip; None until the user has confirmed an unclear
    encoding.

    Other content is returned unchanged.
    """
    data, key = upload.getvalue(), f"encodings-{upload.file_id}"
    confirmed: Mapping[str, str] | None = state.recall(key)
    if confirmed is None:
        questions = _questions(upload.name, data)
        if questions:
            _ask(upload.name, questions, key)
            return None
        state.remember(key, confirmed := {})
    if not confirmed:
        return data
    for name, encoding in islice(confirmed.items(), SHOWN_FILES):
        st.text(f"{name} is read as {encoding}.")
    _mention_others(confirmed)
    return archives.recoded_zip(data, confirmed) if _is_zip(upload.name) else recoded(data, confirmed[upload.name])


def _is_zip(name: str) -> bool:
    return name.casefold().endswith(f".{ARCHIVE}")


def _questions(name: str, data: bytes) -> dict[str, UnconfirmedEncoding]:
    """The texts with an unclear encoding; those of a zip by their names in it."""
    if not _is_zip(name):
        return {name: question} if (question := unconfirmed(data)) else {}
    try:
        return archives.unconfirmed(data)
    except ImportRefused:
        return {}


def _ask(upload_name: str, questions: Mapping[str, UnconfirmedEncoding], key: str) -> None:
    """The likely encoding and the first lines of each text, to be confirmed together."""
    for name, question in islice(questions.items(), SHOWN_FILES):
        place = name if name == upload_name else f"{upload_name}, {name}"
        state.say(
            f"{place}: {question.at_fault}. It looks like {question.encoding}. Read that way, it begins:", "warning"
        )
        st.text(question.lines)
    encodings = {name: question.encoding for name, question in questions.items()}
    _mention_others(encodings)
    label = f"Read it as {question.encoding}" if len(questions) == 1 else "Read them this way"
    st.button(label, key=f"confirm-{key}", on_click=state.remember, args=(key, encodings))
    st.caption(f"If letters look wrong: {SAVE_AS}")


def _mention_others(encodings: Mapping[str, str]) -> None:
    """How many more files there are, by encoding."""
    others = Counter(islice(encodings.values(), SHOWN_FILES, None))
    if others:
        st.text("And " + ", ".join(f"{counted(number, 'file')} in {name}" for name, number in others.items()) + ".")

"""The content of an uploaded text after a lead has confirmed its encoding, if the file does not state it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice

import streamlit as st

from components.shell import state
from triptych.errors import ImportRefused
from triptych.formats.decode import SAVE_AS, UnconfirmedEncoding, decode, recoded, refuse_other_content
from triptych.formats.ratings import ARCHIVE, archives
from triptych.stats.numbers import counted

SHOWN_FILES = 5


def content_of(upload: st.runtime.uploaded_file_manager.UploadedFile) -> bytes | None:
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
    try:
        if _is_zip(name):
            return archives.unconfirmed(data)
        refuse_other_content(data)
        decode(data)
    except UnconfirmedEncoding as question:
        return {name: question}
    except ImportRefused:
        pass
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

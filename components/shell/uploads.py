"""The content of an uploaded text, once a lead has confirmed an encoding that the file does not name."""

from __future__ import annotations

import streamlit as st

from components.shell import state
from triptych.errors import ImportRefused
from triptych.formats.decode import SAVE_AS, UnconfirmedEncoding, decode, recoded, refuse_other_content


def content_of(upload: st.runtime.uploaded_file_manager.UploadedFile) -> bytes | None:
    """The file's bytes, a text as UTF-8; None while its encoding is to be confirmed, which this asks for.

    What is no text at all is left to its reader.
    """
    data, key = upload.getvalue(), f"encoding-{upload.file_id}"
    encoding = state.recall(key)
    if encoding is not None:
        st.text(f"{upload.name} is read as {encoding}.")
        return recoded(data, encoding)
    try:
        refuse_other_content(data)
        decode(data)
    except UnconfirmedEncoding as question:
        state.say(
            f"{upload.name}: {question.at_fault}. It looks like {question.encoding}. Read so, it begins:", "warning"
        )
        st.text(question.lines)
        st.button(
            f"Read it as {question.encoding}",
            key=f"confirm-{key}",
            on_click=state.remember,
            args=(key, question.encoding),
        )
        st.caption(f"If letters look wrong: {SAVE_AS}")
        return None
    except ImportRefused:
        pass
    return data

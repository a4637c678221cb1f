"""Streamlit makes an address for each file name that a page asks for, whoever asks, while the server waits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps

from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadFileUrlInfo

MOST_FILES_AT_ONCE = 200  # that somebody chooses in one dialog; about two milliseconds


def limit_upload_addresses() -> None:
    """Answer only the first names of a message: a million of them stalled the server for a quarter of a minute."""
    unlimited = MemoryUploadedFileManager.get_upload_urls

    @wraps(unlimited)
    def limited(
        manager: MemoryUploadedFileManager, session_id: str, file_names: Sequence[str]
    ) -> list[UploadFileUrlInfo]:
        return unlimited(manager, session_id, file_names[:MOST_FILES_AT_ONCE])

    setattr(MemoryUploadedFileManager, "get_upload_urls", limited)  # noqa: B010 (a method, to the type checker)

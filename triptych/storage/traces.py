"""Traces of unexpected errors: logs and screens show an id, and the trace is in a file that only its owner can read.

A trace may quote what people wrote. It stays on this computer, the oldest traces are deleted, and an erasure deletes
all. For one place in the code only the newest few are kept, so that repeating one error does not push out the traces of
others.
"""

from __future__ import annotations

import os
import secrets
import traceback
from contextlib import suppress
from pathlib import Path

from triptych import settings
from triptych.errors import NotFound
from triptych.languages.language import _
from triptych.storage.unavailable import is_damaged

MAX_TRACES = 50
MAX_OF_ONE_PLACE = 3  # traces per process of one place in the code
MAX_CHARACTERS = 40_000  # stored characters of a trace, from its end
OWN_NAME = f"{'[0-9a-f]' * 8}.txt"
ID = "triptych_id"  # attribute of a stored error that contains its id
_ids_by_place: dict[tuple[str, int], list[str]] = {}  # (file, line) → ids, the newest last


def sentence(error: BaseException) -> str:
    """The sentence about an unexpected error that people see."""
    what = _("Something went wrong in the program; what was saved is safe.")
    if is_damaged(error):
        what = _("The database file is damaged. The people who run the app must stop it and restore a backup.")
    where = _("Error {id}: with this id the people who run Triptych find the details.", id=store(error))
    return f"{what} {where}"


def store(error: BaseException) -> str:
    """Stores an error's trace, once, and returns its id, even if it could not be written."""
    if ID not in error.__dict__:
        error.__dict__[ID] = secrets.token_hex(4)
        with suppress(OSError):
            _write(error.__dict__[ID], "".join(traceback.format_exception(error))[-MAX_CHARACTERS:], _place(error))
    return str(error.__dict__[ID])


def _place(error: BaseException) -> tuple[str, int]:
    """The file and line that raised the error."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    return frames[-1] if frames else ("", 0)


def _write(number: str, trace: str, place: tuple[str, int]) -> None:
    folder = _folder(settings.local_folder())
    folder.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(folder / f"{number}.txt", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(trace)
    of_place = _ids_by_place.setdefault(place, [])
    of_place.append(number)
    surplus, of_place[:] = of_place[:-MAX_OF_ONE_PLACE], of_place[-MAX_OF_ONE_PLACE:]
    for old in (*surplus, *stored_in(settings.local_folder())[MAX_TRACES:]):
        (folder / f"{old}.txt").unlink(missing_ok=True)


def _folder(home: Path) -> Path:
    return home / "errors"


def stored_in(home: Path) -> list[str]:
    """The ids of the traces in a data folder, newest first."""
    times = {}
    for path in _folder(home).glob(OWN_NAME):  # the folder may be a link to one with other files
        with suppress(FileNotFoundError):  # another process has just deleted it
            times[path.stem] = path.stat().st_mtime_ns
    return sorted(times, key=lambda number: times[number], reverse=True)


def text_of(number: str) -> str:
    """A stored trace. Raises NotFound."""
    home = settings.local_folder()
    if number not in stored_in(home):
        raise NotFound(f"There is no trace of an error {number!r}. The newest {MAX_TRACES} are stored.")
    return (_folder(home) / f"{number}.txt").read_text(encoding="utf-8")


def clear() -> None:
    """Deletes all traces."""
    for number in stored_in(settings.local_folder()):
        (_folder(settings.local_folder()) / f"{number}.txt").unlink(missing_ok=True)

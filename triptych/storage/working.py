"""Private folders for temporary copies, deleted at the end of the work.

A killed process cannot delete its folder; the next work, the next start and an erasure do. The folders are in the data
folder or next to the database, because a system's folder for temporary files may be in memory, and erasures do not
search it.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from triptych import settings
from triptych.storage import database, host, private

PREFIX = ".working-"
LOCK = "lock"  # lock file, held during the work
COPIES = "copies"  # folder of the copies, which exists only while the lock is held, or after its process was killed
STARTING_SECONDS = 60  # after which a folder without copies is no longer about to be locked


@contextmanager
def folder(around: Path | None = None) -> Iterator[Path]:
    """A new folder in the data folder, or in another one of `_places`."""
    delete_abandoned()
    new = tempfile.TemporaryDirectory(prefix=PREFIX, dir=around or settings.local_folder())
    with new as made, host.lock_file(Path(made) / LOCK, "A new folder is in use."):
        copies = Path(made) / COPIES
        copies.mkdir()
        for path in (Path(made) / LOCK, copies, Path(made)):  # a lab's group deletes what its members' processes left
            path.chmod(private.right_mode(path))
        try:
            yield copies
        finally:
            shutil.rmtree(copies)


def delete_abandoned() -> None:
    """Deletes the folders of processes that were killed."""
    for place in _places():
        for left in place.glob(f"{PREFIX}*"):
            with suppress(OSError):  # it is being deleted, or another member has only begun to make it
                is_old = left.stat().st_mtime < time.time() - STARTING_SECONDS
                if (is_old or (left / COPIES).exists()) and not host.is_locked(left / LOCK):
                    shutil.rmtree(left, ignore_errors=True)


def _places() -> set[Path]:
    """The data folder, that of backups, and that of the SQLite file, which may be elsewhere."""
    home = settings.local_folder()
    files = [] if settings.is_shared() else [database.sqlite_path(settings.database_url())]
    return {home, home / "backups", *(path.parent for path in files)}

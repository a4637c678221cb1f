"""Permissions of the app's files: the user who runs it, and their group if TRIPTYCH_GROUP=1. Windows and some disks
lack such permissions; there the folder's settings apply, and the doctor reports it.
"""

from __future__ import annotations

import glob
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from triptych import settings
from triptych.errors import UnsafeDatabase
from triptych.storage import database, host
from triptych.storage.sqlite_files import COMPANIONS, companion

# secrets, and traces that may quote people: not readable for the group either
OWNERS_ALONE = ("cookie.secret", host.RUNNING, "errors")
# created by the app in the data folder; people may have their own files next to them
MADE_IN_HOME = (
    *(*OWNERS_ALONE, "errors/*.txt", "backups"),
    *("backups/triptych-*", "backups/scheduled-*", "backups/before-restore-*", "backups/damaged-*"),
)


def umask() -> int:
    """The permissions that new files of this process must not have."""
    return 0o007 if settings.group_may() else 0o077


def right_mode(path: Path) -> int:
    """The right permissions of one of our files or folders: the owner's stay, the group gets the same or none."""
    mode = stat.S_IMODE(path.lstat().st_mode)
    is_shared = settings.group_may() and not {path.name, path.parent.name}.intersection(OWNERS_ALONE)
    owners = mode & 0o700
    return (mode & ~0o077) | (owners >> 3 if is_shared else 0)


def wrong() -> list[Path]:
    """Files and folders of the app with wrong permissions: others have access, or the group wrongly has none."""
    return [path for path in _made() if stat.S_IMODE(path.lstat().st_mode) != right_mode(path)]


def _made() -> Iterator[Path]:
    """Files and folders that this app created: no links, which may lead elsewhere, and no devices."""
    home = settings.local_folder()
    if home.resolve() == settings.usual_home().resolve():
        yield home
    paths = [path for pattern in MADE_IN_HOME for path in home.glob(pattern)]
    for path in [*paths, *_of_database()]:
        if not path.is_symlink() and (path.is_file() or path.is_dir()):
            yield path


def _of_database() -> list[Path]:
    """The SQLite file and its companion files that exist."""
    if settings.is_shared():
        return []
    path = database.sqlite_path(settings.database_url())
    files = [path, *(companion(path, ending) for ending in COMPANIONS), path.with_suffix(".lock")]
    return [
        *filter(Path.exists, files),
        *path.parent.glob(f"{glob.escape(path.stem)}-before-*.db"),
    ]


def repair() -> list[Path]:
    """Corrects the permissions of the app's files that this user owns; returns all paths that were wrong."""
    repaired = []
    for path in wrong():
        with suppress(OSError):  # another user's; the doctor names it
            path.chmod(right_mode(path))
            repaired.append(path)
    return repaired


def is_held(folder: Path) -> bool:
    """Whether the operating system and the disk of a folder support permissions; False if it cannot be written to."""
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        return not stat.S_IMODE(Path(file.name).stat().st_mode) & 0o077


def is_written_by_others(folder: Path) -> bool:
    """Whether someone else, or the group without TRIPTYCH_GROUP=1, can write to a folder."""
    return bool(folder.stat().st_mode & umask() & 0o022) and is_held(folder)


def folders() -> list[Path]:
    """The data folder and the one for backups, which may be a link to a folder elsewhere."""
    home = settings.local_folder()
    return [folder for folder in (home, home / "backups") if folder.exists()]


def open_around() -> list[Path]:
    """Folders above the data folder and its backups where anyone can rename what is in them."""
    places = [folder.resolve() for folder in folders() if is_held(folder)]
    around = {parent for place in places for parent in place.parents}.difference(places)
    return sorted(folder for folder in around if folder.stat().st_mode & (stat.S_ISVTX | stat.S_IWOTH) == stat.S_IWOTH)


def refuse_unusable() -> None:
    """Raises UnsafeDatabase for a data folder or a database that this user cannot read and write, with the reason."""
    path: Path | str = "The data folder"
    try:
        folders = [settings.local_folder()] + (
            [] if settings.is_shared() else [database.sqlite_path(settings.database_url()).parent]
        )
        for path in folders:
            next(path.iterdir(), None)
            host.refuse_foreign(path)
            tempfile.TemporaryFile(dir=path).close()
        secrets = [settings.local_folder() / name for name in ("cookie.secret", host.RUNNING)]
        for path in filter(os.path.lexists, [*_of_database(), *secrets]):
            host.refuse_foreign(path)
            if path.name != host.RUNNING:  # each start replaces it, even one of another member of a group
                path.open("r+b").close()
    except OSError as error:
        place = path if isinstance(path, Path) else error.filename or path
        raise UnsafeDatabase(f"{place} cannot be read and written: {error.strerror}. {host.ADVICE}") from error

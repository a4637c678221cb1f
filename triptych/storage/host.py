"""What depends on the operating system: file locks, safe folders for a database, whether someone is at this screen."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO

from triptych.errors import UnsafeDatabase

NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "sshfs", "fuse.sshfs", "9p", "davfs", "glusterfs", "ceph"}
SYNCHRONISED = ("onedrive", "dropbox", "icloud", "google drive", "googledrive", "nextcloud", "com~apple~clouddocs")


def lock_file(path: Path, message: str) -> IO[str]:
    """Lock the file exclusively until the returned handle is closed. Raises UnsafeDatabase if it is locked."""
    handle = path.open("a+")
    try:
        _lock(handle)
    except OSError as error:
        handle.close()
        raise UnsafeDatabase(message) from error
    return handle


def _lock(handle: IO[str]) -> None:
    if sys.platform == "win32":
        import msvcrt

        handle.seek(0)
        msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_at_a_screen() -> bool:
    """Whether this process was started by hand, in a terminal on the screen of this very computer."""
    has_screen = sys.platform in ("win32", "darwin") or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    return has_screen and sys.stdout.isatty() and "SSH_CONNECTION" not in os.environ


def refuse_unsafe_folder(folder: Path) -> None:
    """Raises UnsafeDatabase for network file systems and synchronised folders, where SQLite loses data."""
    place = folder.resolve()
    for part in place.parts:
        if part.lower().startswith(SYNCHRONISED):
            raise UnsafeDatabase(
                f"The database folder {place} is synchronised ({part}), which can destroy a database in use. "
                "Set TRIPTYCH_HOME to a folder on this computer's own disk."
            )
    kind = file_system(place)
    if kind in NETWORK:
        raise UnsafeDatabase(
            f"The database folder {place} is on a network file system ({kind}), where SQLite can lose data. "
            "Set TRIPTYCH_HOME to a local folder, or use PostgreSQL through TRIPTYCH_DATABASE_URL."
        )


def file_system(place: Path, mounts: Path = Path("/proc/mounts")) -> str:
    """The kind of file system that holds a folder; empty where the system does not say."""
    if not mounts.exists():
        return ""
    best, kind = "", ""
    for line in mounts.read_text(errors="replace").splitlines():
        _, point, mounted_kind, *_ = line.split(" ")
        point = point.replace("\\040", " ")
        if len(point) >= len(best) and place.is_relative_to(point):
            best, kind = point, mounted_kind
    return kind

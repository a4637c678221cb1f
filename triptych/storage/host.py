"""Functions that depend on the operating system: file locks, safe folders for a database, detecting a screen."""

from __future__ import annotations

import errno
import json
import os
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from triptych import settings
from triptych.errors import UnsafeDatabase

EPHEMERAL = "TRIPTYCH_EPHEMERAL"
# environment variable → name of the host that sets it, for hosts that wipe their disk
FORGETFUL = {
    "SPACE_ID": "Hugging Face Spaces",
    "DYNO": "Heroku",
    "K_SERVICE": "Google Cloud Run",
    "COLAB_RELEASE_TAG": "Google Colab",
    "KAGGLE_KERNEL_RUN_TYPE": "Kaggle",
    "BINDER_SERVICE_HOST": "Binder",
}
COMMUNITY_CLOUD = Path("/mount/src")  # where it puts an app
ADVICE = "Give it to the user who runs the app, or set TRIPTYCH_HOME to another folder."
RUNNING = "running.json"  # address and key of the running app, for scripts
MAX_NOTE = 2000  # characters
MAX_PLACED = 20 * 2**20  # bytes
NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "sshfs", "fuse.sshfs", "9p", "davfs", "glusterfs", "ceph"}
SYNCHRONISED = ("onedrive", "dropbox", "icloud", "google drive", "googledrive", "nextcloud", "com~apple~clouddocs")


def lock_file(path: Path, message: str) -> IO[str]:
    """Lock the file until the returned handle is closed. Raises UnsafeDatabase if it is locked or not ours."""
    try:
        handle = open(path, "a+", encoding="utf-8", opener=owned)  # noqa: SIM115 (the caller closes it)
    except OSError as error:
        raise UnsafeDatabase(f"{path} cannot be used as a lock: {error.strerror}. {ADVICE}") from error
    try:
        _lock(handle)
    except OSError as error:
        handle.close()
        raise UnsafeDatabase(message) from error
    return handle


def lock_in(home: Path) -> Path:
    """The lock file of the database in a data folder; if the database is a link, next to the linked file."""
    return (home / "triptych.db").resolve().with_suffix(".lock")


def unfollowed(path: str, flags: int) -> int:
    """Opens a file but no link, with which another user could make us overwrite a file; does not wait for a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)


def owned(path: str, flags: int) -> int:
    """Opens a file as `unfollowed`, but none of another user, who could delete or rewrite it. Raises OSError."""
    opened = unfollowed(path, flags)
    if _are_others({os.fstat(opened).st_uid}) and not settings.group_may():
        os.close(opened)
        raise PermissionError(errno.EPERM, "it belongs to another user", path)
    return opened


def read_placed(path: Path) -> bytes:
    """A small file that somebody else may have placed. Follows no link, waits for no pipe. Raises OSError."""
    with open(path, "rb", opener=unfollowed) as file:
        return file.read(MAX_PLACED) or b""  # None from an empty pipe


def logged_name(path: Path) -> str:
    """A file's name as text for the log; a byte that is not UTF-8 becomes U+FFFD."""
    return os.fsencode(path.name).decode("utf-8", "replace")


@dataclass(frozen=True)
class RunningAt:
    """A running server: its address for browsers on this computer, its port, and the address it listens on (bound)."""

    address: str
    port: int
    bound: str


def write_note(lock: IO[str], place: RunningAt) -> None:
    """Writes the server's address to the lock file that it holds."""
    lock.seek(0)
    lock.truncate()
    lock.write(json.dumps(asdict(place)))
    lock.flush()


def noted(path: Path) -> RunningAt | None:
    """The server noted in a lock file, which may have stopped since; None if the note can't be read."""
    # on Windows a locked file cannot be read
    with suppress(OSError, ValueError, TypeError), open(path, encoding="utf-8", opener=owned) as file:
        place = RunningAt(**json.loads(file.read(MAX_NOTE)))
        if [type(value) for value in vars(place).values()] == [str, int, str]:
            return place
    return None


def is_locked(path: Path) -> bool:
    """Whether a server holds this lock file now."""
    if not path.exists():
        return False
    try:
        lock_file(path, "").close()
    except UnsafeDatabase:
        return True
    return False


def _lock(handle: IO[str]) -> None:
    if sys.platform == "win32":
        import msvcrt

        handle.seek(0)
        msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_at_a_screen() -> bool:
    """Whether this process was started manually, in a terminal on this computer's own screen."""
    has_screen = sys.platform in ("win32", "darwin") or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    return has_screen and sys.stdout.isatty() and "SSH_CONNECTION" not in os.environ


def forgetful() -> str:
    """The kind of host whose disk is wiped on a restart, if this is one; else empty. TRIPTYCH_EPHEMERAL=1 marks any
    host as such, 0 means that the data folder is on persistent storage.
    """
    setting = os.environ.get(EPHEMERAL, "")
    if setting:
        return f"{EPHEMERAL}={setting}" if setting != "0" else ""
    named = (kind for variable, kind in FORGETFUL.items() if variable in os.environ)
    streamlit_cloud = "Streamlit Community Cloud" if settings.app_folder().is_relative_to(COMMUNITY_CLOUD) else ""
    return next(named, streamlit_cloud)


def is_foreign(place: Path) -> bool:
    """Whether a user other than this one and the administrator owns a folder or a file, or a link in its place."""
    return _are_others({place.stat().st_uid, place.lstat().st_uid})


def _are_others(owners: set[int]) -> bool:
    return os.name != "nt" and not is_administrator() and not owners <= {0, os.geteuid()}


def is_administrator() -> bool:
    """Whether this process may open everything anyway."""
    return os.name != "nt" and os.geteuid() == 0


def refuse_foreign(place: Path) -> None:
    """Raises UnsafeDatabase for a folder or file of another user, who could replace it."""
    if is_foreign(place) and not settings.group_may():
        raise UnsafeDatabase(
            f"{place} belongs to another user. {ADVICE} TRIPTYCH_GROUP=1 allows a folder that a group shares."
        )


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
    """The file system type of a folder; empty if unknown."""
    if not mounts.exists():
        return ""
    best, kind = "", ""
    for line in mounts.read_text(errors="replace").splitlines():
        _, point, mounted_kind, *_ = line.split(" ")
        point = point.replace("\\040", " ")
        if len(point) >= len(best) and place.is_relative_to(point):
            best, kind = point, mounted_kind
    return kind

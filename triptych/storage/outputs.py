"""Files and folders that a person names as outputs: written completely or not at all.

They may be in folders to which others can write. Own links are followed. Those of other users are not: they could read
along, or have a file of this user overwritten. Linux protects against such links only in folders like /tmp, and only as
the last part of a path.
"""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from errno import ELOOP
from functools import partial
from pathlib import Path

from triptych.errors import NotAllowed
from triptych.storage import host
from triptych.storage.sqlite_files import COMPANIONS, SIGNATURE

MAX_LINKS = 40  # on one path, as on Linux
# reaches a folder that this user may enter but not list, where the system can
FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_PATH", os.O_RDONLY)
ANOTHER = "Name another file or folder."


def write(path: Path, blocks: Iterable[bytes]) -> None:
    """Write a file; a device or a pipe is written directly. Raises NotAllowed, OSError."""
    with _named(path):
        target = without_links(path)
        if path.exists() and not path.is_file():
            _write_into(path, blocks)
        else:
            _refuse_database(target)
            _write_whole(target, blocks)


def _refuse_database(target: Path) -> None:
    """Also for a file next to one: its write-ahead log, which has what was stored last, or a running app's lock."""
    endings = (ending for ending in COMPANIONS if target.name.endswith(ending))
    main = target.name.removesuffix(next(endings, "")) or target.name
    with suppress(OSError), open(target.with_name(main), "rb", opener=host.unfollowed) as file:
        if file.read(len(SIGNATURE)) == SIGNATURE:
            what = "a database" if main == target.name else f"a part of the database {main}"
            raise NotAllowed(f"{target} is {what}, and would be lost. {ANOTHER}")
    if target.suffix == ".lock" and target.is_file() and host.is_locked(target):
        raise NotAllowed(f"{target} is the lock of a running app, and would be lost. {ANOTHER}")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Add the requested path to errors: that of a full disk names no file."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def without_links(path: Path) -> Path:
    """The place to which a path leads now. Raises NotAllowed for a link, pipe or device of another user on the way."""
    if os.name == "nt":
        return path.resolve()
    parts, links = list(path.absolute().parts), 0
    place = Path(parts.pop(0))
    while parts:
        part = parts.pop(0)
        place = place.parent if part == ".." else place / part
        with suppress(FileNotFoundError, NotADirectoryError):
            entry = place.lstat()
            _refuse_foreign_way(place, entry)
            if stat.S_ISLNK(entry.st_mode):
                parts[:0] = _target_of(place, entry).parts
                place, links = place.parent, links + 1
        if links > MAX_LINKS:
            raise OSError(ELOOP, os.strerror(ELOOP))
    return place


def _refuse_foreign_way(place: Path, entry: os.stat_result) -> None:
    """Also for the administrator, who could overwrite any file."""
    leads_elsewhere = not stat.S_ISREG(entry.st_mode) and not stat.S_ISDIR(entry.st_mode)
    if leads_elsewhere and os.name != "nt" and entry.st_uid not in (0, os.geteuid()):
        raise NotAllowed(f"{place} belongs to another user and leads elsewhere. {ANOTHER}")


def _target_of(link: Path, entry: os.stat_result) -> Path:
    target, after = link.readlink(), link.lstat()
    if (entry.st_ino, entry.st_ctime_ns) != (after.st_ino, after.st_ctime_ns):  # by a link of another user
        raise NotAllowed(f"{link} was replaced while it was read. {ANOTHER}")
    return target


def _write_into(path: Path, blocks: Iterable[bytes]) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY), "wb") as stream:  # neither creates nor empties what is a file by now
        entry = os.fstat(stream.fileno())
        _refuse_foreign_way(path, entry)
        if stat.S_ISREG(entry.st_mode):
            raise NotAllowed(f"{path} was replaced by a file. {ANOTHER}")
        stream.writelines(blocks)


def _write_whole(target: Path, blocks: Iterable[bytes]) -> None:
    with _opened(target.parent) as folder:
        around = target.parent if folder is None else Path()
        # a random name, so that nobody can have placed a link or file there
        part = around / f".{target.name}.{secrets.token_hex(4)}.part"
        try:
            with open(part, "xb", opener=partial(os.open, mode=0o666, dir_fd=folder)) as file:
                file.writelines(blocks)
            os.replace(part, around / target.name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(part, dir_fd=folder)


@contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    """A descriptor of a folder on whose path no part has become a link; None on Windows, which has none of these."""
    with ExitStack() as stack:
        opened = None
        for part in folder.parts if os.name != "nt" else ():
            opened = os.open(part, FOLDER, dir_fd=opened)
            stack.callback(os.close, opened)
        yield opened


def refuse_used_folder(path: Path) -> None:
    """Raises NotAllowed if a folder is not empty, or if another user could replace it meanwhile."""
    _new_or_empty(path)


def write_folder(path: Path, contents: Mapping[str, bytes]) -> None:
    """Write all files into a new or empty folder, or none. Raises NotAllowed, OSError."""
    with prepared_folder(path, contents) as put_in_place:
        put_in_place()


@contextmanager
def prepared_folder(path: Path, contents: Mapping[str, bytes]) -> Iterator[Callable[[], None]]:
    """Write all files of a folder under a hidden name, and yield the command that puts them in place.

    They are deleted if it is not called. Raises NotAllowed, OSError, as the command does.
    """
    with _named(path):
        target, exists = _new_or_empty(path)
        around = target if exists else target.parent
        _make_folders(around)
        # private, so that nobody can place a link in it; its files get the usual permissions of the person
        with tempfile.TemporaryDirectory(prefix=".triptych-", dir=around) as private:
            part = Path(private) / "part"
            for name, content in contents.items():
                (part / name).parent.mkdir(parents=True, exist_ok=True)
                with (part / name).open("xb") as file:  # follows no link, should another user have swapped the folder
                    file.write(content)
            yield partial(_put_in_place, part, target)


def _make_folders(folder: Path) -> None:
    """Make what is missing of a path. Raises OSError where a link has appeared on it, which `Path.mkdir` follows."""
    for missing in reversed([each for each in (folder, *folder.parents) if not os.path.lexists(each)]):
        with _opened(missing.parent) as around:
            os.mkdir(missing if around is None else missing.name, dir_fd=around)
    with _opened(folder):
        pass


def _new_or_empty(path: Path) -> tuple[Path, bool]:
    """(folder, whether it exists), looked at once, so that nothing that another user puts there later counts."""
    target = without_links(path)
    try:
        is_folder = stat.S_ISDIR(target.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return target, False
    if not is_folder or any(target.iterdir()):
        raise NotAllowed(f"{path} already exists. Name a new folder or an empty one.")
    if host.is_foreign(target):
        raise NotAllowed(f"{path} belongs to another user. Name a new folder, or an empty one of your own.")
    return target, True


def _put_in_place(part: Path, target: Path) -> None:
    if part.parent.parent != target:
        part.rename(target)
        return
    if [entry.name for entry in target.iterdir()] != [part.parent.name]:  # another command's, by now
        raise NotAllowed(f"{target} is no longer empty; something else writes into it.")
    for entry in part.iterdir():
        entry.rename(target / entry.name)

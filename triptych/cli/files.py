"""Files named on a command line; `-` is the standard input or output."""

from __future__ import annotations

import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from triptych.cli.output import Reply
from triptych.errors import ImportRefused, InvalidRubric, NotAllowed
from triptych.formats import ItemFile, ReadOptions, join_files, read_items
from triptych.formats.decode import recoded
from triptych.rubric.files import read_rubric, shipped_rubrics
from triptych.storage import host, working

STANDARD_STREAM = ("-", "/dev/stdout")
# the first bytes of a piped file: its format
SIGNATURES = {b"PK": "xlsx", b"PAR1": "parquet", b"{": "jsonl", b"[": "json"}


def reply(file: str, *lines: str, **values: Any) -> Reply:
    """The reply about a written file; on standard error if the file itself went to standard output."""
    return Reply(lines, {"file": file, **values}, data_on_stdout=file in STANDARD_STREAM)


def rubric_text(name: str) -> str:
    """The YAML of a rubric file, of the standard input, or of a shipped rubric by its key. Raises InvalidRubric."""
    if name == "-":
        try:
            return read(name).decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidRubric("Standard input cannot be read as UTF-8 text.") from error
    shipped = shipped_rubrics()
    path = shipped.get(name, Path(name))
    if not path.suffix and not path.exists():
        raise InvalidRubric(f"{name} is no file and no shipped rubric: {', '.join(shipped)}.")
    return read_rubric(path)


def read(path: str, encoding: str | None = None) -> bytes:
    """A file's bytes; a text that is not UTF-8 is decoded with the confirmed encoding. Raises ImportRefused."""
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return recoded(data, encoding) if encoding else data
    except OSError as error:
        raise ImportRefused(f"{path} cannot be read: {error.strerror}.") from error


@contextmanager
def on_disk(path: str) -> Iterator[Path]:
    """A seekable file: standard input is copied to a temporary one."""
    if path != "-":
        yield Path(path)
        return
    with working.folder() as private_folder:
        copy = private_folder / "standard input"
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield copy


def items_from(files: Sequence[str], encoding: str | None = None, mapping: str | None = None) -> ItemFile:
    """The items of one file, or of several given as SYSTEM=FILE. Raises ImportRefused.

    `mapping` is a file with the roles of columns, for files whose names do not show them.
    """
    roles = _roles_in(mapping) if mapping else {}
    if len(files) == 1 and not _parted(files[0])[0]:
        content = read(files[0], encoding)
        return read_items(content, name_of(files[0], content), ReadOptions(roles=tuple(roles.items())))
    parted = [_parted(file) for file in files]
    if not all(system for system, _ in parted):
        raise ImportRefused("Several files must each contain the texts of one system: pass them as SYSTEM=FILE.")
    return join_files([(Path(path).name, read(path, encoding), system) for system, path in parted])


def name_of(path: str, content: bytes) -> str:
    """A file's name, whose ending is its format; the format of piped input is taken from its first bytes, else CSV."""
    if path != "-":
        return Path(path).name
    beginning = content.removeprefix(b"\xef\xbb\xbf").lstrip()
    ending = next((ending for mark, ending in SIGNATURES.items() if beginning.startswith(mark)), "csv")
    return f"standard input.{ending}"


def _roles_in(path: str) -> Mapping[str, str]:
    from triptych.formats.ratings.roles import read_mapping  # numpy takes half a second, which few commands need

    return read_mapping(read(path).decode("utf-8", "replace")).roles


def _parted(file: str) -> tuple[str, str]:
    """(system, path); a path that exists may itself contain an equals sign."""
    system, _, path = file.partition("=")
    return (system, path) if path and not Path(file).exists() else ("", file)


def write(path: str, blocks: Iterable[bytes]) -> None:
    """Write a file completely or not at all; own links are followed, "-" is standard output.

    A device or a pipe is written directly. Raises NotAllowed, OSError.
    """
    _refuse_foreign_ways(Path(path))
    with _named(path):
        if path in STANDARD_STREAM:
            sys.stdout.buffer.writelines(blocks)
            sys.stdout.buffer.flush()
        elif Path(path).exists() and not Path(path).is_file():
            with Path(path).open("wb") as stream:
                stream.writelines(blocks)
        else:
            _write_whole(Path(path).resolve(), blocks)


def _refuse_foreign_ways(target: Path) -> None:
    """Raises NotAllowed for a link, pipe or device of another user, who could read along or have a file overwritten.

    Linux protects against such links where one is opened, but `resolve` opens none.
    """
    is_way = target.is_symlink() or (target.exists() and not target.is_file() and not target.is_dir())
    if is_way and host.is_foreign(target, follow_symlinks=False):
        raise NotAllowed(f"{target} belongs to another user and leads elsewhere. Name another file or folder.")


def _write_whole(target: Path, blocks: Iterable[bytes]) -> None:
    # a random name, so that nobody can have placed a link or file there in a folder that others can write to
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            file.writelines(blocks)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Add the requested path to errors: that of a full disk names no file."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error


def refuse_used_folder(path: str) -> None:
    """Raises NotAllowed if a folder is not empty, or if another user could replace it meanwhile."""
    target = Path(path)
    _refuse_foreign_ways(target)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise NotAllowed(f"{path} already exists. Name a new folder or an empty one.")
    if target.exists() and host.is_foreign(target):
        raise NotAllowed(f"{path} belongs to another user. Name a new folder, or an empty one of your own.")


def write_folder(path: str, contents: Mapping[str, bytes]) -> None:
    """Write all files into a new or empty folder, or none. Raises NotAllowed, OSError."""
    with prepared_folder(path, contents) as put_in_place:
        put_in_place()


@contextmanager
def prepared_folder(path: str, contents: Mapping[str, bytes]) -> Iterator[Callable[[], None]]:
    """Write all files of a folder under a hidden name, and yield the command that puts them in place.

    They are deleted if it is not called. Raises NotAllowed, OSError, as the command does.
    """
    refuse_used_folder(path)
    target = Path(path).resolve()
    with _named(path):
        around = target if target.exists() else target.parent
        around.mkdir(parents=True, exist_ok=True)
        # private, so that nobody can place a link in it; its files get the usual permissions of the person
        with tempfile.TemporaryDirectory(prefix=".triptych-", dir=around) as private:
            part = Path(private) / "part"
            for name, content in contents.items():
                (part / name).parent.mkdir(parents=True, exist_ok=True)
                with (part / name).open("xb") as file:  # follows no link, should another user have swapped the folder
                    file.write(content)
            yield partial(_put_in_place, part, target)


def _put_in_place(part: Path, target: Path) -> None:
    if part.parent.parent != target:
        part.rename(target)
        return
    if [entry.name for entry in target.iterdir()] != [part.parent.name]:  # another command's, by now
        raise NotAllowed(f"{target} is no longer empty; something else writes into it.")
    for entry in part.iterdir():
        entry.rename(target / entry.name)

"""Files named on a command line; `-` is the standard input or output."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from errno import EBADF
from pathlib import Path

from triptych.cli.output import Reply
from triptych.errors import ImportRefused, InvalidRubric
from triptych.formats import read_items
from triptych.formats.decode import recoded
from triptych.formats.joined import join_files
from triptych.formats.model import MAX_BYTES, ItemFile, ReadOptions
from triptych.rubric.files import read_rubric, shipped_rubrics
from triptych.storage import outputs, working

STANDARD_STREAM = ("-", "/dev/stdout")
# the first bytes of a piped file: its format
SIGNATURES = {b"PK": "xlsx", b"PAR1": "parquet", b"{": "jsonl", b"[": "json"}


def reply(file: str, *lines: str, **values: object) -> Reply:
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
    """A file's bytes; a text that is not UTF-8 is decoded with the confirmed encoding. Raises ImportRefused.

    A file may be endless, or claim a size that it does not have on the disk, so no more is read than one may have.
    """
    try:
        with nullcontext(sys.stdin.buffer) if path == "-" else Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ImportRefused(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_BYTES:
        raise ImportRefused(f"{path} has more than {MAX_BYTES // 2**20} MB. Split it.")
    return recoded(data, encoding) if encoding else data


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
    """Write a file, as `outputs.write`, or the standard output."""
    if path in STANDARD_STREAM:
        if getattr(sys.stdout, "name", "") == os.devnull:  # opened in the place of a closed one
            raise OSError(EBADF, os.strerror(EBADF), "Standard output")
        sys.stdout.buffer.writelines(blocks)
        sys.stdout.buffer.flush()
    else:
        outputs.write(Path(path), blocks)

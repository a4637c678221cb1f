"""Zip archives, inflated within limits."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO

from triptych.errors import ImportRefused

IN_PIECES = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
MAX_DIRECTORY = 2 * 2**20  # bytes of the list of members, which ZipFile reads whole; 2,000 members take 0.5 MB
SIZE_OF_DIRECTORY = 5  # place in what _EndRecData returns
DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, ValueError)


class UnusualCompression(zipfile.BadZipFile):
    """A member is compressed by a method that Python inflates in one piece, even if that takes gigabytes."""


class LongDirectory(zipfile.BadZipFile):
    """The list of members is so long that reading it would take seconds and much memory."""


@contextmanager
def opened(file: Path | IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """A zip whose members are all inflated in pieces.

    Raises LongDirectory, UnusualCompression, and what ZipFile raises; a device would be read without an end.
    """
    if isinstance(file, Path) and file.exists() and not file.is_file():
        raise zipfile.BadZipFile("it is not a regular file")
    with file.open("rb") if isinstance(file, Path) else nullcontext(file) as stream, _of_few_members(stream) as archive:
        if any(entry.compress_type not in IN_PIECES for entry in archive.infolist()):
            raise UnusualCompression("a file in it is not compressed with deflate")
        yield archive


def _of_few_members(stream: IO[bytes]) -> zipfile.ZipFile:
    end = zipfile._EndRecData(stream)  # type: ignore[attr-defined]  # by which ZipFile itself finds the list
    if end and end[SIZE_OF_DIRECTORY] > MAX_DIRECTORY:
        raise LongDirectory(f"its list of files is longer than {MAX_DIRECTORY // 2**20} MB")
    return zipfile.ZipFile(stream)


def read(archive: zipfile.ZipFile, name: str) -> bytes:
    """One member's content, which is inflated no further than the size that the zip declares.

    `ZipFile.read` inflates up to 2 GB before it compares sizes.
    """
    with archive.open(name) as file:
        return file.read(archive.getinfo(name).file_size + 1)


def unzipped(data: bytes, kind: str, max_members: int, max_bytes: int, remedy: str) -> dict[str, bytes]:
    """Name → content of every member; the sizes that a zip declares are not believed.

    kind: what the zip is for the lead ("The workbook"); remedy: what to do where it is too large. Raises ImportRefused.
    """
    members: dict[str, bytes] = {}
    left = max_bytes
    try:
        with opened(io.BytesIO(data)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(entries) > max_members:
                raise ImportRefused(f"{kind} holds {len(entries):,} files; at most {max_members:,} can be read.")
            for entry in entries:
                if entry.filename in members:  # other programs may read the other one
                    raise ImportRefused(f"{kind} holds two files called {entry.filename}.")
                members[entry.filename] = archive.open(entry).read(left + 1)
                left -= len(members[entry.filename])
                if left < 0:
                    raise ImportRefused(f"{kind} holds more than {max_bytes // 2**20} MB when it is opened{remedy}")
    except LongDirectory as error:
        raise ImportRefused(f"{kind} holds too many files; at most {max_members:,} can be read.") from error
    except (UnusualCompression, NotImplementedError) as error:  # zipfile raises the latter for newer kinds of zip
        raise ImportRefused(f"{kind} is compressed in an unusual way. Pack it again with deflate.") from error
    except DAMAGED as error:
        raise ImportRefused(f"{kind} is damaged: it does not match the zip's directory.") from error
    except RuntimeError as error:
        raise ImportRefused(f"{kind} is protected by a password. Save it without one.") from error
    return members

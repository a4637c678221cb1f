"""Checks that the files in a report or a capsule match the hashes that it lists.

In a report these are the data files; its own `analysis.py` recomputes every number from them.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache, partial
from zipfile import BadZipFile, ZipFile

from sqlalchemy import select
from sqlmodel import Session

from triptych.formats import zips
from triptych.storage.models import Event, JsonObject, Snapshot, Study

# the files of a zip that list hashes, and the key of the list in each
LISTS = {"snapshot.json": "files", "manifest.json": "sha256"}
SNAPSHOT = "snapshot.json"
LARGEST_BYTES = 20_000_000  # of all files with lists of hashes, or with last events
MAX_INFLATED = 2**32  # bytes of all files; the database of a capsule may have 2 GB
UNREADABLE = (
    *(BadZipFile, OSError, ValueError, LookupError, AttributeError, TypeError),
    *(NotImplementedError, RecursionError, RuntimeError),
)


def changed_files(archive: ZipFile) -> list[str]:
    """Names of the listed files that are missing or whose hash differs, and of files that are there twice.

    Raises one of UNREADABLE.
    """
    if sum(entry.file_size for entry in archive.infolist()) > MAX_INFLATED:
        raise ValueError("the files are too large")
    hash_in = cache(partial(_hash_in, archive))  # several lists may name the same file
    times = Counter(map(str.casefold, archive.namelist()))  # some disks have one file for names that differ in case
    changed = [name.rpartition("/")[2] for name in archive.namelist() if times[name.casefold()] > 1][:1]
    for name, content in contents_of(archive, LISTS):
        folder, slash, base = name.rpartition("/")
        for listed, sha256 in content.get(LISTS[base], {}).items():
            changed += [] if hash_in(f"{folder}{slash}{listed}") == sha256 else [listed]
    return changed


def contents_of(archive: ZipFile, bases: Collection[str]) -> Iterator[tuple[str, JsonObject]]:
    """Name and JSON of each member with one of these names, in any folder. Raises one of UNREADABLE."""
    names = [name for name in dict.fromkeys(archive.namelist()) if name.rpartition("/")[2] in bases]
    if sum(archive.getinfo(name).file_size for name in names) > LARGEST_BYTES:  # a small zip may hold thousands
        raise ValueError(f"files such as {names[0]} are too large")
    yield from ((name, json.loads(zips.read(archive, name))) for name in names)


def _hash_in(archive: ZipFile, name: str) -> str | None:
    """The SHA-256 of a member; None if there is none."""
    try:
        with archive.open(name) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # a file of a zip is one
    except KeyError:
        return None


def of_reports(session: Session, study: Study) -> Iterator[str]:
    """Problems with stored reports: files that do not match their hashes, or a last event whose hash differs in the
    log.
    """
    columns = Snapshot.sha256, Snapshot.event_number, Snapshot.event_hash, Snapshot.scope, Snapshot.file
    logged = (Event.study_id == Snapshot.study_id) & (Event.number == Snapshot.event_number)
    query = select(*columns, Event.hash).outerjoin(Event, logged).where(Snapshot.study_id == study.id)
    for sha256, number, event_hash, scope, file, hash_then in session.execute(query.order_by(Snapshot.id)):
        where = f"report {sha256[:12]}"
        if event_hash != hash_then:
            yield f"{where}: event {number} has a different hash in the log."
        try:
            yield from (f"{where}: {fault}" for fault in _faults(file, sha256, (scope, event_hash)))
        except UNREADABLE:
            yield f"{where}: its file cannot be read."


def _faults(file: bytes, sha256: str, made_of: tuple[JsonObject, str]) -> list[str]:
    """Problems of a report's zip. `made_of` is the scope and the hash of the last event that the report should have."""
    with zips.opened(io.BytesIO(file)) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(f"/{SNAPSHOT}"))
        faults = [f"{changed} differs from the file that was stored." for changed in changed_files(archive)]
        content = zips.read(archive, name)
    if hashlib.sha256(content).hexdigest() != sha256:
        faults.append("its file belongs to another report.")
    listing = json.loads(content)
    if (listing["scope"], listing["last_event"]["hash"]) != made_of:
        faults.append("its file has a different scope or last event.")
    return faults

"""Whether a study's log still holds the last event that an earlier report, export, capsule or backup printed.

A log that was rewritten as a whole agrees with itself; an earlier head that somebody kept shows it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from sqlalchemy import select
from sqlmodel import Session

from triptych.errors import NotFound
from triptych.operations import backup
from triptych.storage.models import Event, Study

HASH = re.compile(r"\b[0-9a-f]{64}\b")
DATABASES = {".db", ".sqlite"}
# members of our zip files that name the last event, and files that do
NAMING = ("snapshot.json", "codebook.json", "manifest.json")
LARGEST_BYTES = 20_000_000
NO_HEAD = "There is no last event in it. Give a report, an export, a capsule, a backup, or the hash itself."


@dataclass(frozen=True)
class EarlierHead:
    """A last event as it was printed. number: None where only its hash is known, or hashes that may be one."""

    number: int | None
    hashes: tuple[str, ...]


@dataclass(frozen=True)
class HeadComparison:
    """Whether the log still has the event, and the sentence that says so."""

    holds: bool
    sentence: str


def read(source: str) -> list[EarlierHead]:
    """The last events that a file names, or the hash itself. Raises NotFound where there is none."""
    if HASH.fullmatch(source.strip()):
        return [EarlierHead(None, (source.strip(),))]
    path = Path(source)
    try:
        heads = list(_in_file(path))
    except (OSError, BadZipFile, ValueError, RecursionError) as error:
        raise NotFound(f"{source} cannot be read. {NO_HEAD}") from error
    if not heads:
        raise NotFound(f"{source}: {NO_HEAD}")
    return heads


def _in_file(path: Path) -> Iterator[EarlierHead]:
    beside = path.with_name(f"{path.name}.json")
    if path.suffix in DATABASES:
        if not path.is_file():
            raise FileNotFoundError(path)
        yield from (EarlierHead(head.number, (head.hash,)) for head in backup.heads_in(path))
    elif path.suffix == ".zip":
        with ZipFile(path) as archive:
            for name in archive.namelist():
                if name.rpartition("/")[2] in NAMING and archive.getinfo(name).file_size <= LARGEST_BYTES:
                    yield from _in_json(json.loads(archive.read(name)))
    elif path.suffix == ".json" or beside.is_file():
        yield from _in_json(json.loads((path if path.suffix == ".json" else beside).read_text(encoding="utf-8")))
    else:
        with path.open(encoding="utf-8") as file:
            hashes = tuple(dict.fromkeys(HASH.findall(file.read(LARGEST_BYTES))))
        if hashes:
            yield EarlierHead(None, hashes)


def _in_json(value: Any) -> Iterator[EarlierHead]:
    """Every object with number and hash of an event."""
    if isinstance(value, list):
        for part in value:
            yield from _in_json(part)
    elif isinstance(value, dict):
        number, text = value.get("number"), value.get("hash")
        if isinstance(number, int) and isinstance(text, str) and HASH.fullmatch(text):
            yield EarlierHead(number, (text,))
        for part in value.values():
            yield from _in_json(part)


def compare(session: Session, head: EarlierHead) -> HeadComparison:
    """Looks for the event in the logs of all studies."""
    query = select(Study.slug, Event.number).join(Event, Event.study_id == Study.id)
    event = session.execute(query.where(Event.hash.in_(head.hashes)).order_by(Event.number.desc())).first()
    if event is not None and head.number in (None, event.number):
        return HeadComparison(True, f"Event {event.number} of {event.slug} is in the log as it was then.")
    which = f"Event {head.number} with hash {head.hashes[0][:12]}" if head.number else "No event with such a hash"
    verb = "is in no log any more" if head.number else "is in any log"
    return HeadComparison(False, f"{which} {verb}: the log was cut or rewritten since, or it is of another database.")

"""Capsules that somebody has changed."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sqlalchemy import delete, select, update
from sqlmodel import Session

from triptych import clock
from triptych.operations import backup
from triptych.storage import events
from triptych.storage.database import writing
from triptych.storage.events import EventKind
from triptych.storage.models import Assignment, Event, EventDetail, Membership, Person, Study


def rebuilt(path: Path, target: Path, change: Mapping[str, bytes]) -> None:
    """The same zip with some of its files changed: name → bytes."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, change.get(name.rpartition("/")[2], old.read(name)))


def with_event(packed: Path, folder: Path, kind: EventKind, new: Any, old: Any = None) -> Path:
    """The capsule after somebody added an event to its log, and wrote the new hashes into its manifest."""

    def add(session: Session, study: Study) -> None:
        work = session.scalars(select(Assignment.id)).first()
        about = work if kind == EventKind.check_answered_again else None
        annotators = session.scalars(select(Person.pseudonym).join(Assignment, Assignment.person_id == Person.id))
        subject = annotators.all()[0] if kind in (EventKind.consented, EventKind.withdrew) else ""
        if kind == EventKind.withdrew:
            own = Membership.person_id.in_(select(Person.id).where(Person.pseudonym == subject))
            session.execute(update(Membership).where(own).values(withdrawn_at=clock.now()))
        events.record(session, study.id, kind, "L-1", assignment_id=about, subject=subject, old=old, new=new)

    return _resealed(with_sql(packed, folder, ""), folder, add)


def with_arrivals(packed: Path, folder: Path, count: int) -> Path:
    """The capsule after somebody added so many arrivals to its log."""
    new = {"slug": "s", "number": 1, "hash": "", "shift": 0, "renamed": {}}

    def add(session: Session, study: Study) -> None:
        for _ in range(count):
            events.record(session, study.id, EventKind.study_arrived, "L-1", new=new)

    return _resealed(with_sql(packed, folder, ""), folder, add)


def with_log(packed: Path, folder: Path, put_in: str) -> Path:
    """The capsule after somebody changed its database, and wrote a new log that proves what is there now."""

    def write(session: Session, study: Study) -> None:
        for table in (EventDetail, Event):
            session.execute(delete(table))
        study.event_number, study.event_hash = 0, ""
        events.record_baseline(session, study.id)

    return _resealed(with_sql(packed, folder, put_in), folder, write)


def _resealed(changed: Path, folder: Path, change: Callable[[Session, Study], None]) -> Path:
    with backup.opened(folder / "changed.db") as engine:
        with writing(engine) as session:
            change(session, session.scalars(select(Study)).one())
        head = backup.heads_in(folder / "changed.db")[0]
    with zipfile.ZipFile(changed) as archive:
        name = next(name for name in archive.namelist() if name.endswith("manifest.json"))
        manifest = json.loads(archive.read(name))
    manifest["study"] = asdict(head)
    manifest["sha256"]["study.db"] = backup.file_hash(folder / "changed.db")
    put_in = {"study.db": (folder / "changed.db").read_bytes(), "manifest.json": json.dumps(manifest).encode()}
    rebuilt(changed, folder / "resealed.zip", put_in)
    return folder / "resealed.zip"


def with_sql(packed: Path, folder: Path, put_in: str) -> Path:
    """The capsule after somebody changed its database, and wrote the new hash into its manifest."""
    path = folder / "changed.db"
    with zipfile.ZipFile(packed) as archive:
        names = {name.rpartition("/")[2]: name for name in archive.namelist()}
        path.write_bytes(archive.read(names["study.db"]))
        manifest = json.loads(archive.read(names["manifest.json"]))
    connection = sqlite3.connect(path)
    connection.executescript(put_in)
    connection.close()
    manifest["sha256"]["study.db"] = backup.file_hash(path)
    rebuilt(
        packed, folder / "changed.zip", {"study.db": path.read_bytes(), "manifest.json": json.dumps(manifest).encode()}
    )
    return folder / "changed.zip"

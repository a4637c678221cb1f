"""Capsules that somebody has changed."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sqlalchemy import select

from triptych.operations import backup
from triptych.storage import events
from triptych.storage.database import writing
from triptych.storage.events import EventKind
from triptych.storage.models import Assignment, Study


def rebuilt(path: Path, target: Path, change: Mapping[str, bytes]) -> None:
    """The same zip with some of its files changed: name → bytes."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, change.get(name.rpartition("/")[2], old.read(name)))


def with_event(packed: Path, folder: Path, kind: EventKind, new: Any) -> Path:
    """The capsule after somebody added an event to its log, and wrote the new hashes into its manifest."""
    changed = with_sql(packed, folder, "")
    with backup.opened(folder / "changed.db") as engine:
        with writing(engine) as session:
            study = session.scalars(select(Study)).one()
            about = session.scalars(select(Assignment.id)).first()
            events.record(session, study.id, kind, "L-1", assignment_id=about, new=new)
        head = backup.heads_in(folder / "changed.db")[0]
    with zipfile.ZipFile(changed) as archive:
        name = next(name for name in archive.namelist() if name.endswith("manifest.json"))
        manifest = json.loads(archive.read(name))
    manifest["study"] = asdict(head)
    manifest["sha256"]["study.db"] = backup.file_hash(folder / "changed.db")
    put_in = {"study.db": (folder / "changed.db").read_bytes(), "manifest.json": json.dumps(manifest).encode()}
    rebuilt(changed, folder / "with event.zip", put_in)
    return folder / "with event.zip"


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

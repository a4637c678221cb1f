"""Capsules that somebody has changed."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Mapping
from pathlib import Path

from triptych.operations import backup


def rebuilt(path: Path, target: Path, change: Mapping[str, bytes]) -> None:
    """The same zip with some of its files changed: name → bytes."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, change.get(name.rpartition("/")[2], old.read(name)))


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

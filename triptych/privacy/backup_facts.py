"""The small file next to a backup: when the backup was begun, and the last event of each study in it.

It shows what the backup contains, who may still be in it after they left, and whether a log was truncated.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pydantic import AwareDatetime, TypeAdapter

from triptych.storage import host


@dataclass(frozen=True)
class Head:
    """A study's last event in a backup."""

    slug: str
    number: int
    hash: str


@dataclass(frozen=True)
class BackupFacts:
    """What the file says. sha256: of the backup, empty if it is unknown; database: which one it is of, likewise."""

    made_at: AwareDatetime
    sha256: str = ""
    studies: tuple[Head, ...] = ()
    database: str = ""


FACTS = TypeAdapter(BackupFacts)


def path_beside(backup: Path) -> Path:
    return backup.with_name(f"{backup.name}.json")


def write(backup: Path, facts: BackupFacts) -> None:
    """Write the file, and wait until it is on the disk: with an empty one, no backup is restored."""
    with path_beside(backup).open("wb") as file:
        file.write(FACTS.dump_json(facts, indent=1))
        file.flush()
        os.fsync(file.fileno())


def read(backup: Path) -> BackupFacts:
    """Others may have placed the file, with anything in it. Raises OSError, ValueError."""
    return FACTS.validate_json(host.read_placed(path_beside(backup)))

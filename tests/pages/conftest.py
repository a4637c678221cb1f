"""Pages are tested as a lead who has just signed in; tests/attack/test_certainty.py has those who have not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from triptych.people import logins


@pytest.fixture(autouse=True)
def fresh_passcode(monkeypatch):
    monkeypatch.setattr(logins, "passcode_is_fresh", lambda session, who, typed_at: True)


@pytest.fixture(autouse=True)
def ready_home(ready_sqlite: Path, tmp_path: Path) -> None:
    """A database with its tables, which the app would make: thirty times faster."""
    shutil.copy(ready_sqlite, tmp_path / "triptych.db")

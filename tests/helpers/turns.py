"""Whether slow work is done within the turn to write, in which everybody else waits on SQLite."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from triptych.storage import database


def turns_held(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> list[bool]:
    """Grows with each call of this function of the module: whether anybody held the turn to write meanwhile."""
    function, held = getattr(module, name), []

    def note_the_turn(*parts: Any, **named: Any) -> Any:
        held.append(database.write_lock.locked())
        return function(*parts, **named)

    monkeypatch.setattr(module, name, note_the_turn)
    return held

"""People."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Who:
    person_id: int
    pseudonym: str
    role: str
    name: str | None
    login_id: int

"""A box to choose the member of a study to act on."""

from __future__ import annotations

from collections.abc import Sequence

from components.shell.choices import choose_for_act
from triptych.people.roster import Member


def choose_member(rows: Sequence[Member], label: str, key: str) -> Member | None:
    """A box to choose a member to act on, by pseudonym and name."""
    named = {row.pseudonym: f"{row.pseudonym} · {row.name}" if row.name else row.pseudonym for row in rows}
    chosen = choose_for_act(label, named, key)
    return next((row for row in rows if row.pseudonym == chosen), None)

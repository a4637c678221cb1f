"""The errors whose message a person reads: what is wrong, where, and what would be right.

Others, below TriptychError too, are next to what they are about: settings, the database, a backup, a kind of file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # slow to import, and not needed for the help of a command
    from pydantic import ValidationError

MAX_MISTAKES = 100


class TriptychError(Exception):
    """Base of all messages meant for a person. Each argument is one line of it."""

    def __str__(self) -> str:
        return "\n".join(self.args)


def first_lines(lines: Sequence[str], most: int) -> Iterator[str]:
    """The first lines of a message, and one that says how many there are beyond them."""
    yield from lines[:most]
    if len(lines) > most:
        yield f"… and {len(lines) - most:,} more"


class InvalidRubric(TriptychError):
    """A rubric file breaks a rule; the message names file, path and what would be right."""


class ImportRefused(TriptychError):
    """An uploaded file cannot be read or used; nothing was imported."""


class NothingToImport(ImportRefused):
    """An uploaded table has no rows."""


class InvalidAnnotation(TriptychError):
    """An answer does not fit the rubric, the texts or the assignment; nothing was stored."""


class NotAllowed(TriptychError):
    """The person may not do this."""


class StudyFull(NotAllowed):
    """All places of a study are currently taken."""


class SignedOut(TriptychError):
    """The login is unknown, revoked or over, or the account disabled."""


class NotFound(TriptychError):
    """There is nothing there, or nothing for this person."""


class Conflict(TriptychError):
    """The stored state has moved on since the browser last looked."""


class OpenElsewhere(Conflict):
    """The item is open in another tab or on another computer."""


class AlreadySubmitted(Conflict):
    """The annotation was submitted before."""


class StudyNotOpen(Conflict):
    """The study is a draft, paused or closed."""


class UnsafeDatabase(TriptychError):
    """The database cannot be opened without risking the data."""


@contextmanager
def naming(file: str) -> Iterator[None]:
    """A refusal of this file names it."""
    try:
        yield
    except ImportRefused as refusal:
        refusal.args = (f"{file}: {refusal}",)
        raise


def first_mistake(error: ValidationError, whole: str) -> str:
    """Its place, or `whole`, and what is wrong there; of very many, which pydantic lists all or none, their number.

    A list of some hundred thousand takes seconds, in which no other thread of the process runs.
    """
    if error.error_count() > MAX_MISTAKES:
        return f"many places: {error.error_count():,} parts are wrong"
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or whole}: {first['msg']}"

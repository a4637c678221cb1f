"""Readers of finished ratings from elsewhere: bytes and a file name in, ratings, highlights and texts out. No database.

A new format is one module with `fits` (its fields) and `read`, and one line in FORMATS. A file that fits none
is read as a table.
A file that cannot be read at all raises ImportRefused; everything else is in `FinishedRatings.problems`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from triptych.errors import ImportRefused
from triptych.formats import read_items
from triptych.formats.model import Findings, ItemFile, Source
from triptych.formats.ratings import (
    archives,
    argilla,
    factgenie,
    highlights,
    label_studio,
    mturk,
    pearmut,
    potato,
    tables,
)
from triptych.formats.ratings.levels import flattened
from triptych.formats.ratings.model import FinishedRatings, Gathering, RaterKind
from triptych.formats.ratings.roles import Roles, proposed_roles
from triptych.formats.ratings.sources import RATINGS, read_clean


@dataclass(frozen=True)
class RatingsFormat:
    """How the files of one program are recognised and read."""

    name: str
    fits: Callable[[frozenset[str]], bool]
    read: Callable[[Source, Gathering], None]


FORMATS = (
    RatingsFormat("Potato", potato.fits, potato.read),
    RatingsFormat("Label Studio", label_studio.fits, label_studio.read),
    RatingsFormat("Label Studio table", label_studio.fits_table, label_studio.read_table),
    RatingsFormat("Pearmut log", pearmut.fits, pearmut.read),
    RatingsFormat("factgenie", factgenie.fits, factgenie.read),
    RatingsFormat("Argilla", argilla.fits, argilla.read),
    RatingsFormat("Highlights", highlights.fits, highlights.read),
)
TABLE, MTURK = "Table of ratings", "Mechanical Turk batch"

ARCHIVE = "zip"
NO_ROLES: Roles = MappingProxyType({})
ENDINGS = RATINGS.endings


def read_files(
    data: bytes, filename: str, kind: RaterKind = "human", roles: Roles = NO_ROLES
) -> tuple[FinishedRatings, ...]:
    """Read a file of finished ratings, or all such files in a zip archive. Raises ImportRefused as `read_ratings`."""
    if filename.casefold().endswith(f".{ARCHIVE}"):
        return archives.read_archive(data, filename, kind, partial(read_ratings, roles=roles))
    return (read_ratings(data, filename, kind, roles),)


def read_ratings(data: bytes, filename: str, kind: RaterKind = "human", roles: Roles = NO_ROLES) -> FinishedRatings:
    """Read a file of finished ratings or highlights.

    kind: kind of the raters, if the file does not say. roles: column or level of a table → role, where the lead chose
    one. For a file of items, the result has items and no ratings.
    Raises ImportRefused with a sentence for the lead where nothing can be read.
    """
    findings = Findings()
    source = read_clean(data, filename, findings)
    program = next((candidate for candidate in FORMATS if candidate.fits(frozenset(source.columns))), None)
    if program is not None:
        into = Gathering(filename, program.name, kind=kind, findings=findings)
        program.read(source, into)
    elif not roles and (items := _only_items(data, filename, source)):
        return FinishedRatings(
            filename, "Items", recognised=items.recognised, problems=items.problems, items=items, roles=items.roles
        )
    else:
        is_batch = mturk.fits(frozenset(source.columns))
        into = Gathering(filename, MTURK if is_batch else TABLE, kind=kind, findings=findings)
        source = flattened(mturk.tidied(source, into) if is_batch else source, filename)
        tables.read(source, into, roles)
    return into.finished(source)


def _only_items(data: bytes, filename: str, source: Source) -> ItemFile | None:
    """The items of a file without raters; None if it does not contain items."""
    roles = proposed_roles(flattened(source, filename))
    if not {"annotator", "judge"}.isdisjoint(roles.values()) or "criterion" in roles.values():
        return None
    try:
        items = read_items(data, filename)
    except ImportRefused:
        return None
    others = [column for column in source.columns if column not in items.recognised and roles.get(column) == "value"]
    varied = [column for column in others if len({str(record.get(column)) for record in source.records}) > 1]
    return items if items.ok and not varied else None

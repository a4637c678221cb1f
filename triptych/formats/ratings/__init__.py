"""Readers of finished ratings from elsewhere: bytes and a file name in, ratings, highlights and texts out.

A new format is one module with `fits` (its fields) and `read`, and one line in FORMATS. What fits none is a table.
A file that cannot be read at all raises ImportRefused; everything else is in `FinishedRatings.problems`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from triptych.formats.model import Findings, Source
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
from triptych.formats.ratings.model import FinishedRatings, Gathering, RaterKind
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
    RatingsFormat("Mechanical Turk batch", mturk.fits, mturk.read),
    RatingsFormat("Highlights", highlights.fits, highlights.read),
    RatingsFormat("Table of ratings", lambda _: True, tables.read),
)

ARCHIVE = "zip"
ENDINGS = RATINGS.endings


def read_files(data: bytes, filename: str, kind: RaterKind = "human") -> tuple[FinishedRatings, ...]:
    """A file of finished ratings, or those in a zip archive. Raises ImportRefused as `read_ratings`."""
    if filename.casefold().endswith(f".{ARCHIVE}"):
        return archives.read_archive(data, filename, kind, read_ratings)
    return (read_ratings(data, filename, kind),)


def read_ratings(data: bytes, filename: str, kind: RaterKind = "human") -> FinishedRatings:
    """Read a file of finished ratings or highlights; `kind` says whose they are where the file does not.

    Raises ImportRefused with a sentence for the lead where nothing can be read.
    """
    findings = Findings()
    source = read_clean(data, filename, findings)
    program = next(candidate for candidate in FORMATS if candidate.fits(frozenset(source.columns)))
    into = Gathering(filename, program.name, kind=kind, findings=findings)
    program.read(source, into)
    return into.finished(source)

"""The progress of exports being downloaded, for the page, because a streamed zip has no known length.

It is stored per process: a page served by another process shows no bar, but the download works.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from triptych.formats.writers.model import File, Finished

PATIENCE_SECONDS = 30.0  # longest time between the click on a link and the browser's request
T = TypeVar("T")


@dataclass
class Underway:
    """One export. file: the file being written; walked: number of rows read for it, of `rows` in total (0: unknown).

    sent: bytes so far; is_whole: the complete zip was sent.
    """

    asked_at: float = field(default_factory=time.monotonic)
    file: str = ""
    walked: int = 0
    rows: int = 0
    sent: int = 0
    has_begun: bool = False
    has_ended: bool = False
    is_whole: bool = False

    @property
    def share(self) -> float:
        """Share of the current file that is written, 0 to 1."""
        return min(self.walked / self.rows, 1.0) if self.rows else 0.0

    def naming(self, files: Iterable[File]) -> Iterator[File]:
        for file in files:
            self.file, self.walked, self.rows = file.name, 0, 0
            yield file

    def counting(self, finished: Finished, items: int, ratings: int) -> Finished:
        """The study, whose iterators update the progress. items, ratings: how many there are."""
        return replace(
            finished,
            items=lambda selection: self._counted(finished.items(selection), items),
            ratings=lambda: self._counted(finished.ratings(), ratings),
            highlights=lambda: self._counted(finished.highlights(), 0),
            events=lambda: self._counted(finished.events(), finished.event_number),
        )

    def _counted(self, walk: Iterable[T], rows: int) -> Iterator[T]:
        self.walked, self.rows = 0, rows
        for row in walk:
            self.walked += 1
            yield row

    def sending(self, pieces: Iterable[bytes]) -> Generator[bytes, None, None]:
        """The pieces of the zip; ends when the browser disconnects."""
        self.has_begun = True
        try:
            for piece in pieces:
                self.sent += len(piece)
                yield piece
            self.is_whole = True
        finally:
            self.has_ended = True


_newest: dict[tuple[int, str], Underway] = {}


def ask(person_id: int, slug: str) -> None:
    """Note that somebody followed the link of an export."""
    _newest[person_id, slug] = Underway()


def newest(person_id: int, slug: str) -> Underway | None:
    """This person's latest export of the study; None if there is none, or the browser never requested it."""
    latest = _newest.get((person_id, slug))
    waited = latest is not None and time.monotonic() - latest.asked_at
    return None if latest and not latest.has_begun and waited > PATIENCE_SECONDS else latest


def begin(person_id: int, slug: str) -> Underway:
    """The requested export, or a new one: some browsers send requests on their own."""
    latest = newest(person_id, slug)
    if latest is None or latest.has_begun:
        latest = _newest[person_id, slug] = Underway()
    return latest

"""Annotators of a frame: diagnostics, speed, and items that they rated twice."""

from __future__ import annotations

from collections.abc import Iterator

from triptych.results.criterion import criterion_ratings
from triptych.results.frame.counted import counted_work
from triptych.results.frame.model import Counted, Frame
from triptych.results.texts import Texts
from triptych.stats.analysis import annotators
from triptych.stats.analysis.annotators import Repeated, Worker, reading_speeds
from triptych.stats.coefficients import AgreementTable
from triptych.stats.diagnostics import Speed
from triptych.stats.undefined import Undefined


def workers(frame: Frame, counted: Counted) -> Iterator[Worker]:
    """Every annotator whose ratings count."""
    work = counted_work(frame, counted)[["annotator", "kind", "excluded"]].astype({"annotator": str, "kind": str})
    for (name, kind, excluded), count in work.value_counts(sort=False).items():
        yield Worker(name, kind, bool(excluded), int(count))


def speeds_of(frame: Frame, counted: Counted, texts: Texts) -> tuple[Speed, ...] | Undefined:
    """How fast each annotator was."""
    work = counted_work(frame, counted)
    words = work["assignment"].map(texts.reading(frame.work)).to_numpy(dtype=float)
    names = work["annotator"].astype(str).to_numpy(dtype=object)
    return reading_speeds(work["active_seconds"].to_numpy(dtype=float), words, names)


def speed_flag(speed: Speed) -> str:
    """A sentence where an annotator was often too fast to read; empty elsewhere."""
    return f"{speed.unread} of {speed.n} annotations were too fast to have read the texts." if speed.flagged else ""


def with_self(twice: Frame, counted: Counted) -> dict[str, AgreementTable | Undefined]:
    """Agreement of annotators with themselves per criterion; twice: the result of `frame.upkeep.twice_rated`."""
    return {ratings.variable.key: annotators.with_self(ratings) for ratings in criterion_ratings(twice, counted)}


def repeated(twice: Frame, counted: Counted) -> dict[str, Repeated]:
    """By annotator: a summary of what they rated twice; twice: the result of `frame.upkeep.twice_rated`."""
    return annotators.repeated(criterion_ratings(twice, counted), twice.ratings["annotator"].cat.categories)

"""The time and size of a stored report of a large crowd's study, without a server."""

from __future__ import annotations

import time
from pathlib import Path

from sqlmodel import select

from bench.figures import Figure, at_most, observed
from bench.options import Options
from bench.rated import rated_world
from triptych.reports.build import build_report
from triptych.storage import database
from triptych.storage.models import Study

RATINGS, ANNOTATORS = 28_000, 283


def report(options: Options, home: Path) -> list[Figure]:
    """Processor time of one report, including figures, and the size of its zip."""
    rated_world(home, RATINGS, ANNOTATORS)
    engine = database.open_engine(f"sqlite:///{home / 'triptych.db'}")
    with database.reading(engine) as session:
        began = time.process_time()
        made = build_report(session, session.scalars(select(Study)).one())
        seconds = time.process_time() - began
    engine.dispose()
    note = f"{RATINGS:,} ratings by {ANNOTATORS} annotators, 5 criteria × 3 systems; one process, all files of the zip"
    what = f"report of {RATINGS:,} ratings"
    return [
        at_most(f"{what}: time", "s", [seconds], 60, note=note),
        observed(f"{what}: zip", "MB", [len(made.zip) / 1e6], note=note),
    ]

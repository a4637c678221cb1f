"""The part of a report that makes its numbers again: analysis.py, and `stats/` as the program has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from triptych import stats
from triptych.formats.writers.model import File
from triptych.formats.writers.writing import text_file
from triptych.reports import analysis

STATS = Path(stats.__file__).parent


def script_files(sha256: str) -> Iterator[File]:
    """The script with the snapshot's hash in it, which imports `stats` from beside itself, and the modules of that."""
    source = Path(analysis.__file__).read_text(encoding="utf-8")
    source = source.replace("from triptych.stats", "from stats").replace('\nSNAPSHOT = ""', f'\nSNAPSHOT = "{sha256}"')
    yield text_file("analysis.py", source)
    for path in sorted(STATS.rglob("*.py")):
        yield text_file(f"stats/{path.relative_to(STATS).as_posix()}", path.read_text(encoding="utf-8"))

"""Recomputes every number of this report from ratings.csv and compares it with results.csv.

    python analysis.py

needs Python 3.10 or newer, NumPy and SciPy, and nothing else; it reads the files beside it. It ends with 0 if every
number is the same to the last printed digit, and names those that are not. How each number is made stands beside its
function. Intervals of agreement, strengths and correlations draw items anew with NumPy's default generator; another
NumPy may draw other ones. The ordinal mixed model takes seconds for a thousand ratings.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from triptych.reports.recompute.agreement import agreement, with_self
from triptych.reports.recompute.basics import Criterion, Ratings, read_rows
from triptych.reports.recompute.comparisons import contrasts, families
from triptych.reports.recompute.diagnostics import each_annotator
from triptych.reports.recompute.effects import effects
from triptych.reports.recompute.judges import judges, length, metrics
from triptych.reports.recompute.ordinal import ordinal
from triptych.reports.recompute.ranks import ranks
from triptych.reports.recompute.raters import each_with_self, raters
from triptych.reports.recompute.spans import spans
from triptych.reports.recompute.systems import order, systems
from triptych.stats.numbers import written

SNAPSHOT = ""  # the hash of the snapshot that this report was made from


def recomputed(folder: Path) -> Iterator[tuple]:
    """(part, criterion, system, baseline, statistic, value or None) of every number of the report."""
    codebook = json.loads((folder / "codebook.json").read_text(encoding="utf-8"))
    everything = read_rows(folder / "ratings.csv")
    rows = [row for row in everything if row["counted"] == "1"]
    work = [row for row in read_rows(folder / "annotations.csv") if row["counted"] == "1"]
    yield "study", "", "", "", "annotations", len(work)
    yield "study", "", "", "", "ratings", sum(row["missing"] == "0" for row in rows)
    yield "study", "", "", "", "items", len({row["item_id"] for row in rows})
    yield "study", "", "", "", "annotators", len({row["annotator"] for row in rows})
    seen = {row["system"] for row in everything}
    names = [name for name in codebook["study"]["systems"] if name in seen]
    repeats = [row for row in read_rows(folder / "repeats.csv") if row["counted"] == "1"]
    criteria, resamples = [Criterion.read(given) for given in codebook["criteria"]], codebook["resamples"]
    compared: list[tuple] = []
    for criterion in criteria:
        ratings = Ratings.read(rows, criterion)
        yield from systems(criterion, ratings, names)
        yield from order(criterion, ratings)
        yield from agreement(criterion, ratings, resamples)
        yield from raters(criterion, ratings)
        yield from effects(criterion, ratings)
        if criterion.compares:
            compared += contrasts(criterion, ratings, names)
            yield from ordinal(criterion, ratings, names)
            yield from ranks(criterion, ratings, names)
        if criterion.compares and any(row["words"] for row in everything):
            yield from length(criterion, ratings)
        if repeats:
            yield from with_self(criterion, Ratings.read(repeats, criterion), resamples)
        yield from judges(criterion, everything, codebook["epsilon"])
        yield from metrics(criterion, criteria, everything)
    yield from spans(read_rows(folder / "highlights.csv"))
    yield from each_annotator([(criterion, Ratings.read(rows, criterion)) for criterion in criteria], work)
    yield from compared
    yield from families(compared, codebook["family"])
    yield from each_with_self((criterion, Ratings.read(repeats, criterion)) for criterion in criteria)
    if "pay" in codebook:
        yield from pay(codebook["pay"], read_rows(folder / "annotations.csv"))


def pay(asked: dict, work: list[dict[str, str]]) -> Iterator[tuple]:
    """What the pay for one item comes to per hour, by the mean active time of each annotator."""
    times: dict[str, list[float]] = {}
    for row in work:
        done = row["state"] in asked["states"] and row["annotator_kind"] in asked["kinds"]
        if done and float(row["active_seconds"]) > 0:
            times.setdefault(row["annotator"], []).append(float(row["active_seconds"]))
    rates = [3600 * asked["per_item"] / np.mean(seconds) for seconds in times.values()]
    yield "pay", "", "", "", "annotators", len(times)
    yield "pay", "", "", "", "seconds per item, median", np.median(np.concatenate(list(times.values())))
    yield "pay", "", "", "", "per hour, lowest", min(rates)
    yield "pay", "", "", "", "per hour, median", np.median(rates)


def differences(folder: Path) -> Iterator[str]:
    """A sentence for every number that is not as printed, and for files that do not belong together."""
    snapshot = (folder / "snapshot.json").read_bytes()
    if hashlib.sha256(snapshot).hexdigest() != SNAPSHOT:
        yield "snapshot.json is not the file of this snapshot."
    for name, digest in json.loads(snapshot)["files"].items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            yield f"{name} is not the file of this snapshot."
    names = ("part", "criterion", "system", "baseline", "statistic")
    printed = {tuple(row[name] for name in names): row for row in read_rows(folder / "results.csv")}
    found = {row[:5]: row[5] for row in recomputed(folder)}
    yield from (f"{place} is not in the report." for place in found.keys() - printed.keys())
    yield from (f"{place} is not recomputed." for place in printed.keys() - found.keys())
    for place in printed.keys() & found.keys():
        row, value = printed[place], found[place]
        defined = value is not None and not np.isnan(value)
        if row["snapshot"] != SNAPSHOT:
            yield f"{place} is of another snapshot."
        if (written(float(value), row["style"]) if defined else None) != (row["printed"] if row["value"] else None):
            yield f"{place}: the report says {row['printed']}, the ratings give {value}."


def main(folder: Path) -> int:
    wrong = sorted(differences(folder))
    count = len(read_rows(folder / "results.csv"))
    said = [*wrong, f"{count} numbers, {len(wrong)} differences. Snapshot {SNAPSHOT[:12]}."]
    sys.stdout.write("\n".join(said) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent))

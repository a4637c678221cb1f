"""Recomputes every number of this report from the files next to this script, and compares it with results.csv.

    python analysis.py

needs Python 3.11 or newer, NumPy and SciPy, and nothing else. It ends with 0 if every number is the same to the last
printed digit, and names those that are not. It shows that the printed numbers follow from these files: `stats/` next to
it holds the functions that made them, copied from the program. The formulas are checked elsewhere, by
independent implementations and published examples (docs/validation.md in the program's source). Intervals of strengths
and correlations resample items with NumPy's default generator; another NumPy may draw other items.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from pathlib import Path

import numpy as np

from triptych.stats.analysis.annotators import Worker, reading_speeds, repeated, with_self
from triptych.stats.analysis.collection import Collected
from triptych.stats.analysis.final_values import FinalMeans, final_means
from triptych.stats.analysis.judges import JudgeOf, judges
from triptych.stats.analysis.listing import Listing
from triptych.stats.analysis.pay import PayNumbers, pay_numbers, work_times
from triptych.stats.analysis.ratings import Ratings, Variable, option_numbers
from triptych.stats.analysis.statistics import Number
from triptych.stats.analysis.study import BesideRatings, StudyNumbers, length_of
from triptych.stats.correlation import Correlations
from triptych.stats.numbers import written
from triptych.stats.spans import SpanAgreement, span_agreement
from triptych.stats.undefined import Undefined, or_undefined

SNAPSHOT = ""  # the hash of the snapshot that this report was made from
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\0")
SAFE_INSIDE = re.compile(r"([;\t\r\n])'(?=['\"]*[=+\-@\0])")
Rows = list[dict[str, str]]


class Files(StudyNumbers):
    """The study in a report's files."""

    def __init__(self, folder: Path) -> None:
        self.codebook = json.loads((folder / "codebook.json").read_text(encoding="utf-8"))
        self.rows, self.twice, self.work, self.marks = (
            read_rows(folder / f"{name}.csv") for name in ("ratings", "repeats", "annotations", "highlights")
        )
        self.variables = [Variable.read(entry) for entry in self.codebook["variables"]]
        self.names = dict(enumerate(self.codebook["study"]["systems"], 1))
        self.items = sorted({row["item_id"] for row in (*self.rows, *self.twice)})

    @cached_property
    def ratings(self) -> list[Ratings]:
        return self.read(counted(self.rows))

    @property
    def systems(self) -> list[int]:
        rated = {row["system"] for row in self.rows}
        return [code for code, name in self.names.items() if name in rated]

    @cached_property
    def people_names(self) -> list[str]:
        return sorted({row["annotator"] for row in (*self.rows, *self.twice, *self.work)})

    @property
    def declared(self) -> Collection[str]:
        return self.codebook["family"]

    @property
    def margins(self) -> Mapping[str, float]:
        return self.codebook["margins"]

    @property
    def groups(self) -> Mapping[str, str]:
        return self.codebook["annotator_groups"]

    @property
    def collection(self) -> Collected:
        return Collected(**self.codebook["collection"])

    @property
    def workers(self) -> list[Worker]:
        columns = ("annotator", "annotator_kind", "excluded")
        people = Counter(tuple(row[name] for name in columns) for row in counted(self.work))
        return [Worker(name, kind, excluded == "1", n) for (name, kind, excluded), n in people.items()]

    @property
    def beside(self) -> BesideRatings:
        """The other data of the report, besides the ratings that count."""
        twice, work = counted(self.twice), counted(self.work)
        words = numbers(work, "words_to_read")
        return BesideRatings(
            with_self={ratings.variable.key: with_self(ratings) for ratings in self.read(twice)} if twice else {},
            repeated=repeated(self.read(twice), self.people_names) if twice else {},
            lengths=self.lengths() if any(row["words"] for row in self.rows) else {},
            judges=tuple(self.judges()),
            spans=spans(self.marks) if self.marks else (),
            speeds=reading_speeds(numbers(work, "active_seconds"), words, column(work, "annotator")),
            pay=self.pay(),
            finals=tuple(self.finals()),
        )

    def lengths(self) -> dict[str, Correlations | Undefined]:
        words = {key: [row for row in counted(self.rows) if row["criterion"] == key] for key in self.compared}
        return {key: length_of(self.ratings_of(key), numbers(rows, "words")) for key, rows in words.items()}

    def judges(self) -> Iterator[JudgeOf]:
        people = [row for row in counted(self.rows) if row["annotator_kind"] != "judge"]
        scores = [row for row in self.rows if row["beside"] == "1"]
        return judges(self.read(people), self.read(scores), self.people_names, self.codebook["epsilon"])

    def finals(self) -> Iterator[FinalMeans]:
        """The means with and without final values, by criterion."""
        rows = counted(self.rows)
        missing = {(v.key, option.key) for v in self.variables for option in v.options if option.missing}
        changed = [_with_final(row, missing) for row in rows]
        for given, final in zip(self.ratings, self.read(changed), strict=True):
            of_criterion = [row for row in rows if row["criterion"] == given.variable.key]
            decided = np.array([_is_decided(row) for row in of_criterion], dtype=bool)
            yield from final_means(given, final, decided, self.systems)

    def pay(self) -> PayNumbers | None:
        if "pay" not in self.codebook:
            return None
        pay = self.codebook["pay"]
        work = [row for row in self.work if row["state"] in pay["states"] and row["annotator_kind"] in pay["kinds"]]
        return pay_numbers(pay["per_item"], work_times(column(work, "annotator"), numbers(work, "active_seconds")))

    def read(self, rows: Rows) -> list[Ratings]:
        """The ratings in these rows, by criterion."""
        return [self._ratings(v, [row for row in rows if row["criterion"] == v.key]) for v in self.variables]

    def _ratings(self, variable: Variable, rows: Rows) -> Ratings:
        option = codes(rows, "option", [option.key for option in variable.options], -1)
        missing = column(rows, "missing") == "1"
        times = np.array([row["assigned_at"].rstrip("Z") for row in rows], dtype="datetime64[us]")
        return Ratings(
            variable,
            option_numbers(variable, option, missing) if variable.kind == "choice" else numbers(rows, "value"),
            option,
            missing,
            item=codes(rows, "item_id", self.items),
            group=codes(rows, "item_group", sorted({row["item_group"] for row in rows})),
            annotator=codes(rows, "annotator", self.people_names),
            system=codes(rows, "system", ["", *self.names.values()]),
            position=np.array([int(row["position"] or -1) for row in rows], dtype=int),
            at=times.astype(float) / 1e6,
        )


def counted(rows: Rows) -> Rows:
    return [row for row in rows if row["counted"] == "1"]


def _is_decided(row: dict[str, str]) -> bool:
    return bool(row["final_value"] or row["final_option"])


def _with_final(row: dict[str, str], missing: Collection[tuple[str, str]]) -> dict[str, str]:
    """The row with its final value, if it has one."""
    if not _is_decided(row):
        return row
    option = row["final_option"]
    unanswered = "1" if (row["criterion"], option) in missing else "0"
    return {**row, "value": row["final_value"], "option": option, "missing": unanswered}


def column(rows: Rows, name: str) -> np.ndarray:
    return np.array([row[name] for row in rows], dtype=object)


def numbers(rows: Rows, name: str) -> np.ndarray:
    """(n,) numbers, NaN where the cell is empty."""
    return np.array([float(row[name] or "nan") for row in rows], dtype=float)


def codes(rows: Rows, name: str, labels: list[str], otherwise: int = 0) -> np.ndarray:
    """(n,) the index of each label in `labels`."""
    places = {label: place for place, label in enumerate(labels)}
    return np.array([places.get(row[name], otherwise) for row in rows], dtype=int)


def spans(rows: Rows) -> tuple[SpanAgreement, ...] | Undefined:
    texts = np.array([json.dumps([row["item_id"], row["system"], row["turn"]]) for row in rows], dtype=object)
    ends = (numbers(rows, "start"), numbers(rows, "end"))
    # a highlight without a system is in the context
    places = np.array(["response" if row["system"] else "context" for row in rows], dtype=object)
    columns = (texts, numbers(rows, "characters"), column(rows, "annotator"), *ends, column(rows, "label"), places)
    return or_undefined(span_agreement, *columns)


def read_rows(path: Path) -> Rows:
    """Rows of a CSV file, without the ' that keeps spreadsheets from reading a formula."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _restored(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


def _restored(cell: str) -> str:
    is_marked = cell.startswith("'") and cell.lstrip("'").startswith(FORMULA)
    return SAFE_INSIDE.sub(r"\1", cell[1:] if is_marked else cell)


def recomputed(folder: Path) -> Iterator[Number]:
    """Every number of the report, from its data."""
    study = Files(folder)
    yield from Listing(study, study.names, study.beside).numbers()


def differences(folder: Path) -> Iterator[str]:
    """A sentence for each number that differs from the printed one, and for files of different snapshots."""
    snapshot = (folder / "snapshot.json").read_bytes()
    if hashlib.sha256(snapshot).hexdigest() != SNAPSHOT:
        yield "snapshot.json is not the file of this snapshot."
    for name, digest in json.loads(snapshot)["files"].items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            yield f"{name} is not the file of this snapshot."
    where = ("part", "criterion", "system", "baseline", "statistic")
    with (folder / "results.csv").open(encoding="utf-8", newline="") as file:
        if next(csv.reader(file), None) != ["snapshot", *where, "value", "style", "printed"]:
            yield "results.csv has other columns than the program writes."
    rows = read_rows(folder / "results.csv")
    places = [tuple(row[name] for name in where) for row in rows]
    yield from (f"{place} is in the report {n} times." for place, n in Counter(places).items() if n > 1)
    printed: dict[tuple[str, ...], dict[str, str]] = dict(zip(places, rows, strict=True))
    again: dict[tuple[str, ...], Number] = {number.place: number for number in recomputed(folder)}
    yield from (f"{place} is not in the report." for place in again.keys() - printed.keys())
    yield from (f"{place} is not recomputed." for place in printed.keys() - again.keys())
    for place in printed.keys() & again.keys():
        row, number = printed[place], again[place]
        if row["snapshot"] != SNAPSHOT:
            yield f"{place} belongs to another snapshot."
        value = written(float(row["value"]), number.style) if row["value"] else row["printed"]
        said = dict.fromkeys((row["printed"], value))
        if (*said, bool(row["value"]), row["style"]) != (number.printed, number.value is not None, number.style):
            in_files = f"{number.printed} ({number.style})"
            yield f"{place}: the report says {' and '.join(said)} ({row['style']}), its files give {in_files}."


def main(folder: Path) -> int:
    csv.field_size_limit(2**31 - 1)  # a group of items may have a longer name than the module allows by default
    wrong = sorted(differences(folder))
    count = len(read_rows(folder / "results.csv"))
    lines = [*wrong, f"{count} numbers, {len(wrong)} differences. Snapshot {SNAPSHOT[:12]}."]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent))

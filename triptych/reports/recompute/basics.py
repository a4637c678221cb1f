"""What the files beside the script say."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\0")
TINY = 1e-12


@dataclass(frozen=True)
class Criterion:
    """What codebook.json says of one criterion.

    options: key -> (positive, missing), for a choice; apart: keys of those that agreement is also shown without.
    """

    key: str
    kind: str
    level: str
    about: str
    points: list[float]
    ends: tuple[float, float]
    options: dict[str, tuple[bool, bool]]
    apart: frozenset[str]

    @classmethod
    def read(cls, given: dict) -> Criterion:
        scale = given["scale"]
        points, ends = [], (0.0, 1.0)
        if scale["kind"] == "likert":
            points = [float(point["value"]) for point in scale["points"]]
            ends = (points[0], points[-1])
        if scale["kind"] == "number":
            ends, steps = (scale["low"], scale["high"]), round((scale["high"] - scale["low"]) / scale["step"])
            points = [round(ends[0] + n * scale["step"], 9) for n in range(steps + 1)] if steps < 21 else []
        options = {one["key"]: (one["positive"], one["missing"]) for one in scale.get("options", ())}
        apart = frozenset(one["key"] for one in scale.get("options", ()) if one["apart"])
        return cls(given["key"], scale["kind"], scale["level"], given["about"], points, ends, options, apart)

    @property
    def is_share(self) -> bool:
        return self.kind in ("best", "choice")

    @property
    def is_of_systems(self) -> bool:
        return self.about == "candidate" or self.kind == "best"

    @property
    def compares(self) -> bool:
        """Whether it can tell systems apart: options without a positive one have no order."""
        return self.is_of_systems and (not self.options or bool(self.positive))

    @property
    def positive(self) -> list[str]:
        return [key for key, (positive, _) in self.options.items() if positive]


@dataclass(frozen=True)
class Ratings:
    """Columns (n,) of ratings of one criterion.

    number: NaN = none; system: "" = the item itself; position: -1 = not known; words: of the response, NaN = no text;
    at: when it was submitted, in seconds.
    """

    number: np.ndarray
    option: np.ndarray
    missing: np.ndarray
    item: np.ndarray
    annotator: np.ndarray
    system: np.ndarray
    position: np.ndarray
    words: np.ndarray
    at: np.ndarray

    @classmethod
    def read(cls, rows: list[dict[str, str]], criterion: Criterion) -> Ratings:
        """The rows that are about this criterion."""
        rows = [row for row in rows if row["criterion"] == criterion.key]
        numbers = [_number(row, criterion) for row in rows]
        names = ("item_id", "annotator", "system")
        labels = [np.array([row[name] for row in rows], dtype=object) for name in names]
        return cls(
            np.array(numbers, dtype=float),
            np.array([row["option"] for row in rows], dtype=object),
            np.array([row["missing"] == "1" for row in rows], dtype=bool),
            *labels,
            np.array([int(row["position"] or -1) for row in rows], dtype=int),
            np.array([float(row["words"] or "nan") for row in rows], dtype=float),
            np.array([row["submitted_at"].rstrip("Z") for row in rows], dtype="datetime64[us]").astype(float) / 1e6,
        )

    def of(self, kept: np.ndarray) -> Ratings:
        return Ratings(*(column[kept] for column in vars(self).values()))


def _number(row: dict[str, str], criterion: Criterion) -> float:
    """The number given; for a choice 1 if the option is positive, else 0; NaN where there is none."""
    if not criterion.options:
        return float(row["value"]) if row["value"] else np.nan
    if row["missing"] == "1" or not criterion.positive:
        return np.nan
    return float(row["option"] in criterion.positive)


def codes(*labels: np.ndarray) -> np.ndarray:
    """Codes 0, 1, 2, … (n,) of equal rows of labels."""
    joined = [json.dumps(row) for row in zip(*(column.tolist() for column in labels), strict=True)]
    return np.unique(joined, return_inverse=True)[1]


def read_rows(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file; a ' that keeps spreadsheets from seeing a formula is taken off again."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _restored(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


def _restored(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(FORMULA) else cell

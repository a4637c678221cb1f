"""Every rating as a list that can be filtered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from triptych.results.frame.model import Frame
from triptych.rubric.answers import LETTERS
from triptych.storage.models import AssignmentState

MARKS = ("missing", "surplus", "excluded", "after unblinding", "explained")


@dataclass(frozen=True)
class Filters:
    """Which ratings to list; an empty part lets everything through.

    `item` is part of an item's id, `text` part of an explanation.
    """

    annotators: frozenset[str] = frozenset()
    item: str = ""
    systems: frozenset[int] = frozenset()
    criteria: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()
    text: str = ""


@dataclass(frozen=True)
class RatingsTable:
    """The newest rows that pass the filters, ready to show, and how many pass in all."""

    rows: pd.DataFrame
    count: int
    total: int


def ratings_table(frame: Frame, filters: Filters, names: dict[int, str], limit: int = 2000) -> RatingsTable:
    """At most `limit` ratings, newest first, with titles for keys and names for systems."""
    rows = frame.ratings
    passing_rows = rows[_passing(frame, filters)]
    newest = passing_rows.sort_values(["submitted_at", "assignment"], ascending=False, kind="stable")[:limit]
    titles = {criterion.key: criterion.title for criterion in frame.rubric.criteria}
    shown = pd.DataFrame(
        {
            "Annotator": newest["annotator"].astype(str),
            "Item": newest["item"].astype(str),
            "System": [names.get(code, "") for code in newest["system"]],
            "Response": [LETTERS[at] if at >= 0 else "" for at in newest["position"]],
            "Criterion": [titles[key] for key in newest["criterion"]],
            "Value": _written_values(newest),
            "Reasons": newest["reasons"].astype("str").str.replace(",", ", "),
            "Explanation": newest["explanation"].astype(str),
            "Marks": [", ".join(marks) for marks in _marks_of(frame, newest)],
            "Submitted (UTC)": newest["submitted_at"].dt.strftime("%Y-%m-%d %H:%M:%S"),
            "Active s": newest["active_seconds"].round(1),
        }
    )
    return RatingsTable(shown.reset_index(drop=True), len(passing_rows), len(rows))


def _written_values(rows: pd.DataFrame) -> list[str]:
    """A number as people write it, an option by its key, nothing where a response was set aside."""
    pairs = zip(rows["value"], rows["option"].astype(object), strict=True)
    return [f"{value:g}" if value == value else option if isinstance(option, str) else "" for value, option in pairs]


def values_in(frame: Frame) -> list[str]:
    """Every value that occurs, as written in the list: numbers first."""
    distinct = frame.ratings[["value", "option"]].drop_duplicates()
    values = {value for value in _written_values(distinct) if value}
    return sorted(values, key=lambda value: (value[0].isalpha(), value if value[0].isalpha() else float(value)))


def _passing(frame: Frame, filters: Filters) -> pd.Series:
    rows = frame.ratings
    passing = pd.Series(True, index=rows.index)
    lists = {"annotator": filters.annotators, "system": filters.systems, "criterion": filters.criteria}
    for name, values in lists.items():
        if values:
            passing &= rows[name].isin(values)
    if filters.values:
        passing &= pd.Series(_written_values(rows), index=rows.index).isin(filters.values)
    for name, marked in _marks(frame, rows).items():
        if name in filters.marks:
            passing &= marked
    if filters.item:
        ids = rows["item"].cat.categories
        passing &= rows["item"].isin(ids[ids.str.contains(filters.item, case=False, regex=False)])
    if filters.text:
        passing &= rows["explanation"].str.contains(filters.text, case=False, regex=False)
    return passing


def _marks(frame: Frame, rows: pd.DataFrame) -> dict[str, pd.Series]:
    explained = (rows["explanation"] != "") | (rows["reasons"] != "")
    surplus = rows["state"] == AssignmentState.surplus
    late = frame.after_unblinding(rows)
    return dict(zip(MARKS, (rows["missing"], surplus, rows["excluded"], late, explained), strict=True))


def _marks_of(frame: Frame, rows: pd.DataFrame) -> Iterator[list[str]]:
    marks = {name: marked for name, marked in _marks(frame, rows).items() if name != "explained"}
    by_row = zip(*marks.values(), strict=True)
    return ([name for name, marked in zip(marks, row, strict=True) if marked] for row in by_row)

"""All ratings as a list that can be filtered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from triptych.results.frame.model import ABOUT_ITEM, Frame
from triptych.rubric.answers import letter
from triptych.rubric.scales import Choice, as_typed
from triptych.storage.models import AssignmentState

MARKS = ("missing", "surplus", "excluded", "after unblinding", "explained")
PAGE_ROWS = 500
# what the list can be ordered by → its column
ORDERS = {
    "Submitted": "submitted_at",
    "Item": "item",
    "Annotator": "annotator",
    "System": "system",
    "Criterion": "criterion",
    "Value": "value",
    "Active time": "active_seconds",
}
# grouping → its column, and the name and column of the other count
GROUPS = {"Item": ("item", "Annotators", "annotator"), "Annotator": ("annotator", "Items", "item")}


@dataclass(frozen=True)
class Filters:
    """Which ratings to list; an empty part lets everything through.

    `item` is part of an item's id, `text` part of an explanation, `values` are as the list writes them.
    """

    annotators: frozenset[str] = frozenset()
    item: str = ""
    systems: frozenset[int] = frozenset()
    criteria: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()
    text: str = ""


@dataclass(frozen=True)
class Page:
    """Which rows of the list: ordered by one of ORDERS, then newest first, from row `start` on, `size` at most."""

    order: str = "Submitted"
    descending: bool = True
    start: int = 0
    size: int = PAGE_ROWS


@dataclass(frozen=True)
class RatingsTable:
    """One page of the rows that pass the filters, ready to show; count: rows that pass; total: all rows."""

    rows: pd.DataFrame
    count: int
    total: int


def ratings_table(frame: Frame, filters: Filters, names: dict[int, str], page: Page = Page()) -> RatingsTable:
    """A page of the ratings, with titles for keys and names for systems."""
    rows = frame.ratings
    passing = np.flatnonzero(_passing(frame, filters))
    newest = rows.iloc[_ordered(rows, passing, page)[page.start : page.start + page.size]]
    titles = {criterion.key: criterion.title for criterion in frame.rubric.criteria}
    shown = pd.DataFrame(
        {
            "Annotator": newest["annotator"].astype(str),
            "Item": newest["item"].astype(str),
            "System": [names.get(code, "") for code in newest["system"]],
            "Response": [letter(at) if at >= 0 else "" for at in newest["position"]],
            "Criterion": [titles[key] for key in newest["criterion"]],
            "Value": _written_values(frame, newest),
            "Reasons": newest["reasons"].astype("str").str.replace(",", ", "),
            "Explanation": newest["explanation"].astype(str),
            "Marks": [", ".join(marks) for marks in _marks_of(frame, newest)],
            "Submitted (UTC)": newest["submitted_at"].dt.strftime("%Y-%m-%d %H:%M:%S"),
            "Active s": newest["active_seconds"].round(1),
        }
    )
    return RatingsTable(shown.reset_index(drop=True), len(passing), len(rows))


def groups_table(frame: Frame, filters: Filters, by: str, start: int = 0) -> RatingsTable:
    """A page of the items or annotators (by: a key of GROUPS) with ratings that pass, most ratings first."""
    column, other_name, other = GROUPS[by]
    rows = frame.ratings[_passing(frame, filters)]
    counted = {
        "Ratings": pd.Series(1, index=rows.index),
        other_name: ~rows.duplicated([column, other]),
        **{name.capitalize(): marked for name, marked in _marks(frame, rows, ("missing", "explained")).items()},
    }
    groups = pd.DataFrame(counted).groupby(rows[column], observed=True).sum()
    page = groups.sort_values("Ratings", ascending=False, kind="stable")[start : start + PAGE_ROWS]
    table = page.set_axis(page.index.astype(str)).rename_axis(by).reset_index()
    return RatingsTable(table, len(groups), len(rows[column].cat.categories))


def _ordered(rows: pd.DataFrame, passing: np.ndarray, page: Page) -> np.ndarray:
    """The numbers of the rows that pass, in the page's order; rows without a value come last."""
    sign = -1 if page.descending else 1
    first = _rank(rows[ORDERS[page.order]], passing)
    newest = (-rows["assignment"].to_numpy()[passing], -_rank(rows["submitted_at"], passing))
    return passing[np.lexsort((*newest, sign * first))]


def _rank(column: pd.Series, at: np.ndarray) -> np.ndarray:
    """(n,) ranks of the column's values in the rows `at`; labels are ordered by name."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        place = np.argsort(np.argsort(column.cat.categories.astype(str)))
        return place[column.cat.codes.to_numpy()[at]]
    times = isinstance(column.dtype, pd.DatetimeTZDtype)
    return (column.astype(np.int64) if times else column).to_numpy()[at]


def _titles_of_options(frame: Frame) -> dict[tuple[str, str], str]:
    """By criterion and option."""
    scales = {criterion.key: criterion.scale for criterion in frame.rubric.criteria}
    choices = {key: scale.options for key, scale in scales.items() if isinstance(scale, Choice)}
    return {(key, option.key): option.title for key, options in choices.items() for option in options}


def _written_values(frame: Frame, rows: pd.DataFrame) -> list[str]:
    """Numbers as people write them, options by their titles, nothing where a response was set aside."""
    titles = _titles_of_options(frame)
    columns = (rows["criterion"].astype(object), rows["value"], rows["option"].astype(object))
    answers = zip(*columns, strict=True)
    return [as_typed(value) if value == value else titles.get((key, option), "") for key, value, option in answers]


def values_in(frame: Frame) -> list[str]:
    """Every value that occurs, as written in the list: numbers first."""
    distinct = frame.ratings[["criterion", "value", "option"]].drop_duplicates()
    numbers = [as_typed(number) for number in sorted(distinct["value"].dropna().unique())]
    titles = sorted({*_written_values(frame, distinct[distinct["value"].isna()])} - {""})
    return list(dict.fromkeys([*numbers, *titles]))


def _passing(frame: Frame, filters: Filters) -> pd.Series:
    rows = frame.ratings
    passing = pd.Series(True, index=rows.index)
    lists = {"annotator": filters.annotators, "system": filters.systems, "criterion": filters.criteria}
    for name, values in lists.items():
        if values:
            passing &= rows[name].isin(values)
    if filters.values:
        numbers = [number for number in rows["value"].dropna().unique() if as_typed(number) in filters.values]
        answers = pd.Series(False, index=rows.index)
        for (key, option), title in _titles_of_options(frame).items():
            if title in filters.values:
                answers |= (rows["criterion"] == key) & (rows["option"] == option)
        passing &= rows["value"].isin(numbers) | answers
    for marked in _marks(frame, rows, sorted(filters.marks)).values():
        passing &= marked
    if filters.item:
        ids = rows["item"].cat.categories
        passing &= rows["item"].isin(ids[ids.str.contains(filters.item, case=False, regex=False)])
    if filters.text:
        passing &= rows["explanation"].str.contains(filters.text, case=False, regex=False)
    return passing


def _marks(frame: Frame, rows: pd.DataFrame, names: Sequence[str]) -> dict[str, pd.Series]:
    """Mark → which rows have it, for each of these marks."""
    masks = {
        "missing": lambda: rows["missing"],
        "surplus": lambda: rows["state"] == AssignmentState.surplus,
        "excluded": lambda: rows["excluded"],
        "after unblinding": lambda: frame.after_unblinding(rows),
        "explained": lambda: (rows["explanation"] != "") | (rows["reasons"] != ""),
    }
    return {name: masks[name]() for name in names}


def _marks_of(frame: Frame, rows: pd.DataFrame) -> Iterator[list[str]]:
    marks = _marks(frame, rows, [name for name in MARKS if name != "explained"])
    by_row = zip(*marks.values(), strict=True)
    return ([name for name, marked in zip(marks, row, strict=True) if marked] for row in by_row)


def rating_of(frame: Frame, names: dict[int, str], row: dict[str, str]) -> dict[str, str]:
    """The address parameters of the rating that a row of the list shows: item, annotator, blind code and criterion."""
    code = next((code for code, name in names.items() if name == row["System"]), ABOUT_ITEM)
    key = next(criterion.key for criterion in frame.rubric.criteria if criterion.title == row["Criterion"])
    return {"look": row["Item"], "by": row["Annotator"], "of": str(code), "about": key}

"""Columns of ratings on their way into a statistic: missing rows out, labels to codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .undefined import UndefinedStatistic

Label: TypeAlias = Any  # of a row, as the caller passed it: text or a number
Column: TypeAlias = NDArray[Label] | Sequence[Label]
Floats: TypeAlias = NDArray[np.float64]
LARGEST = 1e100
CONFIDENCE = 0.95  # of every interval


def codes(labels: Column) -> tuple[np.ndarray, np.ndarray]:
    """Codes 0..G-1 of n labels (numbers or text), and the G labels in order of first appearance.

    Raises ValueError when a label is missing.
    """
    column = _array(labels)
    if _is_missing(column).any():
        raise ValueError("An item, annotator or system is missing for a value.")
    if column.dtype == object:
        places: dict[Label, int] = {}
        code = np.array([places.setdefault(label, len(places)) for label in column.tolist()], dtype=np.int64)
        return code, _objects(list(places))
    distinct, first, code = np.unique(column, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place[code], distinct[order]


def pair_codes(first: NDArray[np.int64], second: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes (n,) of the pairs of two codes, and the row where each pair first occurs."""
    _, row, pair = np.unique(first * (second.max(initial=0) + 1) + second, return_index=True, return_inverse=True)
    return pair, row


def centred(columns: Floats, groups: NDArray[np.int64]) -> Floats:
    """(n,) or (n, q) minus the mean of each group; groups: (n,) codes."""
    if columns.ndim == 1:
        return columns - (np.bincount(groups, columns) / np.bincount(groups))[groups]
    # one column at a time stays in the processor's cache: every pair of systems reads two
    return np.array([centred(column, groups) for column in columns.T]).reshape(columns.T.shape).T


def numbers(values: Column, *labels: Column) -> tuple[np.ndarray, ...]:
    """The n values as floats and the other columns, without the rows where the value is missing (NaN).

    Raises UndefinedStatistic when a value is so large that its square has no finite sum, ValueError when the
    columns differ in length.
    """
    rows = present(np.asarray(values, dtype=float), *labels)
    if len(rows[0]) and max(rows[0].max(), -rows[0].min()) > LARGEST:
        raise UndefinedStatistic(f"Not defined: a value is beyond {LARGEST:g}.")
    return rows


def present(values: Column, *labels: Column) -> tuple[np.ndarray, ...]:
    """All columns (n,) without the rows where `values` is missing (NaN or None)."""
    columns = [_array(column) for column in (values, *labels)]
    if len({column.shape for column in columns}) > 1 or columns[0].ndim != 1:
        raise ValueError("Columns of ratings must be flat and of one length.")
    missing = _is_missing(columns[0])
    return tuple(column[~missing] for column in columns) if missing.any() else tuple(columns)


def _is_missing(column: np.ndarray) -> np.ndarray:
    """(n,) whether each label is NaN or None."""
    if column.dtype.kind == "f":
        missing: NDArray[np.bool_] = np.isnan(column)
        return missing
    if column.dtype != object:
        return np.zeros(len(column), dtype=bool)
    return np.array([label is None or label != label for label in column.tolist()], dtype=bool)


def _array(column: Column) -> np.ndarray:
    """The column as an array; texts as objects, because NumPy turns a NaN among texts into the text "nan"."""
    array = np.asarray(column)
    if array.dtype.kind not in "USO":
        return array
    return array if isinstance(column, np.ndarray) else _objects(list(column))


def _objects(labels: list[Label]) -> np.ndarray:
    """The labels as an array of objects, tuples whole."""
    column = np.empty(len(labels), dtype=object)
    column[:] = labels
    return column

"""Columns of ratings on their way into a statistic: missing rows out, labels to codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd

from triptych.errors import UndefinedStatistic

Column: TypeAlias = Sequence | np.ndarray | pd.Series
_LARGEST = 1e100


def codes(labels: Column) -> tuple[np.ndarray, np.ndarray]:
    """Codes 0..G-1 of n labels (numbers or text), and the G labels in order of first appearance."""
    found, distinct = pd.factorize(_array(labels))
    if (found < 0).any():
        raise ValueError("An item, annotator or system is missing beside a value.")
    return found, np.asarray(distinct)


def numbers(values: Column, *labels: Column) -> tuple[np.ndarray, ...]:
    """The n values as floats and the columns beside them, without the rows where the value is missing (NaN).

    Raises UndefinedStatistic when a value is so large that its square has no finite sum, ValueError when the
    columns differ in length.
    """
    kept = present(pd.Series(values).to_numpy(dtype=float, na_value=np.nan), *labels)
    if len(kept[0]) and max(kept[0].max(), -kept[0].min()) > _LARGEST:
        raise UndefinedStatistic(f"Not defined: a value lies beyond {_LARGEST:g}.")
    return kept


def present(values: Column, *labels: Column) -> tuple[np.ndarray, ...]:
    """All columns (n,) without the rows where `values` is missing (NaN or None)."""
    columns = [_array(column) for column in (values, *labels)]
    if len({column.shape for column in columns}) > 1 or columns[0].ndim != 1:
        raise ValueError("Columns of ratings must be flat and of one length.")
    kept = ~pd.isna(columns[0])
    return tuple(columns) if kept.all() else tuple(column[kept] for column in columns)


def _array(column: Column) -> np.ndarray:
    """The column as an array; through pandas, because NumPy turns a NaN among texts into the text "nan"."""
    return column if isinstance(column, np.ndarray) else pd.Series(column).to_numpy()

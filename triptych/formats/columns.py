"""What a column of an exported table means and which type its cells have, for codebooks, Parquet files and scripts."""

from __future__ import annotations

from collections.abc import Container, Mapping
from enum import StrEnum
from typing import NamedTuple


class Type(StrEnum):
    """The type of a column's cells, in the words of docs/data-dictionary.md."""

    text = "text"
    whole = "whole number"
    number = "number"
    truth = "yes or no"
    time = "time"
    keys = "list of keys"
    turns = "list of turns"


class Column(NamedTuple):
    """A column of one or several tables."""

    meaning: str
    type: Type = Type.text


def meanings(columns: Mapping[str, Column], names: Container[str]) -> dict[str, str]:
    """The columns with these names as a codebook explains them."""
    return {name: column.meaning for name, column in columns.items() if name in names}

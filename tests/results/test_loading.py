"""The tables of ratings are as large as their rows, whatever numbers those have."""

from __future__ import annotations

import numpy as np

from triptych.results.frame import loading
from triptych.results.frame.model import ABOUT_ITEM, UNKNOWN_POSITION

HIGH = 2**45  # an array with as many places could not be had


def test_labels_take_memory_by_their_rows():
    """Numbers of rows rise when others' studies are imported."""
    names = {HIGH: "fluency", HIGH + 1: "verdict", HIGH + 2: "fluency", HIGH + 3: "unused"}
    labels = loading._labels(np.array([HIGH + 1, HIGH, 0, HIGH + 2]), names)
    assert labels.categories.tolist() == ["fluency", "verdict"]
    assert labels.codes.tolist() == [1, 0, -1, 0]
    assert loading._labels(np.array([], dtype="int64"), names).categories.dtype == "str"


def test_positions_take_memory_by_their_rows():
    answers = {
        "assignment": np.array([7, 7, 7, 9, 9]),
        "position": np.array([0, HIGH, np.nan, 0, 1]),
    }
    places = {
        "assignment": np.array([7, 7, 9]),
        "position": np.array([0, HIGH, 0]),
        "order_known": np.array([True, False, False]),
        "system": np.array([3, 1, 2], dtype="int32"),
    }
    placed = loading._placed(answers, places)
    assert placed["position"].tolist() == [0, *[UNKNOWN_POSITION] * 4]
    assert placed["system"].tolist() == [3, 1, ABOUT_ITEM, 2, ABOUT_ITEM]
    nowhere = {name: column[:0] for name, column in places.items()}
    assert set(loading._placed(answers, nowhere)["system"]) == {ABOUT_ITEM}

"""Which ratings and annotations of a frame are behind the numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from sqlalchemy import ColumnElement

from triptych.results.frame.model import Counted, Frame
from triptych.storage.models import FINISHED, RATED, AssignmentState, Kind, Membership, Person, Study


def kinds_by_default(study: Study) -> frozenset[str]:
    """People's ratings only; a demo study is filled by simulated annotators and shows them too."""
    return frozenset(Kind) if study.demo else Counted().kinds


def mostly_ignored(frame: Frame, counted: Counted) -> list[str]:
    """Items that more than half of their raters ignored, whichever annotators the filters select."""
    rows = selected_work(frame, replace(counted, annotators=frozenset()))
    rows = rows[rows["state"].isin(FINISHED)]
    share = (rows["state"] == AssignmentState.ignored).groupby(rows["item"], observed=True).mean()
    return share.index[share > 0.5].astype(str).tolist()


def counted_ratings(frame: Frame, counted: Counted) -> pd.DataFrame:
    """The rows behind every number: without excluded annotators and items that most ignored, of the selected kinds."""
    return frame.ratings[counting(frame, counted)]


def counting(frame: Frame, counted: Counted) -> np.ndarray:
    """(n,) whether each of the frame's n ratings is behind the numbers."""
    return _counting(frame, frame.ratings, counted)


def counted_work(frame: Frame, counted: Counted) -> pd.DataFrame:
    """The annotations with ratings that count."""
    return frame.work[_counting(frame, frame.work, counted) & frame.work["state"].isin(RATED).to_numpy()]


def selected_work(frame: Frame, counted: Counted) -> pd.DataFrame:
    """All annotations under the filters, including skipped and ignored items and items that most annotators ignored."""
    return frame.work[_passes(frame, frame.work, counted)]


def _counting(frame: Frame, rows: pd.DataFrame, counted: Counted) -> np.ndarray:
    passing = _passes(frame, rows, counted)
    if not counted.with_ignored:
        passing &= ~_among(rows["item"], mostly_ignored(frame, counted))
    return passing


def _passes(frame: Frame, rows: pd.DataFrame, counted: Counted) -> np.ndarray:
    passing = _among(rows["kind"], counted.kinds)
    if not counted.with_excluded:
        passing &= ~rows["excluded"].to_numpy()
    if counted.annotators:
        passing &= _among(rows["annotator"], counted.annotators)
    if counted.field:
        passing &= _among(rows["item"], _items_with(frame, counted.field, counted.value))
    return passing


def counted_items(frame: Frame, counted: Counted) -> frozenset[str]:
    """Ids of the items whose ratings and highlights count, no matter who gave them."""
    asked = _items_with(frame, counted.field, counted.value) if counted.field else frozenset(frame.meta)
    return asked if counted.with_ignored else asked.difference(mostly_ignored(frame, counted))


def _items_with(frame: Frame, field: str, value: str) -> frozenset[str]:
    """Ids of the items whose field in the items file has this value."""
    return frozenset(item for item in frame.meta if field_value(frame, item, field) == value)


def field_value(frame: Frame, item: str, field: str) -> str:
    """An item's value of a field of the items file; "" without one."""
    value = frame.meta.get(item, {}).get(field)
    return "" if value is None else str(value)


def _among(labels: pd.Series, chosen: Collection[str]) -> np.ndarray:
    """(n,) whether each label is among the chosen ones; each category is looked up once."""
    return labels.cat.categories.isin(list(chosen))[labels.cat.codes] if len(labels) else np.zeros(0, dtype=bool)


def people_counted(counted: Counted) -> Iterator[ColumnElement[bool]]:
    """Conditions on a person and their part in the study."""
    yield Person.kind.in_(counted.kinds)
    if not counted.with_excluded:
        yield Membership.excluded_at.is_(None)
    if counted.annotators:
        yield Person.pseudonym.in_(counted.annotators)

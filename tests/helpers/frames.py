"""Frames of ratings without a database, for tests and measurements of what is computed from them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from triptych.results.criterion import CriterionResult, criterion_ratings, criterion_result
from triptych.results.frame.loading import LABELS, TIMES, WORK
from triptych.results.frame.model import Counted, Frame
from triptych.rubric.files import parse_rubric
from triptych.study.lifecycle import Design

_numbers = itertools.count(1)
LIKERT = """
key: points
title: Points
summary: Criteria on seven points.
instructions: Rate.
criteria:
"""
CRITERION = """
  - key: c{n}
    title: Criterion {n}
    definition: Number {n}.
    scale: {{kind: likert, points: [{points}]}}
"""


def likert_rubric(criteria: int = 1, points: int = 7) -> str:
    scale = ", ".join(f"{{value: {n}}}" for n in range(1, points + 1))
    return LIKERT + "".join(CRITERION.format(n=n, points=scale) for n in range(1, criteria + 1))


def make_frame(rubric: str, rows: Sequence[dict[str, Any]] | pd.DataFrame, **part: Any) -> Frame:
    """A frame of these ratings. Each needs annotator, item, criterion and value or option; the rest has a default."""
    table = pd.DataFrame(rows)
    defaults = {
        "annotator": "",
        "kind": "human",
        "item": "",
        "state": "submitted",
        "excluded": False,
        "active_seconds": 60.0,
        "position": 0,
        "system": 0,
        "criterion": "",
        "value": np.nan,
        "option": None,
        "missing": False,
        "reasons": "",
        "explanation": "",
    }
    ratings = pd.DataFrame({name: table.get(name, default) for name, default in defaults.items()}, index=table.index)
    ratings["assignment"] = ratings.groupby(["annotator", "item"]).ngroup() if len(ratings) else pd.Series(dtype=int)
    times = datetime(2026, 1, 1, tzinfo=UTC) + pd.to_timedelta(ratings["assignment"].astype(float), unit="min")
    ratings["submitted_at"] = table.get("submitted_at", times)
    ratings["assigned_at"] = ratings["submitted_at"]
    ratings = ratings.astype(
        {"system": "int32", "position": "int16", "excluded": bool, "missing": bool, "value": float}
    )
    for name in TIMES:
        ratings[name] = pd.to_datetime(ratings[name], utc=True).astype("datetime64[us, UTC]")
    ratings["explanation"] = ratings["explanation"].astype("str")
    for name in LABELS:
        ratings[name] = ratings[name].astype("str").where(ratings[name].notna()).astype("category")
    work = ratings.drop_duplicates("assignment")
    frame_name = (next(_numbers), "seed", "then")
    frame = {
        "meta": {},
        "leads": frozenset(),
        "unblinded_at": None,
        "number": 1,
        "round": "main",
        "name": frame_name,
    } | part
    design = Design(parse_rubric(rubric), {})
    work = work[WORK].assign(in_place=work["state"].isin(["submitted", "ignored"])).reset_index(drop=True)
    return Frame(design=design, work=work, ratings=ratings, **frame)


def crossed(
    items: int,
    annotators: int,
    systems: int = 3,
    criteria: int = 1,
    raters: int | None = None,
    gap: float = 0.0,
    points: int = 7,
    seed: int = 1,
) -> Frame:
    """Ratings on `points` points: each item by `raters` annotators in turn, each system `gap` points above the one
    before it. The place on screen goes round."""
    random = np.random.default_rng(seed)
    raters = raters or annotators
    item, rater, system = (grid.ravel() for grid in np.indices((items, raters, systems)))
    annotator = (item + 7 * rater) % annotators if raters < annotators else rater
    truth = random.normal(size=items)
    place = (system + item + rater) % systems
    parts = []
    for n in range(1, criteria + 1):
        value = (points + 1) / 2 + truth[item] + gap * (system - (systems - 1) / 2) + random.normal(size=len(item))
        parts.append(
            pd.DataFrame(
                {
                    "annotator": np.char.add("P-", annotator.astype(str)),
                    "item": np.char.add("item-", item.astype(str)),
                    "system": system + 1,
                    "position": place,
                    "criterion": f"c{n}",
                    "value": np.clip(np.round(value), 1, points),
                }
            )
        )
    return make_frame(likert_rubric(criteria, points), pd.concat(parts, ignore_index=True))


def criterion_results(frame: Frame, counted: Counted | None = None) -> tuple[CriterionResult, ...]:
    """Results of every criterion asked."""
    return tuple(criterion_result(frame, ratings) for ratings in criterion_ratings(frame, counted or Counted()))

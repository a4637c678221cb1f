"""Ratings and an analysis with everything that the appendix of a report shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from helpers.frames import make_frame
from triptych.reports.further import further_from
from triptych.results.frame.model import Counted
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.texts import Texts
from triptych.stats.undefined import Undefined

RUBRIC = """
key: appendix
title: Appendix
summary: One criterion of each level.
instructions: Rate.
criteria:
  - key: points
    title: Points
    definition: How good.
    scale: {kind: likert, points: [{value: 1}, {value: 2}, {value: 3}, {value: 4}]}
  - {key: slider, title: Slider, definition: How much., scale: {kind: number, low: 0, high: 100}}
  - key: kind
    title: Kind
    definition: Which.
    scale:
      kind: choice
      options:
        - {key: fits, title: Fits, positive: true}
        - {key: odd, title: Odd}
        - {key: unsure, title: Unsure, apart: true}
        - {key: none, title: Nothing, missing: true}
"""

NAMES = {n: f"System {n}" for n in range(1, 8)}

PEOPLE = {f"P-{n}": "human" for n in range(4)} | {"J-1": "judge"}

MANY = {f"P-{n}": "human" for n in range(8)}


def some_ratings(seed: int, systems: int, items: int, shown: int, people=PEOPLE) -> pd.DataFrame:
    """Ratings by four people and a judge, or by those named; each sees `shown` of the systems on an item.

    Which ones is drawn each time; the judge sees all. Where they see only some, nobody rates the slider.
    """
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(items, systems)) + np.arange(systems) / systems
    rows = []
    for who, kind in people.items():
        for item in range(items):
            for at, system in enumerate(rng.permutation(systems)[: systems if kind == "judge" else shown]):
                felt = quality[item, system] + rng.normal(scale=0.8)
                place = {"annotator": who, "kind": kind, "item": f"item-{item}", "system": system + 1, "position": at}
                point, share = float(np.clip(round(2.5 + felt), 1, 4)), round(float(np.clip(50 + 20 * felt, 0, 100)), 1)
                option = rng.choice(["unsure", "none"]) if rng.random() < 0.15 else "fits" if felt > 0 else "odd"
                rows.append(place | {"criterion": "points", "value": point})
                if shown == systems:
                    rows.append(place | {"criterion": "slider", "value": share})
                rows.append(place | {"criterion": "kind", "option": option, "missing": option == "none"})
    return pd.DataFrame(rows)


def analysed(table: pd.DataFrame, again: float = 0.3, **part):
    """The analysis, and what else a report reads: some ratings given twice, lengths of all responses."""
    analysis = StudyAnalysis(make_frame(RUBRIC, table, **part), Counted(), NAMES)
    rows = analysis.frame.ratings
    first = rows[(rows["kind"] == "human") & (rows["item"].isin(["item-0", "item-1"]))]
    second = first.sample(frac=again, random_state=1)
    second = second.assign(value=np.clip(second["value"] - 1, 1, None), assignment=second["assignment"] + 10_000)
    twice = replace(analysis.frame, ratings=pd.concat([first, second], ignore_index=True))
    places = rows.loc[rows["system"] > 0, ["item", "system"]].drop_duplicates().astype({"item": str})
    words = 5 + 7 * places["system"] % 11 + places["item"].str[5:].astype(int) % 4
    contexts = pd.DataFrame({"item": ["item-0", "item-1"], "part": [0, 1], "words": [900, 20]})
    texts = Texts(places.assign(words=words), contexts)
    return analysis, further_from(analysis, twice, texts, readings(places), Undefined("No pay."), {})


def readings(places: pd.DataFrame) -> pd.DataFrame:
    """What four people marked in these responses: up to three passages each, some the same, in two labels."""
    rng, rows = np.random.default_rng(4), []
    for n, (item, system) in enumerate(places.drop_duplicates(["item", "system"]).itertuples(index=False)):
        text = {"text": f"{n}:-1", "length": 40 + n, "item": item, "system": system, "turn": -1, "place": "response"}
        for who in rng.choice(["P-0", "P-1", "P-2", "P-3"], 2 + n % 3 if n else 1, replace=False):
            starts: list[float] = [7 * int(place) for place in rng.integers(0, 4, n % 4)] or [np.nan]
            for start in starts:
                end, label = start + 6 * int(rng.integers(1, 3)), rng.choice(["good", "bad"])
                rows.append(text | {"annotator": who, "start": start, "end": end, "label": label})
    return pd.DataFrame(rows)

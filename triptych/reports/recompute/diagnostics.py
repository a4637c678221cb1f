"""What stands out about single annotators, over all criteria."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from triptych.reports.recompute.basics import TINY, Criterion, Ratings, codes
from triptych.reports.recompute.effects import one_after_the_other

ENOUGH_SHARED, ENOUGH_TO_DRIFT = 10, 10
SHUFFLES = 1000
Of = dict[str, list[tuple[str, float | None]]]


@dataclass(frozen=True)
class BesideOthers:
    """Ratings (n,) of what somebody else rated too, as shares of the scale's width, and the mean of the others."""

    own: np.ndarray
    others: np.ndarray
    item: np.ndarray
    annotator: np.ndarray
    at: np.ndarray


def each_annotator(every: Sequence[tuple[Criterion, Ratings]], work: list[dict[str, str]]) -> Iterator[tuple]:
    """work: the annotations that count."""
    known = [(criterion, ratings.of(~np.isnan(ratings.number))) for criterion, ratings in every]
    known = [(criterion, ratings) for criterion, ratings in known if len(ratings.number)]
    timed = one_after_the_other(*(ratings for _, ratings in known))
    shared = beside_others(known) if known else None
    found = (
        with_the_others(shared) if shared else {},
        severity(shared) if shared else {},
        all_equal(known) if timed else {},
        missing_answers([ratings for _, ratings in every]),
        drift(shared) if shared and timed else {},
    )
    for name in sorted({row["annotator"] for row in work}):
        place = ("annotators", "", name, "")
        yield (*place, "annotations", sum(row["annotator"] == name for row in work))
        for statistic, of_all in zip(("correlation", "severity", "all equal", "missing", "drift"), found, strict=True):
            yield from ((*place, *one) for one in of_all.get(name, [(statistic, None)]))
        yield from ((*place, *one) for one in speed([row for row in work if row["annotator"] == name]))


def beside_others(known: list[tuple[Criterion, Ratings]]) -> BesideOthers:
    """Ratings centred by criterion and divided by the width of the scale; those given twice count as their mean."""
    values = np.concatenate([(r.number - r.number.mean()) / (c.ends[1] - c.ends[0]) for c, r in known])
    key = np.concatenate([np.full(len(r.number), c.key, dtype=object) for c, r in known])
    names = ("item", "system", "annotator", "at")
    item, system, annotator, at = (np.concatenate([getattr(r, name) for _, r in known]) for name in names)
    unit = codes(key, item, system)
    _, first, cell = np.unique(codes(unit, annotator), return_index=True, return_inverse=True)
    own, unit = np.bincount(cell, values) / np.bincount(cell), unit[first]
    raters = np.bincount(unit)[unit]
    kept = raters > 1
    others = (np.bincount(unit, own)[unit] - own)[kept] / (raters - 1)[kept]
    return BesideOthers(own[kept], others, *(column[first][kept] for column in (item, annotator, at)))


def with_the_others(shared: BesideOthers) -> Of:
    """Correlation with the mean of the others from ten ratings on, with Fisher's interval, and the others' median."""
    found: dict[str, tuple[float, int]] = {}
    for name in sorted(set(shared.annotator.tolist())):
        mine = shared.annotator == name
        x, y = (column[mine] - column[mine].mean() for column in (shared.own, shared.others))
        largest = [max(1.0, np.abs(column[mine]).max()) for column in (shared.own, shared.others)]
        if mine.sum() >= ENOUGH_SHARED and all(
            np.abs(c).max() > TINY * m for c, m in zip((x, y), largest, strict=True)
        ):
            found[name] = float(np.clip((x @ y) / np.sqrt((x @ x) * (y @ y)), -1, 1)), int(mine.sum())
    numbers: Of = {}
    for name, (value, n) in found.items():
        centre, reach = np.arctanh(np.clip(value, -1 + 1e-9, 1 - 1e-9)), stats.norm.ppf(0.975) / np.sqrt(n - 3)
        rest = [other for whose, (other, _) in found.items() if whose != name]
        numbers[name] = [
            ("correlation", value),
            ("correlation low", min(float(np.tanh(centre - reach)), value)),
            ("correlation high", max(float(np.tanh(centre + reach)), value)),
            ("half of the others", float(np.median(rest)) if rest else None),
        ]
    return numbers


def severity(shared: BesideOthers) -> Of:
    """Mean of (own - mean of the others); negative is strict."""
    apart = shared.own - shared.others
    names = set(shared.annotator.tolist())
    return {name: [("severity", float(apart[shared.annotator == name].mean()))] for name in names}


def all_equal(known: list[tuple[Criterion, Ratings]]) -> Of:
    """Share of annotations with equal ratings throughout, over the most criteria that share a scale of points."""
    groups: dict[tuple[float, float], list[Ratings]] = {}
    for criterion, ratings in known:
        if criterion.kind in ("likert", "number"):
            groups.setdefault(criterion.ends, []).append(ratings)
    given: dict[tuple[str, str], list[float]] = {}
    for ratings in max(groups.values(), key=len) if groups else ():
        for annotator, item, number in zip(ratings.annotator, ratings.item, ratings.number.tolist(), strict=True):
            given.setdefault((annotator, item), []).append(number)
    equal: dict[str, list[bool]] = {}
    for (annotator, _), numbers in given.items():
        if len(numbers) > 1:
            equal.setdefault(annotator, []).append(min(numbers) == max(numbers))
    return {name: [("all equal", float(np.mean(mine)))] for name, mine in equal.items()}


def missing_answers(every: list[Ratings]) -> Of:
    """Share of answers that are marked missing."""
    annotator, missing = (np.concatenate([getattr(one, name) for one in every]) for name in ("annotator", "missing"))
    return {name: [("missing", float(missing[annotator == name].mean()))] for name in set(annotator.tolist())}


def speed(work: list[dict[str, str]]) -> Iterator[tuple[str, float | None]]:
    """Median seconds, and annotations of less than 3 seconds or more than 12 words per second."""
    known = [(float(row["active_seconds"]), int(row["words_to_read"] or 0)) for row in work]
    known = [(seconds, words) for seconds, words in known if seconds > 0 and words]
    if known:
        yield "timed", len(known)
        yield "too fast to read", sum(seconds < max(3, words / 12) for seconds, words in known)
    yield "seconds", float(np.median([seconds for seconds, _ in known])) if known else None


def drift(shared: BesideOthers) -> Of:
    """Largest excursion of the cumulated (own - mean of the others) of annotations in time, and its 99 % bound.

    From ten annotations on, centred, over sd sqrt(n); the bound is that of 1,000 shuffles of the same residuals.
    Annotations of one time count as their mean. Then how many lie before the turn, and the means on both sides.
    """
    found: Of = {}
    for name in set(shared.annotator.tolist()):
        mine = shared.annotator == name
        item, apart = codes(shared.item[mine]), (shared.own - shared.others)[mine]
        residual, time = np.bincount(item, apart) / np.bincount(item), np.full(item.max() + 1, np.inf)
        np.minimum.at(time, item, shared.at[mine])
        if len(residual) >= ENOUGH_TO_DRIFT and np.ptp(residual) > TINY * max(1.0, np.abs(shared.own).max()):
            found[name] = list(excursion(residual, time))
    return found


def excursion(residual: np.ndarray, time: np.ndarray) -> Iterator[tuple[str, float]]:
    n, mean = len(residual), residual.mean()
    moment = np.unique(time, return_inverse=True)[1]
    steps = np.bincount(moment, residual - mean) / np.bincount(moment)
    path = np.round(np.cumsum(steps[np.sort(moment)])[:-1], 9)
    scale, turn = residual.std(ddof=1) * np.sqrt(n), int(np.abs(path).argmax()) + 1
    shuffled = np.random.default_rng(1).permuted(np.tile(np.sort(residual - mean), (SHUFFLES, 1)), axis=1)
    yield "drift", np.abs(path).max() / scale
    yield "drift at most", np.quantile(np.abs(np.cumsum(shuffled, axis=1)[:, :-1]).max(axis=1) / scale, 0.99)
    yield "turn after", turn
    yield "before the turn", mean + path[turn - 1] / turn
    yield "after the turn", mean - path[turn - 1] / (n - turn)

"""Numbers that come with each response beside the ratings: its length, and what a judge model gave it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import stats

from triptych.reports.recompute.basics import TINY, Criterion, Ratings, codes

FEWEST_TO_DRAW, CORRELATION_DRAWS, FEWEST_SYSTEMS = 10, 1000, 6
FEWEST_ANNOTATORS, FEWEST_ITEMS = 3, 30


def length(criterion: Criterion, ratings: Ratings) -> Iterator[tuple]:
    """Whether longer responses are rated higher, within items."""
    found = within_items(ratings, ratings.words)
    yield from (("length", criterion.key, "", "", *one) for one in found)


def judges(criterion: Criterion, rows: list[dict[str, str]], epsilon: float) -> Iterator[tuple]:
    """Every judge beside the people whose ratings count: the alternative annotator test, and correlations."""
    ratings, nominal = Ratings.read(of_people(rows), criterion), criterion.level == "nominal"
    if not len(ratings.number):
        return
    values = as_numbers(criterion, ratings)
    for name, theirs in of_judges(criterion, rows):
        beside = where_rated(ratings, theirs, as_numbers(criterion, theirs))
        place = ("judges", criterion.key, name)
        yield (*place, "", "shared", shared(ratings, values, beside))
        yield from ((*place, *one) for one in alt_test(ratings, values, beside, nominal, epsilon))
        if nominal:
            yield from ((*place, "", f"{level} Kendall", None) for level in ("within items", "of systems"))
            continue
        yield from ((*place, "", *one) for one in both_correlations(ratings, beside))


def metrics(criterion: Criterion, criteria: list[Criterion], rows: list[dict[str, str]]) -> Iterator[tuple]:
    """Correlations with what judges alone gave, under criteria of their own."""
    people = of_people(rows)
    ratings, rated = Ratings.read(people, criterion), {row["criterion"] for row in people}
    if not criterion.compares or not len(ratings.number):
        return
    for other in (one for one in criteria if one.compares and one.key not in rated):
        for name, theirs in of_judges(other, rows):
            beside = where_rated(ratings, theirs, theirs.number)
            place = ("metrics", criterion.key, name, other.key)
            yield (*place, "shared", shared(ratings, ratings.number, beside))
            yield from ((*place, *one) for one in both_correlations(ratings, beside))


def of_people(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The ratings that count, but for those of judges."""
    return [row for row in rows if row["counted"] == "1" and row["annotator_kind"] != "judge"]


def of_judges(criterion: Criterion, rows: list[dict[str, str]]) -> Iterator[tuple[str, Ratings]]:
    """Every judge with its scores of a criterion."""
    scores = [row for row in rows if row["beside"] == "1" and row["criterion"] == criterion.key]
    for name in sorted({row["annotator"] for row in scores}):
        yield name, Ratings.read([row for row in scores if row["annotator"] == name], criterion)


def where_rated(ratings: Ratings, theirs: Ratings, numbers: np.ndarray) -> np.ndarray:
    """(n,) what the judge gave for what each rating is about; NaN = nothing."""
    given = dict(zip(zip(theirs.item, theirs.system, strict=True), numbers, strict=True))
    places = zip(ratings.item, ratings.system, strict=True)
    return np.array([given.get(place, np.nan) for place in places], dtype=float)


def shared(ratings: Ratings, values: np.ndarray, beside: np.ndarray) -> int:
    """How many candidates have both numbers."""
    both = ratings.of(~np.isnan(values) & ~np.isnan(beside))
    return len(set(zip(both.item, both.system, strict=True)))


def both_correlations(ratings: Ratings, beside: np.ndarray) -> Iterator[tuple[str, float | None]]:
    yield from ((f"within items {one}", value) for one, value in within_items(ratings, beside))
    yield from ((f"of systems {one}", value) for one, value in of_systems(ratings, beside))


def as_numbers(criterion: Criterion, ratings: Ratings) -> np.ndarray:
    """(n,) numbers, or on a nominal scale the places of the options; NaN = missing."""
    if criterion.level != "nominal":
        return ratings.number
    place = {option: float(at) for at, option in enumerate(criterion.options)}
    chosen = zip(ratings.option, ratings.missing, strict=True)
    return np.array([np.nan if missing else place.get(option, np.nan) for option, missing in chosen], dtype=float)


def alt_test(
    ratings: Ratings, values: np.ndarray, beside: np.ndarray, nominal: bool, epsilon: float
) -> Iterator[tuple[str, str, float | None]]:
    """Calderon, Reichart and Dror 2025: who goes along with the other annotators better, the judge or each of them.

    A unit's score of a value is the share of the others that gave it (nominal) or -sqrt(mean squared distance); ties
    win for both. One-sided t-tests over means of items, corrected by Benjamini and Yekutieli.
    """
    known = np.flatnonzero(~np.isnan(values) & ~np.isnan(beside))
    units: dict[tuple[str, str], list[int]] = {}
    for at in known.tolist():
        units.setdefault((ratings.item[at], ratings.system[at]), []).append(at)
    wins: dict[str, dict[str, list[tuple[bool, bool]]]] = {name: {} for name in ratings.annotator[known].tolist()}
    for (item, _), rows in units.items():
        for at in rows:
            others = values[[row for row in rows if ratings.annotator[row] != ratings.annotator[at]]]
            if len(others):
                ahead = round(score(beside[at], others, nominal) - score(values[at], others, nominal), 9)
                wins[ratings.annotator[at]].setdefault(item, []).append((ahead >= 0, ahead <= 0))
    means = {name: np.array([np.mean(won, axis=0) for won in of.values()]) for name, of in wins.items()}
    compared = {name: of for name, of in means.items() if len(of) >= FEWEST_ITEMS}
    if len(compared) < FEWEST_ANNOTATORS:
        yield "", "winning rate", None
        return
    p = [below(of[:, 1] - of[:, 0], epsilon) for of in compared.values()]
    corrected = stats.false_discovery_control(p, method="by")
    yield "", "epsilon", epsilon
    yield "", "winning rate", float(np.mean(corrected <= 0.05))
    yield "", "advantage", float(np.mean([of[:, 0].mean() for of in compared.values()]))
    for (name, of), one, after in zip(compared.items(), p, corrected.tolist(), strict=True):
        yield name, "items", len(of)
        yield from ((name, "judge wins", of[:, 0].mean()), (name, "annotator wins", of[:, 1].mean()))
        yield from ((name, "p", one), (name, "p corrected", after))


def score(value: float, others: np.ndarray, nominal: bool) -> float:
    """How well a value goes along with the others."""
    return float((np.abs(others - value) <= TINY).mean() if nominal else -np.sqrt(((others - value) ** 2).mean()))


def below(lost: np.ndarray, bound: float) -> float:
    """One-sided p that the mean of `lost` lies below the bound."""
    apart, error = lost.mean() - bound, lost.std(ddof=1) / np.sqrt(len(lost))
    if error <= TINY:
        return 0.0 if apart < 0 else 1.0
    return float(stats.t.cdf(apart / error, len(lost) - 1))


def candidates(ratings: Ratings, other: np.ndarray) -> tuple[np.ndarray, ...]:
    """Mean rating and mean other number of each candidate that has both; codes of its item and system."""
    kept = ~np.isnan(ratings.number) & ~np.isnan(other)
    both, other = ratings.of(kept), other[kept]
    if not len(other):
        return np.zeros(0), np.zeros(0), np.zeros(0, dtype=int), np.zeros(0, dtype=int)
    item, system = codes(both.item), codes(both.system)
    _, first, candidate = np.unique(np.stack([item, system]), axis=1, return_index=True, return_inverse=True)
    candidate, sizes = candidate.ravel(), np.bincount(candidate.ravel())
    rating, beside = (tied(np.bincount(candidate, column) / sizes) for column in (both.number, other))
    return rating, beside, item[first], system[first]


def tied(means: np.ndarray) -> np.ndarray:
    """Means of which those that differ by rounding alone are equal, whatever they were summed of; NaN stays."""
    found, known = means.copy(), ~np.isnan(means)
    ascending, alike = np.unique(means[known], return_inverse=True)
    steps = np.diff(ascending, prepend=ascending[:1]) > TINY * np.abs(ascending).max(initial=0)
    found[known] = ascending[np.maximum.accumulate(np.where(steps, np.arange(len(steps)), 0))][alike.ravel()]
    return found


def within_items(ratings: Ratings, other: np.ndarray) -> list[tuple[str, float | None]]:
    """Kendall's tau-b and Pearson's r of candidates of one item, pooled: sum xy / sqrt(sum xx sum yy) over items.

    Kendall multiplies the signs of the differences of every two, Pearson deviations from the mean of the item. Items
    with a single candidate compare nothing and do not count.
    """
    x, y, item, _ = candidates(ratings, other)
    compared = np.bincount(item)[item] > 1
    x, y, item = x[compared], y[compared], np.unique(item[compared], return_inverse=True)[1]
    count = int(item.max(initial=-1)) + 1
    signs, products = np.zeros((count, 3)), np.zeros((count, 3))
    pairs = 0
    for at in range(count):
        here = item == at
        first, second = np.triu_indices(int(here.sum()), 1)
        one, two = (np.sign(side[here][first] - side[here][second]) for side in (x, y))
        pairs += int((one * two != 0).sum())
        signs[at] = one @ two, one @ one, two @ two
        one, two = (centred(side, here) for side in (x, y))
        products[at] = one @ two, one @ one, two @ two
    if not count or not (signs.sum(axis=0) > 0)[1:].all() or not (products.sum(axis=0) > 0)[1:].all():
        return [("Kendall", None)]
    found = [*pooled("Kendall", signs), *pooled("Pearson", products)]
    return [*found, ("pairs", pairs), ("items", count)]


def centred(values: np.ndarray, here: np.ndarray) -> np.ndarray:
    """Deviations from the mean; what rounding alone leaves is 0."""
    apart = values[here] - values[here].mean()
    return np.where(np.abs(apart) <= TINY * np.abs(values).max(), 0, apart)


def pooled(name: str, products: np.ndarray) -> Iterator[tuple[str, float | None]]:
    """products: (items, 3) sums of xy, xx, yy. Limits from items drawn anew, in the order of what they hold."""
    total, count = products.sum(axis=0), len(products)
    value = float(np.clip(total[0] / np.sqrt(total[1] * total[2]), -1, 1))
    weights = np.random.default_rng(1).multinomial(count, np.full(count, 1 / count), CORRELATION_DRAWS)
    drawn = weights @ products[np.lexsort(np.round(products, 9).T)]
    yield from with_limits(name, value, cosine(drawn[:, 0], drawn[:, 1] * drawn[:, 2]), count)


def with_limits(name: str, value: float, drawn: np.ndarray, items: int) -> Iterator[tuple[str, float | None]]:
    """The value, and the 2.5 and 97.5 % points of the draws from ten items on.

    Not where more than 5 % of the draws are undefined (NaN), nor where all are alike.
    """
    yield name, value
    limits: tuple[float | None, float | None] = (None, None)
    defined = drawn[~np.isnan(drawn)]
    if items >= FEWEST_TO_DRAW and len(drawn) - len(defined) <= (1 - 0.95) * len(drawn):
        low, high = np.quantile(defined, [(1 - 0.95) / 2, (1 + 0.95) / 2])
        if high - low > TINY:
            limits = min(float(low), value), max(float(high), value)
    yield from zip((f"{name} low", f"{name} high"), limits, strict=True)


def of_systems(ratings: Ratings, other: np.ndarray) -> list[tuple[str, float | None]]:
    """Means of systems against each other, from six on; limits from systems and items drawn anew."""
    x, y, item, system = candidates(ratings, other)
    count, items = int(system.max(initial=-1)) + 1, int(item.max(initial=-1)) + 1
    if count < FEWEST_SYSTEMS:
        return [("Kendall", None)]
    means = [tied(np.bincount(system, side) / np.bincount(system)) for side in (x, y)]
    if any(np.ptp(mean) <= TINY * np.abs(mean).max() for mean in means):
        return [("Kendall", None)]
    cells = np.zeros((3, items, count))
    cells[:, item, system] = np.stack([x, y, np.ones(len(x))])
    cells = cells[:, :, np.lexsort(np.round(means, 9)[::-1])]
    cells = cells[:, np.lexsort(np.round(cells, 9).swapaxes(0, 1).reshape(items, -1).T)]
    drawn = redrawn_means(cells)
    values = float(stats.kendalltau(*means).statistic), float(stats.pearsonr(*means).statistic)
    found = [*with_limits("Kendall", values[0], by_pairs(*drawn), items)]
    found += with_limits("Pearson", values[1], by_deviation(*drawn), items)
    return [*found, ("systems", count), ("items", items)]


def redrawn_means(cells: np.ndarray) -> list[np.ndarray]:
    """(b, systems) means of both numbers over drawn items of drawn systems; NaN where one of these has no number."""
    _, items, count = cells.shape
    random = np.random.default_rng(1)
    weights = random.multinomial(items, np.full(items, 1 / items), CORRELATION_DRAWS)
    drawn = random.integers(0, count, size=(CORRELATION_DRAWS, count))
    sums = np.take_along_axis(weights @ cells, drawn[None], axis=2)
    sizes = np.where((sums[2] > 0).all(axis=1)[:, None], sums[2], np.nan)
    return [tied(sums[side] / sizes) for side in (0, 1)]


def by_pairs(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Kendall's tau-b of every row."""
    one, two = (np.sign(side[:, :, None] - side[:, None, :]).reshape(len(side), -1) for side in (x, y))
    return cosine((one * two).sum(axis=1), (one**2).sum(axis=1) * (two**2).sum(axis=1))


def by_deviation(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pearson's r of every row."""
    one, two = (side - side.mean(axis=1, keepdims=True) for side in (x, y))
    return cosine((one * two).sum(axis=1), (one**2).sum(axis=1) * (two**2).sum(axis=1))


def cosine(products: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """sum xy / sqrt(sum xx sum yy), between -1 and 1; NaN where it is not defined."""
    defined = squares > 0
    return np.where(defined, np.clip(products / np.sqrt(np.where(defined, squares, 1)), -1, 1), np.nan)

"""Findings about designs for which the tests are less reliable, as docs/validation.md shows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

from triptych.results.criterion import StudyRatings, chances_of_best, group_names
from triptych.results.frame.table import Filters
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.texts import Texts
from triptych.results.warnings import Finding
from triptych.stats.analysis.collection import CLEAR
from triptych.stats.columns import Floats, pair_codes
from triptych.stats.crossed import CrossedEffects
from triptych.stats.multiplicity import adjusted
from triptych.stats.numbers import counted, written
from triptych.stats.undefined import Undefined, or_undefined
from triptych.study.lint.candidates import grouped_ids

MISSING_GAP = 0.05  # difference of two systems' shares of missing ratings that may affect a comparison
SINGLE_SHARE = 0.5  # share of annotations with one response, above which responses count as rated one at a time
EQUAL_WORK = 0.75  # effective number of annotators / their number; below it, work is shared unequally
TOO_OFTEN = "differences are called clear several times too often"


def ungrouped(analysis: StudyAnalysis, texts: Texts) -> Iterator[Finding]:
    """Items that look grouped where no groups are declared, or the declared field groups less than half as many."""
    names = [str(name) for name in analysis.item_names]
    prefixes = grouped_ids(names)
    alike = sum(name.startswith(tuple(prefixes)) for name in names) if prefixes else texts.shared_contexts
    sizes = Counter(group_names(analysis.frame).values())
    joined = sum(size for size in sizes.values() if size > 1)
    if 2 * joined >= alike or not analysis.contrasts:
        return
    sentence = f"{counted(texts.shared_contexts, 'item')} share their context with another item"
    if prefixes:
        sentence = f"Ids look like {counted(len(prefixes), 'group')} of items, such as {prefixes[0]}"
    field = analysis.frame.settings.group_field
    grouped = f"only {joined} of {len(names)} items" if joined else "none of them"
    reason = f"the field {field} groups {grouped}" if field else "no groups of items are declared"
    yield Finding(
        86,
        "groups not declared",
        f"{sentence}, and {reason}: if items within a group are similar, {TOO_OFTEN}.",
    )


def unequal_sets(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Criteria with shares of being best that chance alone makes unequal."""
    for ratings in analysis.ratings:
        if chances := chances_of_best(ratings):
            few, many = (pick(chances, key=chances.__getitem__) for pick in (max, min))
            yield Finding(
                62,
                "sets of different size",
                f"{analysis.title(ratings.criterion.key)}: systems were shown in sets of different size, so by chance "
                f"alone {analysis.name(few)} would be chosen in {written(chances[few], 'share')} and "
                f"{analysis.name(many)} in {written(chances[many], 'share')}, if each set had one best. Compare "
                "differences instead of shares: they are counted from chance. Where one system is much preferred, "
                "those that are missing more often still look better.",
            )


def one_at_a_time(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Comparisons of responses that were not seen side by side."""
    if all(isinstance(contrast.difference, Undefined) for contrast in analysis.contrasts):
        return
    held = _held_by_any(analysis)
    if (held.sum(axis=1) == 1).mean() > SINGLE_SHARE and not _asked_together(held):
        yield Finding(
            33,
            "one at a time",
            "Annotators mostly rated one response of an item: if they have no preferences for systems, the tests are "
            "conservative (1 to 2 % false differences instead of 5 %), so a true difference is found less often.",
        )


def unequal_work(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Comparisons for annotators like these where an item has one annotator, and a few annotators did most of it."""
    for ratings in analysis.ratings:
        contrasts = analysis.contrasts_of(ratings.criterion.key)
        if not any(contrast.p is not None for contrast in contrasts):
            continue
        cells, first = np.unique(ratings.sets[_rated(ratings)], return_index=True)
        raters = np.unique(ratings.item[_rated(ratings)][first], return_counts=True)[1]
        work = np.unique(ratings.annotator[_rated(ratings)][first], return_counts=True)[1]
        as_many = len(cells) ** 2 / (work @ work)
        if (raters == 1).mean() > SINGLE_SHARE and as_many < EQUAL_WORK * len(work):
            yield Finding(
                32,
                "unequal work",
                f"Most items have one annotator, and work is distributed unequally: {len(work)} annotators count like "
                f"{as_many:.1f}. "
                "In simulations of such designs some difference was falsely clear in up to 6 % of studies if "
                "annotators preferred particular systems, and intervals were too wide if they did not.",
            )
            return


def unevenly_missing(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Systems with clearly more missing ratings than another system; p is adjusted (Holm) over all such tests."""
    shares: list[tuple[str, int, int, float, float]] = []
    for ratings in analysis.ratings:
        if analysis.contrasts_of(ratings.criterion.key):
            shares += _most_apart(ratings)
    tests = adjusted(p for *_, p in shares)
    for (criterion, more, less, gap, _), test in zip(shares, tests, strict=True):
        if test.holm is not None and test.holm < CLEAR:
            sentence = (
                f"{analysis.title(criterion)}: ratings of {analysis.name(more)} are missing more often than those of "
                f"{analysis.name(less)}, by {100 * gap:.0f} percentage points, beyond chance. If low ratings are "
                f"missing, its mean is too high and {TOO_OFTEN}."
            )
            which = Filters(criteria=frozenset({criterion}), systems=frozenset({more}))
            yield Finding(86, "unevenly missing", sentence, which)


def _held(ratings: StudyRatings, rows: np.ndarray) -> np.ndarray:
    """(annotations, systems) whether an annotation has one of these rows about a system, both in ascending order."""
    cells, systems = np.unique(ratings.sets), np.unique(ratings.system[ratings.system > 0])
    held = np.zeros((len(cells), len(systems)), dtype=bool)
    held[np.searchsorted(cells, ratings.sets[rows]), np.searchsorted(systems, ratings.system[rows])] = True
    return held


def _held_by_any(analysis: StudyAnalysis) -> np.ndarray:
    """As `_held`, under any criterion: one that may stay open says nothing about what annotators saw."""
    columns = [np.stack([of.item, of.annotator, of.system])[:, of.system > 0] for of in analysis.ratings]
    item, annotator, system = np.concatenate(columns, axis=1).astype(np.int64)
    cell, first = pair_codes(item, annotator)
    systems, place = np.unique(system, return_inverse=True)
    held = np.zeros((len(first), len(systems)), dtype=bool)
    held[cell, place] = True
    return held


def _asked_together(held: np.ndarray) -> bool:
    """Whether annotations that hold the rarest system mostly hold the most frequent one too."""
    rarest, *_, most_frequent = held.sum(axis=0).argsort(kind="stable")
    return bool(held[held[:, rarest], most_frequent].mean() > SINGLE_SHARE)


def _occurring(held: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """(annotations, systems) whether any annotation with the same code, of an item or annotator, holds the system."""
    occurring = np.zeros((codes.max() + 1, held.shape[1]), dtype=bool)
    np.logical_or.at(occurring, codes, held)
    return occurring[codes]


def _rated(ratings: StudyRatings) -> np.ndarray:
    rated: np.ndarray = ~np.isnan(ratings.number) & (ratings.system > 0)
    return rated


def _most_apart(ratings: StudyRatings) -> Iterator[tuple[str, int, int, float, float]]:
    """(criterion, system with most missing ratings, system with fewest, gap of their shares, p), if the gap is large.

    p is adjusted over all pairs of systems.
    """
    systems = np.unique(ratings.system[ratings.system > 0])
    first = np.unique(ratings.sets, return_index=True)[1]
    if len(systems) < 2 or not len(first):
        return
    asked = held = _held(ratings, ratings.system > 0)
    if held.all(axis=1).mean() > SINGLE_SHARE:
        asked = np.ones_like(held)  # annotations contain all systems, so an absent rating is missing
    elif _asked_together(held):
        asked = _occurring(held, ratings.item[first]) & _occurring(held, ratings.annotator[first])
    missing: Floats = np.where(_held(ratings, _rated(ratings)), 0.0, np.where(asked, 1.0, np.nan))
    if np.isnan(missing).all(axis=0).any():
        return
    share = np.nanmean(missing, axis=0)
    more, less = int(systems[share.argmax()]), int(systems[share.argmin()])
    if round(share.max() - share.min(), 9) < MISSING_GAP:
        return
    known_rows, system_places = np.nonzero(~np.isnan(missing))
    items, annotators, groups = (
        column[first][known_rows] for column in (ratings.item, ratings.annotator, ratings.group)
    )
    columns = missing[known_rows, system_places], items, annotators, systems[system_places], groups
    effects = or_undefined(CrossedEffects.build, *columns)
    difference = effects if isinstance(effects, Undefined) else or_undefined(effects.difference, more, less)
    if isinstance(difference, Undefined):
        return
    test = difference.test or difference.test_here
    if test is not None:
        pairs = math.comb(len(systems), 2)  # the two systems are the pair with the largest gap of all these
        yield ratings.criterion.key, more, less, float(share.max() - share.min()), min(1.0, test.p * pairs)

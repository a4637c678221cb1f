"""The results of a frame by criterion: numbers, or the reason why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from triptych.results.frame.counted import counting, field_value
from triptych.results.frame.model import Counted, Frame
from triptych.rubric.model import Criterion
from triptych.rubric.scales import Choice, ChoiceOption, Likert, NumberScale
from triptych.stats.analysis.ratings import AnswerOption, Ratings, Variable, option_numbers
from triptych.stats.analysis.systems import CriterionNumbers, criterion_numbers
from triptych.stats.intervals import Interval
from triptych.stats.numbers import written

MOST_POINTS = 21
APPROXIMATE = (
    "Intervals of single means are approximate: in simulations with five annotators or more they cover 92 to 97 %, "
    "those of rare answers less. Compare systems by their differences."
)

FEW_APPROXIMATE = "Intervals of single means are approximate. Compare systems by their differences."
SAME_CHANCE = 0.01  # difference of two systems' chances up to which their shares are comparable


@dataclass(frozen=True, eq=False, kw_only=True)
class StudyRatings(Ratings):
    """Ratings with further columns (n,) from the frame.

    explained: whether the rating has a free-text explanation; reasons: codes of the frame's labels; rows: row numbers
    in the frame.
    """

    criterion: Criterion
    explained: np.ndarray
    reasons: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True)
class ReasonCount:
    """How often reasons with one tag were ticked, per system; texts: the sentences that annotators ticked."""

    tag: str
    texts: tuple[str, ...]
    systems: dict[int, int]
    total: int


@dataclass(frozen=True, kw_only=True)
class CriterionResult(CriterionNumbers):
    """All results of one criterion."""

    criterion: Criterion
    reasons: tuple[ReasonCount, ...]
    free_texts: int


def variable_of(criterion: Criterion) -> Variable:
    """The properties of a rubric's criterion that statistics need."""
    scale = criterion.scale
    options = scale.options if isinstance(scale, Choice) else ()
    return Variable(
        criterion.key,
        criterion.title,
        scale.kind,
        scale.level.value,
        criterion.about,
        _points(criterion),
        scale.ends,
        tuple(map(_answer_option, options)),
    )


def _answer_option(option: ChoiceOption) -> AnswerOption:
    return AnswerOption(option.key, option.title, option.positive, option.missing, option.apart)


def _points(criterion: Criterion) -> tuple[float, ...]:
    """The scale's points, to count answers by; empty for a scale with very many."""
    scale = criterion.scale
    if isinstance(scale, Likert) or (isinstance(scale, NumberScale) and scale.steps < MOST_POINTS):
        return tuple(scale.values)
    return ()


def criterion_ratings(frame: Frame, counted: Counted) -> tuple[StudyRatings, ...]:
    """The counted ratings of every criterion asked."""
    counts, of = counting(frame, counted), frame.ratings["criterion"]
    code, places = of.cat.codes.to_numpy(), {key: place for place, key in enumerate(of.cat.categories)}
    explained = (frame.ratings["explanation"] != "").to_numpy(dtype=bool)
    groups = np.unique([*group_names(frame).values()], return_inverse=True)[1]  # of each item code
    return tuple(
        _ratings(frame, criterion, groups, np.flatnonzero(counts & (code == places.get(criterion.key, -1))), explained)
        for criterion in frame.rubric.asked(frame.round)
    )


def group_names(frame: Frame) -> dict[str, str]:
    """Item → its group of related items, from the items file's field that the lead named; without it, the item.

    An item whose id is also the name of a group gets another name.
    """
    field = frame.settings.group_field
    names = {item: field_value(frame, item, field) for item in frame.ratings["item"].cat.categories}
    groups = {*filter(None, names.values())}
    for item, group in names.items():
        if not group:
            names[item] = item if item not in groups else _unused(item, groups | names.keys())
    return names


def _unused(name: str, used: Collection[str]) -> str:
    while name in used:
        name = f"item {name}"
    return name


def _ratings(
    frame: Frame, criterion: Criterion, groups: np.ndarray, rows: np.ndarray, explained: np.ndarray
) -> StudyRatings:
    table, variable = frame.ratings, variable_of(criterion)
    missing = table["missing"].to_numpy()[rows]
    option = _option_places(criterion, table["option"], rows)
    item = table["item"].cat.codes.to_numpy()[rows]
    is_choice = isinstance(criterion.scale, Choice)
    return StudyRatings(
        variable=variable,
        criterion=criterion,
        number=option_numbers(variable, option, missing) if is_choice else table["value"].to_numpy()[rows],
        option=option,
        missing=missing,
        explained=explained[rows],
        item=item,
        group=groups[item] if len(groups) else item,
        annotator=table["annotator"].cat.codes.to_numpy()[rows],
        reasons=table["reasons"].cat.codes.to_numpy()[rows],
        system=table["system"].to_numpy()[rows],
        position=table["position"].to_numpy()[rows],
        at=table["assigned_at"].astype("int64").to_numpy()[rows] / 1e6,
        rows=rows,
    )


def _option_places(criterion: Criterion, options: pd.Series, rows: np.ndarray) -> np.ndarray:
    values = criterion.scale.values if isinstance(criterion.scale, Choice) else []
    place = {key: n for n, key in enumerate(values)}
    # the last entry is for the code -1, no option
    lookup = np.array([*(place.get(key, -1) for key in options.cat.categories), -1], dtype=np.int16)
    return lookup[options.cat.codes.to_numpy()[rows]]


def chances_of_best(ratings: StudyRatings) -> dict[int, float]:
    """System → how often it would be chosen as best by chance, if that differs between systems; else empty.

    By chance, each response of a set is the best one equally often: a half of two, a third of three.
    """
    rated = ~np.isnan(ratings.number) & (ratings.system > 0)
    if ratings.variable.kind != "best" or not rated.any():
        return {}
    _, place, size = np.unique(ratings.sets[rated], return_inverse=True, return_counts=True)
    system, chance = ratings.system[rated], 1 / size[place]
    chances = {int(code): float(chance[system == code].mean()) for code in np.unique(system)}
    return chances if max(chances.values()) - min(chances.values()) > SAME_CHANCE else {}


def criterion_result(frame: Frame, ratings: StudyRatings) -> CriterionResult:
    """The results of one criterion; `frame` has the systems and the names of the reasons."""
    return CriterionResult(
        **vars(criterion_numbers(ratings, frame.systems)),
        criterion=ratings.criterion,
        reasons=_reasons(ratings, frame.ratings["reasons"].cat.categories),
        free_texts=int(ratings.explained.sum()),
    )


def titles_apart(criterion: Criterion) -> str:
    """The titles, in a row, of the options that the rubric sets apart."""
    options = criterion.scale.options if isinstance(criterion.scale, Choice) else ()
    return " or ".join(f"“{option.title}”" for option in options if option.apart)


def _reasons(ratings: StudyRatings, ticked: pd.Index) -> tuple[ReasonCount, ...]:
    """Ticked reasons by the tag that annotators never see, most frequent first."""
    texts: dict[str, dict[str, None]] = {}
    counts: dict[str, Counter[int]] = {}
    for keys, answer, system, count in _ticked(ratings, ticked):
        ask = ratings.criterion.scale.ask_for(answer)
        for reason in ask.reasons if ask else ():
            if reason.key in keys:
                counts.setdefault(reason.tag, Counter())[system] += count
                texts.setdefault(reason.tag, {})[reason.text] = None
    reasons = [ReasonCount(tag, tuple(texts[tag]), dict(count), count.total()) for tag, count in counts.items()]
    return tuple(sorted(reasons, key=lambda reason: (-reason.total, reason.tag)))


def _ticked(ratings: StudyRatings, ticked: pd.Index) -> Iterator[tuple[list[str], str | float, int, int]]:
    """(keys of reasons, answer, system, count) for each combination that occurs."""
    explained = ratings.take(np.flatnonzero((ticked != "")[ratings.reasons])) if len(ratings) else ratings
    scale = ratings.criterion.scale
    answers = explained.option if isinstance(scale, Choice) else explained.number
    rows = pd.DataFrame({"reasons": explained.reasons, "answer": answers, "system": explained.system})
    for (reasons, answer, system), count in rows.value_counts(sort=False).items():
        answered = scale.values[int(answer)] if isinstance(scale, Choice) else answer
        yield ticked[reasons].split(","), answered, int(system), int(count)


def headline(result: CriterionResult, names: dict[int, str]) -> str:
    """The highest and the lowest system in one sentence, with intervals; it does not claim that they differ."""
    means = [
        (system.interval, names.get(system.system, "The item"))
        for system in result.systems
        if isinstance(system.interval, Interval)
    ]
    if not means:
        if not result.n:
            return "There is no rating yet."
        return "No rating has a value." if result.points else "These options have no order; see the shares."
    means.sort(key=lambda pair: -round(pair[0].mean, 9))
    high, low = means[0], means[-1]
    if len(means) == 1:
        return f"{high[1]}: {spoken(high[0], result.share)}."
    if round(high[0].mean - low[0].mean, 9) == 0:
        return f"All systems have the mean {spoken_number(high[0].mean, result.share)}."
    return f"Highest: {high[1]}, {spoken(high[0], result.share)}. Lowest: {low[1]}, {spoken(low[0], result.share)}."


def spoken_number(number: float, share: bool) -> str:
    return written(number, "share" if share else "number")


def spoken(interval: Interval, share: bool) -> str:
    """A mean with its interval, or without one where there is none."""
    return spoken_number(interval.mean, share) + interval.limits(lambda limit: spoken_number(limit, share))


def interval_note(*results: CriterionResult) -> str:
    """Which annotators the intervals of these criteria apply to, without repetitions, and how accurate they are."""
    systems = [system for result in results for system in result.systems]
    intervals = [system.interval for system in systems if isinstance(system.interval, Interval)]
    alike = sorted({interval.annotators for interval in intervals if interval.kind == "two_way"})
    sentences = [interval.sentence for interval in intervals if len(alike) < 2 or interval.kind != "two_way"]
    if len(alike) > 1:
        sentences.insert(0, f"95 % intervals for annotators like these, {alike[0]} to {alike[-1]} for each system.")
    if any(interval.low is not None for interval in intervals):
        sentences.append(APPROXIMATE if alike else FEW_APPROXIMATE)
    return " ".join(dict.fromkeys(sentences))

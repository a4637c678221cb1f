"""A rubric for ratings that come without one, proposed from their values and confirmed by the lead.

Numbers on up to 21 points become a Likert scale (ordinal), other numbers a number scale (interval), 0 and 1 alone a
question of yes and no (nominal), up to 12 words options (nominal), up to 50 where most occur again. What is neither,
such as free text, is proposed to be left out. Nothing is decided silently: the proposal lists what does not fit, and
which words mean "missing". Judges' scores never change people's scale: those that do not fit it get a criterion of
their own.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

import numpy as np

from triptych.errors import ImportRefused
from triptych.formats.model import JsonObject
from triptych.formats.names import MAX_NAME_CHARACTERS
from triptych.formats.ratings.model import ImportedRating
from triptych.rubric import yaml_text
from triptych.stats.columns import LARGEST

About = Literal["candidate", "item"]
Use = Literal["ordinal", "interval", "nominal", "leave out"]
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
MAX_NAMES = 500  # of criteria, options, labels or judges
MAX_POINTS = 21
MAX_OPTIONS = 50
FEW_OPTIONS = 12
MAX_LABELS = 9
DECIMALS = 6
MIN_ROUNDED_STEPS = 1000  # of the last decimal; rounding changes the differences of numbers that span fewer
FAR_RATIO = 10
USUAL_ENDS = (5, 7, 10)
OWN_SCALE = "Not on the scale on which people rated '{name}': analysed like a metric instead."
EMPTY_WORDS = {"", "n/a", "na", "nan", "null", "missing", "not applicable", "skipped", "skip", "-", "?"}
REASONED_MISSING = re.compile(r"(n/a|na|not applicable)\b\W+\w.*", re.IGNORECASE | re.DOTALL)
UNSURE_WORDS = {"none", "idk", "don't know", "dont know", "i don't know", "unsure", "can't say", "cannot say"}


@dataclass(frozen=True)
class ProposedCriterion:
    """A proposed criterion. numbers: whether its values are numbers; otherwise `labels` are its options.

    low, high, step: the scale of numbers; missing: values that mean missing; positive: options that count as good;
    values: distinct value → how often, most frequent first. of: its name in the files; judges: if people used another
    scale, the judges whose scores this criterion contains.
    """

    name: str
    key: str
    use: Use
    about: About
    numbers: bool
    values: dict[str, int]
    low: float = 0
    high: float = 1
    step: float = 1
    labels: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    of: str = ""
    judges: tuple[str, ...] = ()

    @property
    def unfit(self) -> list[str]:
        """Values that are neither on the scale nor mean missing."""
        if self.use == "leave out":
            return []
        missing = set(self.missing)
        return [value for value in self.values if value not in missing and not self._fits(value)]

    def _fits(self, value: str) -> bool:
        if not self.numbers:
            return value in self.labels
        number = number_in(value)
        if number is None or not self.low <= number <= self.high:
            return False
        steps = (round(number, DECIMALS) - self.low) / self.step
        return abs(steps - round(steps)) < 1e-6

    @property
    def points(self) -> int:
        """How many steps the scale of numbers has, its ends included."""
        return round((self.high - self.low) / self.step) + 1


def number_in(text: str) -> float | None:
    """The text as a number; None if it is not one, has a decimal comma, or is too large for statistics."""
    number = float(text) if NUMBER.fullmatch(text) else None
    return None if number is None or abs(number) > LARGEST else number


def means_missing(text: str) -> bool:
    """Whether a text means that there is no value, with or without a reason: N/A, "n/a: nothing to judge"."""
    return text.casefold() in EMPTY_WORDS or bool(REASONED_MISSING.fullmatch(text))


def propose(ratings: Iterable[ImportedRating]) -> tuple[ProposedCriterion, ...]:
    """A criterion for every name in the ratings, in the order of their first rows, followed by another one for judges
    whose scores are on a different scale. Raises as `distinct_keys`.
    """
    values: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    systems: dict[str, set[bool]] = defaultdict(set)
    for rating in ratings:
        values[rating.criterion][judge_of(rating)][rating.value] += 1
        systems[rating.criterion].add(rating.system is None)
    _refuse_many(values)  # before each is compared with the others
    apart = {name: judges for name, by_judge in values.items() if (judges := _apart(by_judge))}
    scores: dict[str, str] = {}
    for name in apart:
        scores[name] = scores_of(name, {*values, *scores.values()})
    keys = distinct_keys([*values, *scores.values()], "criterion")
    proposals = []
    for name, by_judge in values.items():
        about: About = "item" if systems[name] == {True} else "candidate"
        judges = apart.get(name, ())
        proposals.append(_proposed(name, keys[name], about, _merged(by_judge, by_judge.keys() - judges)))
        if judges:
            own = _proposed(scores[name], keys[scores[name]], about, _merged(by_judge, judges))
            proposals.append(replace(own, of=name, judges=judges, remarks=(OWN_SCALE.format(name=name), *own.remarks)))
    return tuple(proposals)


def judge_of(rating: ImportedRating) -> str:
    """The judge that gave the rating; "" for people's ratings."""
    return rating.annotator if rating.kind == "judge" else ""


def scores_of(name: str, taken: Collection[str]) -> str:
    """A name for judges' scores of a criterion whose name is taken by people's ratings."""
    return next(spelled for n in count(1) if (spelled := name + n * " (judge)") not in taken)


def _merged(by_judge: Mapping[str, Counter[str]], judges: Collection[str]) -> dict[str, int]:
    """How often these judges (people: "") gave each value, most frequent first."""
    names, total = set(judges), Counter[str]()
    for judge, counts in by_judge.items():
        if judge in names:
            total.update(counts)
    return dict(total.most_common())


def _apart(by_judge: Mapping[str, Counter[str]]) -> tuple[str, ...]:
    """The judges that did not answer on people's scale; people are "" among them."""
    if "" not in by_judge:
        return ()
    if len(by_judge) > MAX_NAMES:  # each is compared with people
        raise ImportRefused(f"There are {len(by_judge) - 1:,} judges; scores of at most {MAX_NAMES - 1} can be read.")
    own = {judge: _proposed("", "", "candidate", dict(counts)) for judge, counts in by_judge.items()}
    return tuple(judge for judge in by_judge if judge and not _is_on(own[""], own[judge]))


def _is_on(people: ProposedCriterion, scores: ProposedCriterion) -> bool:
    """Whether scores are on people's scale: the same level, and at most an end point that people never chose."""
    if people.numbers != scores.numbers:
        return False
    if not people.numbers:
        return people.use == "leave out" or len({*people.labels, *scores.labels}) <= MAX_OPTIONS
    if people.use == scores.use == "interval":
        return (people.low, people.high) == (scores.low, scores.high)
    end = next((end for end in USUAL_ENDS if people.high <= end), people.high)
    whole = replace(people, high=float(end)) if people.low == 1 and people.use == "ordinal" else people
    return all(whole._fits(value) for value in scores.values if number_in(value) is not None)


def _proposed(name: str, key: str, about: About, values: dict[str, int]) -> ProposedCriterion:
    numbers = {value: number for value in values if (number := number_in(value)) is not None}
    numeric = sum(values[value] for value in numbers)
    words = [value for value in values if value not in numbers]
    if numeric and 2 * numeric >= sum(number for value, number in values.items() if value):
        missing = tuple(word for word in words if means_missing(word) or word.casefold() in UNSURE_WORDS)
        low, high, step, use = _scale(np.array(list(numbers.values())))
        remarks = _far(np.array(list(numbers.values()))) + _rounded(np.array(list(numbers.values())))
        return ProposedCriterion(name, key, use, about, True, values, low, high, step, (), missing, (), remarks)
    missing = tuple(word for word in words if means_missing(word))
    labels = tuple(sorted(value for value in values if value and not REASONED_MISSING.fullmatch(value)))
    # labels are given twice or more on average; texts written by people are not
    recur = sum(values[label] for label in labels) >= 2 * len(labels)
    if not labels or len(labels) > MAX_OPTIONS or (len(labels) > FEW_OPTIONS and not recur):
        remark = f"It has {len(labels):,} different texts, which do not form a scale; it is left out."
        return ProposedCriterion(name, key, "leave out", about, False, values, labels=labels, remarks=(remark,))
    remarks = _alike(labels)
    return ProposedCriterion(
        name, key, "nominal", about, False, values, labels=labels, missing=missing, remarks=remarks
    )


def _scale(numbers: np.ndarray) -> tuple[float, float, float, Use]:
    """Low, high, step and level of a scale that contains the numbers.

    An end that was never chosen is added for common scales: from 1, 0 to 1, 0 to 100.
    """
    numbers = np.round(numbers, DECIMALS)
    low, high = float(numbers.min()), float(numbers.max())
    step = next(s for s in (1, 0.5, *(10.0**-d for d in range(1, DECIMALS + 1))) if _on(numbers, s))
    if (low, high, step) == (0, 1, 1):
        return low, high, step, "nominal"
    if step in (1, 0.5) and 1 < low <= 3 and high <= 10:
        low = 1.0
    if low == high:
        high = next((float(end) for end in USUAL_ENDS if low < end), low + 1) if low >= 0 else low + 1
        low = 1.0 if 1 <= low <= 10 else low
    if step in (1, 0.5) and low <= 10 and round((high - low) / step) < MAX_POINTS:
        return low, high, step, "ordinal"
    if low >= 0 and high <= 100 and (high > 10 or high <= 1):
        low, high = 0.0, 100.0 if high > 10 else 1.0
    return low, high, step, "interval"


def _on(numbers: np.ndarray, step: float) -> bool:
    steps = numbers / step
    return bool(np.all(np.abs(steps - np.round(steps)) < 1e-6)) or step == 10.0**-DECIMALS


def _far(numbers: np.ndarray) -> tuple[str, ...]:
    """A remark about numbers that are more than ten times the typical size."""
    usual = float(np.median(np.abs(numbers)))
    far = sorted(
        {f"{number:g}" for number in numbers if usual and abs(number) > FAR_RATIO * usual and len(numbers) > 3}
    )
    return (
        (f"Far from the other values: {', '.join(far)}. Check the scale; such values influence means.",) if far else ()
    )


def _rounded(numbers: np.ndarray) -> tuple[str, ...]:
    """A remark about numbers so close together that rounding them changes their differences."""
    close = float(np.ptp(numbers)) < 10.0**-DECIMALS * MIN_ROUNDED_STEPS
    if not close or np.array_equal(np.round(numbers, DECIMALS), numbers):
        return ()
    return (f"These numbers are rounded to {DECIMALS} decimals, which changes their differences. Multiply them first.",)


def _alike(labels: Sequence[str]) -> tuple[str, ...]:
    """Remarks on labels that differ in case only, and on numbers among words."""
    groups: dict[str, list[str]] = defaultdict(list)
    for label in labels:
        groups[label.casefold()].append(label)
    pairs = [" and ".join(f"'{label}'" for label in group) for group in groups.values() if len(group) > 1]
    remarks = [f"{pair} differ in case only; they are kept as different options." for pair in pairs]
    strays = [label for label in labels if number_in(label) is not None]
    if strays:
        remarks.append(f"Numbers among words: {', '.join(strays)}.")
    return tuple(remarks)


def distinct_keys(names: Collection[str], otherwise: str) -> dict[str, str]:
    """A distinct key for every name: lower case, digits and _, starting with a letter, at most 40 characters.

    Raises ImportRefused for more names than a rubric has room for.
    """
    _refuse_many(names)
    keys: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = unicodedata.normalize("NFKD", name[:MAX_NAME_CHARACTERS]).encode("ascii", "ignore").decode().lower()
        base = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:32] or otherwise
        base = base if base[0].isalpha() else f"{otherwise}_{base}"[:32]
        keys[name] = next(k for n in range(1, len(taken) + 2) if (k := base if n == 1 else f"{base}_{n}") not in taken)
        taken.add(keys[name])
    return keys


def _refuse_many(names: Collection[str]) -> None:
    if len(names) > MAX_NAMES:
        raise ImportRefused(
            f"There are {len(names):,} different criteria; a rubric has room for at most {MAX_NAMES}. Does the column "
            f"that is read as the criterion hold something else?"
        )


def as_yaml(title: str, criteria: Sequence[ProposedCriterion], labels: Mapping[str, str]) -> str:
    """The rubric of these criteria and highlight labels, with where each is marked, as YAML.

    Raises ImportRefused where nothing is left to import, or for too many labels or points.
    """
    used = [criterion for criterion in criteria if criterion.use != "leave out"]
    if not used:
        raise ImportRefused("Every criterion is left out, so nothing would be imported.")
    if len(labels) > MAX_LABELS:
        raise ImportRefused(f"The highlights have {len(labels)} different labels; a rubric has at most {MAX_LABELS}.")
    in_context = {"marked_in": "context"}
    marks = [
        {"key": key, "title": label} | (in_context if labels[label] == "context" else {})
        for label, key in distinct_keys(labels, "label").items()
    ]
    rubric = {
        "key": "imported",
        "title": title,
        "summary": "Derived from the values of imported ratings.",
        "instructions": "These ratings were made elsewhere; the original questions are unknown.",
        "criteria": [_criterion(criterion) for criterion in used],
        "highlights": marks,
    }
    return yaml_text.write(rubric)


def extended(rubric_yaml: str, criteria: Iterable[ProposedCriterion]) -> str:
    """An existing rubric with these criteria added at the end."""
    rubric = yaml_text.read(rubric_yaml)
    rubric["criteria"] += map(_criterion, criteria)
    return yaml_text.write(rubric)


def _criterion(criterion: ProposedCriterion) -> JsonObject:
    name = criterion.name
    texts = {"key": criterion.key, "title": name, "definition": f"Imported as '{name}'; its wording is unknown."}
    return {
        **texts,
        "about": criterion.about,
        "scale": _numbers(criterion) if criterion.numbers else _options(criterion),
    }


def _numbers(criterion: ProposedCriterion) -> JsonObject:
    if criterion.low >= criterion.high or criterion.step <= 0:
        raise ImportRefused(f"'{criterion.name}': the scale must end above its start.")
    if criterion.points <= MAX_POINTS and criterion.use != "interval":
        values = [round(criterion.low + n * criterion.step, 9) for n in range(criterion.points)]
        return {"kind": "likert", "level": criterion.use, "points": [{"value": value} for value in values]}
    ends = {"low": criterion.low, "high": criterion.high, "step": criterion.step}
    return {"kind": "number", "level": criterion.use, **ends}


def _options(criterion: ProposedCriterion) -> JsonObject:
    """The labels as options; a choice needs two, so a second, never chosen option is added to a single label."""
    options = [
        {"key": key, "title": label}
        | ({"missing": True} if label in criterion.missing else {})
        | ({"positive": True} if label in criterion.positive else {})
        for label, key in distinct_keys(criterion.labels, "option").items()
    ]
    if len(options) == 1:
        options.append({"key": "never_chosen", "title": "(no other answer was given)"})
    return {"kind": "choice", "level": criterion.use, "options": options}

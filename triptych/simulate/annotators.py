"""Simulated answers for any rubric: for the demo studies and for trying a study out. Pure: no database, no screen.

The answers are plausible, not meaningful: better candidates get better values, strict annotators give lower ones.
They say nothing about any text, so they are always stored as simulated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from random import Random
from statistics import fmean
from typing import Any

from triptych.rubric.answers import CONTEXT, WHOLE_ITEM, option_name
from triptych.rubric.model import LETTERS, Criterion, Rubric
from triptych.rubric.scales import Ask, Best, Choice, Likert, NumberScale, Scale
from triptych.storage.models import JsonObject

NOISE = 0.5
STEEPNESS = 1.5
SET_ASIDE = 0.03
UNANSWERED = 0.1
HIGHLIGHTED = 0.4
OPTIONAL_TEXT = 0.3
TIE = 0.1
WIDTH = 4 / STEEPNESS  # the difference in quality that moves an answer by about the scale's width, in its middle
ITEM_TASTE, SYSTEM_TASTE = 0.15, 0.2
AT_RANDOM = 0.5
SENTENCE = "Simulated text in place of an annotator's explanation of this rating of the response in their own words"
WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class SimulatedCandidate:
    """The content of one slot: a text or the texts of its turns, and its quality (0 average, 1 clearly better)."""

    quality: float
    text: str | None = None
    turns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recipe:
    """The effects of a simulation; differences are shares of a scale's width, in its middle.

    items: at most this many of the study's. gap: from the worst to the best system, with the others evenly between.
    spread: standard deviation of the annotators' severities. severe: how much stricter one of them is. first: the
    advantage of the first response on screen. careless: number of annotators who answer at random.
    """

    items: int = 200
    annotators: int = 12
    gap: float = 0.25
    spread: float = 0.05
    severe: float = 0.15
    first: float = 0.15
    careless: int = 1
    seed: int = 1


@dataclass(frozen=True)
class Crowd:
    """Annotators and systems drawn from a recipe, in units of quality.

    effects: system → quality. severity: pseudonym → quality that they subtract. careless: people who answer at random.
    first: the advantage of the first response on screen. severe: the strict annotator, if any.
    """

    effects: dict[int, float]
    severity: dict[str, float]
    careless: frozenset[str]
    first: float
    severe: str | None

    @classmethod
    def drawn(cls, recipe: Recipe, systems: Sequence[int], people: Sequence[str]) -> Crowd:
        """Draw a crowd; the recipe's seed determines the best system and the strict and careless annotators."""
        rng = Random(recipe.seed)  # noqa: S311 (a simulation, no secret)
        ranked, odd = rng.sample(list(systems), len(systems)), rng.sample(list(people), len(people))
        steps = max(len(systems) - 1, 1)
        effects = {system: WIDTH * recipe.gap * (place / steps - 0.5) for place, system in enumerate(ranked)}
        severity = {pseudonym: rng.gauss(0, WIDTH * recipe.spread) for pseudonym in people}
        careless = frozenset(odd[: recipe.careless])
        strict = odd[-1] if recipe.severe and odd[-1] not in careless else None
        if strict:
            severity[strict] = max(severity.values()) + WIDTH * recipe.severe
        return cls(effects, severity, careless, WIDTH * recipe.first, strict)

    def qualities(self, systems: Iterable[int], rng: Random) -> dict[int, float]:
        """The quality of each system's candidate for one item: of the system, of the item, and their interaction."""
        luck = rng.gauss(0, WIDTH * ITEM_TASTE)
        return {system: self.effects[system] + luck + rng.gauss(0, WIDTH * SYSTEM_TASTE) for system in systems}

    def felt(self, who: str, shown: Sequence[float], rng: Random) -> list[float]:
        """The perceived quality of the candidates in the slots for this annotator."""
        if who in self.careless:
            return [rng.gauss(0, WIDTH * AT_RANDOM) for _ in shown]
        return [quality + (self.first if slot == 0 else 0) - self.severity[who] for slot, quality in enumerate(shown)]


def message_of(token: str, version: int, rng: Random) -> JsonObject:
    """The common fields of a simulated annotator's final messages."""
    submission = f"{rng.getrandbits(128):032x}"
    return {"assignment": token, "version": version, "pen": "simulated", "submission": submission}


def generate_answers(
    rubric: Rubric,
    study_round: str,
    candidates: Sequence[SimulatedCandidate],
    rng: Random,
    severity: float = 0.0,
    context: tuple[str | None, Sequence[tuple[str, str]]] | None = None,
) -> JsonObject:
    """A complete draft in slot order that `answers.check_answers` accepts.

    `severity` (0 mild to 1 strict) is subtracted from every quality; context: its text and turns, if passages can be
    marked. The same state of the generator gives the same answers.
    """
    places = dict(zip(LETTERS, candidates, strict=False))
    set_aside = _set_aside(rubric, places, rng)
    rated = {place: candidate for place, candidate in places.items() if place not in set_aside}
    ratings: dict[str, JsonObject] = {}
    explanations: dict[str, JsonObject] = {}
    for criterion in rubric.asked(study_round):
        for place, quality in _judged(criterion, places, rated):
            if not criterion.required and rng.random() < UNANSWERED:
                continue
            value = _value(criterion.scale, rated, quality - severity, rng)
            ratings.setdefault(place, {})[criterion.key] = value
            ask = criterion.scale.ask_for(value)
            if ask is not None:
                explained = {option_name(value): _explanation(rubric, ask, rng)}
                explanations.setdefault(place, {})[criterion.key] = explained
    texts = dict(rated)
    if context:
        texts[CONTEXT] = SimulatedCandidate(0, context[0], tuple(words for _, words in context[1]))
    return {
        "ratings": ratings,
        "explanations": explanations,
        "highlights": [span for place, text in texts.items() for span in _spans(rubric, place, text, rng)],
        "set_aside": set_aside,
        "note": "",
    }


def generate_numbers(criterion: Criterion, felt: Sequence[float], rng: Random) -> list[float]:
    """One number per slot, as results count answers: the point, or 1 for a positive option or the best response."""
    scale = criterion.scale
    places = {place: SimulatedCandidate(quality) for place, quality in zip(LETTERS, felt, strict=False)}
    if isinstance(scale, Best):
        best = _best(scale, places, rng)
        return [float(place in best) for place in places]
    values = [_value(scale, places, quality, rng) for quality in felt]
    if not isinstance(scale, Choice):
        return values
    counts = {option.key: math.nan if option.missing else float(option.positive) for option in scale.options}
    return [counts[key] for key in values]


def _set_aside(rubric: Rubric, places: dict[str, SimulatedCandidate], rng: Random) -> dict[str, str]:
    offer = rubric.set_aside_response
    if offer is None:
        return {}
    return {place: rng.choice(offer.reasons).key for place in places if rng.random() < SET_ASIDE}


def _judged(
    criterion: Criterion, places: dict[str, SimulatedCandidate], rated: dict[str, SimulatedCandidate]
) -> Iterator[tuple[str, float]]:
    """The places that a criterion asks about, with the quality there; `rated` are those that are not set aside."""
    if criterion.about == "item":
        if rated or not isinstance(criterion.scale, Best):
            yield WHOLE_ITEM, fmean(candidate.quality for candidate in places.values())
        return
    for place, candidate in rated.items():
        yield place, candidate.quality


def _value(scale: Scale, places: dict[str, SimulatedCandidate], quality: float, rng: Random) -> Any:
    if isinstance(scale, Best):
        return _best(scale, places, rng)
    share = 1 / (1 + math.exp(-STEEPNESS * (quality + rng.gauss(0, NOISE))))
    if isinstance(scale, Likert):
        return _point(scale, share, rng)
    if isinstance(scale, NumberScale):
        return scale.after(round(share * scale.steps))
    return _option(scale, share, rng)


def _point(scale: Likert, share: float, rng: Random) -> float:
    """The point at this share of the scale; a point to be used sparingly is mostly replaced by its neighbour."""
    index = round(share * (len(scale.points) - 1))
    if scale.points[index].sparing and rng.random() < 0.7:
        index = min(max(index + rng.choice((-1, 1)), 0), len(scale.points) - 1)
    return scale.points[index].value


def _option(scale: Choice, share: float, rng: Random) -> str:
    """A positive option with the probability `share`; otherwise mostly the first of the others."""
    positive = [option for option in scale.options if option.positive]
    if positive and rng.random() < share:
        return rng.choice(positive).key
    others = [option for option in scale.options if not option.positive] or positive
    weights = [0.1 if option.missing else 1 / (place + 1) ** 2 for place, option in enumerate(others)]
    return rng.choices(others, weights)[0].key


def _best(scale: Best, places: dict[str, SimulatedCandidate], rng: Random) -> list[str]:
    felt = {place: candidate.quality + rng.gauss(0, NOISE) for place, candidate in places.items()}
    ranked = sorted(felt, key=felt.__getitem__, reverse=True)
    if scale.none_option and felt[ranked[0]] < -1:
        return []
    return sorted(ranked[: 2 if rng.random() < TIE else 1])


def _explanation(rubric: Rubric, ask: Ask, rng: Random) -> JsonObject:
    ticked = rng.sample(ask.reasons, rng.randint(1, min(2, len(ask.reasons)))) if ask.reasons else []
    wants_text = ask.free_text == "required" or (ask.free_text == "optional" and rng.random() < OPTIONAL_TEXT)
    return {"reasons": [reason.key for reason in ticked], "text": _words(rubric, rng) if wants_text else ""}


def _words(rubric: Rubric, rng: Random) -> str:
    """Words within the rubric's limits that state that they are simulated."""
    low = max(rubric.explanation.min_words, 1)
    return " ".join(islice(cycle(SENTENCE.split()), rng.randint(low, min(low + 12, rubric.explanation.max_words))))


def _spans(rubric: Rubric, place: str, candidate: SimulatedCandidate, rng: Random) -> Iterator[JsonObject]:
    """At most one highlight, from the start of a word to the end of another."""
    labels = [label.key for label in rubric.labels_in("context" if place == CONTEXT else "candidate")]
    if not labels or rng.random() >= HIGHLIGHTED:
        return
    turn = rng.randrange(len(candidate.turns)) if candidate.turns else None
    words = list(WORD.finditer((candidate.text or "") if turn is None else candidate.turns[turn]))
    if words:
        first = rng.randrange(len(words))
        last = min(first + rng.randint(1, 6), len(words) - 1)
        span = {"start": words[first].start(), "end": words[last].end()}
        yield {"slot": place, "turn": turn, **span, "label": rng.choice(labels), "comment": ""}

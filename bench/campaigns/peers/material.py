"""The task for every tool: reviews with three responses, and five questions about each response."""

from __future__ import annotations

from dataclasses import dataclass

from bench.world import RUBRIC, TEXTS
from triptych.formats import read_items
from triptych.rubric.files import parse_rubric
from triptych.rubric.model import Criterion
from triptych.rubric.scales import Choice, Likert

PLACES = ("a", "b", "c")


@dataclass(frozen=True)
class Question:
    """One question about one response: its options in order, and for a scale the names of its ends."""

    name: str
    place: str
    title: str
    options: tuple[str, ...]
    ends: tuple[str, str] | None


def questions() -> list[Question]:
    """The rubric's five criteria for each of three responses, as Triptych's annotators see them."""
    return [_question(criterion, place) for place in PLACES for criterion in parse_rubric(RUBRIC.read_text()).criteria]


def _question(criterion: Criterion, place: str) -> Question:
    scale, ends = criterion.scale, None
    if isinstance(scale, Likert):
        options = tuple(f"{point.value:g}" for point in scale.points)
        ends = scale.points[0].title, scale.points[-1].title
    else:
        assert isinstance(scale, Choice)  # the rubric has no other kinds
        options = tuple(option.title for option in scale.options)
    return Question(f"{criterion.key}_{place}", place, f"Response {place.upper()}: {criterion.title}", options, ends)


def texts(count: int) -> list[dict[str, str]]:
    """`count` items as {id, review, response_a, response_b, response_c}, with the demo's texts repeated."""
    items = read_items(TEXTS.read_bytes(), TEXTS.name).items
    rows = [
        {"review": item.context_text or ""}
        | {f"response_{place}": each.text or "" for place, each in zip(PLACES, item.candidates, strict=True)}
        for item in items
    ]
    return [{"id": f"item-{n}", **rows[n % len(rows)]} for n in range(count)]

"""From ratings to preferences between two candidates of one item: which ratings count, and their differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from triptych.formats.writers.model import Finished, FinishedAnnotation, FinishedItem, FinishedRating
from triptych.rubric.model import Criterion
from triptych.rubric.scales import Choice
from triptych.storage.models import AssignmentState

COUNTED = (
    "Includes main annotations (surplus ones, too) by annotators who are not excluded ({kinds}); items that most of "
    "them ignored and ratings marked missing are left out."
)


def counted_note(finished: Finished) -> str:
    return COUNTED.format(kinds=", ".join(sorted(finished.counted_kinds)))


def counted(finished: Finished, item: FinishedItem) -> list[FinishedAnnotation]:
    """The annotations of an item that count; empty if more than half of its annotators ignored the item."""
    whole = [
        annotation
        for annotation in item.annotations
        if annotation.kind in finished.counted_kinds
        and not (annotation.excluded or annotation.state == AssignmentState.skipped)
    ]
    rated = [annotation for annotation in whole if annotation.rated]
    return [] if 2 * len(rated) < len(whole) else rated


def ratings_of(annotation: FinishedAnnotation, criterion: Criterion) -> dict[str, FinishedRating]:
    """System → its rating on a criterion, without missing ratings."""
    return {
        slot.system: rating
        for slot in annotation.slots
        for rating in slot.ratings
        if rating.criterion == criterion.key and not rating.missing
    }


def rated_both(
    annotations: Iterable[FinishedAnnotation], criterion: Criterion, first: str, second: str
) -> Iterator[tuple[str, FinishedRating, FinishedRating]]:
    """(annotator, rating of the first, rating of the second) of those who rated both systems on the criterion."""
    for annotation in annotations:
        ratings = ratings_of(annotation, criterion)
        if first in ratings and second in ratings:
            yield annotation.annotator, ratings[first], ratings[second]


def positive_options(criterion: Criterion) -> frozenset[str]:
    """The options in favour of a candidate; empty if the criterion is not accept or reject."""
    scale = criterion.scale
    return frozenset(o.key for o in scale.options if o.positive) if isinstance(scale, Choice) else frozenset()


def is_numeric(criterion: Criterion) -> bool:
    return not isinstance(criterion.scale, Choice)


def share_of_scale(criterion: Criterion, rating: FinishedRating) -> float | None:
    """A rating from 0 (lowest) to 1 (highest); a positive option is 1, another 0; None where options have no order."""
    scale = criterion.scale
    if isinstance(scale, Choice):
        positive = positive_options(criterion)
        return float(rating.option in positive) if positive else None
    if rating.number is None:
        return None
    low, high = scale.ends
    return (rating.number - low) / (high - low)

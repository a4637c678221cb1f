"""The paragraph about methods that a paper needs, made of what the study did."""

from __future__ import annotations

from collections.abc import Iterator

from triptych.analyses import StudyAnalysis
from triptych.analysis.intervals import ENOUGH_ANNOTATORS
from triptych.findings import RESAMPLES
from triptych.reports.facts import Facts
from triptych.reports.numbers import Book
from triptych.rubric import Criterion, shown

SCALES = {
    "likert": "{n} points",
    "choice": "{n} options",
    "number": "numbers from {low} to {high}",
    "best": "the best response",
}


def paragraph(facts: Facts, found: StudyAnalysis, book: Book) -> str:
    """Who rated what, how it was shown, and how the numbers were made."""
    return " ".join([*_design(facts, found, book), *_numbers(found), *_left_out(facts)])


def _design(facts: Facts, found: StudyAnalysis, book: Book) -> Iterator[str]:
    annotators, items = (book["study", "", name].printed for name in ("annotators", "items"))
    kinds = " and ".join(found.frame.kinds) or "no"
    systems = f"{len(facts.outputs)} {'system' if len(facts.outputs) == 1 else 'systems'}"
    yield (
        f"{annotators} annotators (kind: {kinds}) rated responses of {systems} to {items} of {facts.items} items"
        + ("." if facts.imported else f"; {facts.raters_per_item} annotators per item were planned.")
    )
    asked = "; ".join(_asked(result.criterion) for result in found.criteria)
    yield f"They judged {len(found.criteria)} criteria: {asked}."
    if facts.imported:
        yield "The ratings were collected elsewhere and imported; the order on screen is not known."
        return
    together = "side by side" if facts.presentation == "side_by_side" else "one after another"
    yield (
        f"The responses of an item were shown {together}, without the names of their systems, in an order balanced "
        "over annotators and items by minimisation (Pocock and Simon 1975)."
    )
    if facts.rubric.training:
        yield f"Annotators began with {len(facts.rubric.training)} training items with feedback."


def _asked(criterion: Criterion) -> str:
    """A criterion with its scale."""
    scale = criterion.scale
    n = len(getattr(scale, "points", getattr(scale, "options", ())))
    ends = shown([getattr(scale, "low", 0)]), shown([getattr(scale, "high", 0)])
    return f"{criterion.title} ({SCALES[scale.kind].format(n=n, low=ends[0], high=ends[1])}, {scale.level})"


def _numbers(found: StudyAnalysis) -> Iterator[str]:
    yield (
        "Means and shares have 95 % intervals clustered by item and annotator (Cameron, Gelbach and Miller 2011), with "
        f"fewer than {ENOUGH_ANNOTATORS} annotators by item alone, which speaks for these annotators only."
    )
    if found.contrasts:
        yield (
            "Systems were compared by the mean difference where one annotator rated both on the same item, with "
            f"t-tests clustered in the same way. {found.family}"
        )
    yield (
        "Agreement is Krippendorff's alpha at the level of each scale, with percent agreement; their 95 % intervals "
        f"come from {RESAMPLES} bootstrap samples of the rated units."
    )
    if any(result.missing for result in found.criteria):
        yield "Answers that the rubric marks as missing are left out of the numbers and counted apart."
    yield found.scope.sentence


def _left_out(facts: Facts) -> Iterator[str]:
    for what in ("annotator", "item"):
        count = sum(one.what == what and not one.counted for one in facts.exclusions)
        if count:
            yield f"{count} {what}{'s' if count > 1 else ''} left out, with reasons in exclusions.csv."

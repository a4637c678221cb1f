"""The paragraph about methods that a paper needs, made of what the study did."""

from __future__ import annotations

from collections.abc import Iterator

from triptych.reports.facts import Facts
from triptych.reports.numbers import Book
from triptych.results.pay import rate_of
from triptych.results.study_analysis import StudyAnalysis
from triptych.rubric.model import Criterion
from triptych.rubric.scales import shown
from triptych.stats.analysis.statistics import Number
from triptych.stats.equivalence import Equivalence
from triptych.stats.intervals import ENOUGH_ANNOTATORS, VARIANCE_FLOOR, Interval
from triptych.stats.proportional_odds import ProportionalOdds
from triptych.stats.undefined import Undefined
from triptych.study.preregistration import declared
from triptych.study.settings import EXPERTISE

SCALES = {
    "likert": "{n} points",
    "choice": "{n} options",
    "number": "numbers from {low} to {high}",
    "best": "the best response",
}

ITEM_ORDERS = {
    "finish": "Items were assigned in blocks, so that each was finished before many others began.",
    "cover": "All items were assigned once before any was assigned again.",
}


def paragraph(facts: Facts, analysis: StudyAnalysis, book: Book) -> str:
    """Who rated what, how it was shown, and how the numbers were made."""
    parts = (
        _design(facts, analysis, book),
        _people(facts, book),
        _declared(facts),
        statistics(analysis, book),
        _left_out(facts),
    )
    return " ".join(sentence for part in parts for sentence in part)


def _design(facts: Facts, analysis: StudyAnalysis, book: Book) -> Iterator[str]:
    annotators = book["study", "", "annotators"].printed
    if not analysis.n_ratings:
        yield "There is no rating yet."
        return
    kinds = " and ".join(analysis.kinds)
    systems = f"{len(facts.outputs)} {'system' if len(facts.outputs) == 1 else 'systems'}"
    yield (
        f"{annotators} annotators (kind: {kinds}) rated responses of {systems} to {_items(facts, analysis, book)}"
        + ("." if facts.imported else f"; {facts.study.raters_per_item} annotators per item were planned.")
    )
    asked = "; ".join(_asked(result.criterion) for result in analysis.judged)
    yield f"They judged {len(analysis.judged)} {'criterion' if len(analysis.judged) == 1 else 'criteria'}: {asked}."
    if facts.imported:
        yield "The ratings were collected elsewhere and imported; the order on screen is not known."
        return
    together = "side by side" if facts.study.presentation == "side_by_side" else "one after another"
    yield (
        f"The responses of an item were shown {together}, without the names of their systems, in an order balanced "
        "over annotators and items by minimisation (Pocock and Simon 1975)."
    )
    if facts.study.raters_per_item > 1:
        yield ITEM_ORDERS[analysis.frame.settings.item_order]
    if facts.rubric.training:
        yield f"Annotators began with {len(facts.rubric.training)} training items with feedback."


def _items(facts: Facts, analysis: StudyAnalysis, book: Book) -> str:
    """How many items have ratings, of how many; ratings of those taken out later still count."""
    every = len(analysis.frame.meta)
    words = f"{book['study', '', 'items'].printed} of {every} items"
    later = every - facts.items
    return f"{words} ({later} of them taken out of the study)" if later else words


def _people(facts: Facts, book: Book) -> Iterator[str]:
    """How annotators were found, which rules a panel enforced, what they were paid."""
    recruitment = facts.settings.recruitment
    if recruitment.how:
        yield f"Recruitment: {_ended(recruitment.how)}"
    if recruitment.eligibility:
        yield f"Eligibility, as the panel enforced it: {_ended('; '.join(recruitment.eligibility))}"
    if isinstance(facts.pay, Undefined):
        return
    seconds, median, lowest = (
        book["pay", "", name].printed for name in ("seconds per item, median", "per hour, median", "per hour, lowest")
    )
    currency = facts.pay.pay.currency
    yield (
        f"The pay was {rate_of(facts.pay.pay)}. With a median active time of {seconds} seconds per item, pauses over "
        f"120 seconds not counted, the median annotator earned {currency} {median} per hour and the lowest-paid "
        f"{currency} {lowest}."
    )


def _declared(facts: Facts) -> Iterator[str]:
    """What was said before the first annotation, and what was changed after it."""
    lines = list(declared(facts.rubric, facts.settings.preregistration))
    if lines:
        yield "The following was preregistered and frozen with the design before the first annotation."
    for heading, words in lines:
        yield _ended(f"{heading}: {words}")
    if facts.amendments:
        count = len(facts.amendments)
        listed = "; ".join(f"{amendment.at:%Y-%m-%d}: {amendment.reason}" for amendment in facts.amendments)
        yield f"The design had {count} {'amendment' if count == 1 else 'amendments'} after launch ({listed})."


def _ended(words: str) -> str:
    """The words as a sentence ends."""
    return words if words.endswith((".", "!", "?")) else f"{words}."


def _asked(criterion: Criterion) -> str:
    """A criterion with its scale."""
    scale = criterion.scale
    n = len(getattr(scale, "points", getattr(scale, "options", ())))
    ends = shown([getattr(scale, "low", 0)]), shown([getattr(scale, "high", 0)])
    return f"{criterion.title} ({SCALES[scale.kind].format(n=n, low=ends[0], high=ends[1])}, {scale.level})"


def statistics(analysis: StudyAnalysis, book: Book) -> Iterator[str]:
    """How the numbers were made; a method is named where a number of it is in results.csv."""
    yield from _intervals(analysis)
    yield from _comparison(analysis, book)
    if any(isinstance(contrast.equivalence, Equivalence) for contrast in analysis.contrasts):
        yield (
            "Whether systems are practically equal, within a margin set before launch, was tested by two one-sided "
            "tests (Schuirmann 1987) with the same errors, each pair by itself."
        )
    if analysis.collection.sentence:
        yield analysis.collection.sentence
    yield from _models(analysis)
    yield from _judges(analysis, book)
    yield from _agreement(analysis, book)
    if any(result.missing for result in analysis.criteria):
        yield "Answers that the rubric marks as missing are left out of the numbers and counted apart."
    yield analysis.scope.sentence


def _intervals(analysis: StudyAnalysis) -> Iterator[str]:
    """Of means and shares, by the annotators they speak for."""
    intervals = [system.interval for result in analysis.criteria for system in result.systems]
    kinds = {interval.kind for interval in intervals if isinstance(interval, Interval) and interval.low is not None}
    if "two_way" in kinds:
        yield (
            "Means and shares have 95 % intervals clustered by item and annotator (Cameron, Gelbach and Miller 2011). "
            f"The two-way variance is at least {VARIANCE_FLOOR:g} of the larger one-way variance."
        )
    if "item" in kinds:
        few = f"With fewer than {ENOUGH_ANNOTATORS} annotators, means and shares"
        what = few if len(kinds) > 1 else "Means and shares"
        yield f"{what} have 95 % intervals clustered by item alone, which speak for these annotators only."
    if kinds:
        yield (
            "In intervals t has the smallest effective number of clusters minus 1 as its degrees of freedom (Carter, "
            "Schnepel and Steigerwald 2017)."
        )


def _comparison(analysis: StudyAnalysis, book: Book) -> Iterator[str]:
    """How systems were compared and tested, or why not."""
    for criterion, why in analysis.not_compared.items():
        yield f"Systems were not compared on {analysis.title(criterion)}: {_ended(why)}"
    if not analysis.contrasts:
        return
    if not book.defined("contrasts", "difference"):
        yield f"Differences of systems are not defined: {_ended(' '.join(book.reasons('contrasts', 'difference')))}"
        return
    yield f"Systems were compared by least squares with effects of items, annotators and systems{comparison_test(book)}"
    if book.defined("contrasts", "p") or book.defined("contrasts", "p these annotators"):
        yield analysis.family


def comparison_test(book: Book, criterion: str = "") -> str:
    """How a sentence about differences ends: the tests that they have, or why there is none."""
    if book.defined("contrasts", "p", criterion):
        return ", with t-tests clustered by item and annotator."
    if book.defined("contrasts", "p these annotators", criterion):
        return ", with t-tests clustered by item alone, which speak for these annotators only."
    reasons = " ".join(book.reasons("contrasts", "p these annotators", criterion))
    return f", without a test: {_ended(reasons)}"


def _agreement(analysis: StudyAnalysis, book: Book) -> Iterator[str]:
    """Krippendorff's alpha and its intervals, and why some criteria have none."""
    if book.defined("agreement", "alpha"):
        how = "Agreement is Krippendorff's alpha at the level of each scale, with percent agreement"
        if book.defined("agreement", "alpha low"):
            how += (
                "; their 95 % intervals come from the ratings without each item (jackknife on Fisher's z scale) and "
                "speak for these annotators"
            )
        yield f"{how}."
    for result in analysis.criteria:
        if not book.defined("agreement", "alpha", result.criterion.key):
            why = " ".join(book.reasons("agreement", "alpha", result.criterion.key))
            yield f"Alpha is not defined for {result.criterion.title}: {_ended(why)}"


def _models(analysis: StudyAnalysis) -> Iterator[str]:
    """The second look at the differences, where a criterion has one."""
    fitted = [fit.criterion for fit in analysis.ordinal_models if isinstance(fit.model, ProportionalOdds)]
    if fitted:
        yield (
            "As a second analysis that uses only the order of ratings, proportional odds with effects of items, "
            "annotators and systems, their errors clustered in the same way, were fitted to "
            f"{len(fitted)} of {len(analysis.judged)} criteria ({', '.join(map(analysis.title, fitted))}); its "
            "p-values are not adjusted."
        )


def _judges(analysis: StudyAnalysis, book: Book) -> Iterator[str]:
    margins = [number for number in book.numbers if (number.part, number.statistic) == ("judges", "epsilon")]
    for epsilon in dict.fromkeys(number.printed for number in margins if number.value is not None):
        yield (
            f"Judges were compared with the annotators, who are {EXPERTISE[analysis.frame.settings.expertise]}, by the "
            f"alternative annotator test (Calderon, Reichart and Dror 2025) with epsilon {epsilon}."
        )
    metrics = dict.fromkeys(number.baseline for number in book.numbers if _correlates(number))
    if metrics:
        yield (
            f"Metrics ({', '.join(map(analysis.title, metrics))}) were correlated with the mean ratings of each "
            "criterion within items, and over the means of systems (Kendall's tau-b and Pearson's r)."
        )


def _correlates(number: Number) -> bool:
    return number.part == "metrics" and number.statistic.endswith(("Kendall", "Pearson")) and number.value is not None


def _left_out(facts: Facts) -> Iterator[str]:
    for what in ("annotator", "item"):
        count = sum(exclusion.what == what and not exclusion.counted for exclusion in facts.exclusions)
        if count:
            yield f"{count} {what}{'s' if count > 1 else ''} left out, with reasons in exclusions.csv."

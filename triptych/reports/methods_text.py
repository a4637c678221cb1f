"""The methods paragraph of a paper, from the facts of a study."""

from __future__ import annotations

from collections.abc import Iterator

from triptych.languages import language
from triptych.reports.facts import Facts
from triptych.reports.numbers import Book
from triptych.results.criterion import group_names
from triptych.results.pay import rate_of
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.verdicts import tested_here_only
from triptych.rubric.model import Criterion
from triptych.rubric.scales import shown
from triptych.stats.analysis.collection import bound_in_words
from triptych.stats.analysis.statistics import Number
from triptych.stats.analysis.study import UNEQUAL_SETS
from triptych.stats.equivalence import Equivalence
from triptych.stats.intervals import ENOUGH_ANNOTATORS, FEW_ITEMS, FLOOR_OF_FEW, VARIANCE_FLOOR, Interval
from triptych.stats.numbers import counted, joined_words, written
from triptych.stats.undefined import Undefined
from triptych.storage.models import Kind
from triptych.study.preregistration import declared
from triptych.study.settings import EXPERTISE

SCALES = {
    "likert": "{n} points",
    "choice": "{n} options",
    "number": "numbers from {low} to {high}",
    "best": "the best response",
}

FINDINGS = {"groups set late", "excluded judges", "leads", "repeated"}  # those that belong to the methods

ARRANGEMENTS = {"side_by_side": "side by side", "one_at_a_time": "one at a time"}
ITEM_ORDERS = {
    "finish": "Items were assigned in blocks, in each those with the fewest annotators first",
    "cover": "Items with the fewest annotators were assigned first",
}


def paragraph(facts: Facts, analysis: StudyAnalysis, book: Book) -> str:
    """Who rated what, how it was shown, and how the numbers were computed."""
    parts = (
        _design(facts, analysis, book),
        _people(facts, book) if set(analysis.kinds) != {Kind.judge} else (),
        _declared(facts),
        statistics(analysis, book),
        (finding.sentence for finding in facts.caveats if finding.kind in FINDINGS),
        _final_values(book),
        _left_out(facts),
    )
    return " ".join(sentence for part in parts for sentence in part)


def _design(facts: Facts, analysis: StudyAnalysis, book: Book) -> Iterator[str]:
    if not analysis.n_ratings:
        yield "The annotations contain no rating." if analysis.n_annotations else "There is no rating yet."
        return
    rated = sum(count > 0 for count in facts.outputs.values())
    systems = f"{rated} of " * (rated < len(facts.outputs)) + counted(len(facts.outputs), "system")
    yield (
        f"{_raters(analysis)} rated responses of {systems} to {_items(facts, analysis, book)}"
        + ("." if facts.elsewhere else f"; {_planned(facts.study.raters_per_item)} planned{facts.raters_before}.")
    )
    answered = [_asked(result.criterion) for result in analysis.judged if result.n]
    if answered:
        yield f"They judged {counted(len(answered), 'criterion', 'criteria')}: {'; '.join(answered)}."
    if empty := [result.criterion.title for result in analysis.judged if not result.n]:
        yield f"No answer counts under {counted(len(empty), 'criterion', 'criteria')}: {_ended('; '.join(empty))}"
    yield from at_a_time(analysis)
    if facts.rubric.deviations:
        yield f"Deviations from the original protocol: {_ended(facts.rubric.deviations)}"
    yield from _made_elsewhere(facts)
    if facts.elsewhere:
        return
    yield from responses_shown(facts, analysis)
    yield from text_views(facts)
    yield from languages(facts)
    yield from mark_units(facts)
    if facts.planned:
        yield f"Items were assigned according to a plan{facts.plan_before}."
    elif facts.study.raters_per_item > 1 or facts.plan_before:
        subset = ", after those of the overlap subset" * (facts.settings.overlap.items > 0)
        yield f"{ITEM_ORDERS[facts.settings.item_order]}{subset}{facts.plan_before}."
    if facts.rubric.training:
        items, before = counted(len(facts.rubric.training), "training item"), facts.before_work
        yield f"{before.who(before.trained).capitalize()} began with {items} with feedback."
    if facts.before_work.tested:
        yield facts.before_work.tested


def _made_elsewhere(facts: Facts) -> Iterator[str]:
    """All ratings that count, or some, were imported."""
    if facts.elsewhere:
        yield "The ratings were collected elsewhere and imported; the order on screen is unknown."
    elif facts.partly_elsewhere:
        yield (
            f"{facts.partly_elsewhere} were collected elsewhere and imported; what annotators saw, and in which order, "
            "is unknown. How responses were shown and items assigned, below, is about the others only."
        )


def _raters(analysis: StudyAnalysis) -> str:
    """How many annotators of which kinds, and how many judge models."""
    judges = analysis.n_judges
    kinds = [kind for kind in analysis.kinds if kind != Kind.judge]
    people = [f"{counted(analysis.n_annotators - judges, 'annotator')} ({' and '.join(kinds)})"] if kinds else []
    return " and ".join([*people, *([counted(judges, "judge model")] if judges else [])])


def at_a_time(analysis: StudyAnalysis) -> Iterator[str]:
    """The number of systems in an annotation, if not all."""
    ratings = analysis.counted_frame.ratings
    held = ratings[ratings["system"] > 0].groupby("assignment")["system"].nunique().max()
    if held < len(analysis.systems):
        yield f"An annotation holds at most {held} of the {len(analysis.systems)} systems."


def responses_shown(facts: Facts, analysis: StudyAnalysis) -> Iterator[str]:
    """How responses were shown; their order is stated only if the positions of ratings are known."""
    if not analysis.systems:
        return
    if not (analysis.counted_frame.ratings["position"] > 0).any():
        yield "Responses were shown without the names of their systems."
        return
    yield (
        f"The responses of an item were shown {together(facts)}, without the names of their systems, in an order "
        "balanced over annotators and items by minimisation (Pocock and Simon 1975)."
    )


FIELD_NAMES = {"context": "contexts", "responses": "responses", "extra_texts": "further texts"}


def text_views(facts: Facts) -> Iterator[str]:
    """Texts that were shown formatted, and the number of annotations made with another view."""
    fields = [FIELD_NAMES[field] for field in facts.settings.formats.markdown]
    if not fields:
        return
    sentence = f"For each item, the {' and the '.join(fields)} were shown as formatted Markdown"
    written, mixed = (facts.text_views.get(view, 0) for view in ("written", "mixed"))
    parts = [f"{counted(written, 'annotation')} made from the texts as they were written"] if written else []
    parts += [f"{counted(mixed, 'annotation')} with some texts too large to be formatted"] if mixed else []
    yield f"{sentence}, except in {' and in '.join(parts)}." if parts else f"{sentence}."


def together(facts: Facts) -> str:
    """How the responses of an item were arranged, as stored with each annotation."""
    if facts.study.presentation != "side_by_side":
        return "one after another"
    ways = {ARRANGEMENTS[name]: count for name, count in facts.arrangements.items()}
    if not ways:
        return "together"
    if len(ways) == 1:
        return next(iter(ways))
    shares = " or ".join(f"{way} ({count:,})" for way, count in ways.items())
    return f"{shares} in the {counted(sum(ways.values()), 'annotation')} where that is known"


def mark_units(facts: Facts) -> Iterator[str]:
    """The units to which highlights were extended."""
    names = {"words": "by whole words", "letters": "by letters"}
    shares = [f"{names[unit]} ({count:,})" for unit, count in facts.mark_units.items()]
    if shares:
        yield f"Highlights were marked {' and '.join(shares)}, where that is known."


def languages(facts: Facts) -> Iterator[str]:
    """The languages of the page, if not English alone, and how completely it was translated."""
    every = sum(facts.languages.values())
    if not set(facts.languages) - {language.ENGLISH}:
        return
    shares = [f"{_named(code)} in {written(n / every, 'share')} ({n})" for code, n in facts.languages.items()]
    yield (
        f"Of {counted(every, 'annotation')}, the page was shown in {' and '.join(shares)}. Nobody has validated the "
        "translations of the app and of its shipped rubrics."
    )


def _named(code: str) -> str:
    return language.language(code).english if code in language.codes() else code


def _planned(raters: int) -> str:
    return f"{counted(raters, 'annotator')} per item {'was' if raters == 1 else 'were'}"


def _items(facts: Facts, analysis: StudyAnalysis, book: Book) -> str:
    """The number of items with ratings, out of all; ratings of items retired later still count."""
    every = len(analysis.frame.meta)
    words = f"{book['study', '', 'items'].printed} of {counted(every, 'item')}"
    later = every - facts.items
    return f"{words} ({later} of them taken out of the study)" if later else words


def _people(facts: Facts, book: Book) -> Iterator[str]:
    """How annotators were recruited, the panel's rules, the ethics approval, and pay."""
    recruitment = facts.settings.recruitment
    if recruitment.how:
        yield f"Recruitment: {_ended(recruitment.how)}"
    if recruitment.eligibility:
        yield f"Eligibility, as the panel enforced it: {_ended('; '.join(recruitment.eligibility))}"
    ethics = facts.settings.ethics
    if ethics.approval:
        yield f"The study was approved: {_ended(ethics.approval)}"
    if ethics.stored_until:
        yield f"Data are stored until {ethics.stored_until:%Y-%m-%d}."
    if isinstance(facts.pay, Undefined):
        return
    if not facts.pay.pay.per_item:
        yield f"Annotators were not paid{facts.paid_before}."
        return
    seconds, median, lowest = (
        book["pay", "", name].printed for name in ("seconds per item, median", "per hour, median", "per hour, lowest")
    )
    currency = facts.pay.pay.currency
    at_last = ", had all work been paid at the last rate" if facts.paid_before else ""
    yield (
        f"The pay was {rate_of(facts.pay.pay)}{facts.paid_before}. With a median active time of {seconds} seconds per "
        f"item, pauses over 120 seconds not counted, the median annotator earned {currency} {median} per hour and the "
        f"lowest-paid {currency} {lowest}{at_last}."
    )


def _declared(facts: Facts) -> Iterator[str]:
    """What was preregistered, and later changes."""
    lines = list(declared(facts.rubric, facts.settings.preregistration))
    if lines:
        yield "The following was preregistered and frozen with the design before the first annotation."
    for heading, words in lines:
        yield _ended(f"{heading}: {words}")
    if facts.amendments:
        count = len(facts.amendments)
        listed = "; ".join(f"{amendment.at:%Y-%m-%d}: {amendment.reason}" for amendment in facts.amendments)
        yield f"The design had {counted(count, 'amendment')} after launch ({listed})."


def _ended(words: str) -> str:
    """The words with a full stop, unless they end a sentence already."""
    return words if words.endswith((".", "!", "?")) else f"{words}."


def _asked(criterion: Criterion) -> str:
    """A criterion with its scale."""
    scale = criterion.scale
    n = len(getattr(scale, "points", getattr(scale, "options", ())))
    ends = shown([getattr(scale, "low", 0)]), shown([getattr(scale, "high", 0)])
    return f"{criterion.title} ({SCALES[scale.kind].format(n=n, low=ends[0], high=ends[1])}, {scale.level})"


def statistics(analysis: StudyAnalysis, book: Book) -> Iterator[str]:
    """How the numbers were computed; a method is named only if results.csv contains a number of it."""
    yield from _intervals(analysis)
    yield from _comparison(analysis, book)
    clustered = book.defined("systems", "interval low") or book.defined("contrasts", "p these annotators")
    groups = group_names(analysis.frame)
    if clustered and len(set(groups.values())) < len(groups):
        yield (
            f"Items are grouped by the field {analysis.frame.settings.group_field} of the items file "
            f"({len(set(groups.values())):,} groups of {len(groups):,} items): errors of differences, means and "
            "agreement are clustered by group instead of item."
        )
    if any(isinstance(contrast.equivalence, Equivalence) for contrast in analysis.contrasts):
        yield (
            "Whether systems are practically equal, within a margin set before launch, was tested by two one-sided "
            "tests (Schuirmann 1987) with the same errors, separately for each pair."
        )
    yield from _collection(analysis)
    yield from _groups(analysis, book)
    yield from _models(analysis)
    yield from _judges(analysis, book)
    yield from _agreement(analysis, book)
    if any(result.missing for result in analysis.criteria):
        yield (
            "Missing answers (options that the rubric marks so, responses that annotators set aside) are excluded from "
            "the numbers and counted separately."
        )
    yield analysis.scope.sentence


def _collection(analysis: StudyAnalysis) -> Iterator[str]:
    """The share of the plan that was collected; if there are tests, also the bound for a clear p until the end."""
    numbers = analysis.collection
    tested = not numbers.bound or any(contrast.is_tested for contrast in analysis.contrasts)
    rule = bound_in_words(analysis.frame.settings.preregistration.interim_bound)
    yield from (sentence for sentence in numbers.sentences if tested or sentence != rule)


def _intervals(analysis: StudyAnalysis) -> Iterator[str]:
    """The intervals of means and shares, by the annotators that they apply to."""
    limited = [
        (result.share, system.interval.kind)
        for result in analysis.criteria
        for system in result.systems
        if isinstance(system.interval, Interval) and system.interval.low is not None
    ]
    kinds, shares = {kind for _, kind in limited}, {share for share, _ in limited}
    what = "Means and shares" if len(shares) > 1 else "Shares" if True in shares else "Means"
    if "two_way" in kinds:
        yield (
            f"{what} have 95 % intervals clustered by item and annotator (Cameron, Gelbach and Miller 2011). "
            f"The two-way variance is at least {VARIANCE_FLOOR:g} of the larger one-way variance "
            f"({FLOOR_OF_FEW:g} where the effective number of items, or of groups of items, is below {FEW_ITEMS})."
        )
    if "item" in kinds:
        few = f"With fewer than {ENOUGH_ANNOTATORS} annotators, {what.lower()}"
        what = few if len(kinds) > 1 else what
        yield f"{what} have 95 % intervals clustered by item only, which apply to these annotators only."
    if kinds:
        yield (
            "In intervals t has the smallest effective number of clusters minus 1 as its degrees of freedom (Carter, "
            "Schnepel and Steigerwald 2017)."
        )


def _comparison(analysis: StudyAnalysis, book: Book) -> Iterator[str]:
    """How systems were compared and tested, or why they were not."""
    for criterion, why in analysis.not_compared.items():
        yield f"Systems were not compared on {analysis.title(criterion)}: {_ended(why)}"
    if not analysis.contrasts:
        return
    if not book.defined("contrasts", "difference"):
        yield f"Differences of systems are not defined: {_ended(' '.join(book.reasons('contrasts', 'difference')))}"
        return
    yield f"Systems were compared by least squares with effects of items, annotators and systems{comparison_test(book)}"
    here_only = tested_here_only(analysis, analysis.compared)
    if here_only and book.defined("contrasts", "p"):
        yield f"On {joined_words(here_only)}, t-tests are clustered by item only and apply to these annotators only."
    if book.defined("contrasts", "p") or book.defined("contrasts", "p these annotators"):
        yield analysis.family


def comparison_test(book: Book, criterion: str = "") -> str:
    """The end of a sentence about differences: the tests used, or why there is none."""
    if book.defined("contrasts", "p", criterion):
        return ", with t-tests clustered by item and annotator."
    if book.defined("contrasts", "p these annotators", criterion):
        return ", with t-tests clustered by item only, which apply to these annotators only."
    reasons = " ".join(book.reasons("contrasts", "p these annotators", criterion))
    return f", without a test: {_ended(reasons)}"


def _agreement(analysis: StudyAnalysis, book: Book) -> Iterator[str]:
    """Krippendorff's alpha and its intervals, and why some criteria have none."""
    if book.defined("agreement", "alpha"):
        how = "Agreement is Krippendorff's alpha at the level of each scale, with percent agreement"
        if book.defined("agreement", "alpha low"):
            how += (
                "; their 95 % intervals leave out one item at a time (jackknife on Fisher's z scale) and apply to "
                "these annotators"
            )
        yield f"{how}."
    for result in analysis.criteria:
        if not book.defined("agreement", "alpha", result.criterion.key):
            why = " ".join(book.reasons("agreement", "alpha", result.criterion.key))
            yield f"No alpha for {result.criterion.title}. {_ended(why)}"


def _groups(analysis: StudyAnalysis, book: Book) -> Iterator[str]:
    """How groups of annotators were compared."""
    if not book.defined("group differences", "difference"):
        return
    yield (
        f"Annotators were in groups ({', '.join(sorted(set(analysis.groups.values())))}). Differences of systems were "
        "estimated in each group by the same least squares, and compared between groups with errors clustered by item "
        "over both groups and by annotator within each, and the degrees of freedom of the smaller group."
    )
    if book.defined("group differences", "p") or book.defined("group differences", "p these annotators"):
        yield "Their tests are adjusted by Holm, with one family within groups and one between groups."


def _models(analysis: StudyAnalysis) -> Iterator[str]:
    """What differences of best are counted from, and the secondary analyses, for criteria that have them."""
    unequal = [analysis.title(key) for key, model in analysis.ordinal_models.items() if model == UNEQUAL_SETS]
    if unequal:
        yield (
            f"Systems were shown in sets of different size: for differences under {joined_words(unequal)}, the mean of "
            "the annotator's sets of the same size was subtracted from each choice."
        )
    fitted = [key for key, model in analysis.ordinal_models.items() if not isinstance(model, Undefined)]
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
            f"alternative annotator test (Calderon, Reichart and Dror 2025) with epsilon {epsilon}, and with the best "
            "constant answer, whose winning rate a judge must exceed."
        )
    metrics = dict.fromkeys(number.baseline for number in book.numbers if _correlates(number))
    if metrics:
        yield (
            f"Metrics ({', '.join(map(analysis.title, metrics))}) were correlated with the mean ratings of each "
            "criterion within items, and over the means of systems (Kendall's tau-b and Pearson's r)."
        )


def _correlates(number: Number) -> bool:
    return number.part == "metrics" and number.statistic.endswith(("Kendall", "Pearson")) and number.value is not None


def _final_values(book: Book) -> Iterator[str]:
    if any(number.part == "final values" for number in book.numbers):
        yield (
            "Where annotators disagreed, final values were decided afterwards. All numbers are of the ratings as "
            "given; one table compares them with the means under the final values."
        )


def _left_out(facts: Facts) -> Iterator[str]:
    for what in ("annotator", "item"):
        count = sum(exclusion.what == what and not exclusion.counted for exclusion in facts.exclusions)
        if count:
            yield f"{counted(count, what)} left out, with reasons in exclusions.csv."

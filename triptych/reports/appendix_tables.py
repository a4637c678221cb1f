"""The tables of the appendix, all from the list of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from triptych.reports.cells import Cell, Notes, Table, limits
from triptych.reports.numbers import Book
from triptych.results.study_analysis import StudyAnalysis
from triptych.stats.analysis.listing import FORMS
from triptych.stats.analysis.statistics import ORDINAL_SPREADS, Number

MOST_ROWS = 200
COEFFICIENTS = {
    "percent": "Percent",
    "alpha": "Alpha",
    "alpha_interval": "Alpha (interval)",
    "ac": "Gwet's AC",
    "fleiss": "Fleiss' kappa",
}
SPREADS = tuple(statistic.name for statistic in ORDINAL_SPREADS)


def appendix_tables(analysis: StudyAnalysis, book: Book) -> Iterator[Table]:
    """All of them; one that nothing was found for has no rows."""
    titles = {result.criterion.key: result.criterion.title for result in analysis.criteria}
    yield from (made(book, titles) for made in MADE)


def _of(book: Book, part: str) -> list[Number]:
    return [number for number in book.numbers if number.part == part]


def _places(numbers: Iterable[Number]) -> list[tuple[str, str, str]]:
    """Criterion, system and baseline of each, once, in order."""
    return list(dict.fromkeys((number.criterion, number.system, number.baseline) for number in numbers))


def appendix_table(
    name: str, title: str, header: Sequence[str], rows: Sequence[tuple[Cell, ...]], about: str, notes: Notes
) -> Table:
    """A table of the appendix, cut where it is longer than anybody reads."""
    sentences = [about, *notes.sentences()]
    if len(rows) > MOST_ROWS:
        sentences.append(f"The first {MOST_ROWS} of {len(rows)} rows; results.csv has all of them.")
    return Table(name, title, tuple(header), tuple(rows[:MOST_ROWS]), tuple(sentences), appendix=True)


def _ranks(book: Book, titles: dict[str, str]) -> Table:
    foot = {"Items": "items", "Friedman's chi-square": "Friedman chi-square", "p": "Friedman p"}
    about = (
        "Systems ranked on each item by their mean rating over the annotators who rated all of them; 1 is the highest. "
        "Friedman's test over items, which speaks for these annotators only."
    )
    return _systems_by_criteria(book, titles, "ranks", ("ranks", "Mean ranks"), "mean rank", foot, about)


def _systems_by_criteria(
    book: Book,
    titles: dict[str, str],
    part: str,
    names: tuple[str, str],
    statistic: str,
    foot: dict[str, str],
    about: str,
) -> Table:
    """A row for each system, a column for each criterion; no row where the statistic is nowhere defined.

    names: of the table, and its title; foot: row title under the systems -> statistic.
    """
    numbers, notes = _of(book, part), Notes()
    keys = list(dict.fromkeys(number.criterion for number in numbers))
    words = {key: next(n for n in numbers if n.criterion == key) for key in keys}
    places = {name: (statistic, name) for name in dict.fromkeys(number.system for number in numbers if number.system)}
    places |= {title: (name, "") for title, name in foot.items()} if places else {}
    rows = [
        (
            Cell(title),
            *(notes.cell(book.get(part, key, *place) or words[key], limits(book, part, key, *place)) for key in keys),
        )
        for title, place in places.items()
    ]
    return appendix_table(*names, ("System", *(titles[key] for key in keys)), rows, about, notes)


def _wins(book: Book, titles: dict[str, str]) -> Table:
    return table_of_part(
        book,
        titles,
        "contrasts",
        ("wins", "Wins and losses"),
        {
            "Systems": "",
            "Won": "wins",
            "Level": "ties",
            "Lost": "losses",
            "P(win) - P(loss)": "win minus loss",
            "Rank-biserial": "signed-rank effect",
        },
        "Only which of the two an annotator rated higher on an item: -1 to 1, with 95 % intervals for annotators like "
        "these where there are five or more, else for these. Rank-biserial: the effect that Wilcoxon's test goes with.",
    )


def _nemenyi(book: Book, titles: dict[str, str]) -> Table:
    numbers, notes = (number for number in _of(book, "ranks") if number.baseline), Notes()
    rows = [
        (
            Cell(titles[key]),
            Cell(f"{system} – {baseline}"),
            *(notes.cell(book["ranks", key, name, system, baseline]) for name in ("difference of ranks", "Nemenyi p")),
        )
        for key, system, baseline in _places(numbers)
    ]
    about = "Nemenyi's test holds for all pairs of one criterion at once."
    header = ("Criterion", "Systems", "Difference of ranks", "p (Nemenyi)")
    return appendix_table("nemenyi", "Ranks of systems against each other", header, rows, about, notes)


def _strengths(book: Book, titles: dict[str, str]) -> Table:
    about = (
        "Bradley-Terry strengths with ties (Davidson 1970) from every two responses that one annotator rated on the "
        "same item; 0 is the mean of the systems. 95 % intervals by resampling items, for these annotators."
    )
    foot = {"Pairs": "pairs", "Of them level": "level", "Ties (v)": "ties"}
    return _systems_by_criteria(book, titles, "strengths", ("strengths", "Strengths"), "strength", foot, about)


def _ordinal(book: Book, titles: dict[str, str]) -> Table:
    numbers, notes = _of(book, "ordinal"), Notes()
    rows = [
        (
            Cell(titles[key]),
            Cell(f"{system} – {baseline}"),
            notes.cell(
                book["ordinal", key, "difference", system, baseline],
                limits(book, "ordinal", key, "difference", system, baseline),
            ),
            Cell(book["ordinal", key, "p", system, baseline].printed),
            *(Cell(book["ordinal", key, name].printed) for name in SPREADS),
        )
        for key, system, baseline in _places(number for number in numbers if number.baseline)
    ]
    about = (
        "Cumulative-logit mixed model with intercepts of items, of annotators and of annotators with systems, by the "
        "Laplace approximation: a second analysis that uses only the order of ratings, next to the paired differences. "
        "Differences in logits with 95 % Wald intervals; its p-values are not adjusted, and with few annotators come "
        "out small too often. SD: how far intercepts scatter, tastes being those of annotators for systems."
    )
    undefined = [f"{titles[number.criterion]}: {number.printed}" for number in numbers if number.value is None]
    header = ("Criterion", "Systems", "Difference (logits)", "p", *SPREADS)
    return appendix_table("ordinal", "Ordinal mixed model", header, rows, " ".join([about, *undefined]), notes)


def _reliability(book: Book, titles: dict[str, str]) -> Table:
    notes = Notes()
    rows = [
        (
            Cell(titles[key]),
            *(notes.cell(book.get("reliability", key, name)) for name in ("units", "annotators", "ratings per unit")),
            *(_single_and_mean(book, key, form, notes) for form in FORMS.values()),
            notes.cell(book["reliability", key, "ICC(1) needed"]),
            notes.cell(book["annotator pairs", key, "mean kappa"]),
        )
        for key, *_ in _places(_of(book, "reliability"))
    ]
    about = (
        "Intraclass correlations of a single rating, and after the slash of the mean of k ratings; (1) one-way, (A) "
        "absolute agreement, (C) consistency. Needed: ratings per unit whose mean reaches 0.8 by ICC(1). Kappa: the "
        "mean of Cohen's over all two annotators, weighted by the level of the scale."
    )
    header = ("Criterion", "Units", "Annotators", "k", *FORMS.values(), "Needed", "Kappa")
    return appendix_table("reliability", "Reliability", header, rows, about, notes)


def _single_and_mean(book: Book, key: str, form: str, notes: Notes) -> Cell:
    single, mean = (book.get("reliability", key, f"{form} {what}") for what in ("single", "mean"))
    if single is None or mean is None or single.value is None or mean.value is None:
        return notes.cell(single)
    return Cell(f"{single.printed} / {mean.printed}")


def _without_each(book: Book, titles: dict[str, str]) -> Table:
    return table_of_part(
        book,
        titles,
        "without annotator",
        ("without", "Agreement without each annotator"),
        {"Annotator left out": "", "Units": "units", "Alpha": "alpha", "Change": "change"},
        "Krippendorff's alpha of the others, over the units that two of them rated.",
    )


def _pairs(book: Book, titles: dict[str, str]) -> Table:
    columns = {"Both rated": "n", "The same": "the same", "Cohen's kappa": "kappa"}
    return table_of_part(
        book,
        titles,
        "annotator pairs",
        ("pairs", "Annotators two by two"),
        {"Annotators": "", **columns, "Correlation": "correlation", "Mean distance": "distance"},
        "Over the units that both rated. Kappa is weighted by the level of the scale; the distance is in its points.",
    )


def _repeats(book: Book, titles: dict[str, str]) -> Table:
    notes = Notes()
    rows = [
        (
            Cell(titles[key]),
            Cell(book["repeats", key, "units"].printed),
            *(notes.cell(book.get("repeats", key, name), limits(book, "repeats", key, name)) for name in COEFFICIENTS),
        )
        for key, *_ in _places(number for number in _of(book, "repeats") if number.criterion)
    ]
    about = "Agreement of annotators with themselves, over what they rated twice without knowing."
    header = ("Criterion", "Units", *COEFFICIENTS.values())
    return appendix_table("repeats", "Annotators with themselves", header, rows, about, notes)


def _each_with_self(book: Book, titles: dict[str, str]) -> Table:
    rows = [
        (Cell(name), *(Cell(book["repeats", "", what, name].printed) for what in ("n", "the same", "apart")))
        for key, name, _ in _places(_of(book, "repeats"))
        if not key
    ]
    about = "Over all criteria. Apart: the mean distance in shares of the scale; another option is a whole scale apart."
    header = ("Annotator", "Rated twice", "The same", "Apart")
    return appendix_table("repeats_by_annotator", "Self-agreement by annotator", header, rows, about, Notes())


def _lengths(book: Book, titles: dict[str, str]) -> Table:
    return table_of_part(
        book,
        titles,
        "length",
        ("length", "Length of responses"),
        {"Kendall": "Kendall", "Pearson": "Pearson", "Pairs": "pairs", "Items": "items"},
        "Do longer responses get higher ratings? Correlation of words and mean rating within items, with 95 % "
        "intervals over items, for these annotators.",
    )


def _judges(book: Book, titles: dict[str, str]) -> Table:
    rates = {"Winning rate": "winning rate", "Advantage": "advantage"}
    return table_of_part(
        book,
        titles,
        "judges",
        ("judges", "Judges compared with the annotators"),
        {"Judge": "", "Shared": "shared", "Epsilon": "epsilon", **rates, **LEVELS},
        "The alternative annotator test (Calderon, Reichart and Dror 2025): epsilon is how much worse a judge may be, "
        "by what the annotators are; from a winning rate of 50 % on it may stand in for one of them. Correlations of "
        "its scores with the mean ratings.",
    )


def _judge_and_annotators(book: Book, titles: dict[str, str]) -> Table:
    columns = {"Items": "items", "Judge wins": "judge wins", "Annotator wins": "annotator wins"}
    return table_of_part(
        book,
        titles,
        "judges",
        ("judges_by_annotator", "Judges and each annotator"),
        {"Judge and annotator": "", **columns, "p": "p", "p (corrected)": "p corrected"},
        "Who goes along with the other annotators at least as well; ties win for both. p is one-sided, corrected by "
        "Benjamini and Yekutieli.",
        two=True,
    )


def _metrics(book: Book, titles: dict[str, str]) -> Table:
    return table_of_part(
        book,
        titles,
        "metrics",
        ("metrics", "Metrics compared with the annotators"),
        {"Judge and its scores": "", "Shared": "shared", **LEVELS},
        "What no annotator rated, on a scale of its own: correlations with the mean ratings of each criterion, with "
        "95 % intervals for these annotators.",
        two=True,
    )


LEVELS = {
    f"{shown}: {name}": f"{level} {name}"
    for shown, level in {"Within items": "within items", "Of systems": "of systems"}.items()
    for name in ("Kendall", "Pearson")
}


def table_of_part(
    book: Book,
    titles: dict[str, str],
    part: str,
    names: tuple[str, str],
    columns: dict[str, str],
    about: str,
    two: bool = False,
) -> Table:
    """A row for each place of a part that has the first of these statistics.

    names: of the table, and its title; columns: heading -> statistic, "" for its name; two: only places with
    two names.
    """
    notes, rows = Notes(), []
    first = next(name for name in columns.values() if name)
    has_places = "" in columns.values()
    for key, place, other in _places(n for n in _of(book, part) if not two or n.baseline):
        if book.get(part, key, first, place, other) is not None and (place or not has_places):
            cells = (
                notes.cell(book.get(part, key, name, place, other), limits(book, part, key, name, place, other))
                if name
                else Cell(f"{place} – {other}" if other else place)
                for name in columns.values()
            )
            rows.append((Cell(titles[key]), *cells))
    return appendix_table(*names, ("Criterion", *columns), rows, about, notes)


MADE = (
    _ordinal,
    _wins,
    _ranks,
    _nemenyi,
    _strengths,
    _reliability,
    _without_each,
    _pairs,
    _repeats,
    _each_with_self,
    _lengths,
    _judges,
    _judge_and_annotators,
    _metrics,
)

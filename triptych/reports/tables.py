"""The tables of a report, ready to print in every format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_lowercase

from triptych.reports.cells import NONE, Cell, Notes, Table, limits, number_cells
from triptych.reports.numbers import Book
from triptych.reports.part_tables import APPENDIX, CONTRASTS, FINAL_VALUES, MAJORITY
from triptych.results.adjudication import FinalValue
from triptych.results.criterion import CriterionResult, interval_note, titles_apart
from triptych.results.evidence import HOCHBERG
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.verdicts import clear_of, tested_here_only
from triptych.results.warnings import Finding, all_not_run
from triptych.rubric.model import LETTERS
from triptych.rubric.scales import as_typed
from triptych.stats.analysis.listing import SET_APART
from triptych.stats.analysis.statistics import AGREEMENT, ALPHA, SYSTEM, columns
from triptych.stats.numbers import counted, joined_words, written
from triptych.stats.undefined import Undefined

MOST_LETTERS = 8  # systems; with more, a cell of the main table would consist mostly of letters


def tables_of(analysis: StudyAnalysis, book: Book) -> Iterator[Table]:
    """All tables of a report, the main table first. A study without ratings has only that one."""
    yield main_table(analysis, book)
    more = [table(analysis, book) for table in (contrasts, agreement, item_means, answers, order)]
    more += [described.table(analysis, book) for described in (MAJORITY, FINAL_VALUES, *APPENDIX)]
    yield from (made for made in more if made.rows)


def main_table(analysis: StudyAnalysis, book: Book) -> Table:
    """Systems by criteria: mean with interval, and the other systems that a system is clearly above."""
    notes = Notes()
    names = [analysis.names[code] for code in analysis.frame.systems]
    letters = dict(zip(names, ascii_lowercase if _lettered(analysis) else [""] * len(names), strict=False))
    rated = [result for result in analysis.criteria if result.systems and result.criterion.per_response]
    rows = [
        (
            Cell(name, letter),
            *(_mean(book, result, name, notes, _above(analysis, result, name, letters)) for result in rated),
        )
        for name, letter in letters.items()
    ]
    foot = [_n_row(rated), _agreement_row(book, rated, notes)] if rows else []
    return Table(
        "results",
        "Results",
        ("System", *(result.criterion.title for result in rated)),
        (*rows, *foot),
        (*main_notes(analysis, book), *notes.sentences()),
    )


def _lettered(analysis: StudyAnalysis) -> bool:
    return len(analysis.frame.systems) <= MOST_LETTERS


def _mean(book: Book, result: CriterionResult, name: str, notes: Notes, raised: str) -> Cell:
    place = ("systems", result.criterion.key)
    return notes.cell(book.get(*place, "mean", name), limits(book, *place, "interval", name), raised)


def _above(analysis: StudyAnalysis, result: CriterionResult, name: str, letters: dict[str, str]) -> str:
    """The systems that this one is clearly above, after Holm's adjustment: their letters, or their number."""
    clear = clear_of(analysis.contrasts_of(result.criterion.key))
    beaten = sorted(letters[analysis.name(of.lower)] for of in clear if analysis.name(of.higher) == name)
    return ",".join(beaten) if _lettered(analysis) else str(len(beaten) or "")


def _n_row(rated: Sequence[CriterionResult]) -> tuple[Cell, ...]:
    return Cell("Answers (missing)"), *(Cell(f"{result.n} ({result.missing})") for result in rated)


def _agreement_row(book: Book, rated: Sequence[CriterionResult], notes: Notes) -> tuple[Cell, ...]:
    places = [("agreement", result.criterion.key) for result in rated]
    return Cell("Krippendorff's alpha"), *(cell for of in places for cell in number_cells(book, notes, ALPHA, of))


def main_notes(analysis: StudyAnalysis, book: Book) -> Iterator[str]:
    """Notes on the main table: what its numbers are, and who gave the ratings."""
    counts = {
        name: int(book["study", "", name].value or 0) for name in ("items", "annotators", "annotations", "ratings")
    }
    yield (
        f"{', '.join(counted(count, name.removesuffix('s')) for name, count in counts.items())}. "
        f"{analysis.scope.sentence}"
    )
    shares = [result for result in analysis.criteria if result.share and result.counts_as]
    kinds = "Means" if len(shares) < len(analysis.criteria) else "Shares"
    about = (f"{result.criterion.title}: share of “{result.counts_as}”." for result in shares)
    yield " ".join(filter(None, [f"{kinds} with intervals.", interval_note(*analysis.criteria), *about]))
    alike = book.defined("contrasts", "p Holm")
    if alike or book.defined("contrasts", "p Holm these annotators"):
        here_only = joined_words(tested_here_only(analysis, analysis.compared))
        where = f", on {here_only}" if alike and here_only else ""
        speaks = f"{where} for these annotators (others may differ)" if here_only else ""
        bound = f"adjusted p < {written(analysis.collection.bound, 'bound')}"
        raised = "letters: the" if _lettered(analysis) else "numbers: how many"
        yield f"Raised {raised} systems this one is clearly above{speaks}, {bound}. {analysis.family}"


def contrasts(analysis: StudyAnalysis, book: Book) -> Table:
    """All pairs of systems on every criterion."""
    adjusted = book.defined("contrasts", "p Benjamini-Hochberg")
    about = CONTRASTS.about if book.defined("contrasts", "difference") else ""
    notes = about, analysis.family, HOCHBERG if adjusted else ""
    return CONTRASTS.table(analysis, book, " ".join(filter(None, notes)))


def agreement(analysis: StudyAnalysis, book: Book) -> Table:
    """Agreement coefficients by criterion, with intervals; also without the options that a rubric sets apart."""
    notes, rows, remarks = Notes(), [], []
    for result, coefficients in zip(analysis.criteria, analysis.agreement, strict=True):
        titles = {"": result.criterion.title}
        if coefficients.apart is not None:
            titles[SET_APART] = f"{result.criterion.title}, without {titles_apart(result.criterion)}"
        for before, title in titles.items():
            cells = number_cells(book, notes, AGREEMENT, ("agreement", coefficients.criterion), before=before)
            rows.append((Cell(title), Cell(coefficients.level), *cells))
        remarks += [f"{result.criterion.title}: {words}" for words in (coefficients.band, coefficients.note) if words]
    about = (
        "A unit is one response, or one item where the question is about the item, rated twice or more. 95 % intervals "
        "from leaving out one item at a time (jackknife), for these annotators. Alpha is Krippendorff's, at the level "
        "of the scale; AC is AC1 on nominal scales, else AC2."
    )
    header = ("Criterion", "Level", *columns(AGREEMENT))
    return Table(
        "agreement", "Agreement between annotators", header, tuple(rows), (about, *remarks, *notes.sentences())
    )


def item_means(analysis: StudyAnalysis, book: Book) -> Table:
    """Systems by criteria: the mean over items of the item's mean rating, and its standard deviation over items."""
    notes = Notes()
    rated = [result for result in analysis.criteria if result.systems and result.criterion.per_response]
    rows = tuple(
        (Cell(name), *(_item_mean(book, result.criterion.key, name, notes) for result in rated))
        for name in (analysis.names[code] for code in analysis.frame.systems)
    )
    about = (
        "Mean ± SD over items, each represented by the mean of its ratings; SD with divisor n - 1. In brackets the "
        "mean over all ratings, if it differs because items have different numbers of ratings. "
        "Shares are written from 0 to 1."
    )
    header = ("System", *(result.criterion.title for result in rated))
    return Table("item_means", "Item means", header, rows if rated else (), (about, *notes.sentences()))


def _item_mean(book: Book, criterion: str, name: str, notes: Notes) -> Cell:
    names = ("mean of item means", "sd of item means", "mean of ratings")
    mean, spread, pooled = (book.get("systems", criterion, statistic, name) for statistic in names)
    if mean is None or spread is None or pooled is None or mean.value is None:
        return notes.cell(mean)
    of_ratings = "" if pooled.printed == mean.printed else f" ({pooled.printed})"
    if spread.value is None:
        return Cell(f"{mean.printed}{of_ratings}", notes.sign(spread.printed))
    return Cell(f"{mean.printed} ± {spread.printed}{of_ratings}")


def answers(analysis: StudyAnalysis, book: Book) -> Table:
    """The number of each answer by system, and the system's main statistics."""
    notes = Notes()
    rows = [
        (
            Cell(result.criterion.title),
            Cell(name or "The item"),
            *number_cells(book, notes, SYSTEM, ("systems", result.criterion.key), name),
            Cell(_listed(result, book, name)),
        )
        for result in analysis.criteria
        for name in (analysis.names.get(system.system, "") for system in result.systems)
    ]
    header = ("Criterion", "System", *columns(SYSTEM), "Answers")
    return Table("answers", "Answers", header, tuple(rows), notes.sentences(), prose=True)


def _listed(result: CriterionResult, book: Book, name: str) -> str:
    """Each point or option with its count."""
    options = {option.key: option.title for option in getattr(result.criterion.scale, "options", ())}
    titles = options or {point: point for point in map(as_typed, result.points)}
    counts = {title: book.get("systems", result.criterion.key, f"answers {key}", name) for key, title in titles.items()}
    return ", ".join(f"{title}: {count.printed}" for title, count in counts.items() if count)


def order(analysis: StudyAnalysis, book: Book) -> Table:
    """The difference between answers at each position and the same system's average."""
    seen = [
        letter
        for letter in LETTERS
        if any(n.part == "order" and n.system == f"Response {letter}" for n in book.numbers)
    ]
    notes, rows = Notes(), []
    for result in analysis.criteria if seen else ():
        key = result.criterion.key
        cells = [_at_place(book, key, f"Response {letter}") for letter in seen]
        if isinstance(result.positions, Undefined):
            cells = [Cell(NONE, notes.sign(result.positions.reason))] * len(seen)
        rows.append((Cell(result.criterion.title), *cells))
    about = "Difference from the system's own mean at each place on screen, with the number of ratings; 0 is no effect."
    header = ("Criterion", *(f"Response {letter}" for letter in seen))
    return Table("order", "Order on screen", header, tuple(rows), (about, *notes.sentences()))


def _at_place(book: Book, key: str, place: str) -> Cell:
    n = book.get("order", key, "n", place)
    return Cell(NONE) if n is None else Cell(f"{book['order', key, 'from own mean', place].printed} (n {n.printed})")


def plain_table(name: str, title: str, header: Sequence[str], rows: Iterable[Sequence[str]], *notes: str) -> Table:
    """A table of words without numbers."""
    return Table(name, title, tuple(header), tuple(tuple(map(Cell, row)) for row in rows), notes, prose=True)


def findings(caveats: Iterable[Finding]) -> Table:
    """What readers should know, most serious first."""
    return plain_table("findings", "What readers should know", ("Finding",), ([each.sentence] for each in caveats))


def decisions(finals: Mapping[str, FinalValue]) -> Table:
    """Who decided final values, when and why."""
    header = ("Item", "Decided by", "When (UTC)", "Final values", "Why")
    rows = (
        [item, final.by, f"{final.at:%Y-%m-%d %H:%M}", str(len(final.values)), final.reason or "answered when asked"]
        for item, final in finals.items()
        if final.at is not None
    )
    return plain_table("decisions", "Who decided final values", header, rows)


def not_run(analysis: StudyAnalysis) -> Table:
    """Checks that the data do not allow."""
    rows = ([check.check, ", ".join(check.criteria) or "All", check.why] for check in all_not_run(analysis))
    return plain_table("not_run", "Checks that could not run", ("Check", "Criteria", "Why"), rows)

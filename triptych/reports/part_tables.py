"""Tables of a report that list one part of the numbers, each described once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from triptych.reports.cells import Cell, Notes, Table, limits, number_cells
from triptych.reports.numbers import Book
from triptych.results.study_analysis import StudyAnalysis
from triptych.stats.analysis import statistics as tables
from triptych.stats.analysis.statistics import Number, Statistic, columns

MOST_ROWS = 200


@dataclass(frozen=True)
class PartTable:
    """A table with a row for each place of a part with one of the statistics, or with systems as rows.

    names: heading of the places' names, "" if rows are criteria; unnamed: shown for a place without a name. across: a
    statistic for a table of systems (rows) by criteria (columns), above rows of `statistics`.
    """

    part: str
    name: str
    title: str
    statistics: Sequence[Statistic]
    about: str
    names: str = ""
    unnamed: str = ""
    across: str = ""
    appendix: bool = True

    def table(self, analysis: StudyAnalysis, book: Book, about: str = "") -> Table:
        """The table; without rows if there are no numbers, and limited to MOST_ROWS rows in an appendix."""
        titles, notes = {"": "All criteria", **analysis.titles}, Notes()
        if self.across:
            header, rows = self._systems_by_criteria(titles, book, notes)
        else:
            labels = {label.key: label.title for label in analysis.frame.rubric.highlights}
            header, rows = self._places(titles, labels, book, notes)
        sentences = [" ".join([about or self.about, *self._undefined(titles, book)]), *notes.sentences()]
        if self.appendix and len(rows) > MOST_ROWS:
            sentences.append(f"The first {MOST_ROWS} of {len(rows)} rows; results.csv has all of them.")
            rows = rows[:MOST_ROWS]
        return Table(self.name, self.title, header, tuple(rows), tuple(sentences), appendix=self.appendix)

    def _places(
        self, titles: dict[str, str], labels: dict[str, str], book: Book, notes: Notes
    ) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """The header and a row for each place."""
        places, rows = list(self._shown(book)), []
        has_criteria = any(key for key, *_ in places) or not places
        for key, name, other in places:
            first = labels.get(name, name) if self.part == "highlights" else name
            words = f"{first} – {other}" if other else first or self.unnamed
            start = ([titles[key]] if has_criteria else []) + ([words] if self.names else [])
            cells = number_cells(book, notes, self.statistics, (self.part, key), name, other)
            rows.append((*map(Cell, start), *cells))
        heads = (["Criterion"] if has_criteria else []) + ([self.names] if self.names else [])
        return (*heads, *columns(self.statistics)), rows

    def _shown(self, book: Book) -> Iterable[tuple[str, str, str]]:
        """(criterion, name, second name) of each place with one of the statistics, in order."""
        shown = [number for number in self._numbers(book) if number.system or self.unnamed or not self.names]
        return dict.fromkeys((number.criterion, number.system, number.baseline) for number in shown)

    def _undefined(self, titles: dict[str, str], book: Book) -> Iterator[str]:
        """Why a criterion has no rows."""
        for number in self._numbers(book) if self.names and not self.unnamed else ():
            if not number.system and number.value is None:
                yield f"{titles[number.criterion]}: {number.printed}"

    def _numbers(self, book: Book) -> list[Number]:
        names = {statistic.name for statistic in self.statistics}
        return [number for number in book.numbers if number.part == self.part and number.statistic in names]

    def _systems_by_criteria(
        self, titles: dict[str, str], book: Book, notes: Notes
    ) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """The header and the rows; no rows if the statistic is undefined everywhere."""
        numbers = [number for number in book.numbers if number.part == self.part]
        words = {number.criterion: number for number in reversed(numbers)}
        keys = list(dict.fromkeys(number.criterion for number in numbers))
        places = {number.system: (self.across, number.system) for number in numbers if number.system}
        if places:
            places |= {title: (shared[0].name, "") for title, shared in columns(self.statistics).items()}
        rows = []
        for title, place in places.items():
            cells = (
                notes.cell(book.get(self.part, key, *place) or words[key], limits(book, self.part, key, *place))
                for key in keys
            )
            rows.append((Cell(title), *cells))
        return ("System", *(titles[key] for key in keys)), rows


CONTRASTS = PartTable(
    "contrasts",
    "contrasts",
    "Systems against each other",
    (*tables.DIFFERENCE, *tables.WINS, tables.SIGNED_RANK),
    "Difference by least squares with effects of items, annotators and systems, first system minus second, and the "
    "share of their ratings that it is based on; 95 % intervals for these annotators and for annotators like these, "
    "with the corresponding tests. Wins, ties, losses and Wilcoxon's test use items where one annotator rated both.",
    "Systems",
    appendix=False,
)
FINAL_VALUES = PartTable(
    "final values",
    "final_values",
    "Ratings as given and with final values",
    tables.FINAL_VALUES,
    "As given: the means of all other tables. With final values: the same means, but with final values in place of the "
    "ratings of responses that were decided. They have no interval and no test: a single decision is not a sample of "
    "ratings.",
    "System",
    "The item",
    appendix=False,
)
MAJORITY = PartTable(
    "systems",
    "majority",
    "Items by majority",
    tables.MAJORITY,
    "Positive: more than half of the raters of an item chose a positive option.",
    "System",
    "The item",
    appendix=False,
)
APPENDIX = (
    PartTable(
        "group differences",
        "group_differences",
        "Systems by group of annotators",
        tables.DIFFERENCE,
        "Mean difference of two systems in each group of annotators, by the same least squares fitted to its ratings "
        "only; then how far these differences are apart in two groups. 95 % intervals for these annotators, and, if "
        "each group has five or more, for annotators like these. The tests within groups are one family, those between "
        "groups another; an unclear test between groups does not show that they agree.",
        "Systems and groups",
    ),
    PartTable(
        "ordinal",
        "ordinal",
        "Proportional odds",
        tables.ORDINAL_DIFFERENCE,
        "Cumulative logits with effects of items, annotators and systems: a second analysis that uses only the order "
        "of ratings, next to the differences in points. Differences in logits with 95 % intervals for annotators like "
        "these where there are five or more, else for these; its p-values are not adjusted.",
        "Systems",
    ),
    PartTable(
        "contrasts",
        "wins",
        "Wins and losses",
        (*tables.WINS, tables.BALANCE, tables.RANK_BISERIAL),
        "Only which of the two an annotator rated higher on an item: -1 to 1, with 95 % intervals for annotators like "
        "these where there are five or more, else for these. Rank-biserial: the effect size of Wilcoxon's test.",
        "Systems",
    ),
    PartTable(
        "ranks",
        "ranks",
        "Mean ranks",
        tables.RANKING,
        "Systems ranked on each item by their mean rating over the annotators who rated all of them; 1 is the highest. "
        "Friedman's test over items, for these annotators only.",
        across="mean rank",
    ),
    PartTable(
        "ranks",
        "nemenyi",
        "Ranks of systems against each other",
        tables.RANK_DIFFERENCE,
        "Nemenyi's test holds for all pairs of one criterion at once.",
        "Systems",
    ),
    PartTable(
        "strengths",
        "strengths",
        "Strengths",
        tables.STRENGTHS,
        "Bradley-Terry strengths with ties (Davidson 1970) from all pairs of responses that one annotator rated on the "
        "same item; 0 is the mean of the systems. 95 % intervals by resampling items, for these annotators.",
        across="strength",
    ),
    PartTable(
        "reliability",
        "reliability",
        "Reliability",
        tables.RELIABILITY,
        "Intraclass correlations of a single rating, and after the slash of the mean of k ratings; (1) one-way, (A) "
        "absolute agreement, (C) consistency. Needed: ratings per unit whose mean reaches 0.8 by ICC(1).",
    ),
    PartTable(
        "annotator pairs",
        "pair_means",
        "Pairs of annotators on average",
        tables.PAIRS,
        "Means over all pairs of annotators. Kappa: Cohen's, weighted by the level of the scale. All criteria: means "
        "over pairs, with the units of all criteria together; only if all criteria have the same scale.",
    ),
    PartTable(
        "without annotator",
        "without",
        "Agreement without each annotator",
        tables.WITHOUT,
        "Krippendorff's alpha of the others, over the units that two or more of them rated.",
        "Annotator left out",
    ),
    PartTable(
        "annotator pairs",
        "pairs",
        "Pairs of annotators",
        tables.PAIR,
        "Over the units that both rated. Kappa is weighted by the level of the scale; the distance is in its points.",
        "Annotators",
    ),
    PartTable(
        "repeats",
        "repeats",
        "Annotators with themselves",
        tables.AGREEMENT,
        "Agreement of annotators with themselves, over what they unknowingly rated twice.",
    ),
    PartTable(
        "repeats",
        "repeats_by_annotator",
        "Self-agreement by annotator",
        tables.REPEATED,
        "Over all criteria. Apart: the mean distance in shares of the scale; another option is a whole scale apart.",
        "Annotator",
    ),
    PartTable(
        "length",
        "length",
        "Length of responses",
        tables.LENGTH,
        "Do longer responses get higher ratings? Correlation of words and mean rating within items, with 95 % "
        "intervals over items, for these annotators.",
    ),
    PartTable(
        "judges",
        "judges",
        "Judges compared with the annotators",
        (*tables.SHARED, *tables.STAND_IN, *tables.WITHIN_ITEMS, *tables.OF_SYSTEMS),
        "The alternative annotator test (Calderon, Reichart and Dror 2025): epsilon is how much worse a judge may be, "
        "depending on the kind of annotators; from a winning rate of 50 % it may replace one of them, if that is also "
        "above that of the constant answer, the best one to give to everything. Correlations of its scores with the "
        "mean ratings.",
        "Judge",
    ),
    PartTable(
        "judges",
        "judges_by_annotator",
        "Judges and each annotator",
        tables.STAND_IN_PAIR,
        "Which of the two agrees with the other annotators at least as well; ties win for both. p is one-sided, "
        "corrected by Benjamini and Yekutieli.",
        "Judge and annotator",
    ),
    PartTable(
        "metrics",
        "metrics",
        "Metrics compared with the annotators",
        (*tables.SHARED, *tables.WITHIN_ITEMS, *tables.OF_SYSTEMS),
        "Scores that no annotator gave, on their own scale: correlations with the mean ratings of each criterion, with "
        "95 % intervals for these annotators.",
        "Judge and its scores",
    ),
    PartTable(
        "effects",
        "effects",
        "Place on screen and time",
        (*tables.POSITION_EFFECT, *tables.ORDER_EFFECT),
        "Do ratings depend on the place on screen? Least squares on places and systems within annotations; Wald's test "
        "that no place shifts them, clustered by item and annotator, or with fewer than five annotators by item only. "
        "First to last: change in points of the scale, of shares in percentage points (pp), from an annotator's first "
        "annotation to their last, with the 95 % interval for annotators like these where there are five or more, else "
        "for these.",
    ),
    PartTable(
        "effects",
        "shifts",
        "Places on screen",
        tables.AT_PLACE,
        "Shift from the mean of all places, in points of the scale, of shares in percentage points (pp), with "
        "95 % intervals as above; how often the response that an annotator rated above all others was there.",
        "Place",
    ),
    PartTable(
        "annotators",
        "annotators",
        "Annotators one by one",
        (*tables.LOOK, *tables.SPEED, *tables.DRIFT),
        "Over all criteria. With the others: correlation with their mean, with 95 % intervals (jackknife over items). "
        "Severity: own rating minus the mean of the others, in % of the scale; not misconduct. All equal: annotations "
        "with the same rating throughout. Missing: answers marked as missing. Seconds: the median per annotation. Too "
        "fast: annotations too fast to have read the texts. Drift: the largest excursion from the others in time, and "
        "its 99 % quantile over random orders. None of this excludes anyone.",
        "Annotator",
    ),
    PartTable(
        "highlights",
        "highlights",
        "Highlights",
        tables.SPANS,
        "F1 of two annotators over the texts that both read, highlights matched one to one if they are the same "
        "passage, or if they overlap; the mean over pairs of annotators. Alpha considers every character as marked or "
        "not.",
        "Label",
        "Any label",
    ),
)

"""The numbers of a report's appendix: the same as on the results page, and recomputed from the ratings alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from helpers.appendix import MANY, NAMES, analysed, some_ratings
from helpers.present import present

from components.results.comparisons import contrast_table
from triptych.formats.long_csv import write_csv
from triptych.reports import data
from triptych.reports.analysis import recomputed
from triptych.reports.build import choices
from triptych.reports.methods_text import statistics
from triptych.reports.numbers import Book
from triptych.reports.tables import not_run, tables_of
from triptych.results.verdicts import verdict
from triptych.stats.undefined import Undefined
from triptych.study.settings import Preregistration, StudySettings

TABLES = {"ordinal", "strengths", "reliability", "pair_means", "without", "pairs", "repeats", "repeats_by_annotator"}
TABLES |= {"length", "judges", "wins", "effects", "shifts", "annotators", "highlights"}
PARTS = {"reliability", "without annotator", "annotator pairs", "ranks", "strengths", "length", "repeats", "judges"}


def made_again(analysis, further, folder: Path) -> dict:
    """What the script computes from the files of a report."""
    codebook = {"study": {"systems": list(NAMES.values())}, **choices(analysis)}
    (folder / "codebook.json").write_text(json.dumps(codebook))
    twice = data.rating_rows(further.twice) if further.twice else ()
    marks = data.highlight_rows(analysis, further.readings)
    work = data.annotation_rows(analysis, further.texts.reading(analysis.frame.work))
    for name, header, lines in (
        ("ratings", data.RATINGS_HEADER, data.rating_rows(analysis, further.texts.words)),
        ("repeats", data.RATINGS_HEADER, twice),
        ("annotations", data.ANNOTATIONS_HEADER, work),
        ("highlights", data.HIGHLIGHTS_HEADER, marks),
    ):
        (folder / f"{name}.csv").write_text("".join(write_csv(lines, header)), encoding="utf-8", newline="")
    return {number.place: number for number in recomputed(folder)}


@pytest.mark.long
@pytest.mark.parametrize(
    ("systems", "items", "shown"),
    [pytest.param(6, 32, 3, id="never all together"), pytest.param(4, 12, 4, id="always together")],
)
def test_the_appendix_is_recomputed_from_the_ratings_alone(systems, items, shown, tmp_path):
    analysis, further = analysed(some_ratings(5, systems, items, shown))
    book = compared(analysis, further, tmp_path)

    assert {number.part for number in book.numbers} >= PARTS
    compares = "Judges were compared with the annotators, who are skilled people, by the alternative annotator test"
    words = " ".join(statistics(analysis, book))
    assert (compares in words) == ("the best constant answer" in words) == (items > 30)
    tables = {table.name: table for table in tables_of(analysis, book) if table.appendix}
    assert tables.keys() == TABLES | ({"ranks", "nemenyi"} if shown == systems else {"judges_by_annotator"})
    assert all(cell.text for table in tables.values() for row in table.rows for cell in row)
    assert_defined_where_they_can_be(book, shown == systems)


def compared(analysis, further, folder: Path) -> Book:
    """The numbers of a report, each of which the script has recomputed."""
    book = Book.of(analysis, further.numbers)
    again = made_again(analysis, further, folder)
    assert again.keys() == {number.place for number in book.numbers}
    for listed in book.numbers:
        number = again[listed.place]
        assert number.printed == listed.printed, listed
        assert (number.value is None) == (listed.value is None), listed
        assert listed.value is None or number.value == pytest.approx(listed.value, rel=1e-9, abs=1e-9), listed
    return book


def assert_defined_where_they_can_be(book: Book, together: bool) -> None:
    """Ranks need everything together, strengths do not; judges need thirty items, systems six."""
    defined = {(number.part, number.statistic) for number in book.numbers if number.value is not None}
    assert {("strengths", "strength high"), ("length", "Pearson low"), ("repeats", "alpha low")} <= defined
    assert {("annotator pairs", "mean correlation"), ("without annotator", "change")} <= defined
    assert {("contrasts", "win minus loss high"), ("effects", "first to last high")} <= defined
    assert {("effects", name) for name in ("p", "Wald", "shift low", "best")} <= defined
    looked_at = (
        "correlation low",
        "half of the others",
        "severity",
        "all equal",
        "missing",
        "too fast to read",
        "drift at most",
        "turn after",
    )
    assert {("annotators", name) for name in looked_at} <= defined
    assert {
        ("highlights", name) for name in ("F1, same passage", "F1, overlapping", "alpha over characters")
    } <= defined
    assert {number.system for number in book.numbers if number.part == "highlights"} == {"", "bad", "good"}
    assert (("ranks", "Nemenyi p") in defined) == (("reliability", "ICC(A) single") in defined) == together
    judged = {("judges", "p corrected"), ("judges", "of systems Kendall high")}
    assert judged.isdisjoint(defined) if together else judged <= defined


@pytest.mark.long
def test_proportional_odds_are_printed_and_computed_again(tmp_path):
    rows = some_ratings(5, 2, 8, 2, MANY)
    always = (rows["criterion"] == "kind") & (rows["system"] == 2)
    rows.loc[always, ["option", "missing"]] = ["fits", False]
    analysis, further = analysed(rows[rows["criterion"] != "slider"])
    book = compared(analysis, further, tmp_path)

    assert book["effects", "points", "p"].value == analysis.positions["points"].p
    fitted = book["ordinal", "points", "difference", "System 2", "System 1"]
    refused = book["ordinal", "kind", "difference"]
    assert fitted.value == present(next(iter(analysis.ordinal_models.values())))[0].estimate.mean
    assert refused.value is None and "one end of the scale" in refused.printed
    (table,) = (table for table in tables_of(analysis, book) if table.name == "ordinal")
    assert fitted.printed in table.rows[0][2].text
    assert f"Kind: {refused.printed}" in table.notes[0]
    assert "were fitted to 1 of 3 criteria (Points)" in " ".join(statistics(analysis, book))
    checks = {row[2].text: row[1].text for row in not_run(analysis).rows if row[0].text == "Proportional odds"}
    assert checks[refused.printed] == "Kind"


def test_the_methods_paragraph_describes_the_headline_test():
    analysis, further = analysed(some_ratings(5, 2, 8, 2, MANY))
    paragraph = " ".join(statistics(analysis, Book.of(analysis, further.numbers)))

    floor = (
        "at least 0.25 of the larger one-way variance (0.75 where the effective number of items, or of groups of "
        "items, is below 20)."
    )
    assert floor in paragraph
    assert "the smallest effective number of clusters minus 1 as its degrees of freedom (Carter, Schnepel" in paragraph


def declaring(**declared) -> StudySettings:
    return StudySettings(preregistration=Preregistration(**declared), expertise="expert")


@pytest.mark.long
def test_the_script_adjusts_declared_criteria_as_their_own_family(tmp_path):
    rows = some_ratings(2, 3, 12, 3)
    analysis, further = analysed(rows, settings=declaring(primary_criterion="slider", criteria=("points", "slider")))
    book = compared(analysis, further, tmp_path)

    by_criterion = {key: analysis.contrasts_of(key) for key in ("points", "slider", "kind")}
    assert {key: adjusted[0].exploratory for key, adjusted in by_criterion.items()} == {
        "points": 1,
        "slider": 0,
        "kind": 1,
    }
    family = analysis.family
    assert family.startswith("p is adjusted by Holm over the tests declared before launch: 3 pairs of systems × 1")
    assert family.endswith(
        "6 tests are exploratory and adjusted separately: 3 pairs of systems × 2 criteria (Points, Kind)."
    )
    assert all(family in table.notes[0] for table in tables_of(analysis, book) if table.name == "contrasts")
    assert family in " ".join(statistics(analysis, book))
    assert verdict(analysis, "points").endswith("Exploratory: other criteria were declared before launch.")
    assert "Exploratory" not in verdict(analysis, "slider")
    everything = analysed(rows)[0]
    smallest = [min(contrast.holm or 1 for contrast in each.contrasts_of("slider")) for each in (analysis, everything)]
    assert smallest[0] <= smallest[1]


@pytest.mark.long
def test_the_script_recomputes_differences_by_group(tmp_path):
    analysis, further = analysed(some_ratings(5, 3, 12, 3))
    groups = {name: ("crowd", "expert")[at % 2] for at, name in enumerate(analysis.people_names)}
    settings = declaring().model_copy(update={"annotator_groups": groups})
    analysis = replace(analysis, frame=replace(analysis.frame, settings=settings))
    book = compared(analysis, further, tmp_path)
    assert "crowd against expert" in {number.baseline for number in book.numbers if number.part == "group differences"}
    assert "group_differences" in {table.name for table in tables_of(analysis, book)}
    assert "Annotators were in groups (crowd, expert)." in " ".join(statistics(analysis, book))


@pytest.mark.parametrize(("items", "together"), [(12, 1), (13, 12)])
def test_correlations_of_too_few_items_have_no_interval(items, together, tmp_path):
    table = some_ratings(3, 2, items, 2)
    alone = table["item"].isin([f"item-{n}" for n in range(together, items)]) & (table["system"] == 2)
    table = table[~alone]
    table.loc[(table["item"] != "item-0") & (table["criterion"] == "slider"), "value"] = 50
    analysis, further = analysed(table.reset_index(drop=True))
    book = compared(analysis, further, tmp_path)

    for part, before, judge in (("length", "", ""), ("judges", "within items ", "J-1")):
        assert book[part, "points", f"{before}items", judge].value == together
        refused = book[part, "slider", f"{before}Kendall low", judge]
        assert refused.value is None and refused.printed.startswith("No interval")
        assert (book[part, "points", f"{before}Pearson low", judge].value is None) == (together < 10)


@pytest.mark.long
def test_the_report_correlates_a_metric_with_every_criterion(tmp_path):
    table = some_ratings(5, 6, 12, 6)
    table = table[(table["criterion"] != "slider") | (table["kind"] == "judge")]
    analysis, further = analysed(table.reset_index(drop=True))
    book = compared(analysis, further, tmp_path)

    beside = {(number.criterion, number.system, number.baseline) for number in book.numbers if number.part == "metrics"}
    assert beside == {("points", "J-1", "slider"), ("kind", "J-1", "slider")}
    for criterion in ("points", "kind"):
        assert book["metrics", criterion, "shared", "J-1", "slider"].value == 72
        for level in ("within items", "of systems"):
            assert book["metrics", criterion, f"{level} Kendall low", "J-1", "slider"].value is not None
    (table,) = (table for table in tables_of(analysis, book) if table.name == "metrics")
    assert [[cell.text for cell in row][:3] for row in table.rows] == [
        ["Points", "J-1 – slider", "72"],
        ["Kind", "J-1 – slider", "72"],
    ]
    assert [criterion.criterion.key for criterion in analysis.judged] == ["points", "kind"]
    assert "Metrics (Slider) were correlated with the mean ratings" in " ".join(statistics(analysis, book))


def test_correlations_do_not_depend_on_the_order_of_the_ratings():
    table = some_ratings(2, 6, 12, 6)
    mixed = table.sample(frac=1, random_state=4).reset_index(drop=True)
    correlations = [ends(further) for _, further in map(analysed, (table, mixed))]
    assert len(correlations[0]) > 20
    assert correlations[0] == pytest.approx(correlations[1], abs=1e-9)


def ends(further) -> list[float]:
    """Both limits of every correlation."""
    beside = [each for judge in further.numbers.judges for each in (judge.within_items, judge.of_systems)]
    every = [each for each in (*beside, *further.numbers.lengths.values()) if not isinstance(each, Undefined)]
    return [end for each in every for coefficient in (each.kendall, each.pearson) for end in coefficient.interval]


def test_report_and_page_count_the_items_of_a_difference():
    analysis, further = analysed(some_ratings(5, 4, 12, 4))
    book = Book.of(analysis, further.numbers)
    table = next(table for table in tables_of(analysis, book) if table.name == "contrasts")
    page = contrast_table(analysis.contrasts, analysis)
    for contrast, row, shown in zip(analysis.contrasts, table.rows, page["Items"], strict=True):
        ratings = analysis.ratings_of(contrast.criterion)
        rows = pd.DataFrame(vars(ratings) | {"variable": 0, "criterion": 0}).dropna(subset="number")
        pairs = rows.pivot_table("number", ["item", "annotator"], "system")
        both = pairs[[contrast.system, contrast.baseline]].dropna()
        items = str(both.index.get_level_values("item").nunique())
        names = analysis.name(contrast.system), analysis.name(contrast.baseline)
        listed = book["contrasts", contrast.criterion, "items", *names].printed
        assert [listed, row[table.header.index("Items")].text, shown] == [items] * 3

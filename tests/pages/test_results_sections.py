"""What the sections of the results say about a whole study: leaders, fine scales, gaps, comments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.analyses import NAMES, analysis
from helpers.appendix import MANY, analysed, some_ratings
from helpers.frames import crossed, likert_rubric, make_frame
from helpers.present import present
from helpers.ratings import exclude, submit
from helpers.studies import full_answers
from streamlit.testing.v1 import AppTest

from components.results import charts, comparisons, figures
from components.results.comparisons import contrast_table, leaders
from components.results.first_screen.picture import picture
from triptych.reports import figures as printed
from triptych.reports.numbers import Book
from triptych.reports.tables import _listed, main_notes, tables_of
from triptych.results import texts
from triptych.results.criterion import APPROXIMATE, interval_note
from triptych.results.evidence import HOCHBERG, foremost
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.verdicts import verdict
from triptych.results.warnings import not_run
from triptych.stats.undefined import Undefined
from triptych.storage import database
from triptych.study.settings import Preregistration, StudySettings

ROOT = Path(__file__).parents[2]
SCALE = "{kind: number, low: 0, high: 100, step: 1}"
FINE = (
    "key: fine\ntitle: Fine\nsummary: S.\ninstructions: Rate.\nlanguage: en\ncriteria:\n"
    f"  - {{key: grip, title: Grip, definition: d, scale: {SCALE}}}\n"
)
OPTIONS = FINE.replace(SCALE, "{kind: choice, options: [{key: a, title: A}, {key: b, title: B}]}")


def rated(rubric: str, **columns: Callable[..., Any]) -> StudyAnalysis:
    """Ten items of two systems, each rated by three annotators."""
    item, who, system = (grid.ravel() for grid in np.indices((10, 3, 2)))
    rows = [
        {"item": f"i{i}", "annotator": f"P-{a}", "system": int(s) + 1, "criterion": "grip"}
        | {name: make(i, a, s) for name, make in columns.items()}
        for i, a, s in zip(item, who, system, strict=True)
    ]
    return analysis(make_frame(rubric, rows))


@pytest.mark.parametrize("gap", [1.5, -1.5])
def test_a_system_leads_only_when_clearly_above_all(gap):
    study_analysis = analysis(crossed(items=40, annotators=8, raters=4, gap=gap, criteria=2))
    best = 3 if gap > 0 else 1
    assert (
        leaders(study_analysis, ["c1", "c2"])
        == f"System {best} is clearly above all others on Criterion 1 and Criterion 2."
    )
    level = analysis(crossed(items=40, annotators=8, raters=4))
    assert "clearly above all" not in leaders(level, ["c1"])


def test_four_annotators_make_a_leader_for_themselves_only():
    study_analysis = analysis(crossed(items=40, annotators=4, gap=1.5))
    sentence = leaders(study_analysis, ["c1"])
    assert sentence.startswith("System 3 is clearly above all others on Criterion 1.")
    assert "applies to these annotators only" in sentence


def test_a_slice_of_four_annotators_is_about_them_only():
    frame = crossed(items=40, annotators=12, systems=2, gap=1.5)
    items = [f"item-{n}" for n in range(40)]
    of_few = frame.ratings["item"].isin(items[:10]) == frame.ratings["annotator"].isin(["P-0", "P-1", "P-2", "P-3"])
    part = replace(frame, ratings=frame.ratings[of_few].reset_index(drop=True))
    above = "System 2 is clearly above all others."
    assert sentences_of_slices(part, few=10) == [
        f"fees (10 items): {above} This applies to these annotators only: there are too few to generalise.",
        f"rooms (30 items): {above}",
    ]


def test_a_slice_of_one_item_is_not_compared():
    frame = crossed(items=40, annotators=12, systems=2, gap=1.5)
    above = "System 2 is clearly above all others."
    assert sentences_of_slices(frame, few=1) == ["fees (1 item): Not compared.", f"rooms (39 items): {above}"]


def sentences_of_slices(frame, few: int) -> list[str]:
    """What the page says of two slices of forty items, of which `few` are about fees."""
    declared = StudySettings(preregistration=Preregistration(slices=("topic",)))
    meta = {f"item-{n}": {"topic": "fees" if n < few else "rooms"} for n in range(40)}

    def page():
        import streamlit as st

        from components.results.slices import slices_section

        slices_section(st.session_state["analysis"], "slug")

    app = AppTest.from_function(page, default_timeout=30)
    app.session_state["analysis"] = analysis(replace(frame, meta=meta, settings=declared))
    app.run()
    return app.text[0].value.splitlines()


def test_differences_both_ways_are_marked_as_results_call_them():
    """A late system that a single annotator rated got an asterisk, without a test for annotators like these."""
    rows = crossed(items=40, annotators=9, seed=2).ratings
    rows = rows[rows["system"].lt(3) | rows["annotator"].eq("P-0")].reset_index(drop=True)
    rows["value"] = rows["value"].where(rows["system"].lt(3), 7.0)
    rows["excluded"] = rows["annotator"].eq("P-8")
    study_analysis = analysis(make_frame(likert_rubric(), rows))
    assert any(contrast.clear_here and contrast.p is None for contrast in study_analysis.contrasts)
    assert verdict(study_analysis, "c1").startswith("No clear difference between the systems")

    def page():
        import streamlit as st

        from components.results.annotators import both_ways

        both_ways(st.session_state["analysis"])

    app = AppTest.from_function(page, default_timeout=30)
    app.session_state["analysis"] = study_analysis
    app.run()
    without = app.dataframe[0].value["Without the excluded"]
    assert len(without) == 3 and not any("*" in words for words in without)


@pytest.mark.parametrize("gap", [0.6, -0.6])
def test_the_first_example_supports_the_difference_most(gap):
    study_analysis = analysis(crossed(items=30, annotators=6, raters=3, gap=gap))
    shown = [example.difference for example in study_analysis.examples(study_analysis.contrasts_of("c1")[1])]
    assert np.sign(shown[0]) == np.sign(gap)
    assert shown == sorted(shown, reverse=gap > 0)


def test_only_the_clearest_differences_are_drawn_within_the_scale():
    study_analysis = analysis(crossed(items=3, annotators=6, systems=6, gap=0.4))
    drawn = foremost(study_analysis.contrasts, 5)
    assert max(present(c.p) for c in drawn) <= min(present(c.p) for c in study_analysis.contrasts if c not in drawn)
    low, high = figures.forest(drawn, NAMES, 0.5).layout.xaxis.range
    assert -0.6 < low < high < 0.6
    plot = present(printed.differences(study_analysis.criteria[0], study_analysis.contrasts, NAMES))
    assert len(plot.labels) == printed.MAX_PAIRS


def test_undefined_agreement_is_a_sentence_of_its_own():
    (result,) = rated(OPTIONS, option=lambda *_: "a").criteria
    assert "100 % of the time. Krippendorff's alpha: Not defined" in comparisons.agreement_sentence(result)


def test_a_fine_scale_shows_its_answers_in_parts():
    study_analysis = rated(FINE, value=lambda i, a, s: 30 + 40 * s + 3 * i + a)
    (result,) = study_analysis.criteria
    assert charts.answers(result, NAMES) is None
    parts = present(comparisons._levels(study_analysis, result)).data
    assert [part.name for part in parts] == ["0 to 20", "20 to 40", "40 to 60", "60 to 80", "80 to 100"]
    assert [sum(part.x[system] for part in parts) for system in (0, 1)] == [pytest.approx(100), pytest.approx(100)]
    assert parts[0].x == (0, 0) and parts[4].x[0] == 0
    assert comparisons.agreement_sentence(result).startswith("Agreement: Krippendorff's alpha")


def test_points_with_many_digits_are_told_apart():
    study_analysis = rated(
        FINE.replace("low: 0, high: 100", "low: 1000000, high: 1000003"),
        value=lambda i, a, s: 1000000 + (i + a + s) % 4,
    )
    (result,) = study_analysis.criteria
    points = ["1000000", "1000001", "1000002", "1000003"]
    assert [*comparisons._systems(result, NAMES)][-4:] == points
    assert [part.name for part in present(charts.answers(result, NAMES)).data] == points
    assert [answer for answer, _, _ in printed._legend(result)] == points
    book = Book.of(study_analysis)
    assert book.get("systems", "grip", "answers 1000003", NAMES[1])
    assert all(point in _listed(result, book, NAMES[1]) for point in points)


@pytest.mark.parametrize("high", [1, 1e-10])
def test_an_answer_between_two_parts_counts_in_the_upper_one(high):
    fine = FINE.replace("high: 100, step: 1", f"high: {high}, step: {high / 50}")
    study_analysis = rated(fine, value=lambda i, a, s: (0.2, 0.4, 0.6, 0.8, 1.0)[i % 5] * high)
    (result,) = study_analysis.criteria
    parts = present(comparisons._levels(study_analysis, result)).data
    assert [part.x[0] for part in parts] == pytest.approx([0, 20, 20, 20, 40])


def test_an_interval_ending_at_zero_is_drawn_fully():
    study_analysis = rated(
        FINE.replace("low: 0, high: 100", "low: -100, high: 0"), value=lambda i, a, s: -40.0 * (i == 0) * s
    )
    (result,) = study_analysis.criteria
    interval = present(result.systems[1].interval)
    assert (interval.mean, interval.high) == (-4, 0)
    assert present(charts.means(result, NAMES)).data[0].error_x.array[1] == 4


def test_figures_of_shares_name_percent():
    positive = OPTIONS.replace("title: A}", "title: A, positive: true}")
    study_analysis = rated(positive, option=lambda i, a, s: "ab"[(i + a + s) % 2])
    (result,) = study_analysis.criteria
    overview, _is_wide = picture(study_analysis, [result], [1, 2])
    assert overview.layout.xaxis.ticktext == ("0 %", "50 %", "100 %")
    assert charts.title_of_means(result)["text"] == "A, % of answers"
    forest = figures.forest(study_analysis.contrasts, NAMES, 1)
    assert forest.layout.xaxis.title.text == "% points; right: the first is higher"
    assert present(charts.answers(result, NAMES)).layout.xaxis.tickvals == (0, 25, 50, 75, 100)


def test_unordered_options_are_the_reason_given_for_unchecked_annotators():
    study_analysis = rated(OPTIONS, option=lambda i, a, s: "ab"[(i + a) % 2])
    assert {look.severity for look in study_analysis.annotators} == {
        Undefined("Not defined: the options have no order.")
    }

    def page() -> None:
        import streamlit as st

        from components.results.trust import annotators
        from triptych.stats.undefined import Undefined

        annotators(st.session_state["looks"], Undefined("Not defined: no active time is known."))

    app = AppTest.from_function(page, default_timeout=30)
    app.session_state["looks"] = list(study_analysis.annotators)
    app.run()
    assert not app.exception
    script = app.text[-1].value
    assert "Severity could not be checked. Not defined: the options have no order." in script
    assert not {"Severity", "With the others", "Seconds", "Why to look"} & {*app.dataframe[0].value.columns}


@pytest.mark.parametrize(("rubric", "name"), [(OPTIONS, "option"), (FINE, "value")])
def test_pairs_of_annotators_have_distances_only_on_points(rubric, name):
    """Options had a correlation and a distance, of their places in the rubric."""
    answer = {"option": lambda i, a, s: "ab"[(i * a + s) % 2], "value": lambda i, a, s: 10.0 * ((i * a + s) % 7)}

    def page() -> None:
        import streamlit as st

        from components.results.trust import pairs

        pairs(st.session_state["analysis"], "grip", "slug")

    app = AppTest.from_function(page, default_timeout=30)
    app.session_state["analysis"] = rated(rubric, **{name: answer[name]})
    app.run()
    assert not app.exception
    columns = {*app.dataframe[0].value.columns}
    assert {"Correlation", "Mean distance"} & columns == (
        set() if name == "option" else {"Correlation", "Mean distance"}
    )


def test_a_check_that_failed_counts_its_pairs():
    frame = crossed(items=6, annotators=6)
    rows = frame.ratings["system"].ne(3) | frame.ratings["item"].eq("item-0")
    study_analysis = analysis(replace(frame, ratings=frame.ratings[rows].reset_index(drop=True)))
    assert "Signed-rank test: 1 of 3 pairs" in {check.check for check in not_run(study_analysis)}


def test_intervals_of_means_state_their_simulated_coverage_once():
    lines = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8").splitlines()
    table = [[cell.strip() for cell in line.split("|")] for line in lines if line.startswith("| ")]
    place = table[0].index("one mean coverage")
    numbers = [float(row[place]) for row in table[1:] if len(row) == len(table[0]) and row[place] not in ("", "–")]
    assert f"{min(numbers):.0f} to {max(numbers):.0f} %" in APPROXIMATE
    study_analysis = analysis(crossed(items=20, annotators=6, criteria=2))
    note = interval_note(*study_analysis.criteria)
    assert (
        note == interval_note(study_analysis.criteria[0]) == f"95 % interval for annotators like these 6. {APPROXIMATE}"
    )
    assert " ".join(main_notes(study_analysis, Book.of(study_analysis))).count(APPROXIMATE) == 1
    assert interval_note(*analysis(crossed(items=1, annotators=6)).criteria) == "No interval: one item is too few."


def test_the_page_writes_differences_like_a_report():
    study_analysis, further = analysed(some_ratings(5, 3, 12, 3))
    book = Book.of(study_analysis, further.numbers)
    for contrast, row in zip(
        study_analysis.contrasts,
        contrast_table(study_analysis.contrasts, study_analysis).to_dict("records"),
        strict=True,
    ):
        place = ("contrasts", contrast.criterion)
        pair = study_analysis.name(contrast.system), study_analysis.name(contrast.baseline)
        low, high = (book[*place, f"these annotators {end}", *pair].printed for end in ("low", "high"))
        assert row["Difference"] == book[*place, "difference", *pair].printed
        assert row["These annotators"] == f"{low} to {high}"
    assert {contrast.share for contrast in study_analysis.contrasts} == {True, False}

    def page() -> None:
        import streamlit as st

        from components.results.trust import without_each

        without_each(st.session_state["analysis"], st.session_state["key"], "")

    app = AppTest.from_function(page, default_timeout=30)
    app.session_state["analysis"], app.session_state["key"] = study_analysis, study_analysis.people[0].criterion
    app.run()
    table = app.dataframe[0].value
    assert table["Change"].tolist() == [
        book["without annotator", "points", "change", who].printed for who in table["Annotator left out"]
    ]


def test_benjamini_hochberg_p_is_shown_next_to_holm():
    study_analysis, further = analysed(some_ratings(5, 3, 12, 3, MANY))
    book = Book.of(study_analysis, further.numbers)
    tables = {table.name: table for table in tables_of(study_analysis, book)}
    place = tables["contrasts"].header.index("p (BH)")
    rows = contrast_table(study_analysis.contrasts, study_analysis)
    assert rows["p (BH)"].tolist() == [row[place].text for row in tables["contrasts"].rows]
    assert all(contrast.p <= contrast.benjamini_hochberg <= contrast.holm for contrast in study_analysis.contrasts)
    assert any(contrast.benjamini_hochberg < contrast.holm for contrast in study_analysis.contrasts)
    assert HOCHBERG in tables["contrasts"].notes[0]


def drawn(study_analysis: StudyAnalysis, key: str, criterion: str = "c1") -> AppTest:
    """One of the further analyses, or a section of the results."""

    def page():
        import streamlit as st

        from components.results import more, trust

        of_all, key = st.session_state["analysis"], st.session_state["which"]
        if key in more.ANALYSES:
            more.ANALYSES[key].draw(of_all, st.session_state["criterion"], "slug")
        else:
            trust.agreement(of_all, "slug")

    app = AppTest.from_function(page, default_timeout=30)
    app.session_state["analysis"], app.session_state["which"] = study_analysis, key
    app.session_state["criterion"] = criterion
    app.run()
    assert not app.exception
    return app


@pytest.mark.parametrize(
    ("key", "tables"),
    [
        ("wins", ["P(win) − P(loss)"]),
        ("ranks", ["Mean rank (1 is highest)", "p (Nemenyi)", "Strength (log)"]),
        ("ordinal", ["Difference (logits)"]),
        ("effects", ["Response A: shift"]),
        ("pairs", ["Both rated"]),
        ("without", ["Annotator left out"]),
    ],
)
def test_a_further_analysis_has_a_table_of_its_numbers(key, tables):
    app = drawn(analysis(crossed(items=30, annotators=8, systems=4, raters=4, gap=1.0)), key)

    columns = [set(frame.value.columns) for frame in app.dataframe]
    assert len(columns) == len(tables)
    assert all(name in each for name, each in zip(tables, columns, strict=True)), columns


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("wins", "Not defined: no annotator rated two systems on the same item."),
        ("ranks", "Not defined: a ranking over items compares three systems or more."),
        ("ordinal", "Not defined: it needs two items and two systems or more."),
        ("pairs", "No item was rated by two annotators."),
        ("without", "No item was rated by two annotators."),
    ],
)
def test_a_further_analysis_says_why_it_has_no_numbers(key, reason):
    app = drawn(analysis(crossed(items=4, annotators=1, systems=1)), key)

    assert app.text[0].value == reason
    assert not app.dataframe


@pytest.mark.parametrize("key", ["ranks", "ordinal"])
def test_options_without_an_order_are_not_ranked(key):
    study_analysis = rated(OPTIONS, option=lambda i, a, s: "ab"[(i + a + s) % 2])
    app = drawn(study_analysis, key, "grip")

    assert [text.value for text in app.text] == [study_analysis.not_compared["grip"]]


def test_groups_of_annotators_are_drawn_in_a_row():
    names = {f"P-{n}": "expert" if n % 2 else "crowd" for n in range(8)}
    frame = replace(crossed(items=30, annotators=8, raters=4), settings=StudySettings(annotator_groups=names))
    app = drawn(analysis(frame), "agreement")

    sentence = "Criterion 1: how often two annotators gave the same rating, the groups in a row."
    assert sentence in [text.value for text in app.text]
    assert len(app.get("plotly_chart")) == 2


def test_comments_on_highlights_are_listed_for_those_who_count(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, people = make_study(session, items=1)
        for who, words in zip(people, ("too vague", ""), strict=True):
            answers = full_answers()
            mark = {"slot": "A", "turn": None, "start": 0, "end": 6, "label": "good", "comment": words}
            submit(session, study, who, answers | {"highlights": [mark]})
        frame, scope = frame_of(session, study), Counted()
        (row,) = texts.comments_of(session, study, frame, scope).itertuples()
        assert (row.comment, row.annotator, len(row.quote)) == ("too vague", people[0].pseudonym, 6)
        exclude(session, study, people[0])
        assert texts.comments_of(session, study, frame_of(session, study), scope).empty

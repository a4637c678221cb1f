"""Figures of a report: two sizes and two formats, the same bytes every time, nothing outside the paper."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree

import pytest
from helpers.analyses import NAMES, analysis
from helpers.frames import crossed, make_frame
from helpers.present import present
from helpers.studies import SMALL_RUBRIC
from matplotlib.figure import Figure

from triptych.reports import figures
from triptych.reports.figures import PrintedFigure
from triptych.results.criterion import CriterionResult
from triptych.rubric import palette

LONG = {1: "gpt-4o-mini-2024-07-18-finetuned", 2: "llama $x^2$ <script>alert(1)</script>", 3: 'a "b" & עברית'}
SEAL = "Snapshot " + "0123456789abcdef" * 4


def drawn(names: dict[int, str], annotators: int = 3) -> list[PrintedFigure]:
    study = analysis(crossed(items=4, annotators=annotators, systems=3, gap=0.4))
    return list(figures.figures_of(study.criteria[0], study.contrasts, names, SEAL))


def first_result() -> CriterionResult:
    return analysis(crossed(items=4, annotators=3, systems=3)).criteria[0]


@pytest.fixture(scope="module")
def with_long_names() -> list[PrintedFigure]:
    return drawn(LONG)


@pytest.mark.long
def test_the_same_numbers_give_the_same_bytes(with_long_names):
    assert [figure.files for figure in drawn(LONG)] == [figure.files for figure in with_long_names]


def test_each_figure_has_a_size_for_column_and_page(with_long_names):
    for figure in with_long_names:
        assert sorted(figure.files) == [f"{figure.name}-{size}" for size in ("column.pdf", "column.svg")] + [
            f"{figure.name}-{size}" for size in ("page.pdf", "page.svg")
        ]
        for size, inches in figures.WIDTH_INCHES.items():
            width = ElementTree.fromstring(figure.files[f"{figure.name}-{size}.svg"]).get("width")
            assert float(present(width).removesuffix("pt")) == pytest.approx(72 * inches)


def test_pdf_fonts_are_embedded_as_truetype(with_long_names):
    pdf = with_long_names[0].files["c1-differences-column.pdf"]
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf


def test_names_in_a_drawing_are_text(with_long_names):
    for figure in with_long_names:
        svg = ElementTree.fromstring(figure.files[f"{figure.name}-page.svg"])
        tags = {element.tag.partition("}")[2] for element in svg.iter()}
        assert not tags & {"script", "image", "a", "foreignObject"}
        assert "<script" not in figure.svg
        outside = re.findall(r'(?:href|src)="(?!#)[^"]*"', figure.svg.partition("</metadata>")[2])
        assert outside == []


@pytest.mark.parametrize("size", list(figures.WIDTH_INCHES))
def test_no_label_leaves_the_paper(size):
    study = analysis(crossed(items=4, annotators=3, systems=3, gap=0.4))
    result = study.criteria[0]
    plots = (
        figures.differences(result, study.contrasts, LONG),
        figures.means(result, LONG),
        figures.answers(result, LONG),
    )
    for plot in plots:
        figure = figures._drawn(present(plot), size)
        figure.draw_without_rendering()
        tight = present(figure.get_tightbbox())
        assert 0 <= tight.x0 <= tight.x1 <= figures.WIDTH_INCHES[size]
        assert 0 <= tight.y0 <= tight.y1 <= figure.get_figheight()


@pytest.mark.long
def test_a_name_without_letters_in_the_font_is_a_number():
    for figure in drawn({1: "模型甲", 2: "ayã עברית", 3: "llama 🦙"}):
        drawing = figure.files[f"{figure.name}-page.svg"]
        texts = "".join(ElementTree.fromstring(drawing).itertext())
        for number in ("[1]", "[2]"):
            assert number in texts
            assert f"{number} is " in figure.caption
        assert "模型甲" in figure.caption
        assert "模" not in texts
        assert "עברית" in texts


@pytest.mark.parametrize(
    ("ends", "marks"),
    [
        ((0.0, 1.0), [0, 0.25, 0.5, 0.75, 1]),
        ((1.0, 7.0), [2, 4, 6]),
        ((0.0, 100.0), [0, 25, 50, 75, 100]),
        ((-1.0, 1.0), [-1, -0.5, 0, 0.5, 1]),
    ],
)
def test_a_scale_without_points_has_marks_between_its_ends(ends, marks):
    """A scale from 0 to 1 had marks at its ends alone."""
    result = first_result()
    result = replace(result, variable=replace(result.variable, kind="number", points=(), ends=ends))
    axes = Figure().subplots()
    present(figures.means(result, NAMES)).draw(axes)
    low, high = axes.get_xlim()
    assert [round(at, 9) for at in axes.get_xticks() if low <= at <= high] == marks


@pytest.mark.long
def test_captions_say_n_and_what_intervals_are():
    few, many = ({figure.name: figure.caption for figure in drawn(NAMES, annotators)} for annotators in (3, 6))
    assert "n = 36 answers on 4 items by 3 annotators" in few["c1-means"]
    assert "Thin:" not in few["c1-differences"]
    assert "Thin: 95 % interval for annotators like these." in many["c1-differences"]


def test_names_that_differ_in_their_middle_stay_different():
    ends = "a-name-of-a-system-{}-fine-tuned-on-our-data"
    plot = present(figures.means(first_result(), {n: ends.format(n) for n in (1, 2, 3)}))
    labels = [label.get_text() for label in figures._drawn(plot, "column").axes[0].get_yticklabels()]
    assert [label.replace("\n", "") for label in labels] == [ends.format(n) for n in (1, 2, 3)]


def test_a_very_long_name_is_in_the_caption():
    plot = figures.in_font(present(figures.means(first_result(), {1: "x" * 61, 2: "b", 3: "c"})))
    assert list(plot.labels) == [("[1]",), ("b",), ("c",)]
    assert plot.caption.endswith(f"[1] is {'x' * 61}.")


@pytest.mark.parametrize("size", list(figures.WIDTH_INCHES))
@pytest.mark.parametrize("systems", [2, 20])
def test_no_two_labels_overlap(size, systems):
    study = analysis(crossed(items=4, annotators=3, systems=systems, gap=0.1))
    names = {n: f"meta-llama/Meta-Llama-3-{n}B-Instruct-fine-tuned" for n in range(1, systems + 1)}
    result = study.criteria[0]
    for plot in (figures.differences(result, study.contrasts, names), figures.means(result, names)):
        figure = figures._drawn(present(plot), size)
        figure.draw_without_rendering()
        for labels in (figure.axes[0].get_yticklabels(), figure.axes[0].get_xticklabels()):
            boxes = [label.get_window_extent() for label in labels if label.get_text()]
            assert not any(first.overlaps(second) for first, second in combinations(boxes, 2))


def test_no_two_options_look_alike():
    colours = palette.of_options([n == 0 for n in range(50)])
    assert len(set(zip(colours, figures._hatches(colours), strict=True))) == 50


@pytest.mark.parametrize(("third", "missing"), [("accept", ""), ("unsure", ", with those that count as missing")])
def test_the_caption_of_answers_names_missing_ones(third, missing):
    """A bar divides all answers, while shares in tables leave out those that are missing."""
    options = ("accept", "reject", third)
    rows = [
        {"annotator": "P-1", "item": f"i{n}", "system": 1, "criterion": "verdict", "option": option}
        | {"missing": option == "unsure"}
        for n, option in enumerate(options)
    ]
    (result,) = (of for of in analysis(make_frame(SMALL_RUBRIC, rows)).criteria if of.criterion.key == "verdict")
    caption = present(figures.answers(result, NAMES)).caption
    assert f"for each system{missing}, in the order of the legend. n = 3 answers." in caption

"""Figures of a report: two sizes and two formats, the same bytes every time, nothing outside the paper."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from helpers.analyses import NAMES, analysis
from helpers.frames import crossed
from helpers.present import present

from triptych.reports import figures
from triptych.reports.figures import PrintedFigure

LONG = {1: "gpt-4o-mini-2024-07-18-finetuned", 2: "llama $x^2$ <script>alert(1)</script>", 3: 'a "b" & עברית'}
SEAL = "Snapshot " + "0123456789abcdef" * 4


def drawn(names: dict[int, str], annotators: int = 3) -> list[PrintedFigure]:
    study = analysis(crossed(items=4, annotators=annotators, systems=3, gap=0.4))
    return list(figures.figures_of(study.criteria[0], study.contrasts, names, SEAL))


@pytest.fixture(scope="module")
def with_long_names() -> list[PrintedFigure]:
    return drawn(LONG)


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


def test_captions_say_n_and_what_intervals_are():
    few, many = ({figure.name: figure.caption for figure in drawn(NAMES, annotators)} for annotators in (3, 6))
    assert "n = 36 answers on 4 items by 3 annotators" in few["c1-means"]
    assert "Thin:" not in few["c1-differences"]
    assert "Thin: 95 % interval for annotators like these." in many["c1-differences"]

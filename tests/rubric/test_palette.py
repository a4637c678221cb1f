"""One palette: the workbench's CSS and the pages show a highlight label in the same colour."""

from __future__ import annotations

import re

import pytest
from helpers.studies import ROOT

from triptych.rubric import palette


@pytest.mark.parametrize(
    ("theme", "colours"), [("", palette.LABELS_LIGHT), ('[data-tw-theme="dark"]', palette.LABELS_DARK)]
)
def test_the_workbench_draws_labels_in_the_palettes_colours(theme: str, colours: tuple[str, ...]):
    css = (ROOT / "components" / "workbench" / "workbench.css").read_text(encoding="utf-8")
    block = css.partition(f".tw{theme} {{\n  --label-0")[2].partition("}")[0]
    assert re.findall(r"#[0-9a-f]{6}", block)[: len(colours)] == list(colours)


def test_points_run_from_the_lowest_to_the_highest_colour():
    assert [palette.along_scale(share) for share in (0, 0.5, 1)] == ["#a6611a", "#cdc8be", "#018571"]


def test_positive_options_share_a_colour_and_others_differ():
    assert palette.of_options([True, False, True, False]) == [
        palette.POSITIVE,
        palette.OPTIONS[0],
        palette.POSITIVE,
        palette.OPTIONS[1],
    ]

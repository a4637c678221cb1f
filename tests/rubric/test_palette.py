"""One palette: the workbench's CSS and the pages show a highlight label in the same colour."""

from __future__ import annotations

import re

from helpers.studies import ROOT

from triptych.rubric import palette

COLOUR = re.compile(r"""["'](?:#[0-9a-fA-F]{6}|rgba?\((?!0,0,0,0\)))""")


def test_the_workbench_draws_labels_in_the_palettes_colours():
    css = (ROOT / "components" / "workbench" / "workbench.css").read_text(encoding="utf-8")
    assert tuple(re.findall(r"--label-\d: light-dark\((#\w{6}), #\w{6}\)", css)) == palette.LABELS


def test_points_run_from_the_lowest_to_the_highest_colour():
    assert [palette.along_scale(share) for share in (0, 0.5, 1)] == ["#a6611a", "#cdc8be", "#018571"]


def test_positive_options_share_a_colour_and_others_differ():
    assert palette.of_options([True, False, True, False]) == [
        palette.POSITIVE,
        palette.OPTIONS[0],
        palette.POSITIVE,
        palette.OPTIONS[1],
    ]


def test_no_other_module_names_a_colour():
    own = ROOT / "triptych" / "rubric" / "palette.py"
    folders = ("triptych", "components", "pages")
    modules = [path for folder in folders for path in (ROOT / folder).rglob("*.py") if path != own]
    assert modules
    assert not [path.name for path in modules if COLOUR.search(path.read_text(encoding="utf-8"))]

"""Where docs/validation.md has a figure in bold, results print a warning in such a design."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.analyses import analysis
from helpers.frames import crossed, likert_rubric, make_frame
from helpers.studies import ROOT

from bench.validation.designs import DESIGNS, Design, assignment
from bench.validation.ratings import simulate
from triptych.results.design_caveats import one_at_a_time, unequal_work, unevenly_missing, ungrouped
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.texts import Texts

NO_TEXTS = Texts(pd.DataFrame(), pd.DataFrame())
PAGE = Path(ROOT / "docs" / "validation.md").read_text(encoding="utf-8")


def bold_designs() -> list[Design]:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if line.startswith("| ")]
    bold = {tuple(row[:3]) for row in rows if len(row) == 13 and any("**" in cell for cell in row[3:])}
    every = [design for designs in DESIGNS.values() for design in designs]
    return [each for each in every if (each.name, f"{each.taste:g}", each.scale) in bold]


def drawn(design: Design) -> StudyAnalysis:
    """A study of the design without a difference; items of a group have ids that begin alike."""
    random = np.random.default_rng(14)
    rated = assignment(design, random)
    values = simulate(design, rated, np.zeros(design.systems), 1, random).ratings[0] + 1
    rows = pd.DataFrame(
        {
            "annotator": [f"P-{who}" for who in rated.annotators],
            "item": [f"dialogue-{item // design.group}-turn-{item % design.group}" for item in rated.items],
            "system": rated.systems + 1,
            "criterion": "c1",
            "value": values,
            "missing": np.isnan(values),
        }
    )
    return analysis(make_frame(likert_rubric(), rows))


def warnings(study: StudyAnalysis) -> set[str]:
    every = (*ungrouped(study, NO_TEXTS), *unevenly_missing(study), *one_at_a_time(study), *unequal_work(study))
    return {finding.kind for finding in every}


@pytest.mark.parametrize("design", bold_designs(), ids=lambda design: f"{design.name}, {design.taste:g}")
def test_a_design_with_a_bold_figure_has_its_warning(design):
    line = next(line for line in PAGE.splitlines() if line.startswith(f"- {design.name}, taste {design.taste:g}"))
    named = set(re.findall(r"\*(.*?)\*", line.partition("The app warns:")[2]))
    assert named
    assert named <= warnings(drawn(design))


def test_every_bold_line_is_found():
    bold = [line for line in PAGE.partition("## What is outside")[0].splitlines() if line.count("|") == 14]
    assert len(bold_designs()) == sum("**" in line.split("|", 4)[4] for line in bold) > 8


def test_equal_work_and_more_annotators_per_item_need_no_warning():
    assert not [*unequal_work(analysis(crossed(60, 6, raters=1)))]
    assert not [*unequal_work(analysis(crossed(60, 6, raters=3)))]

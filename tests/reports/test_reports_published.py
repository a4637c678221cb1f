"""Numbers that the authors of rating sets printed, found in the report that the app prints of their ratings."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.present import present
from helpers.ratings_import import public_set
from helpers.studies import sure
from sqlalchemy import select

from triptych import settings
from triptych.cli import main as program
from triptych.people import accounts
from triptych.reports.analysis import read_rows
from triptych.storage.database import open_engine, reading, writing
from triptych.storage.models import Person, Study
from triptych.study import lifecycle

LEAD = "Dr Lead"
THREE_OPTIONS = """
key: options
title: Options
summary: Which of two responses is better?
instructions: Compare them.
criteria:
  - key: better
    title: better
    definition: Which of the two is better.
    scale: {kind: choice, options: [{key: is_0, title: "0"}, {key: is_1, title: "1"}, {key: is_2, title: "2"}]}
"""


class Printed:
    """A report that the command line wrote: its numbers by place, its criteria and its people by their first names."""

    def __init__(self, folder: Path, names: dict[str, str]) -> None:
        codebook = json.loads((folder / "codebook.json").read_text())
        self.keys = {variable["title"]: variable["key"] for variable in codebook["variables"]}
        self.names = names
        self.rows = {
            tuple(row[column] for column in ("part", "criterion", "system", "baseline", "statistic")): row
            for row in read_rows(folder / "results.csv")
        }

    def row(self, part: str, statistic: str, criterion: str = "", *systems: str) -> dict[str, str]:
        system, baseline = (*systems, "", "")[:2]
        return self.rows[part, self.keys.get(criterion, ""), system, baseline, statistic]

    def number(self, *place: str) -> float:
        return float(self.row(*place)["value"])

    def of_case(self, case: dict) -> float:
        """The number of a published case."""
        where, params = case["where"], case["params"]
        criterion = where.get("criterion", "")
        match case["statistic"]:
            case "mean":
                mean = self.row("systems", "mean of ratings", criterion, where["system"])
                assert mean["printed"] == f"{float(mean['value']):.3f}"
                assert self.number("systems", "sd of item means", criterion, where["system"]) > 0
                return float(mean["value"])
            case "krippendorff_alpha":
                return self.number("agreement", "alpha", criterion)
            case "cohen_kappa":
                pair = sorted(self.names[name] for name in params["annotators"])
                return self.number("annotator pairs", "kappa", next(iter(self.keys)), *pair)
            case "icc1" | "icc1k":
                form = {"icc1": "single", "icc1k": "mean"}[case["statistic"]]
                return self.number("reliability", f"ICC(1) {form}", criterion)
            case "majority_count":
                return self.number("agreement", f"majority is_{params['value']}", next(iter(self.keys)))
            case "pairwise_mae":
                return self.number("annotator pairs", "mean distance")
            case "pairwise_pearson":
                return self.number("annotator pairs", "mean correlation")
        raise AssertionError(case["statistic"])


@pytest.fixture
def printed(tmp_path):
    """Imports a file of ratings and prints its unblinded report, by the command line; options as it takes them."""

    def printing(path: Path, *options: str) -> Printed:
        engine = open_engine(settings.database_url())
        assert program.main(["study", "import-ratings", LEAD, "From elsewhere", str(path), *options, "--write"]) == 0
        with writing(engine) as session:
            study = session.scalars(select(Study)).one()
            lifecycle.unblind(session, study, sure(present(accounts.lead_called(session, LEAD)).pseudonym))
            slug = study.slug
        assert program.main(["report", "make", slug, str(tmp_path / "report")]) == 0
        with reading(engine) as session:
            names = dict(map(tuple, session.execute(select(Person.name, Person.pseudonym))))
        return Printed(tmp_path / "report", names)

    engine = open_engine(settings.database_url())
    program.main(["data", "migrate"])
    with writing(engine) as session:
        accounts.create_lead(session, LEAD, "a long passcode 42")
    return printing


def invented(values: dict[str, list[int]], share_rated: float) -> pd.DataFrame:
    """30 items, two systems and three annotators; each rates a candidate with the probability `share_rated`."""
    random = np.random.default_rng(4)
    return pd.DataFrame(
        [
            (f"i{item:02}", system, annotator, criterion, random.choice(points))
            for item in range(30)
            for system in ("alpha", "beta")
            for annotator in ("w1", "w2", "w3")
            if random.random() < share_rated
            for criterion, points in values.items()
        ],
        columns=["item_id", "system", "annotator", "criterion", "value"],
    )


def written(frame: pd.DataFrame, folder: Path) -> Path:
    frame.to_csv(folder / "ratings.csv", index=False)
    return folder / "ratings.csv"


@pytest.mark.long
@pytest.mark.parametrize("share_rated", [1, 0.7])
def test_means_and_pairs_over_all_criteria_are_printed(printed, tmp_path, share_rated):
    frame = invented({"fluency": [1, 2, 3, 4, 5], "safety": [1, 2, 3, 4, 5]}, share_rated)
    report = printed(written(frame, tmp_path))
    for (criterion, system), rows in frame.groupby(["criterion", "system"]):
        items = rows.groupby("item_id")["value"].mean()
        expected = {
            "mean of ratings": f"{rows['value'].mean():.3f}",
            "mean of item means": f"{items.mean():.3f}",
            "sd of item means": f"{items.std():.3f}",
        }
        for statistic, words in expected.items():
            assert report.row("systems", statistic, criterion, system)["printed"] == words
    wide = frame.pivot(index=["item_id", "system", "criterion"], columns="annotator", values="value").astype(float)
    pairs = [wide[list(pair)].dropna().to_numpy().T for pair in combinations(wide, 2)]
    assert report.number("annotator pairs", "mean correlation") == pytest.approx(
        np.mean([np.corrcoef(*pair)[0, 1] for pair in pairs])
    )
    assert report.number("annotator pairs", "mean distance") == pytest.approx(
        np.mean([np.abs(first - second).mean() for first, second in pairs])
    )


@pytest.mark.long
def test_majorities_of_options_are_printed(printed, tmp_path):
    frame = invented({"better": [0, 1, 2]}, 0.8)
    (tmp_path / "rubric.yaml").write_text(THREE_OPTIONS)
    report = printed(written(frame, tmp_path), "--rubric", str(tmp_path / "rubric.yaml"))
    shares = frame.groupby(["item_id", "system"])["value"].value_counts(normalize=True)
    won = shares[shares > 0.5].reset_index()
    for option in (0, 1, 2):
        of_option = won[won["value"] == option]
        assert report.number("agreement", f"majority is_{option}", "better") == len(of_option)
        for system, rows in of_option.groupby("system"):
            assert report.number("systems", f"majority is_{option}", "better", system) == len(rows)


CASES = {
    "newsroom": 4,
    "recipes": 6,
    "pandalm": 6,
    "squality": 9,
    "summeval_experts": 62,
    "hanna": 78,
    "dices350": 1,
    "dices990": 1,
}
SLOW = {"recipes", "summeval_experts", "hanna", "dices350", "dices990"}


@pytest.mark.long
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in CASES])
def test_published_numbers_are_in_the_report(printed, shared, tmp_path, name):
    (tmp_path / "rubric.yaml").write_text(THREE_OPTIONS)
    options = ("--rubric", str(tmp_path / "rubric.yaml")) if name == "pandalm" else ()
    report = printed(public_set(shared, name), *options)

    listed = json.loads((shared / "acceptance" / "ACCEPTANCE.json").read_text())["cases"]
    of_this_set = [case for case in listed if case["data"] == f"data/{name}.csv"]
    for case in of_this_set:
        assert report.of_case(case) == pytest.approx(case["expected"], abs=case["tolerance"]), case["id"]
    assert len(of_this_set) == CASES[name]


def test_no_published_case_is_left_out(shared):
    listed = json.loads((shared / "acceptance" / "ACCEPTANCE.json").read_text())["cases"]
    assert len(listed) == sum(CASES.values())

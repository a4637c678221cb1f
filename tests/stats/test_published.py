"""Numbers that the authors of public rating sets printed, computed again from their ratings."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from helpers.ratings_import import public_set, read
from sqlalchemy import select

from triptych.exchange import import_ratings
from triptych.formats import read_items
from triptych.formats.ratings.assemble import Asked, assemble
from triptych.results.criterion import StudyRatings, criterion_ratings, criterion_result
from triptych.results.frame.model import Counted
from triptych.stats.agreement import krippendorff_alpha
from triptych.stats.analysis.annotators import people_of
from triptych.stats.descriptive import majority, summary
from triptych.stats.icc import reliability
from triptych.stats.pairs import AnnotatorPair, annotator_pairs, pair_means
from triptych.stats.undefined import Undefined
from triptych.storage.models import Person, System


@cache
def ratings(path: Path) -> pd.DataFrame:
    """item_id, system, annotator, criterion, value: everything as text, no value read as missing."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def cases(shared: Path, statistic: str) -> list[tuple[dict, pd.DataFrame]]:
    """The published cases of one statistic, each with the ratings that it is about."""
    folder = shared / "acceptance"
    listed = json.loads((folder / "ACCEPTANCE.json").read_text())["cases"]
    return [(case, chosen(folder / case["data"], case["where"])) for case in listed if case["statistic"] == statistic]


def chosen(path: Path, where: dict[str, str]) -> pd.DataFrame:
    frame = ratings(path)
    for column, value in where.items():
        frame = frame[frame[column] == value]
    return frame


def unit_names(frame: pd.DataFrame) -> pd.Series:
    return frame["item_id"] + "\n" + frame["system"]


def pairs_of(frame: pd.DataFrame) -> tuple[AnnotatorPair, ...]:
    units = unit_names(frame) + "\n" + frame["criterion"]
    return annotator_pairs(units, frame["annotator"], frame["value"].astype(float))


@pytest.mark.long
def test_published_alphas_are_reproduced(shared):
    numbers_of_study = cases(shared, "krippendorff_alpha")
    for case, frame in numbers_of_study:
        level = case["params"]["level"]
        values = pd.factorize(frame["value"])[0] if level == "nominal" else frame["value"].astype(float)
        alpha = krippendorff_alpha(unit_names(frame), values, level)
        assert alpha == pytest.approx(case["expected"], abs=case["tolerance"]), case["id"]
    assert len(numbers_of_study) == 12


def test_published_means_are_reproduced(shared):
    numbers_of_study = cases(shared, "mean")
    for case, frame in numbers_of_study:
        mean = summary(frame["value"].astype(float)).mean
        assert mean == pytest.approx(case["expected"], abs=case["tolerance"]), case["id"]
    assert len(numbers_of_study) == 135


def test_published_majorities_are_reproduced(shared):
    published = cases(shared, "majority_count")
    for case, frame in published:
        counted = majority(unit_names(frame), frame["value"], str(case["params"]["value"]))
        assert counted.positive == case["expected"], case["id"]
    assert len(published) == 3


def test_published_cohen_kappas_are_reproduced(shared):
    published = cases(shared, "cohen_kappa")
    for case, frame in published:
        kappas = {(pair.first, pair.second): pair.kappa for pair in pairs_of(frame)}
        kappa = kappas[tuple(case["params"]["annotators"])]
        assert kappa == pytest.approx(case["expected"], abs=case["tolerance"]), case["id"]
    assert len(published) == 3


def test_published_distances_and_correlations_of_pairs_are_reproduced(shared):
    for statistic in ("mae", "pearson"):
        ((case, frame),) = cases(shared, f"pairwise_{statistic}")
        mean = getattr(pair_means(pairs_of(frame)), statistic)
        assert mean == pytest.approx(case["expected"], abs=case["tolerance"]), case["id"]


def test_published_intraclass_correlations_are_reproduced(shared):
    for statistic, part in (("icc1", "single"), ("icc1k", "mean")):
        published = cases(shared, statistic)
        for case, frame in published:
            one_way = reliability(unit_names(frame), frame["annotator"], frame["value"].astype(float)).one_way
            assert getattr(one_way, part) == pytest.approx(case["expected"], abs=case["tolerance"]), case["id"]
        assert len(published) == 6


def test_no_published_case_is_left_out(shared):
    listed = json.loads((shared / "acceptance" / "ACCEPTANCE.json").read_text())["cases"]
    assert Counter(case["statistic"] for case in listed) == {
        "krippendorff_alpha": 12,
        "mean": 135,
        "majority_count": 3,
        "cohen_kappa": 3,
        "pairwise_mae": 1,
        "pairwise_pearson": 1,
        "icc1": 6,
        "icc1k": 6,
    }


class Study:
    """A set of ratings after its import: what results and report are computed from."""

    def __init__(self, study, frame, session):
        self.frame = frame
        every = criterion_ratings(frame, Counted())
        self.ratings = {each.criterion.title: each for each in every}
        self.systems = {name: code for code, name in blind_codes(session, study)}
        names = dict(map(tuple, session.execute(select(Person.pseudonym, Person.name))))
        self.people = [names[pseudonym] for pseudonym in frame.ratings["annotator"].cat.categories]

    def of(self, criterion: str | None) -> StudyRatings:
        return self.ratings[criterion] if criterion else next(iter(self.ratings.values()))

    def number(self, case: dict) -> float | Undefined:
        """The study's number for a case."""
        where, ratings = case["where"], self.of(case["where"].get("criterion"))
        match case["statistic"]:
            case "mean":
                return summary(ratings.of_system(self.systems[where["system"]]).number).mean
            case "krippendorff_alpha":
                assert ratings.criterion.scale.level == case["params"]["level"]
                return criterion_result(self.frame, ratings).agreement.alpha
            case "cohen_kappa":
                pairs = people_of(ratings, self.people).pairs
                return {(pair.first, pair.second): pair.kappa for pair in pairs}[tuple(case["params"]["annotators"])]
            case "icc1" | "icc1k":
                one_way = people_of(ratings, self.people).reliability.one_way
                return one_way.single if case["statistic"] == "icc1" else one_way.mean
            case "majority_count":
                return majority(ratings.units, ratings.number, case["params"]["value"]).positive
            case "pairwise_mae" | "pairwise_pearson":
                return getattr(pair_means(self.pairs_over_all_criteria()), case["statistic"].removeprefix("pairwise_"))
        raise AssertionError(case["statistic"])

    def pairs_over_all_criteria(self) -> tuple[AnnotatorPair, ...]:
        every = list(self.ratings.values())
        units = np.concatenate([each.units * len(every) + place for place, each in enumerate(every)])
        annotator, number = (
            np.concatenate([getattr(each, name) for each in every]) for name in ("annotator", "number")
        )
        return annotator_pairs(units, annotator, number)


def blind_codes(session, study) -> list[tuple[int, str]]:
    statement = select(System.blind_code, System.name).where(System.study_id == study.id)
    return list(map(tuple, session.execute(statement)))


def asked_with(level: Literal["nominal"] | None, files) -> Asked:
    """The rubric that the values suggest, with another level where the lead knows better."""
    criteria = import_ratings.proposed(files)
    return import_ratings.asked_as_proposed(
        "Imported", files, [replace(each, use=level) if level else each for each in criteria]
    )


SETS = {
    "newsroom": None,
    "recipes": None,
    "pandalm": "nominal",
    "summeval_experts": None,
    "hanna": None,
    "squality": None,
}
LARGE = {"dices350": None, "dices990": None}


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "level"), [*SETS.items(), *(pytest.param(*each, marks=pytest.mark.slow) for each in LARGE.items())]
)
def test_published_numbers_follow_from_their_imported_ratings(imported, shared, name, level):
    path = public_set(shared, name)
    files = [read(path.read_bytes(), path.name)]
    numbers_of_study = Study(*imported(assemble(files, asked_with(level, files))))

    listed = json.loads((shared / "acceptance" / "ACCEPTANCE.json").read_text())["cases"]
    of_this_set = [case for case in listed if case["data"] == f"data/{name}.csv"]
    for case in of_this_set:
        assert numbers_of_study.number(case) == pytest.approx(case["expected"], abs=case["tolerance"]), case["id"]
    assert of_this_set


@pytest.mark.long
def test_imported_real_ratings_agree_as_in_their_file(imported, shared):
    real = shared / "real"
    files = [read((real / "summeval_3_ratings.csv").read_bytes(), "summeval_3_ratings.csv")]
    items = read_items((real / "summeval_3.jsonl").read_bytes(), "summeval_3.jsonl")
    study, frame, session = imported(assemble(files, asked_with(None, files), items))
    numbers_of_study, stated_ratings = Study(study, frame, session), ratings(real / "summeval_3_ratings.csv")

    assert (study.state, study.item_count, len(numbers_of_study.people)) == ("closed", 100, 8)
    for criterion, rows in stated_ratings.groupby("criterion"):
        result = criterion_result(frame, numbers_of_study.of(criterion))
        values = rows["value"].astype(float)
        assert result.agreement.alpha == pytest.approx(
            krippendorff_alpha(unit_names(rows), values, "ordinal"), abs=1e-9
        )
        stated = {each.system: each.summary.mean for each in result.systems}
        means = values.groupby(rows["system"]).mean()
        assert stated == pytest.approx({numbers_of_study.systems[name]: mean for name, mean in means.items()})

"""Numbers that the authors of public rating sets printed, computed again from their ratings."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from triptych.analysis.agreement import krippendorff_alpha
from triptych.analysis.descriptive import majority, summary
from triptych.analysis.icc import reliability
from triptych.analysis.pairs import AnnotatorPair, annotator_pairs, pair_means


@cache
def ratings(path: Path) -> pd.DataFrame:
    """item_id, system, annotator, criterion, value: everything as text, nothing taken for missing."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def cases(shared: Path, statistic: str) -> list[tuple[dict, pd.DataFrame]]:
    """The published cases of one statistic, each with the ratings that it speaks of."""
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


def test_published_alphas_are_reproduced(shared):
    found = cases(shared, "krippendorff_alpha")
    for case, frame in found:
        level = case["params"]["level"]
        values = pd.factorize(frame["value"])[0] if level == "nominal" else frame["value"].astype(float)
        alpha = krippendorff_alpha(unit_names(frame), values, level)
        assert alpha == pytest.approx(case["expected"], abs=case["tolerance"]), case["id"]
    assert len(found) == 12


def test_published_means_are_reproduced(shared):
    found = cases(shared, "mean")
    for case, frame in found:
        mean = summary(frame["value"].astype(float)).mean
        assert mean == pytest.approx(case["expected"], abs=case["tolerance"]), case["id"]
    assert len(found) == 135


def test_published_majorities_are_reproduced(shared):
    found = cases(shared, "majority_count")
    for case, frame in found:
        counted = majority(unit_names(frame), frame["value"], str(case["params"]["value"]))
        assert counted.positive == case["expected"], case["id"]
    assert len(found) == 3


def test_published_cohen_kappas_are_reproduced(shared):
    found = cases(shared, "cohen_kappa")
    for case, frame in found:
        kappas = {(pair.first, pair.second): pair.kappa for pair in pairs_of(frame)}
        kappa = kappas[tuple(case["params"]["annotators"])]
        assert kappa == pytest.approx(case["expected"], abs=case["tolerance"]), case["id"]
    assert len(found) == 3


def test_published_distances_and_correlations_of_pairs_are_reproduced(shared):
    for statistic in ("mae", "pearson"):
        ((case, frame),) = cases(shared, f"pairwise_{statistic}")
        mean = getattr(pair_means(pairs_of(frame)), statistic)
        assert mean == pytest.approx(case["expected"], abs=case["tolerance"]), case["id"]


def test_published_intraclass_correlations_are_reproduced(shared):
    for statistic, part in (("icc1", "single"), ("icc1k", "mean")):
        found = cases(shared, statistic)
        for case, frame in found:
            one_way = reliability(unit_names(frame), frame["annotator"], frame["value"].astype(float)).one_way
            assert getattr(one_way, part) == pytest.approx(case["expected"], abs=case["tolerance"]), case["id"]
        assert len(found) == 6


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

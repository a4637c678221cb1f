"""Both versions of the results: ratings as given, and with the final values in their place."""

from __future__ import annotations

import pytest
from helpers.ratings import submit
from helpers.reports import again, report_of
from helpers.studies import full_answers

from triptych.results import adjudication
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.results.study_analysis import analyse
from triptych.stats.analysis.ratings import NO_ORDER
from triptych.storage.database import reading, writing
from triptych.study.system_names import system_names

NO_MEAN = """
key: tones
title: Tones
summary: One question.
instructions: Read.
criteria:
  - key: tone
    title: Tone
    definition: How it sounds.
    about: ABOUT
    scale: {kind: choice, options: [{key: warm, title: Warm}, {key: cold, title: Cold}]}
"""


@pytest.fixture
def decided(sqlite_engine, make_study):
    """(engine, study, lead); two annotators gave fluency 3 and 1 to every response of two items, one was decided."""
    with writing(sqlite_engine) as session:
        study, lead, people = make_study(session, items=2)
        for who, fluency in zip(people, (3, 1), strict=True):
            for _ in range(2):
                submit(session, study, who, full_answers(fluency=fluency))
        values = {(1, "fluency"): 3, (2, "fluency"): 2, (1, "verdict"): "unsure", (2, "verdict"): "reject"}
        adjudication.record(session, study, "item-1", values, "read both again", lead)
    return sqlite_engine, study, lead


def means_of(engine, study):
    with reading(engine) as session:
        frame = frame_of(session, study)
        analysis = analyse(frame, Counted(), system_names(session, study))
        versions = adjudication.both_versions(analysis, adjudication.final_values(session, study))
        return analysis, {(means.criterion, means.system): means for means in versions}


def test_a_final_value_replaces_every_rating_of_its_response(decided):
    engine, study, _ = decided
    analysis, means = means_of(engine, study)
    first, second, third = (means["fluency", code] for code in (1, 2, 3))
    assert (first.given, first.final, first.decided, first.changed) == (2.0, 2.5, 1, 1)
    assert (second.given, second.final, second.decided, second.changed) == (2.0, 2.0, 1, 2)
    assert (third.given, third.final, third.decided, third.changed) == (2.0, 2.0, 0, 0)
    # two of four verdicts were decided; one that cannot be judged is missing
    assert (means["verdict", 1].given, means["verdict", 1].final) == (1.0, 1.0)
    assert (means["verdict", 2].given, means["verdict", 2].final) == (1.0, 0.5)
    assert analysis.ratings_of("fluency").number.tolist().count(3.0) == 6  # as they were given


@pytest.mark.parametrize("about", ["candidate", "item"])
def test_options_without_an_order_have_no_mean_in_either_version(sqlite_engine, make_study, about):
    with writing(sqlite_engine) as session:
        study, lead, (who, _) = make_study(session, items=1, rubric=NO_MEAN.replace("ABOUT", about))
        answer = {"tone": "warm"}
        submit(session, study, who, {"ratings": {"item": answer} if about == "item" else dict.fromkeys("ABC", answer)})
        adjudication.record(session, study, "item-1", {(int(about == "candidate"), "tone"): "cold"}, "read it", lead)
    analysis, means = means_of(sqlite_engine, study)
    tone = next(iter(means.values()))
    assert tone.given == tone.final == analysis.criteria[0].systems[0].interval == NO_ORDER
    assert (tone.decided, tone.changed) == (1, 1)


def test_without_final_values_there_is_one_version(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session, items=1)
        submit(session, study, who)
    assert means_of(sqlite_engine, study)[1] == {}


def test_a_report_gives_both_versions_and_who_decided(decided, tmp_path, monkeypatch):
    engine, study, lead = decided
    report = report_of(engine, study)
    page = report.files["report.html"].decode()
    assert "Ratings as given and with final values" in page
    assert "final values were decided afterwards" in report.files["methods.txt"].decode()
    assert "Who decided final values" in page and lead.pseudonym in page and "read both again" in page
    assert "mean with final values" in report.files["results.csv"].decode()
    assert again(report, tmp_path / "report", monkeypatch) == []

"""Studies with varied ratings, and reports of them unpacked and checked."""

from __future__ import annotations

import csv
import io
import random
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

from helpers.studies import SMALL_RUBRIC, add_person, draft_items, join
from triptych.formats.long_csv import restore_cell
from triptych.reports import analysis, build
from triptych.storage import database, schema
from triptych.storage.models import Role, StudyState
from triptych.study import lifecycle

SECRET_WORDS = "Zinnober purpurn"


def some_answers(rng: random.Random) -> dict:
    """An annotation of SMALL_RUBRIC: later letters tend to be better, some verdicts are missing, some explained.

    The first word of response A is marked, with a comment.
    """
    ratings = {
        letter: {
            "fluency": min(3, max(1, 1 + n + rng.choice([0, 0, 1, -1]))),
            "verdict": rng.choice(["accept", "accept", "reject", "unsure"]),
        }
        for n, letter in enumerate("ABC")
    }
    explained = {letter: {"verdict": {"reject": {"reasons": ["rude"], "text": SECRET_WORDS}}} for letter in "ABC"}
    mark = {"slot": "A", "turn": None, "start": 0, "end": rng.choice([4, 6]), "label": "bad", "comment": SECRET_WORDS}
    return {"ratings": ratings, "explanations": explained, "highlights": [mark]}


def new_study(session, items: int, annotators: int, rubric: str = SMALL_RUBRIC, drafts=None):
    """An open study with a lead and annotators, as the fixture make_study makes them."""
    lead = add_person(session, "lead", Role.lead)
    plan = lifecycle.StudyPlan(title="Report <b>me</b> & 50 %", seed="fixed", raters_per_item=annotators)
    study = lifecycle.create_study(session, plan, rubric, drafts or draft_items(items), lead.pseudonym, lead.person_id)
    lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
    return study, lead, [join(session, study, add_person(session, f"ann{n}")) for n in range(annotators)]


def opened(folder: Path):
    engine = database.open_engine(f"sqlite:///{folder / 'reports.db'}")
    schema.migrate(engine)
    return engine


def report_of(engine, study, scope=None, figures=False):
    """A report; without its figures, which take most of its time, unless they are asked for."""
    undrawn = patch.object(
        build, "figures_by_criterion", lambda analysis, _: {r.criterion.key: () for r in analysis.criteria}
    )
    with nullcontext() if figures else undrawn, database.reading(engine) as session:
        return build.build_report(session, lifecycle.by_slug(session, study.slug), scope)


def unpack(report, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in report.files.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_bytes(content)
    return folder


def numbers(report) -> list[dict[str, str]]:
    """The rows of results.csv, without the ' that keeps spreadsheets from seeing a formula."""
    rows = csv.DictReader(io.StringIO(report.files["results.csv"].decode(), newline=""))
    return [{name: restore_cell(cell) for name, cell in row.items()} for row in rows]


def again(report, folder: Path, monkeypatch) -> list[str]:
    """What analysis.py finds wrong, run in this process."""
    monkeypatch.setattr(analysis, "SNAPSHOT", report.sha256)
    return list(analysis.differences(unpack(report, folder)))

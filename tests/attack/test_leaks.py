"""A mark in every column that can hold words: which marks are in what is given away, byte by byte."""

from __future__ import annotations

import io
import re
import shutil
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from helpers import busy
from helpers.ratings import submit
from helpers.reports import new_study, report_of
from helpers.studies import full_answers, sure
from sqlalchemy import JSON, Column, select, update
from sqlmodel import AutoString

from triptych import clock
from triptych.archive import make
from triptych.archive.covered import covered
from triptych.cli.people import acting_lead
from triptych.operations import capsule
from triptych.privacy import erasure
from triptych.storage import database
from triptych.storage.models import (
    Explanation,
    FailedSignIn,
    Invitation,
    Login,
    PanelIdentity,
    Person,
    Setting,
    Snapshot,
    StoredAnswer,
    Study,
    StudyState,
    Ticket,
    TicketKind,
    Token,
)
from triptych.storage.rows import TABLES, UNPROVED
from triptych.study import lifecycle
from triptych.study.settings import Consent

MARK = re.compile(rb"ZQ(\w+\.\w+)~")
WORDS = [column for table in TABLES.values() for column in table.columns if isinstance(column.type, AutoString | JSON)]
# what the program itself chooses from a list, looks up, or hashes the texts by
CHOSEN = {
    *("study.slug", "study.series", "study.seed", "study.settings", "study.presentation", "rubric.yaml"),
    *("criterion.key", "criterion.kind", "criterion.level", "criterion.about", "option.key"),
    *("reference.criterion", "reference.accepted", "reference.tolerance", "assignment.arrangement", "rating.option"),
    *("assignment.order_seed", "assignment.layout", "explanation.choice", "explanation.reasons", "highlight.label"),
    "highlight.unit",
    *("membership.consent_version", "membership.turned_away_as", "test_answer.question", "test_answer.option"),
    *("event_detail.old", "event_detail.new", "event_detail.rows", "candidate.turns", "item.extra_texts"),
    *("slot.set_aside", "snapshot.scope", "event.kind", "event.hash", "study.event_hash"),
}
ARCHIVED = {
    *("study.title", "study.design_hash", "system.name", "item.external_id", "item.context", "turn.speaker"),
    *("turn.text", "candidate.text", "highlight.quote", "explanation.text", "highlight.comment", "assignment.note"),
}
ITEM_TEXTS = {"item.context", "turn.speaker", "turn.text", "candidate.text", "highlight.quote"}


def mark(path: Path, columns: list[Column]) -> None:
    """Every value of these columns ends in the column's name."""
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("PRAGMA ignore_check_constraints=1")
        for column in columns:
            table, name, word = column.table.name, column.name, f"ZQ{column}~"
            value = f'"{name}" || :word || rowid'
            if isinstance(column.type, JSON):
                value, word = ":word", f'{{"{word}": "{word}"}}'
            elif column.nullable:
                value = f"coalesce({value}, :word || rowid)"
            changed = file.execute(f'UPDATE "{table}" SET "{name}" = {value}', {"word": word})
            assert changed.rowcount, f"the study has no row in {table}"


def marks(content: bytes) -> Iterator[str]:
    if content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                yield from marks(name.encode() + archive.read(name))
    yield from (found.decode() for found in MARK.findall(content))


@pytest.fixture(scope="module")
def world(tmp_path_factory, ready_sqlite) -> Path:
    """A closed, unblinded study with a row in every table; its annotators agreed to the publication of their texts."""
    path = tmp_path_factory.mktemp("leaks") / "triptych.db"
    shutil.copy(ready_sqlite, path)
    engine = database.open_engine(f"sqlite:///{path}")
    with patch.object(busy, "CONSENT", Consent(text="Agree?", sharing="texts")):
        busy.make_busy(engine)
    with database.writing(engine) as session:
        study, lead, now = session.scalars(select(Study)).one(), acting_lead(session, "lead"), clock.now()
        lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
        lifecycle.unblind(session, study, sure(lead))
        erasure.erase(session, study, "P-gone", sure(lead))
        for person in session.scalars(select(Person)):
            own: dict[str, Any] = {"person_id": person.id, "expires_at": now, "created_at": now}
            hashes: dict[str, Any] = {"secret_hash": f"s{person.id}", **own}
            session.add_all(
                [
                    PanelIdentity(person_id=person.id, panel="panel", external_id=f"x{person.id}"),
                    Login(**hashes),
                    Ticket(kind=TicketKind.sign_in, person_id=person.id, secret_hash=f"t{person.id}", expires_at=now),
                    Token(study_id=study.id, name="script", **hashes),
                    StoredAnswer(person_id=person.id, key="k", request_hash="r", answer={}, stored_at=now),
                    Invitation(study_id=study.id, person_id=person.id, secret_hash=f"i{person.id}", expires_at=now),
                ]
            )
        session.add_all([FailedSignIn(account_hash="a", at=now), Setting(key="k", value="v")])
        session.add(
            Snapshot(
                study_id=study.id,
                event_number=1,
                made_at=now,
                file=b"PK",
                event_hash="x",
                sha256="x",
                made_by="x",
                scope={},
            )
        )
    engine.dispose()
    return path


@pytest.fixture
def copy(world, tmp_path) -> Path:
    return Path(shutil.copy(world, tmp_path / "marked.db"))


@pytest.mark.long
def test_an_archive_holds_what_its_readers_may_know(copy):
    mark(copy, [column for column in WORDS if str(column) not in CHOSEN])
    for choice, known in (
        (make.ArchiveChoice("CC0"), ARCHIVED),
        (make.ArchiveChoice("", blind=True), ARCHIVED - ITEM_TEXTS - {"system.name"}),
    ):
        files = archived(copy, choice)
        everything = b"".join([*files.values(), *(name.encode() for name in files)])

        assert set(marks(everything)) == known
        assert re.findall(rb"\b[PLV]-\w{3,}|\d\d:\d\d:\d\d", everything) == []


def archived(path: Path, choice: make.ArchiveChoice) -> dict[str, bytes]:
    """The files of an archive with every text that may be released."""
    engine = database.open_engine(f"sqlite:///{path}")
    with patch.object(make, "figures_by_criterion", return_value={}), database.writing(engine) as session:
        study = session.scalars(select(Study)).one()
        released = replace(choice, release=make.texts_to_read(session, study, choice.blind)[0])
        files = make.archive_study(session, study, released, "x", "y").files
        session.rollback()
    engine.dispose()
    return dict(files)


@pytest.mark.long
def test_a_report_holds_no_reasons_in_annotators_own_words(copy):
    """Imported ones were in its ratings.csv, though its README says that it contains no texts of annotators."""
    engine = database.open_engine(f"sqlite:///{copy}")
    with database.writing(engine) as session:
        study = session.scalars(select(Study)).one()
        # as an import stores what the rubric does not have
        session.execute(update(Explanation).values(reasons=["wrong", "because, ZQown.words~"]))

    files = report_of(engine, study).files

    engine.dispose()
    assert not set(marks(b"".join(files.values())))
    assert b",wrong," in files["ratings.csv"]


def test_a_capsule_holds_nothing_of_accounts_or_reports(copy):
    unproved = [column for column in WORDS if UNPROVED.keys() & {str(column), column.table.name}]
    mark(copy, [column for column in unproved if column.table.name != "test_answer"])
    engine = database.open_engine(f"sqlite:///{copy}")

    capsule_marks = set(marks(b"".join(capsule.pieces(engine, "a-busy-study"))))

    engine.dispose()
    assert capsule_marks == {"assignment.draft", "assignment.pen"}


@pytest.mark.parametrize(
    ("agreed", "warned"),
    [
        ("nothing ratings ratings", True),
        ("not_asked nothing texts", True),
        ("ratings texts", False),
        ("nothing", True),
        ("nothing nothing nothing", False),
    ],
)
def test_a_lead_learns_whose_ratings_the_results_give_away(sqlite_engine, agreed, warned):
    words = agreed.split()
    with database.writing(sqlite_engine) as session:
        study, _, people = new_study(session, items=1, annotators=len(words))
        for who in people:
            submit(session, study, who, full_answers())
        sharing = {who.pseudonym: word for who, word in zip(people, words, strict=True)}

        assert bool(replace(covered(session, study), sharing=sharing).caution) == warned

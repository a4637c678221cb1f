"""An earlier report, export, capsule or backup shows whether the log was cut or rewritten since."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.ratings import submit
from sqlalchemy import delete, update

from triptych.cli import main as program
from triptych.errors import NotFound
from triptych.exchange import exports
from triptych.formats.writers.model import ExportOptions
from triptych.operations import against, backup
from triptych.reports.build import build_report
from triptych.storage import events
from triptych.storage.database import reading, writing
from triptych.storage.models import Event, Study


@pytest.fixture
def studied(sqlite_engine, make_study):
    """A study with an annotation."""
    with writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session)
        submit(session, study, who)
    with reading(sqlite_engine) as session:
        yield session, session.get_one(Study, study.id)


def cut(engine, study: Study) -> None:
    """Removes the last event, and sets the head back."""
    with writing(engine) as session:
        last = study.event_number
        before = session.query(Event.hash).filter(Event.study_id == study.id, Event.number == last - 1).scalar()
        session.execute(delete(Event).where(Event.study_id == study.id, Event.number == last))
        session.execute(update(Study).values(event_number=last - 1, event_hash=before))
    with reading(engine) as session:
        assert events.first_broken(session, study.id) is None


def report(session, study: Study, folder: Path) -> str:
    path = folder / "report.zip"
    path.write_bytes(build_report(session, study).zip)
    return str(path)


def page(session, study: Study, folder: Path) -> str:
    path = folder / "report.html"
    path.write_bytes(build_report(session, study).files["report.html"])
    return str(path)


def export(session, study: Study, folder: Path) -> str:
    path = folder / "export.zip"
    path.write_bytes(b"".join(exports.export_zip(session, study, "csv", ExportOptions(0, None))))
    return str(path)


def copy(session, study: Study, folder: Path) -> str:
    return str(backup.make(session.get_bind()).path)


def printed(session, study: Study, folder: Path) -> str:
    return study.event_hash


@pytest.mark.parametrize("source_of", [report, page, export, copy, printed], ids=lambda function: function.__name__)
def test_a_log_cut_since_is_found(sqlite_engine, studied, tmp_path, capsys, source_of):
    session, study = studied
    source = source_of(session, study, tmp_path)
    session.close()

    assert program.main(["verify", "--against", source]) == 0
    assert f"Event {study.event_number} of a-small-study is in the log" in capsys.readouterr().out
    cut(sqlite_engine, study)
    assert program.main(["verify", "--against", source]) == 1
    assert "the log was cut or rewritten since" in capsys.readouterr().out


def test_a_file_without_a_last_event_is_refused(tmp_path):
    empty = tmp_path / "notes.txt"
    empty.write_text("nothing")

    for source in (str(empty), str(tmp_path / "absent.db"), "a word"):
        with pytest.raises(NotFound, match="There is no last event in it"):
            against.read(source)

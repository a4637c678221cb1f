"""An earlier report, export, capsule or backup shows whether the log was truncated or rewritten since."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile

import pytest
from helpers.reported import Reported
from sqlalchemy import Engine, delete, select, update

from triptych.cli import main as program
from triptych.errors import NotFound
from triptych.exchange import exports
from triptych.formats.writers.model import ExportOptions
from triptych.operations import backup, earlier_head, sealed
from triptych.operations import capsule as capsules
from triptych.people import accounts
from triptych.reports.build import Report
from triptych.storage import events, schema
from triptych.storage.database import reading, writing
from triptych.storage.models import Event, Study
from triptych.study.persons import Who


@pytest.fixture
def sqlite_engine(reported_engine: Engine) -> Engine:
    return reported_engine


@pytest.fixture
def studied(sqlite_engine, reported: Reported):
    """A study with an annotation."""
    with reading(sqlite_engine) as session:
        yield session, session.get_one(Study, reported.study.id)


def cut(engine, study: Study) -> None:
    """Removes the last event, and sets the head back."""
    with writing(engine) as session:
        last = study.event_number
        before = session.scalar(select(Event.hash).where(Event.study_id == study.id, Event.number == last - 1))
        session.execute(delete(Event).where(Event.study_id == study.id, Event.number == last))
        session.execute(update(Study).values(event_number=last - 1, event_hash=before))
    with reading(engine) as session:
        assert events.first_broken(session, study.id) is None


@pytest.mark.parametrize("base", ["snapshot.json", "codebook.json"])
def test_a_zip_of_many_lists_is_not_read(tmp_path, monkeypatch, base):
    """Two hundred of 20 MB each are a zip of 4 MB, and took more than 6 GB."""
    monkeypatch.setattr(sealed, "LARGEST_BYTES", 150)
    path = tmp_path / "report.zip"
    for copies in (1, 2):
        with ZipFile(path, "w") as archive:
            for number in range(copies):
                archive.writestr(f"r{number}/{base}", json.dumps({"number": 1, "hash": "a" * 64}))
        if copies == 1:
            assert len(earlier_head.read(str(path))) == 1
    with pytest.raises(NotFound, match="cannot be read"):
        earlier_head.read(str(path))


def test_a_file_of_very_many_last_events_is_refused(tmp_path, monkeypatch):
    """Each was looked for in every study."""
    monkeypatch.setattr(earlier_head, "MOST_HEADS", 3)
    path = tmp_path / "many.json"
    heads = [{"number": number, "hash": f"{number:064x}"} for number in range(4)]
    path.write_text(json.dumps(heads[:3]))
    assert len(earlier_head.read(str(path))) == 3
    path.write_text(json.dumps(heads))
    with pytest.raises(NotFound, match="more than 3 last events"):
        earlier_head.read(str(path))


def report(session, study: Study, folder: Path, made: Report) -> str:
    path = folder / "report.zip"
    path.write_bytes(made.zip)
    return str(path)


def page(session, study: Study, folder: Path, made: Report) -> str:
    path = folder / "report.html"
    path.write_bytes(made.files["report.html"])
    return str(path)


def export(session, study: Study, folder: Path, made: Report) -> str:
    path = folder / "export.zip"
    path.write_bytes(b"".join(exports.export_zip(session, study, "csv", ExportOptions(0, None))))
    return str(path)


def copy(session, study: Study, folder: Path, made: Report) -> str:
    return str(backup.make(session.get_bind()).path)


def capsule(session, study: Study, folder: Path, made: Report) -> str:
    path = folder / "capsule.zip"
    path.write_bytes(b"".join(capsules.pieces(session.get_bind(), study.slug)))
    return str(path)


def printed(session, study: Study, folder: Path, made: Report) -> str:
    return study.event_hash


@pytest.mark.parametrize(
    "source_of", [report, page, export, copy, capsule, printed], ids=lambda function: function.__name__
)
def test_a_log_cut_since_is_found(sqlite_engine, studied, reported, tmp_path, capsys, source_of):
    session, study = studied
    source = source_of(session, study, tmp_path, reported.report)
    session.close()

    assert program.main(["data", "verify", "--against", source]) == 0
    assert capsys.readouterr().out.count(f"Event {study.event_number} of a-small-study is in the log") == 1
    cut(sqlite_engine, study)
    assert program.main(["data", "verify", "--against", source]) == 1
    assert "the log was truncated or rewritten since" in capsys.readouterr().out


@pytest.mark.parametrize("source_of", [report, page, export, copy, capsule], ids=lambda function: function.__name__)
def test_a_study_under_the_name_of_another_is_found(
    sqlite_engine, studied, reported, make_study, tmp_path, capsys, source_of
):
    """The true study goes on under another name, and a made-up one takes its place."""
    session, study = studied
    source = source_of(session, study, tmp_path, reported.report)
    session.close()
    with writing(sqlite_engine) as session:
        session.execute(update(Study).values(slug="the-true-one"))
        make_study(session)

    assert program.main(["data", "verify", "--against", source]) == 1
    assert "in the log of the-true-one, but the file is of the study a-small-study" in capsys.readouterr().out


@pytest.mark.long
def test_an_imported_copy_does_not_vouch_for_its_namesake(studied, reported, make_study, tmp_path):
    session, study = studied
    (head,) = earlier_head.read(report(session, study, tmp_path, reported.report))
    packed = capsule(session, study, tmp_path, reported.report)
    with backup.opened(tmp_path / "other.db") as other:
        schema.migrate(other)
        with writing(other) as elsewhere:
            make_study(elsewhere)
            lead = accounts.create_lead(elsewhere, "Dr Second", "correct horse battery")
            who = Who(lead.id, lead.pseudonym, lead.role, lead.name, 0)
        assert capsules.import_study(Path(packed), other, who).slug == "a-small-study-2"
        with reading(other) as elsewhere:
            compared = earlier_head.compare(elsewhere, head)

    assert compared.holds
    assert "the study called a-small-study here is another one" in compared.sentence


def test_a_file_next_to_a_report_proves_nothing(studied, reported, tmp_path):
    session, study = studied
    kept = Path(page(session, study, tmp_path, reported.report))
    (head,) = earlier_head.read(str(kept))
    other = json.dumps({"number": 1, "hash": "f" * 64, "slug": study.slug})
    kept.with_name("report.html.json").write_text(other)
    dump = tmp_path / "backup.dump"
    dump.write_bytes(b"PGDMP")
    dump.with_name("backup.dump.json").write_text(other)

    assert earlier_head.read(str(kept)) == [head]
    assert [head.number for head in earlier_head.read(str(dump))] == [1]


def test_a_file_that_names_no_study_is_compared_as_before(studied, tmp_path):
    session, study = studied
    old = tmp_path / "old.json"
    old.write_text(json.dumps({"last_event": {"number": study.event_number, "hash": study.event_hash}}))

    (head,) = earlier_head.read(str(old))

    assert head.slug is None
    assert earlier_head.compare(session, head).holds


def test_a_file_without_a_last_event_is_refused(tmp_path):
    empty = tmp_path / "notes.txt"
    empty.write_text("nothing")

    for source in (str(empty), str(tmp_path / "absent.db"), "a word"):
        with pytest.raises(NotFound, match="It does not contain a last event"):
            earlier_head.read(source)


def test_a_text_with_several_hashes_proves_nothing(studied, tmp_path):
    """Any of them could be the last event, and one that is in the log would do for all."""
    _, study = studied
    notes = tmp_path / "notes.txt"
    notes.write_text(f"{study.event_hash}\n{1:064x}")
    with pytest.raises(NotFound, match="names 2 events that may be the last one"):
        earlier_head.read(str(notes))

    notes.write_text(f"{study.event_hash}\n{study.event_hash}")
    assert [head.hash for head in earlier_head.read(str(notes))] == [study.event_hash]


def test_a_last_event_in_somebodys_words_accuses_nobody(studied, tmp_path):
    """An id of an imported item stood in a report's page like a last event, and the log counted as rewritten."""
    _, study = studied
    page = tmp_path / "report.html"
    seals = [f"study {study.slug}, last event {number} {shown}" for number, shown in ((5, "a" * 64), (9, "b" * 64))]
    page.write_text("\n".join(seals))
    with pytest.raises(NotFound, match="names 2 events that may be the last one"):
        earlier_head.read(str(page))

    page.write_text(f"{seals[0]}\n{seals[0]}\n{'c' * 64}")
    assert earlier_head.read(str(page)) == [earlier_head.EarlierHead(5, "a" * 64, study.slug)]

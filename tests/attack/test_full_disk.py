"""A disk without room: what an annotator sends is refused in a sentence and goes through once there is room."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import aiohttp
import pytest
from sqlalchemy import Engine

from bench.client import PageFailed, PageSession
from bench.server import running_app
from bench.world import build_world
from triptych.operations import backup
from triptych.storage import database, schema, sqlite_files
from triptych.storage.unavailable import FULL, UNREACHABLE, DatabaseBusy, DatabaseUnavailable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="prlimit is a call of Linux")
EVERYTHING = resource.RLIM_INFINITY


def test_a_full_disk_refuses_in_a_sentence_and_loses_nothing(tmp_path, forked):
    """No file of the server may grow, as on a disk that is full."""
    world = build_world(tmp_path, items=3)

    async def work(server) -> tuple[list, int]:
        async with world.annotator(server.url, 0) as annotator:
            answers = annotator.answers(annotator.view)
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1, EVERYTHING))
            refused = [await annotator.save_draft(annotator.view["work"], answers) for _ in range(2)]
            with pytest.raises(PageFailed, match="not acknowledged"):
                await annotator.submit(annotator.view, answers)
            refused.append((503, annotator.view["notice"]))
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (EVERYTHING, EVERYTHING))
            status, _ = await annotator.save_draft(annotator.view["work"], answers)
            await annotator.submit(annotator.view, answers)
            return refused, status

    with running_app(tmp_path, start=forked) as server:
        refused, status = asyncio.run(work(server))
        lines = server.output()

    assert [code for code, _ in refused] == [503] * 3
    assert {refusal.get("message", refusal.get("text")) for _, refusal in refused} <= {
        UNREACHABLE,
        FULL,
    }
    assert status == 200
    assert " error " not in lines


@pytest.mark.long
def test_a_leads_file_needs_no_disk(tmp_path, forked):
    """Parts above 1 MB were written to a file in /tmp, and a full one was answered with a number."""
    world = build_world(tmp_path, items=3)

    async def upload(server) -> int:
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookies=world.lead, cookie_jar=jar) as http:
            page = PageSession(http, server.url)
            await page.open()
            async with http.get(f"{server.url}/_stcore/health") as answer:
                headers = {"X-Xsrftoken": answer.cookies["_streamlit_xsrf"].value, "Origin": server.url}
            form = aiohttp.FormData()
            form.add_field("file", b"x" * 3_000_000, filename="items.csv")
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1, EVERYTHING))
            place = f"{server.url}/_stcore/upload_file/{page.session_id}/f"
            async with http.put(place, data=form, headers=headers) as answer:
                status = answer.status
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (EVERYTHING, EVERYTHING))
            await page.close()
            return status

    with running_app(tmp_path, start=forked) as server:
        assert asyncio.run(upload(server)) == 204


def test_no_backup_takes_the_last_room_from_annotators(sqlite_engine, monkeypatch):
    """Backups of a lead or a schedule filled the disk until nothing more could be stored."""
    size = backup.make(sqlite_engine).size
    free = database.sqlite_path(str(sqlite_engine.url)).stat().st_size + max(size, 16 * 2**20)
    monkeypatch.setattr(backup.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    backup.make(sqlite_engine)
    free -= 1

    with pytest.raises(backup.BackupFailed, match="too little room on its disk, where 16 MB must be free"):
        backup.make(sqlite_engine)

    assert len(backup.listed()) == 2
    assert len(list(backup.folder().iterdir())) == 4  # each with the file next to it


def test_an_upgrade_without_room_leaves_no_half_copy(tmp_path, monkeypatch):
    engine = database.open_engine(f"sqlite:///{tmp_path / 'triptych.db'}")
    schema.create_version(engine, "0013")
    names: list[str] = []

    def fill(_: Path, copy: Path) -> None:
        copy.write_bytes(b"half")
        names.extend(path.name for path in tmp_path.glob("*-before-*"))
        full = sqlite3.OperationalError("database or disk is full")
        full.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise full

    monkeypatch.setattr(sqlite_files, "copy_pages", fill)
    with pytest.raises(DatabaseUnavailable, match="disk of the database is full"):
        schema.migrate(engine)
    engine.dispose()

    [unfinished] = names
    assert unfinished.endswith(".part.db")
    assert not list(tmp_path.glob("*-before-*"))
    assert schema.stored_version(engine) == "0013"


def test_an_upgrade_takes_no_half_copy_for_the_one_before(tmp_path):
    """A kill while the copy's journal was deleted: all pages are there, and the next reader would roll them back."""
    engine = database.open_engine(f"sqlite:///{tmp_path / 'triptych.db'}")
    schema.create_version(engine, "0013")
    half = tmp_path / f"triptych-before-{schema.HEAD}-20260102-000000.part.db"
    sqlite_files.copy_sqlite(tmp_path / "triptych.db", half)

    schema.migrate(engine)
    engine.dispose()

    [copy] = {*tmp_path.glob("*-before-*.db")} - {half}
    assert schema.version_in(copy) == "0013"


def test_a_failed_upgrade_keeps_what_another_program_stores(tmp_path, monkeypatch, caplog):
    """It has held the file since the copy was made."""
    path = tmp_path / "triptych.db"
    engine = database.open_engine(f"sqlite:///{path}")
    schema.create_version(engine, "0013")
    engine.dispose()
    monkeypatch.setitem(database.PRAGMAS, "busy_timeout", 0)
    upgrade = schema.upgrade
    with closing(sqlite3.connect(path, isolation_level=None)) as other:

        def blocked(engine: Engine) -> None:
            other.execute("BEGIN IMMEDIATE")
            other.execute("INSERT INTO setting VALUES ('note', 'of another program')")
            try:
                upgrade(engine)
            finally:
                other.execute("COMMIT")

        monkeypatch.setattr(schema, "upgrade", blocked)
        with pytest.raises(DatabaseBusy):
            schema.migrate(engine)
        engine.dispose()

        assert other.execute("SELECT value FROM setting").fetchall() == [("of another program",)]
    [copy] = tmp_path.glob("*-before-*.db")
    assert copy.name in caplog.text

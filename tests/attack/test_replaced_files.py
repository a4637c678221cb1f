"""A database file that another program deletes or replaces during use: nothing is acknowledged that would be lost."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import event
from sqlalchemy.exc import DatabaseError

from triptych import settings
from triptych.storage import database, schema, traces
from triptych.storage.models import Setting
from triptych.storage.unavailable import DatabaseUnavailable


@pytest.fixture
def used(tmp_path):
    """(engine, its file, a copy of that): the engine has stored something since the copy."""
    file, copy = tmp_path / "triptych.db", tmp_path / "copy.db"
    engine = database.open_engine(settings.sqlite_url(file))
    schema.migrate(engine)
    engine.dispose()
    shutil.copyfile(file, copy)
    _store(engine, "before")
    yield engine, file, copy
    engine.dispose()


def _store(engine, key: str) -> None:
    with database.writing(engine) as session:
        session.add(Setting(key=key, value=""))


def _stored(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as opened:
        return [key for (key,) in opened.execute("SELECT key FROM setting ORDER BY key")]


def test_nothing_is_stored_in_a_file_that_was_deleted(used, caplog):
    engine, file, _ = used
    file.unlink()

    with pytest.raises(DatabaseUnavailable, match="does not answer"):
        _store(engine, "after")

    assert not database.answers(engine)
    assert not file.exists()
    assert "deleted or replaced during use" in caplog.text


def test_nothing_is_stored_in_a_file_that_was_replaced(used):
    engine, file, copy = used
    content = copy.read_bytes()
    copy.replace(file)

    for _ in range(2):  # the second time with a new connection
        with pytest.raises(DatabaseUnavailable, match="does not answer"):
            _store(engine, "after")

    assert file.read_bytes() == content


def test_a_file_replaced_while_a_connection_opens_is_refused(used):
    engine, file, copy = used

    def replace(*_) -> None:
        copy.replace(file)

    event.listen(engine, "do_connect", replace, once=True)  # after the check

    with database.reading(engine) as session:
        session.connection()  # of the pool, so that another one is opened
        with pytest.raises(DatabaseUnavailable, match="does not answer"):
            _store(engine, "into the file in its place")
    with pytest.raises(DatabaseUnavailable, match="does not answer"):
        _store(engine, "into the file that was replaced")


def test_nothing_is_stored_after_the_log_was_deleted(used, caplog):
    """What the file does not have yet is in it when the last connection is closed."""
    engine, file, _ = used
    log = file.with_name(f"{file.name}-wal")
    with engine.connect():
        log.unlink()
        for _ in range(2):  # the second time with a new connection
            with pytest.raises(DatabaseUnavailable, match="does not answer"):
                _store(engine, "meanwhile")
        assert not log.exists()
    with pytest.raises(DatabaseUnavailable, match="does not answer"):
        _store(engine, "meanwhile")

    assert "deleted or replaced during use" in caplog.text
    assert _stored(file) == ["before"]
    _store(engine, "after")
    assert _stored(file) == ["after", "before"]


def test_a_file_that_is_put_back_is_used_again(used):
    engine, file, copy = used
    file.rename(copy.with_name("away.db"))
    with pytest.raises(DatabaseUnavailable, match="does not answer"):
        _store(engine, "meanwhile")
    copy.with_name("away.db").rename(file)

    _store(engine, "after")

    assert _stored(file) == ["after", "before"]


def test_nobody_reads_that_a_damaged_file_is_safe(used):
    """Another program wrote to it, so that its inode is the same."""
    engine, file, _ = used
    with closing(sqlite3.connect(file)) as opened:
        opened.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    engine.dispose()
    with file.open("r+b") as pages:
        pages.seek(4096)
        pages.write(b"x" * (file.stat().st_size - 4096))

    with pytest.raises(DatabaseError) as damaged:
        _store(engine, "after")

    assert "safe" not in traces.sentence(damaged.value)
    assert "is damaged" in traces.sentence(damaged.value)


def test_no_link_changes_the_database_during_use(used, tmp_path):
    _, file, copy = used
    link = tmp_path / "link.db"
    link.symlink_to(file)
    engine = database.open_engine(settings.sqlite_url(link))
    _store(engine, "through the link")
    link.unlink()
    link.symlink_to(copy)

    with pytest.raises(DatabaseUnavailable, match="does not answer"):
        _store(engine, "after")

    engine.dispose()
    assert _stored(copy) == []

"""Checks this installation and reports problems in plain words. Changes nothing. What is imported at the top needs only
the standard library, so that the doctor can still report a missing package.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from triptych import clock, settings
from triptych.errors import TriptychError, UnsafeDatabase
from triptych.settings import app_folder, is_installed, program
from triptych.stats.numbers import counted

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

ROOT = app_folder()
PIN = re.compile(r"([A-Za-z0-9._-]+)(?:\[\w+\])?==([\w.]+)")
MIN_FREE_BYTES = 200 * 2**20
MAX_SKEW_SECONDS = 5.0  # between the database's clock and this computer's
MAY_MAKE_TABLES = "SELECT has_schema_privilege('public', 'CREATE')"


@dataclass(frozen=True)
class Diagnosis:
    """The result of one check: `problem` if it stops the app from working; the text gives the state, or the remedy."""

    about: str
    text: str
    problem: bool = False

    def __str__(self) -> str:
        return f"{'PROBLEM' if self.problem else 'ok':8}{self.about}: {self.text}"


def examine() -> Iterator[Diagnosis]:
    """All results, most basic checks first; checks that depend on a failed one are skipped."""
    yield Diagnosis("Python", platform.python_version())
    missing = [finding for finding in packages() if finding.problem]
    yield from missing
    if missing:
        return
    yield Diagnosis("packages", "all installed, in the tested versions")
    yield from files()
    about_folder = list(folder())
    yield from about_folder
    if any(finding.problem and finding.about == "folder" for finding in about_folder):
        return
    yield from secrets()
    yield mail()
    yield from stored()
    yield from errors()


def how_to_install(package: str = "") -> str:
    """The command that installs a package, or all packages, for this program; an installation has no .venv."""
    python, folder = (sys.executable, ROOT) if is_installed() else (".venv/bin/python", Path())
    everything = f"-r {shlex.quote(str(folder / 'requirements.txt'))}"
    return f"Run: {shlex.quote(python)} -m pip install {package or everything}"


def explain_missing(error: ModuleNotFoundError) -> str:
    """The message for a command that cannot be loaded because a package is missing."""
    return f"The package {error.name} is not installed for {sys.executable}. {how_to_install()}"


def show_error(number: str) -> str:
    """The command that shows a stored trace."""
    return f"{program()} server doctor --error {number}"


def packages(requirements: Path = ROOT / "requirements.txt") -> Iterator[Diagnosis]:
    """Every pinned package that is missing or has another version; psycopg only for PostgreSQL."""
    pins = PIN.findall("\n".join(line for line in requirements.read_text().splitlines() if "win32" not in line))
    if os.environ.get("TRIPTYCH_DATABASE_URL", "").startswith("postgresql"):
        pins.append(("psycopg", ""))
    for name, version in pins:
        try:
            installed = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            how = how_to_install("'psycopg[binary]'" if name == "psycopg" else "")
            yield Diagnosis("packages", f"{name} is not installed. {how}", problem=True)
            continue
        if version and installed != version:
            yield Diagnosis(
                "packages", f"{name} is {installed}, but {version} was tested. {how_to_install()}", problem=True
            )


def files() -> Iterator[Diagnosis]:
    """The files of the program other than Python."""
    parts = ("app.py", ".streamlit/config.toml", "pages/router.py", "components/workbench/workbench.js", "rubrics")
    lost = [name for name in parts if not (ROOT / name).exists()]
    if lost:
        how = "install the package again" if is_installed() else "copy the whole repository"
        yield Diagnosis("program", f"{', '.join(lost)} is missing in {ROOT}; {how}.", problem=True)
    elif Path.cwd() != ROOT and not is_installed():
        yield Diagnosis("program", f"complete; start the app in {ROOT}, where its settings are")
    else:
        yield Diagnosis("program", "complete")


def mail() -> Diagnosis:
    """The mail server for messages to leads; nothing is sent to it."""
    try:
        server = settings.mail_server()
    except settings.UnsafeSettings as error:
        return Diagnosis("mail", str(error), problem=True)
    if server is None:
        return Diagnosis("mail", "off; set TRIPTYCH_MAIL to use a mail server")
    return Diagnosis(
        "mail", f"messages to leads go to {server.host}, port {server.port}; encrypted: {server.encryption}"
    )


def folder() -> Iterator[Diagnosis]:
    """The app's data folder: whether it is writable and on a safe disk with room."""
    from triptych.storage import host, private

    try:
        private.refuse_unusable()
        place = settings.local_folder()
        if not settings.is_shared():
            host.refuse_unsafe_folder(place)
    except UnsafeDatabase as error:
        yield Diagnosis("folder", str(error), problem=True)
        return
    yield Diagnosis("folder", f"{place} can be read and written")
    yield disk(place)
    yield from permissions(place)


def permissions(place: Path) -> Iterator[Diagnosis]:
    """Whether only this user, or with TRIPTYCH_GROUP=1 their group, can read the app's files."""
    from triptych.storage import private

    if not private.is_held(place):
        text = f"This system does not support them in {place}. Restrict the folder with its own access rights."
        yield Diagnosis("permissions", text)
        return
    wrong = private.wrong()
    for path in wrong:
        run = f"Run: chmod {private.right_mode(path):o} {shlex.quote(str(path))}, or start the app"
        yield Diagnosis("permissions", f"{path} is not as private as it should be. {run}", problem=True)
    for folder in private.folders():
        if not os.access(folder, os.W_OK | os.X_OK):  # that of backups, since the data folder can be written to
            text = f"{folder} is no folder that this user can write to, so no backup can be made."
            yield Diagnosis("permissions", text, problem=True)
        mode = stat.S_IMODE(folder.stat().st_mode)
        if mode & private.umask() and folder not in wrong:
            run = f"Run: chmod {mode & ~private.umask():o} {shlex.quote(str(folder))}"
            problem = private.is_written_by_others(folder)
            yield Diagnosis("permissions", f"others can read {folder}. {run}", problem=problem)
    for folder in private.open_around():
        run = f"Run: chmod o-w {shlex.quote(str(folder))}, or set TRIPTYCH_HOME to another folder"
        yield Diagnosis(
            "permissions", f"others can replace the data folder or its backups in {folder}. {run}", problem=True
        )
    if not wrong:
        who = "this user and their group" if settings.group_may() else "this user alone"
        yield Diagnosis("permissions", f"the app's files are for {who}")


def errors() -> Iterator[Diagnosis]:
    """The stored traces of unexpected errors."""
    from triptych.storage import traces

    numbers = traces.stored_in(settings.local_folder())
    if numbers:
        newest = ", ".join(numbers[:3])
        text = f"{counted(len(numbers), 'trace')} stored, the newest: {newest}. To read one: {show_error(numbers[0])}"
        yield Diagnosis("errors", text)


def disk(place: Path) -> Diagnosis:
    """Whether a folder's disk has room for some days of work."""
    free = shutil.disk_usage(place).free
    if free < MIN_FREE_BYTES:
        text = f"{free // 2**20} MB free, and at least {MIN_FREE_BYTES // 2**20} MB are needed. Make room for the data."
        return Diagnosis("disk", text, problem=True)
    return Diagnosis("disk", f"{free / 2**30:.1f} GB free")


def secrets() -> Iterator[Diagnosis]:
    """Whether these secrets are strong enough for an app that others can reach."""
    try:
        settings.refuse_unsafe_secrets(None)
    except settings.UnsafeSettings as error:
        # sufficient if only this computer can reach the app
        yield Diagnosis("secrets", str(error), problem=settings.is_shared())
    else:
        source = "from the environment" if os.environ.get("TRIPTYCH_SECRET") else "generated at the first start"
        yield Diagnosis("secrets", source)


def stored() -> Iterator[Diagnosis]:
    """The database: whether it can be reached, has this program's schema, and meets the needs of its kind."""
    from sqlalchemy.exc import SQLAlchemyError

    from triptych.storage import database
    from triptych.storage.unavailable import explained

    url = settings.database_url()
    try:
        if database.backend_of(url) == "sqlite" and not database.sqlite_path(url).exists():
            yield Diagnosis("database", "none yet; created at the first start")
            return
        engine = database.open_engine(url)
        with explained(), engine.connect() as connection:
            yield from _postgres(connection) if settings.is_shared() else _sqlite(connection)
            may_make = not settings.is_shared() or bool(connection.exec_driver_sql(MAY_MAKE_TABLES).scalar())
        yield schema(engine, may_make)
        yield from backups(engine)
        engine.dispose()
    except (SQLAlchemyError, TriptychError) as error:
        yield Diagnosis("database", refusal(error), problem=True)


def refusal(error: Exception) -> str:
    """Why the database does not respond or what it refused: the driver's first line, which contains no password."""
    from sqlalchemy.exc import DBAPIError

    from triptych.storage.unavailable import SENTENCES, UNREACHABLE, DatabaseBusy, DatabaseUnavailable, is_unavailable

    if isinstance(error, DatabaseBusy):
        return "Another program is still using the database. Close it, and try again."
    if isinstance(error, TriptychError) and not isinstance(error, DatabaseUnavailable):
        return str(error)
    cause = error.__cause__ if isinstance(error, DatabaseUnavailable) else error
    if cause is None:
        return str(error)
    reason = str(getattr(cause, "orig", cause)).partition("\n")[0].rstrip(".")
    if isinstance(error, DatabaseUnavailable) and str(error) != UNREACHABLE:
        return f"{str(error).partition('.')[0]} ({reason})."
    if isinstance(cause, DBAPIError) and not is_unavailable(cause):
        return f"The database refused it: {reason}."
    if code := getattr(getattr(cause, "orig", cause), "sqlite_errorcode", None):
        sentence = SENTENCES.get(code & 0xFF, "")
        state = sentence.partition(".")[0] or "SQLite cannot use the file. Is its disk full or read-only?"
        return f"{state} ({reason})."
    is_connected = bool(getattr(getattr(cause, "orig", cause), "sqlstate", None))  # it named its reason
    advice = "" if is_connected else " Is it running? Are address, user and password in TRIPTYCH_DATABASE_URL right?"
    return f"The database does not respond: {reason}.{advice}"


def driver_words(error: Exception) -> str:
    """What the database's driver said; of a database that is unavailable, in a command's words and not in a page's."""
    from triptych.storage.unavailable import DatabaseUnavailable

    return refusal(error) if isinstance(error, DatabaseUnavailable) else str(getattr(error, "orig", error))


def schema(engine: Engine, may_make: bool = True) -> Diagnosis:
    """Whether the tables match this program; `may_make`: whether this role could create them."""
    from triptych.storage.schema import HEAD, stored_version
    from triptych.storage.unavailable import explained

    with explained():
        version = stored_version(engine)
    if version == HEAD:
        return Diagnosis("tables", f"version {version}")
    run = f"Run{'' if may_make else ' as the owner'}: {program()} data migrate"
    if version is None and may_make:
        return Diagnosis("tables", f"none yet; the app creates them at start, or run: {program()} data migrate")
    if version is None:
        return Diagnosis("tables", f"none yet, and this role may not create them. {run}", problem=True)
    return Diagnosis("tables", f"version {version}, and this program needs {HEAD}. {run}", problem=True)


def backups(engine: Engine) -> Iterator[Diagnosis]:
    """Whether the last scheduled backup failed; only a lead who opens the page would read it otherwise."""
    from triptych.operations.lasting import FAILED, SCHEDULE, SCHEDULED, schedule_settings
    from triptych.storage.database import reading
    from triptych.storage.schema import HEAD, stored_version

    if stored_version(engine) != HEAD:
        return
    with reading(engine) as session:
        stored = schedule_settings(session)
    try:
        schedule = SCHEDULED.validate_json(stored.get(SCHEDULE, "{}"))
    except ValueError:  # somebody edited the settings
        yield Diagnosis(
            "backups", "their schedule cannot be read. Choose it again under Setup → Backups.", problem=True
        )
        return
    if schedule.every_hours and stored.get(FAILED):
        yield Diagnosis("backups", f"the last scheduled one failed. {stored[FAILED]}", problem=True)


def _sqlite(connection: Connection) -> Iterator[Diagnosis]:
    answer = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
    if answer != "ok":
        yield Diagnosis("database", f"the file is damaged ({answer}). Restore a backup.", problem=True)
        return
    version: str = connection.exec_driver_sql("SELECT sqlite_version()").scalar_one()
    yield Diagnosis("database", f"SQLite {version}, whole")


def _postgres(connection: Connection) -> Iterator[Diagnosis]:
    from sqlalchemy import text

    from triptych.storage.database import POSTGRES_OVERFLOW, POSTGRES_POOL

    yield Diagnosis("database", f"PostgreSQL {connection.execute(text('SHOW server_version')).scalar()} answers")
    if connection.execute(text("SHOW server_encoding")).scalar() != "UTF8":
        yield Diagnosis(
            "database", "its encoding is not UTF8; create a new database with ENCODING 'UTF8'.", problem=True
        )
    database_time: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
    skew = abs((database_time - clock.of_this_computer()).total_seconds())
    if skew > MAX_SKEW_SECONDS:
        yield Diagnosis(
            "clock", f"{skew:.0f} s off the database's clock, which the app uses; synchronise both with NTP"
        )
    limit = int(connection.execute(text("SHOW max_connections")).scalar_one())
    yield Diagnosis("connections", f"{limit} at most; one app process uses up to {POSTGRES_POOL + POSTGRES_OVERFLOW}")
    may = text("SELECT to_regclass('rating') IS NULL OR has_table_privilege(to_regclass('rating'), 'INSERT')")
    if not connection.execute(may).scalar():
        yield Diagnosis("rights", "this role may not write. Run rights.sql of docs/deploy/ as the owner.", problem=True)

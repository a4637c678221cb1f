"""How commands open the database: for reading next to any server, or for writing while no server uses the same file."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar

import click
from sqlalchemy import Engine
from sqlmodel import Session

from triptych import settings
from triptych.cli.output import note
from triptych.errors import NotAllowed
from triptych.storage import database, private, schema

T = TypeVar("T")


@contextmanager
def private_and_patient(context: click.Context) -> Iterator[None]:
    """New files are private except within `for_people`; writes wait for other programs, with a message."""
    context.obj = os.umask(private.umask())
    try:
        with database.patient(note):
            yield
    finally:
        os.umask(context.obj)


def to_read() -> Engine:
    """The database without migration, for a command that may run next to a server of any version."""
    return schema.open_existing(settings.database_url(), changes=False)


def written(command: Callable[[Session], T]) -> T:
    """Run a command in a separate transaction, while no server uses the same SQLite file."""
    engine = database.open_engine(settings.database_url())
    with alone(engine):
        schema.migrate(engine)
        with database.writing(engine) as session:
            return command(session)


def alone(engine: Engine) -> AbstractContextManager[object]:
    """No server uses the same SQLite file within this context. Raises UnsafeDatabase."""
    return database.lock_server(engine) or nullcontext()


def passcode(question: str) -> str:
    """A passcode, typed without echo or read from the first line of piped input. Raises NotAllowed."""
    typed = getpass.getpass(question) if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    if any("\ud800" <= sign <= "\udfff" for sign in typed):  # no browser could send it
        raise NotAllowed("The passcode has letters that this system's locale does not know. Set PYTHONUTF8=1.")
    return typed

"""python -m triptych …: what a lead or an administrator does without the browser."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext

from sqlalchemy import Engine, select

from triptych import database, events, people, settings
from triptych.errors import TriptychError
from triptych.models import Study
from triptych.rubric import RUBRICS, json_schema, load_rubric, shipped_rubrics


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def schema(_: argparse.Namespace) -> int:
    """Write rubrics/schema.json, which lets editors complete rubric files."""
    (RUBRICS / "schema.json").write_text(json_schema(), encoding="utf-8")
    say("rubrics/schema.json is up to date.")
    return 0


def check(arguments: argparse.Namespace) -> int:
    """Check rubric files; without names, the shipped ones."""
    for path in arguments.files or [str(path) for path in shipped_rubrics().values()]:
        rubric = load_rubric(settings.ROOT / path)
        say(f"{path}: {rubric.title}, {len(rubric.criteria)} criteria, no problem found.")
    return 0


def migrate(_: argparse.Namespace) -> int:
    """Bring the database to this program's schema, after a backup."""
    _with_server_lock(database.migrate)
    say(f"The database is at version {database.HEAD}.")
    return 0


def verify(_: argparse.Namespace) -> int:
    """Check the event chain of every study; names the first event that was changed or removed."""
    engine, broken = _ready(), 0
    with database.reading(engine) as session:
        for study in session.scalars(select(Study).order_by(Study.id)):
            found = events.first_broken(session, study.id)
            broken += found is not None
            state = found or f"{study.event_number} events hold, last hash {study.event_hash[:12]}."
            say(f"{study.slug}: {state}")
    return 1 if broken else 0


def reset_passcode(arguments: argparse.Namespace) -> int:
    """Give a lead a new passcode."""
    passcode = getpass.getpass("New passcode: ")

    def reset(engine: Engine) -> None:
        with database.writing(engine) as session:
            people.reset_passcode(session, arguments.name, passcode)

    _with_server_lock(reset)
    say(f"{arguments.name} has a new passcode.")
    return 0


def _ready() -> Engine:
    engine = database.open_engine(settings.database_url())
    database.migrate(engine)
    return engine


def _with_server_lock(command: Callable[[Engine], None]) -> None:
    """Runs a writing command while no server uses the same SQLite file."""
    engine = database.open_engine(settings.database_url())
    lock = database.lock_server(engine)
    with closing(lock) if lock else nullcontext():
        database.migrate(engine)
        command(engine)


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "schema": schema,
    "check": check,
    "migrate": migrate,
    "verify": verify,
    "reset-passcode": reset_passcode,
}


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m triptych", description="Triptych without the browser.")
    choices = parser.add_subparsers(dest="command", required=True)
    for name, command in COMMANDS.items():
        choice = choices.add_parser(name, help=command.__doc__)
        if name == "check":
            choice.add_argument("files", nargs="*", help="rubric files")
        if name == "reset-passcode":
            choice.add_argument("name", help="the lead's name")
    arguments = parser.parse_args(words)
    try:
        return COMMANDS[arguments.command](arguments)
    except TriptychError as error:
        sys.stderr.write(f"{error}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())

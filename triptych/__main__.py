"""python -m triptych …: what a lead or an administrator does without the browser."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from triptych import doctor as examination

try:
    from sqlalchemy import Engine, make_url, select
    from sqlalchemy.exc import ArgumentError

    from triptych import database, events, moving, people, settings
    from triptych.errors import TriptychError
    from triptych.models import Study
    from triptych.rubric import RUBRICS, json_schema, load_rubric, shipped_rubrics
except ModuleNotFoundError as missing:
    sys.exit(examination.explain_missing(missing))


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


def doctor(_: argparse.Namespace) -> int:
    """Look at this installation and say in plain words what stands in its way; changes nothing."""
    return examination.report(say)


def move(arguments: argparse.Namespace) -> int:
    """Copy the database, or single studies, to another one (SQLite or PostgreSQL), and compare every row."""
    source = database.open_engine(settings.database_url())
    target = database.open_engine(settings.with_driver(arguments.target))
    with _alone(source), _alone(target):
        for moved in moving.move(source, target, arguments.study or ()):
            if moved.rows:
                say(f"{moved.table}: {moved.rows} rows, the same in both ({moved.digest[:12]}).")
    say(f"Every event chain holds. Start the app with TRIPTYCH_DATABASE_URL={make_url(arguments.target)!r}.")
    return 0


def reset_passcode(arguments: argparse.Namespace) -> int:
    """Give a lead a new passcode."""
    passcode = getpass.getpass("New passcode: ")

    def reset(engine: Engine) -> None:
        with database.writing(engine) as session:
            people.reset_passcode(session, arguments.name, passcode)

    _with_server_lock(reset)
    say(f"{arguments.name} has a new passcode.")
    return 0


def import_ratings(arguments: argparse.Namespace) -> int:
    """Show what finished ratings from elsewhere would become; with --write, make a closed study of them."""
    # numpy and the readers take half a second to import, which no other command needs
    from triptych import ratings_import

    found = ratings_import.from_paths(arguments)
    for line in (*map(str, found.problems), *found.told()):
        say(line)
    if not found.ok:
        return 2

    def write(engine: Engine) -> None:
        with database.writing(engine) as session:
            study = ratings_import.import_as(session, arguments.lead, arguments.title, found)
            say(f"The study {study.slug} was made.")

    if arguments.write:
        _with_server_lock(write)
    else:
        say("Nothing was written. Add --write to make the study.")
    return 0


def report(arguments: argparse.Namespace) -> int:
    """Write the report of a study, as it stands now, into a folder: tables, figures, datasheet, data, a script."""
    # numpy and the writers take a second to import, which no other command needs
    from triptych import exports, studies
    from triptych.reports.build import build_report

    with database.reading(_ready()) as session:
        exports.see_one_state(session)
        made = build_report(session, studies.by_slug(session, arguments.study))
    folder = Path(arguments.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in made.files.items():
        (folder / name).write_bytes(content)
    say(f"{len(made.files)} files. Snapshot {made.sha256}, last event {made.event_number}.")
    return 0


def _ready() -> Engine:
    engine = database.open_engine(settings.database_url())
    database.migrate(engine)
    return engine


def _with_server_lock(command: Callable[[Engine], None]) -> None:
    """Runs a writing command while no server uses the same SQLite file."""
    engine = database.open_engine(settings.database_url())
    with _alone(engine):
        database.migrate(engine)
        command(engine)


@contextmanager
def _alone(engine: Engine) -> Iterator[None]:
    """No server uses the same SQLite file meanwhile."""
    with ExitStack() as stack:
        lock = database.lock_server(engine)
        if lock:
            stack.enter_context(lock)
        yield


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "schema": schema,
    "check": check,
    "migrate": migrate,
    "verify": verify,
    "doctor": doctor,
    "move": move,
    "reset-passcode": reset_passcode,
    "import-ratings": import_ratings,
    "report": report,
}


def _ask_for_ratings(choice: argparse.ArgumentParser) -> None:
    choice.add_argument("lead", help="the name of the lead who will run the study")
    choice.add_argument("title", help="the study's title")
    choice.add_argument("files", nargs="*", help="files of ratings and highlights by people")
    choice.add_argument("--judge", action="append", default=[], help="a file of scores by a model")
    choice.add_argument("--items", help="a file of items, for the texts")
    choice.add_argument("--rubric", help="a rubric file; without it one is made from the values")
    choice.add_argument("--write", action="store_true", help="make the study")


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m triptych", description="Triptych without the browser.")
    choices = parser.add_subparsers(dest="command", required=True)
    for name, command in COMMANDS.items():
        choice = choices.add_parser(name, help=command.__doc__)
        if name == "check":
            choice.add_argument("files", nargs="*", help="rubric files")
        if name == "move":
            choice.add_argument("target", help="the address of an empty database: postgresql://… or sqlite:///…")
            choice.add_argument("--study", action="append", help="a study's short name; may stand several times")
        if name == "reset-passcode":
            choice.add_argument("name", help="the lead's name")
        if name == "report":
            choice.add_argument("study", help="the study's short name")
            choice.add_argument("folder", help="where to write; it is made if it is not there")
        if name == "import-ratings":
            _ask_for_ratings(choice)
    arguments = parser.parse_args(words)
    try:
        return COMMANDS[arguments.command](arguments)
    except (TriptychError, ArgumentError) as error:
        sys.stderr.write(f"{error}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())

"""python -m triptych …: what a lead or an administrator does without the browser."""

from __future__ import annotations

import argparse
import getpass
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlencode

from triptych.operations import doctor as examination

try:
    from sqlalchemy import Engine, make_url, select
    from sqlalchemy.exc import DBAPIError
    from sqlmodel import Session

    from triptych import settings
    from triptych.cli import studies
    from triptych.cli.run import run
    from triptych.errors import NotFound, TriptychError
    from triptych.formats.decode import ENCODINGS
    from triptych.operations import move as moving
    from triptych.operations import verify as verifying
    from triptych.people import accounts
    from triptych.rubric.files import (
        RUBRICS,
        json_schema,
        load_rubric,
        parse_rubric,
        shipped_rubrics,
    )
    from triptych.stats.numbers import counted
    from triptych.storage import database, private, traces
    from triptych.storage.models import Access, Round, Study, StudyState
    from triptych.study import lifecycle
    from triptych.study.persons import Who
    from triptych.study.settings import USUAL_CHECKS, USUAL_ORDER
except ModuleNotFoundError as missing:
    sys.exit(examination.explain_missing(missing))

COMMAND_LINE = "command line"
PLAIN = "\t\u200c\u200d"  # besides what is printable; the joiners belong to letters and emoji
T = TypeVar("T")


def say(text: str) -> None:
    sys.stdout.write(f"{visible(text)}\n")


def say_beside(path: str, text: str) -> None:
    """Says it on the standard error where the data go to the standard output."""
    (sys.stderr if path in studies.STANDARD_OUTPUT else sys.stdout).write(f"{visible(text)}\n")


def complain(text: str) -> None:
    """Says on the standard error what went wrong, in one line or several."""
    sys.stderr.write(f"{visible(text, PLAIN + chr(10))}\n")


def visible(text: str, plain: str = PLAIN) -> str:
    """The text as a terminal may have it: a stored title or id cannot hide, colour or write over other words."""
    return "".join(c if c.isprintable() or c in plain else repr(c)[1:-1] for c in text)


def schema(arguments: argparse.Namespace) -> int:
    """Write rubrics/schema.json, which lets editors complete rubric files."""
    with _for_people(arguments):
        (RUBRICS / "schema.json").write_text(json_schema(), encoding="utf-8")
    say("rubrics/schema.json is up to date.")
    return 0


def check(arguments: argparse.Namespace) -> int:
    """Check rubric files; without names, the shipped ones."""
    for path in arguments.files or [str(path) for path in shipped_rubrics().values()]:
        rubric = load_rubric(Path(path))
        say(f"{path}: {rubric.title}, {counted(len(rubric.criteria), 'criterion', 'criteria')}, no problem found.")
    return 0


def migrate(_: argparse.Namespace) -> int:
    """Bring the database to this program's schema, after a backup."""
    _written(lambda _: None)
    say(f"The database is at version {database.HEAD}.")
    return 0


def verify(arguments: argparse.Namespace) -> int:
    """Check every study against its event log: names the first event or row that was changed or removed by hand."""
    from triptych.operations import against

    heads = against.read(arguments.against) if arguments.against else []
    with database.reading(_to_read()) as session:
        verdicts = [verifying.verify(session, study) for study in session.scalars(select(Study).order_by(Study.id))]
        comparisons = [against.compare(session, head) for head in heads]
    if not verdicts:
        raise NotFound("There is no study in this database, so nothing was checked.")
    for verdict in verdicts:
        say(f"{verdict.slug}: {verdict.sentence}")
    for comparison in comparisons:
        say(comparison.sentence)
    holds = all(verdict.holds for verdict in verdicts) and all(comparison.holds for comparison in comparisons)
    return 0 if holds else 1


def doctor(arguments: argparse.Namespace) -> int:
    """Check this installation and report every problem with its remedy; changes nothing."""
    if arguments.error:
        for line in traces.text_of(arguments.error).split("\n"):
            say(line)
        return 0
    return examination.report(say)


def move(arguments: argparse.Namespace) -> int:
    """Copy the database, or single studies, to another one (SQLite or PostgreSQL), and compare every row."""
    source = database.open_engine(settings.database_url())
    target = database.open_engine(settings.with_driver(arguments.target))
    with _alone(source), _alone(target):
        for moved in moving.move(source, target, arguments.study or ()):
            if moved.rows:
                say(f"{moved.table}: {counted(moved.rows, 'row')}, the same in both ({moved.digest[:12]}).")
    say(f"Every event chain holds. Start the app with TRIPTYCH_DATABASE_URL={make_url(arguments.target)!r}.")
    return 0


def backup(_: argparse.Namespace) -> int:
    """Back the database up, in use or not, into the folder backups next to it."""
    from triptych.operations import backup as backups

    made = backups.make(_to_read())
    say(f"{made.path} ({made.size:,} bytes)")
    for head in made.heads:
        say(f"{head.slug}: last event {head.number}, hash {head.hash}")
    return 0


def restore(arguments: argparse.Namespace) -> int:
    """Go back to a backup; the state before is backed up first, and every study's log says so."""
    from triptych.operations import backup as backups

    engine = database.open_engine(settings.database_url())
    with _alone(engine):
        done = backups.restore(engine, Path(arguments.file), COMMAND_LINE, alone=True)
    say(f"Restored {done.name}. The state before is in {done.before or 'no file: it was empty'}.")
    for head in done.heads:
        say(f"{head.slug}: last event {head.number}, hash {head.hash}")
    for pseudonym in done.again:
        say(f"{pseudonym} withdrew or was erased after this backup and is in it again: repeat that.")
    return 0


def capsule(arguments: argparse.Namespace) -> int:
    """Write a study into one file that opens on another machine; it holds pseudonyms only, and the names of systems."""
    from triptych.operations import capsule as capsules

    with _for_people(arguments):
        studies.write(arguments.file, capsules.pieces(_to_read(), arguments.study))
    say_beside(arguments.file, f"The study is in {arguments.file}.")
    return 0


def open_capsule(arguments: argparse.Namespace) -> int:
    """Open a study capsule in an empty database (set TRIPTYCH_HOME to a new folder) and make a lead for it."""
    from triptych.operations import capsule as capsules

    engine = database.open_engine(settings.database_url())
    passcode = _passcode("Passcode of the new lead: ")
    with _alone(engine):
        head = capsules.open_capsule(Path(arguments.file), engine, arguments.lead, passcode)
    lead = accounts.read_name(arguments.lead)
    say(f"The study {head.slug} is there with {counted(head.number, 'event')}, and {lead} leads it.")
    return 0


def add_lead(arguments: argparse.Namespace) -> int:
    """Make a lead account."""
    passcode = _passcode("Passcode: ")
    lead = _written(lambda session: accounts.create_lead(session, arguments.name, passcode))
    say(f"Sign in with the name {lead.name} and the passcode. Leads and annotators see {lead.pseudonym}.")
    return 0


def reset_passcode(arguments: argparse.Namespace) -> int:
    """Give a lead a new passcode."""
    passcode = _passcode("New passcode: ")
    lead = _written(lambda session: accounts.reset_passcode(session, arguments.name, passcode))
    say(f"{lead.name} has a new passcode.")
    return 0


def import_ratings(arguments: argparse.Namespace) -> int:
    """Show what finished ratings from elsewhere would become; with --write, make a closed study of them."""
    # numpy and the readers take half a second to import, which no other command needs
    from triptych.cli import ratings
    from triptych.exchange import import_ratings as ratings_import
    from triptych.formats.model import in_words

    plan = lifecycle.StudyPlan(title=arguments.title)
    lifecycle.refuse_unusable_plan(plan)
    mapping = ratings.mapping_in(arguments.mapping, arguments.duplicates)
    files = ratings.ratings_in(arguments.files, arguments.judge, mapping, arguments.encoding)
    if arguments.mapping_out:
        studies.write(arguments.mapping_out, [ratings.mapping_of(files, mapping.duplicates).to_json().encode()])
    options = arguments.items, arguments.rubric, arguments.positive, mapping.duplicates, arguments.encoding
    assembled = ratings.assembled_from(plan.title, files, *options)
    for line in (*in_words(assembled.problems), *assembled.summary()):
        say(line)
    if not assembled.ok:
        return 2
    study = _made_if_asked(arguments, lambda session, who: ratings_import.import_ratings(session, plan, assembled, who))
    if study:
        say(f"The study {study.slug} was made.")
    return 0


def create_study(arguments: argparse.Namespace) -> int:
    """Show what files of items would become; with --write, make a draft study of them."""
    plan = lifecycle.StudyPlan(
        title=arguments.title,
        raters_per_item=arguments.raters,
        access=Access(arguments.access),
        round=Round(arguments.round),
        items_per_annotator=arguments.most,
        checks=USUAL_CHECKS,
        item_order=USUAL_ORDER,
    )
    lifecycle.refuse_unusable_plan(plan)
    text = studies.rubric_text(arguments.rubric)
    file = studies.items_from(arguments.files, arguments.encoding, arguments.mapping)
    rubric = parse_rubric(text, arguments.rubric)
    lifecycle.refuse_silent(rubric, plan.round)
    for problem in file.problems:
        say(str(problem))
    items, systems = counted(len(file.items), "item"), counted(len(file.systems), "system")
    say(f"{items} of {systems}, {counted(len(rubric.asked(plan.round)), 'question')} each.")
    if not file.ok:
        return 2
    study = _made_if_asked(arguments, lambda session, who: lifecycle.create_from_file(session, plan, text, file, who))
    if study:
        launch = shlex.join(["set-state", arguments.lead, study.slug, "open"])
        say(f"The draft study {study.slug} was made. Launch it: python -m triptych {launch}")
    return 0


def _made_if_asked(arguments: argparse.Namespace, make: Callable[[Session, Who], Study]) -> Study | None:
    """The study that the lead makes; None without --write."""
    if arguments.write:
        return _written(lambda session: make(session, studies.acting_lead(session, arguments.lead)))
    say("Nothing was written. Add --write to make the study.")
    return None


def set_state(arguments: argparse.Namespace) -> int:
    """Launch, open, pause or close a study."""
    state = StudyState(arguments.state)
    study = _written(lambda session: studies.set_state(session, arguments.lead, arguments.study, state))
    say(f"{study.slug} is {state}.")
    return 0


def invite(arguments: argparse.Namespace) -> int:
    """Make a personal link for each person named or on a CSV list; it is shown once and not stored."""
    made = _written(
        lambda session: studies.invite(
            session, arguments.lead, arguments.study, arguments.names, arguments.list, arguments.encoding
        )
    )
    for guest in made:
        link = f"{arguments.address.rstrip('/')}/?{urlencode({'join': guest.secret})}"
        say(f"{guest.pseudonym}\t{guest.name}\t{link}")
    return 0


def list_studies(_: argparse.Namespace) -> int:
    """List the studies with their short names."""
    with database.reading(_to_read()) as session:
        for study in session.scalars(select(Study).order_by(Study.id)):
            say(f"{study.slug}\t{study.round}\t{study.state}\t{counted(study.item_count, 'item')}\t{study.title}")
    return 0


def export(arguments: argparse.Namespace) -> int:
    """Write a study's data: the table ratings or highlights as CSV, or any format of the app as a zip."""
    with database.reading(_to_read()) as session, _for_people(arguments):
        studies.write(arguments.file, studies.exported(session, arguments.study, arguments.format))
    say_beside(arguments.file, f"Written to {arguments.file}.")
    return 0


def report(arguments: argparse.Namespace) -> int:
    """Write the current report of a study into a folder: tables, figures, datasheet, data, a script."""
    # numpy and the writers take a second to import, which no other command needs
    from triptych.exchange import exports
    from triptych.reports.build import build_report

    with database.reading(_to_read()) as session:
        exports.see_one_state(session)
        made = build_report(session, lifecycle.by_slug(session, arguments.study))
    with _for_people(arguments):
        for name, content in made.files.items():
            path = Path(arguments.folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    say(f"{counted(len(made.files), 'file')}. Snapshot {made.sha256}.")
    say(f"Last event {made.event_number}, hash {made.event_hash}.")
    return 0


@contextmanager
def _for_people(arguments: argparse.Namespace) -> Iterator[None]:
    """Files written meanwhile belong to the person who asked for them, and get the permissions of their other files."""
    private_umask = os.umask(arguments.umask)
    try:
        yield
    finally:
        os.umask(private_umask)


def _passcode(question: str) -> str:
    """Typed without being shown, or the first line of what is piped in."""
    return getpass.getpass(question) if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")


def _to_read() -> Engine:
    """The database as it is, for a command that may run next to a server of any version."""
    return database.open_to_read(settings.database_url())


def _written(command: Callable[[Session], T]) -> T:
    """Runs a command in a transaction of its own, while no server uses the same SQLite file."""
    engine = database.open_engine(settings.database_url())
    with _alone(engine):
        database.migrate(engine)
        with database.writing(engine) as session:
            return command(session)


@contextmanager
def _alone(engine: Engine) -> Iterator[None]:
    """No server uses the same SQLite file meanwhile."""
    with ExitStack() as stack:
        lock = database.lock_server(engine)
        if lock:
            stack.enter_context(lock)
        yield


OUTPUT = ("file", "the file to write; - is the standard output")
LEAD, STUDY = ("lead", "the name of the lead who does it"), ("study", "the study's short name")
# command → what it does, and its arguments that must be there
COMMANDS: dict[str, tuple[Callable[[argparse.Namespace], int], Sequence[tuple[str, str]]]] = {
    "run": (run, ()),
    "schema": (schema, ()),
    "check": (check, ()),
    "migrate": (migrate, ()),
    "verify": (verify, ()),
    "doctor": (doctor, ()),
    "backup": (backup, ()),
    "restore": (restore, [("file", "a backup")]),
    "move": (move, [("target", "the address of an empty database: postgresql://… or sqlite:///…")]),
    "capsule": (capsule, [STUDY, OUTPUT]),
    "open-capsule": (open_capsule, [("file", "the zip file"), ("lead", "the name of the lead to make")]),
    "add-lead": (add_lead, [("name", "the lead's name")]),
    "reset-passcode": (reset_passcode, [("name", "the lead's name")]),
    "studies": (list_studies, ()),
    "create-study": (create_study, [LEAD, ("title", "its title"), ("rubric", "a rubric file, or a shipped one's key")]),
    "set-state": (set_state, [LEAD, STUDY]),
    "invite": (invite, [LEAD, STUDY]),
    "export": (export, [STUDY, ("format", "ratings, highlights or a format"), OUTPUT]),
    "import-ratings": (import_ratings, [LEAD, ("title", "the study's title")]),
    "report": (report, [STUDY, ("folder", "where to write; it is made if it is not there")]),
}  # fmt: skip


READING_TEXTS = ("create-study", "import-ratings", "invite")


def _ask_for_more(name: str, choice: argparse.ArgumentParser) -> None:
    """The arguments of a command that may be left out, or are chosen from."""
    ask = choice.add_argument
    match name:
        case "run":
            ask("--address", help="the address to listen on; 127.0.0.1 unless set")
            ask("--port", type=int, help="the port to listen on; 8501 unless set")
        case "doctor":
            ask("--error", help="the id of an error: show its trace instead")
        case "check":
            ask("files", nargs="*", help="rubric files")
        case "verify":
            ask("--against", metavar="FILE", help="an earlier report, export, capsule or backup, or a hash from one")
        case "move":
            ask("--study", action="append", help="a study's short name; can be repeated")
        case "create-study":
            ask("files", nargs="+", help="a file of items, or SYSTEM=FILE for each system")
            ask("--mapping", help="a file that says which column of a single file has which role")
            ask("--raters", type=int, default=3, help="annotators per item")
            ask("--most", type=int, help="the most items for one annotator")
            ask("--access", choices=list(Access), default=Access.open, help="who may take part")
            ask("--round", choices=list(Round), default=Round.main, help="which round it is")
            ask("--write", action="store_true", help="make the study")
        case "set-state":
            ask("state", choices=["open", "paused", "closed"], help="what it becomes")
        case "invite":
            ask("names", nargs="*", help="the names of annotators")
            ask("--list", help="a CSV file with name, and if wanted email and role")
            ask("--address", default="http://localhost:8501", help="where the app is reached")
        case "import-ratings":
            ask(
                "files",
                nargs="*",
                help="files or folders of ratings by people, or GROUP=FILE for a group of annotators",
            )
            ask("--judge", action="append", default=[], help="a file of scores by a model")
            ask("--items", help="a file of items, for the texts")
            ask("--mapping", help="a file that says which column or level has which role")
            ask("--mapping-out", help="write the mapping that was used, to be changed and given as --mapping")
            second = "what a second rating of the same unit by the same annotator is"
            ask("--duplicates", choices=["error", "first", "last", "repeats"], help=second)
            ask("--rubric", help="a rubric file; without it one is made from the values")
            positive = "an option that counts as positive, as CRITERION=OPTION; can be repeated"
            ask("--positive", action="append", default=[], help=positive)
            ask("--write", action="store_true", help="make the study")


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m triptych", description="Triptych without the browser.")
    parser.add_argument("--version", action="version", version=f"triptych {settings.version()}")
    choices = parser.add_subparsers(dest="command", required=True)
    for name, (command, required) in COMMANDS.items():
        choice = choices.add_parser(name, help=command.__doc__, description=command.__doc__)
        for argument, about in required:
            choice.add_argument(argument, help=about)
        _ask_for_more(name, choice)
        if name in READING_TEXTS:
            choice.add_argument("--encoding", choices=list(ENCODINGS), help="the encoding of files that are not UTF-8")
    arguments = parser.parse_args(words)
    arguments.umask = os.umask(private.umask())
    try:
        with database.patient(lambda text: say_beside("-", text)):
            return COMMANDS[arguments.command][0](arguments)
    except (database.DatabaseAway, DBAPIError) as error:
        complain(f"{examination.refusal(error)} More: python -m triptych doctor")
    except TriptychError as error:
        complain(str(error))
    except OSError as error:
        complain(f"{error.filename or 'The file'}: {error.strerror}.")
    except Exception as error:  # noqa: BLE001 (its trace is stored)
        complain(f"{traces.sentence(error)} {examination.SHOW_ERROR} {traces.store(error)}")
    finally:
        os.umask(arguments.umask)
    return 2

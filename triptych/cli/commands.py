"""Declares every command with its arguments. The function that runs it is imported only then.

So `--help` and completion respond at once: the database and NumPy take a second to import.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import click

from triptych import settings
from triptych.cli.output import Reply, note

ENCODINGS = ("Shift-JIS", "GB18030", "Windows-1252")
TABLES = ("ratings", "highlights")
ZIPPED = ("csv", "parquet", "huggingface", "trl", "llm-comparator", "label-studio", "argilla", "potato", "events")
# group: commands that were not in a group once, and had this name unless RENAMED has another
UNGROUPED = {
    "server": ("run", "doctor"),
    "rubric": ("schema", "check"),
    "data": ("migrate", "verify", "backup", "restore", "move", "export"),
    "people": ("add-lead", "reset-passcode", "invite"),
    "study": ("studies", "create-study", "set-state", "import-ratings", "capsule", "open-capsule"),
}
FORMER = {name: group for group, names in UNGROUPED.items() for name in names}
RENAMED = {"studies": "list", "create-study": "create", "capsule": "export"}
EPILOG = "docs/commands.md lists every command, what it reads and writes, and the exit codes."


class LazyCommand(click.Command):
    """A command whose function is imported when it runs.

    target: "module:function" in triptych/cli; the function takes the arguments by name and returns a Reply.
    name: of the command, unless it is the function's.
    with_database: it may open the database, so its files are private and it waits for other programs.
    """

    def __init__(self, target: str, params: Sequence[click.Parameter] = (), *, name: str = "", **more: Any) -> None:
        self.target, self.with_database = target, more.pop("with_database", True)
        name = name or target.partition(":")[2].replace("_", "-")
        as_json = click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object instead of lines.")
        own = [as_json] if more.pop("with_json", True) else []
        super().__init__(name, params=[*params, *own], **more)

    def function(self) -> Callable[..., Reply]:
        module, _, name = self.target.partition(":")
        function: Callable[..., Reply] = getattr(import_module(f"triptych.cli.{module}"), name)
        return function

    def invoke(self, context: click.Context) -> int:
        as_json = context.params.pop("as_json", False)
        if self.with_database:
            from triptych.cli.opening import private_and_patient

            with private_and_patient(context):
                reply = self.function()(**context.params)
        else:
            reply = self.function()(**context.params)
        reply.print(as_json)
        return reply.code


class Root(click.Group):
    """The root command; without a subcommand it starts the app. Names of earlier versions still work."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(context, args or ["server", "run"])

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(context, renewed(args))


def renewed(words: list[str]) -> list[str]:
    """The current words of a command under a former name; prints a line about the new name on standard error."""
    former = words[0]
    if former in FORMER:
        words = [FORMER[former], RENAMED.get(former, former), *words[1:]]
    elif former == "report" and len(words) > 1 and words[1] not in REPORT.commands and not words[1].startswith("-"):
        words = ["report", "make", *words[1:]]
    else:
        return words
    note(f"`{former}` is now called `{settings.program()} {words[0]} {words[1]}`; the old name still works.")
    return words


class Name(click.ParamType):
    """A text in UTF-8: names would lose other letters, such as those of a terminal in Latin-1."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            value.encode()
        except UnicodeEncodeError:
            self.fail(f"{value!a} is not UTF-8.", param, ctx)
        return value


class FileName(click.ParamType):
    """A file that is named: an empty text, such as a script's unset variable, would be as if there were no option."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not value:
            self.fail("it names no file.", param, ctx)
        return value


def _group(name: str, about: str, *commands: click.Command) -> click.Group:
    return click.Group(name, commands=commands, help=about)


def _argument(name: str, about: str, **more: Any) -> click.Argument:
    return click.Argument([name], help=about, **more)


def _option(name: str, about: str, **more: Any) -> click.Option:
    return click.Option([name], help=about, show_default=True, **more)


def _file(name: str, about: str, **more: Any) -> click.Option:
    return _option(name, about, metavar="FILE", type=FileName(), **more)


def _choice(name: str, about: str, choices: Sequence[str], **more: Any) -> click.Option:
    return _option(name, about, type=click.Choice(choices), **more)


def _flag(name: str, about: str) -> click.Option:
    return click.Option([name], help=about, is_flag=True)


# parameters of several commands
LEAD = _argument("lead", "The name of the lead.", type=Name())
TITLE = _argument("title", "The study's title.")
WRITE = _flag("--write", "Store the study; without this, the command only shows what it would store.")
STUDY_NAME = _argument("study", "The study's short name.")
OUTPUT = _argument("file", "The file to write; - means standard output.")
ENCODING = _choice("--encoding", "The encoding of files that are not UTF-8.", ENCODINGS)
STUDY = _group(
    "study",
    "Create, launch, list, export and archive studies.",
    LazyCommand("study:list_studies", name="list", help="List the studies with their short names."),
    LazyCommand(
        "study:create",
        [
            LEAD,
            TITLE,
            _argument("rubric", "A rubric file, or the key of a shipped rubric."),
            _argument(
                "files",
                "A file of items, - for standard input, or SYSTEM=FILE for each system.",
                nargs=-1,
                required=True,
            ),
            _file("--mapping", "A mapping of columns to roles, for a single file of items."),
            _option("--raters", "Annotators per item.", type=int, default=3),
            _option("--most", "Maximum number of items per annotator. [default: no limit]", type=int),
            _choice("--access", "Who may take part.", ["open", "invited", "panel"], default="open"),
            _choice("--round", "Which round it is.", ["pilot", "main", "expert", "crowd"], default="main"),
            _choice(
                "--markdown",
                "Texts to show as formatted Markdown; can be repeated.",
                ["context", "responses", "extra_texts"],
                multiple=True,
            ),
            ENCODING,
            WRITE,
        ],
        help="Create a study from files of items. Without --write, the command checks the files and shows the study; "
        "with it, the study is stored as a draft.",
    ),
    LazyCommand(
        "study:set_state",
        [
            LEAD,
            STUDY_NAME,
            _argument("state", "The new state.", type=click.Choice(["open", "paused", "closed"])),
            _option(
                "--no-consent",
                "Why annotators are not asked for consent, for a draft without a consent text.",
                metavar="REASON",
            ),
        ],
        help="Launch, open, pause or close a study.",
    ),
    LazyCommand(
        "study:import_ratings",
        [
            LEAD,
            TITLE,
            _argument(
                "files",
                "Files or folders of ratings by people (- means standard input), or GROUP=FILE for a group of "
                "annotators.",
                nargs=-1,
            ),
            _file("--judge", "A file of scores by a judge model; can be repeated.", multiple=True),
            _file("--items", "A file of items, for the texts."),
            _file("--mapping", "A mapping of columns or levels to roles."),
            _file("--mapping-out", "Write the mapping that was used to a file, to be edited and passed as --mapping."),
            _choice(
                "--duplicates",
                "How to treat a second rating of the same unit by the same annotator. [default: as --mapping says, or "
                "error]",
                ["error", "first", "last", "repeats"],
            ),
            _file("--rubric", "A rubric file. [default: derived from the values]"),
            _option(
                "--positive",
                "An option that counts as positive; can be repeated.",
                multiple=True,
                metavar="CRITERION=OPTION",
            ),
            ENCODING,
            WRITE,
        ],
        help="Create a closed study from finished ratings. Without --write, the command checks the ratings and shows "
        "the study; with it, the study is stored.",
    ),
    LazyCommand(
        "study:export",
        [STUDY_NAME, OUTPUT],
        help="Write a study to one zip file, for import elsewhere. It contains the log, texts, ratings and the names "
        "of systems, and of people only pseudonyms.",
    ),
    LazyCommand(
        "study:archive",
        [
            STUDY_NAME,
            _argument("folder", "A new folder; not needed with --list-texts.", required=False),
            _option(
                "--licence",
                "The licence of the item texts, such as CC-BY-4.0; none leaves the texts out.",
                metavar="LICENCE",
                type=Name(),
            ),
            _flag("--blind", "Call systems System 1, 2, … although the study is unblinded."),
            _file(
                "--list-texts",
                "Write the texts that annotators agreed to publish to a CSV file for review, without making an "
                "archive.",
            ),
            _file("--release", "The reviewed file: the texts that are still in it go into the archive."),
        ],
        help="Write a closed study as web pages that open offline. The CSV files behind them are included. The archive "
        "contains only what annotators agreed to publish, without pseudonyms and without people who withdrew, and is "
        "logged.",
    ),
    LazyCommand(
        "study:import_study",
        [_argument("file", "The zip file; - means standard input."), LEAD],
        name="import",
        help="Add a study that `study export` wrote. Every row is checked against its log first; its annotators arrive "
        "as pseudonyms without logins.",
    ),
    LazyCommand(
        "study:open_capsule",
        [_argument("file", "The zip file."), _argument("lead", "The name of the lead to create.", type=Name())],
        help="Open an exported study in an empty database. Set TRIPTYCH_HOME to a new folder. The command also creates "
        "a lead; the passcode is read from the terminal or from the first line of standard input.",
    ),
)
PEOPLE = _group(
    "people",
    "Leads and their passcodes; personal links for annotators.",
    LazyCommand(
        "people:add_lead",
        [_argument("name", "The lead's name.", type=Name())],
        help="Create a lead account. The passcode is read from the terminal or from the first line of standard input.",
    ),
    LazyCommand(
        "people:reset_passcode",
        [_argument("name", "The lead's name.", type=Name())],
        help="Set a new passcode for a lead. It is read from the terminal or from the first line of standard input.",
    ),
    LazyCommand(
        "people:identity",
        [
            _argument("person", "A pseudonym, or a lead's name.", required=False, type=Name()),
            _argument("identity", "The identity that the proxy sends; omit it to remove the identity.", required=False),
        ],
        help="Assign a single sign-on identity, or list all. See docs/deploying.md.",
    ),
    LazyCommand(
        "people:invite",
        [
            LEAD,
            STUDY_NAME,
            _argument("names", "The names of annotators.", nargs=-1, required=False, type=Name()),
            _file(
                "--list",
                "A CSV file with the columns name, email, group and role (annotator or lead), all optional; - for "
                "standard input.",
            ),
            _option("--address", "The app's address, for the links.", default="http://localhost:8501", metavar="URL"),
            ENCODING,
        ],
        help="Create personal links. Each person named or on a CSV list gets one; links are shown once and not stored.",
    ),
)
DATA = _group(
    "data",
    "Export; back up, restore, move and check the database.",
    LazyCommand(
        "data:export",
        [
            STUDY_NAME,
            _argument(
                "format",
                f"ratings or highlights for one CSV file; for a zip: {', '.join(ZIPPED)}.",
                type=click.Choice([*TABLES, *ZIPPED]),
                metavar="FORMAT",
            ),
            OUTPUT,
        ],
        help="Write a study's data to a file.",
    ),
    LazyCommand(
        "data:backup",
        help="Back up the database, even while it is in use. The folder backups next to it gets the file.",
    ),
    LazyCommand(
        "data:restore",
        [_argument("file", "A backup; - means standard input.")],
        help="Restore a backup. The current state is backed up first, and every study's log records the restore.",
    ),
    LazyCommand(
        "data:move",
        [
            _argument(
                "target",
                "An empty database, postgresql://…, or a new file, sqlite:///…; put a password in PGPASSWORD instead.",
                type=Name(),
            ),
            _option(
                "--study",
                "A study to copy, by its short name; can be repeated. [default: all]",
                multiple=True,
                metavar="STUDY",
            ),
        ],
        help="Copy the database, or some studies, to another one. Either may be SQLite or PostgreSQL; every row is "
        "compared afterwards.",
    ),
    LazyCommand("data:migrate", help="Upgrade the database to this version's schema, after a backup."),
    LazyCommand(
        "data:verify",
        [_file("--against", "An earlier report, export, capsule or backup, or a hash from one.")],
        help="Check every study against its event log. Reports the first event or row that was changed or removed "
        "outside the app.",
    ),
)
REPORT = _group(
    "report",
    "Reports of a study.",
    LazyCommand(
        "report:make",
        [STUDY_NAME, _argument("folder", "A new or empty folder; - writes a zip to standard output.")],
        help="Write the current report of a study. It contains tables, figures, a datasheet, the data and a script "
        "that recomputes every number.",
    ),
)
PORT = click.IntRange(1, 65535)
SERVER = _group(
    "server",
    "Start the app; check this installation.",
    LazyCommand(
        "server:run",
        [
            _option("--address", "The address to listen on; 0.0.0.0 means all. [default: 127.0.0.1]"),
            _option("--port", "The port to listen on. [default: the first free port from 8501]", type=PORT),
        ],
        with_database=False,
        with_json=False,
        help="Start the app; Ctrl+C stops it. `triptych` without a command does the same.",
    ),
    LazyCommand(
        "server:doctor",
        [_option("--error", "The id of an error: show its trace instead.", metavar="ID")],
        with_database=False,
        help="Check this installation and report every problem with its remedy. "
        "Changes nothing, but creates a missing data folder.",
    ),
)
RUBRIC = _group(
    "rubric",
    "Check rubric files.",
    LazyCommand(
        "rubric:check",
        [_argument("files", "Rubric files; - means standard input.", nargs=-1, required=False)],
        help="Check rubric files, by default the shipped ones.",
    ),
    LazyCommand("rubric:schema", help="Write rubrics/schema.json for completion in editors."),
)
SHARE = LazyCommand(
    "server:share",
    with_database=False,
    help="Show what colleagues on this network open, with a QR code.",
)
COMPLETION = LazyCommand(
    "completion:script",
    [_argument("shell", "Your shell.", type=click.Choice(["bash", "zsh", "fish"]))],
    with_database=False,
    with_json=False,
    name="completion",
    help='Print shell completion. To use it: eval "$(triptych completion bash)".',
)


def root() -> click.Group:
    """The whole command line."""
    commands = Root(
        "triptych",
        commands=[STUDY, PEOPLE, DATA, REPORT, SERVER, RUBRIC, SHARE, COMPLETION],
        help="Human evaluation of generated responses. Without a command, the app starts.",
        epilog=EPILOG,
    )
    version = {"prog_name": "triptych", "message": "%(prog)s %(version)s", "help": "Print the version."}
    return click.version_option(settings.version(), **version)(commands)

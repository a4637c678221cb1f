"""Every command with its arguments, and the function that runs it, which is imported only then.

So `--help` and completion answer at once: the database and NumPy take a second to import.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import click

from triptych import settings
from triptych.cli.output import Reply, complain

ENCODINGS = ("Shift-JIS", "GB18030", "Windows-1252")
# old name: the group it is in now; its name there is the same unless RENAMED says otherwise
FORMER = {
    "run": "server",
    "doctor": "server",
    "schema": "rubric",
    "check": "rubric",
    "migrate": "data",
    "verify": "data",
    "backup": "data",
    "restore": "data",
    "move": "data",
    "export": "data",
    "add-lead": "people",
    "reset-passcode": "people",
    "invite": "people",
    "studies": "study",
    "create-study": "study",
    "set-state": "study",
    "import-ratings": "study",
    "capsule": "study",
    "open-capsule": "study",
}
RENAMED = {"studies": "list", "create-study": "create", "capsule": "export"}
EPILOG = "docs/commands.md lists every command, what it reads and writes, and the exit codes."


class LazyCommand(click.Command):
    """A command whose function is imported when it runs.

    target: "module:function" of triptych/cli; the function takes the arguments by name and gives a Reply.
    with_database: it may open the database, so that it writes private files and waits for other programs.
    """

    def __init__(self, name: str, target: str, params: Sequence[click.Parameter] = (), **more: Any) -> None:
        self.target, self.with_database = target, more.pop("with_database", True)
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
    """The commands; without any, the app starts. Names of earlier versions lead on."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(context, args or ["server", "run"])

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(context, renewed(args))


def renewed(words: list[str]) -> list[str]:
    """The words of today for a command as earlier versions called it, with a line about it on the standard error."""
    former = words[0]
    if former in FORMER:
        words = [FORMER[former], RENAMED.get(former, former), *words[1:]]
    elif former == "report" and len(words) > 1 and words[1] not in REPORT.commands and not words[1].startswith("-"):
        words = ["report", "make", *words[1:]]
    elif words[:2] == ["study", "capsule"]:
        former, words = "study capsule", ["study", "export", *words[2:]]
    else:
        return words
    complain(f"`{former}` is now called `{settings.program()} {words[0]} {words[1]}`; the old name still works.")
    return words


def _group(name: str, about: str, *commands: click.Command, **more: Any) -> click.Group:
    return click.Group(name, commands=commands, help=about, **more)


def _argument(name: str, about: str, **more: Any) -> click.Argument:
    return click.Argument([name], help=about, **more)


def _option(name: str, about: str, **more: Any) -> click.Option:
    return click.Option([name], help=about, show_default=True, **more)


def _flag(name: str, about: str) -> click.Option:
    return click.Option([name], help=about, is_flag=True)


def _lead() -> click.Argument:
    return _argument("lead", "The name of the lead who does it.")


def _study() -> click.Argument:
    return _argument("study", "The study's short name.")


def _output() -> click.Argument:
    return _argument("file", "The file to write; - is the standard output.")


def _encoding() -> click.Option:
    return _option("--encoding", "The encoding of files that are not UTF-8.", type=click.Choice(ENCODINGS))


STUDY = _group(
    "study",
    "Make, launch and list studies; archive one in a file.",
    LazyCommand("list", "study:list_studies", help="List the studies with their short names."),
    LazyCommand(
        "create",
        "study:create",
        [
            _lead(),
            _argument("title", "Its title."),
            _argument("rubric", "A rubric file, or a shipped one's key."),
            _argument(
                "files",
                "A file of items, - for the standard input, or SYSTEM=FILE for each system.",
                nargs=-1,
                required=True,
            ),
            _option("--mapping", "A file that says which column of a single file has which role.", metavar="FILE"),
            _option("--raters", "Annotators per item.", type=int, default=3),
            _option("--most", "The most items for one annotator; without it, no limit.", type=int),
            _option("--access", "Who may take part.", type=click.Choice(["open", "invited", "panel"]), default="open"),
            _option(
                "--round", "Which round it is.", type=click.Choice(["pilot", "main", "expert", "crowd"]), default="main"
            ),
            _option(
                "--markdown",
                "Texts that are shown as formatted Markdown; can be repeated.",
                type=click.Choice(["context", "responses", "extra_texts"]),
                multiple=True,
            ),
            _encoding(),
            _flag("--write", "Make the study; without it the command only shows what it would make."),
        ],
        help="Show what files of items would become; with --write, make a draft study of them.",
    ),
    LazyCommand(
        "set-state",
        "study:set_state",
        [
            _lead(),
            _study(),
            _argument("state", "What it becomes.", type=click.Choice(["open", "paused", "closed"])),
            _option("--no-consent", "Why the annotators of a draft are not asked for consent.", metavar="REASON"),
        ],
        help="Launch, open, pause or close a study.",
    ),
    LazyCommand(
        "import-ratings",
        "study:import_ratings",
        [
            _lead(),
            _argument("title", "The study's title."),
            _argument(
                "files",
                "Files or folders of ratings by people (- is the standard input), or GROUP=FILE for a group of people.",
                nargs=-1,
            ),
            _option("--judge", "A file of scores by a model; can be repeated.", multiple=True, metavar="FILE"),
            _option("--items", "A file of items, for the texts.", metavar="FILE"),
            _option("--mapping", "A file that says which column or level has which role.", metavar="FILE"),
            _option(
                "--mapping-out",
                "Write the mapping that was used, to be changed and given as --mapping.",
                metavar="FILE",
            ),
            _option(
                "--duplicates",
                "What a second rating of the same unit by the same annotator is.",
                type=click.Choice(["error", "first", "last", "repeats"]),
            ),
            _option("--rubric", "A rubric file; without it one is made from the values.", metavar="FILE"),
            _option(
                "--positive",
                "An option that counts as positive; can be repeated.",
                multiple=True,
                metavar="CRITERION=OPTION",
            ),
            _encoding(),
            _flag("--write", "Make the study; without it the command only shows what it would make."),
        ],
        help="Show what finished ratings from elsewhere would become; with --write, make a closed study of them.",
    ),
    LazyCommand(
        "export",
        "study:export",
        [_study(), _output()],
        help="Write a study with its log, texts and ratings into one zip file, to be imported elsewhere; it holds "
        "pseudonyms only, and the names of systems.",
    ),
    LazyCommand(
        "archive",
        "study:archive",
        [
            _study(),
            _argument("folder", "A new folder; not needed with --list-texts.", required=False),
            _option(
                "--licence",
                "The licence of the item texts, such as CC-BY-4.0; none leaves the texts out.",
                metavar="LICENCE",
            ),
            _flag("--blind", "Call systems System 1, 2, … although the study is unblinded."),
            _option(
                "--list-texts",
                "Write what annotators wrote and agreed to publish into a CSV file, to be read; makes no archive.",
                metavar="FILE",
            ),
            _option(
                "--release",
                "That file after somebody has read it: the texts that are still in it go into the archive.",
                metavar="FILE",
            ),
        ],
        help="Write a closed study as pages that open without a network, with the CSV files they are made of. It holds "
        "what annotators agreed to publish, without pseudonyms and without people who withdrew. The log says so.",
    ),
    LazyCommand(
        "import",
        "study:import_study",
        [_argument("file", "The zip file; - is the standard input."), _lead()],
        help="Add a study that `study export` wrote to the studies of this database, after checking every row against "
        "its log. Its annotators arrive as pseudonyms without logins.",
    ),
    LazyCommand(
        "open-capsule",
        "study:open_capsule",
        [_argument("file", "The zip file."), _argument("lead", "The name of the lead to make.")],
        help="Open an exported study in an empty database (set TRIPTYCH_HOME to a new folder) and make a lead for it. "
        "The passcode is asked for, or is the first line of the standard input.",
    ),
)
PEOPLE = _group(
    "people",
    "Leads and their passcodes; personal links for annotators.",
    LazyCommand(
        "add-lead",
        "people:add_lead",
        [_argument("name", "The lead's name.")],
        help="Make a lead account. The passcode is asked for, or is the first line of the standard input.",
    ),
    LazyCommand(
        "reset-passcode",
        "people:reset_passcode",
        [_argument("name", "The lead's name.")],
        help="Give a lead a new passcode, which is asked for, or is the first line of the standard input.",
    ),
    LazyCommand(
        "identity",
        "people:identity",
        [
            _argument("person", "A pseudonym, or a lead's name.", required=False),
            _argument("identity", "What the proxy sends for them; without it, none.", required=False),
        ],
        help="Say by which identity a single sign-on lets a person in; list all identities. docs/deploying.md",
    ),
    LazyCommand(
        "invite",
        "people:invite",
        [
            _lead(),
            _study(),
            _argument("names", "The names of annotators.", nargs=-1, required=False),
            _option(
                "--list",
                "A CSV file with name, and if wanted email and role; - for the standard input.",
                metavar="FILE",
            ),
            _option("--address", "Where the app is reached.", default="http://localhost:8501", metavar="URL"),
            _encoding(),
        ],
        help="Make a personal link for each person named or on a CSV list; it is shown once and not stored.",
    ),
)
DATA = _group(
    "data",
    "Export; back up, restore, move and check the database.",
    LazyCommand(
        "export",
        "data:export",
        [_study(), _argument("format", "ratings or highlights (CSV), or any format of the app (zip)."), _output()],
        help="Write a study's data.",
    ),
    LazyCommand(
        "backup", "data:backup", help="Back the database up, in use or not, into the folder backups next to it."
    ),
    LazyCommand(
        "restore",
        "data:restore",
        [_argument("file", "A backup; - is the standard input.")],
        help="Go back to a backup; the state before is backed up first, and every study's log says so.",
    ),
    LazyCommand(
        "move",
        "data:move",
        [
            _argument(
                "target",
                "The address of an empty database: postgresql://… or sqlite:///…; a password is better in PGPASSWORD.",
            ),
            _option("--study", "A study's short name; can be repeated.", multiple=True),
        ],
        help="Copy the database, or single studies, to another one (SQLite or PostgreSQL), and compare every row.",
    ),
    LazyCommand("migrate", "data:migrate", help="Bring the database to this program's schema, after a backup."),
    LazyCommand(
        "verify",
        "data:verify",
        [
            _option(
                "--against",
                "An earlier report, export, capsule or backup, or a hash from one.",
                metavar="FILE",
            )
        ],
        help="Check every study against its event log: names the first event or row that was changed or removed by "
        "hand.",
    ),
)
REPORT = _group(
    "report",
    "Reports of a study.",
    LazyCommand(
        "make",
        "report:make",
        [_study(), _argument("folder", "A new or empty folder; - writes a zip to standard output.")],
        help="Write the current report of a study: tables, figures, datasheet, data, a script.",
    ),
)
PORT = click.IntRange(1, 65535)
SERVER = _group(
    "server",
    "Start the app; check this installation.",
    LazyCommand(
        "run",
        "server:run",
        [
            _option("--address", "The address to listen on; 0.0.0.0 is all. [default: 127.0.0.1]"),
            _option("--port", "The port to listen on. [default: the first free one from 8501 on]", type=PORT),
        ],
        with_database=False,
        with_json=False,
        help="Start the app; Ctrl+C stops it. `triptych` without a command does the same.",
    ),
    LazyCommand(
        "doctor",
        "server:doctor",
        [_option("--error", "The id of an error: show its trace instead.", metavar="ID")],
        with_database=False,
        help="Check this installation and report every problem with its remedy; changes nothing.",
    ),
)
RUBRIC = _group(
    "rubric",
    "Check rubric files.",
    LazyCommand(
        "check",
        "rubric:check",
        [_argument("files", "Rubric files; - is the standard input.", nargs=-1, required=False)],
        help="Check rubric files; without names, the shipped ones.",
    ),
    LazyCommand("schema", "rubric:schema", help="Write rubrics/schema.json, which lets editors complete rubric files."),
)
SHARE = LazyCommand(
    "share",
    "server:share",
    with_database=False,
    help="Show what colleagues in the same network open: address and QR code.",
)
COMPLETION = LazyCommand(
    "completion",
    "completion:script",
    [_argument("shell", "Your shell.", type=click.Choice(["bash", "zsh", "fish"]))],
    with_database=False,
    with_json=False,
    help='Print what completes commands in a shell: eval "$(triptych completion bash)".',
)


def root() -> click.Group:
    """The whole command line."""
    version = click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_version,
        help="Print the version.",
    )
    return Root(
        "triptych",
        params=[version],
        commands=[STUDY, PEOPLE, DATA, REPORT, SERVER, RUBRIC, SHARE, COMPLETION],
        help="Human evaluation of generated responses. Without a command, the app starts.",
        epilog=EPILOG,
    )


def _print_version(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked and not context.resilient_parsing:
        click.echo(f"triptych {settings.version()}")
        context.exit()

"""docs/commands.md, written from the commands themselves: `make reference` writes it, and a test compares."""

from __future__ import annotations

from collections.abc import Iterator

import click

from triptych.cli.commands import FORMER, RENAMED, root
from triptych.cli.main import EXIT_CODES

BEGINNING = """# Commands
Written from the code by `make reference`; do not edit.

An installation has the command `triptych`; in a checkout write `.venv/bin/python -m triptych` instead. Without
arguments it starts the app. Data are in the folder `TRIPTYCH_HOME`; without it in `data/local/` of a checkout, also if
an installed `triptych` is started in one, else in the user's data folder (`~/.local/share/triptych` on Linux). The
command prints where.

- `--json` prints one object instead of lines. Errors are sentences on the standard error all the same, and so is
  progress. Where a command writes its data to the standard output (`-`), what it says goes to the standard error.
- `-` as a file of items, ratings, people or a rubric, as an exported study or a backup, is the standard input. A file
  of items that is piped in is taken for JSON, XLSX or Parquet by its first bytes, else for CSV.
- `eval "$(triptych completion bash)"` completes commands and options; zsh and fish likewise.
- These work while the app runs: `study list`, `study create` and `study import-ratings` without `--write`,
  `study export`, `study archive --list-texts`, `data export`, `data backup`, `data verify`, `report make`,
  `server doctor`, `rubric check` and `share`. All others write, and need an SQLite database to themselves: they say
  "stop the app first" and change nothing. A script asks the running app instead, and proves itself by a file in the
  data folder that is new at each start and only its owner can read (`tt.open`, docs/scripting.md).

| exit code | when |
|---|---|
"""


def reference() -> str:
    """The whole page."""
    codes = [f"| {code} | {when} |" for code, when in EXIT_CODES.items()]
    parts = [BEGINNING + "\n".join(codes), *_sections(root()), _former()]
    return "\n\n".join(parts) + "\n"


def _sections(group: click.Group) -> Iterator[str]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield f"## {name}\n{command.help}"
            yield from (_command(f"triptych {name} {inner.name}", inner) for inner in command.commands.values())
        else:
            yield f"## {name}"
            yield _command(f"triptych {name}", command)


def _command(path: str, command: click.Command) -> str:
    context = click.Context(command, info_name=path)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    lines = [f"### {path.removeprefix('triptych ')}", "```", usage, "```", command.help or "", ""]
    records = [parameter.get_help_record(context) for parameter in command.params]
    lines += ["| argument or option | what |", "|---|---|"] if any(records) else []
    lines += [f"| `{_cell(record[0])}` | {_cell(record[1])} |" for record in records if record]
    return "\n".join(lines).rstrip()


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _former() -> str:
    rows = [f"| `{old}` | `{group} {RENAMED.get(old, old)}` |" for old, group in FORMER.items()]
    about = "They still work, with a line on the standard error that says what they are called now."
    rows.append("| `report` | `report make` |")
    return "\n".join(["## Names of earlier versions", about, "", "| was | is |", "|---|---|", *rows])

"""`triptych`, or `python -m triptych` in a checkout: the work of leads and administrators without a browser."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from triptych import settings
from triptych.operations import doctor

try:
    import click

    from triptych.cli.commands import root
    from triptych.cli.output import note
except ModuleNotFoundError as missing:
    sys.exit(doctor.explain_missing(missing))

REFUSED, BROKEN, INTERRUPTED = 2, 3, 130
# exit code: its meaning, printed in docs/commands.md
EXIT_CODES = {
    0: "Done, or the check found nothing.",
    1: "A check found a problem: `data verify`, `server doctor`. Or the command was carried out, and its answer cannot "
    "be written, such as to a pipe that nobody reads any more or a full disk.",
    REFUSED: "Refused, with the reason on standard error: wrong arguments, an unreadable file, a rule of the study, a "
    "database that does not respond. Nothing was stored. If the connection to PostgreSQL was lost at the very end, "
    "the change may be stored nevertheless: check before you repeat the command.",
    BROKEN: "A bug in the program; the message names the stored trace. Or `server run` did not start the app, with the "
    "reason on the terminal.",
    INTERRUPTED: "Ctrl+C.",
}


def main(words: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    # Streams that a script or a service closed. Otherwise the first file or socket that the app opens is its stdout.
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(number, True)
    os.close(number)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 (open to the end)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may lack characters of a name or a title
    settings.ignore_build_date()
    command = root()
    try:
        program = settings.program()
        code = command.main(words, program, complete_var="_TRIPTYCH_COMPLETE", standalone_mode=False)
    except click.ClickException as error:
        text = io.StringIO()
        error.show(text)
        usage, has_complaint, _ = text.getvalue().partition("Error: ")
        complaint = " ".join(error.format_message().split())  # it quotes what was typed, and lists values in lines
        note(*usage.splitlines(), *([f"Error: {complaint}"] if has_complaint else []))
        return error.exit_code if error.exit_code != 1 else REFUSED
    except click.Abort:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 (its trace is stored)
        return _explained(error)
    return int(code or 0)


def _explained(error: Exception) -> int:
    """Print what went wrong and return the exit code. Imports are inside, so that successful commands skip them."""
    if isinstance(error, ModuleNotFoundError):
        note(doctor.explain_missing(error))
        return REFUSED
    from sqlalchemy.exc import DBAPIError

    from triptych.errors import TriptychError
    from triptych.storage import traces
    from triptych.storage.unavailable import DatabaseUnavailable

    if isinstance(error, DatabaseUnavailable | DBAPIError):
        note(f"{doctor.refusal(error)} More: {settings.program()} server doctor")
    elif isinstance(error, TriptychError):
        note(*error.args)
    elif isinstance(error, OSError):
        note(f"{error.filename or 'A file, or the current folder'}: {error.strerror}.")
    else:
        note(f"{traces.sentence(error)} {doctor.show_error(traces.store(error))}")
        return BROKEN
    return REFUSED

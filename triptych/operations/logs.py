"""Formats log lines without personal data, as text for a terminal or as JSON for a collector.

A library's message may quote what people wrote, their address or the page they requested. A line of another package is
therefore reduced to its template without values, or to the place in the code that wrote it. An error is reduced to its
type and the id of its stored trace (triptych.storage.traces). Our own lines contain nothing personal.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from triptych import settings
from triptych.errors import UnsafeDatabase
from triptych.settings import UnsafeSettings
from triptych.storage import traces
from triptych.storage.unavailable import DatabaseUnavailable

OURS = "triptych"
# their messages address the person who runs the app, name no person, and state the remedy
FOR_OPERATORS = (DatabaseUnavailable, UnsafeDatabase, UnsafeSettings)
# absolute paths of at least two parts, Windows paths included, and e-mail addresses; not the address of a page
PRIVATE = re.compile(r"(?<![\w:/.])/[^\s/'\"]+(?:/[^\s'\"]*)+|\b[A-Za-z]:\\[^\s'\"]+|[\w.+-]+@[\w-]+\.[\w.-]+")


def fields(record: logging.LogRecord) -> dict[str, Any]:
    """The logged fields of a record: time (UTC), level, logger, process and message.

    For an error also its type, and the id of its stored trace; an error in FOR_OPERATORS gives its message instead.
    """
    line: dict[str, Any] = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "process": record.process,
        "message": _message(record),
    }
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        line["error"] = type(error).__name__
        if isinstance(error, FOR_OPERATORS):
            line["reason"] = scrubbed(str(error))
        else:
            line["id"] = traces.store(error)
    return line


def scrubbed(text: str) -> str:
    """A text without absolute paths and e-mail addresses."""
    return PRIVATE.sub("[...]", text)


def _message(record: logging.LogRecord) -> str:
    """The text to log: of our own records the message, of others only the first line of the template.

    A record of another package without arguments may already contain values, so the place in the code that wrote it is
    logged instead.
    """
    if record.name.partition(".")[0] == OURS:
        return scrubbed(record.getMessage())
    if record.args:
        return scrubbed(str(record.msg).partition("\n")[0])
    return f"{'/'.join(Path(record.pathname).parts[-3:])}:{record.lineno}"


class JsonLines(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(fields(record), ensure_ascii=False)


class TextLines(logging.Formatter):
    """One line of text: time, level, logger, message, and an error's type and id."""

    def format(self, record: logging.LogRecord) -> str:
        logged = fields(record)
        line = f"{logged['time']} {logged['level']} {logged['logger']}: {logged['message']}"
        if "error" in logged:
            line += f" [{logged['error']}] {logged.get('reason') or 'error ' + logged['id']}"
        return line


def settle() -> None:
    """Apply our formatter to all loggers of this process, also to later ones. Call it once, when the server starts."""
    formatter = JsonLines() if settings.logs_json() else TextLines()

    class Settled(logging.Logger):
        """A logger whose handlers write our lines, whichever library adds them."""

        def addHandler(self, handler: logging.Handler) -> None:  # noqa: N802 (the name is logging's)
            handler.setFormatter(formatter)
            super().addHandler(handler)

    logging.setLoggerClass(Settled)
    made = [logger for logger in logging.root.manager.loggerDict.values() if isinstance(logger, logging.Logger)]
    if not logging.root.handlers:
        logging.root.addHandler(logging.StreamHandler())
    for logger in (logging.root, *made):
        for handler in logger.handlers:
            handler.setFormatter(formatter)
    if logging.lastResort:  # handles loggers without a handler: uvicorn.error, below Streamlit
        logging.lastResort.setFormatter(formatter)
    logging.getLogger(OURS).setLevel(logging.INFO)
    _take_over_what_python_prints()
    # no line per request or connection: their addresses contain personal links, and without these the lines are of no
    # use; no line per malformed request either, as strangers could fill the disk with them
    logging.getLogger("uvicorn.access").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)


def _take_over_what_python_prints() -> None:
    """Log uncaught exceptions and warnings, which Python prints by default."""
    logging.captureWarnings(True)
    logging.raiseExceptions = False  # otherwise a line that cannot be written would be printed with its values
    sys.excepthook = lambda _, error, __: _note(error)
    threading.excepthook = lambda unhandled: _note(unhandled.exc_value)
    sys.unraisablehook = lambda unhandled: _note(unhandled.exc_value)


def _note(error: BaseException | None) -> None:
    if isinstance(error, Exception):  # Ctrl+C raises no Exception
        logging.getLogger(OURS).error("An error was not handled.", exc_info=error)

"""Log lines without personal data, as text for a terminal or as JSON for a collector.

A library's message may quote what people wrote, where they came from or what they asked for. Of other programs' lines
only the unfilled template stays, of their errors only the kind and the places in the code; our own lines carry
nothing personal.
"""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from triptych import settings
from triptych.errors import UnsafeDatabase
from triptych.settings import UnsafeSettings
from triptych.storage.database import DatabaseAway

OURS = "triptych"
# the messages of these speak to the person who runs the app, name no person, and say all that is to be done
FOR_OPERATORS = (DatabaseAway, UnsafeDatabase, UnsafeSettings)
MAX_FRAMES = 12


def fields(record: logging.LogRecord) -> dict[str, Any]:
    """What is logged of a record: time (UTC), level, logger, process, message.

    Of an error its kind, and its places in the code or, where the message speaks to the person who runs the app, that.
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
            line["reason"] = str(error)
        else:
            line["at"] = _places(error.__traceback__)
    return line


def _message(record: logging.LogRecord) -> str:
    """The sentence; a foreign one without the values that fill it, and without lines after the first."""
    if record.name.partition(".")[0] == OURS:
        return record.getMessage()
    return str(record.msg).partition("\n")[0]


def _places(trace: TracebackType | None) -> list[str]:
    """The innermost frames as "file:line function"."""
    frames = traceback.extract_tb(trace)[-MAX_FRAMES:]
    return [f"{'/'.join(Path(frame.filename).parts[-3:])}:{frame.lineno} {frame.name}" for frame in frames]


class JsonLines(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(fields(record), ensure_ascii=False)


class TextLines(logging.Formatter):
    """The same for people: time, level, logger, message, and an error's places below it."""

    def format(self, record: logging.LogRecord) -> str:
        logged = fields(record)
        line = f"{logged['time']} {logged['level']} {logged['logger']}: {logged['message']}"
        if "error" in logged:
            line += f" [{logged['error']}] {logged.get('reason', '')}".rstrip()
            line += "".join(f"\n    {place}" for place in logged.get("at", ()))
        return line


def settle() -> None:
    """Gives every logger of this process, also those made later, our lines. Call it once, when the server starts."""
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
    logging.getLogger(OURS).setLevel(logging.INFO)
    # a line per request or connection: addresses hold personal links, and without them the line says nothing
    for name in ("uvicorn.access", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.WARNING)

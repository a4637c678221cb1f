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
TOLD = (DatabaseAway, UnsafeDatabase, UnsafeSettings)  # their messages speak to whoever runs the app, of nobody
DEEPEST = 12


def fields(record: logging.LogRecord) -> dict[str, Any]:
    """What is kept of a record: time (UTC), level, logger, process, message; of an error its kind and its places."""
    kept = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "process": record.process,
        "message": _message(record),
    }
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        kept["error"] = type(error).__name__
        kept["at"] = _places(error.__traceback__)
        if isinstance(error, TOLD):
            kept["told"] = str(error)
    return kept


def _message(record: logging.LogRecord) -> str:
    """The sentence; a foreign one without the values that fill it, and without lines after the first."""
    if record.name.partition(".")[0] == OURS:
        return record.getMessage()
    return str(record.msg).partition("\n")[0]


def _places(trace: TracebackType | None) -> list[str]:
    """The innermost frames as "file:line function"."""
    frames = traceback.extract_tb(trace)[-DEEPEST:]
    return [f"{'/'.join(Path(frame.filename).parts[-3:])}:{frame.lineno} {frame.name}" for frame in frames]


class JsonLines(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(fields(record), ensure_ascii=False)


class TextLines(logging.Formatter):
    """The same for people: time, level, logger, message, and an error's places below it."""

    def format(self, record: logging.LogRecord) -> str:
        kept = fields(record)
        line = f"{kept['time']} {kept['level']} {kept['logger']}: {kept['message']}"
        if "error" in kept:
            line += f" [{kept['error']}] {kept.get('told', '')}".rstrip()
            line += "".join(f"\n    {place}" for place in kept["at"])
        return line


def settle() -> None:
    """Gives every logger of this process, also those made later, our lines. Call it once, when the server starts."""
    formatter = JsonLines() if settings.logs_json() else TextLines()

    class Settled(logging.Logger):
        """A logger whose handlers write our lines, whoever sets them up."""

        def addHandler(self, handler: logging.Handler) -> None:  # noqa: N802 (the name is logging's)
            handler.setFormatter(formatter)
            super().addHandler(handler)

    logging.setLoggerClass(Settled)
    known = [found for found in logging.root.manager.loggerDict.values() if isinstance(found, logging.Logger)]
    if not logging.root.handlers:
        logging.root.addHandler(logging.StreamHandler())
    for logger in (logging.root, *known):
        for handler in logger.handlers:
            handler.setFormatter(formatter)
    logging.getLogger(OURS).setLevel(logging.INFO)
    # a line per request or connection: addresses hold personal links, and without them the line says nothing
    for name in ("uvicorn.access", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.WARNING)

"""Log lines: JSON or text, and nothing that a person wrote or is."""

from __future__ import annotations

import json
import logging
import sys
import threading

import pytest

from triptych.errors import NotFound
from triptych.operations import logs
from triptych.storage import traces
from triptych.storage.unavailable import UNREACHABLE, DatabaseUnavailable


def record(name: str, message: str, *values: object, error: BaseException | None = None) -> logging.LogRecord:
    trace = (type(error), error, error.__traceback__) if error else None
    return logging.LogRecord(name, logging.ERROR, "file.py", 1, message, values, trace)


def raised(error: Exception) -> Exception:
    try:
        raise error
    except type(error) as caught:
        return caught


def test_a_json_line_has_time_level_logger_process_and_message():
    line = json.loads(logs.JsonLines().format(record("triptych.web", "%d left", 3)))

    assert line["message"] == "3 left"
    assert (line["level"], line["logger"]) == ("error", "triptych.web")
    assert line["time"].endswith("+00:00")
    assert isinstance(line["process"], int)


def test_a_foreign_log_line_keeps_only_its_template():
    line = logs.JsonLines().format(record("uvicorn.error", '%s - "%s" 500', "10.1.2.3", "/?join=secret"))

    assert json.loads(line)["message"] == '%s - "%s" 500'


@pytest.mark.parametrize("lines", [logs.JsonLines(), logs.TextLines()])
def test_an_error_is_logged_without_its_message(lines, tmp_path):
    line = lines.format(record("streamlit", "Uncaught", error=raised(NotFound("Rosalind is unknown"))))

    assert "Rosalind" not in line
    assert "NotFound" in line
    assert traces.stored_in(tmp_path)[0] in line


@pytest.mark.parametrize("lines", [logs.JsonLines(), logs.TextLines()])
def test_a_message_for_the_operator_is_logged_without_places(lines):
    line = lines.format(record("streamlit", "Uncaught", error=raised(DatabaseUnavailable(UNREACHABLE))))

    assert UNREACHABLE in line
    assert "test_logs.py" not in line


def test_a_message_of_several_lines_stays_one_line():
    assert logs.TextLines().format(record("foreign", "first %s\nRosalind wrote", "x")).endswith("first %s")


def test_a_foreign_line_without_values_becomes_its_place():
    assert logs.TextLines().format(record("foreign", "Rosalind wrote")).endswith("foreign: file.py:1")


def test_addresses_of_pages_stay_and_paths_go():
    line = logs.TextLines().format(record("triptych.web", "Set https://lab.org/app, not /srv/lab/app nor C:\\lab\\app"))

    assert line.endswith("Set https://lab.org/app, not [...] nor [...]")


@pytest.mark.parametrize("form", ["json", "text"])
def test_settled_loggers_write_our_lines_also_those_made_later(form, monkeypatch):
    monkeypatch.setenv("TRIPTYCH_LOG", form)
    hooks = [(sys, "excepthook"), (sys, "unraisablehook"), (threading, "excepthook"), (logging, "raiseExceptions")]
    for module, name in hooks:  # so that they are put back after the test
        monkeypatch.setattr(module, name, getattr(module, name))
    monkeypatch.setattr(logging, "lastResort", logging.StreamHandler())
    before, formats = logging.getLoggerClass(), [(h, h.formatter) for h in logging.root.handlers]
    early = logging.getLogger(f"made.before.{form}")
    early.addHandler(logging.StreamHandler())
    try:
        logs.settle()
        later = logging.getLogger(f"made.after.{form}")
        later.addHandler(logging.StreamHandler())
    finally:
        logging.captureWarnings(False)
        logging.setLoggerClass(before)
        for handler, formatter in formats:
            handler.setFormatter(formatter)

    expected = logs.JsonLines if form == "json" else logs.TextLines
    assert isinstance(early.handlers[0].formatter, expected)
    assert isinstance(later.handlers[0].formatter, expected)

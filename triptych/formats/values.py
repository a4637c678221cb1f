"""Converts a file's value to text or turns, cleaned the same way in all formats. Changes: Windows and old Mac line ends
become LF (one note per file), control characters other than line feed and tab are removed (a warning each). Nothing
else changes: no trimming, no Unicode normalisation, so that offsets of highlights hold.
"""

from __future__ import annotations

import json
import re

from triptych.errors import ImportRefused
from triptych.formats.model import Findings, Json, JsonObject, TurnDraft

SPEAKER_KEYS = ("speaker", "role", "from", "name", "author")
TEXT_KEYS = ("text", "content", "value", "utterance")
MAX_PARTS = 4_000_000  # of JSON in a zip or in all cells of a table: empty lists, which are nothing, take a minute
TURN_HELP = 'A turn is {"speaker": "…", "text": "…"}.'
LINE_ENDS = "Windows or old Mac line ends in {n} text(s) are stored as plain line feeds."
NUMBERS = "{n} number(s) are written where a text is expected; they are shown as written."
BOOLEANS = "{n} value(s) are true or false where a text is expected; they are shown as these words."
PYTHON_LISTS = (
    "{n} cell(s) hold a list as Python prints it; they are shown as text. "
    'Turns in a cell are read when written as JSON, with double quotes: [{"speaker": "A", "text": "Hi"}].'
)
JSON_TURNS = "{n} cell(s) hold a JSON list of turns; they were read as conversations."

_SUSPECT = re.compile("[\x00-\x08\x0b-\x1f\ufffd\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_TYPED_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")
_PYTHON_LIST = re.compile(r"\s*\[\s*(?:[\[({]\s*)?'")


class NumberText(str):
    """A JSON number, kept as written: 64-bit ids stay exact, 1.50 stays 1.50."""

    __slots__ = ()


class NotFinite(str):
    """NaN or Infinity, which JSON does not have."""

    __slots__ = ()


class UnfitValueError(Exception):
    """A value that is neither text nor turns; the message says what it is and what is expected."""


def clean(text: str, findings: Findings, row: int, column: str | None) -> str:
    """The text as it will be stored."""
    if not _SUSPECT.search(text):
        return text
    if "\r" in text:
        findings.tally(LINE_ENDS)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text, removed = _CONTROL.subn("", text)
    if removed:
        findings.warning(f"{removed:,} control character(s), such as NUL, were removed.", row, column)
    if "\ufffd" in text:
        findings.warning("holds the replacement character '\ufffd': letters were lost before.", row, column)
    text, halves = _SURROGATE.subn("", text)
    if halves:
        findings.error("holds half of a character (a lone surrogate such as \\ud83d).", row, column)
    return text


def for_xml(text: str) -> str:
    """The text without the characters that XML cannot contain, which rubrics and items can."""
    return _NOT_IN_XML.sub("", text)


def typed_number(text: str) -> float | None:
    """The number in a text that somebody typed, with a decimal point or comma.

    None for anything else, and for 1,000, which may be one or a thousand.
    """
    text = text.strip()
    if not _TYPED_NUMBER.fullmatch(text) or _THOUSANDS.fullmatch(text):
        return None
    return float(text.replace(",", "."))


def as_text(value: Json, findings: Findings) -> str:
    """A scalar as text.

    Raises UnfitValueError for null, a list or an object.
    """
    if isinstance(value, NumberText):
        findings.tally(NUMBERS)
        return str(value)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        findings.tally(BOOLEANS)
        return "true" if value else "false"
    raise UnfitValueError(f"is {kind_of(value)}, a text was expected.")


def as_content(value: Json, findings: Findings, from_cell: bool) -> str | tuple[TurnDraft, ...]:
    """A context or candidate: a text, or turns. from_cell: the value is a cell, in which turns are written as JSON.

    Raises UnfitValueError.
    """
    if from_cell and isinstance(value, str):
        return _cell_content(value, findings)
    if isinstance(value, list):
        return as_turns(value)
    if isinstance(value, dict):
        return as_content(_unwrap(value), findings, from_cell=False)
    return as_text(value, findings)


def as_turns(values: list[Json]) -> tuple[TurnDraft, ...] | str:
    """Turns from objects {speaker, text}, {role, content} or pairs [speaker, text]; an empty list is an empty text.

    Raises UnfitValueError that names the turn.
    """
    if not values:
        return ""
    parts = _message_texts(values)
    if parts is not None:
        return parts
    return tuple(_turn(value, number) for number, value in enumerate(values, 1))


def kind_of(value: Json) -> str:
    """The type of a JSON value, in words."""
    names = {type(None): "null", bool: "true or false", list: "a list", dict: "an object", NumberText: "a number"}
    return names.get(type(value), "a text")


def plain(value: Json) -> str:
    """A JSON value as text, for meta fields."""
    if isinstance(value, str):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def number_of_parts(text: str) -> int:
    """At least as many as a JSON text holds objects, lists and values."""
    return sum(map(text.count, "{[,"))


def json_in(cell: Json, findings: Findings) -> Json:
    """The parsed JSON of a cell; the cell itself if it does not contain JSON.

    Raises ImportRefused where all cells that were parsed have too many parts, which take far more memory than the text.
    """
    if not isinstance(cell, str) or not cell.lstrip().startswith(("[", "{")):
        return cell
    findings.parts += number_of_parts(cell)
    if findings.parts > MAX_PARTS:
        raise ImportRefused(f"The lists in cells have more than {MAX_PARTS:,} parts in all; split the file.")
    try:
        value: Json = json.loads(cell)
    except (ValueError, RecursionError):
        return cell
    return value


def _cell_content(cell: str, findings: Findings) -> str | tuple[TurnDraft, ...]:
    if not cell.lstrip().startswith("["):
        return cell
    if _PYTHON_LIST.match(cell):
        findings.tally(PYTHON_LISTS)
        return cell
    values = json_in(cell, findings)
    try:
        turns = as_turns(values) if isinstance(values, list) else cell
    except (TypeError, UnfitValueError):
        return cell
    if isinstance(turns, str):
        return cell
    findings.tally(JSON_TURNS)
    return turns


def _unwrap(value: JsonObject) -> Json:
    """The value inside {"dialogue": […]}, {"turns": […]} or {"text": "…"}."""
    names = ("turns", "dialogue", "dialog", "conversation", "messages", "context", "text", "content")
    inside: list[Json] = [value[name] for name in names if name in value]
    if not inside:
        raise UnfitValueError(f"is an object without 'text' or 'turns'. {TURN_HELP}")
    return inside[0]


def _turn(value: Json, number: int) -> TurnDraft:
    if isinstance(value, dict):
        speaker = next((value[key] for key in SPEAKER_KEYS if key in value), None)
        text = next((value[key] for key in TEXT_KEYS if key in value), None)
    elif isinstance(value, list) and len(value) == 2:
        speaker, text = value
    else:
        raise UnfitValueError(f"turn {number} is {kind_of(value)}. {TURN_HELP}")
    if isinstance(text, list) and text:
        text = _message_texts(text)
    if not isinstance(speaker, str) or not speaker.strip():
        raise UnfitValueError(f"turn {number} has no speaker. {TURN_HELP}")
    if not isinstance(text, str):
        raise UnfitValueError(f"turn {number} has no text. {TURN_HELP}")
    return TurnDraft(speaker.strip(), str(text))


def _message_texts(parts: list[Json]) -> str | None:
    """The lines of a message as chat programs write it, {"type": "text", "text": "…"}; None for any other list."""
    messages = [part for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    texts = [text for message in messages if isinstance(text := message.get("text"), str)]
    return "\n".join(texts) if len(texts) == len(parts) else None

"""From bytes to text: what kind of file it is, and which encoding it has. Nothing is guessed silently."""

from __future__ import annotations

import codecs
import re

from triptych.errors import ImportRefused
from triptych.formats.model import Findings

SAVE_AS = "Save it as 'CSV UTF-8' (Excel, LibreOffice) or as UTF-8 text and upload it again."

# The byte order mark of UTF-32 LE begins with that of UTF-16 LE, so it comes first.
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
SIGNATURES = (
    (b"PK\x03\x04", "a zip archive or an Excel workbook"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"%PDF", "a PDF document"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\xd0\xcf\x11\xe0", "an old Office file (.xls, .doc)"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"{\\rtf", "an RTF document"),
)
_UTF8_LETTER = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}"
    rb"|\xed[\x80-\x9f][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{3}"
)
_WINDOWS_ONLY = re.compile(rb"[\x80-\x9f]")
_ASCII_LETTERS = bytes((*range(0x41, 0x5B), *range(0x61, 0x7B)))
_HIGH_LETTERS = bytes(range(0xC0, 0x100))


def refuse_other_content(data: bytes) -> None:
    """Refuse bytes that are no text, whatever the file's name says.

    Raises ImportRefused that names what the content looks like.
    """
    content_kind = next((kind for start, kind in SIGNATURES if data.startswith(start)), None)
    if re.match(rb"\x80[\x02-\x05]", data):
        content_kind = "a Python pickle"
    if content_kind:
        raise ImportRefused(
            f"The content of this file is {content_kind}, whatever its name says. "
            "Upload a CSV, TSV, JSON, JSON Lines or .xlsx file under its right name."
        )


def decode(data: bytes, findings: Findings) -> str:
    """Text of a file in UTF-8, UTF-16 or UTF-32 (by its byte order mark) or Windows-1252 (with a warning).

    Raises ImportRefused with the line of the first byte that does not fit.
    """
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decode_marked(data, encoding)
    head = data[:65536]
    if head.count(0) * 4 > len(head):
        raise ImportRefused(f"This file is not text, or it is UTF-16 without a byte order mark. {SAVE_AS}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _decode_windows(data, error, findings)


def _decode_marked(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise ImportRefused(
            f"Line {_line(data, error.start)}: the file begins as {name}, "
            f"but byte {error.start + 1:,} is not {name}. {SAVE_AS}"
        ) from error


def _decode_windows(data: bytes, error: UnicodeDecodeError, findings: Findings) -> str:
    """Windows-1252 where the bytes speak for it: curly quotes, dashes, the euro sign, and mostly ASCII."""
    line, byte = _line(data, error.start), data[error.start]
    at_fault = f"Line {line}: byte 0x{byte:02X} is not UTF-8"
    foreign = _count(data, _HIGH_LETTERS) * 2 > _count(data, _ASCII_LETTERS)
    if not foreign and _UTF8_LETTER.search(data):
        raise ImportRefused(f"{at_fault}, while other lines are: the file mixes two encodings. {SAVE_AS}")
    if foreign or not _WINDOWS_ONLY.search(data):
        raise ImportRefused(f"{at_fault}, and nothing in the file says which encoding it is. {SAVE_AS}")
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError as worse:
        where = f"Line {_line(data, worse.start)}: byte 0x{data[worse.start]:02X}"
        raise ImportRefused(f"{where} is neither UTF-8 nor Windows-1252. {SAVE_AS}") from worse
    sample = text[max(0, error.start - 20) : error.start + 20].replace("\n", " ").replace("\r", " ")
    findings.warning(
        f"The file is not UTF-8; it was read as Windows-1252 (first seen in line {line}: "
        f"'…{sample}…'). If letters look wrong, save it as UTF-8."
    )
    return text


def _count(data: bytes, letters: bytes) -> int:
    return len(data) - len(data.translate(None, letters))


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1

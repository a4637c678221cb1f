"""From bytes to text: detecting other kinds of content, and the encoding.

An encoding that the file does not declare is guessed, and used only after the lead has confirmed its first lines.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable, Sequence
from io import StringIO
from itertools import islice

from triptych.errors import ImportRefused

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
# encoding that a lead may confirm → codec; Windows' variants, which contain the standards' letters and a few more
ENCODINGS = {"Shift-JIS": "cp932", "GB18030": "gb18030", "Windows-1252": "cp1252"}
SAMPLE_CHARACTERS = 20_000
PREVIEW_LINES, PREVIEW_CHARACTERS = 4, 120
_UTF8_LETTER = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}"
    rb"|\xed[\x80-\x9f][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{3}"
)
_ASCII_LETTERS = bytes((*range(0x41, 0x5B), *range(0x61, 0x7B)))
_HIGH_LETTERS = bytes(range(0xC0, 0x100))


class UnconfirmedEncoding(ImportRefused):
    """The file's encoding is not declared; contains the likely encoding, and the first lines decoded with it."""

    def __init__(self, at_fault: str, encoding: str, lines: str) -> None:
        self.at_fault, self.encoding, self.lines = at_fault, encoding, lines
        super().__init__(
            f"{at_fault}. The file looks like {encoding}. Its first lines, read so:",
            *lines.split("\n"),
            f"If they are right, confirm it: --encoding {encoding}. If not: {SAVE_AS}",
        )


def refuse_other_content(data: bytes) -> None:
    """Refuse bytes that are not text, regardless of the file's name.

    Raises ImportRefused that names what the content looks like.
    """
    content_kind = next((kind for start, kind in SIGNATURES if data.startswith(start)), None)
    if re.match(rb"\x80[\x02-\x05]", data):
        content_kind = "a Python pickle"
    if content_kind:
        raise ImportRefused(
            f"The content of this file is {content_kind}, regardless of its name. Upload a CSV, TSV, JSON, JSON Lines "
            f"or .xlsx file with the right extension."
        )


def decode(data: bytes) -> str:
    """Text of a file in UTF-8, or in UTF-16 or UTF-32 by its byte order mark.

    Raises UnconfirmedEncoding where another encoding is likely, ImportRefused with the line of the first byte that
    does not fit.
    """
    for mark, codec in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decode_marked(data, codec)
    head = data[:65536]
    if head.count(0) * 4 > len(head):
        raise ImportRefused(f"This file is not text, or it is UTF-16 without a byte order mark. {SAVE_AS}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        at_fault = f"Line {_line(data, error.start)}: byte 0x{data[error.start]:02X} is not UTF-8"
    likely = _likely(data, at_fault)
    raise UnconfirmedEncoding(at_fault, likely, _preview(data.decode(ENCODINGS[likely])))


def unconfirmed(data: bytes) -> UnconfirmedEncoding | None:
    """The likely encoding of a file, to be confirmed; None if it is clear, or if a reader will refuse the file."""
    try:
        refuse_other_content(data)
        decode(data)
    except UnconfirmedEncoding as question:
        return question
    except ImportRefused:
        pass  # its reader will report the reason
    return None


def recoded(data: bytes, encoding: str) -> bytes:
    """A file as UTF-8, from the encoding that the user confirmed (a key of ENCODINGS). UTF-8, files with a byte order
    mark and binary files are returned unchanged. Raises ImportRefused.
    """
    return data if unconfirmed(data) is None else _decode_as(data, encoding).encode()


def _decode_as(data: bytes, encoding: str) -> str:
    """Text in an encoding that the file does not declare (a key of ENCODINGS). Raises ImportRefused."""
    try:
        return data.decode(ENCODINGS[encoding])
    except UnicodeDecodeError as error:
        where = f"Line {_line(data, error.start)}: byte 0x{data[error.start]:02X}"
        raise ImportRefused(f"{where} is neither UTF-8 nor {encoding}. {SAVE_AS}") from error


def _decode_marked(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise ImportRefused(
            f"Line {_line(data, error.start)}: the file begins as {name}, "
            f"but byte {error.start + 1:,} is not {name}. {SAVE_AS}"
        ) from error


def _likely(data: bytes, at_fault: str) -> str:
    """The encoding in which the bytes look like text of a language. Raises ImportRefused where none is likely."""
    for encoding, is_typical in TYPICAL.items():
        try:
            text = data.decode(ENCODINGS[encoding])
        except UnicodeDecodeError:
            continue
        letters = islice(re.finditer("[^\0-\x7f]", text), SAMPLE_CHARACTERS)
        if is_typical([letter[0] for letter in letters]):
            return encoding
    if _count(data, _HIGH_LETTERS) * 2 > _count(data, _ASCII_LETTERS):
        raise ImportRefused(f"{at_fault}, and the file does not declare its encoding. {SAVE_AS}")
    if _UTF8_LETTER.search(data):
        raise ImportRefused(f"{at_fault}, while other lines are: the file mixes two encodings. {SAVE_AS}")
    _decode_as(data, "Windows-1252")
    return "Windows-1252"


def _is_japanese(letters: Sequence[str]) -> bool:
    """Whether the letters look like Japanese.

    Japanese has kana in every sentence; other encodings decoded as Shift-JIS give half-width kana, which are rare.
    """
    kana = sum("\u3040" <= letter <= "\u30ff" for letter in letters)
    usual = kana + sum(
        "\u3000" <= c <= "\u303f" or "\u4e00" <= c <= "\u9fff" or "\uff00" <= c <= "\uff60" for c in letters
    )
    return kana * 10 >= len(letters) and usual * 10 >= len(letters) * 9


def _is_chinese(letters: Sequence[str]) -> bool:
    """Whether the letters look like Chinese.

    Four fifths must be frequent ideographs (rows 0xB0 to 0xD7 of GB 2312, ordered by sound) or punctuation. A tenth
    must have a sound from s to z: Korean text decoded as Chinese uses earlier rows only.
    """
    rows = Counter("".join(letters).encode("gb2312", "ignore")[::2])
    punctuation = rows[0xA1] + rows[0xA3]
    frequent = sum(number for row, number in rows.items() if 0xB0 <= row <= 0xD7)
    late = sum(number for row, number in rows.items() if 0xC9 <= row <= 0xD7)
    return (frequent + punctuation) * 5 >= len(letters) * 4 and late * 10 >= len(letters)


TYPICAL: dict[str, Callable[[Sequence[str]], bool]] = {"Shift-JIS": _is_japanese, "GB18030": _is_chinese}


def _preview(text: str) -> str:
    """The first line, and the first lines with characters beyond ASCII."""
    lines = StringIO(text, newline=None)
    first, others = next(lines), (line for line in lines if not line.isascii())
    return "\n".join(line.rstrip("\n")[:PREVIEW_CHARACTERS] for line in (first, *islice(others, PREVIEW_LINES - 1)))


def _count(data: bytes, letters: bytes) -> int:
    return len(data) - len(data.translate(None, letters))


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1

"""Readers of item files: bytes and a file name in, items and problems out. No screen, no database.

A file that cannot be read at all raises ImportRefused; everything else is collected in `ItemFile.problems`,
and `ItemFile.ok` says whether it may be imported. A new format is one module with a function
(data, options, findings) -> Source, and one line in READERS.
"""

from __future__ import annotations

from collections.abc import Callable

from triptych.errors import ImportRefused
from triptych.formats.decode import refuse_other_content
from triptych.formats.items import make_items
from triptych.formats.json_files import read_json
from triptych.formats.model import (
    MAX_UPLOAD,
    CandidateDraft,
    Findings,
    ItemDraft,
    ItemFile,
    Problem,
    ReadOptions,
    Source,
    Turn,
)
from triptych.formats.tables import read_delimited
from triptych.formats.xlsx import read_workbook

Reader = Callable[[bytes, ReadOptions, Findings], Source]

READERS: dict[str, Reader] = {
    "csv": read_delimited,
    "tsv": read_delimited,
    "txt": read_delimited,
    "json": read_json,
    "jsonl": read_json,
    "ndjson": read_json,
    "xlsx": read_workbook,
}

_DEFAULT = ReadOptions()

__all__ = [
    "MAX_UPLOAD",
    "READERS",
    "CandidateDraft",
    "ItemDraft",
    "ItemFile",
    "Problem",
    "ReadOptions",
    "Turn",
    "read_items",
]


def read_items(data: bytes, filename: str, options: ReadOptions = _DEFAULT) -> ItemFile:
    """Read a file of items. The name gives the format, the content must agree.

    Raises ImportRefused with a sentence for the lead where nothing can be read.
    """
    ending = filename.rsplit(".", 1)[-1].casefold() if "." in filename else ""
    reader = READERS.get(ending)
    if reader is None:
        known = ", ".join(f".{name}" for name in READERS)
        raise ImportRefused(f"Files that end in '.{ending}' cannot be read. Item files end in {known}.")
    if len(data) > MAX_UPLOAD:
        size = len(data) / 2**20
        raise ImportRefused(f"The file has {size:.0f} MB; at most {MAX_UPLOAD // 2**20} MB can be read. Split it.")
    if reader is not read_workbook:
        refuse_other_content(data)
    findings = Findings()
    return make_items(reader(data, options, findings), options, findings)

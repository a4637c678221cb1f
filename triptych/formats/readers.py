"""Which reader a file's name asks for, and the records it finds. A new format is one line in READERS."""

from __future__ import annotations

from collections.abc import Callable

from triptych.errors import ImportRefused
from triptych.formats.decode import refuse_other_content
from triptych.formats.elsewhere import unpacked
from triptych.formats.json_files import read_json
from triptych.formats.model import MAX_UPLOAD, Findings, ReadOptions, Source
from triptych.formats.parquet import read_parquet
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
    "parquet": read_parquet,
}


def read_records(data: bytes, filename: str, options: ReadOptions, findings: Findings) -> Source:
    """The records of a file of items; tasks of other programs are unpacked into plain fields.

    Raises ImportRefused with a sentence for the lead where nothing can be read.
    """
    ending = filename.rsplit(".", 1)[-1].casefold() if "." in filename else ""
    reader = READERS.get(ending)
    if reader is None:
        endings = ", ".join(f".{name}" for name in READERS)
        raise ImportRefused(f"Files that end in '.{ending}' cannot be read. Item files end in {endings}.")
    if len(data) > MAX_UPLOAD:
        size = len(data) / 2**20
        raise ImportRefused(f"The file has {size:.0f} MB; at most {MAX_UPLOAD // 2**20} MB can be read. Split it.")
    if reader not in (read_workbook, read_parquet):
        refuse_other_content(data)
    return unpacked(reader(data, options, findings), findings)

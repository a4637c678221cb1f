"""Selects the reader for a file's extension, and returns its records. A new format is one line in READERS, and its
extension in `Contents`, which says where it may be uploaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triptych.errors import ImportRefused
from triptych.formats.decode import refuse_other_content
from triptych.formats.json_files import read_json
from triptych.formats.layout import ITEMS
from triptych.formats.model import MAX_UPLOAD, Contents, Findings, ReadOptions, Source
from triptych.formats.parquet.reading import read_parquet
from triptych.formats.tables import read_delimited, tally_escaped
from triptych.formats.task_files import unpacked

Reader = Callable[[bytes, Contents, ReadOptions, Findings], Source]
BINARY = ("xlsx", "parquet")
MAX_COLUMN_NAME = 1_000  # characters: a name is read in each row


def _read_workbook(data: bytes, contents: Contents, options: ReadOptions, findings: Findings) -> Source:
    from triptych.formats.xlsx import read_workbook  # its libraries are slow to import, and rarely needed

    return read_workbook(data, contents, options, findings)


READERS: dict[str, Reader] = {
    "csv": read_delimited,
    "tsv": read_delimited,
    "txt": read_delimited,
    "json": read_json,
    "jsonl": read_json,
    "ndjson": read_json,
    "xlsx": _read_workbook,
    "parquet": read_parquet,
}


def read_items_source(data: bytes, filename: str, options: ReadOptions, findings: Findings) -> Source:
    """The records of a file of items; tasks of other programs are unpacked into plain fields.

    Raises ImportRefused with a sentence for the lead where nothing can be read.
    """
    source = read_source(data, filename, ITEMS, options, findings)
    tally_escaped(source, findings)
    return unpacked(source, findings)


def read_source(data: bytes, filename: str, contents: Contents, options: ReadOptions, findings: Findings) -> Source:
    """The raw records of a file. The name determines the format, and the content must match. Raises ImportRefused."""
    ending = filename.rsplit(".", 1)[-1].casefold() if "." in filename else ""
    if ending not in contents.endings:
        endings = ", ".join(f".{name}" for name in contents.endings)
        raise ImportRefused(f"Files that end in '.{ending}' cannot be read here. Known are {endings}.")
    most = contents.most_bytes if READERS[ending] is read_delimited else MAX_UPLOAD
    if len(data) > most:
        raise ImportRefused(
            f"The file has {len(data) / 2**20:.0f} MB; at most {most // 2**20} MB can be read. Split it."
        )
    if ending not in BINARY:
        refuse_other_content(data)
    source = READERS[ending](data, contents, options, findings)
    if len(source.records) > 1:  # the keys of a single object may be texts
        refuse_long_names(source.columns)
    return source


def refuse_long_names(columns: Sequence[str]) -> None:
    """Raise ImportRefused for the name of a column or field that would take long to read in each row."""
    for name in columns:
        if len(name) > MAX_COLUMN_NAME:
            raise ImportRefused(
                f"The column or field '{name[:30]}…' has a name of {len(name):,} characters; at most "
                f"{MAX_COLUMN_NAME:,} can be read. Shorten it."
            )

"""File readers and writers: bytes to items or ratings, and back. No screen, no database.

A file that cannot be read at all raises ImportRefused; everything else is collected in `ItemFile.problems`,
and `ItemFile.ok` says whether it may be imported. `readers` knows the formats, `elsewhere` the tasks of other programs,
`joined` puts files of one system each together.
"""

from __future__ import annotations

from triptych.formats.items import make_items
from triptych.formats.joined import join_files
from triptych.formats.model import (
    MAX_UPLOAD,
    CandidateDraft,
    Findings,
    ItemDraft,
    ItemFile,
    Problem,
    ReadOptions,
    TurnDraft,
)
from triptych.formats.readers import READERS, read_items_source

_DEFAULT = ReadOptions()

__all__ = [
    "MAX_UPLOAD",
    "READERS",
    "CandidateDraft",
    "ItemDraft",
    "ItemFile",
    "Problem",
    "ReadOptions",
    "TurnDraft",
    "join_files",
    "read_items",
]


def read_items(data: bytes, filename: str, options: ReadOptions = _DEFAULT) -> ItemFile:
    """Read a file of items. The name determines the format, and the content must match it.

    Raises ImportRefused with a sentence for the lead where nothing can be read.
    """
    findings = Findings()
    return make_items(read_items_source(data, filename, options, findings), options, findings)

"""File readers and writers: bytes to items or ratings, and back. No screen, no database.

A file that cannot be read at all raises ImportRefused; everything else is collected in `ItemFile.problems`,
and `ItemFile.ok` says whether it may be imported. `readers` knows the formats, `task_files` the tasks of other
programs, `joined` puts files of one system each together.
"""

from __future__ import annotations

from triptych.formats.items import make_items
from triptych.formats.model import Findings, ItemFile, ReadOptions
from triptych.formats.readers import read_items_source

_DEFAULT = ReadOptions()


def read_items(data: bytes, filename: str, options: ReadOptions = _DEFAULT) -> ItemFile:
    """Read a file of items. The name determines the format, and the content must match it.

    Raises ImportRefused with a sentence for the lead where nothing can be read.
    """
    findings = Findings()
    return make_items(read_items_source(data, filename, options, findings), options, findings)

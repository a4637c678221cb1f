"""Zip archives of finished ratings: an export of this program, a project folder of Potato, or several files.

From an export, the tables of ratings and highlights are read, and texts come from the items in the same archive.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from triptych.errors import ImportRefused, NothingToImport, naming
from triptych.formats import decode, read_items
from triptych.formats.decode import UnconfirmedEncoding
from triptych.formats.model import MAX_UPLOAD, Problem
from triptych.formats.ratings import potato
from triptych.formats.ratings.model import MAX_RATINGS, FinishedRatings, Gathering, RaterKind
from triptych.formats.ratings.sources import RATINGS
from triptych.formats.tables import DELIMITERS
from triptych.formats.values import MAX_PARTS, number_of_parts
from triptych.formats.zips import unzipped
from triptych.stats.numbers import first_words

ENDINGS = RATINGS.endings
MAX_FILES = 2_000
MAX_NAMED = 10
MAX_INFLATED = 100 * 2**20
DELIMITED = ("csv", "tsv", "txt")
JSON = ("json", "jsonl", "ndjson")
DELIMITERS_IN_BYTES = tuple(map(str.encode, DELIMITERS))
PACKED, MAX_PACKED = ("parquet", "xlsx"), 20  # files that are themselves compressed, and their maximum number
TABLES, ITEMS, CODEBOOK = ("ratings", "highlights", "tasks", "records"), "items", "codebook"
NOTHING = (
    f"There is no file of ratings in the zip. It may contain an export of this program, a Potato project, or files "
    f"that end in {', '.join(f'.{ending}' for ending in ENDINGS)}."
)
NO_TEXTS = "The items in the same archive are not used, because a text is missing or cannot be read."

Reader = Callable[[bytes, str, RaterKind], FinishedRatings]
Files = Mapping[str, bytes]


def read_archive(data: bytes, filename: str, kind: RaterKind, read: Reader) -> tuple[FinishedRatings, ...]:
    """Every file of ratings in a zip, each read with `read`; the state files of a Potato project are one.

    Raises ImportRefused for a zip that is damaged, too large, or without ratings, and where a file in it is refused.
    """
    files = _members(data)
    if any(potato.is_state(name) for name in files):
        _refuse_many_packed(files)
        _refuse_many_parts(files, files)
        return (_potato_project(files, filename, kind),)
    chosen, items = _of_stems(files, TABLES), _of_stems(files, (ITEMS,))
    if not chosen and not _of_stems(files, (CODEBOOK,)):
        chosen = [name for name in files if _ending(name) in ENDINGS and name not in items]
    if not chosen:
        raise ImportRefused(NOTHING)
    _refuse_many_packed(chosen)
    _refuse_many_parts(files, chosen)
    results = _read_all(files, chosen, kind, read)
    if items and results[0].format == "Table of ratings":
        _add_items(results[0], files, items[0])
    if not _of_stems(files, (CODEBOOK,)):  # the other files of an export repeat what the chosen ones contain
        results[0].problems += not_read("the zip", [name for name in files if name not in (*chosen, *items[:1])])
    return tuple(results)


def not_read(where: str, names: Sequence[str]) -> tuple[Problem, ...]:
    """A note that names the files that a zip or folder holds besides ratings, if it holds any."""
    if not names:
        return ()
    return (Problem("note", None, None, f"Not read in {where}: {first_words(names, MAX_NAMED, ', ')}."),)


def _refuse_many_packed(names: Iterable[str]) -> None:
    packed = sum(_ending(name) in PACKED for name in names)
    if packed > MAX_PACKED:
        raise ImportRefused(f"The zip holds {packed} Parquet files or workbooks; at most {MAX_PACKED} can be read.")


def _refuse_many_parts(files: Files, names: Iterable[str]) -> None:
    # in Latin-1, whatever its encoding: its reader decodes it, and may ask for the encoding first
    texts = (files[name].decode("latin-1") for name in names if _ending(name) in JSON)
    if sum(map(number_of_parts, texts)) > MAX_PARTS:
        raise ImportRefused(f"The JSON files in the zip have more than {MAX_PARTS:,} parts; split it.")


def _read_all(files: Files, names: Sequence[str], kind: RaterKind, read: Reader) -> list[FinishedRatings]:
    """What they hold, without those that have no rows, such as the highlights of a study where nobody marked any.

    Raises ImportRefused if none has rows, or if all have too many ratings together.
    """
    results: list[FinishedRatings] = []
    empty: dict[str, NothingToImport] = {}
    for name in names:
        try:
            with naming(name):
                results.append(read(files[name], name, kind))
        except NothingToImport as refusal:
            empty[name] = refusal
        if sum(len(result.ratings) for result in results) > MAX_RATINGS:
            raise ImportRefused(f"The zip holds more than {MAX_RATINGS:,} ratings; split it.")
    if not results:
        raise next(iter(empty.values()))
    results[0].problems += tuple(Problem("note", None, None, f"{name} has no rows and is left out.") for name in empty)
    return results


def unconfirmed(data: bytes) -> dict[str, UnconfirmedEncoding]:
    """File name → likely encoding, for files in a zip whose encoding must be confirmed. Raises ImportRefused."""
    readable = {name: content for name, content in _members(data).items() if _ending(name) in ENDINGS}
    return {name: question for name, content in readable.items() if (question := decode.unconfirmed(content))}


def recoded_zip(data: bytes, encodings: Mapping[str, str]) -> bytes:
    """The zip with these texts in UTF-8; encodings: file name → confirmed encoding. Raises ImportRefused."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in _members(data).items():
            with naming(name):
                archive.writestr(name, decode.recoded(content, encodings[name]) if name in encodings else content)
    return made.getvalue()


def _members(data: bytes) -> dict[str, bytes]:
    """The files of a zip, without those that an operating system added. Raises ImportRefused."""
    if len(data) > MAX_UPLOAD:
        raise ImportRefused(f"The zip has {len(data) / 2**20:.0f} MB; at most {MAX_UPLOAD // 2**20} MB can be read.")
    members = unzipped(data, "The zip", MAX_FILES, MAX_INFLATED, ".")
    tables = (content for name, content in members.items() if _ending(name) in DELIMITED)
    if sum(max(map(content.count, DELIMITERS_IN_BYTES)) for content in tables) > RATINGS.most_cells:
        raise ImportRefused(f"The zip holds more than {RATINGS.most_cells:,} cells; split it.")
    # macOS adds __MACOSX/ and .DS_Store
    hidden = {n for n in members if any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(n).parts)}
    return {name: content for name, content in members.items() if name not in hidden}


def _ending(name: str) -> str:
    return PurePosixPath(name).suffix.lstrip(".").casefold()


def _of_stems(files: Files, stems: tuple[str, ...]) -> list[str]:
    """The readable files with these names and any ending, in the order of `stems`."""
    readable = [name for name in files if _ending(name) in ENDINGS]
    return [name for stem in stems for name in readable if PurePosixPath(name).stem.casefold() == stem]


def _add_items(ratings: FinishedRatings, files: Files, name: str) -> None:
    """Adds the items of the same archive to the ratings, with the warnings about them, if all of them have texts."""
    with naming(name):
        items = read_items(files[name], name)
    candidates = [candidate for item in items.items for candidate in item.candidates]
    if items.ok and all(candidate.text or candidate.turns for candidate in candidates):
        ratings.items = items
        warnings = (problem for problem in items.problems if problem.severity == "warning")
        ratings.problems += tuple(replace(problem, file=name) for problem in warnings)
    else:
        ratings.problems += (Problem("note", None, None, f"{name}: {NO_TEXTS}"),)


def _potato_project(files: Files, filename: str, kind: RaterKind) -> FinishedRatings:
    into = Gathering(filename, "Potato project", kind=kind)
    project = potato.read_project(files, into)
    source = potato.joined_states(files, into.findings)
    potato.read(source, into, project)
    return into.finished(source)

"""Finished ratings from files named on a command line."""

from __future__ import annotations

from collections import ChainMap, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from triptych.cli.files import items_from, name_of, read, rubric_text, write
from triptych.errors import ImportRefused
from triptych.exchange.import_ratings import asked_as_proposed, asked_by, proposed
from triptych.formats.model import ItemFile, Problem
from triptych.formats.ratings import ARCHIVE, ENDINGS, archives, read_files
from triptych.formats.ratings.assemble import Assembled, assemble
from triptych.formats.ratings.model import FinishedRatings, RaterKind, in_group
from triptych.formats.ratings.proposal import ProposedCriterion
from triptych.formats.ratings.roles import ColumnMapping, Duplicates, RolesNeeded, read_mapping

HUMAN: RaterKind = "human"
JUDGE: RaterKind = "judge"
WRITE_MAPPING = "--mapping-out FILE writes the roles to a file; correct it and pass it with --mapping."


def assembled_from(
    title: str,
    files: Sequence[FinishedRatings],
    items: str | None,
    rubric: str | None,
    positive: Sequence[str],
    duplicates: Duplicates,
    encoding: str | None = None,
) -> Assembled:
    """The study that the files would become, with the problems of each file. `items` is a path, `rubric` a path or key,
    `positive` as in `_with_positive`.

    Raises ImportRefused for a file that cannot be read or has errors, InvalidRubric.
    """
    texts = items_from([items], encoding) if items else None
    named: list[tuple[str, FinishedRatings | ItemFile]] = [(file.name, file) for file in files]
    if items and texts:
        named.append((items, texts))
    for name, file in named:
        if not file.ok:
            raise ImportRefused(f"{name} has errors:", *map(str, file.problems))
    if not files:
        raise ImportRefused("Name at least one file of ratings.")
    if rubric and positive:
        raise ImportRefused("The rubric already defines which options count as positive; omit --positive.")
    if rubric:
        asked = asked_by(rubric_text(rubric), files)
    else:
        asked = asked_as_proposed(title, files, _with_positive(proposed(files), positive))
    assembled = assemble(files, asked, texts, duplicates)
    of_files = [problem for name, file in named for problem in _problems_of(name, file)]
    return replace(assembled, problems=(*of_files, *assembled.problems))


def _problems_of(name: str, file: FinishedRatings | ItemFile) -> Iterator[Problem]:
    """What a lead sees of a file before the import, each with the file's name."""
    yield from (replace(problem, file=name) for problem in file.problems)
    if file.ignored:
        yield Problem("note", None, None, f"Ignored columns or fields: {', '.join(file.ignored)}.", name)


def ratings_with_roles(
    people: Sequence[str], judges: Sequence[str], mapping: ColumnMapping, out: str | None, encoding: str | None
) -> list[FinishedRatings]:
    """The ratings in the command's files. The column mapping used is written to `out`, if given.

    Raises ImportRefused; RolesNeeded if roles are unclear, after writing the proposed roles to `out`.
    """
    try:
        files = ratings_in(people, judges, mapping, encoding)
    except RolesNeeded as unclear:
        if not out:
            raise RolesNeeded(unclear.roles, *unclear.args, WRITE_MAPPING) from unclear
        _write(out, ColumnMapping(unclear.roles, mapping.duplicates))
        remedy = f"The proposed roles are in {out}: correct them there, and pass the file with --mapping."
        raise RolesNeeded(unclear.roles, *unclear.args, remedy) from unclear
    if out:
        _write(out, mapping_of(files, mapping.duplicates))
    return files


def _write(path: str, mapping: ColumnMapping) -> None:
    write(path, [mapping.to_json().encode()])


def ratings_in(
    people: Sequence[str], judges: Sequence[str], mapping: ColumnMapping, encoding: str | None = None
) -> list[FinishedRatings]:
    """The ratings of people (each a path or GROUP=PATH) and of judges; a folder means all files in it.

    Raises ImportRefused; RolesNeeded with the roles of all files if those of one are unclear.
    """
    read_in: list[FinishedRatings] = []
    unclear: list[RolesNeeded] = []
    for words, kind in [(words, HUMAN) for words in people] + [(words, JUDGE) for words in judges]:
        group, _, after = words.rpartition("=") if not Path(words).exists() else ("", "", words)
        if not group.isprintable():
            raise ImportRefused(f"{group}: a group needs a name in UTF-8, without control characters.")
        paths, others = _files_in(Path(after))
        first = len(read_in)
        for path, name in paths:
            content = _content(path, encoding)
            try:
                files = read_files(content, name_of("-", content) if name == "-" else name, kind, mapping.roles)
                read_in += [in_group(file, group) for file in files]
            except RolesNeeded as refusal:
                unclear.append(RolesNeeded(refusal.roles, f"{name}: {refusal}"))
        if read_in[first:]:
            read_in[first].problems += archives.not_read("the folder", others)
    if unclear:
        sources: list[FinishedRatings | RolesNeeded] = [*read_in, *unclear]
        raise RolesNeeded(mapping_of(sources, mapping.duplicates).roles, *map(str, unclear))
    return read_in


def _content(path: Path, encoding: str | None) -> bytes:
    """The file's bytes as from `read`, also with the texts in a zip decoded."""
    data = read(str(path), encoding)
    if encoding is None or path.suffix.casefold() != f".{ARCHIVE}":
        return data
    return archives.recoded_zip(data, dict.fromkeys(archives.unconfirmed(data), encoding))


def _files_in(path: Path) -> tuple[list[tuple[Path, str]], list[str]]:
    """The file and its name, or all supported files of a folder with their paths in it, except links to outside; then
    the paths of the folder's other files.
    """
    if not path.is_dir():
        return [(path, path.name)], []
    inside: list[tuple[Path, str]] = []
    others: list[str] = []
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path)
        if _is_readable(file, path):
            inside.append((file, name.as_posix()))
        elif not file.is_dir() and not any(part.startswith(".") for part in name.parts):
            others.append(name.as_posix())
    return inside, others


def _is_readable(file: Path, folder: Path) -> bool:
    is_named = file.suffix.lstrip(".").casefold() in ENDINGS
    return is_named and file.is_file() and file.resolve().is_relative_to(folder.resolve())


def mapping_in(path: str | None, duplicates: Duplicates | None) -> ColumnMapping:
    """The mapping in a file, or an empty one; the option for duplicates takes precedence. Raises ImportRefused."""
    mapping = read_mapping(read(path).decode("utf-8", "replace")) if path else ColumnMapping()
    return replace(mapping, duplicates=duplicates) if duplicates else mapping


def mapping_of(files: Sequence[FinishedRatings | RolesNeeded], duplicates: Duplicates) -> ColumnMapping:
    """The roles with which the files were read; if files differ about a column, the first one counts."""
    return ColumnMapping(dict(ChainMap(*(file.roles for file in files))), duplicates)


def _with_positive(criteria: Sequence[ProposedCriterion], positive: Sequence[str]) -> tuple[ProposedCriterion, ...]:
    """The criteria with the given options marked as positive, each written "criterion=option".

    Raises ImportRefused if no criterion has this option.
    """
    options: dict[str, list[str]] = defaultdict(list)
    for pair in positive:
        name, _, option = pair.partition("=")
        if not any(criterion.name == name and option in criterion.labels for criterion in criteria):
            raise ImportRefused(f"--positive {pair}: no criterion '{name}' has an option '{option}' in these files.")
        options[name].append(option)
    return tuple(
        replace(criterion, positive=tuple(options.get(criterion.name, criterion.positive))) for criterion in criteria
    )

"""Items from several files, one per system, joined on the item id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from triptych.errors import ImportRefused, naming
from triptych.formats.items import make_items
from triptych.formats.model import (
    MAX_CANDIDATES,
    MAX_ITEMS,
    MAX_SYSTEMS,
    SEVERITIES,
    Findings,
    ItemDraft,
    ItemFile,
    ReadOptions,
)
from triptych.formats.names import Lookalikes, fault_of
from triptych.formats.readers import read_items_source

_DEFAULT = ReadOptions()


@dataclass(frozen=True)
class SystemFile:
    """One of the files: its name, the system that wrote its texts, its content, and the findings about it."""

    name: str
    system: str
    file: ItemFile
    findings: Findings

    @property
    def has_texts(self) -> bool:
        """Whether the file has responses; False for a file with contexts only."""
        return any(item.candidates for item in self.file.items)


def join_files(files: Sequence[tuple[str, bytes, str]], options: ReadOptions = _DEFAULT) -> ItemFile:
    """Read files (name, content, system), each with the texts of one system, and join them on the item id.

    Contexts, meta fields and extra texts may be in any of the files; a file may contain only these. Contradictions and
    missing or repeated items are problems that name file and row.
    Raises ImportRefused where a file cannot be read at all, whose name is in the message, or for too many files.
    """
    if len(files) > MAX_SYSTEMS:  # each is compared with the others
        raise ImportRefused(f"{len(files):,} files were chosen; at most {MAX_SYSTEMS} can be joined.")
    whole = Findings()
    parts = [_part(*file, options) for file in files]
    with_texts = [part for part in parts if part.has_texts]
    _check_systems(with_texts, whole)
    if parts and not with_texts:
        whole.error("No file has a text of a system, such as a column 'text' or 'response'.")
    ids = dict.fromkeys(item.external_id for part in parts for item in part.file.items)
    if len(ids) > MAX_ITEMS:
        raise ImportRefused(f"The files hold {len(ids):,} items; at most {MAX_ITEMS:,} can be read. Split them.")
    _check_lookalikes(parts)
    for part in with_texts:
        _check_missing(part, parts)
    items = tuple(_joined(parts, ids))
    if items and not any(item.context_text or item.context_turns for item in items) and not options.judge_conversation:
        whole.warning("No item has a context: the candidates are judged on their own.")
    return _item_file(parts, items, whole)


def _check_systems(parts: Sequence[SystemFile], findings: Findings) -> None:
    seen: dict[str, SystemFile] = {}
    lookalikes = Lookalikes()
    for part in parts:
        problem = fault_of(part.system) if part.system else None
        problem = problem or lookalikes.clash(part.system, f"'{part.name}'")
        if problem:
            findings.error(f"The system {problem.rstrip('.')}.")
        other = seen.setdefault(part.system.casefold(), part)
        if not part.system:
            findings.error(f"Say which system wrote the texts of '{part.name}'.")
        elif other is not part:
            findings.error(f"'{other.name}' and '{part.name}' are both assigned to system '{part.system}'.")
    if len(parts) > MAX_CANDIDATES:
        findings.error(f"{len(parts)} files hold texts; an item has at most {MAX_CANDIDATES} candidates.")


def _check_lookalikes(parts: Sequence[SystemFile]) -> None:
    """Ids that look the same in two files; look-alikes within one file are found when it is read."""
    lookalikes = Lookalikes()
    for number, part in enumerate(parts):
        for item in part.file.items:
            clash = lookalikes.clash(item.external_id, f"row {item.row} of '{part.name}'")
            if clash and number:
                part.findings.error(f"the id {clash}", item.row)


def _part(name: str, data: bytes, system: str, options: ReadOptions) -> SystemFile:
    findings = Findings(file=name)
    with naming(name):
        file = make_items(read_items_source(data, name, options, findings), options, findings, system.strip())
    for item in file.items:
        if len(item.candidates) > 1:
            named = ", ".join(f"'{candidate.system}'" for candidate in item.candidates)
            findings.error(
                f"has {len(item.candidates)} candidates ({named}); a file of one system has one text per item. "
                "Upload a file with several systems on its own.",
                item.row,
            )
    return SystemFile(name, system.strip(), file, findings)


def _check_missing(part: SystemFile, parts: Sequence[SystemFile]) -> None:
    """Items that other files have and this one lacks, each with file and row where it is."""
    own = {item.external_id for item in part.file.items if item.candidates}
    others: dict[str, tuple[str, int]] = {}
    for other in parts:
        for item in other.file.items if other is not part else ():
            others.setdefault(item.external_id, (other.name, item.row))
    missing = [name for name in others if name not in own]
    if own and len(missing) == len(others) and missing:
        first, theirs = next(iter(own)), missing[0]
        part.findings.error(f"shares no item id with the other files: it has '{first}', they have '{theirs}'.")
        return
    for name in missing:
        file, row = others[name]
        part.findings.error(f"has no text for item '{name}', which is in row {row} of '{file}'.")


def _joined(parts: Sequence[SystemFile], ids: Iterable[str]) -> Iterable[ItemDraft]:
    by_id: dict[str, list[tuple[SystemFile, ItemDraft]]] = {name: [] for name in ids}
    for part in parts:
        for item in part.file.items:
            if not any(owner is part for owner, _ in by_id[item.external_id]):  # a repeated id is reported already
                by_id[item.external_id].append((part, item))
    return (_item(pairs) for pairs in by_id.values())


def _item(pairs: Sequence[tuple[SystemFile, ItemDraft]]) -> ItemDraft:
    """One item, joined from its rows in all files."""
    with_context = [(part, item) for part, item in pairs if item.context_text or item.context_turns]
    part, context = with_context[0] if with_context else pairs[0]
    for other, item in with_context[1:]:
        if (item.context_text, item.context_turns) != (context.context_text, context.context_turns):
            other.findings.error(f"has a different context from row {context.row} of '{part.name}'.", item.row)
    return replace(
        context,
        candidates=tuple(item.candidates[0] for _, item in pairs if item.candidates),
        meta=_named(pairs, "meta"),
        extra_texts=_named(pairs, "extra_texts"),
    )


def _named(pairs: Sequence[tuple[SystemFile, ItemDraft]], which: str) -> dict[str, str]:
    """Meta fields or extra texts of all rows of an item, without those that differ: they are about a response."""
    values: dict[str, str] = {}
    differing = set()
    for part, item in pairs:
        for name, value in getattr(item, which).items():
            if values.setdefault(name, value) != value:
                part.findings.warning(f"has another '{name}' than the previous files; left out.", item.row)
                differing.add(name)
    return {name: value for name, value in values.items() if name not in differing}


def _item_file(parts: Sequence[SystemFile], items: tuple[ItemDraft, ...], whole: Findings) -> ItemFile:
    problems = [problem for part in (whole, *(part.findings for part in parts)) for problem in part.finish()]
    return ItemFile(
        kind=f"{len(parts)} files joined",
        items=items,
        problems=tuple(sorted(problems, key=lambda problem: SEVERITIES.index(problem.severity))),
        recognised={f"{p.name}: {c}": _meaning(p, taken) for p in parts for c, taken in p.file.recognised.items()},
        ignored=tuple(f"{part.name}: {column}" for part in parts for column in part.file.ignored),
        systems=tuple(part.system for part in parts if part.has_texts),
        speakers=tuple(dict.fromkeys(speaker for part in parts for speaker in part.file.speakers)),
        fields=tuple(dict.fromkeys(field for part in parts for field in part.file.fields)),
    )


def _meaning(part: SystemFile, taken: str) -> str:
    return f"candidate of system '{part.system}'" if taken.startswith("candidate") else taken

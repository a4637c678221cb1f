"""Checks that need all items of a file together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triptych.formats.model import MAX_CANDIDATES, MAX_SYSTEMS, Findings, ItemDraft
from triptych.formats.names import Lookalikes
from triptych.stats.numbers import counted


def check_items(items: Sequence[ItemDraft], findings: Findings, candidates_expected: bool) -> None:
    """Report ids that are used twice, and candidates that are missing or too many."""
    _check_ids(items, findings)
    _check_system_names(items, findings)
    systems = len({candidate.system for item in items for candidate in item.candidates})
    if systems > MAX_SYSTEMS:
        findings.error(f"The file names {systems:,} systems; at most {MAX_SYSTEMS} can be compared.")
    elif candidates_expected:  # each item would list thousands
        _check_missing(items, findings)
    for item in items:
        if len(item.candidates) > MAX_CANDIDATES:
            findings.error(f"has {len(item.candidates)} candidates; an item has at most {MAX_CANDIDATES}.", item.row)
    if items and all(item.context_text == "" for item in items) and candidates_expected:
        findings.warning("No item has a context: the candidates are judged on their own.")


def _check_ids(items: Sequence[ItemDraft], findings: Findings) -> None:
    rows: dict[str, int] = {}
    for item in items:
        before = rows.setdefault(item.external_id, item.row)
        if before != item.row:
            findings.error(
                f"the id '{item.external_id}' is already used in row {before} (ignoring leading and trailing blanks).",
                item.row,
            )
    _check_spelling("id", rows, findings)


def _check_system_names(items: Sequence[ItemDraft], findings: Findings) -> None:
    rows: dict[str, int] = {}
    for item in items:
        for candidate in item.candidates:
            rows.setdefault(candidate.system, item.row)
    _check_spelling("system", rows, findings)


def _check_spelling(noun: str, rows: Mapping[str, int], findings: Findings) -> None:
    """Report names that look the same, or differ in case only; rows: name → its first row."""
    folded: dict[str, str] = {}
    lookalikes = Lookalikes()
    for name, row in rows.items():
        clash = lookalikes.clash(name, f"row {row}")
        if clash:
            findings.error(f"the {noun} {clash}", row)
        alike = folded.setdefault(name.casefold(), name)
        if alike != name:
            where = f"'{name}' and '{alike}' (row {rows[alike]})"
            findings.warning(f"the {noun}s {where} differ in case only; both are kept.", row)


def _check_missing(items: Sequence[ItemDraft], findings: Findings) -> None:
    """Missing candidates: an error if all items have the same systems, a warning if systems differ between items."""
    sets = [frozenset(candidate.system for candidate in item.candidates) for item in items]
    every = frozenset().union(*sets)
    largest = max((len(systems) for systems in sets), default=0)
    shared = largest == len(every)
    for item, systems in zip(items, sets, strict=True):
        if not systems:
            findings.error("has no candidates.", item.row)
        elif shared and systems != every:
            missing = ", ".join(f"'{name}'" for name in sorted(every - systems))
            findings.error(f"has no candidate of system {missing}, which other items have.", item.row)
        elif len(systems) < largest:
            findings.warning(f"has {counted(len(systems), 'candidate')}, others have {largest}.", item.row)

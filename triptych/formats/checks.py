"""Checks that need all items of a file together."""

from __future__ import annotations

from collections.abc import Sequence

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
    exact: dict[str, ItemDraft] = {}
    folded: dict[str, ItemDraft] = {}
    lookalikes = Lookalikes()
    for item in items:
        clash = lookalikes.clash(item.external_id, f"row {item.row}")
        if clash:
            findings.error(f"the id {clash}", item.row)
        before = exact.setdefault(item.external_id, item)
        alike = folded.setdefault(item.external_id.casefold(), item)
        if before is not item:
            findings.error(
                f"the id '{item.external_id}' is already used in row {before.row} (ignoring leading and trailing "
                f"blanks).",
                item.row,
            )
        elif alike is not item:
            findings.warning(
                f"the ids '{item.external_id}' and '{alike.external_id}' (row {alike.row}) differ in case "
                "only; they are kept as two items.",
                item.row,
            )


def _check_system_names(items: Sequence[ItemDraft], findings: Findings) -> None:
    rows: dict[str, int] = {}
    for item in items:
        for candidate in item.candidates:
            rows.setdefault(candidate.system, item.row)
    folded: dict[str, str] = {}
    lookalikes = Lookalikes()
    for name, row in rows.items():
        clash = lookalikes.clash(name, f"row {row}")
        if clash:
            findings.error(f"the system {clash}", row)
        alike = folded.setdefault(name.casefold(), name)
        if alike != name:
            findings.warning(f"The systems '{alike}' and '{name}' differ in case only; they are kept as two systems.")


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

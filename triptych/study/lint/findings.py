"""A finding of the linter: what it is, what to do about it, and where."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from triptych.formats.model import ItemDraft
from triptych.stats.numbers import counted
from triptych.study.lint.material import CandidateText, Material

Severity = Literal["grave", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True)
class LintFinding:
    """A finding: what it is, what to do about it, and where. rows: rows of the file, or places in the study.

    passages: the passage in the text of each item; it may name the system, so nobody who is blind may see it.
    name_mark: mark (see `system_names.mark_of`) of the system whose name was found.
    """

    severity: Severity
    text: str
    advice: str
    items: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    blocking: bool = False
    passages: tuple[str, ...] = ()
    name_mark: str = ""


def about(
    items: Iterable[ItemDraft],
    severity: Severity,
    text: str,
    advice: str,
    blocking: bool = False,
    passages: Mapping[int, str] = MappingProxyType({}),
) -> Iterator[LintFinding]:
    """A finding about these items, without repetitions and in the order of the file; nothing if there are no items."""
    once = sorted({id(item): item for item in items}.values(), key=lambda item: item.row)
    if once:
        ids = tuple(item.external_id for item in once)
        found = tuple(passages.get(id(item), "") for item in once) if passages else ()
        yield LintFinding(severity, text, advice, ids, tuple(item.row for item in once), blocking, found)


def within(
    texts: Sequence[CandidateText], pattern: re.Pattern[str], severity: Severity, text: str, advice: str
) -> Iterator[LintFinding]:
    """A finding about these texts; passages: the pattern's first match in each item."""
    passages = {id(candidate.item): candidate.around(pattern) for candidate in reversed(texts)}
    yield from about(items_of(texts), severity, text, advice, passages=passages)


def counted_texts(m: Material, texts: Sequence[CandidateText]) -> str:
    """The number of texts by system, as in "3 texts of System 2" or "5 texts (System 1: 3, System 2: 2)"."""
    whose = Counter(text.system for text in texts).most_common(4)
    number = counted(len(texts), "text")
    if len(whose) == 1:
        return f"{number} of {m.name(whose[0][0])}"
    return f"{number} ({', '.join(f'{m.name(system)}: {n:,}' for system, n in whose)})"


def items_of(texts: Iterable[CandidateText]) -> Iterator[ItemDraft]:
    return (text.item for text in texts)

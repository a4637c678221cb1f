"""How the texts of an item's fields are shown: as plain text, or formatted as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from triptych.formats.model import ItemDraft

Format = Literal["plain", "markdown"]
Field = Literal["context", "responses", "extra_texts"]
FIELDS: tuple[Field, ...] = get_args(Field)

# signs that people use to format texts; a single star or dash is ordinary text; no place is looked at hundreds of times
SIGNS = re.compile(
    r"\*\*[^*\s](?:[^*\n]{0,300}[^*\s])?\*\*"
    r"|^#{1,6} \S|^ {0,3}```|^ {0,3}~~~|`[^`\n]{1,200}`"
    r"|\[[^\[\]\n]{1,200}\]\([^\s\[]{1,500}?\)"
    r"|^ {0,3}\|?(?: ?:?-{3,}:? ?\|)+(?: ?:?-{3,}:? ?)?$"
    r"|^[-*+] \S.*\n(?:[-*+] \S|  )|^\d{1,2}[.)] \S.*\n+(?:\d{1,2}[.)] \S|  )"
    r"|^> \S|\$\$|\\\(|\\\[|\$[^$\s][^$\n\\^_{}=]{0,80}[\\^_{}=][^$\n]{0,160}\$",
    re.MULTILINE,
)
PROPOSED_FROM = 0.2  # share of a field's texts that look like Markdown


@dataclass(frozen=True)
class Proposal:
    """Number of a field's texts that are not blank, how many look like Markdown, and the format to propose."""

    texts: int
    marked: int

    @property
    def format(self) -> Format:
        return "markdown" if self.marked and self.marked >= PROPOSED_FROM * self.texts else "plain"


def proposals(items: Sequence[ItemDraft]) -> dict[Field, Proposal]:
    """A proposal for each field that has texts. One format applies to all systems, so that it never reveals one."""
    texts = {field: [text for text in _texts(items, field) if text.strip()] for field in FIELDS}
    return {field: Proposal(len(own), sum(map(looks_formatted, own))) for field, own in texts.items() if own}


def looks_formatted(text: str) -> bool:
    """Whether a text has signs of Markdown."""
    return SIGNS.search(text) is not None


def _texts(items: Sequence[ItemDraft], field: Field) -> Iterable[str]:
    for item in items:
        if field == "context":
            yield item.context_text or ""
            yield from (turn.text for turn in item.context_turns)
        elif field == "responses":
            yield from (candidate.text or "" for candidate in item.candidates)
            yield from (turn.text for candidate in item.candidates for turn in candidate.turns or ())
        else:
            yield from item.extra_texts.values()

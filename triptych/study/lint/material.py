"""The texts of a study as the checks of the linter read them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from triptych.formats.model import ItemDraft
from triptych.study.pairing import PlanLine

MIN_TEXTS = 5
AROUND = 40  # characters shown before and after a passage


@dataclass(frozen=True, slots=True)
class CandidateText:
    """One candidate's text, all turns of a conversation joined; folded: without case and outer blanks, to compare."""

    item: ItemDraft
    system: str
    text: str
    last: str
    folded: str

    @property
    def is_open(self) -> bool:
        """Whether the text ends with a letter, a digit or a sign after which more is expected."""
        return bool(self.last) and (self.last[-1].isalnum() or self.last[-1] in ",;-–—([{&")

    def around(self, pattern: re.Pattern[str]) -> str:
        """The pattern's first match in `folded`, with some words around it."""
        place = pattern.search(self.folded)
        stripped = self.text.strip()
        whole = stripped if len(stripped) == len(self.folded) else self.folded
        if place is None:
            return ""
        start, end = max(0, place.start() - AROUND), min(len(whole), place.end() + AROUND)
        words = " ".join(whole[start:end].split())
        return f"{'…' if start else ''}{words}{'…' if end < len(whole) else ''}"


@dataclass(frozen=True)
class Material:
    """The shared input of the checks.

    names: system → the name that readers of the findings may see; titles: speaker → name on screen; most_raters:
    largest number of annotators of an item, None if not known; formatted: responses are shown as Markdown.
    """

    items: Sequence[ItemDraft]
    training: Sequence[ItemDraft]
    plan: Sequence[PlanLine]
    names: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    most_raters: int | None = None
    formatted: bool = False

    @cached_property
    def texts(self) -> list[CandidateText]:
        """Every candidate's text that is not missing or blank."""
        texts = []
        for item in self.items:
            for candidate in item.candidates:
                turns = [turn.text for turn in candidate.turns or ()]
                text = "\n".join(turns) if turns else candidate.text or ""
                if text.strip():
                    last = (turns[-1] if turns else text).rstrip()
                    texts.append(CandidateText(item, candidate.system, text, last, text.strip().casefold()))
        return texts

    @cached_property
    def contexts(self) -> dict[int, str]:
        """Python's id of an item → its context without case; the items' own ids may be repeated."""
        return {id(item): context_of(item) for item in self.items}

    @cached_property
    def further_texts(self) -> list[tuple[ItemDraft, str]]:
        """Items with texts shown next to their context, with titles and without case."""
        return [(item, _folded(item.extra_texts)) for item in self.items if item.extra_texts]

    @cached_property
    def ids(self) -> list[tuple[ItemDraft, str]]:
        """Items with their ids, whose parts are words."""
        return [(item, item.external_id.casefold().replace("_", " ")) for item in self.items]

    @cached_property
    def fields(self) -> list[tuple[ItemDraft, str]]:
        """Items with meta fields, with names and without case."""
        return [(item, _folded(item.meta)) for item in self.items if item.meta]

    @cached_property
    def speakers(self) -> dict[str, list[ItemDraft]]:
        """Speakers as annotators see them, case-folded → the items in which they speak."""
        items: dict[str, list[ItemDraft]] = defaultdict(list)
        for item in self.items:
            turns = chain(item.context_turns, *(candidate.turns or () for candidate in item.candidates))
            for speaker in {self.titles.get(turn.speaker, turn.speaker) for turn in turns}:
                items[speaker.casefold().replace("_", " ")].append(item)
        return items

    @cached_property
    def whole(self) -> str:
        """All texts joined, to search for a word once."""
        return "\n".join(text.folded for text in self.texts)

    def having(self, needles: Iterable[str], pattern: re.Pattern[str]) -> list[CandidateText]:
        """Texts in which the pattern is found; only texts with one of the needles are searched."""
        used = [needle for needle in needles if needle in self.whole]
        if not used:
            return []
        return [s for s in self.texts if any(needle in s.folded for needle in used) and pattern.search(s.folded)]

    @cached_property
    def by_system(self) -> dict[str, list[CandidateText]]:
        texts: dict[str, list[CandidateText]] = defaultdict(list)
        for text in self.texts:
            texts[text.system].append(text)
        return texts

    @cached_property
    def by_item(self) -> dict[int, list[CandidateText]]:
        """Python's id of an item → its texts."""
        texts: dict[int, list[CandidateText]] = defaultdict(list)
        for text in self.texts:
            texts[id(text.item)].append(text)
        return texts

    def name(self, system: str) -> str:
        return self.names.get(system, f"'{system}'")

    def owner(self, system: str) -> str:
        """The system whose name is in a text; for readers who are blind not its number, as the text shows the name."""
        return self.name(system) if self.names.get(system, system) == system else "a system"


def _folded(named: Mapping[str, str]) -> str:
    return "\n".join(f"{name}\n{value}" for name, value in named.items()).casefold()


def context_of(item: ItemDraft, *, with_speakers: bool = True) -> str:
    turns = (f"{turn.speaker}\t{turn.text.strip()}" if with_speakers else turn.text for turn in item.context_turns)
    return ("\n".join(turns) or item.context_text or "").strip().casefold()

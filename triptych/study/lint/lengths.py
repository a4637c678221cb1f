"""Texts that stop too early, or are of another length than the others."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median

from triptych.formats.model import ItemDraft
from triptych.stats.numbers import counted
from triptych.study.lint.findings import LintFinding, about, items_of
from triptych.study.lint.material import MIN_TEXTS, CandidateText, Material

MIN_FOR_LENGTHS = 10
OPEN_SHARE_GAP = 0.25
MAXIMUM_SHARE = 0.2
LENGTH_RATIO = 2.0
# Iglewicz & Hoaglin (1993): a modified z-score beyond 3.5; the floor keeps texts of nearly one length quiet
OUTLIER_SCORE, LEAST_SPREAD = 3.5, 0.15
VOCABULARY_CHARACTERS = 2_000_000
_DANGLING = {
    "the", "a", "an", "and", "or", "of", "to", "with", "in", "for", "but", "because", "that", "is", "are", "was",
    "your", "my", "their", "its", "if", "when", "as", "at", "by", "from",
}  # fmt: skip


def cut_off(m: Material) -> Iterator[LintFinding]:
    """Texts of one system that stop in mid-sentence, unlike its other texts and those of other systems."""
    opened = {system: [s for s in texts if s.is_open] for system, texts in m.by_system.items()}
    share = {system: len(opened[system]) / len(texts) for system, texts in m.by_system.items()}
    middle = [s for system, texts in opened.items() if share[system] < 0.5 for s in texts]
    cut = _in_the_middle(m, middle)
    text = f"{counted(len(cut), 'text')} {'ends' if len(cut) == 1 else 'end'} in the middle of a word or a sentence."
    yield from about(cut, "warning", text, "Check whether they were cut off; annotators will mark them down for it.")
    for system, texts in opened.items():
        others = [share[other] for other in share if other != system]
        limit = _maximum(texts)
        if limit:
            text = f"{m.name(system)} stops at {limit} in many texts, without closing punctuation."
            advice = "They seem to be cut at a maximum length. Generate them again with a higher one."
            yield from about(items_of(texts), "warning", text, advice)
        elif others and len(texts) >= MIN_TEXTS and share[system] - median(others) >= OPEN_SHARE_GAP:
            often = f"{share[system]:.0%} of the texts of {m.name(system)}"
            text = f"{often} end without closing punctuation, far more than those of others."
            yield from about(items_of(texts), "warning", text, "Check whether they were cut off at a maximum length.")


def _maximum(texts: Sequence[CandidateText]) -> str:
    """A phrase about the length at which a fifth of these texts stop; "" if there is none."""
    characters, words = [len(text.text) for text in texts], [len(text.text.split()) for text in texts]
    for unit, lengths, least in (("characters", characters, 100), ("words", words, 20)):
        at_most = lengths.count(most := max(lengths, default=0))
        if most >= least and at_most >= MIN_TEXTS and at_most >= MAXIMUM_SHARE * len(texts):
            return f"{most:,} {unit}"
    return ""


def _in_the_middle(m: Material, texts: Sequence[CandidateText]) -> list[ItemDraft]:
    """Texts that end in a word that another must follow, or in an incomplete word that the study uses in full."""
    tails = [(text, text.last.split()[-1].casefold()) for text in texts]
    unfinished = [text.item for text, tail in tails if tail in _DANGLING or not tail[-1].isalnum()]
    rare = [(text, tail) for text, tail in tails if tail.isalpha() and len(tail) >= 3 and tail not in _DANGLING]
    if not rare:
        return unfinished
    words = _vocabulary(m.texts)
    ordered = sorted(words)
    for text, tail in rare:
        place = bisect_left(ordered, tail)
        longer = ordered[place : place + 20] if tail not in words else ()
        if any(word.startswith(tail) and len(word) >= len(tail) + 3 for word in longer):
            unfinished.append(text.item)
    return unfinished


def _vocabulary(texts: Sequence[CandidateText]) -> set[str]:
    """Words of the texts, without the last one of each, up to a limit."""
    words: set[str] = set()
    read = 0
    for text in texts:
        read += len(text.folded)
        if read > VOCABULARY_CHARACTERS:
            break
        words.update(word.strip(".,;:!?\"'()") for word in text.folded.split()[:-1])
    return words


def lengths(m: Material) -> Iterator[LintFinding]:
    """A system whose texts are typically far longer than the others on the same items, and single outliers."""
    for system, ratio in _ratios(m).items():
        if ratio >= LENGTH_RATIO:
            text = f"{m.name(system)} is typically {ratio:.1f} times as long as the other responses to the same item."
            yield LintFinding("warning", text, "Length influences ratings. State in the paper how you deal with it.")
    odd = []
    for texts in m.by_system.values():
        if len(texts) >= MIN_FOR_LENGTHS:
            logs = [math.log(len(text.text)) for text in texts]
            usual = median(logs)
            off = [abs(log - usual) for log in logs]
            spread = max(median(off) / 0.6745, LEAST_SPREAD)
            odd += [text.item for text, far in zip(texts, off, strict=True) if far > OUTLIER_SCORE * spread]
    text = f"{counted(len(odd), 'text')} far shorter or longer than usual for their system."
    yield from about(odd, "note", text, "Check them: something may be missing or repeated.")


def _ratios(m: Material) -> dict[str, float]:
    """System → typical ratio of its length to the mean length of the others on the same items."""
    compared: dict[str, list[float]] = defaultdict(list)
    for texts in m.by_item.values():
        logs = [math.log(len(text.text)) for text in texts]
        if len(logs) > 1:
            for text, own in zip(texts, logs, strict=True):
                compared[text.system].append(own - (sum(logs) - own) / (len(logs) - 1))
    return {system: math.exp(median(logs)) for system, logs in compared.items() if len(logs) >= MIN_TEXTS}

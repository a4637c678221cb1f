"""Candidates that are missing, empty or repeated, and items that are repeated."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from triptych.formats.model import ItemDraft
from triptych.stats.numbers import counted
from triptych.study.lint.findings import LintFinding, about
from triptych.study.lint.material import MIN_TEXTS, Material

MIN_CHARACTERS = 20  # characters; shorter texts may be equal by chance
SAME_FILE_SHARE = 0.5
MIN_GROUPS = 5
GROUP_THEM = "If these items belong together, name the field of the file that groups them under Setup, Who rates what."
_LAST_NUMBER = re.compile(r"^(.*\d)[-_.:/ ]+(?:[a-zA-Z]+[-_.:/ ]*)?\d+$")


def missing(m: Material) -> Iterator[LintFinding]:
    """Missing candidates: blocking if all items have the same systems, otherwise a note on items with fewer."""
    systems_of = [frozenset(c.system for c in item.candidates if c.text is not None or c.turns) for item in m.items]
    every, most = frozenset().union(*systems_of), max(map(len, systems_of), default=0)
    lacking = [item for item, systems in zip(m.items, systems_of, strict=True) if len(systems) < most or not systems]
    add = "Add the missing texts and upload the file again, or leave these items out."
    if most == len(every):
        yield from about(
            lacking, "grave", f"{counted(len(lacking), 'item')} without a candidate of every system.", add, True
        )
        return
    none = [item for item, systems in zip(m.items, systems_of, strict=True) if not systems]
    yield from about(none, "grave", f"{counted(len(none), 'item')} without any candidate.", add, True)
    fewer = [item for item in lacking if item.candidates]
    text = f"{counted(len(fewer), 'item')} with fewer candidates than the others ({most})."
    yield from about(fewer, "warning", text, "Compare systems only where they answered the same items.")


def empty(m: Material) -> Iterator[LintFinding]:
    blank = [
        item
        for item in m.items
        for candidate in item.candidates
        if (candidate.text is not None and not candidate.text.strip())
        or (candidate.turns is not None and not any(turn.text.strip() for turn in candidate.turns))
    ]
    text = f"{counted(len(blank), 'candidate')} without a text."
    yield from about(blank, "grave", text, "Nobody can rate an empty text: add the text, or leave the item out.", True)


def identical(m: Material) -> Iterator[LintFinding]:
    """Two systems with the same text for an item; if for most items, one file was probably imported twice."""
    pairs: dict[tuple[str, str], list[ItemDraft]] = defaultdict(list)
    for texts in m.by_item.values():
        for text, other in combinations(texts, 2):
            if text.folded == other.folded:
                pairs[text.system, other.system].append(text.item)
    rest: list[ItemDraft] = []
    for (first, second), items in pairs.items():
        if len(items) >= MIN_TEXTS and len(items) >= SAME_FILE_SHARE * len(m.items):
            both = f"{m.name(first)} and {m.name(second)}"
            sentence = f"{both} have the same text in {len(items):,} of {len(m.items):,} items."
            yield from about(items, "grave", sentence, "Check whether one file was used for two systems.")
        else:
            rest += items
    sentence = f"{counted(len({id(item) for item in rest}), 'item')} with two candidates of the same text."
    yield from about(
        rest, "warning", sentence, "Annotators will see the same text twice. Leave these items out if in doubt."
    )


def repeated(m: Material) -> Iterator[LintFinding]:
    """Texts that a system repeats for many items."""
    for system, texts in m.by_system.items():
        for text, number in Counter(candidate.folded for candidate in texts).most_common(3):
            if number >= max(3, 0.02 * len(texts)):
                items = [candidate.item for candidate in texts if candidate.folded == text]
                sentence = f"{m.name(system)} has the same text for {number:,} items."
                advice = "Check whether something went wrong when the texts were generated."
                yield from about(items, "warning", sentence, advice)


def doubled(m: Material) -> Iterator[LintFinding]:
    """Items that are equal, and items that have only the context in common."""
    by_content: dict[object, list[ItemDraft]] = defaultdict(list)
    by_context: dict[object, list[ItemDraft]] = defaultdict(list)
    for item in m.items:
        context = m.contexts[id(item)]
        by_content[context, frozenset(text.folded for text in m.by_item[id(item)])].append(item)
        if context:
            by_context[context].append(item)
    same = [item for items in by_content.values() if len(items) > 1 for item in items]
    text = f"{counted(len(same), 'item')} are in the file more than once, with the same context and candidates."
    yield from about(same, "grave", text, "Keep one of each, or their ratings count as if they were independent.")
    reported = {id(item) for item in same}
    shared = [item for items in by_context.values() if len(items) > 1 for item in items if id(item) not in reported]
    text = f"{counted(len(shared), 'item')} share their context with another item."
    yield from about(
        shared,
        "note",
        text,
        f"Annotators read these contexts more than once. {GROUP_THEM}",
    )


def groups_in_ids(m: Material) -> Iterator[LintFinding]:
    """Ids with two numbers, such as dialogue-12-turn-3, with the same first part in several ids."""
    if together := grouped_ids([item.external_id for item in m.items]):
        text = f"Ids look like {counted(len(together), 'group')} of items, such as {together[0]}."
        yield LintFinding("note", text, GROUP_THEM)


def grouped_ids(ids: Sequence[str]) -> list[str]:
    """The common first part of each id that looks like part of a group; empty where most ids do not."""
    groups = Counter(match[1] for name in ids if (match := _LAST_NUMBER.match(name)))
    together = [prefix for prefix, count in groups.items() if count > 1]
    most = sum(groups[prefix] for prefix in together) > len(ids) / 2
    return together if len(together) >= MIN_GROUPS and most else []


def trained_on(m: Material) -> Iterator[LintFinding]:
    """Main items that annotators also see in training, together with the reference, or as a check."""
    training = Material(m.training, (), ())
    contexts = set(training.contexts.values()) - {""}
    texts = {text.folded for text in training.texts if len(text.folded) >= MIN_CHARACTERS}
    seen = [item for item in m.items if m.contexts[id(item)] in contexts]
    seen += [text.item for text in m.texts if text.folded in texts]
    text = f"{counted(len({id(item) for item in seen}), 'item')} also appear among the training or check items."
    yield from about(seen, "grave", text, "Annotators meet them twice and may know what is expected: leave them out.")

"""How a corrected file of items differs from the one before it."""

from __future__ import annotations

from dataclasses import replace

from triptych.formats.model import ItemDraft, ItemFile
from triptych.stats.numbers import counted, first_words

MOST_NAMED = 5


def differences(before: ItemFile, after: ItemFile) -> list[str]:
    """Sentences about added, removed and changed errors, items and systems; different rows alone are no difference."""
    old, new = ({item.external_id: item for item in file.items} for file in (before, after))
    systems, systems_now = dict.fromkeys(before.systems), dict.fromkeys(after.systems)
    changed = [name for name in new if name in old and _content(new[name]) != _content(old[name])]
    parts = [
        ("no longer in it", [name for name in old if name not in new]),
        ("new", [name for name in new if name not in old]),
        ("changed", changed),
        ("no longer in it as a system", [name for name in systems if name not in systems_now]),
        ("new as a system", [name for name in systems_now if name not in systems]),
    ]
    sentences = [f"{first_words(names, MOST_NAMED, ', ')}: {what}." for what, names in parts if names]
    errors = tuple(_errors(file) for file in (before, after))
    if any(errors):
        sentences.insert(0, f"{counted(errors[0], 'error')} before, {errors[1]:,} now.")
    return sentences or ["The items are the same."]


def _content(item: ItemDraft) -> ItemDraft:
    return replace(item, row=0)


def _errors(file: ItemFile) -> int:
    return sum(1 + problem.more for problem in file.problems if problem.severity == "error")

"""Ids and names of systems: which characters are allowed, and which names look the same to a reader."""

from __future__ import annotations

import re
import unicodedata

MAX_NAME_CHARACTERS = 500  # an index of PostgreSQL takes 2,700 bytes
MAX_SHOWN = 80
# the property Bidi_Control of Unicode
BIDI_CONTROL = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# invisible characters besides the format characters (category Cf): joiners, fillers, variation selectors
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def seen_as(name: str) -> str:
    """The name as a reader sees it: in NFC, without invisible characters, every run of blanks as one space.

    A text too long for a name is not normalised, which can take time by the square of its length.
    """
    if not name.isascii() and len(name) <= MAX_NAME_CHARACTERS:
        visible = INVISIBLE.sub("", "".join(c for c in name if unicodedata.category(c) != "Cf"))
        name = unicodedata.normalize("NFC", visible)
    return " ".join(name.split())


def fault_of(name: str) -> str | None:
    """Why this is not a valid id or system name; None if it is."""
    if len(name) > MAX_NAME_CHARACTERS:
        return f"'{name[:20]}…' has {len(name):,} characters; an id or a name has at most {MAX_NAME_CHARACTERS}"
    control = BIDI_CONTROL.search(name)
    if control:
        return f"{spelled(name)} holds U+{ord(control[0]):04X}, which changes the direction of the text; remove it"
    if not seen_as(name):
        return f"{spelled(name)} contains only invisible characters"
    return None


def spelled(name: str) -> str:
    """The name in quotes, with characters beyond ASCII as numbers, so that look-alikes differ."""
    return ascii(name if len(name) <= MAX_SHOWN else f"{name[:MAX_SHOWN]}…")


class Lookalikes:
    """Names of one kind, each with its first place; finds those that look like another but are written differently."""

    def __init__(self) -> None:
        self.first: dict[str, tuple[str, str]] = {}

    def clash(self, name: str, place: str) -> str | None:
        """A sentence that names both places; None where no other name looks like this one."""
        other, other_place = self.first.setdefault(seen_as(name), (name, place))
        if other == name:
            return None
        return (
            f"{spelled(name)} ({place}) looks the same as {spelled(other)} ({other_place}), but is written "
            f"differently. Use the same spelling, or distinct names."
        )

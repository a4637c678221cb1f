"""People's names: how they are stored, and when two of them are the same."""

from __future__ import annotations

import unicodedata

from triptych.errors import NotAllowed
from triptych.formats.names import INVISIBLE
from triptych.languages.language import _

LONGEST_NAME = 80
LONGEST_TYPED = 1000  # of a name; normalising combining marks takes time that grows with the square of their number


def read_name(name: str) -> str:
    """The name as stored (see `tidied`). Raises NotAllowed if it is too long or has nothing to see."""
    tidy = tidied(name)
    if not folded(tidy) or len(tidy) > LONGEST_NAME:
        raise NotAllowed(_("A name has 1 to {count} characters.", count=LONGEST_NAME))
    return tidy


def tidied(name: str) -> str:
    """The name in NFC, without control characters and with single spaces."""
    composed = unicodedata.normalize("NFC", name[:LONGEST_TYPED])
    printable = "".join(sign for sign in composed if sign.isprintable() or sign == "\t")
    return " ".join(printable.split())


def folded(name: str | None) -> str:
    """A key that is equal for different spellings of one name, also with invisible characters in between."""
    visible = INVISIBLE.sub("", unicodedata.normalize("NFKC", tidied(name or "")))
    return " ".join(visible.casefold().split())

"""The current language: English, or one with a catalogue in this folder.

A catalogue is a gettext .po file, read when its language is first used. Its keys are the English texts; a missing
translation shows the English text. A new language needs only a new file.
"""

from __future__ import annotations

import gettext as standard
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

FOLDER = Path(__file__).parent
ENGLISH = "en"
LINE = re.compile(r'(msgid|msgid_plural|msgstr(?:\[\d\])?) (".*")')
PLURAL = re.compile(r"plural=\(?(.+?)\)?;?$")
PREFERENCE = re.compile(r"([a-z]{2,3})(?:-[a-z0-9-]+)?(?:\s*;\s*q=([01](?:\.\d+)?))?", re.IGNORECASE)
MAX_HEADER = 200  # characters of Accept-Language that are read
_used: ContextVar[str] = ContextVar("language", default=ENGLISH)


@dataclass(frozen=True)
class CatalogueEntry:
    """A text of a catalogue. texts: its translation or plural forms; places: the files that use it."""

    name: str
    plural: str
    texts: tuple[str, ...]
    places: tuple[str, ...]


@dataclass(frozen=True)
class Language:
    """A language and its catalogue.

    name: its own name; english: its English name. plurals: Unicode's category of each plural form. form: returns the
    plural form of a number.
    """

    code: str
    name: str
    english: str
    direction: str
    plurals: tuple[str, ...]
    form: Callable[[int], int]
    entries: Mapping[str, CatalogueEntry]


def entries_in(text: str) -> Iterator[CatalogueEntry]:
    """The entries of a .po file; the first is the header, with an empty name. Commented entries are left out."""
    for block in text.split("\n\n"):
        parts, places, current = {}, [], ""
        for line in block.splitlines():
            keyword = LINE.fullmatch(line)
            if line.startswith("#:"):
                places += line[2:].split()
            elif keyword:
                current = keyword[1]
                parts[current] = json.loads(keyword[2])
            elif line.startswith('"'):
                parts[current] += json.loads(line)
        if "msgid" in parts:
            texts = [text for name, text in sorted(parts.items()) if name.startswith("msgstr")]
            yield CatalogueEntry(parts["msgid"], parts.get("msgid_plural", ""), tuple(texts), tuple(places))


@lru_cache(maxsize=1)
def codes() -> tuple[str, ...]:
    """Codes of the available languages, English first."""
    return (ENGLISH, *sorted(path.stem for path in FOLDER.glob("*.po")))


@lru_cache(maxsize=32)
def language(code: str) -> Language:
    """A language by its code. Raises KeyError for an unknown code."""
    if code == ENGLISH:
        return Language(ENGLISH, "English", "English", "ltr", ("one", "other"), lambda number: int(number != 1), {})
    if code not in codes():
        raise KeyError(code)
    head, *entries = entries_in((FOLDER / f"{code}.po").read_text(encoding="utf-8"))
    fields = dict(line.split(": ", 1) for line in head.texts[0].splitlines())
    form = standard.c2py(PLURAL.search(fields["Plural-Forms"])[1])  # type: ignore[index]  # a test reads every head
    return Language(
        code,
        fields["X-Name"],
        fields["X-English-Name"],
        fields["X-Direction"],
        tuple(fields["X-Plural-Categories"].split()),
        form,
        {entry.name: entry for entry in entries if all(entry.texts)},
    )


def accepted(header: str | None) -> str:
    """The first available language in an Accept-Language header, otherwise English."""
    wanted = [(float(quality or 1), code.lower()) for code, quality in PREFERENCE.findall((header or "")[:MAX_HEADER])]
    ranked = [code for quality, code in sorted(wanted, key=lambda pair: -pair[0]) if quality]  # q=0 refuses a language
    return next((code for code in ranked if code in codes()), ENGLISH)


def use(code: str) -> None:
    """Set the language of this thread or task; English for an unknown code."""
    _used.set(code if code in codes() else ENGLISH)


@contextmanager
def using(code: str) -> Iterator[None]:
    """Use a language within this context."""
    before = _used.set(code if code in codes() else ENGLISH)
    try:
        yield
    finally:
        _used.reset(before)


def used() -> str:
    """The code of the current language."""
    return _used.get()


def message(text: str) -> str:
    """Marks a text for the catalogues; it is translated when it is shown."""
    return text


def _(text: str, /, **values: object) -> str:
    """A text in the current language, with its placeholders filled."""
    entry = language(used()).entries.get(text)
    return (entry.texts[0] if entry else text).format(**values) if values else (entry.texts[0] if entry else text)


def ngettext(singular: str, plural: str, count: int, /, **values: object) -> str:
    """As `_`, with a plural form chosen by a number, which also fills the placeholder `count`."""
    current = language(used())
    entry = current.entries.get(singular)
    form = current.form(count)
    text = entry.texts[form] if entry else (singular if count == 1 else plural)
    return text.format(count=count, **values)


@lru_cache(maxsize=32)
def for_browser(code: str) -> bytes:
    """The texts of our scripts in the format of `language.js`."""
    current = language(code)
    texts = {
        entry.name: list(entry.texts) if entry.plural else entry.texts[0]
        for entry in current.entries.values()
        if any(place.endswith(".js") for place in entry.places)
    }
    head = {"language": code, "direction": current.direction, "plurals": current.plurals}
    return json.dumps({**head, "texts": texts}, ensure_ascii=False, separators=(",", ":")).encode()

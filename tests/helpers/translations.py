"""The texts of the app that annotators read, as Babel finds them, and the catalogues of `triptych/languages/`.

`make translations` writes texts that are new into every catalogue, without a translation, and takes out those that are
gone. A new language begins as a file with a head alone.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from babel.messages.extract import extract_from_file

from triptych.languages.language import FOLDER, CatalogueEntry, entries_in

ROOT = Path(__file__).resolve().parents[2]
KEYWORDS = {"_": None, "message": None, "ngettext": (1, 2)}
SOURCES = {
    "python": ("pages/**/*.py", "components/**/*.py", "triptych/**/*.py"),
    "javascript": ("components/workbench/*.js", "components/workbench/texts/*.js"),
}


def extracted() -> dict[str, CatalogueEntry]:
    """English text → the text, without a translation."""
    found: dict[str, CatalogueEntry] = {}
    for method, patterns in SOURCES.items():
        for path in sorted(path for pattern in patterns for path in ROOT.glob(pattern)):
            place = path.relative_to(ROOT).as_posix()
            for _, names, *_more in extract_from_file(method, path, KEYWORDS):
                name, plural = names[:2] if isinstance(names, tuple) else (names, "")
                before = found.get(name)
                places = before.places if before else ()
                plural = plural or (before.plural if before else "")
                found[name] = CatalogueEntry(name, plural, (), tuple(dict.fromkeys((*places, place))))
    return found


def written(entry: CatalogueEntry, texts: tuple[str, ...], forms: int) -> str:
    """An entry of a .po file."""
    texts = texts or ("",) * (forms if entry.plural else 1)
    lines = [f"#: {' '.join(entry.places)}", f"msgid {_quoted(entry.name)}"]
    if entry.plural:
        lines.append(f"msgid_plural {_quoted(entry.plural)}")
        lines += [f"msgstr[{n}] {_quoted(text)}" for n, text in enumerate(texts)]
    else:
        lines.append(f"msgstr {_quoted(texts[0])}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def update(path: Path) -> None:
    """Brings a catalogue up to date; its head stays as it is."""
    text = path.read_text(encoding="utf-8")
    head, _, _rest = text.partition("\n\n")
    _, *old = entries_in(text)
    texts = {(entry.name, bool(entry.plural)): entry.texts for entry in old}
    forms = int(head.partition("nplurals=")[2].partition(";")[0])
    blocks = [written(e, texts.get((e.name, bool(e.plural)), ()), forms) for e in extracted().values()]
    path.write_text("\n\n".join([head.rstrip(), *blocks]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for catalogue in sorted(FOLDER.glob("*.po")):
        update(catalogue)
        empty = sum(not all(entry.texts) for entry in entries_in(catalogue.read_text(encoding="utf-8")))
        sys.stdout.write(f"{catalogue.name}: {empty} texts have no translation\n")

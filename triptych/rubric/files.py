"""Rubric files: reading one YAML file per rubric, explaining its mistakes, and the JSON Schema for editors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from triptych.errors import InvalidRubric, first_lines
from triptych.rubric import edits, fields, yaml_text
from triptych.rubric.model import QUOTE_IT, Rubric
from triptych.rubric.scales import KINDS, shown
from triptych.rubric.yaml_text import InvalidYaml, TooDeep, TooManyParts
from triptych.settings import app_folder

RUBRICS = app_folder() / "rubrics"
# reading a YAML text of this size takes a second; the longest shipped rubric has 600 parts
MAX_CHARACTERS, MAX_PARTS = 200_000, 5_000
# a part that is written once and repeated (`*name`) counts each time, as the form shows it each time
MAX_REPEATED_PARTS = 10 * MAX_PARTS
MAX_LISTED = 10  # mistakes in one message
# the start for leads who write their own questions
EMPTY_RUBRIC = """\
key: my_rubric
title: My rubric
summary: What this rubric asks.
instructions: Read the context, then judge each response.
criteria:
  - key: quality
    title: Quality
    question: How good is the response?
    definition: Judge the response as a whole.
    scale:
      kind: likert
      points:
        - {value: 1, title: Poor}
        - {value: 2}
        - {value: 3}
        - {value: 4}
        - {value: 5, title: Excellent}
"""


@dataclass(frozen=True)
class Mistake:
    """One mistake in a rubric's text.

    path: where it is in the rubric; empty for the text as a whole.

    line: of the text, from 1; None if it belongs to no line.

    place: the path in words: Criterion “Tone”, point 3.

    message: what is wrong, and what would be right.

    cure: a word of that line, and the word that may have been meant.
    """

    path: tuple[str | int, ...]
    line: int | None
    place: str
    message: str
    cure: tuple[str, str] | None = None


@dataclass(frozen=True)
class RubricSheet:
    """The result of parsing a text: the rubric, unless it has mistakes, and its plain data, if it is valid YAML."""

    text: str
    rubric: Rubric | None
    mistakes: tuple[Mistake, ...]
    data: Any = None

    @property
    def value(self) -> Any:
        """The content of the form: only the keys of the text, with the types of the schema if the rubric is valid."""
        return self.data if self.rubric is None else self.rubric.model_dump(mode="json", exclude_unset=True)


@lru_cache(maxsize=4)  # a form requests the same text several times
def read_sheet(text: str) -> RubricSheet:
    """Parse a text; each mistake has its line."""
    try:
        document, data = _read(text)
    except InvalidRubric as error:
        return RubricSheet(text, None, (Mistake((), getattr(error.__cause__, "line", None), "The text", str(error)),))
    try:
        return RubricSheet(text, Rubric.model_validate(data), (), data)
    except ValidationError as error:
        return RubricSheet(text, None, tuple(_mistakes(error, document, data)), data)


def _read(text: str) -> tuple[Any, Any]:
    """The document and its plain data. Raises InvalidRubric."""
    if len(text) > MAX_CHARACTERS:
        raise InvalidRubric(f"too many characters; a rubric has at most {MAX_CHARACTERS:,}.")
    try:
        document = yaml_text.load(text, MAX_PARTS)
        data = _without_nul(yaml_text.plain(document, MAX_REPEATED_PARTS))
    except TooManyParts as error:
        raise InvalidRubric(f"{error}; no annotator would read such a rubric.") from error
    except TooDeep as error:
        raise InvalidRubric("nested too deeply for a rubric.") from error
    except InvalidYaml as error:
        raise InvalidRubric(f"not valid YAML: {error}.") from error
    if not isinstance(data, dict):
        raise InvalidRubric("a rubric is a mapping that starts with `key:`, `title:` and `summary:`.")
    return document, data


def _without_nul(data: Any) -> Any:
    """Plain data with texts that PostgreSQL can store: an escape in YAML can stand for NUL."""
    if isinstance(data, dict):
        return {_without_nul(key): _without_nul(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_without_nul(part) for part in data]
    return data.replace("\0", "") if isinstance(data, str) else data


def parse_rubric(text: str, name: str = "rubric") -> Rubric:
    """The rubric in a YAML text. Raises InvalidRubric, with `name`, path, and what would be right."""
    sheet = read_sheet(text)
    if sheet.rubric is None:
        raise InvalidRubric(*first_lines([_line(mistake, name) for mistake in sheet.mistakes], MAX_LISTED))
    return sheet.rubric


def _line(mistake: Mistake, name: str) -> str:
    """A mistake as one line of text: file, line, path, and message."""
    line = "" if mistake.line is None else f", line {mistake.line}"
    if not mistake.place:
        return f"{name}{line}: the file: {mistake.message}"
    path = ".".join(map(str, mistake.path))
    return f"{name}{line}: {path}: {mistake.message}" if path else f"{name}{line}: {mistake.message}"


def _mistakes(error: ValidationError, document: Any, data: Any) -> Iterator[Mistake]:
    paths = [tuple(part for part in mistake["loc"] if part not in KINDS) for mistake in error.errors()]
    for path, mistake in zip(paths, error.errors(), strict=True):
        # a list in which every part is wrong is also reported as too short
        if mistake["type"] == "too_short" and any(other[: len(path)] == path != other for other in paths):
            continue
        in_file = {"missing": path[:-1], "union_tag_invalid": (*path, "kind")}.get(mistake["type"], path)
        line = yaml_text.line_of(document, in_file) if in_file else None
        place = fields.place_of(mistake["loc"], data) if path else ""
        cure = _cure(path, mistake)
        yield Mistake(path, line, place, _wording(mistake, cure), cure)


def _cure(path: tuple[str | int, ...], mistake: ErrorDetails) -> tuple[str, str] | None:
    """The wrong word, and the most similar allowed word; None where no word is similar."""
    match mistake["type"]:
        case "extra_forbidden":
            wrong, words = str(path[-1]), fields.keys_beside(mistake["loc"])
        case "union_tag_invalid":
            wrong, words = str((mistake.get("ctx") or {}).get("tag")), list(KINDS)
        case "literal_error" | "enum":
            wrong, words = str(mistake["input"]), fields.values_of(mistake["loc"])
        case _:
            return None
    near = get_close_matches(wrong, words, 1)
    return (wrong, near[0]) if near else None


def _wording(mistake: ErrorDetails, cure: tuple[str, str] | None) -> str:
    meant = f" Did you mean {cure[1]}?" if cure else ""
    match mistake["type"]:
        case "extra_forbidden":
            return f"there is no such key here; check its spelling against rubrics/README.md.{meant}"
        case "missing":
            return "is missing; write it."
        case "too_short":
            return f"needs at least {(mistake.get('ctx') or {}).get('min_length', 1)}."
        case "string_too_short":
            return "is empty; write it."
        case "union_tag_invalid" | "union_tag_not_found":
            return f"`kind` must be one of {shown(KINDS)}.{meant}"
        case "string_pattern_mismatch":
            return f"{mistake['input']!r} is not a key; use lower-case letters, digits and _, starting with a letter."
        case "string_type" if isinstance(mistake["input"], bool):
            return QUOTE_IT + "."
        case _:
            return str(mistake["msg"]).removeprefix("Value error, ").rstrip(".") + f".{meant}"


def rewritten(text: str, value: Mapping[str, object]) -> str:
    """The text changed to a value of the form; unchanged parts keep their wording. Raises InvalidRubric."""
    try:
        yaml_text.plain(value, MAX_PARTS)
    except (TooManyParts, TooDeep) as error:
        raise InvalidRubric(f"{error}; no annotator would read such a rubric.") from error
    sheet = read_sheet(text)
    if edits.is_same(sheet.value, value):
        return text
    document, _ = _read(text)
    edits.change(document, sheet.value, dict(value), fields.order())
    changed = yaml_text.dump(document, text)
    # the library cannot write every comment back; if the result differs from the form, comments are dropped instead
    return changed if _says(changed, value) else yaml_text.write(dict(value))


def _says(text: str, value: Mapping[str, object]) -> bool:
    try:
        return edits.is_same(yaml_text.read(text), value)
    except InvalidYaml:
        return False


def read_rubric(path: Path) -> str:
    """The YAML in a file, or as much of it as is too long for a rubric. Raises InvalidRubric."""
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(MAX_CHARACTERS + 1)
    except UnicodeDecodeError as error:
        raise InvalidRubric(f"{path.name}: cannot be read as UTF-8 text.") from error
    except OSError as error:
        raise InvalidRubric(f"{path} cannot be read: {error.strerror}.") from error


def shipped_rubrics() -> dict[str, Path]:
    """Key → file of every rubric in `rubrics/`."""
    return {path.stem: path for path in sorted(RUBRICS.glob("*.yaml"))}


def read_shipped() -> dict[str, tuple[str, Rubric]]:
    """Key → text and rubric of every shipped rubric."""
    return {key: _read_file(path, path.stat().st_mtime_ns) for key, path in shipped_rubrics().items()}


@lru_cache(maxsize=64)
def _read_file(path: Path, changed_at: int) -> tuple[str, Rubric]:
    """Reads a file again only when it has changed: reading YAML takes longer than drawing a page."""
    text = path.read_text(encoding="utf-8")
    return text, parse_rubric(text, path.name)


def text_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def json_schema() -> str:
    """JSON Schema of a rubric file, for editors; checked in as rubrics/schema.json."""
    return json.dumps(Rubric.model_json_schema(), indent=1, ensure_ascii=False) + "\n"

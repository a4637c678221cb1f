"""Rubric files: one typed YAML file per rubric, its mistakes in plain words, and the JSON Schema for editors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from triptych.errors import InvalidRubric
from triptych.rubric.model import QUOTE_IT, Rubric
from triptych.rubric.scales import KINDS, shown
from triptych.settings import app_folder

RUBRICS = app_folder() / "rubrics"
# reading YAML of this size takes half a second; the longest shipped rubric has 600 parts
MAX_CHARACTERS, MAX_PARTS = 200_000, 5_000


class _UniqueKeys(yaml.SafeLoader):
    """A safe loader that refuses a repeated key, which YAML would silently overwrite, and a file of too many parts."""

    parts = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.parts += 1
        if self.parts > MAX_PARTS:
            raise InvalidRubric(f"more than {MAX_PARTS:,} keys and values; no annotator would read such a rubric.")
        return super().compose_node(parent, index)


def _mapping(loader: _UniqueKeys, node: yaml.MappingNode) -> dict[Hashable, Any]:
    seen: set[str] = set()
    for key, _ in node.value:
        name = repr(loader.construct_object(key))  # repr: a YAML key may be a list, which no set can hold
        if name in seen:
            raise yaml.constructor.ConstructorError(None, None, f"the key {name} is repeated", key.start_mark)
        seen.add(name)
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


_UniqueKeys.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def parse_rubric(text: str, name: str = "rubric") -> Rubric:
    """The rubric in a YAML text. Raises InvalidRubric with file, path and what would be right."""
    if len(text) > MAX_CHARACTERS:
        raise InvalidRubric(f"{name}: {len(text):,} characters; a rubric has at most {MAX_CHARACTERS:,}.")
    try:
        data = _UniqueKeys(text).get_single_data()
    except InvalidRubric as error:
        raise InvalidRubric(f"{name}: {error}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise InvalidRubric(f"{name}{line}: not valid YAML: {getattr(error, 'problem', error)}.") from error
    except ValueError as error:  # looks like a date or a number but is none, such as 2024-13-45
        raise InvalidRubric(f"{name}: not valid YAML: {error}; put such a value in quotes.") from error
    except RecursionError as error:
        raise InvalidRubric(f"{name}: nested too deeply to be a rubric.") from error
    if not isinstance(data, dict):
        raise InvalidRubric(f"{name}: a rubric is a mapping that starts with `key:`, `title:` and `summary:`.")
    try:
        return Rubric.model_validate(data)
    except ValidationError as error:
        raise InvalidRubric(_readable(error, name)) from error


def _readable(error: ValidationError, name: str) -> str:
    """One line per mistake: its place in the file, what is wrong, what would be right."""
    lines = []
    for mistake in error.errors():
        path = ".".join(str(part) for part in mistake["loc"] if part not in KINDS) or "the file"
        lines.append(f"{name}: {path}: {_wording(mistake)}")
    more = f"\n… and {len(lines) - 10} more" if len(lines) > 10 else ""
    return "\n".join(lines[:10]) + more


def _wording(mistake: ErrorDetails) -> str:
    match mistake["type"]:
        case "extra_forbidden":
            return "there is no such key here; check its spelling against rubrics/README.md."
        case "missing":
            return "is missing; write it."
        case "union_tag_invalid" | "union_tag_not_found":
            return f"`kind` must be one of {shown(KINDS)}."
        case "string_pattern_mismatch":
            return f"{mistake['input']!r} is not a key; use lower-case letters, digits and _, starting with a letter."
        case "string_type" if isinstance(mistake["input"], bool):
            return QUOTE_IT + "."
        case _:
            return str(mistake["msg"]).removeprefix("Value error, ").rstrip(".") + "."


def load_rubric(path: Path) -> Rubric:
    """The rubric in a file. Raises InvalidRubric."""
    return parse_rubric(read_rubric(path), path.name)


def read_rubric(path: Path) -> str:
    """The YAML in a file. Raises InvalidRubric."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRubric(f"{path.name}: cannot be read as UTF-8 text.") from error
    except OSError as error:
        raise InvalidRubric(f"{path} cannot be read: {error.strerror}.") from error


def shipped_rubrics() -> dict[str, Path]:
    """Key → file of every rubric in `rubrics/`."""
    return {path.stem: path for path in sorted(RUBRICS.glob("*.yaml"))}


def text_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def json_schema() -> str:
    """JSON Schema of a rubric file, for editors; checked in as rubrics/schema.json."""
    return json.dumps(Rubric.model_json_schema(), indent=1, ensure_ascii=False) + "\n"

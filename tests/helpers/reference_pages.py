"""Pages of docs/ that are written from the code: `make reference` writes them, and a test compares."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers import command_reference
from helpers.studies import ROOT
from triptych.exchange.csv_files import COMMENTS_HEADER
from triptych.formats.columns import Column
from triptych.formats.ratings_csv import HIGHLIGHTS_HEADER, RATINGS_HEADER
from triptych.formats.writers import FORMATS
from triptych.formats.writers.tables import ANNOTATIONS_HEADER, CHAIN, COLUMNS, ITEMS_HEADER, WITHHELD
from triptych.reports import build, data, replay
from triptych.reports.facts import EXCLUSIONS_HEADER
from triptych.reports.numbers import HEADER
from triptych.rubric.fields import WORDING
from triptych.scripting import numbers, openapi
from triptych.scripting.tables import ITEM_COLUMNS
from triptych.storage.models import Event

DOCS = ROOT / "docs"
SCHEMA = ROOT / "rubrics" / "schema.json"
WRITTEN = "Written from the code by `make reference`; do not edit."
OF_EVENTS = [column.name for column in Event.__table__.columns if column.name != "id"]
LINKED_TYPE = re.compile(r"\]\(#(\w+)\)")
ABOUT_TABLES = """A cell is empty where there is no value. In CSV, yes or no is 1 or 0, keys of a list are joined by
`;`, and turns are JSON; Parquet has these types. Times are UTC, offsets count Unicode code points from 0 with the end
exclusive. While a study is blind, systems are System 1, System 2, … The same words are in the `codebook.json` of every
export, together with the questions and scales of the study."""


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# Exported data


def data_dictionary() -> str:
    parts = [f"# Exported data\n{WRITTEN}\n\n{ABOUT_TABLES}", "## Formats", _formats(), "## Tables of an export"]
    tables = {
        "ratings": (RATINGS_HEADER, "One row per value."),
        "annotations": (ANNOTATIONS_HEADER, "One row per annotation that is done, in every format of export."),
        "items": (ITEMS_HEADER, "One row per candidate of an item."),
        "highlights": (HIGHLIGHTS_HEADER, "One row per highlight."),
    }
    for name, (header, about) in tables.items():
        parts += [f"### {name}", about, _columns(header, COLUMNS)]
    parts += [
        "## Tables of a report",
        "A report's own `ratings.csv`, `repeats.csv`, `annotations.csv` and `highlights.csv` have some of these "
        "columns; its `codebook.json` explains them.",
        _columns(_of_reports(), COLUMNS | build.OWN_COLUMNS),
        f"`results.csv`: {_named(HEADER)}.",
        f"`assignments.csv`: {_named(replay.HEADER)}.",
        f"`exclusions.csv`: {_named(EXCLUSIONS_HEADER)}.",
        "## Files of a report",
        table(("file", "what"), ((f"`{name}`", about) for name, about in build.ABOUT.items())),
        "## Event log",
        f"One object per line: {_named(OF_EVENTS)}, `item_id` and what the event says. {CHAIN}",
        WITHHELD,
        "## Tables of scripts",
        "[Scripts](scripting.md) get `ratings` and `highlights` as above, items with the columns "
        f"{_named(ITEM_COLUMNS)}, and results with {_named(numbers.COLUMNS)}.",
        "## Comments",
        f"`comments.csv` has one row per comment: {_named(COMMENTS_HEADER)}.",
    ]
    return "\n\n".join(parts) + "\n"


def _formats() -> str:
    rows = ((chosen.title, chosen.ending, chosen.sentence) for chosen in FORMATS.values())
    return table(("format", "main file", "what"), rows)


def _of_reports() -> list[str]:
    return [*dict.fromkeys((*data.RATINGS_HEADER, *data.ANNOTATIONS_HEADER, *data.HIGHLIGHTS_HEADER))]


def _columns(header: Iterable[str], columns: Mapping[str, Column]) -> str:
    rows = ((f"`{name}`", columns[name].type, columns[name].meaning) for name in header)
    return table(("column", "type", "what"), rows)


def _named(columns: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in columns)


# The rubric


def rubric_reference() -> str:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    about = (
        "[Writing a rubric](../rubrics/README.md) begins with an example. This page has every key of "
        "`rubrics/schema.json`; what a key is for is said in the words of the form."
    )
    parts = [f"# Rubric\n{WRITTEN}\n\n{about}", *_part("Rubric", schema)]
    for name, part in schema["$defs"].items():
        parts += _part(name, part)
    return "\n\n".join(parts) + "\n"


def _part(name: str, part: dict[str, Any]) -> Iterator[str]:
    yield f"## {name}"
    if "description" in part:
        yield part["description"]
    if "enum" in part:
        yield f"One of {_values(part['enum'])}."
    if properties := part.get("properties"):
        required = part.get("required", ())
        rows = [
            (f"`{key}`", _kind(value), "**needed**" if key in required else _default(value), _about(name, key, value))
            for key, value in properties.items()
        ]
        yield table(("key", "type", "if left out", "what"), rows)


def _default(value: dict[str, Any]) -> str:
    default = value.get("default")
    if isinstance(default, dict) and default:
        return "the usual ones"
    return f"`{json.dumps(default, ensure_ascii=False)}`" if default or default is False or default == 0 else "–"


def _about(part: str, key: str, value: dict[str, Any]) -> str:
    words = WORDING.get(part, {}).get(key)
    described = value.get("description", "")
    texts = [words.label, words.hint] if words else [described[:1].upper() + described[1:]]
    return " ".join([*(f"{text.rstrip('.')}." for text in texts if text), *_limits(value)])


def _limits(value: dict[str, Any]) -> Iterator[str]:
    words = {"minimum": "At least", "exclusiveMinimum": "More than", "maximum": "At most"}
    words |= {"minItems": "Entries at least:", "maxItems": "Entries at most:"}
    yield from (f"{text} {value[name]:g}." for name, text in words.items() if name in value)
    if "pattern" in value:
        yield f"Matches `{value['pattern']}`."


def _kind(value: dict[str, Any]) -> str:
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return _values(value["enum"])
    if choices := value.get("anyOf") or value.get("oneOf"):
        return " or ".join(_kind(choice) for choice in choices)
    if value.get("type") == "array":
        return f"list of {_kind(value['items'])}" if "items" in value else "list"
    if value.get("type") == "object":
        return f"map to {_kind(entry)}" if isinstance(entry := value.get("additionalProperties"), dict) else "map"
    names = {"string": "text", "integer": "whole number", "boolean": "true or false", "null": "`null`"}
    return names.get(value.get("type", ""), value.get("type", "anything"))


def _values(values: Iterable[Any]) -> str:
    return ", ".join(f"`{value}`" for value in values)


# HTTP


def http_reference() -> str:
    document = openapi.document()
    about = (
        "[Scripts and notebooks](scripting.md) says how to use it. A running app has the OpenAPI document, with every "
        "limit, at `/api/v1/openapi.json`."
    )
    parts = [f"# HTTP interface\n{WRITTEN}\n\n{about}\n\n{document['info']['description']}"]
    schemas = document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            parts += _operation(f"{method.upper()} {path}", operation, schemas)
    parts += _types("\n".join(parts), schemas)
    return "\n\n".join(parts) + "\n"


def _operation(title: str, operation: dict[str, Any], schemas: dict[str, Any]) -> Iterator[str]:
    yield f"## {operation['operationId'].replace('_', ' ')}"
    yield f"```\n{title}\n```"
    yield f"{operation['summary']} {operation['description']}"
    fields = [(f"`{p['name']}`", p["in"], _kind(p["schema"])) for p in operation["parameters"]]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    fields += [(f"`{name}`", "body", _plain(value)) for name, value in body.get("properties", {}).items()]
    if fields:
        yield table(("field", "in", "type"), fields)
    answer = operation["responses"]["200"]["content"]
    if reference := answer.get("application/json", {}).get("schema", {}).get("$ref"):
        yield f"The answer has {_named(schemas[reference.rpartition('/')[2]]['properties'])}."


def _types(text: str, schemas: dict[str, Any]) -> list[str]:
    """The types that fields name, and those that these name."""
    by_anchor = {name.lower(): name for name in schemas}
    parts: list[str] = []
    pending = LINKED_TYPE.findall(text)
    described = set()
    for anchor in pending:
        if anchor not in described:
            described.add(anchor)
            parts += _part(by_anchor[anchor], schemas[by_anchor[anchor]])
            pending += LINKED_TYPE.findall("\n".join(parts))
    return parts


def _plain(value: dict[str, Any]) -> str:
    """A field's type with what it says."""
    return "; ".join(filter(None, [_kind(value), value.get("description", "")]))


PAGES: dict[Path, Callable[[], str]] = {
    DOCS / "commands.md": command_reference.reference,
    DOCS / "data-dictionary.md": data_dictionary,
    DOCS / "rubric-reference.md": rubric_reference,
    DOCS / "http-reference.md": http_reference,
}

if __name__ == "__main__":
    for page, text in PAGES.items():
        page.write_text(text(), encoding="utf-8")

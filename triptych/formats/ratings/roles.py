"""The role of each column or level of a file of ratings, proposed from names and values and changed by the lead.

A mapping contains column → role and the treatment of duplicates; it is saved as JSON for the command line.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Literal, get_args

from triptych.errors import ImportRefused
from triptych.formats.layout import CONTEXT_NAMES, ITEM_ROLES, simple
from triptych.formats.model import Source
from triptych.formats.ratings.levels import FOLDER, LEVEL, POSITION, last_part
from triptych.formats.ratings.model import named

# role → its description, and column names that have it
MEANINGS = {
    "item": (
        "id of the item",
        (
            "item_id", "id", "item", "instance_id", "example_id", "example_idx", "doc_id", "question_id",
            "dialogue_id", "dialog_id", "conversation_id",
        ),
    ),
    "item group": ("group of items", ("item_group", "group")),
    "system": (
        "system",
        ("system", "model", "model_name", "setup_id", "model_type", "system_id", "model_id", "generator"),
    ),
    "annotator": (
        "annotator",
        (
            "annotator", "annotator_id", "worker", "worker_id", "workerid", "user", "user_id", "rater", "rater_id",
            "annotators",
        ),
    ),
    "annotator group": ("group of annotators", ("annotator_group",)),
    "judge": ("judge (a model)", ("judge", "judge_model", "agent")),
    "kind": ("kind of annotator", ("annotator_kind", "kind")),
    "criterion": ("criterion", ("criterion", "dimension", "aspect", "metric")),
    "value": ("value", ("value", "rating", "score", "label")),
    "option": ("value, where it is an option", ("option",)),
    "missing": ("marks what is missing", ("missing",)),
    "explanation": ("explanation", ("explanation", "justification", "rationale", "reason", "comment")),
    "reasons": ("reasons", ("reasons",)),
    "position": ("position", ("position",)),
    "time": ("time", ("submitted_at", "created_at", "timestamp", "time", "submittime")),
    "seconds": ("seconds spent", ("active_seconds", "seconds", "lead_time", "worktimeinseconds")),
    "purpose": ("purpose", ("purpose",)),
    "repeat": ("repeat", ("repeat_of", "repeat")),
    "excluded": ("excluded", ("excluded",)),
    "exclusion": ("reason of the exclusion", ("exclusion_reason",)),
    "response": (
        "text of the candidate",
        ("text", "response", "output", "candidate", "summary", "completion", "sentence"),
    ),
    "context": ("context", CONTEXT_NAMES),
}  # fmt: skip
IGNORE = "ignore"
ROLES = {role: words for role, (words, _) in MEANINGS.items()} | {IGNORE: "ignored"}
OF_THE_EXPORT = {"study", "round", "design_hash", "explanation_words", "surplus", "version"}
INPUT, ANSWER = "Input.", "Answer."  # Mechanical Turk: what was shown, what was answered
MAX_LABELS = 50

Roles = Mapping[str, str]
Duplicates = Literal["error", "first", "last", "repeats"]


class RolesNeeded(ImportRefused):
    """A table whose ratings cannot be read until the user assigns roles to its columns; roles: the proposal."""

    def __init__(self, roles: Roles, *sentences: str) -> None:
        super().__init__(*sentences)
        self.roles = dict(roles)


@dataclass(frozen=True)
class ColumnMapping:
    """A lead's decisions about files of ratings. roles: column → role; other columns get the proposed role.

    duplicates: how a second rating of the same unit by the same annotator is treated, see `assemble`.
    """

    roles: Roles = field(default_factory=dict)
    duplicates: Duplicates = "error"

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n"


def read_mapping(text: str) -> ColumnMapping:
    """A saved mapping. Raises ImportRefused with what is wrong in it."""
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ImportRefused(f"The mapping is not JSON: {error}.") from error
    roles = entries.get("roles") if isinstance(entries, dict) else None
    if not isinstance(roles, dict):
        raise ImportRefused('A mapping looks like this: {"roles": {"worker": "annotator"}, "duplicates": "error"}')
    for column, role in roles.items():
        if role not in (*ROLES, *ITEM_ROLES):
            raise ImportRefused(f"The mapping calls '{column}' {role!r}; roles are {', '.join(ROLES)}.")
    duplicates = entries.get("duplicates", "error")
    if duplicates not in get_args(Duplicates):
        raise ImportRefused(f"The mapping's 'duplicates' is one of {', '.join(get_args(Duplicates))}.")
    return ColumnMapping(roles, duplicates)


def proposed_roles(source: Source) -> dict[str, str]:
    """Column → role for every column of the file; levels get their roles from their shape."""
    named_columns = [column for column in source.columns if column not in source.levels]
    roles = _by_name({c: last_part(c) if source.levels else c.removeprefix(INPUT) for c in named_columns})
    if any(column.startswith(ANSWER) for column in source.columns):
        roles |= {c: "value" if c.startswith(ANSWER) else IGNORE for c in source.columns if c not in roles}
        if "item" not in roles.values() and "context" not in roles.values():
            roles["HITId"] = "item"
    if source.levels:
        roles = _by_shape(source, roles)
    long = "criterion" in roles.values() and "value" in roles.values()
    others = [column for column in source.columns if column not in roles]
    return roles | {c: IGNORE if long or simple(c) in OF_THE_EXPORT else "value" for c in others}


def criterion_of(column: str, levels: Sequence[str]) -> str:
    """The criterion of a column of values: the last part of its path."""
    name = column.removeprefix(ANSWER)
    return last_part(name) if levels else name


def _by_name(names_of: Mapping[str, str]) -> dict[str, str]:
    """The first column of every known name."""
    by_name: dict[str, str] = {}
    for column, name in names_of.items():
        by_name.setdefault(simple(name), column)
    roles: dict[str, str] = {}
    for role, (_, names) in MEANINGS.items():
        free = (by_name[name] for name in names if name in by_name and by_name[name] not in roles)
        roles |= dict.fromkeys(islice(free, 1), role)
    return roles


def _by_shape(source: Source, roles: dict[str, str]) -> dict[str, str]:
    """The roles of levels, and of columns that can be recognised by their values."""
    keys = [level for level in source.levels if LEVEL in level.split()]
    positions = [level for level in source.levels if level.startswith(f"{POSITION} ")]
    places = [level for level in source.levels if level not in (*keys, *positions, FOLDER)]
    distinct = _distinct_values(source)
    roles |= _of_keys(keys, distinct, roles)
    roles |= _of_positions(positions, roles)
    roles |= _of_places(places, roles)
    if FOLDER in source.levels:
        roles[FOLDER] = IGNORE if "system" in roles.values() else "system"
    rest = [column for column in source.columns if column not in roles]
    response = next((column for column, role in roles.items() if role == "response"), None)
    only_texts = all(any(" " in value for value in distinct[column]) for column in rest)
    if response and only_texts and "value" not in roles.values() and len(distinct[response]) <= MAX_LABELS:
        # nothing else can be the values: what an annotator answered is called a response, too
        texts = _by_name({column: last_part(column) for column in rest})
        roles |= {column: role for column, role in texts.items() if role == "response"} | {response: "value"}
    item = next((column for column, role in roles.items() if role == "item"), None)
    for column in source.columns:
        if column not in roles and item and _belongs_to(source, column, item):
            roles[column] = IGNORE
    return roles


def _of_keys(keys: Sequence[str], distinct: Mapping[str, set[str]], roles: Roles) -> dict[str, str]:
    """Roles of outer keys: the innermost of three with few values is the criterion; of two others, that with more
    values is the item.
    """
    left = list(keys)
    result: dict[str, str] = {}
    if len(left) > 2 and len(distinct[left[-1]]) == min(len(distinct[level]) for level in left):
        result[left.pop()] = "criterion"
    free = [role for role in ("item", "annotator", "system") if role not in roles.values()]
    for level, role in zip(sorted(left, key=lambda level: -len(distinct[level])), free, strict=False):
        result[level] = role
    return result | {level: IGNORE for level in left if level not in result}


def _of_positions(positions: Sequence[str], roles: Roles) -> dict[str, str]:
    """Roles of lists of values: systems, then annotators, unless a column contains them."""
    free = [role for role in ("system", "annotator") if role not in roles.values()][-len(positions) or None :]
    result = dict(zip(positions, free, strict=False)) if len(free) == len(positions) else {}
    return {level: result.get(level, IGNORE) for level in positions}


def _of_places(places: Sequence[str], roles: Roles) -> dict[str, str]:
    """Roles of lists of objects: the innermost without system or annotator is the items, the next one their groups."""
    if "item" in roles.values():
        return dict.fromkeys(places, IGNORE)
    about = {column.rpartition(".")[0] for column, role in roles.items() if role in ("system", "annotator", "judge")}
    holding = [place for place in reversed(places) if place not in about]
    result = dict(zip(holding, ("item", "item group"), strict=False))
    return {place: result.get(place, IGNORE) for place in places}


def _distinct_values(source: Source) -> dict[str, set[str]]:
    values: dict[str, set[str]] = defaultdict(set)
    for record in source.records:
        for column, value in record.values.items():
            values[column].add(named(value))
    return values


def _belongs_to(source: Source, column: str, item: str) -> bool:
    """Whether a column has the same text in all rows of an item, so that it is not a rating."""
    texts: dict[str, str] = {}
    for record in source.records:
        value = named(record.values.get(column))
        if texts.setdefault(named(record.values.get(item)), value) != value:
            return False
    return len(texts) < len(source.records) and any(" " in text for text in texts.values())

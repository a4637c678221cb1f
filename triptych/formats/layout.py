"""The role of each column or field: id, context, candidates, meta, extra texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from triptych.errors import ImportRefused
from triptych.formats.model import COLUMN_TWICE, Contents, Json

ID_NAMES = ("item_id", "id", "itemid", "item", "example_id", "example_idx", "doc_id", "question_id")
TEXT_LISTS = ("reviews", "documents", "passages", "sources")  # contexts of several texts
CONTEXT_NAMES = (
    "context", "conversation", "dialogue", "dialog", "history", "prompt", "input", "source", "src",
    "review", "question", "post", "document", "article", "instruction",
    *TEXT_LISTS,
)  # fmt: skip
CONTAINER_NAMES = ("candidates", "outputs", "responses", "tgt", "completions", "summaries")
SYSTEM_NAMES = ("system", "model", "model_name", "setup_id", "generator")
TEXT_NAMES = ("text", "response", "output", "candidate", "answer", "summary", "completion", "generation")
META_NAMES = ("meta", "metadata")
EXTRA_NAMES = ("extra_texts", "extra")
ITEM_GROUP = "item_group"  # for related items: turns of a dialogue, questions on a passage
PLAIN_META = ("split", ITEM_GROUP)
# the two fields of a check; a reference without a purpose is only a text
CHECK_META = ("purpose", "reference")
RATING_NAMES = ("criterion", "value", "rating", "score", "label")  # of a table with one rating per row
ANNOTATOR_NAMES = ("annotator", "annotator_id", "pseudonym")

ITEM_ROLES = {
    "item": "id of the item", "item group": "group of related items", "system": "system", "response": "response",
    "context": "context", "field": "field to slice results by", "extra text": "extra text to show", "ignore": "ignored",
}  # fmt: skip
ITEMS_EXAMPLE = "item_id, context, cand:model-a, cand:model-b, cand:model-c"
_PREFIXED = re.compile(r"(cand|candidate|meta|extra)\s*:\s*(\S.*)", re.IGNORECASE | re.DOTALL)
NUMBERED = re.compile(r"(cand|candidate|response|output|answer|summary|resp|completion)_?([1-9]\d?|[a-f])")
_KNOWN = {
    *ID_NAMES, *CONTEXT_NAMES, *CONTAINER_NAMES, *SYSTEM_NAMES, *TEXT_NAMES, *META_NAMES, *EXTRA_NAMES,
    *PLAIN_META, *ANNOTATOR_NAMES,
}  # fmt: skip


@dataclass
class Layout:
    """Columns by their role. candidates, meta, extra: column → its short name.

    namers: candidate's column → the column with the system that wrote it (response_a → system_a).
    """

    item_id: str | None = None
    context: str | None = None
    container: str | None = None
    system: str | None = None
    text: str | None = None
    meta_container: str | None = None
    extra_container: str | None = None
    candidates: dict[str, str] = field(default_factory=dict)
    namers: dict[str, str] = field(default_factory=dict)
    meta: dict[str, str] = field(default_factory=dict)
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def is_long(self) -> bool:
        """Whether the file has one row per item and system."""
        return self.system is not None

    @property
    def has_candidates(self) -> bool:
        return bool(self.candidates) or self.container is not None or self.is_long

    def recognised(self) -> dict[str, str]:
        """Column → its role, in words."""
        single = {
            self.item_id: "id of the item", self.context: "context", self.container: "candidates",
            self.system: "system", self.text: "candidate", self.meta_container: "meta fields",
            self.extra_container: "extra texts",
        }  # fmt: skip
        meanings = {column: words for column, words in single.items() if column is not None}
        meanings |= {column: f"candidate of system '{name}'" for column, name in self.candidates.items()}
        meanings |= {column: f"candidate of the system in '{namer}'" for column, namer in self.namers.items()}
        meanings |= {namer: f"system of '{column}'" for column, namer in self.namers.items()}
        meanings |= {column: f"meta field '{name}'" for column, name in self.meta.items()}
        return meanings | {column: f"extra text '{name}'" for column, name in self.extra.items()}


def simple(name: str) -> str:
    """A column name without case, blanks and hyphens."""
    return re.sub(r"[\s\-]+", "_", name.strip().casefold())


def is_known(name: str) -> bool:
    """Whether a reader knows what to do with a column of this name."""
    return simple(name) in _KNOWN or bool(_PREFIXED.fullmatch(name.strip())) or bool(NUMBERED.fullmatch(simple(name)))


def known_columns(names: Iterable[str]) -> int:
    return sum(1 for name in names if is_known(name))


def is_header(names: Sequence[str]) -> bool:
    """Whether a row is a header: it has two known names, as a single one may be prose."""
    return known_columns(names) >= 2


ITEMS = Contents(ITEMS_EXAMPLE, is_header, foreign=True)


def find_layout(columns: Sequence[str]) -> Layout:
    """Assign a role to every column.

    Raises ImportRefused where the columns do not form items.
    """
    layout = Layout()
    for column in columns:
        _place_named(layout, column)
    _place_namers(layout, columns)
    _place_checks(layout, columns)
    layout.item_id = _first(columns, ID_NAMES)
    layout.context = _first(columns, CONTEXT_NAMES)
    layout.container = None if layout.candidates else _first(columns, CONTAINER_NAMES)
    layout.meta_container = _first(columns, META_NAMES)
    layout.extra_container = _first(columns, EXTRA_NAMES)
    _place_texts(layout, columns)
    if not layout.has_candidates and {"annotator", "value"} <= {simple(column) for column in columns}:
        raise ImportRefused("This file holds ratings, not items: it has columns 'annotator' and 'value'.")
    return layout


def chosen_layout(roles: Mapping[str, str]) -> Layout:
    """The layout that a lead chose: column → one of ITEM_ROLES.

    Raises ImportRefused where two columns have a role that is allowed once, or no column is a response.
    """
    layout = Layout()
    of = {role: [column for column, chosen in roles.items() if chosen == role] for role in set(roles.values())}
    for role in ("item", "item group", "system", "context"):
        if len(of.get(role, ())) > 1:
            raise ImportRefused(f"{', '.join(of[role])}: only one column can be the {role}.")
    layout.item_id, layout.context = (next(iter(of.get(role, ())), None) for role in ("item", "context"))
    layout.meta = dict.fromkeys(of.get("item group", ()), ITEM_GROUP) | _short_names(of.get("field", ()))
    layout.extra = _short_names(of.get("extra text", ()))
    responses = of.get("response", [])
    if "system" in of and len(responses) == 1:
        layout.system, layout.text = of["system"][0], responses[0]
    else:
        layout.candidates = {column: column for column in responses}
    return layout


def _short_names(columns: Iterable[str]) -> dict[str, str]:
    """Column → its name without the prefix before the colon, which is the role."""
    return {
        column: match[2].strip() if (match := _PREFIXED.fullmatch(column.strip())) else column for column in columns
    }


def roles_of(layout: Layout, columns: Sequence[str]) -> dict[str, str]:
    """Column → role that a lead may change; empty where candidates are in a nested field or have columns of systems."""
    if layout.container or layout.namers or layout.meta_container or layout.extra_container:
        return {}
    known: dict[str | None, str] = {
        layout.item_id: "item", layout.context: "context", layout.system: "system", layout.text: "response"
    }  # fmt: skip
    fields = {column: "item group" if name == ITEM_GROUP else "field" for column, name in layout.meta.items()}
    texts = dict.fromkeys(layout.candidates, "response") | dict.fromkeys(layout.extra, "extra text")
    known.update({**fields, **texts})
    return {column: known.get(column, "ignore") for column in columns}


def as_one_text(column: str | None, value: Json) -> Json:
    """Several texts of a context, such as reviews, joined with blank lines; any other value unchanged."""
    is_list = isinstance(value, list) and all(isinstance(text, str) for text in value)
    if column is None or simple(column) not in TEXT_LISTS or not isinstance(value, list) or not is_list:
        return value
    return "\n\n".join(map(str, value))


def _place_named(layout: Layout, column: str) -> None:
    """Columns whose names determine their role: cand:x, meta:x, extra:x, candidate_1, response_a."""
    prefixed = _PREFIXED.fullmatch(column.strip())
    if prefixed:
        part, name = prefixed[1].casefold(), prefixed[2].strip()
        target = {"meta": layout.meta, "extra": layout.extra}.get(part, layout.candidates)
        if name in target.values():
            raise ImportRefused(COLUMN_TWICE.format(name=column))
        target[column] = name
    elif NUMBERED.fullmatch(simple(column)):
        layout.candidates[column] = simple(column)
    elif simple(column) in PLAIN_META:
        layout.meta[column] = simple(column)


def _place_namers(layout: Layout, columns: Sequence[str]) -> None:
    """Columns that name the system of one response: system_a or model_a next to response_a."""
    for column in layout.candidates:
        numbered = NUMBERED.fullmatch(simple(column))
        namer = _first(columns, (f"system_{numbered[2]}", f"model_{numbered[2]}")) if numbered else None
        if namer is not None:
            layout.namers[column] = namer


def _place_checks(layout: Layout, columns: Sequence[str]) -> None:
    columns_by_name = {name: column for name in CHECK_META if (column := _first(columns, (name,))) is not None}
    if CHECK_META[0] in columns_by_name:
        layout.meta |= {column: name for name, column in columns_by_name.items()}


def _place_texts(layout: Layout, columns: Sequence[str]) -> None:
    """A column `text` is the candidate or, where candidates have separate columns, the context."""
    text = _first(columns, TEXT_NAMES)
    if layout.candidates or layout.container:
        if layout.context is None:
            layout.context = _first(columns, ("text",))
        return
    system = _first(columns, SYSTEM_NAMES)
    if text and system:
        layout.system, layout.text = system, text
    elif text:
        layout.candidates[text] = "candidate_1"


def _first(columns: Sequence[str], names: Sequence[str]) -> str | None:
    by_name: dict[str, str] = {}
    for column in columns:
        by_name.setdefault(simple(column), column)
    return next((by_name[name] for name in names if name in by_name), None)

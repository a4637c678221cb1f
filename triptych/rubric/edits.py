"""Edits a YAML document and preserves the comments, order and wording of everything that is unchanged. Pure.

`before` and `after` are plain data: the document's current content, and its new one. Elements of a list are matched if
they are equal or have the same key.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import CommentMark
from ruamel.yaml.scalarstring import (
    DoubleQuotedScalarString,
    FoldedScalarString,
    LiteralScalarString,
    SingleQuotedScalarString,
)
from ruamel.yaml.tokens import CommentToken

from triptych.rubric import yaml_text

# slots of the library's list of comments for what follows a value of a mapping, and an element of a list
AFTER_VALUE, AFTER_PART = 2, 0
NAMES = ("key", "value", "criterion", "title")  # what identifies a part of a list
BLOCK_TEXTS = (LiteralScalarString, FoldedScalarString)
QUOTED_TEXTS = (DoubleQuotedScalarString, SingleQuotedScalarString)


def is_same(value: object, other: object) -> bool:
    """Equal as JSON: 1 equals 1.0, but not true."""
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(is_same(part, other[key]) for key, part in value.items())
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(is_same, value, other))
    return bool(isinstance(value, bool) == isinstance(other, bool) and value == other)


def change(document: CommentedMap, before: dict[str, Any], after: dict[str, Any], order: Sequence[str] = ()) -> None:
    """Change the document's content from `before` to `after`; `order` is the order of new keys in a mapping."""
    root = CommentedSeq([document])
    _DocumentChange(*_shared(document), {name: place for place, name in enumerate(order)}).part(root, 0, before, after)


def _shared(document: Any) -> tuple[set[int], set[tuple[int, Any]]]:
    """The ids of parts that occur in several places of the document, and the places that repeat them (`*name`)."""
    seen: set[int] = set()
    shared: set[int] = set()
    repeats: set[tuple[int, Any]] = set()

    def walk(holder: Any) -> None:
        for key in _keys(holder):
            node = holder[key]
            if isinstance(node, dict | list) and id(node) in seen:
                shared.add(id(node))
                repeats.add((id(holder), key))
            elif isinstance(node, dict | list):
                seen.add(id(node))
                walk(node)

    walk(document)
    return shared, repeats


@dataclass(frozen=True)
class _DocumentChange:
    shared: set[int]
    repeats: set[tuple[int, Any]]
    order: dict[str, int]

    def part(self, holder: Any, key: Any, before: Any, after: Any) -> None:
        """Change the part at a key of its holder."""
        if is_same(before, after):
            return
        node = holder[key]
        if not before or not after:
            _replace(holder, key, _alike(node, after, _is_flow(holder)))
        elif isinstance(node, CommentedMap) and isinstance(before, dict) and isinstance(after, dict):
            self._mapping(self._own(holder, key), before, after)
        elif isinstance(node, CommentedSeq) and isinstance(before, list) and isinstance(after, list):
            self._sequence(self._own(holder, key), before, after)
        else:
            _replace(holder, key, _alike(node, after, _is_flow(holder)))

    def _own(self, holder: Any, key: Any) -> Any:
        """The part, to be edited in place; one that occurs elsewhere too is first replaced by a copy."""
        node = holder[key]
        is_merged = isinstance(node, CommentedMap) and bool(node.merge)
        if id(node) in self.shared:
            node = deepcopy(node)
            node.yaml_set_anchor(None)
        if is_merged:  # `<<: *name`
            node = CommentedMap(dict(node.items()))
        if node is not holder[key]:
            holder[key] = node
        return node

    def _mapping(self, node: CommentedMap, before: dict[str, Any], after: dict[str, Any]) -> None:
        leads = dict(zip([*list(node)[1:], _END], self._take_leads(node), strict=True))
        for key in before.keys() - after.keys():
            del node[key]
            node.ca.items.pop(key, None)
        for key in before.keys() & after.keys():
            self.part(node, key, before[key], after[key])
        for key in after:
            if key not in before:
                node.insert(self._place(node, key), key, yaml_text.fresh(self._sorted(after[key]), _is_flow(node)))
        self._put_leads(node, [leads.get(key, "") for key in [*list(node)[1:], _END]])

    def _sorted(self, value: Any) -> Any:
        """A new part, with the keys of every mapping in order."""
        if isinstance(value, list):
            return [self._sorted(part) for part in value]
        if not isinstance(value, dict):
            return value
        keys = sorted(value, key=lambda key: self.order.get(key, len(self.order)))
        return {key: self._sorted(value[key]) for key in keys}

    def _place(self, node: CommentedMap, key: str) -> int:
        """The position at which to insert a key: before the first key that comes later in the order."""
        last = len(self.order)
        later = (i for i, k in enumerate(node) if self.order.get(k, last) > self.order.get(key, last))
        return next(later, len(node))

    def _sequence(self, node: CommentedSeq, before: list[Any], after: list[Any]) -> None:
        origins = matched(before, after)
        leads = ["", *self._take_leads(node)]
        end = leads.pop()
        marks = dict(node.ca.items)
        flow = _is_flow(node) or (bool(before) and _is_flow(node[0]))
        old_parts = dict(enumerate(node))
        list.clear(node)
        node.ca.items.clear()
        for place, (origin, value) in enumerate(zip(origins, after, strict=True)):
            list.append(node, yaml_text.fresh(self._sorted(value), flow) if origin is None else old_parts[origin])
            if origin is not None:
                if origin in marks:
                    node.ca.items[place] = marks[origin]
                self.part(node, place, before[origin], value)
        new_leads = [leads[origin] if origin else "" for origin in origins]
        self._put_leads(node, [*new_leads[1:], end])
        if new_leads[0]:
            column = len(new_leads[0]) - len(new_leads[0].lstrip(" "))
            token = CommentToken(new_leads[0][column:], CommentMark(column), None)
            behind, above = node.ca.comment or (None, None)
            if above:
                above.append(token)  # the library writes this very list, which the part around has too
            else:
                node.ca.comment = [behind, [token]]

    # ---- comments: the lines above a part belong to it, but the library stores them after the previous part

    def _take_leads(self, node: Any) -> list[str]:
        """Remove the comment lines after each part from the document and return them."""
        return [self._lead_after(node, key) for key in _keys(node)]

    def _lead_after(self, node: Any, key: Any) -> str:
        holder, key = self._last(node, key)
        token = _after(holder, key)
        if token is None:
            return ""
        if isinstance(holder[key], BLOCK_TEXTS):
            _put_after(holder, key, None)
            return f"{' ' * token.start_mark.column}{token.value}"
        mark, _, lead = token.value.partition("\n")
        _put_after(holder, key, CommentToken(f"{mark}\n", token.start_mark, None) if mark else None)
        return str(lead)

    def _put_leads(self, node: Any, leads: Sequence[str]) -> None:
        for key, lead in zip(_keys(node), leads, strict=True):
            if lead:
                self._put_lead(*self._last(node, key), lead)

    def _put_lead(self, holder: Any, key: Any, lead: str) -> None:
        column = len(lead) - len(lead.lstrip(" "))
        if isinstance(holder[key], BLOCK_TEXTS):
            token = CommentToken(lead[column:], CommentMark(column), None)
        else:
            present = _after(holder, key)
            mark = "" if present is None else present.value.partition("\n")[0]
            token = CommentToken(f"{mark}\n{lead}", present.start_mark if present else CommentMark(column), None)
        _put_after(holder, key, token)

    def _last(self, holder: Any, key: Any) -> tuple[Any, Any]:
        """The holder and key of the last value in a part that is written in block style."""
        node = holder[key]
        while isinstance(node, CommentedMap | CommentedSeq) and node and not _is_flow(node):
            if (id(holder), key) in self.repeats:
                break
            holder, key = node, _keys(node)[-1]
            node = holder[key]
        return holder, key


_END = object()


def _keys(node: Any) -> list[Any]:
    return list(node) if isinstance(node, CommentedMap) else list(range(len(node)))


def _is_flow(node: Any) -> bool:
    return isinstance(node, CommentedMap | CommentedSeq) and bool(node.fa.flow_style())


def _after(holder: Any, key: Any) -> Any:
    """The comment that the library stores after a value."""
    slot = AFTER_VALUE if isinstance(holder, CommentedMap) else AFTER_PART
    return (holder.ca.items.get(key) or [None] * 4)[slot]


def _put_after(holder: Any, key: Any, token: Any) -> None:
    slot = AFTER_VALUE if isinstance(holder, CommentedMap) else AFTER_PART
    entry = holder.ca.items.setdefault(key, [None, None, None, None])
    entry[slot] = token
    if not any(entry):
        del holder.ca.items[key]
    node = holder[key]
    if isinstance(node, CommentedMap | CommentedSeq) and node.ca.comment:
        node.ca.comment[0] = token


def _replace(holder: Any, key: Any, value: Any) -> None:
    """Replace a value, keeping the comment next to it."""
    token = None if isinstance(holder[key], BLOCK_TEXTS) else _after(holder, key)
    holder[key] = value
    if token is not None and not isinstance(value, BLOCK_TEXTS):
        _put_after(holder, key, token)


def _alike(node: Any, value: object, flow: bool) -> Any:
    """The new value, in the quotes or style of the node that it replaces."""
    if isinstance(value, str) and node and isinstance(node, QUOTED_TEXTS) and "\n" not in value:
        return type(node)(value) if value.isprintable() else DoubleQuotedScalarString(value)
    return yaml_text.fresh(value, flow or _is_flow(node))


def matched(before: Sequence[object], after: Sequence[object]) -> list[int | None]:
    """For each element of the new list, the index of its element in the old list; None for a new element."""
    left = dict(enumerate(before))
    origins: list[int | None] = [None] * len(after)

    def match(place: int, old: int | None) -> None:
        if old is not None and origins[place] is None:
            origins[place] = old
            del left[old]

    for place, value in enumerate(after):
        equal = [old for old, part in left.items() if is_same(part, value)]
        match(place, min(equal, key=lambda old: abs(old - place), default=None))
    for place, value in enumerate(after):
        name = _name(value)
        match(place, next((old for old, part in left.items() if name and _name(part) == name), None))
    for place in range(len(after)):
        match(place, place if place in left else None)
    return origins


def _name(part: object) -> tuple[str, object] | None:
    """The key and value that identify an element of a list, if it has one of NAMES."""
    if not isinstance(part, dict):
        return None
    return next(((name, part[name]) for name in NAMES if part.get(name) not in (None, "")), None)

"""Reads and writes all YAML of the product, with a library that preserves what an edit does not change.

Texts are YAML 1.2: `yes` and `no` are words. Only plain data are accepted: no objects are created, no tags followed.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from textwrap import wrap
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.composer import Composer, ComposerError, MaxDepthExceededError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode
from ruamel.yaml.scalarstring import (
    DoubleQuotedScalarString,
    FoldedScalarString,
    LiteralScalarString,
    PlainScalarString,
)

MAX_DEPTH = 100
MAX_PARTS = 200_000  # keys and values; a repetition (`*name`) counts each time; imported files come from strangers
MAX_CHARACTERS = 2_000_000  # of all texts, where a repetition counts each time, too
MERGE = "<<"
MERGE_COST = 20  # counted for each merge, because the time to read many of them grows with the square of their number
MAX_LINE = 100  # characters; longer texts that we write are folded
NO_WRAPPING = 1_000_000  # characters; wide enough that existing long lines are not wrapped
PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")}
# words and times that YAML 1.1 reads as truth values and numbers
WORDS_OF_OLD = re.compile(r"(?i)y|n|yes|no|on|off|true|false|null|~|[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?")
FIRST_LIST = re.compile(r"^( *)(?:- )?[\w\"']+:[^\n]*\n(?:[ \t]*(?:#[^\n]*)?\n)*( *)- ", re.MULTILINE)


class InvalidYaml(ValueError):
    """The text is not valid YAML, or contains more than plain data; `line` counts from 1 if it is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class TooManyParts(InvalidYaml):
    """More keys and values, or more characters in them, than the reader accepts."""


class TooDeep(InvalidYaml):
    """Nested more deeply than the reader accepts."""


class _PlainComposer(Composer):
    """Refuses tags, texts with too many parts, and repeated keys, of which the last would silently win."""

    loader: _PlainYaml
    parts = 0
    warn_double_anchors = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.merged: Counter[int] = Counter()  # number of keys merged into a mapping, by its id

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.parts += 1
        self._refuse_too_many()
        event = self.parser.peek_event()
        tag = getattr(event, "ctag", None)
        if tag is not None and str(tag) not in PLAIN_TAGS:
            raise ComposerError(None, None, f"the tag {tag} is not allowed here", event.start_mark)
        return super().compose_node(parent, index)

    def compose_mapping_node(self, anchor: Any) -> MappingNode:
        node: MappingNode = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            if name in seen:
                raise ComposerError(None, None, f"the key {name!r} is repeated", key.start_mark)
            seen.add(name)
            if name == MERGE:
                self._count_merged(node, value)
        return node

    def _count_merged(self, node: MappingNode, source: Node) -> None:
        """Count every part that `<<: *name` repeats, including those that were merged into the repeated mapping."""
        for part in source.value if isinstance(source, SequenceNode) else [source]:
            repeated = len(part.value) + self.merged[id(part)]
            self.merged[id(node)] += repeated
            self.parts += repeated + MERGE_COST
        self._refuse_too_many()

    def _refuse_too_many(self) -> None:
        if self.parts > self.loader.max_parts:
            raise TooManyParts(f"more than {self.loader.max_parts:,} keys and values")


class _PlainYaml(YAML):
    def __init__(self, max_parts: int, offset: int = 2) -> None:
        super().__init__(typ="rt", pure=True)
        self.Composer = _PlainComposer
        self.max_parts, self.max_depth = max_parts, MAX_DEPTH
        self.preserve_quotes = True
        self.brace_single_entry_mapping_in_flow_sequence = True
        self.width = NO_WRAPPING
        self.indent(mapping=2, sequence=offset + 2, offset=offset)


def load(text: str | bytes, max_parts: int = MAX_PARTS) -> Any:
    """The document in a text, including comments and line numbers. Raises InvalidYaml."""
    try:
        return _PlainYaml(max_parts).load(text)
    except InvalidYaml:
        raise
    except (MaxDepthExceededError, RecursionError) as error:
        raise TooDeep("nested too deeply") from error
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise InvalidYaml(_in_words(error), mark.line + 1 if mark else None) from error
    except (YAMLError, AttributeError) as error:
        raise InvalidYaml(str(error).splitlines()[0] if str(error) else "it cannot be read") from error
    except LookupError as error:  # such as `!!bool maybe`, or `!!int` without digits
        raise InvalidYaml("a value does not match its tag") from error
    except TypeError as error:  # such as a list of lists
        raise InvalidYaml("a key is no text") from error
    except (ValueError, OverflowError, NotImplementedError) as error:  # like 2024-13-45, which looks like a date
        raise InvalidYaml(f"{error}; put such a value in quotes") from error


def _in_words(error: MarkedYAMLError) -> str:
    return str(error.problem or error.context or "it cannot be read")


def read(text: str | bytes, max_parts: int = MAX_PARTS) -> Any:
    """The plain data in a text. Raises InvalidYaml."""
    return plain(load(text, max_parts), max_parts)


def plain(document: Any, max_parts: int = MAX_PARTS) -> Any:
    """A document as dicts, lists and plain values, without comments. Raises TooManyParts or TooDeep."""
    left, characters_left = max_parts, MAX_CHARACTERS

    def copied(node: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise TooManyParts(f"more than {max_parts:,} keys and values")
        if depth > MAX_DEPTH:
            raise TooDeep("nested too deeply")
        if isinstance(node, dict):
            return {scalar(key): copied(value, depth + 1) for key, value in node.items()}
        return [copied(part, depth + 1) for part in node] if isinstance(node, list) else scalar(node)

    def scalar(node: Any) -> Any:
        nonlocal characters_left
        characters_left -= len(node) if isinstance(node, str) else 0
        if characters_left < 0:
            raise TooManyParts(f"more than {MAX_CHARACTERS:,} characters, with what is repeated")
        return _value(node)

    return copied(document, 1)


def parts_of(data: object) -> int:
    """The number of keys and values in plain data, as they are counted against a limit."""
    if isinstance(data, dict):
        return 1 + len(data) + sum(map(parts_of, data.values()))
    return 1 + sum(map(parts_of, data)) if isinstance(data, list) else 1


def _value(scalar: Any) -> Any:
    """The plain value of a scalar of the library, which also stores its notation."""
    for kind in (bool, int, float, str):
        if isinstance(scalar, kind) or (kind is bool and type(scalar).__name__ == "ScalarBoolean"):
            return kind(scalar)
    return scalar


def write(data: object) -> str:
    """Plain data as YAML."""
    return dump(fresh(data))


def dump(document: object, text: str = "") -> str:
    """A document as YAML; lists are indented as in `text`."""
    match = FIRST_LIST.search(text)
    stream = io.StringIO()
    _PlainYaml(MAX_PARTS, 0 if match and len(match[1]) == len(match[2]) else 2).dump(document, stream)
    return stream.getvalue()


def fresh(value: object, flow: bool = False) -> Any:
    """Plain data as parts of a document; `flow` writes them on one line, as in {a: 1}."""
    if isinstance(value, dict):
        mapping = CommentedMap({fresh(key, flow=True): fresh(part, flow) for key, part in value.items()})
        if flow:
            mapping.fa.set_flow_style()
        return mapping
    if isinstance(value, list | tuple):
        sequence = CommentedSeq([fresh(part, flow) for part in value])
        if flow or not value:
            sequence.fa.set_flow_style()
        return sequence
    return _written(value, flow) if isinstance(value, str) else value


def _written(text: str, flow: bool) -> Any:
    """A text in the most readable style: literal if it has several lines, folded if it is long, quoted if necessary."""
    if WORDS_OF_OLD.fullmatch(text) or not all(sign.isprintable() or sign == "\n" for sign in text):
        return DoubleQuotedScalarString(text)
    if flow or text != text.strip():
        return DoubleQuotedScalarString(text) if "\n" in text else PlainScalarString(text)
    if "\n" in text:
        return LiteralScalarString(text) if not re.search(r"[ \t]\n", text) else DoubleQuotedScalarString(text)
    if len(text) <= MAX_LINE or "  " in text:
        return PlainScalarString(text)
    folded = FoldedScalarString(text)
    setattr(folded, "fold_pos", _fold_places(text))  # noqa: B010 (the library's own attribute, unknown to the types)
    return folded


def _fold_places(text: str) -> list[int]:
    """The positions of the spaces at which to break a long text."""
    width = MAX_LINE - 1  # without the space at its end
    lines = wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return [end - 1 for end in accumulate(len(line) + 1 for line in lines[:-1])]


def line_of(document: Any, path: Sequence[int | str]) -> int:
    """The line, from 1, of the part at a path, or of the nearest part around it."""
    node, line = document, 0
    for step in path:
        places = getattr(getattr(node, "lc", None), "data", None) or {}
        if step in places:
            line = places[step][0]
        try:
            node = node[step]
        except (KeyError, IndexError, TypeError):
            break
    return line + 1

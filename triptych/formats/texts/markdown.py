"""Which characters of a Markdown text are visible when it is formatted.

The browser formats texts (`components/workbench/markdown`); a highlight is a span of the raw text there and here. This
parse says which raw characters are drawn, for statistics about highlights. Its limits are those of `limits.js`: texts
beyond them are shown as source. What can only be marked as a whole (an escape, an entity, an image's description) is
one character; a formula counts by its source, since a faulty one is shown that way.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.reference import reference
from markdown_it.rules_inline import StateInline, autolink, backtick, image, link
from markdown_it.token import Token

Character = tuple[int, int]
Definition = tuple[str, tuple[int, int]]  # of a link: what is written, and its first and next line

MAX_CHARACTERS = 25_000  # UTF-16 units, as browsers count
MAX_MARKS, MAX_MARKS_IN_ALL = 800, 6_000
MAX_BARS = 2_000
MAX_LINES, MAX_CELLS = 1_000, 10_000
WIDE_TABLE = re.compile(r"(?:\|[^\n|]*){200}")
MARK = re.compile(r"[\[\]*_`~<!$\\&]")
PARAGRAPHS = re.compile(r"\n[ \t]*\n")
LINE = re.compile(r"\r\n?|\n")
NESTED = re.compile(r"^(?:[ \t]*(?:>|[-+*]|\d{1,9}[.)])){30}", re.MULTILINE)
DEEP = re.compile(r"^[ \t]{60,}(?:>|[-+*]|\d{1,9}[.)])", re.MULTILINE)

SHOWN = {"text", "html_inline", "text_special", "softbreak", "formula", "image"}  # tokens with visible characters
TASK = re.compile(r"\[[ \txX]\][ \t\n]")
MAX_FORMULA = 2_000
BRACKETED = re.compile(rf"\\\((?:[^\\]|\\[^)]){{0,{MAX_FORMULA}}}?\\\)|\\\[(?:[^\\]|\\[^\]]){{0,{MAX_FORMULA}}}?\\\]")
DOLLARS = re.compile(r"\$+")
SINGLE = re.compile(rf"\$(?![\s$])(?:[^\\$]|\\.){{1,{MAX_FORMULA}}}(?<!\s)\$(?![\d$])", re.DOTALL)
FENCE = re.compile(r"(\${2,})[^$\n]*$")


def is_formatted(text: str) -> bool:
    """Whether the browser formats a Markdown text, rather than showing it as it was written."""
    if len(text.encode("utf-16-le", "surrogatepass")) // 2 > MAX_CHARACTERS:
        return False
    lines = LINE.split(text)
    if len(lines) > MAX_LINES or max(line.count("|") for line in lines) * len(lines) > MAX_CELLS:
        return False
    if text.count("|") > MAX_BARS or WIDE_TABLE.search(text):
        return False
    marks = [len(MARK.findall(paragraph)) for paragraph in PARAGRAPHS.split(text)]
    if max(marks) > MAX_MARKS or sum(marks) > MAX_MARKS_IN_ALL:
        return False
    return not (NESTED.search(text) or DEEP.search(text))


@dataclass(frozen=True)
class Visible:
    """The visible characters of a text, as runs of neighbours in order.

    starts, ends: offsets of each run in the raw text; before: number of visible characters before it. A run of one
    visible character may cover several raw ones, if it is drawn as a whole. length: number of visible characters.
    """

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    before: tuple[int, ...]
    length: int

    @classmethod
    def of(cls, characters: Iterable[Character]) -> Visible:
        """The visible characters, from [start, end) of each one, in order."""
        runs: list[tuple[int, int, int]] = []
        length = 0
        for start, end in characters:
            if runs and runs[-1][1] == start and end - start == 1 and runs[-1][1] - runs[-1][0] == length - runs[-1][2]:
                runs[-1] = (runs[-1][0], end, runs[-1][2])
            else:
                runs.append((start, end, length))
            length += 1
        starts, ends, before = zip(*runs, strict=True) if runs else ((), (), ())
        return cls(starts, ends, before, length)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """A span of the raw text, converted to visible characters; start equals end if it contains none."""
        first = self._count(bisect_right(self.starts, start) - 1, start, whole=False)
        last = self._count(bisect_left(self.starts, end) - 1, end, whole=True)
        return first, max(first, last)

    def _count(self, run: int, place: int, *, whole: bool) -> int:
        """Number of visible characters before a place in or after this run; whole: count a character that it cuts."""
        if run < 0:
            return 0
        size = (self.before[run + 1] if run + 1 < len(self.before) else self.length) - self.before[run]
        if place >= self.ends[run]:
            inside = size
        elif size < self.ends[run] - self.starts[run]:
            inside = int(whole)
        else:
            inside = place - self.starts[run]
        return self.before[run] + inside


@lru_cache(maxsize=20_000)
def visible(text: str) -> Visible:
    """The visible characters of a Markdown text."""
    return Visible.of(characters(text))


def visible_text(text: str) -> str:
    """The drawn characters of a Markdown text, with a space between blocks."""
    places = [(0, 0), *characters(text)]
    return "".join(
        f"{' ' if LINE.search(text[before:start]) else ''}{text[start:end]}"
        for (_, before), (start, end) in pairwise(places)
    ).strip()


def characters(text: str) -> list[Character]:
    """The drawn characters of a Markdown text in order, each as [start, end) of the raw text."""
    if not is_formatted(text):
        return list(_each(0, len(text)))
    drawn = sorted(set(_characters(text)))
    return [here for here, after in pairwise([*drawn, (len(text), len(text))]) if here[1] <= after[0]]


def _characters(text: str) -> Iterator[Character]:
    """The drawn characters of a text in any order, as [start, end) of the raw text."""
    text = text.replace("\0", "\ufffd")  # as the parser does
    shift = 1 if text.startswith("\ufeff") else 0
    ends = [match.span() for match in LINE.finditer(text)]  # of lines
    lines = [
        RawLine(text, start, end) for (_, start), (end, _) in pairwise([(0, shift), *ends, (len(text), len(text))])
    ]
    definitions: list[Definition] = []
    tokens = _PARSER.parse(text[shift:], {"definitions": definitions})
    for place, token in enumerate(tokens):
        if token.map is None:
            continue
        first, last = token.map
        if token.type == "inline":
            in_item = place > 1 and tokens[place - 2].type == "list_item_open"
            is_cell = tokens[place - 1].type in ("th_open", "td_open")
            places = (_in_cell if is_cell else _in_lines)(token.content, lines[first:last])
            yield from _inline(token, places, in_item)
        elif token.type in ("fence", "code_block"):
            yield from _code(token.content, lines[first + (token.type == "fence") : last])
        elif token.type in ("html_block", "formula"):
            yield from _whole(token.content, lines[first:last])
    for written, (first, last) in definitions:
        yield from _whole(written, lines[first:last])


@dataclass
class RawLine:
    """A line of the raw text. taken: where the search for the next table cell begins."""

    text: str
    start: int
    end: int

    def __post_init__(self) -> None:
        self.taken = self.start

    @property
    def raw(self) -> str:
        return self.text[self.start : self.end]

    def behind(self) -> Character:
        """The line's own end."""
        return self.end, self.end + (2 if self.text.startswith("\r\n", self.end) else 1)


def _whole(written: str, lines: Sequence[RawLine]) -> Iterator[Character]:
    """Lines that are shown as they were written, from the beginning of what is written on."""
    opening = written.partition("\n")[0]
    yield from _each(lines[0].end - len(opening), lines[0].end)
    for before, line in pairwise(lines):
        yield before.behind()
        yield from _each(line.start, line.end)


def _code(content: str, lines: Sequence[RawLine]) -> Iterator[Character]:
    """The lines of a code block, without the indentation that does not belong to the code."""
    written = content.removesuffix("\n").split("\n") if content else []
    for number, (own, line) in enumerate(zip(written, lines, strict=False)):
        start = line.start + max(0, line.raw.rfind(own.lstrip()) - (len(own) - len(own.lstrip())))
        yield from _each(start, line.end)
        if number < len(written) - 1:
            yield line.behind()


def _inline(token: Token, places: Sequence[Character], in_item: bool) -> Iterator[Character]:
    """The characters of a paragraph, a heading or a cell. places: those of its content in the raw text."""
    box = TASK.match(token.content) if in_item else None
    for start, end in _drawn(token.content, token.children or []):
        if box is None or start >= box.end():
            yield places[start][0], places[end - 1][1]


def _in_lines(content: str, lines: Sequence[RawLine]) -> list[Character]:
    """The place in the raw text of each character of a content that the parser extracted from lines."""
    places: list[Character] = []
    written = content.split("\n")
    # without those of no-break spaces alone, which the parser removes as blank
    lines = lines[next(number for number, line in enumerate(lines) if written[0] in line.raw) :]
    for number, (own, line) in enumerate(zip(written, lines, strict=False)):
        if number:
            places.append(lines[number - 1].behind())
        # a line ends with its content, or with what closes a heading; in a list, a tab before it may become spaces
        words = own if own in line.raw else own.lstrip(" ")
        start = line.start + line.raw.rfind(words)
        places += [(start - 1, start)] * (len(own) - len(words))
        places += _each(start, start + len(words))
    return places


def _in_cell(content: str, lines: Sequence[RawLine]) -> list[Character]:
    """The place in the raw text of each character of a table cell, whose bars are written with a backslash."""
    (line,) = lines
    start = line.text.find(content.replace("|", "\\|"), line.taken, line.end)
    places: list[Character] = []
    for character in content:
        places.append((start, start + 1 + (character == "|")))
        start = places[-1][1]
    line.taken = start
    return places


def _drawn(content: str, tokens: Sequence[Token]) -> Iterator[Character]:
    """The visible parts of a content: single characters, and parts that are drawn as a whole."""
    at = 0
    for token in tokens:
        start, end = _range(content, token, at)
        if token.type in ("image", "text_special") and token.content != token.markup and token.content:
            yield start, end
        elif token.type == "code_inline":
            fence = len(token.markup)
            padding = (end - start - 2 * fence - len(token.content)) // 2
            yield from _each(start + fence + padding, end - fence - padding)
        elif token.type == "link_close" and token.info == "auto":
            yield from _each(start + 1, end - 1)
        elif token.type in SHOWN:
            yield from _each(start, end)
        at = max(at, end)


def _range(content: str, token: Token, at: int) -> tuple[int, int]:
    """[start, end) of a token in the content, searched from `at`; empty if it is not found."""
    if "start" in token.meta:
        return token.meta["start"], token.meta["end"]
    written = {"text": token.content, "html_inline": token.content, "text_special": token.markup, "softbreak": "\n"}
    start = content.find(written.get(token.type, ""), at)
    return (at, at) if start < 0 else (start, start + len(written.get(token.type, "")))


def _each(start: int, end: int) -> Iterator[Character]:
    return ((place, place + 1) for place in range(start, end))


# ---- the parser ----

InlineRule = Callable[[StateInline, bool], bool]


def _placed(rule: InlineRule) -> InlineRule:
    """The parser's rule, changed so that its last token records its start and end."""

    def placed(state: StateInline, silent: bool) -> bool:
        start, before = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        if not silent and len(state.tokens) > before and not state.pending:
            state.tokens[-1].meta = {"start": start, "end": state.pos}
        return True

    return placed


def _formula(state: StateInline, silent: bool) -> bool:
    """`$…$`, `$$…$$`, `\\(…\\)` and `\\[…\\]`; single dollars by Pandoc's rule, so that prices stay prices."""
    start = state.pos
    if match := BRACKETED.match(state.src, start, state.posMax):
        return _push_formula(state, match.end(), silent)
    opening = DOLLARS.match(state.src, start, state.posMax)
    if opening is None:
        return False
    if len(opening[0]) == 1:
        closing = SINGLE.match(state.src, start, state.posMax)
    else:
        runs = DOLLARS.finditer(state.src, opening.end(), state.posMax)
        closing = next((run for run in runs if len(run[0]) == len(opening[0])), None)
    if closing is not None:
        return _push_formula(state, closing.end(), silent)
    if not silent:
        state.append_pending(opening[0])
    state.pos = opening.end()
    return True


def _push_formula(state: StateInline, end: int, silent: bool) -> bool:
    if not silent:
        state.push("formula", "", 0).meta = {"start": state.pos, "end": end}
    state.pos = end
    return True


def _formula_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Lines between two lines of `$$`."""
    opening = FENCE.fullmatch(_written(state, first)) if state.sCount[first] - state.blkIndent < 4 else None
    if opening is None:
        return False
    if silent:
        return True
    end = first + 1
    while end < last and (state.isEmpty(end) or state.sCount[end] >= state.blkIndent):
        written = _written(state, end).strip()
        end += 1
        if len(written) >= len(opening[1]) and not written.strip("$"):
            break
    token = state.push("formula", "", 0)
    token.content, token.map = _written(state, first), [first, end]
    state.line = end
    return True


def _reference(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """The parser's rule for link definitions, which remembers their lines, because definitions are shown."""
    is_definition = reference(state, first, last, silent)
    if is_definition:
        state.env["definitions"].append((_written(state, first), (first, state.line)))
    return is_definition


def _written(state: StateBlock, line: int) -> str:
    """A line of the source without the signs of the blocks around it."""
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": 100}).enable(["table", "strikethrough"]).disable("text_join")
    for name, rule in {"link": link, "image": image, "autolink": autolink, "backticks": backtick}.items():
        parser.inline.ruler.at(name, _placed(rule))
    parser.inline.ruler.before("escape", "formula", _formula)
    ends = ["paragraph", "reference", "blockquote", "list"]  # what it may follow without an empty line
    parser.block.ruler.before("fence", "formula", _formula_block, {"alt": ends})
    parser.block.ruler.at("reference", _reference)
    # addresses are never followed, so they are shown unchanged without normalisation
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # its documented hook
    parser.normalizeLink = parser.normalizeLinkText = str  # type: ignore[method-assign, assignment]  # likewise
    return parser


_PARSER = _parser()

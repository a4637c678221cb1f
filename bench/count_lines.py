"""Lines of product code per room: `python -m bench.count_lines [folder]`.

Python and JavaScript of the app, without blank lines, comments, docstrings, JSDoc and other people's code.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bench.server import ROOT

PLACES = ("triptych", "components", "pages", "app.py")
NOT_OURS = {"node_modules", "vendor", "vendored", "__pycache__"}
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
# after one of these, a slash starts a regular expression; otherwise it divides
BEFORE_REGEX = re.compile(
    r"(?:^|[(,=:\[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|do|else|void|delete|await|yield))$"
)
JS_TOKEN = re.compile(
    r"""
    (?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<string>'(?:\\.|[^'\\\n])*'?|"(?:\\.|[^"\\\n])*"?)
    |(?P<regex>/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/)
    |(?P<space>\s+)
    |(?P<word>[\w$]+)
    |(?P<other>.)
    """,
    re.DOTALL | re.VERBOSE,
)


def python_lines(source: str) -> int:
    """Lines with code: not blank, not only a comment, not in a docstring. Raises SyntaxError."""
    lines = source.splitlines()
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    code -= set(_docstring_lines(ast.parse(source)))
    return sum(bool(lines[number - 1].strip()) for number in code)


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            yield from range(first.lineno, (first.end_lineno or first.lineno) + 1)


def javascript_lines(source: str) -> int:
    """Lines with code: not blank and not only in a comment."""
    code: set[int] = set()
    for start, text in _javascript_code(source):
        first = source.count("\n", 0, start)
        code.update(first + number for number, line in enumerate(text.split("\n")) if line.strip())
    return len(code)


def _javascript_code(source: str) -> Iterator[tuple[int, str]]:
    """The line at which each piece of code starts, and its text. A template string counts as code as a whole."""
    place, before = 0, ""
    while place < len(source):
        if source[place] == "`":
            end = _template_end(source, place)
            yield place, source[place:end]
            place, before = end, "`"
            continue
        match = JS_TOKEN.match(source, place)
        assert match is not None  # `other` matches any character
        kind, text = match.lastgroup, match.group()
        if kind == "regex" and not BEFORE_REGEX.search(before):
            kind, text = "other", "/"
        if kind not in ("comment", "space"):
            yield place, text
            before = text
        place += len(text)


def _template_end(source: str, start: int) -> int:
    """The position after the template string that starts at `start`; its `${…}` may contain other templates."""
    place, depth = start + 1, 0
    while place < len(source):
        if source[place] == "\\":
            place += 1
        elif source[place] == "`" and depth == 0:
            return place + 1
        elif source[place] == "`":
            place = _template_end(source, place) - 1
        elif source.startswith("${", place):
            depth, place = depth + 1, place + 1
        elif depth and source[place] in "{}":
            depth += 1 if source[place] == "{" else -1
        place += 1
    return len(source)


COUNTERS = {".py": python_lines, ".js": javascript_lines, ".mjs": javascript_lines}


def count_lines(root: Path) -> dict[tuple[str, str], int]:
    """(room, "Python" or "JavaScript") → lines of code of the app below `root`."""
    counts: Counter[tuple[str, str]] = Counter()
    for place in PLACES:
        top = root / place
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.suffix in COUNTERS and NOT_OURS.isdisjoint(path.relative_to(root).parts):
                language = "Python" if path.suffix == ".py" else "JavaScript"
                counts[_room(path.relative_to(root)), language] += COUNTERS[path.suffix](path.read_text("utf-8"))
    return dict(counts)


def _room(path: Path) -> str:
    return "/".join(path.parts[:2]) if len(path.parts) > 2 else path.parts[0]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.count_lines", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT, help="another checkout (default: this one)")
    counts = count_lines(parser.parse_args().folder)
    for room in sorted({room for room, _ in counts}):
        languages = [f"{counts[room, name]:7,} {name}" for name in ("Python", "JavaScript") if (room, name) in counts]
        print(f"{room:28}{'  '.join(languages)}")
    print(f"{'total':28}{sum(counts.values()):7,}")


if __name__ == "__main__":
    main()

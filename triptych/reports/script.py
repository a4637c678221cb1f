"""analysis.py: the parts that make every number again, joined to one file that needs nothing of ours."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from triptych.reports import recompute
from triptych.stats import numbers

PARTS = (
    *("basics", "systems", "comparisons", "ranks", "ordinal", "agreement"),
    *("raters", "effects", "diagnostics", "spans", "judges", "whole"),
)
OURS = recompute.__name__.split(".")[0]
UNSEALED = '\nSNAPSHOT = ""'


def script(sha256: str) -> str:
    """The file, with the snapshot's hash in it. The last part says in its first lines what the file is."""
    folder = Path(recompute.__file__).parent
    paths = [Path(numbers.__file__), *(folder / f"{part}.py" for part in PARTS)]
    sources = [path.read_text(encoding="utf-8") for path in paths]
    trees = [ast.parse(source) for source in sources]
    imported = "\n".join(_imports(node for tree in trees for node in tree.body))
    head = f'"""{ast.get_docstring(trees[-1], clean=False)}"""\n\nfrom __future__ import annotations\n\n{imported}\n'
    bodies = (_section(source, tree) for source, tree in zip(sources, trees, strict=True))
    return "\n\n".join([head, *bodies]).replace(UNSEALED, f'{UNSEALED[:-1]}{sha256}"', 1)


def _imports(nodes: Iterable[ast.stmt]) -> Iterator[str]:
    """Every import of the parts that is not of ours, each name once: the standard library, then packages."""
    whole: set[str] = set()
    names: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            whole.add(ast.unparse(node))
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] not in (OURS, "__future__"):
            names.setdefault(node.module, set()).update(alias.name for alias in node.names)
    lines = [*sorted(whole), *(f"from {module} import {', '.join(sorted(names[module]))}" for module in sorted(names))]
    yield from sorted(lines, key=lambda line: line.split()[1].split(".")[0] not in sys.stdlib_module_names)


def _section(source: str, tree: ast.Module) -> str:
    """A part without its imports, under a line that says what it is."""
    last = max(node.end_lineno for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
    title = f"# --- {tree.body[0].value.value.splitlines()[0].rstrip('.')} "
    return f"{title:-<119}\n\n" + "\n".join(source.splitlines()[last:]).strip("\n") + "\n"

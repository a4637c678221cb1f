"""What stats/ may import: a report's zip carries it, to run with NumPy and SciPy alone."""

from __future__ import annotations

import ast
import sys

import pytest
from helpers.studies import ROOT

MODULES = sorted((ROOT / "triptych" / "stats").rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_stats_imports_only_itself_numpy_and_scipy(path):
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module.split(".")[0])

    assert names - sys.stdlib_module_names <= {"numpy", "scipy"}

"""Streamlit serves /media to anybody: no code of ours puts anything there but the logo and our own example files."""

from __future__ import annotations

import ast
from pathlib import Path

from helpers.studies import ROOT

# what of Streamlit puts bytes under /media
SERVED = {"download_button", "image", "audio", "video", "pdf", "logo", "pyplot", "graphviz_chart", "chat_message"}
CODE = [ROOT / "app.py", *(path for name in ("components", "pages") for path in sorted((ROOT / name).rglob("*.py")))]


def uses(path: Path) -> list[str]:
    """Calls of these names with their first argument, and any import of the manager of media files."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    served = [
        f"{node.func.attr}({ast.unparse(node.args[0])})"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SERVED
    ]
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return served + [name for name in names if "media" in name]


def test_nothing_but_logo_and_examples_is_served_to_anybody():
    examples = {"download_button('Example of a rubric (YAML)')", "download_button('Example of a file of items (CSV)')"}
    assert {use for path in CODE for use in uses(path)} == {"image(LOGO)", "logo(str(LOGO))", *examples}

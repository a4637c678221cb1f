"""Markdown files of a report: what people wrote stands in code spans, so that no text is markup."""

from __future__ import annotations


def code_span(text: str) -> str:
    """A code span on one line; its fence is longer than any run of backticks in the text."""
    line = " ".join(text.split())
    fence = "`" * (max(map(len, "".join(c if c == "`" else " " for c in line).split()), default=0) + 1)
    return f"{fence} {line} {fence}" if "`" in line else f"`{line}`"

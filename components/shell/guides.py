"""The guides in docs/, divided into sections for the Help page. Their texts are our own, not users'."""

from __future__ import annotations

import re
from functools import cache

from triptych.settings import app_folder

# file below the app's folder, and title
GUIDES = {
    "guide-leads": ("docs/guide-leads.md", "For leads"),
    "guide-annotators": ("docs/guide-annotators.md", "For annotators"),
    "statistics": ("docs/statistics.md", "Statistics"),
    "security": ("docs/security.md", "Security and privacy"),
    "commands": ("docs/commands.md", "Commands"),
    "scripting": ("docs/scripting.md", "Scripts and notebooks"),
    "rubrics": ("rubrics/README.md", "Writing a rubric"),
}
HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)
PICTURE = re.compile(r"^ *!\[[^\]]*\]\([^)]*\)\n?", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")


def slug_of(heading: str) -> str:
    """The heading's anchor as GitHub computes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def address_of(guide: str, section: str = "") -> dict[str, str]:
    """The query parameters of the Help page for a section of a guide."""
    return {"guide": guide, "section": section} if section else {"guide": guide}


@cache
def sections(guide: str) -> dict[str, tuple[str, str]]:
    """Slug → (heading, text) for every heading with a text, in order."""
    path, _ = GUIDES[guide]
    text = (app_folder() / path).read_text(encoding="utf-8")
    headings = list(HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    texts = [text[heading.end() : end].strip() for heading, end in zip(headings, ends, strict=True)]
    return {
        slug_of(heading[1]): (heading[1], _linked(below, guide))
        for heading, below in zip(headings, texts, strict=True)
        if below
    }


def _linked(text: str, guide: str) -> str:
    """The text with links to other guides as addresses of the Help page, and links to files outside the app as plain
    text.

    Pictures are removed: they show the pages that the reader is on.
    """
    names = {path.rpartition("/")[2]: name for name, (path, _) in GUIDES.items()}

    def link(match: re.Match[str]) -> str:
        file = match[2].rpartition("/")[2]
        name = guide if not file else "rubrics" if match[2].endswith("rubrics/README.md") else names.get(file)
        if name is None:
            return match[1]
        query = "&".join(f"{key}={value}" for key, value in address_of(name, match[3] or "").items())
        return f"[{match[1]}](help?{query})"

    return LINK.sub(link, PICTURE.sub("", text))

"""What MkDocs does not do by itself: pages from outside docs/, links between them, and Markdown as GitHub reads it."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File
from pymdownx.slugs import slugify

ROOT = Path(__file__).parents[2]
# file → its place on the site; those of docs/ have their own names. reporting: security.md is another page
OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CODE_OF_CONDUCT.md": "CODE_OF_CONDUCT.md",
    "SECURITY.md": "reporting.md",
    "rubrics/README.md": "rubrics/README.md",
    "components/shell/logo.svg": "logo.svg",
}
DOCUMENTS = {page: document for document, page in OUTSIDE.items()}
LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")
FENCE = re.compile(r" *```")
FETCHED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>")
NUMBER = re.compile(r"^\d+\. ")
PART = re.compile(r" *(?:[-*]|\d+\.) |\|")  # a list's entry, or a row of a table
WITH_PARTS = re.compile(r" *(?:[-*]|\d+\.) |\||#| {2}")


def on_config(config: Any) -> Any:
    config.mdx_configs.setdefault("toc", {})["slugify"] = slugify(case="lower")  # as GitHub does
    return config


def on_files(files: Any, *, config: Any) -> Any:
    for document, page in OUTSIDE.items():
        files.append(File.generated(config, page, content=(ROOT / document).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    uri = page.file.src_uri
    document = DOCUMENTS.get(uri, f"docs/{uri}")
    if uri.startswith("decisions/"):
        page.meta["search"] = {"boost": 0.1}  # guides first
    if uri == "decisions/README.md":
        markdown += "\n" + "\n".join(_decisions())
    return "\n".join(_spaced(LINK.sub(lambda link: _linked(link, document, uri), markdown)))


def on_post_page(output: str, *, page: Any, config: Any) -> str:
    if fetched := FETCHED.search(output):
        raise PluginError(f"{page.file.src_uri} asks another server: {fetched[0]}")
    return output


def _linked(link: re.Match[str], document: str, uri: str) -> str:
    """A link to a document as one to its page; one to a file that is not on the site as its words."""
    path, hash_sign, anchor = link[2].partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(document), path))
    if not path or "://" in path or not (ROOT / target).exists():
        return link[0]
    if (ROOT / target).is_dir():
        target += "/README.md"
    place = OUTSIDE.get(target) or (target.removeprefix("docs/") if target.startswith("docs/") else None)
    if place is None:
        return link[1].strip("[]")
    return f"{link[1]}({posixpath.relpath(place, posixpath.dirname(uri) or '.')}{hash_sign}{anchor})"


def _decisions() -> list[str]:
    paths = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
    titles = [path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for path in paths]
    return [f"- [{NUMBER.sub('', title)}]({path.name})" for path, title in zip(paths, titles, strict=True)]


def _spaced(markdown: str) -> list[str]:
    """The lines as Python-Markdown wants them: parts of a list's entry four spaces in, an empty line before lists."""
    lines: list[str] = []
    fenced = False
    for line in markdown.splitlines():
        if not fenced or line.startswith("  "):
            line = re.sub(r"^ {2,3}(?=\S)", "    ", line)
        before = lines[-1] if lines else ""
        if not fenced and PART.match(line) and before and not WITH_PARTS.match(before):
            lines.append("")
        fenced ^= bool(FENCE.match(line))
        lines.append(line)
    return lines

"""The documents: links lead somewhere, the site has every page, and pages written from code are up to date."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers import reference_pages
from helpers.studies import ROOT

from bench import links
from triptych.formats import read_items
from triptych.formats.model import ReadOptions

SITE = ROOT / "docs" / "site"


def test_internal_links_lead_to_files_and_headings():
    broken = {path.relative_to(ROOT).as_posix(): links.broken_links(path) for path in links.documents()}

    assert "docs/tutorial.md" in broken
    assert not {name: targets for name, targets in broken.items() if targets}


def test_a_broken_link_is_found(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("# One\n[a](page.md#one) [b](#two) [c](missing.md) `[d](code.md)`\n")

    assert links.broken_links(page) == ["#two", "missing.md"]


def listed(nav: Any) -> set[str]:
    """The pages in the navigation."""
    if isinstance(nav, str):
        return {nav}
    return set().union(*map(listed, nav.values() if isinstance(nav, dict) else nav))


def test_the_site_lists_every_page():
    config = yaml.safe_load((SITE / "mkdocs.yml").read_text(encoding="utf-8"))
    pages = listed(config["nav"])

    assert {path.name for path in (ROOT / "docs").glob("*.md")} <= pages
    assert config["theme"]["font"] is False  # the theme would fetch fonts


def test_the_file_of_the_tutorial_can_be_imported():
    (items,) = re.findall(r"^```csv\n(.*?)^```", (ROOT / "docs" / "tutorial.md").read_text(), re.DOTALL | re.MULTILINE)
    file = read_items(items.encode(), "answers.csv", ReadOptions())

    assert file.ok
    assert len(file.items) == 4
    assert {len(item.candidates) for item in file.items} == {3}


@pytest.mark.parametrize("page", reference_pages.PAGES, ids=lambda path: path.name)
def test_a_reference_page_is_written_from_the_code(page: Path):
    assert page.read_text(encoding="utf-8") == reference_pages.PAGES[page]()

"""Links in the documents: `make check-links` requests external addresses, tests/house/test_site.py checks others."""

from __future__ import annotations

import argparse
import re
import sys
import urllib.error
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.server import ROOT
from components.shell.guides import slug_of

DOCUMENTS = ("*.md", "docs/**/*.md", "rubrics/*.md", "data/demo/*.md", ".github/**/*.md")
FENCED = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
CODE = re.compile(rf"{FENCED.pattern}|`[^`\n]*`", re.DOTALL | re.MULTILINE)
TARGET = re.compile(r"\]\(([^)\s]+)\)|<(https?://[^>\s]+)>")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
LOCAL = ("http://127.", "http://localhost")
TIMEOUT_SECONDS = 20
AT_ONCE = 8
GONE = (404, 410)  # other statuses say nothing about whether the page exists


def documents() -> list[Path]:
    return sorted({path for pattern in DOCUMENTS for path in ROOT.glob(pattern)})


def targets(document: Path) -> Iterator[str]:
    """The addresses of links and pictures as written, outside code."""
    text = CODE.sub("", document.read_text(encoding="utf-8"))
    for match in TARGET.finditer(text):
        yield match[1] or match[2]


def anchors(document: Path) -> set[str]:
    """The anchors of headings, as on GitHub and on the site; of repeated headings only the first."""
    return {slug_of(heading) for heading in HEADING.findall(FENCED.sub("", document.read_text(encoding="utf-8")))}


def broken_links(document: Path) -> list[str]:
    """Links within the repository whose file or heading does not exist."""
    broken = []
    for target in targets(document):
        path, _, anchor = target.partition("#")
        if "://" in path or path.startswith("mailto:"):
            continue
        file = (document.parent / path).resolve() if path else document
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    return broken


def external_links() -> dict[str, list[str]]:
    """Address → the documents that contain it."""
    links: dict[str, list[str]] = defaultdict(list)
    for document in documents():
        for target in targets(document):
            if target.startswith(("http://", "https://")) and not target.startswith(LOCAL):
                links[target].append(document.relative_to(ROOT).as_posix())
    return links


def fault(address: str) -> tuple[str, str]:
    """What is wrong with an address, and in one word: missing, unanswered or refused; two empty texts if nothing is."""
    request = urllib.request.Request(address, headers={"User-Agent": "Mozilla/5.0 (link check)"})
    try:
        urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS).close()
    except urllib.error.HTTPError as error:
        return f"HTTP {error.code}", "missing" if error.code in GONE else "refused"
    except OSError as error:
        return f"no answer: {error}", "unanswered"
    return "", ""


def main() -> int:
    argparse.ArgumentParser(prog="python -m bench.links", description=__doc__).parse_args()
    links = external_links()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        faults = dict(zip(links, pool.map(fault, links), strict=True))
    for address, (words, _) in faults.items():
        if words:
            print(f"{address}: {words} ({', '.join(sorted(set(links[address])))})")
    count = Counter(short for _, short in faults.values())
    print(f"{len(links)} external addresses: {count['missing']} missing, {count['unanswered']} without an answer.")
    if count["unanswered"] == len(links):
        print("None answered: this computer seems to have no way to the internet, so nothing is known about them.")
    return bool(count["missing"] or count["unanswered"])


if __name__ == "__main__":
    sys.exit(main())

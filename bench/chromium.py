"""Finds an installed Chromium or Chrome, for tests, benchmarks and screenshots."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from playwright.sync_api import Browser, Playwright

# the headless shell first: without a browser's own windows, a page takes half the processor time
PROGRAMS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
# below the home folder: Linux, macOS, Windows
PLAYWRIGHT_CACHES = (".cache/ms-playwright", "Library/Caches/ms-playwright", "AppData/Local/ms-playwright")
PLAYWRIGHT_PROGRAMS = (
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
    "chromium-*/chrome-win*/chrome.exe",
)
APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Google/Chrome/Application/chrome.exe",
)


def find_chromium(home: Path | None = None) -> str | None:
    """The path of a Chromium or Chrome, or None.

    The environment variable CHROMIUM takes precedence; then the PATH, the newest download of Playwright below `home`
    (by default the user's home folder), and the usual places of macOS and Windows. Raises FileNotFoundError if CHROMIUM
    names no program.
    """
    chosen = os.environ.get("CHROMIUM")
    if chosen:
        program = shutil.which(chosen)
        if program is None:
            raise FileNotFoundError(f"CHROMIUM is set to {chosen}, which is not a program.")
        return program
    on_path = (program for name in PROGRAMS if (program := shutil.which(name)))
    elsewhere = (str(path) for path in _candidates(home or Path.home()) if path.is_file())
    return next(on_path, None) or next(elsewhere, None)


def _candidates(home: Path) -> Iterator[Path]:
    for cache in PLAYWRIGHT_CACHES:
        for pattern in PLAYWRIGHT_PROGRAMS:
            yield from sorted((home / cache).glob(pattern), key=_revision, reverse=True)
    yield from map(Path, APPLICATIONS)


def _revision(path: Path) -> int:
    """The number in Playwright's folder, such as chromium-1187."""
    numbers = re.findall(r"chromium-(\d+)", str(path))
    return int(numbers[-1]) if numbers else 0


def launch_chromium(player: Playwright, flags: Sequence[str]) -> Browser:
    """Start the Chromium of `find_chromium`, or Playwright's own choice; root must run it without a sandbox."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    sandbox = ["--no-sandbox"] if is_root else []
    return player.chromium.launch(executable_path=find_chromium(), args=[*flags, *sandbox])

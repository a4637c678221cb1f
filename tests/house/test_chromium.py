"""Where tests and benchmarks look for Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import chromium
from bench.chromium import find_chromium


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is installed."""
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(chromium, "APPLICATIONS", ())


def program(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o755)
    return str(path)


def test_without_any_chromium_there_is_none(tmp_path):
    assert find_chromium(tmp_path) is None


@pytest.mark.parametrize("name", chromium.PROGRAMS)
def test_a_chromium_on_the_path_is_found(tmp_path, name):
    there = program(tmp_path / "bin" / name)

    assert find_chromium(tmp_path) == there


@pytest.mark.parametrize(
    "place",
    [
        ".cache/ms-playwright/chromium-1187/chrome-linux/chrome",
        ".cache/ms-playwright/chromium-1200/chrome-linux64/chrome",
        "Library/Caches/ms-playwright/chromium-1187/chrome-mac/Chromium.app/Contents/MacOS/Chromium",
        "AppData/Local/ms-playwright/chromium-1187/chrome-win/chrome.exe",
    ],
)
def test_a_chromium_of_playwright_is_found(tmp_path, place):
    there = program(tmp_path / place)

    assert find_chromium(tmp_path) == there


def test_the_newest_chromium_of_playwright_is_taken(tmp_path):
    paths = [
        program(tmp_path / f".cache/ms-playwright/chromium-{number}/chrome-linux/chrome") for number in (999, 1187)
    ]

    assert find_chromium(tmp_path) == paths[1]


def test_the_path_comes_before_playwright(tmp_path):
    program(tmp_path / ".cache/ms-playwright/chromium-1187/chrome-linux/chrome")
    there = program(tmp_path / "bin" / "chromium")

    assert find_chromium(tmp_path) == there


def test_the_environment_comes_first(tmp_path, monkeypatch):
    program(tmp_path / "bin" / "chromium")
    there = program(tmp_path / "own" / "browser")
    monkeypatch.setenv("CHROMIUM", there)

    assert find_chromium(tmp_path) == there


def test_a_wrong_name_in_the_environment_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "nothing"))

    with pytest.raises(FileNotFoundError, match="CHROMIUM is set to .*nothing"):
        find_chromium(tmp_path)


def test_an_application_of_the_system_is_found(tmp_path, monkeypatch):
    there = program(tmp_path / "Applications" / "Google Chrome")
    monkeypatch.setattr(chromium, "APPLICATIONS", (there,))

    assert find_chromium(tmp_path) == there

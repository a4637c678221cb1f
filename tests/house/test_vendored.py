"""The vendored Markdown parser and KaTeX: what is served is what the build script makes, with all licences."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from helpers.studies import ROOT, absent

MARKDOWN = ROOT / "components" / "workbench" / "markdown"
VENDOR, BUILD = MARKDOWN / "vendor", MARKDOWN / "build"
SOURCES = ("build.mjs", "package.json", "package-lock.json")


def sums(folder: Path) -> dict[str, str]:
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    return {name: digest for digest, name in (line.split("  ") for line in lines)}


def test_vendored_files_have_the_hashes_of_the_build():
    assert set(sums(VENDOR)) == {"parser.js", "katex.js", "LICENSES.txt"}
    for name, digest in sums(VENDOR).items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest


def test_vendored_code_makes_no_markup_of_text():
    for name in ("parser.js", "katex.js"):
        code = (VENDOR / name).read_text(encoding="utf-8")
        assert not [word for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(") if word in code]


def test_every_vendored_package_is_locked_and_has_its_licence():
    locked = json.loads((BUILD / "package-lock.json").read_text())["packages"]
    for text in (VENDOR / "LICENSES.txt").read_text(encoding="utf-8").split("-" * 80):
        name, version, licence = text.split(maxsplit=3)[:3]
        assert locked[f"node_modules/{name}"]["version"] == version
        assert licence == "(MIT)"
        assert "no licence file" not in text


@pytest.mark.slow  # installs 60 packages from the registry
def test_rebuilding_gives_the_same_bytes(tmp_path: Path):
    if shutil.which("npm") is None:
        absent("npm")
    for name in SOURCES:
        shutil.copy(BUILD / name, tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run(["npm", "run", "build", "--", str(out)], cwd=tmp_path, check=True, capture_output=True)
    assert sums(out) == sums(VENDOR)
    for name in sums(VENDOR):
        assert (out / name).read_bytes() == (VENDOR / name).read_bytes()

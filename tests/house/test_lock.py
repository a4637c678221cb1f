"""The lock files: they hold what the requirements pin and everything that it needs, with hashes."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from helpers.studies import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bench.packages import DEV_LOCK, LOCK, locked

SITE_LOCK = ROOT / "docs" / "site" / "requirements.lock"
POSTGRES_LOCK = ROOT / "requirements-postgres.lock"
LOCKS = {LOCK: "requirements.txt", DEV_LOCK: "requirements-dev.txt", POSTGRES_LOCK: "requirements.txt"}
BUILD_LOCK = ROOT / "requirements-build.lock"
LOCKS |= {SITE_LOCK: "docs/site/requirements.txt", BUILD_LOCK: "requirements-build.txt"}


def pinned(name: str) -> dict[str, str]:
    """Package → version in a file of requirements and in those that it includes."""
    pins: dict[str, str] = {}
    for line in (ROOT / name).read_text().splitlines():
        if included := re.fullmatch(r"-r (\S+)", line):
            pins |= pinned(included[1])
        elif line and not line.startswith("#"):
            requirement = Requirement(line)
            pins[canonicalize_name(requirement.name)] = str(requirement.specifier).removeprefix("==")
    return pins


def versions(lock: Path) -> dict[str, str]:
    return {package.name: package.version for package in locked(lock.read_text())}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.relative_to(ROOT).as_posix())
def test_a_lock_agrees_with_its_requirements(lock: Path):
    pins = pinned(LOCKS[lock])

    assert {name: version for name, version in versions(lock).items() if name in pins} == pins


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.relative_to(ROOT).as_posix())
def test_a_lock_takes_only_wheels_with_hashes(lock: Path):
    """pip would build anything but a wheel with programs that no lock names."""
    first, blank, *lines = lock.read_text().splitlines()
    entries = locked("\n".join(lines))

    assert (first, blank) == ("--only-binary :all:", "")
    assert entries
    assert len(lines) == sum(1 + len(entry.hashes) for entry in entries)


def test_all_locks_hold_the_same_versions():
    for other in (DEV_LOCK, POSTGRES_LOCK):
        assert versions(LOCK).items() <= versions(other).items()
    for other in (POSTGRES_LOCK, BUILD_LOCK):
        assert versions(other).items() <= versions(DEV_LOCK).items()


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.relative_to(ROOT).as_posix())
def test_a_lock_holds_what_its_packages_need(lock: Path):
    held = versions(lock)
    for name in held:
        try:
            needed = [Requirement(line) for line in requires(name) or ()]
        except PackageNotFoundError:
            continue  # of another system
        for requirement in needed:
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                assert requirement.specifier.contains(held[canonicalize_name(requirement.name)]), (name, requirement)


def test_make_and_guides_install_with_hashes():
    for name in ("Makefile", "README.md", "docs/deploying.md"):
        for line in (ROOT / name).read_text().splitlines():
            if re.search(r"pip\S*.* install .*-r ", line):
                assert "--require-hashes -r" in line
                assert "requirements.txt" not in line


def test_the_container_takes_nothing_from_an_index_without_hash():
    """An index that answers for the build backend ran code at each start of the app."""
    dockerfile = (ROOT / "docs" / "deploy" / "triptych.Dockerfile").read_text()
    steps = re.findall(r"^RUN .* -m pip install (.+)$", dockerfile, re.MULTILINE)

    assert steps
    assert all("--no-index --no-build-isolation" in step or "--require-hashes" in step for step in steps)
    (backend,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert backend in (ROOT / "requirements-build.txt").read_text().splitlines()


def test_a_release_has_a_bill_of_materials():
    recipe = (ROOT / "Makefile").read_text().partition("\nrelease:")[2].partition("\n\n")[0]

    assert recipe.index("hatchling build") < recipe.index("bench.packages sbom") < recipe.index("sha256sum")


def test_a_release_contains_committed_files_only(tmp_path):
    """A rubric of one's own lies next to the shipped ones, with the right answers of its entry test."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    as_somebody = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for step in (["init", "-q"], ["add", "."], [*as_somebody, "commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *step], cwd=tmp_path, check=True)

    assert subprocess.run(["make", "committed"], cwd=tmp_path).returncode == 0
    (tmp_path / "rubrics").mkdir()
    (tmp_path / "rubrics" / "ours.yaml").touch()
    refused = subprocess.run(["make", "release"], cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode != 0
    assert "rubrics/" in refused.stderr

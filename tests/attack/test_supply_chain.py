"""Packages: a file that is not the locked one is refused, and an audit without data does not pass."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench import packages
from bench.packages import LOCK, audit, bill_of_materials, locked

WHEEL = "colorful-1.0-py3-none-any.whl"


def pip_audit(folder: Path, answer: object) -> list[str | Path]:
    """A program in the place of pip-audit that writes this answer, or nothing."""
    program = folder / "pip_audit.py"
    program.write_text(
        f"import sys; answer = {json.dumps(answer)!r}\n"
        "if answer != 'null': open(sys.argv[sys.argv.index('-o') + 1], 'w').write(answer)\n"
        "print('No known vulnerabilities found', file=sys.stderr)\n"
    )
    return [sys.executable, program]


def test_a_download_that_is_not_the_locked_file_is_refused(tmp_path: Path):
    (tmp_path / WHEEL).write_bytes(b"not what was locked")
    lock = tmp_path / "requirements.lock"
    lock.write_text(f"colorful==1.0 \\\n    --hash=sha256:{'0' * 64}\n")
    install = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "--find-links", str(tmp_path)]

    ended = subprocess.run([*install, "--require-hashes", "-r", lock], capture_output=True, text=True)

    assert ended.returncode == 1
    assert "DO NOT MATCH THE HASHES" in ended.stderr


@pytest.mark.parametrize("answer", [None, {"dependencies": [{"name": "numpy", "skip_reason": "not found"}]}])
def test_an_audit_without_data_does_not_pass(answer: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert audit(pip_audit(tmp_path, answer)) == 3
    assert packages.NO_DATA in capsys.readouterr().out


def test_an_audit_names_a_vulnerable_package(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    flaw = {"id": "CVE-2026-1", "fix_versions": ["2.0"]}
    answer = {"dependencies": [{"name": "numpy", "version": "1.0", "vulns": [flaw]}]}

    assert audit(pip_audit(tmp_path, answer)) == 1
    assert "numpy 1.0: CVE-2026-1, fixed in 2.0" in capsys.readouterr().out


def test_the_bill_of_materials_names_every_package_with_its_licence():
    components = {part["name"]: part for part in bill_of_materials()["components"]}

    assert components.keys() == {package.name for package in locked(LOCK.read_text())}
    assert all(part["externalReferences"][0]["hashes"][0]["alg"] == "SHA-256" for part in components.values())
    assert components["pandas"]["licenses"] == [{"license": {"name": "BSD-3-Clause"}}]

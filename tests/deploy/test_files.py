"""The files of docs/deploy as their own programs read them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.present import present
from helpers.studies import ROOT, absent
from stack import FILES

from triptych import settings

pytestmark = pytest.mark.deploy


@pytest.mark.parametrize("name", ["triptych@8501.service", "triptych-backup.service", "triptych-backup.timer"])
def test_systemd_finds_nothing_to_complain_about_in_the_units(name, tmp_path):
    if shutil.which("systemd-analyze") is None:
        absent("systemd-analyze")
    for path in FILES.glob("triptych*"):
        here = str(Path(sys.prefix) / "bin" / "streamlit")
        text = path.read_text().replace("/opt/triptych/.venv/bin/streamlit", here)
        (tmp_path / path.name.replace("@", "@8501")).write_text(text)
    ended = subprocess.run(["systemd-analyze", "verify", "--man=no", tmp_path / name], capture_output=True, text=True)

    assert (ended.returncode, ended.stderr) == (0, "")


def test_every_variable_of_the_example_environment_is_read():
    names = re.findall(r"^([A-Z_]+)=", (FILES / "environment.example").read_text(), re.MULTILINE)
    read = (ROOT / "triptych" / "settings.py").read_text()

    assert {*settings.SECRETS, settings.DATABASE} < set(names)
    assert all(name in read for name in names)


def test_the_guide_names_the_driver_that_is_tested():
    guide = (ROOT / "docs" / "deploying.md").read_text()
    tested = re.search(r"^psycopg\[binary\]==(\S+)", (ROOT / "requirements-dev.txt").read_text(), re.MULTILINE)

    assert "requirements-postgres.lock" in guide
    assert f"psycopg=={present(tested)[1]} " in (ROOT / "requirements-postgres.lock").read_text()


def test_the_guide_names_every_file_and_no_other():
    guide = (ROOT / "docs" / "deploying.md").read_text()
    named = set(re.findall(r"deploy/([\w@.-]+\.\w+)", guide))

    assert named == {path.name for path in FILES.iterdir()}

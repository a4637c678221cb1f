"""`triptych run`: starts the app from the folder that holds it."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from triptych import settings


def run(arguments: argparse.Namespace) -> int:
    """Start the app; Ctrl+C stops it."""
    os.environ["TRIPTYCH_HOME"] = str(settings.local_folder().resolve())
    # Streamlit reads .streamlit/ in the current folder, and -P keeps that folder out of the import path: files that
    # happen to lie where the command is typed change no setting and replace no module.
    os.chdir(settings.app_folder())
    command = [sys.executable, "-P", "-m", "streamlit", "run", "app.py"]
    command += [f"--server.address={arguments.address}"] if arguments.address else []
    command += [f"--server.port={arguments.port}"] if arguments.port else []
    if os.name == "nt":  # there, exec returns to the prompt while the app still runs
        return subprocess.call(command)  # noqa: S603 (no shell; every part is ours or one option's value)
    return os.execv(sys.executable, command)  # noqa: S606

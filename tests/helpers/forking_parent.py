"""A process that has imported the libraries of the app and forks a server from itself for each line it reads.

Importing them is most of what a start of the server costs, and of its first page of results. Nothing of them runs
here, so a server that is killed and started again knows nothing of the one before it. `components/` is not imported:
it declares components to the server that is running.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from pathlib import Path

gc.disable()
sys.path[0] = str(Path(__file__).resolve().parents[2])

import argon2  # noqa: E402, F401
import httptools  # noqa: E402, F401
import itsdangerous  # noqa: E402, F401
import pandas as pd  # noqa: E402, F401
import PIL.Image  # noqa: E402, F401
import plotly.io  # noqa: E402
import plotly.subplots  # noqa: E402, F401
import pyarrow as pa  # noqa: E402, F401
import ruamel.yaml  # noqa: E402, F401
import sqlalchemy.dialects.sqlite  # noqa: E402, F401
import sqlmodel  # noqa: E402, F401
import starlette.applications  # noqa: E402, F401
import streamlit.components.v2.manifest_scanner  # noqa: E402
import streamlit.web.bootstrap  # noqa: E402
import streamlit.web.server.starlette.starlette_agent_routes  # noqa: E402, F401
import uvicorn  # noqa: E402, F401
import uvloop  # noqa: E402, F401
import websockets.server  # noqa: E402, F401
from streamlit.web.cli import main  # noqa: E402

import triptych.results.study_analysis  # noqa: E402
import triptych.web.routes  # noqa: E402, F401


def become(arguments: list[str], env: dict[str, str], log: str) -> None:
    """This process, just forked, is `streamlit` with these arguments until it ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(env)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    written = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(written, 1)
    os.dup2(written, 2)
    sys.argv = arguments
    main(prog_name="streamlit")


def listen() -> None:
    """Answers each line, the JSON arguments of `become`, with the process id of a new server."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            become(**json.loads(line))
            return
        sys.stdout.write(f"{process}\n")


listen()

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

import argon2
import httptools
import itsdangerous
import pandas as pd
import PIL.Image
import plotly.io
import plotly.subplots
import pyarrow as pa
import ruamel.yaml
import sqlalchemy.dialects.sqlite
import sqlmodel
import starlette.applications
import streamlit.components.v2.manifest_scanner
import streamlit.web.bootstrap
import streamlit.web.server.starlette.starlette_agent_routes
import uvicorn
import uvloop
import websockets.server
from streamlit.web.cli import main

import triptych.results.study_analysis
import triptych.web.routes


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

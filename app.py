"""Starts Triptych: `streamlit run app.py`."""
# ruff: noqa: E402 (the collector rests before anything else is imported)

from __future__ import annotations

import gc

# what is imported stays for good: walking it again and again finds nothing; `running` turns the collector on
gc.disable()

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Thread

import streamlit as st
from starlette.middleware import Middleware
from streamlit.watcher.polling_path_watcher import PollingPathWatcher

from triptych.web.assets import ASSET_ROUTES, Ahead
from triptych.web.headers import SecurityHeaders
from triptych.web.opening import Doorway, Opened, Opening, OurRoutes, Straight

STREAMLIT_PAGE = Path(st.__file__).parent / "static" / "index.html"


def address() -> str:
    """Where this computer's own browser reaches the app."""
    bound = st.get_option("server.address")
    host = "127.0.0.1" if bound in (None, "", "0.0.0.0", "::") else bound  # noqa: S104
    scheme = "https" if st.get_option("server.sslCertFile") else "http"
    path = (st.get_option("server.baseUrlPath") or "").strip("/")
    return f"{scheme}://{host}:{st.get_option('server.port')}" + (f"/{path}" if path else "")


def stop_watching_files() -> None:
    """Where no file is to be watched, Streamlit still looks five times a second for changed settings, in threads that
    cost every request of an annotator something (`python -m bench idle cpu-drafts`)."""
    if st.get_option("server.fileWatcherType") == "none":
        PollingPathWatcher._schedule = lambda _: None


def warm_up() -> None:
    """Imports what the first visitor's page would wait for, while her browser still loads Streamlit's own files."""
    for name in ("streamlit.elements.lib.image_utils", "numpy", "PIL.Image"):
        import_module(name)


@contextmanager
def running() -> Iterator[Opened]:
    """Our own part, imported while a browser can already load Streamlit's files."""
    from triptych.web import routes, start

    with start.running(address(), st.get_option("server.address")):
        Thread(target=warm_up, daemon=True).start()
        yield routes.opened()


stop_watching_files()
opening = Opening(running)
# a literal call: `streamlit run` looks for it in the source
app = st.App(
    "pages/router.py",
    routes=[*ASSET_ROUTES, OurRoutes(opening)],
    middleware=[
        Middleware(Doorway, opening=opening),
        Middleware(SecurityHeaders, index=STREAMLIT_PAGE),
        Middleware(Ahead),
        Middleware(Straight, opening=opening),
    ],
    lifespan=opening.lifespan,
)

"""Starts Triptych: `streamlit run app.py`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import streamlit as st
from starlette.middleware import Middleware

from components.shell import failure
from triptych.web import start
from triptych.web.budgets import Uploads
from triptych.web.dialogs import NoErrorDialogs
from triptych.web.gate import Gate, keep_uploads_in_memory, leave_forwarded_headers_to_the_gate
from triptych.web.headers import SecurityHeaders
from triptych.web.heads import limit_what_is_read_before_the_gate
from triptych.web.metrics import Measured
from triptych.web.routes import ERRORS, below

STREAMLIT_PAGE = Path(st.__file__).parent / "static" / "index.html"
BASE_PATH = st.get_option("server.baseUrlPath")


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Keep the database open and locked from before the first request until after the last one."""
    with start.running(st.get_option):
        yield


def held_uploads() -> Uploads:
    """The uploads that Streamlit holds in memory."""
    return cast(Any, st.runtime.get_instance().uploaded_file_mgr).file_storage


leave_forwarded_headers_to_the_gate()
limit_what_is_read_before_the_gate()
keep_uploads_in_memory()
# a literal call: `streamlit run` looks for it in the source
app = st.App(
    "pages/router.py",
    routes=below(BASE_PATH),
    middleware=[
        Middleware(Measured),
        Middleware(SecurityHeaders, index=STREAMLIT_PAGE, base_path=BASE_PATH),
        Middleware(NoErrorDialogs, base_path=BASE_PATH),
        Middleware(Gate, base_path=BASE_PATH, uploads=held_uploads),
    ],
    lifespan=lifespan,
    on_script_error=failure.show,
    exception_handlers=ERRORS,
)

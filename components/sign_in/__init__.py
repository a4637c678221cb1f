"""Signing in and out in the browser, since only an HTTP answer can set or remove a cookie. No form."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

FOLDER = Path(__file__).parent
ARRIVING = '<p class="triptych-arriving" role="status">Signing you in …</p>\n'
ACCOUNT = """
<div class="triptych-account" role="group" aria-label="Your account">
  <span class="triptych-account-name"></span>
  <button type="button" class="triptych-account-out">Sign out</button>
</div>
"""


def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


_arrive = st.components.v2.component("triptych.sign_in", html=ARRIVING, js=_text("sign_in.js"), isolate_styles=False)
_account = st.components.v2.component(
    "triptych.account", html=ACCOUNT, css=_text("account.css"), js=_text("account.js"), isolate_styles=False
)


def arrive(ticket: str, *, drop: list[str], go: bool = True) -> None:
    """Sign the browser in with a ticket; then, if `go`, open this page again without the `drop` parameters."""
    _arrive(data={"ticket": ticket, "drop": drop, "go": go}, key="arrive")


def account(pseudonym: str) -> None:
    """Who is signed in, and the sign-out button, in the corner of the top bar."""
    _account(data={"pseudonym": pseudonym}, key="account")

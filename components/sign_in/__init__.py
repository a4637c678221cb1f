"""Signing in and out in the browser, because only an HTTP response can set or remove a cookie. No form."""

from __future__ import annotations

import json
from pathlib import Path

import streamlit as st

from triptych.languages.language import _

FOLDER = Path(__file__).parent
ARRIVING = '<p class="triptych-arriving" role="status"></p>\n'
ACCOUNT = """
<div class="triptych-account" role="group">
  <span class="triptych-account-name"></span>
  <button type="button" class="triptych-account-out"></button>
</div>
"""


def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


_channel = _text("channel.js")
_arrive = st.components.v2.component(
    "triptych.sign_in", html=ARRIVING, js=_channel + _text("sign_in.js"), isolate_styles=False
)
_account = st.components.v2.component(
    "triptych.account", html=ACCOUNT, css=_text("account.css"), js=_channel + _text("account.js"), isolate_styles=False
)


def arrive(ticket: str, *, drop: list[str], study: str = "", go: bool = True) -> None:
    """Sign the browser in with a ticket; then, if `go`, open this page again without the parameters in `drop`.

    study: the study to open; if empty, the one in the address.
    """
    # no lists or dicts: Streamlit searches those for Arrow tables, and imports pandas to do so
    data: dict[str, str | bool] = {
        "ticket": ticket,
        "drop": json.dumps(drop),
        "study": study,
        "go": go,
        "arriving": _("Signing you in …"),
        "noAnswer": _("The server did not answer. Reload the page and try again."),
        "noCookies": _(
            "Your browser stores no cookies for this site, so you cannot stay signed in. Allow them and reload."
        ),
        "failed": _("Signing in did not work. Reload the page and try again."),
    }
    _arrive(data=data, key="arrive")


def account(pseudonym: str) -> None:
    """The signed-in person and the sign-out button, in the corner of the top bar."""
    data = {
        "pseudonym": pseudonym,
        "group": _("Your account"),
        "out": _("Sign out"),
        "unsent": _("Some answers have not reached the server. Sign out and lose them?"),
        "failed": _("Not signed out: no answer. Try again"),
    }
    _account(data=data, key="account")

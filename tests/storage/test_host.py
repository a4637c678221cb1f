"""What depends on the operating system."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from triptych.storage import host
from triptych.web import start

AT_A_SCREEN = {"DISPLAY": ":0"}


@pytest.mark.parametrize(
    ("bound", "is_terminal", "environment", "opened"),
    [
        ("127.0.0.1", True, AT_A_SCREEN, True),
        ("localhost", True, {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("0.0.0.0", True, AT_A_SCREEN, False),
        (None, True, AT_A_SCREEN, False),
        ("127.0.0.1", False, AT_A_SCREEN, False),
        ("127.0.0.1", True, {}, False),
        ("127.0.0.1", True, {**AT_A_SCREEN, "SSH_CONNECTION": "10.0.0.2 5 10.0.0.1 22"}, False),
    ],
)
def test_the_set_up_link_is_only_for_this_computer(bound, is_terminal, environment, opened, monkeypatch, capsys):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    shown: list[Any] = []
    monkeypatch.setattr(host.sys, "platform", "linux")
    monkeypatch.setattr(webbrowser, "open", shown.append)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    start.hand_out("http://127.0.0.1:8501/?setup=secret", bound)

    assert "http://127.0.0.1:8501/?setup=secret" in capsys.readouterr().out
    assert len(shown) == opened
    assert "secret" not in "".join(shown)
    if opened:
        opener = Path(url2pathname(urlsplit(shown[0]).path))
        assert opener.stat().st_mode & 0o777 == 0o600
        assert "http://127.0.0.1:8501/?setup=secret" in opener.read_text()

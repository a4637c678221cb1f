"""Another site may frame the app only where it is named, and reads and sends no more than before."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import streamlit
from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from triptych.settings import UnsafeSettings
from triptych.web import export, origins, session
from triptych.web.gate import Gate
from triptych.web.headers import SecurityHeaders, ancestors

SITE, OWN = "https://huggingface.co", "https://ada-study.hf.space"
INDEX = Path(streamlit.__file__).parent / "static" / "index.html"


@pytest.fixture
def framed(monkeypatch):
    monkeypatch.setenv("TRIPTYCH_ADDRESS", OWN)
    monkeypatch.setenv("TRIPTYCH_FRAMED_BY", SITE)


def answer() -> Headers:
    """The headers of an answer that sets the session cookie and one of Streamlit's."""
    headers: list[tuple[bytes, bytes]] = []
    response = JSONResponse("x")
    session._set(response, session.COOKIE, "value", 60, https=True)
    response.set_cookie("_streamlit_xsrf", "value", samesite="lax")

    async def send(message):
        headers.extend(message.get("headers", ()))

    async def receive():
        return {"type": "http.request"}

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"ada-study.hf.space")]}
    asyncio.run(SecurityHeaders(response, index=INDEX)(scope, receive, send))
    return Headers(raw=headers)


def test_without_the_setting_no_site_frames_the_app():
    headers = answer()

    assert headers["X-Frame-Options"] == "SAMEORIGIN"
    assert headers["Content-Security-Policy"].endswith("; frame-ancestors 'self'")
    assert all("samesite=lax" in cookie.lower() for cookie in headers.getlist("set-cookie"))
    assert not any("Partitioned" in cookie for cookie in headers.getlist("set-cookie"))
    assert "Cross-Origin-Resource-Policy" not in headers


def test_exactly_the_named_sites_frame_the_app(framed):
    headers = answer()

    assert "X-Frame-Options" not in headers
    assert headers["Content-Security-Policy"].endswith(f"; frame-ancestors 'self' {SITE}")
    assert headers["Content-Security-Policy"].count("huggingface") == 1
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert ancestors().endswith(SITE)  # of a report's page too, which is a frame within
    assert "sandbox;" in export.READ_ONLY


def test_cookies_in_a_frame_are_secure_and_partitioned(framed):
    cookies = answer().getlist("set-cookie")

    assert [cookie.split("=")[0] for cookie in cookies] == ["__Host-triptych_session", "_streamlit_xsrf"]
    for cookie in cookies:
        words = [word.strip().lower() for word in cookie.split(";")]
        assert words[-3:] == ["samesite=none", "secure", "partitioned"]
        assert sum(word.startswith(("samesite", "secure")) for word in words) == 2
    assert "httponly" in cookies[0].lower()


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize("origin", [SITE, "https://other.hf.space", "null", ""])
def test_a_framing_page_itself_acts_no_more_than_others(framed, origin, kind):
    passed: list[object] = []
    sent: list[int] = []

    async def app(*_):
        passed.append(_)

    async def send(message):
        sent.append(message.get("status", 0))

    async def receive():
        return {"type": "websocket.disconnect"}

    headers = [(b"host", b"ada-study.hf.space"), (b"origin", origin.encode()), (b"cookie", b"triptych_session=x")]
    scope = {"type": kind, "method": "POST", "path": "/auth/sign-out", "client": ("10.0.0.7", 1), "headers": headers}
    scope |= {"scheme": "wss" if kind == "websocket" else "https", "extensions": {"websocket.http.response": {}}}
    asyncio.run(Gate(app)(scope, receive, send))

    assert passed == []
    assert 403 in sent


@pytest.mark.parametrize(
    "own, sites",
    [
        ("", SITE),
        ("http://lab.example", SITE),
        (f"{OWN}, http://lab.example", SITE),
        (OWN, "http://huggingface.co"),
        (OWN, "huggingface.co"),
        (OWN, "https://*.hf.space"),
        (OWN, "*"),
        (OWN, f"{SITE};script-src"),
    ],
)
def test_a_frame_without_https_does_not_start(monkeypatch, own, sites):
    monkeypatch.setenv("TRIPTYCH_ADDRESS", own)
    monkeypatch.setenv("TRIPTYCH_FRAMED_BY", sites)

    with pytest.raises(UnsafeSettings, match="TRIPTYCH_FRAMED_BY"):
        origins.configured()

"""Security headers on every response: nothing is loaded from, sent to or framed by another site.

Only the sites in TRIPTYCH_FRAMED_BY may frame the app; its cookies then work in their frames, and in no others.
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from triptych.web.origins import configured, prefix_of

INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
SAME_SITE = re.compile(r"; *(SameSite=[a-z]+|Secure)(?=;|$)", re.IGNORECASE)
HOST = re.compile(r"[A-Za-z0-9.\-]+(:\d+)?|\[[0-9A-Fa-f:]+\](:\d+)?")
# Streamlit serves these without sign-in: metrics of the process, an interface for agents, a check that runs a page, and
# a sign-in that we do not offer
OF_THE_CORE = ("/_stcore/metrics", "/_stcore/agent", "/_stcore/script-health-check")
CLOSED = (*OF_THE_CORE, "/auth/login", "/auth/logout", "/oauth2callback")
PLAIN = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # personal links are secrets
    "X-Frame-Options": "SAMEORIGIN",  # the results grid is a frame of our own
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}


def inline_hashes(html: str) -> str:
    """The CSP sources that allow exactly the inline scripts of this page."""
    digests = (hashlib.sha256(script.encode()).digest() for script in INLINE_SCRIPT.findall(html))
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def ancestors() -> str:
    """The CSP directive about who may frame a page: the app itself and the configured sites."""
    return " ".join(["frame-ancestors", "'self'", *configured().framed_by])


def policy(scripts: str, host: str) -> str:
    """The content security policy for a page served under this host name."""
    sockets = f"ws://{host} wss://{host}" if HOST.fullmatch(host) else ""
    return (
        f"default-src 'self'; script-src 'self' blob: {scripts}; style-src 'self' 'unsafe-inline'; "
        f"img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' {sockets}; worker-src 'self' blob:; "
        f"object-src 'none'; base-uri 'self'; form-action 'self'; {ancestors()}"
    )


def _let_frames_work(headers: MutableHeaders) -> None:
    """Let cookies work in the frames of other sites, separately for each site.

    X-Frame-Options cannot list sites, so only the policy states who may frame a page.
    """
    del headers["X-Frame-Options"]
    headers["Cross-Origin-Resource-Policy"] = "same-origin"
    cookies = headers.getlist("Set-Cookie")
    del headers["Set-Cookie"]
    for cookie in cookies:
        headers.append("Set-Cookie", f"{SAME_SITE.sub('', cookie)}; SameSite=None; Secure; Partitioned")


class SecurityHeaders:
    """ASGI middleware; `index` is Streamlit's page, whose inline script the policy allows by its hash.

    `base_path` is Streamlit's server.baseUrlPath.
    """

    def __init__(self, app: ASGIApp, index: Path, base_path: str = "") -> None:
        self.app = app
        self.closed = tuple(f"{prefix_of(base_path)}{path}" for path in CLOSED)
        self.scripts = inline_hashes(index.read_text(encoding="utf-8"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        of_pages = policy(self.scripts, Headers(scope=scope).get("host", ""))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(PLAIN)
                headers.setdefault("Content-Security-Policy", of_pages)  # a report sets a stricter one
                if configured().framed_by:
                    _let_frames_work(headers)
            await send(message)

        closed = scope["path"].startswith(self.closed)
        answer = PlainTextResponse("Not found", status_code=404) if closed else self.app
        return await answer(scope, receive, send_with_headers)

"""Suppresses Streamlit's error dialogs, which would block keys, clicks and the focus of a page that still works.

Streamlit sends this setting to each browser on connecting, but has no option for it. components/shell/line.py shows the
same information in a line of the page.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from triptych.web.origins import prefix_of

HOST_CONFIG = "/_stcore/host-config"
SHOWN = b'"blockErrorDialogs":false'
BLOCKED = b'"blockErrorDialogs":true '  # as long as the original, so that Content-Length stays right


class NoErrorDialogs:
    """ASGI middleware; `base_path` is Streamlit's server.baseUrlPath."""

    def __init__(self, app: ASGIApp, base_path: str = "") -> None:
        self.app = app
        self.path = f"{prefix_of(base_path)}{HOST_CONFIG}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_changed(message: Message) -> None:
            if message["type"] == "http.response.body":
                message["body"] = message.get("body", b"").replace(SHOWN, BLOCKED)
            await send(message)

        is_host_config = scope["type"] == "http" and scope["path"] == self.path
        await self.app(scope, receive, send_changed if is_host_config else send)

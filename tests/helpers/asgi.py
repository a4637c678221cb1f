"""One request to routes in this process."""

from __future__ import annotations

import asyncio

from starlette.applications import Starlette


async def sent(
    app: Starlette,
    method: str,
    path: str,
    headers: list[tuple[bytes, bytes]],
    body: bytes = b"",
    *,
    address: str = "127.0.0.1",
) -> tuple[int, bytes]:
    """(status, body) of the app's answer to a visitor with this address."""
    status = 0
    pieces: list[bytes] = []
    asked_before: list[bool] = []

    async def receive():
        if asked_before:
            await asyncio.sleep(3600)  # the browser stays; cancelled when the answer is complete
        asked_before.append(True)
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        nonlocal status
        status = message.get("status", status)
        pieces.append(message.get("body", b""))

    scope = {"type": "http", "method": method, "path": path, "root_path": "", "query_string": b"", "headers": headers}
    scope["client"] = (address, 0)
    await app(scope, receive, send)
    return status, b"".join(pieces)

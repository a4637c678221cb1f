"""What an ASGI app answers to a request for a file."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Answer:
    status_code: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    pieces: list[bytes] = field(default_factory=list)

    @property
    def text(self) -> str:
        return b"".join(self.pieces).decode()


async def get(app: Callable[..., Awaitable[None]], path: str) -> Answer:
    """What the app answers, piece by piece as it is sent."""
    answer = Answer()
    requests_sent: list[bool] = []

    async def receive() -> dict[str, Any]:
        if requests_sent:
            await asyncio.sleep(3600)  # the browser stays; cancelled when the answer is complete
        requests_sent.append(True)
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answer.status_code = message["status"]
            answer.headers.update({name.decode(): value.decode() for name, value in message["headers"]})
        elif message.get("body"):
            answer.pieces.append(message["body"])

    scope = {"type": "http", "method": "GET", "path": path, "root_path": "", "query_string": b"", "headers": []}
    await app(scope, receive, send)
    return answer

"""What several test files share: asking the app for a file."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field


@dataclass
class Answer:
    status_code: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    pieces: list[bytes] = field(default_factory=list)

    @property
    def text(self) -> str:
        return b"".join(self.pieces).decode()


async def get(app, path: str) -> Answer:
    """What the app answers, piece by piece as it is sent."""
    answer, asked = Answer(), []

    async def receive():
        if asked:
            await asyncio.sleep(3600)  # the browser stays; cancelled when the answer is complete
        asked.append(True)
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        if message["type"] == "http.response.start":
            answer.status_code = message["status"]
            answer.headers.update({name.decode(): value.decode() for name, value in message["headers"]})
        elif message.get("body"):
            answer.pieces.append(message["body"])

    scope = {"type": "http", "method": "GET", "path": path, "root_path": "", "query_string": b"", "headers": []}
    await app(scope, receive, send)
    return answer

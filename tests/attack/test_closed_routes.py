"""What Streamlit serves to everybody, and we do not offer, is closed under every address that the app can have."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from helpers.attackers import ask
from starlette.responses import PlainTextResponse
from starlette.types import Message

from bench.server import is_healthy, start_server, wait_until
from triptych.web.headers import CLOSED, SecurityHeaders


async def status(app: SecurityHeaders, path: str) -> int:
    answers: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        answers.append(message)

    await app({"type": "http", "method": "GET", "path": path, "headers": []}, receive, send)
    return int(answers[0]["status"])


@pytest.mark.parametrize("path", CLOSED)
@pytest.mark.parametrize("base_path, prefix", [("", ""), ("annotate", "/annotate"), ("/a/b/", "/a/b")])
def test_a_base_path_opens_no_route_of_streamlit(tmp_path: Path, path: str, base_path: str, prefix: str) -> None:
    index = tmp_path / "index.html"
    index.write_text("<script>1</script>")
    app = SecurityHeaders(PlainTextResponse("served"), index, base_path)

    assert asyncio.run(status(app, f"{prefix}{path}")) == 404
    assert asyncio.run(status(app, f"{prefix}/my-work")) == 200


def test_no_visitor_has_streamlit_run_a_page_to_check_it(tmp_path: Path, forked: Any) -> None:
    """Each request would run one, without a budget: 60 connections kept others waiting for two seconds."""
    check = {"STREAMLIT_SERVER_SCRIPT_HEALTH_CHECK_ENABLED": "true"}
    server = start_server(tmp_path, check, start=forked)
    try:
        wait_until(lambda: is_healthy(server.url), server, "answer")
        assert ask(server.url, path="/_stcore/script-health-check").status == 404
    finally:
        server.kill()


@pytest.mark.long
@pytest.mark.parametrize(
    "name, value",
    [
        ("STREAMLIT_CLIENT_SHOW_ERROR_DETAILS", "full"),
        ("STREAMLIT_SERVER_ENABLE_CORS", "false"),
        ("STREAMLIT_SERVER_ENABLE_STATIC_SERVING", "true"),
        ("STREAMLIT_BROWSER_GATHER_USAGE_STATS", "true"),
        ("STREAMLIT_SERVER_SHOW_EMAIL_PROMPT", "true"),
        ("STREAMLIT_RUNNER_FAST_RERUNS", "true"),
    ],
)
def test_no_variable_of_streamlit_opens_the_app(tmp_path: Path, forked: Any, name: str, value: str) -> None:
    """Streamlit prefers its variables, which somebody set for another app of theirs, to the app's own file."""
    server = start_server(tmp_path, {name: value}, start=forked)
    try:
        wait_until(lambda: is_healthy(server.url) or server.process.poll() is not None, server, "answer or end")
        assert not is_healthy(server.url)
    finally:
        server.kill()

    assert name in server.output()

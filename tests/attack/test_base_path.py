"""Below a path, as behind JupyterHub: everything of the app is there, and the gate is in front of it as at the root."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers.attackers import Sent, ask, cookie, handshake

from bench.client import our_headers
from bench.server import Server, start_server, wait_until
from bench.world import World, build_world
from triptych.scripting.address import BASE

PATH = "/user/ada/lab"


@pytest.fixture(scope="module")
def served(tmp_path_factory, forked) -> Iterator[tuple[Server, World]]:
    home = tmp_path_factory.mktemp("base-path")
    world = build_world(home, items=3)
    settings = {"STREAMLIT_SERVER_BASE_URL_PATH": PATH, "TRIPTYCH_BUDGETS": "sign_ins=3/0.01"}
    server = start_server(home, settings, start=forked)
    try:
        wait_until(lambda: "Started." in server.output(), server, "start")
        wait_until(lambda: ask(server.url, "GET", f"{PATH}/healthz").status == 200, server, "answer")
        yield server, world
    finally:
        server.stop()


def post(server: Server, path: str, *headers: tuple[str, str]) -> int:
    sent: Sent = [*our_headers(server.url).items(), *headers]
    return ask(server.url, "POST", path, sent, b"{}").status


def test_below_a_path_people_reach_their_own_and_nobody_elses(served):
    server, world = served
    annotator, lead = cookie(world.cookies[0]), cookie(world.lead)

    assert post(server, f"{PATH}/desk/draft", *annotator.items()) == 400  # read, and found to be empty
    assert post(server, f"{PATH}/desk/draft") == 401
    assert '"role": "annotator"' in ask(server.url, "GET", f"{PATH}/my-data.json", annotator).body
    assert ask(server.url, "GET", f"{PATH}/export/{world.slug}/ratings.csv", lead).status == 200
    assert ask(server.url, "GET", f"{PATH}/export/{world.slug}/ratings.csv", annotator).status == 403
    assert ask(server.url, "GET", f"{PATH}{BASE}/asking", lead).status == 401  # a cookie is no token
    assert handshake(server.url, {"Origin": server.url, **lead}, f"{PATH}/_stcore/stream").status == 101


@pytest.mark.long
def test_below_a_path_the_gate_refuses_as_at_the_root(served):
    server, world = served
    foreign = {**our_headers(server.url), **cookie(world.lead), "Origin": "http://evil.example"}

    assert ask(server.url, "POST", f"{PATH}/desk/draft", foreign, b"{}").status == 403
    assert handshake(server.url, foreign, f"{PATH}/_stcore/stream").status == 403
    assert ask(server.url, "PUT", f"{PATH}/_stcore/upload_file/a/b", our_headers(server.url), b"x").status == 403
    assert [post(server, f"{PATH}/auth/ticket") for _ in range(5)] == [403] * 3 + [429] * 2

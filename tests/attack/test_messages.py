"""Messages that no page of ours sends: they end their own socket, and neither stall the server nor fill its log."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from helpers.attackers import close_code, cookie, frame, open_socket
from starlette.types import Message, Receive
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from bench.client import PageSession
from bench.server import Server, running_app
from bench.world import World, build_world
from triptych.storage.unavailable import DatabaseUnavailable
from triptych.web import messages
from triptych.web.messages import LATER_CODE, LONGEST, MOST_ENTRIES, TOO_BIG_CODE, UNREADABLE_CODE, Unwanted
from triptych.web.sockets import OpenSocket

OWN_NAMES = ("page", "arrival", "passcode typed at")  # under which our pages remember something
INVENTED = ("$$ID-0-None", "$$ID-0-page", "$$STREAMLIT_INTERNAL_KEY_0__left")


@pytest.fixture(scope="module")
def served(tmp_path_factory, forked) -> Iterator[tuple[Server, World]]:
    home = tmp_path_factory.mktemp("messages")
    world = build_world(home, items=5)
    with running_app(home, start=forked) as server:
        yield server, world


def cookies_of(world: World, sender: str) -> Mapping[str, str]:
    return {"stranger": {}, "annotator": world.cookies[0], "lead": world.lead}[sender]


def answered_with(server: Server, cookies: Mapping[str, str], content: bytes) -> int:
    with open_socket(server.url, {"Origin": server.url, **cookie(cookies)}) as connection:
        connection.sendall(frame(content))
        return close_code(connection)


def rerun(*widgets: WidgetState, **fields) -> BackMsg:
    message = BackMsg()
    message.rerun_script.widget_states.widgets.extend(widgets)
    for name, value in fields.items():
        getattr(message.rerun_script, name).extend(value)
    return message


def announced(number: int) -> BackMsg:
    message = BackMsg()
    message.file_urls_request.request_id = "r"
    message.file_urls_request.file_names.extend(["x"] * number)
    return message


LONG = rerun(WidgetState(id="$$ID-x", string_value="a" * LONGEST))
UNREADABLE = {
    "names of a million files": announced(1_000_000).SerializeToString(),
    "a million widgets": rerun(*[WidgetState()] * 1_000_000).SerializeToString(),
    "a million stored messages": rerun(cached_message_hashes=[""] * 1_000_000).SerializeToString(),
    "widgets in several lists": b"\x5a\x04\x12\0\x12\0",
    "a widget without a name": rerun(WidgetState(string_value="x")).SerializeToString(),
    **{f"a widget {name}": rerun(WidgetState(id=name)).SerializeToString() for name in OWN_NAMES},
    "no field": b"",
    "a heartbeat that is a text": b"\x8a\x01\0",
    "a run that is a number": b"\x58\0",
    "a group": b"\x0b\x0c",
    "a cut field": rerun().SerializeToString()[:-1] + b"\x05",
    "a number without end": b"\xff" * 20,
}


@pytest.mark.parametrize("sender", ["stranger", "annotator"])
def test_only_leads_send_messages_longer_than_a_form(served, sender):
    server, world = served

    assert answered_with(server, cookies_of(world, sender), LONG.SerializeToString()) == TOO_BIG_CODE


@pytest.mark.parametrize("sender", ["stranger", "annotator"])
def test_only_leads_announce_uploads(served, sender):
    server, world = served

    assert answered_with(server, cookies_of(world, sender), announced(1).SerializeToString()) == TOO_BIG_CODE


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
def test_a_message_that_no_page_sends_ends_its_socket_silently(served, content):
    server, world = served
    lines = server.output()

    assert answered_with(server, world.lead, content) == UNREADABLE_CODE
    assert server.output() == lines


def test_a_text_message_ends_its_socket_silently(served):
    server, world = served
    lines = server.output()
    with open_socket(server.url, {"Origin": server.url, **cookie(world.lead)}) as connection:
        connection.sendall(b"\x81" + frame(b"text")[1:])

        assert close_code(connection) == UNREADABLE_CODE
    assert server.output() == lines


def _ran(server: Server, cookies: Mapping[str, str], *widgets: WidgetState) -> PageSession:
    """The page after a run with these widgets, and another one."""

    async def run() -> PageSession:
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookies=dict(cookies), cookie_jar=jar) as http:
            page = PageSession(http, server.url)
            await page.open()
            for _ in range(2):
                await page.run(*widgets)
            await page.close()
        return page

    return asyncio.run(run())


def test_a_lead_sends_a_long_form(served):
    server, world = served

    assert _ran(server, world.lead, *LONG.rerun_script.widget_states.widgets).runs == 3


@pytest.mark.parametrize("sender", ["stranger", "annotator", "lead"])
def test_invented_widgets_change_nothing_and_are_not_logged(served, sender):
    server, world = served
    cookies = cookies_of(world, sender)
    usual = _ran(server, cookies)
    lines = server.output()

    page = _ran(server, cookies, *(WidgetState(id=name, string_value="x") for name in INVENTED))

    assert server.output() == lines
    assert [e.WhichOneof("type") for e in page.elements.values()] == [
        e.WhichOneof("type") for e in usual.elements.values()
    ]
    assert not page.find("alert") and not page.find("exception")


def test_an_address_that_cannot_be_read_is_no_error(served):
    """Each was a trace in the private folder, which holds the newest fifty, and a line in the log."""
    server, world = served
    lines = server.output()

    async def run() -> PageSession:
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookies=dict(world.cookies[0]), cookie_jar=jar) as http:
            page = PageSession(http, server.url)
            await page.connect()
            page.url = "http://["
            await page.run()
            await page.close()
        return page

    assert not any("went wrong" in element.alert.body for element in asyncio.run(run()).find("alert"))
    assert server.output() == lines


def handed_on(*contents: bytes, may_announce: bool = True) -> list[bytes]:
    """What the app gets of these messages."""
    waiting = [{"type": "websocket.receive", "bytes": content} for content in contents]
    waiting.append({"type": "websocket.disconnect"})

    async def receive():
        return waiting.pop(0)

    async def is_lead() -> bool:
        if not may_announce:
            raise DatabaseUnavailable("away")
        return True

    async def everything() -> list[bytes]:
        judged, passed = messages.judged(receive, nullcontext, is_lead), []
        while (message := await judged())["type"] == "websocket.receive":
            passed.append(message["bytes"])
        return passed

    return asyncio.run(everything())


@pytest.mark.parametrize("kind", ["clear_cache", "load_git_info", "set_run_on_save", "debug_shutdown_runtime"])
def test_kinds_that_no_page_sends_do_not_reach_streamlit(kind):
    message = BackMsg()
    setattr(message, kind, True)

    assert handed_on(message.SerializeToString()) == []


def test_no_operation_that_only_streamlit_offers_reaches_it():
    """Such as writing files of its own into the app's folder."""
    message = BackMsg()
    message.backend_operation_request.install_skills.SetInParent()

    assert handed_on(message.SerializeToString()) == []


@pytest.mark.parametrize("message", [announced(MOST_ENTRIES - 2), rerun(), LONG, BackMsg(app_heartbeat=True)])
def test_messages_of_pages_are_handed_on(message):
    assert handed_on(message.SerializeToString()) == [message.SerializeToString()]


def test_a_persons_pages_hold_long_texts_up_to_a_limit(monkeypatch):
    """A lead's twenty tabs with a text in one field each took 600 MB, also after they were closed."""
    monkeypatch.setattr(messages, "KEPT_SECONDS", 0.0)
    texts = messages.HeldTexts()
    whole = b"a" * (messages.MOST_TEXT - 1000)
    first, second = (rerun(WidgetState(id=f"$$ID-{name}", bytes_value=whole)).SerializeToString() for name in "ab")

    def receiving(content: bytes) -> Receive:
        async def receive() -> Message:
            return {"type": "websocket.receive", "bytes": content}

        return receive

    async def receive_from_two_pages() -> None:
        with texts.counted(receiving(first), "lead") as of_one, texts.counted(receiving(second), "lead") as of_other:
            for _ in range(2):  # each run sends the values of the whole page
                await of_one()
            with pytest.raises(Unwanted):
                await of_other()
            with texts.counted(receiving(second), "another") as of_another:
                await of_another()
        while texts._held["lead"]:
            await asyncio.sleep(0)
        with texts.counted(receiving(second), "lead") as of_later_page:
            await of_later_page()

    asyncio.run(receive_from_two_pages())


def test_while_the_database_is_unavailable_nobody_counts_as_a_lead():
    with pytest.raises(Unwanted) as refusal:
        handed_on(announced(1).SerializeToString(), may_announce=False)

    assert refusal.value.code == LATER_CODE


@contextmanager
def short_log(home: Path, forked: Any) -> Iterator[Server]:
    """A server whose log takes three lines about visitors' messages."""
    build_world(home, items=5)
    with running_app(home, {"TRIPTYCH_BUDGETS": "refusal_lines=3/0.01"}, start=forked) as server:
        yield server


async def _fail_again_and_again(server: Server, times: int) -> None:
    """A stranger sends a number where the page has a text."""
    async with aiohttp.ClientSession() as http:
        page = PageSession(http, server.url)
        await page.open()
        widget = WidgetState(id=page.find("text_input")[0].text_input.id, int_value=3)
        for _ in range(times):
            await page.run(widget)
        await page.close()


@pytest.mark.long
def test_values_that_no_widget_has_fill_no_log(tmp_path, forked):
    with short_log(tmp_path, forked) as server:
        asyncio.run(_fail_again_and_again(server, 8))
        lines = [line for line in server.output().splitlines() if "error_util" in line]

    assert len(lines) == 3


async def _ask_for_what_is_not_there(server: Server, times: int) -> None:
    """A stranger asks for a part of a page that does not exist, with more of an address than Streamlit reads."""
    async with aiohttp.ClientSession() as http:
        page = PageSession(http, server.url, query="&".join(f"a{number}=1" for number in range(3000)))
        await page.open()
        missing = BackMsg()
        missing.rerun_script.fragment_id = "missing"
        for _ in range(times):
            await page.socket.send_bytes(missing.SerializeToString())
            await page.run()
        await page.close()


@pytest.mark.long
def test_requests_for_what_is_not_there_fill_no_log(tmp_path, forked):
    with short_log(tmp_path, forked) as server:
        asyncio.run(_ask_for_what_is_not_there(server, 4))
        lines = [line for line in server.output().splitlines() if " streamlit." in line]

    assert len(lines) == 3


@pytest.mark.long
def test_a_tab_that_is_gone_has_disconnected_for_streamlit():
    """A message that had waited was taken for a text, and each such tab of a stranger wrote an error to the log."""
    sent: list[Message] = [{"type": "websocket.receive", "bytes": b"waited"}, {"type": "websocket.connect"}]

    async def receive() -> Message:
        return sent.pop()

    async def send(message: Message) -> None:
        if message["type"] == "websocket.send":
            raise ConnectionResetError

    async def talk() -> None:
        socket = OpenSocket(receive, send)
        tab = WebSocket({"type": "websocket"}, socket.receive, socket.send)
        await tab.accept()
        with suppress(WebSocketDisconnect):
            await tab.send_bytes(b"an answer")
        await tab.receive_bytes()

    with pytest.raises(WebSocketDisconnect):
        asyncio.run(talk())

"""An annotator without a browser: Streamlit's websocket protocol for the page, the workbench's own routes by HTTP.

As the browser does, it keeps messages that the server marks as cacheable, says which ones it holds, and waits for
the end of each run. It draws nothing, so a browser's own time is not part of what it measures.
"""

from __future__ import annotations

import asyncio
import json
import random
import secrets
import time
import uuid
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import aiohttp
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from triptych.rubric.model import Rubric
from triptych.simulate.annotators import SimulatedCandidate, generate_answers

PATIENCE = 60.0


def our_headers(url: str) -> dict[str, str]:
    """What a page of the app at `url` sends with its requests."""
    ours = {"X-Triptych": "1", "Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
    return {**ours, "Origin": url}


class PageFailed(Exception):
    """The page drew an exception, no workbench, or the server went away."""


class PageSession:
    """One browser tab: a websocket, the elements of the page by their place, and the runs it asks for."""

    def __init__(self, http: aiohttp.ClientSession, url: str, page: str = "", query: str = "") -> None:
        self.http, self.url, self.page, self.query = http, url, page, query
        self.elements: dict[tuple[int, ...], Any] = {}
        self.cached: dict[str, ForwardMsg] = {}
        self.runs_since: dict[str, int] = {}
        self.runs = self.bytes_in = 0
        self.page_hash = self.fragment = self.session_id = ""
        self.socket: aiohttp.ClientWebSocketResponse | None = None

    def _connection(self) -> aiohttp.ClientWebSocketResponse:
        if self.socket is None:
            raise PageFailed("The page is not open.")
        return self.socket

    async def open(self) -> None:
        """Connects and waits for the first run. Raises PageFailed."""
        await self.connect()
        await self.run()

    async def connect(self, *claimed: str, **headers: str) -> None:
        """Opens the socket. claimed: a token and the session that this tab had, as a browser names them."""
        address, sent = f"{self.url.replace('http', 'ws', 1)}/_stcore/stream", {"Origin": self.url, **headers}
        named = ("streamlit", *claimed)
        self.socket = await self.http.ws_connect(address, protocols=named, max_msg_size=0, headers=sent)

    async def close(self) -> None:
        if self.socket is not None:
            await self.socket.close()

    async def run(self, *widgets: WidgetState, fragment: str = "") -> float:
        """Asks for one run of the page, or of a fragment of it, with these widget values; returns seconds it took."""
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_script_hash = self.query, self.page_hash
        if not self.page_hash:
            state.page_name = self.page
        state.fragment_id, state.is_auto_rerun = fragment, bool(fragment)
        state.widget_states.widgets.extend(widgets)
        state.cached_message_hashes.extend(self.cached)
        state.context_info.url, state.context_info.timezone = f"{self.url}/{self.page}", "UTC"
        began = time.perf_counter()
        try:
            await self._connection().send_bytes(message.SerializeToString())
            await asyncio.wait_for(self._until_finished(), PATIENCE)
        except (ConnectionError, TimeoutError) as error:
            raise PageFailed(f"The run did not finish: {error!r}") from error
        return time.perf_counter() - began

    def find(self, kind: str) -> list[Any]:
        """The elements of a kind, in the order of the page."""
        return [e for _, e in sorted(self.elements.items()) if e.WhichOneof("type") == kind]

    async def _until_finished(self) -> None:
        touched: set[tuple[int, ...]] = set()
        while True:
            received = await self._connection().receive()
            if received.type != aiohttp.WSMsgType.BINARY:
                raise PageFailed(f"The server closed the connection ({received.type.name}).")
            self.bytes_in += len(received.data)
            message = self._unfolded(ForwardMsg.FromString(received.data))
            match message.WhichOneof("type"):
                case "new_session":
                    self.session_id = message.new_session.initialize.session_id
                case "navigation":
                    self.page_hash = message.navigation.page_script_hash
                case "auto_rerun":
                    self.fragment = message.auto_rerun.fragment_id
                case "delta" if message.delta.WhichOneof("type") == "new_element":
                    place = tuple(message.metadata.delta_path)
                    self.elements[place] = message.delta.new_element
                    touched.add(place)
                case "script_finished" if message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                    touched.clear()
                case "script_finished" if message.script_finished == ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY:
                    return
                case "script_finished":
                    self._settle(touched)
                    return

    def _unfolded(self, message: ForwardMsg) -> ForwardMsg:
        """The message itself, taken from the cached ones where the server sent its hash only."""
        if message.WhichOneof("type") == "ref_hash":
            full = ForwardMsg()
            full.CopyFrom(self.cached[message.ref_hash])
            full.metadata.CopyFrom(message.metadata)
            self.runs_since[message.ref_hash] = self.runs
            return full
        if message.metadata.cacheable and message.hash:
            self.cached[message.hash] = message
            self.runs_since[message.hash] = self.runs
        return message

    def _settle(self, touched: set[tuple[int, ...]]) -> None:
        """Drops what this run did not draw, and cached messages that nothing named for two runs."""
        self.runs += 1
        self.elements = {place: e for place, e in self.elements.items() if place in touched}
        for name in [name for name, run in self.runs_since.items() if self.runs - run > 2]:
            del self.runs_since[name], self.cached[name]


class Annotator:
    """A signed-in annotator on the annotate page of one study.

    `cookies`: name → value, as the browser would send them. `seed` decides the answers given.
    """

    def __init__(self, url: str, study: str, rubric: Rubric, cookies: Mapping[str, str], seed: int = 0) -> None:
        self.url, self.study, self.rubric, self.cookies = url, study, rubric, dict(cookies)
        self.random = random.Random(seed)
        self.pen = secrets.token_hex(8)
        self.seq = 0
        self.http: aiohttp.ClientSession  # from entering to leaving the context
        self.page: PageSession | None = None
        self.view: Any = None  # what the workbench shows, as JSON; None without work
        self.showing: str | None = None

    async def __aenter__(self) -> Annotator:
        connector = aiohttp.TCPConnector(limit=0)
        jar = aiohttp.CookieJar(unsafe=True)
        self.http = aiohttp.ClientSession(cookies=self.cookies, connector=connector, cookie_jar=jar)
        try:
            await self.open()
        except BaseException:
            await self.http.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.page is not None:
            await self.page.close()
        await self.http.close()

    async def open(self) -> None:
        """Opens the annotate page again, as a reload does."""
        if self.page is not None:
            await self.page.close()
        self.page = PageSession(self.http, self.url, "annotate", f"study={self.study}")
        await self.page.open()
        shown = self._workbenches()
        self.view = json.loads(json.loads(shown[0].json)["view"]) if shown else None
        self.showing = None

    def _workbenches(self) -> list[Any]:
        elements = self.page.find("bidi_component") if self.page is not None else []
        components = [element.bidi_component for element in elements]
        return [component for component in components if component.component_name == "triptych.workbench"]

    @property
    def has_work(self) -> bool:
        return self.view is not None

    async def act(self, action: Any) -> float:
        """One action of the workbench, answered by its route; returns the seconds it took.

        A refusal without a view changes nothing here, as in the browser; `self.view["notice"]` then says why.
        """
        began = time.perf_counter()
        body = {"action": action, "showing": self.showing}
        try:
            async with self.http.post(f"{self.url}/desk/act", json=body, headers=our_headers(self.url)) as answer:
                content = await answer.json() if answer.content_type == "application/json" else {}
                self._take_in(answer.status, content)
        except (aiohttp.ClientError, ConnectionError, TimeoutError) as error:
            raise PageFailed(f"The action was not answered: {error!r}") from error
        return time.perf_counter() - began

    def _take_in(self, status: int, content: Mapping[str, Any]) -> None:
        if "view" in content:
            self.view, self.showing = {**content["view"], "rubric": self.view["rubric"]}, content["showing"]
        elif "nothing" in content and status == 200:
            self.view = None
        elif "message" in content and self.view is not None:
            self.view = {**self.view, "notice": {"kind": "warning", "text": content["message"]}}
        else:
            raise PageFailed(f"The action was answered with {status}.")

    async def save_draft(self, work: Mapping[str, Any], draft: Mapping[str, Any], **changed: Any) -> tuple[int, Any]:
        """Posts a draft of the item that `work` names; returns HTTP status and answer."""
        self.seq = max(self.seq, work["draft_seq"]) + 1
        body = {
            "assignment": work["token"],
            "version": work["version"],
            "pen": self.pen,
            "seq": self.seq,
            "base": work["draft_seq"],
            "take": False,
            "draft": draft,
            "active_seconds": 1.0,
            **changed,
        }
        async with self.http.post(f"{self.url}/desk/draft", json=body, headers=our_headers(self.url)) as answer:
            return answer.status, await answer.json()

    def answers(self, view: Mapping[str, Any]) -> dict[str, Any]:
        """A complete annotation of the item in this view, as simulated raters give one."""
        texts = [candidate["text"] for candidate in view["item"]["candidates"]]
        candidates = [SimulatedCandidate(self.random.random(), text) for text in texts]
        return generate_answers(self.rubric, "main", candidates, self.random)

    def submission(self, view: Mapping[str, Any], answers: Mapping[str, Any], **changed: Any) -> dict[str, Any]:
        """The message that submits these answers."""
        work = view["work"]
        return {
            "kind": "submit",
            "assignment": work["token"],
            "version": work["version"],
            "pen": self.pen,
            "submission": str(uuid.uuid4()),
            "base": max(self.seq, work["draft_seq"]),
            "answers": answers,
            "active_seconds": 5.0,
            **changed,
        }

    async def submit(self, view: Mapping[str, Any], answers: Mapping[str, Any]) -> tuple[str, float]:
        """Submits and checks the receipt; returns the submission's id and the seconds until the next item was there.

        Raises PageFailed if it was not acknowledged.
        """
        message = self.submission(view, answers)
        seconds = await self.act(message)
        if self.view is not None and self.view["work"]["receipt"] != message["submission"]:
            raise PageFailed(f"The submission was not acknowledged: {self.view['notice']}")
        self.seq = 0
        return message["submission"], seconds

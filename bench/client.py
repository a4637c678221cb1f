"""An annotator without a browser: Streamlit's websocket protocol for the page, and HTTP for the workbench's routes.

Like a browser, it stores messages that the server marks as cacheable, reports which ones it has, and waits for the end
of each run. It draws nothing, so its measurements do not include a browser's own time.
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
    """The headers of a page of the app at `url`."""
    ours = {"X-Triptych": "1", "Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
    return {**ours, "Origin": url}


class PageFailed(Exception):
    """The page showed an exception or no workbench, or the server stopped."""


class PageSession:
    """One browser tab: a websocket, the page's elements by position, and the runs that it requests."""

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
        """Connect and wait for the first run. Raises PageFailed."""
        await self.connect()
        await self.run()

    async def connect(self, *claimed: str, **headers: str) -> None:
        """Open the socket. `claimed`: a token and the tab's earlier session, as a browser sends them."""
        address, sent = f"{self.url.replace('http', 'ws', 1)}/_stcore/stream", {"Origin": self.url, **headers}
        named = ("streamlit", *claimed)
        self.socket = await self.http.ws_connect(address, protocols=named, max_msg_size=0, headers=sent)

    async def close(self) -> None:
        if self.socket is not None:
            await self.socket.close()

    async def run(self, *widgets: WidgetState, fragment: str = "") -> float:
        """Request a run of the page or of a fragment with these widget values; returns the seconds it took."""
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
        """The elements of a kind, in page order."""
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
        """The message itself, from the cached ones if the server sent only its hash."""
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
        """Remove elements that this run did not draw, and cached messages that were not used for two runs."""
        self.runs += 1
        self.elements = {place: e for place, e in self.elements.items() if place in touched}
        for name in [name for name, run in self.runs_since.items() if self.runs - run > 2]:
            del self.runs_since[name], self.cached[name]


class Annotator:
    """A signed-in annotator on the annotate page of one study.

    `cookies`: name → value, as a browser sends them. `seed` determines the answers.
    """

    def __init__(self, url: str, study: str, rubric: Rubric, cookies: Mapping[str, str], seed: int = 0) -> None:
        self.url, self.study, self.rubric, self.cookies = url, study, rubric, dict(cookies)
        self.random = random.Random(seed)
        self.pen = secrets.token_hex(8)
        self.seq = 0
        self.http: aiohttp.ClientSession  # while the context is open
        self.page: PageSession | None = None
        self.view: Any = None  # the workbench's view as JSON; None without an item
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
        """Open the annotate page again, as a reload does."""
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
        """Send an action of the workbench; returns the seconds until the answer.

        As in the browser, a refusal without a view changes nothing; `self.view["notice"]` then has the reason.
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
        """Post a draft of the item in `work`; returns HTTP status and answer."""
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
        """A complete annotation of the item in this view, as simulated raters give it."""
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
        """Submit and check the receipt; returns the submission's id and the seconds until the next item arrived.

        Raises PageFailed if the submission was not acknowledged.
        """
        message = self.submission(view, answers)
        seconds = await self.act(message)
        if self.view is not None and self.view["work"]["receipt"] != message["submission"]:
            raise PageFailed(f"The submission was not acknowledged: {self.view['notice']}")
        self.seq = 0
        return message["submission"], seconds

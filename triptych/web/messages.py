"""Checks the messages of Streamlit's sockets: their kind, their length, and the number of their entries.

A message is one field of Streamlit's BackMsg. Its entries (widgets, names of files, messages that the browser holds)
are counted in protobuf's encoding, because Streamlit handles each on the event loop, however many there are.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager

from starlette.types import Message, Receive

from triptych.storage.unavailable import DatabaseUnavailable

LONGEST = 64 * 2**10  # bytes, for anyone but leads: pages have short forms, and the workbench sends its texts by HTTP
LONG = "triptych.long_messages"  # among a socket's extensions: its `take` is a call after which it takes longer ones
MOST_ENTRIES = 2000
LONG_TEXT = 4 * 2**10  # bytes of a widget's value, from which it is counted
MOST_TEXT = 32 * 2**20  # bytes of such values in the pages of a person; they take several times as much memory
KEPT_SECONDS = 180.0  # in which Streamlit may still have a page that was closed
STOP, RERUN, FILES, HEARTBEAT = 7, 11, 16, 17  # field numbers of the kinds that our pages send
KINDS = {STOP: 0, RERUN: 2, FILES: 2, HEARTBEAT: 0}  # and protobuf's wire type of each
WIDGETS, PART = 2, 5  # fields of RERUN
PART_COUNTS = 0.2  # what a message counts that runs a part of a page only, such as one that polls
IDS = (b"$$ID", b"$$STREAMLIT_INTERNAL_KEY")  # prefixes of widget ids
UNREADABLE_CODE, TOO_BIG_CODE, LATER_CODE = 1002, 1009, 1013  # close codes


class Unwanted(Exception):
    """A message that no page of ours sends. It closes the socket with this code of RFC 6455."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def judged(
    receive: Receive, turn: Callable[[], AbstractAsyncContextManager[None]], is_lead: Callable[[], Awaitable[bool]]
) -> Receive:
    """`receive`, which skips messages of other kinds and raises Unwanted for messages that no page sends.

    `turn` is entered for each message, since reading a long one takes milliseconds of the event loop. `is_lead` is
    called only for long messages and for those that announce uploads.
    """

    async def receive_judged() -> Message:
        while True:
            message = await receive()
            if message["type"] != "websocket.receive":
                return message
            content = message.get("bytes") or b""
            try:
                async with turn():
                    kind = kind_of(content)
                if (len(content) > LONGEST or kind == FILES) and not await is_lead():
                    raise Unwanted(TOO_BIG_CODE)
            except ValueError as error:
                raise Unwanted(UNREADABLE_CODE) from error
            except DatabaseUnavailable as error:
                raise Unwanted(LATER_CODE) from error
            if kind in KINDS:
                return message

    return receive_judged


class HeldTexts:
    """The long texts typed into each person's pages. Streamlit keeps them as long as the page, and a while longer."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()  # bytes by person

    @contextmanager
    def counted(self, receive: Receive, person: str) -> Iterator[Receive]:
        """`receive` of one socket, which raises Unwanted for a message with more than the person's pages may hold."""
        own: dict[bytes, int] = {}

        async def receive_counted() -> Message:
            message = await receive()
            texts = own | _long_texts(message.get("bytes") or b"")
            more = sum(texts.values()) - sum(own.values())
            if self._held[person] + more > MOST_TEXT:
                raise Unwanted(TOO_BIG_CODE)
            own.update(texts)
            self._held[person] += more
            return message

        try:
            yield receive_counted
        finally:
            asyncio.get_running_loop().call_later(KEPT_SECONDS, self._forget, person, sum(own.values()))

    def _forget(self, person: str, length: int) -> None:
        self._held[person] -= length
        if not self._held[person]:
            del self._held[person]


def _long_texts(content: bytes) -> dict[bytes, int]:
    """Widget id → bytes, for the long values in a message that has been judged."""
    if len(content) <= LONG_TEXT:
        return {}
    [(kind, body)] = _fields(content, 1)
    states = [part for number, part in _fields(body, MOST_ENTRIES) if (kind, number) == (RERUN, WIDGETS)]
    widgets = [widget for state in states for _, widget in _fields(state, MOST_ENTRIES) if len(widget) > LONG_TEXT]
    return {dict(_fields(widget, 2))[1]: len(widget) for widget in widgets}


def share_of(content: bytes) -> float:
    """What a message that has been judged counts, compared with one that runs a whole page."""
    [(kind, body)] = _fields(content, 1)
    # of a field that is there twice, the last one counts
    return PART_COUNTS if kind == RERUN and dict(_fields(body, MOST_ENTRIES)).get(PART) else 1


def kind_of(content: bytes) -> int:
    """The number of the message's field. Raises ValueError if there is not exactly one, or for too many entries or a
    foreign widget id.
    """
    fields = list(_fields(content, 1))
    if not fields:
        raise ValueError("The message is empty.")
    kind, body = fields[0]
    if content[0] & 7 != KINDS.get(kind, content[0] & 7):
        raise ValueError("The message is not in the form that pages send.")  # otherwise Streamlit would log it
    entries = list(_fields(body, MOST_ENTRIES)) if kind in (RERUN, FILES) else []
    states = [part for number, part in entries if kind == RERUN and number == WIDGETS]
    if len(states) > 1:
        raise ValueError("The message has several lists of widgets.")
    for state in states:
        for _, widget in _fields(state, MOST_ENTRIES):
            _refuse_invented(widget)
    return kind


def _refuse_invented(widget: bytes) -> None:
    """Raises ValueError for a widget id that Streamlit did not make: it would be a key of our session state."""
    parts = dict(_fields(widget, 2))
    if not parts.get(1, b"").startswith(IDS):
        raise ValueError("The message has a widget that no page has.")


def _fields(content: bytes, most: int) -> Iterator[tuple[int, bytes]]:
    """The fields of a message as number and bytes; no bytes for an integer. Raises ValueError for more than `most`
    fields.
    """
    place = 0
    while place < len(content):
        if most <= 0:
            raise ValueError("The message has too many entries.")
        most -= 1
        tag, place = _varint(content, place)
        length = 0
        match tag & 7:
            case 0:
                _, place = _varint(content, place)
            case 1 | 5 as fixed:
                place += 8 if fixed == 1 else 4
            case 2:
                length, place = _varint(content, place)
            case _:
                raise ValueError("The message has groups, which no page sends.")
        yield tag >> 3, content[place : place + length]
        place += length
    if place > len(content):
        raise ValueError("The message ends within a field.")


def _varint(content: bytes, place: int) -> tuple[int, int]:
    """A varint, and the position after it. Raises ValueError."""
    value = 0
    for shift, byte in enumerate(content[place : place + 10]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, place + shift + 1
    raise ValueError("The message ends within a number.")

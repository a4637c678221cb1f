"""Rate limits per account or address: a burst, then a rate per second.

Signed-in people are counted by account, everyone else by address, which a whole lab may share. Counts are per process,
in bounded memory. docs/security.md lists every budget.
"""

from __future__ import annotations

import ipaddress
import re
import sys
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

from triptych import settings
from triptych.languages.language import _, ngettext
from triptych.settings import UnsafeSettings
from triptych.storage.unavailable import BUSY, DatabaseBusy

MB = 2**20
UPLOAD_OVERHEAD = 32 * 2**10  # bytes besides its content and id: for its names, and for the time to count it
MAX_KEYS = 10_000
LONGEST_TURN = 9.5  # seconds that a message or a run of a page waits for others
IPV6_NETWORK_BITS = 64  # a visitor usually owns a network of this size
WORD = re.compile(r"([a-z_]+)=([0-9]+(?:\.[0-9]+)?)(?:/([0-9]+(?:\.[0-9]+)?))?")


@dataclass(frozen=True)
class Budget:
    """A token bucket: `at_once` tokens, refilled at `per_second`."""

    at_once: float
    per_second: float


USUAL = {
    "connections": Budget(400, 0),
    "address_connections": Budget(2000, 0),
    "handshakes": Budget(300, 5),
    "frames": Budget(300, 50),
    "sign_ins": Budget(60, 1),
    "anonymous_sockets": Budget(200, 0),
    "anonymous_socket_messages": Budget(10, 1),
    "anonymous_messages": Budget(300, 5),
    "all_anonymous_messages": Budget(2, 10),
    "account_sockets": Budget(100, 0),
    "address_sockets": Budget(2000, 0),
    "account_messages": Budget(20, 20),
    "address_messages": Budget(20, 20),
    "account_runs": Budget(3, 0),
    "address_runs": Budget(2, 0),
    "requests": Budget(300, 30),
    "address_requests": Budget(2, 0),
    "body_bytes": Budget(200 * MB, 2 * MB),
    "held_bytes": Budget(400 * MB, 0),
    "personal_data": Budget(120, 1),
    "downloads": Budget(4, 0),
    "all_downloads": Budget(12, 0),
    "readiness": Budget(20, 2),
    "refusal_lines": Budget(60, 1),
}


class Spending:
    """What each key has used of a budget. `clock` returns seconds."""

    def __init__(self, budget: Budget, max_keys: int = MAX_KEYS, clock: Callable[[], float] = time.monotonic) -> None:
        self.budget, self.max_keys, self.clock = budget, max_keys, clock
        self._whole_at: OrderedDict[str, float] = OrderedDict()  # key → when its budget is full again
        self._lock = threading.Lock()  # pages run in threads

    def take(self, key: str, amount: float = 1) -> float:
        """Take the amount and return 0; if there is too little, take nothing and return the seconds until there is
        enough.
        """
        return self._take(key, amount, overdraw=False)

    def queue(self, key: str, amount: float = 1) -> float:
        """Take the amount in any case, and return the seconds to wait for it."""
        return self._take(key, amount, overdraw=True)

    def _take(self, key: str, amount: float, overdraw: bool) -> float:
        budget, now = self.budget, self.clock()
        with self._lock:
            whole_at = max(self._whole_at.get(key, now), now) + min(amount, budget.at_once) / budget.per_second
            wait = max(whole_at - now - budget.at_once / budget.per_second, 0)
            # rounding errors must not refuse an amount that is available
            wait = 0.0 if wait < 1e-6 else wait
            if overdraw or not wait:
                self._whole_at[key] = whole_at
                self._whole_at.move_to_end(key)
                if len(self._whole_at) > self.max_keys:
                    self._whole_at.popitem(last=False)
        return wait


def all_budgets() -> dict[str, Budget]:
    """Every budget by name, adjusted by TRIPTYCH_BUDGETS. Raises UnsafeSettings naming what is invalid."""
    return _adjusted(settings.budgets())


@lru_cache(maxsize=8)
def _adjusted(words: tuple[str, ...]) -> dict[str, Budget]:
    budgets = dict(USUAL)
    for word in words:
        match = WORD.fullmatch(word)
        if match is None or match[1] not in USUAL or not (float(match[2]) and float(match[3] or 1)):
            names = ", ".join(USUAL)
            raise UnsafeSettings(
                f"{settings.BUDGETS}: {word!r} is not name=at_once/per_second, such as sign_ins=200/4. Names: {names}."
            )
        usual = USUAL[match[1]]
        budgets[match[1]] = Budget(float(match[2]), float(match[3]) if match[3] else usual.per_second)
    return budgets


@lru_cache(maxsize=len(USUAL))
def spending(name: str) -> Spending:
    """This process's counts for a budget."""
    return Spending(all_budgets()[name])


def key_of_person(person_id: int) -> str:
    return f"person {person_id}"


def key_of_accounts(address: str) -> str:
    """The key of annotators and viewers at an address: in an open study, they may all be one stranger's."""
    return f"accounts at {key_of(None, address)}"


def key_of(login: str | None, address: str) -> str:
    """The key of a login's account, otherwise of the address; for IPv6 of its network, which is one visitor's."""
    if login:
        return f"login {login}"
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return f"address {address}"
    if ip.version == 4:
        return f"address {ip}"
    if ip.ipv4_mapped:
        return f"address {ip.ipv4_mapped}"
    return f"address {ipaddress.ip_network((int(ip), IPV6_NETWORK_BITS), strict=False)}"


def later(wait: float) -> str:
    """The message to a visitor who has used up a budget."""
    return ngettext(
        "Too much was asked of the server from here at once. Try again in {count} second.",
        "Too much was asked of the server from here at once. Try again in {count} seconds.",
        seconds(wait),
    )


def seconds(wait: float) -> int:
    """Whole seconds until there is enough again, at least 1."""
    return max(int(-(-wait // 1)), 1)


_runs: WeakValueDictionary[str, threading.Semaphore] = WeakValueDictionary()
_counting_runs = threading.Lock()


@contextmanager
def few_at_once(budget: str, key: str) -> Iterator[None]:
    """A run of a page; it waits while a few others of this key are under way, so that many tabs stall nobody.

    Raises DatabaseBusy if it has waited for `LONGEST_TURN` seconds.
    """
    with _counting_runs:
        few = threading.Semaphore(max(1, int(all_budgets()[budget].at_once)))
        runs = _runs.setdefault(f"{budget} {key}", few)
    if not runs.acquire(timeout=LONGEST_TURN):
        raise DatabaseBusy(_(BUSY))
    try:
        yield
    finally:
        runs.release()


Uploads = Mapping[str, Mapping[str, Any]]  # session → file id → file of Streamlit, with its bytes as `data`


class HeldUploads:
    """Each person's uploads in memory; Streamlit holds them until their page runs without them or ends."""

    def __init__(self, uploads: Callable[[], Uploads]) -> None:
        self._uploads = uploads
        self._senders: dict[str, str] = {}  # session → person
        self._under_way: Counter[str] = Counter()  # person → bytes of requests that have not ended

    def have_room(self, person: str, length: int) -> bool:
        """Whether the person may send this many bytes more."""
        held = self._uploads()
        sessions = [session for session, sender in self._senders.items() if sender == person]
        uploads = [upload for session in sessions for upload in tuple(held.get(session, {}).items())]
        total = sum(sys.getsizeof(file_id) + len(file.data) + UPLOAD_OVERHEAD for file_id, file in uploads)
        return total + self._under_way[person] + length <= all_budgets()["held_bytes"].at_once

    @contextmanager
    def under_way(self, person: str, session: str, length: int) -> Iterator[None]:
        """Count an upload to a session while it is received; from then on the session's files count."""
        self._under_way[person] += length
        try:
            yield
        finally:
            held = self._uploads()
            senders = self._senders | {session: person}
            self._senders = {session: sender for session, sender in senders.items() if session in held}
            self._under_way[person] -= length
            if not self._under_way[person]:
                del self._under_way[person]

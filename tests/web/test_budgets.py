"""Budgets: what is taken comes back, nobody gets more than stated, and counting takes no more than its memory."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies

from triptych.settings import UnsafeSettings
from triptych.web import budgets
from triptych.web.budgets import USUAL, Budget, Spending


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_so_much_at_once_then_so_much_per_second():
    clock = Clock()
    spending = Spending(Budget(3, 2), clock=clock)

    assert [spending.take("k") for _ in range(4)] == [0, 0, 0, 0.5]
    clock.now = 0.5
    assert [spending.take("k"), spending.take("k")] == [0, 0.5]
    assert spending.take("other") == 0
    clock.now = 1000
    assert [spending.take("k") for _ in range(4)] == [0, 0, 0, 0.5]


def test_uploads_under_way_are_held_too(monkeypatch):
    monkeypatch.setenv("TRIPTYCH_BUDGETS", "held_bytes=100")
    held = budgets.HeldUploads(dict)

    with held.under_way("person 1", "tab", 60):
        room = [held.have_room("person 1", 40), held.have_room("person 1", 41)]
        others = held.have_room("person 2", 100)

    assert (room, others) == ([True, False], True)
    assert held.have_room("person 1", 100)


def test_an_upload_counts_although_sessions_were_invented_meanwhile(monkeypatch):
    monkeypatch.setenv("TRIPTYCH_BUDGETS", "held_bytes=100000")
    files: dict[str, dict[str, SimpleNamespace]] = {}
    held = budgets.HeldUploads(lambda: files)

    with held.under_way("person 1", "tab", 60_000):
        for number in range(5):
            with held.under_way("person 1", f"invented {number}", 0):
                pass
        files["tab"] = {"file": SimpleNamespace(data=bytes(60_000))}

    assert not held.have_room("person 1", 50_000)
    assert held.have_room("person 2", 50_000)


def test_few_runs_of_one_person_are_under_way():
    under_way, go_on = threading.Semaphore(0), threading.Event()

    def run(person: str) -> None:
        with budgets.few_at_once("account_runs", person):
            under_way.release()
            go_on.wait()

    with ThreadPoolExecutor(8) as threads:
        runs = [threads.submit(run, "first") for _ in range(6)] + [threads.submit(run, "second")]
        started = [under_way.acquire(timeout=20) for _ in range(4)]  # three of the first person, one of the second
        another = under_way.acquire(timeout=0.2)
        go_on.set()
        for each in runs:
            each.result()

    assert (all(started), another) == (True, False)


@given(
    strategies.integers(1, 20),
    strategies.integers(1, 50),
    strategies.lists(strategies.floats(0, 2), min_size=1, max_size=200),
)
def test_no_span_of_time_takes_more_than_the_budget(at_once, per_second, pauses):
    clock, taken = Clock(), []
    spending = Spending(Budget(at_once, per_second), clock=clock)
    for pause in pauses:
        clock.now += pause
        wait = spending.take("k")
        if not wait:
            taken.append(clock.now)
    for number, first in enumerate(taken):
        for count, last in enumerate(taken[number:], 1):
            assert count <= at_once + per_second * (last - first) + 1e-3


@given(strategies.integers(1, 20), strategies.integers(1, 50), strategies.integers(0, 60))
def test_who_waits_as_long_as_told_is_served(at_once, per_second, more):
    clock = Clock()
    spending = Spending(Budget(at_once, per_second), clock=clock)
    for _ in range(at_once + more):
        wait = spending.take("k")
        clock.now += wait

        assert not wait or spending.take("k") == 0


def test_a_queue_takes_always_and_says_how_long_to_wait():
    spending = Spending(Budget(2, 4), clock=Clock())

    assert [spending.queue("k") for _ in range(5)] == [0, 0, 0.25, 0.5, 0.75]


def test_more_than_the_whole_budget_is_the_whole_budget():
    spending = Spending(Budget(10, 1), clock=Clock())

    assert spending.take("k", 1000) == 0
    assert spending.take("k", 1000) == 10


def test_many_visitors_take_no_more_than_the_memory_for_some():
    spending = Spending(Budget(2, 1), max_keys=100, clock=Clock())
    for number in range(1000):
        spending.take(f"{number}")

    assert len(spending._whole_at) == 100
    spending.take("999")
    assert spending.take("999") > 0


def test_an_account_counts_for_itself_an_address_for_everybody():
    assert budgets.key_of("secret", "192.0.2.1") == budgets.key_of("secret", "192.0.2.2")
    assert budgets.key_of(None, "192.0.2.1") != budgets.key_of(None, "192.0.2.2")
    assert budgets.key_of(None, "2001:db8::1") == budgets.key_of(None, "2001:db8::ffff")
    assert budgets.key_of(None, "::ffff:192.0.2.1") == budgets.key_of(None, "192.0.2.1")


def test_a_lab_of_fifty_signs_in_at_once():
    for name in ("handshakes", "sign_ins", "anonymous_sockets", "anonymous_messages"):
        assert USUAL[name].at_once >= 50 * (5 if name == "anonymous_messages" else 1)


def test_settings_change_what_they_name_and_nothing_else(monkeypatch):
    monkeypatch.setenv("TRIPTYCH_BUDGETS", "sign_ins=200/4, handshakes=7")

    changed = budgets.all_budgets()

    assert changed["sign_ins"] == Budget(200, 4)
    assert changed["handshakes"] == Budget(7, USUAL["handshakes"].per_second)
    assert changed["requests"] == USUAL["requests"]


@pytest.mark.parametrize("word", ["sign_ins=200/0", "sign_ins=200/0.00", "sign_ins=200/00", "sign_ins=0.0/4"])
def test_a_budget_of_nothing_is_refused(monkeypatch, word: str):
    monkeypatch.setenv("TRIPTYCH_BUDGETS", word)
    with pytest.raises(UnsafeSettings, match=word):
        budgets.all_budgets()


def test_the_security_page_states_every_budget(request):
    page = (request.config.rootpath / "docs" / "security.md").read_text()

    for name, budget in USUAL.items():
        one, unit = (budgets.MB, " MB") if name.endswith("_bytes") else (1, "")
        rate = f"{budget.per_second / one:g}{unit}" if budget.per_second else "–"
        [row] = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        assert row.endswith(f" | {budget.at_once / one:g}{unit} | {rate} |")

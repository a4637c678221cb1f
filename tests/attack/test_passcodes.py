"""Guessing passcodes: it slows down strangers and nobody else, and takes neither the database nor the processor."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from helpers.postgres_databases import wait_for_a_lock
from helpers.present import present

from triptych.errors import NotAllowed
from triptych.people import accounts, invitations, joining, logins, passcodes, signing_in
from triptych.people.signing_in import UNKNOWN, Browser
from triptych.storage.database import reading, writing
from triptych.storage.models import Access, Person, Role
from triptych.study.persons import Who

PASSCODE = "correct horse battery"
PATIENCE = 20.0


@pytest.fixture
def lead(sqlite_engine) -> Person:
    with writing(sqlite_engine) as session:
        return accounts.create_lead(session, "Ada", PASSCODE)


def guess(engine, name: str = "Ada", browser: Browser = UNKNOWN) -> str:
    with pytest.raises(NotAllowed) as refusal:
        signing_in.lead(engine, name, "wrong wrong", browser)
    return str(refusal.value)


class SlowHasher:
    """Stands in for argon2: holds every hash until it is let go, and knows how many are under way."""

    def __init__(self) -> None:
        self.entered, self.go_on = threading.Semaphore(0), threading.Event()
        self.under_way = self.most = 0
        self._lock = threading.Lock()

    def _hold(self) -> None:
        with self._lock:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
        self.entered.release()
        assert self.go_on.wait(PATIENCE)
        with self._lock:
            self.under_way -= 1

    def hash(self, secret: bytes) -> str:
        self._hold()
        return "hashed"

    def verify(self, stored: str, secret: bytes) -> bool:
        self._hold()
        return False


@pytest.fixture
def slow_hasher(monkeypatch, lead) -> Iterator[SlowHasher]:
    passcodes.fits(None, "x")  # the hash for unknown names is made once
    hasher = SlowHasher()
    monkeypatch.setattr(passcodes, "_hasher", hasher)
    yield hasher
    hasher.go_on.set()


def ways_in(engine, study) -> list[Callable[[], object]]:
    return [
        lambda: signing_in.lead(engine, "Ada", PASSCODE),
        lambda: signing_in.returning(engine, study, "Nobody", "0000-0000"),
        lambda: signing_in.newcomer(engine, study.slug, "Anna"),
    ]


@pytest.mark.parametrize("way", [0, 1, 2])
def test_others_write_while_a_passcode_is_hashed(sqlite_engine, slow_hasher, make_study, way):
    with writing(sqlite_engine) as session:
        study = make_study(session, annotators=0)[0]
    with ThreadPoolExecutor(1) as pool:
        trying = pool.submit(ways_in(sqlite_engine, study)[way])
        assert slow_hasher.entered.acquire(timeout=PATIENCE)
        with ThreadPoolExecutor(1) as other:
            other.submit(write, sqlite_engine).result(PATIENCE)
        slow_hasher.go_on.set()
        trying.exception(PATIENCE)


def write(engine) -> None:
    with writing(engine) as session:
        session.get_one(Person, 1).email = "written@meanwhile.example"


def test_only_as_many_guesses_hash_as_there_are_slots(sqlite_engine, slow_hasher):
    with ThreadPoolExecutor(20) as pool:
        trying = [pool.submit(guess, sqlite_engine, f"name {number}") for number in range(20)]
        for _ in range(passcodes.HASHES_AT_ONCE):
            assert slow_hasher.entered.acquire(timeout=PATIENCE)
        slow_hasher.go_on.set()
        assert {attempt.result(PATIENCE) for attempt in trying} == {signing_in.WRONG_PASSCODE}

    assert slow_hasher.most == passcodes.HASHES_AT_ONCE <= 4


def test_strangers_do_not_slow_down_a_known_browser(sqlite_engine, lead, move_clock):
    at_the_desk = Browser("B" * 16, (lead.id,))
    for _ in range(passcodes.FREE_TRIES):
        guess(sqlite_engine)

    assert "Too many" in guess(sqlite_engine)
    assert signing_in.lead(sqlite_engine, "Ada", PASSCODE, at_the_desk).id == lead.id


def test_a_browser_of_another_account_is_a_stranger(sqlite_engine, lead, move_clock):
    for number in range(passcodes.FREE_TRIES):
        guess(sqlite_engine, browser=Browser(f"{number:016}", (lead.id + 1,)))

    assert "Too many" in guess(sqlite_engine, browser=Browser("C" * 16, (lead.id + 1,)))


def test_a_known_browser_has_a_count_of_its_own(sqlite_engine, lead, move_clock):
    at_the_desk = Browser("B" * 16, (lead.id,))
    for _ in range(passcodes.FREE_TRIES):
        guess(sqlite_engine, browser=at_the_desk)

    assert "Too many" in guess(sqlite_engine, browser=at_the_desk)
    assert signing_in.lead(sqlite_engine, "Ada", PASSCODE).id == lead.id


@pytest.mark.long
def test_strangers_never_lock_an_account(sqlite_engine, lead, move_clock):
    for _ in range(40):
        move_clock(seconds=passcodes.LONGEST_WAIT_SECONDS)
        guess(sqlite_engine)
    move_clock(seconds=passcodes.LONGEST_WAIT_SECONDS)

    assert signing_in.lead(sqlite_engine, "Ada", PASSCODE).id == lead.id


def test_tries_at_the_same_moment_count_each(engine, move_clock):
    with writing(engine) as session:
        accounts.create_lead(session, "Ada", PASSCODE)
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda _: guess(engine), range(12)))

    assert answers.count(signing_in.WRONG_PASSCODE) <= passcodes.FREE_TRIES + 1


def test_a_try_waits_for_another_of_the_same_account(postgres_engine):
    def try_too() -> None:
        with writing(postgres_engine) as session:
            passcodes.begin_try(session, "Ada")

    with ThreadPoolExecutor(1) as pool, writing(postgres_engine) as session:
        passcodes.begin_try(session, "Ada")
        other = pool.submit(try_too)
        wait_for_a_lock(session, other)
        assert not other.done()


def test_an_unknown_name_is_hashed_against_too(sqlite_engine, lead, monkeypatch):
    checked = []
    fits = passcodes.fits

    def noted(stored: str | None, secret: str) -> bool:
        checked.append(stored)
        return fits(stored, secret)

    monkeypatch.setattr(passcodes, "fits", noted)
    assert guess(sqlite_engine, "Nobody") == guess(sqlite_engine, "Ada")

    assert [stored is None for stored in checked] == [True, False]


def test_a_passcode_changed_during_a_sign_in_opens_nothing(sqlite_engine, lead):
    checked = signing_in.lead(sqlite_engine, "Ada", PASSCODE)
    with writing(sqlite_engine) as session:
        accounts.reset_passcode(session, "Ada", "another passcode")

    with pytest.raises(NotAllowed), writing(sqlite_engine) as session:
        logins.issue_sign_in_ticket(session, checked)


@pytest.mark.parametrize("slow", ["fits", "hash_passcode"])
def test_a_passcode_changed_meanwhile_proves_and_changes_nothing(sqlite_engine, lead, monkeypatch, slow):
    """Its owner changes it because somebody knows it, who then has the time that hashing takes."""
    who = Who(lead.id, lead.pseudonym, Role.lead, "Ada", 0)
    before, changed = lead.passcode_hash, passcodes.hash_passcode("the owner's passcode")
    hashing = getattr(passcodes, slow)

    def while_its_owner_changes_it(*arguments: Any) -> Any:
        result = hashing(*arguments)
        with writing(sqlite_engine) as session:
            session.get_one(Person, lead.id).passcode_hash = changed
        return result

    monkeypatch.setattr(passcodes, slow, while_its_owner_changes_it)
    with pytest.raises(NotAllowed, match="changed a moment ago"):
        signing_in.change_passcode(sqlite_engine, who, PASSCODE, "another passcode")
    if slow == "fits":
        with writing(sqlite_engine) as session:
            session.get_one(Person, lead.id).passcode_hash = before
        with pytest.raises(NotAllowed, match="changed a moment ago"):
            signing_in.certain(sqlite_engine, who, None, PASSCODE)

    with reading(sqlite_engine) as session:
        assert session.get_one(Person, lead.id).passcode_hash == changed


def choosing(engine, make_study, way: str) -> Callable[[], Person]:
    """What somebody does who chooses a passcode, prepared."""
    with writing(engine) as session:
        if way == "first lead":
            secret = accounts.issue_setup_ticket(session)
            return lambda: signing_in.first_lead(engine, secret, "Ada", PASSCODE)
        if way == "invited lead":
            link = invitations.invite_one(session, make_study(session)[0], "Ada", "", Role.lead, "L").secret
            return lambda: signing_in.invited_lead(engine, link, PASSCODE)
        ada = accounts.create_lead(session, "Ada", "the old passcode")
        who = Who(ada.id, ada.pseudonym, Role.lead, "Ada", 0)
        return lambda: signing_in.change_passcode(engine, who, "the old passcode", PASSCODE)


@pytest.mark.parametrize("way", ["first lead", "invited lead", "another passcode"])
def test_a_chosen_passcode_is_hashed_between_transactions(sqlite_engine, make_study, monkeypatch, way):
    choose = choosing(sqlite_engine, make_study, way)
    in_transaction = []
    hash_code = passcodes.hash_code

    def watched(code: str) -> passcodes.Hashed:
        with ThreadPoolExecutor(1) as pool:
            in_transaction.append(pool.submit(can_write, sqlite_engine).exception(PATIENCE))
        return hash_code(code)

    monkeypatch.setattr(passcodes, "hash_code", watched)
    ada = choose()

    assert {*in_transaction} == {None}
    with reading(sqlite_engine) as session:
        assert session.get_one(Person, ada.id).passcode_hash == ada.passcode_hash


def can_write(engine) -> None:
    with writing(engine) as session:
        session.get(Person, 0)


def test_a_leads_login_ends_after_twelve_idle_hours(sqlite_engine, lead, move_clock):
    with writing(sqlite_engine) as session:
        secret = logins.use_ticket(session, logins.issue_sign_in_ticket(session, lead))
    move_clock(hours=11)
    with writing(sqlite_engine) as session:
        who = logins.signed_in(session, secret)
        logins.prolong(session, who, present(logins.later_end(session, who)))
        assert logins.later_end(session, who) is None
    move_clock(hours=11)
    with reading(sqlite_engine) as session:
        assert logins.who_is(session, secret)
    move_clock(hours=1, seconds=1)
    with reading(sqlite_engine) as session:
        assert logins.who_is(session, secret) is None


def test_no_use_keeps_a_login_for_over_two_weeks(sqlite_engine, lead, move_clock):
    with writing(sqlite_engine) as session:
        secret = logins.use_ticket(session, logins.issue_sign_in_ticket(session, lead))
    for _ in range(14 * 3 - 1):
        move_clock(hours=8)
        with writing(sqlite_engine) as session:
            who = logins.signed_in(session, secret)
            end = logins.later_end(session, who)
            if end:
                logins.prolong(session, who, end)
    move_clock(hours=8)
    with reading(sqlite_engine) as session:
        assert logins.who_is(session, secret) is None


def test_an_annotators_login_lives_on_idle(sqlite_engine, make_study, move_clock):
    with writing(sqlite_engine) as session:
        study = make_study(session, annotators=0, access=Access.open)[0]
        person, _ = joining.join_open_study(session, study, "Anna")
        secret = logins.use_ticket(session, logins.issue_sign_in_ticket(session, person))
    move_clock(days=13)
    with reading(sqlite_engine) as session:
        assert logins.who_is(session, secret)

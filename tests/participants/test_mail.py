"""Messages to leads by mail: through the named server only, once, in words without an address."""

from __future__ import annotations

import logging
import socketserver
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from unittest.mock import Mock

import pytest
from helpers.ratings import submit
from sqlmodel import Session

from triptych import settings
from triptych.participants import mail
from triptych.participants.mail import Watch, failure_of
from triptych.settings import Encryption, MailServer, UnsafeSettings
from triptych.storage.database import reading, writing
from triptych.storage.models import Person, Study
from triptych.storage.unavailable import BUSY, DatabaseBusy


class Recipient(socketserver.StreamRequestHandler):
    """As much of SMTP as a mail needs; refuses the recipients that the server names."""

    server: Inbox

    def handle(self) -> None:
        self.say(b"220 lab.test")
        while line := self.rfile.readline():
            verb = line[:4].upper()
            if verb == b"DATA":
                self.say(b"354 go on")
                lines: list[bytes] = []
                while (line := self.rfile.readline()) != b".\r\n":
                    lines.append(line)
                self.server.mails.append(b"".join(lines).decode())
            refused = verb == b"RCPT" and any(name in line for name in self.server.refuses)
            answer = self.server.farewell if verb == b"QUIT" else b"250 fine"
            self.say(b"550 nobody <lead@lab.test> here" if refused else answer)

    def say(self, line: bytes) -> None:
        self.wfile.write(line + b"\r\n")


class Endless(socketserver.StreamRequestHandler):
    """A greeting of 40 MB, as fast as it is read."""

    def handle(self) -> None:
        with suppress(OSError):
            for _ in range(1_000):
                self.wfile.write((b"220-" + b"x" * 196 + b"\r\n") * 200)


class Slow(socketserver.StreamRequestHandler):
    """A greeting in bytes that each come before the client's patience ends."""

    server: Inbox

    def handle(self) -> None:
        with suppress(OSError):
            for _ in range(100):
                self.wfile.write(b"2")
                self.server.stopped.wait(0.02)
            self.server.mails.append("everything was said")


class Inbox(socketserver.ThreadingTCPServer):
    """A mail server on a free port of this computer."""

    daemon_threads = True

    def __init__(self, handler: type[socketserver.StreamRequestHandler] = Recipient) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.mails: list[str] = []
        self.refuses: list[bytes] = []
        self.farewell = b"221 bye"
        self.stopped = threading.Event()

    @property
    def named(self) -> MailServer:
        return MailServer("127.0.0.1", self.server_address[1], "app@lab.test", Encryption.nothing)


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    with serving(Recipient) as server:
        yield server


@contextmanager
def serving(handler: type[socketserver.StreamRequestHandler]) -> Iterator[Inbox]:
    with Inbox(handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def full(sqlite_engine, make_study) -> Study:
    """A study whose places are all filled, and whose lead has an address."""
    with writing(sqlite_engine) as session:
        study, lead, (anna,) = make_study(session, items=2, annotators=1, raters_per_item=1)
        for _ in range(2):
            submit(session, study, anna)
        person = session.get_one(Person, lead.person_id)
        person.email, person.passcode_hash = "lead@lab.test", "set"
        return study


def test_a_finished_study_is_reported_once(sqlite_engine, full, inbox, caplog):
    caplog.set_level(logging.INFO)
    for _ in range(2):
        Watch(sqlite_engine, inbox.named).look()
    (text,) = inbox.mails
    assert "Subject: Triptych: A small study" in text
    assert "To: lead@lab.test" in text
    assert "All 2 places are filled" in text
    assert "http" not in text
    assert "lead@lab.test" not in caplog.text
    assert "a message was sent to 1 lead" in caplog.text


def test_a_study_where_nothing_happened_is_not_read_again(sqlite_engine, full, inbox, monkeypatch):
    watch = Watch(sqlite_engine, inbox.named)
    watch.look()
    read = Mock()
    monkeypatch.setattr(mail, "news_of", read)
    watch.look()

    assert read.call_count == 0


def test_of_two_apps_on_one_database_one_sends_the_notice(sqlite_engine, full, inbox, monkeypatch):
    with reading(sqlite_engine) as session:
        news = mail.news_of(session, session.get_one(Study, full.id))
    Watch(sqlite_engine, inbox.named).look()
    monkeypatch.setattr(mail, "news_of", lambda *_: news)  # as read before the other app wrote its mark
    Watch(sqlite_engine, inbox.named).look()

    assert len(inbox.mails) == 1


def test_a_look_at_a_busy_database_is_repeated(sqlite_engine, full, inbox, monkeypatch, caplog):
    """Nothing happens in a complete study later, so no later look would have found the notice."""
    watch = Watch(sqlite_engine, inbox.named)

    def busy(*_) -> None:
        raise DatabaseBusy(BUSY)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(mail, "writing", busy)
        watch.look()
    assert inbox.mails == []
    assert f"Study {full.id}: looking for news failed and is tried again." in caplog.text

    watch.look()
    assert len(inbox.mails) == 1


def test_a_study_that_fails_holds_up_no_other(sqlite_engine, full, make_study, inbox, monkeypatch):
    with writing(sqlite_engine) as session:
        other, *_ = make_study(session)
    asked = []

    def failing(_session: Session, study: Study) -> None:
        asked.append(study.id)
        raise ValueError

    monkeypatch.setattr(mail, "news_of", failing)
    Watch(sqlite_engine, inbox.named).look()
    assert sorted(asked) == sorted([full.id, other.id])


def test_a_study_without_news_sends_nothing(sqlite_engine, make_study, inbox):
    with writing(sqlite_engine) as session:
        _, lead, _ = make_study(session)
        session.get_one(Person, lead.person_id).email = "lead@lab.test"
    Watch(sqlite_engine, inbox.named).look()
    assert inbox.mails == []


def test_a_failure_is_said_in_words_without_an_address(sqlite_engine, full, inbox, caplog):
    inbox.refuses = [b"lead@lab.test"]
    Watch(sqlite_engine, inbox.named).look()
    with reading(sqlite_engine) as session:
        assert failure_of(session, session.get_one(Study, full.id)) == "the mail server refused a recipient"
    assert "was not sent to every lead: the mail server refused a recipient." in caplog.text
    assert "lead@lab.test" not in caplog.text


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("typo@lab.test", "the mail server refused a recipient"),
        ("jörg@lab.test", "an address or the sender cannot be written in a mail"),
        ("a\nb@lab.test", "an address or the sender cannot be written in a mail"),
        ("?@[.>", "an address or the sender cannot be written in a mail"),
        ("(@).[", "an address or the sender cannot be written in a mail"),
        ("=?utf-8?q?@?=.xn--", "an address or the sender cannot be written in a mail"),
        ("x=?utf-8?q?=0AX-Note=3A?=@lab.test", "an address or the sender cannot be written in a mail"),
        ("a,b@lab.test", "an address or the sender cannot be written in a mail"),
    ],
)
def test_an_address_that_fails_keeps_no_other_from_its_mail(inbox, address, reason):
    inbox.refuses = [b"typo@"]
    assert mail.send(inbox.named, "s", "t", ["a@b.example", address, "c@d.example"]) == reason
    assert ["To: a@b.example\r" in text for text in inbox.mails] == [True, False]
    assert "To: c@d.example\r" in inbox.mails[1]


def test_an_absent_server_is_said_in_words():
    with Inbox() as server:
        closed = server.named
    assert mail.send(closed, "s", "t", ["a@b.example"]) == "the mail server cannot be reached"


def test_a_server_without_encryption_gets_nothing(inbox):
    strict = MailServer(inbox.named.host, inbox.named.port, "app@lab.test", Encryption.starttls)
    assert mail.send(strict, "s", "t", ["a@b.example"]) == "the mail server offers no encryption, or no login"
    assert inbox.mails == []


def test_a_greeting_without_end_takes_no_memory():
    with serving(Endless) as server:
        tracemalloc.start()
        reason = mail.send(server.named, "s", "t", ["a@b.example"])
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert reason == "the mail server did not accept it"
    assert most < 10_000_000


def test_a_greeting_in_slow_bytes_has_an_end(monkeypatch):
    monkeypatch.setattr(mail, "ANSWERS_SECONDS", 0.1, raising=False)
    with serving(Slow) as server:
        assert mail.send(server.named, "s", "t", ["a@b.example"]) == "the mail server did not accept it"
        assert server.mails == []
        server.stopped.set()


@pytest.mark.parametrize("title", ["A\r\nBcc: x@evil.example", "=?utf-8?q?A=0D=0ABcc:_x@evil.example?="])
def test_a_line_break_in_a_title_adds_no_header(inbox, title):
    """An encoded one is decoded by Python, which wrote it as it is before 3.11.10 and 3.12.5."""
    assert mail.send(inbox.named, title, "t", ["a@b.example"]) == ""
    assert "\nBcc:" not in inbox.mails[0]


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("", None),
        ("smtps://lab.test?from=a@b.example", MailServer("lab.test", 465, "a@b.example", Encryption.tls)),
        (
            "smtp://me%40x:p%2Fw@lab.test:25?from=a@b.example",
            MailServer("lab.test", 25, "a@b.example", Encryption.starttls, "me@x", "p/w"),
        ),
        ("smtp://127.0.0.1?from=a@b.example", MailServer("127.0.0.1", 587, "a@b.example", Encryption.nothing)),
    ],
)
def test_the_setting_names_server_sender_and_encryption(monkeypatch, text, server):
    monkeypatch.setenv(settings.MAIL, text)
    assert settings.mail_server() == server
    assert "p/w" not in repr(server)


@pytest.mark.parametrize("text", ["lab.test", "http://lab.test?from=a@b.example", "smtp://h", "smtp://h:x?from=a@b"])
def test_a_setting_that_cannot_be_read_is_refused_in_words(monkeypatch, text):
    monkeypatch.setenv(settings.MAIL, text)
    with pytest.raises(UnsafeSettings, match="cannot be read. Write it as smtp://"):
        settings.mail_server()


@pytest.mark.parametrize("farewell", [b"250 bye", b"421 closing", b"bye"])
def test_accepted_mail_is_sent_whatever_the_server_says_last(inbox, farewell):
    inbox.farewell = farewell

    assert mail.send(inbox.named, "News", "Words", ["lead@lab.test"]) == ""
    assert len(inbox.mails) == 1

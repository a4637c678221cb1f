"""Notices to leads by mail, through the one server that TRIPTYCH_MAIL names: the app's only outbound connection.

A separate thread checks running studies, so that no page and no annotator waits for a mail server. A notice is marked
as sent in the database first, so that only one process sends it, and only once.
"""

from __future__ import annotations

import io
import logging
import smtplib
import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any

from sqlalchemy import Engine, insert, select
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from triptych import clock
from triptych.participants.notices import notices
from triptych.participants.participant import participants
from triptych.people import roster
from triptych.people.invitations import is_address
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.results.progress import overview
from triptych.results.quality import flags_of
from triptych.settings import Encryption, MailServer
from triptych.stats.numbers import counted
from triptych.storage.database import reading, writing
from triptych.storage.models import Membership, Person, Role, Setting, Study, StudyState
from triptych.storage.repeating import repeated

LOOK_SECONDS = 60.0
TIMEOUT_SECONDS = 20.0  # of silence
ANSWERS_SECONDS = 120.0  # of one connection
MAX_ANSWERS = 1_000_000  # bytes
WHERE = "Open People in Triptych to see everyone and the available actions."
UNWRITABLE = "an address or the sender cannot be written in a mail"
log = logging.getLogger("triptych.mail")


@dataclass(frozen=True)
class News:
    """Notices that a study's leads have not received yet. marks: a key for each, under which sending is recorded."""

    study_id: int
    slug: str
    title: str
    marks: tuple[str, ...]
    sentences: tuple[str, ...]
    addresses: tuple[str, ...]


@dataclass
class Watch:
    """Checks the studies of a database; one without a change is skipped."""

    engine: Engine
    server: MailServer
    looked_at: dict[int, int] = field(default_factory=dict)

    def look(self) -> None:
        """Send the new notices of every running study."""
        with reading(self.engine) as session:
            running = Study.state.in_([StudyState.open, StudyState.paused]) & ~Study.demo
            numbers = dict(map(tuple, session.execute(select(Study.id, Study.event_number).where(running))))
        for study_id, number in numbers.items():
            if self.looked_at.get(study_id) == number:
                continue
            try:
                self._look_at(study_id)
            except Exception:  # others have news too; nothing may happen in this study later, so it is looked at again
                log.exception("Study %d: looking for news failed and is tried again.", study_id)
            else:
                self.looked_at[study_id] = number

    def _look_at(self, study_id: int) -> None:
        with reading(self.engine) as session:
            news = news_of(session, session.get_one(Study, study_id))
        if news.marks and news.addresses and self._mark(news):
            self._send(news)

    def _mark(self, news: News) -> bool:
        """Whether this process is the one that sends the notices."""
        now = clock.now().isoformat()
        try:
            with writing(self.engine) as session:
                session.execute(insert(Setting), [{"key": mark, "value": now} for mark in news.marks])
        except IntegrityError:
            return False
        return True

    def _send(self, news: News) -> None:
        why = send(self.server, f"Triptych: {news.title}", "\n\n".join((*news.sentences, WHERE)), news.addresses)
        with writing(self.engine) as session:
            session.merge(Setting(key=failure_key(news.study_id), value=why))
        if why:
            log.warning("Study %s: a message was not sent to every lead: %s.", news.slug, why)
        else:
            log.info("Study %s: a message was sent to %s.", news.slug, counted(len(news.addresses), "lead"))


def failure_key(study_id: int) -> str:
    """The settings key of the error of the last message about a study."""
    return f"mail failed {study_id}"


def failure_of(session: Session, study: Study) -> str:
    """Why the last message about the study was not sent to every lead; "" if it was, or there was none."""
    return session.scalars(select(Setting.value).where(Setting.key == failure_key(study.id))).first() or ""


def news_of(session: Session, study: Study) -> News:
    """News for a study's leads that has not been sent yet."""
    frame, view = frame_of(session, study), overview(session, study, Counted(kinds_by_default(study)))
    people = participants(
        session, study, roster.members_of(session, study), frame, view, flags_of(session, study, frame)
    )
    marked = set(session.scalars(select(Setting.key).where(Setting.key.startswith(f"mailed {study.id} "))))
    sentences, marks = [], []
    for notice in notices(session, study, view, people):
        fresh = [mark for mark in (f"mailed {study.id} {of}" for of in notice.about) if mark not in marked]
        if fresh:
            sentences.append(notice.sentence)
            marks += fresh
    leads = select(Person.email).join(Membership, Membership.person_id == Person.id)
    leads = leads.where(Membership.study_id == study.id, Membership.role == Role.lead, Person.email.is_not(None))
    addresses = session.scalars(leads.where(Person.disabled_at.is_(None), Person.passcode_hash.is_not(None)))
    return News(study.id, study.slug, study.title, tuple(marks), tuple(sentences), tuple(filter(None, addresses)))


def send(server: MailServer, subject: str, text: str, addresses: Sequence[str]) -> str:
    """Send a separate mail to each address; returns the reason for a failure, without an address, or nothing."""
    title = " ".join(subject.replace("=?", "= ?").split())  # "=?" begins an encoded text, even with line breaks in it
    try:
        with _connected(server) as connection:
            reasons = [_deliver(connection, server.sender, address, title, text) for address in addresses]
    except (OSError, ValueError) as error:
        return _in_words(error)
    return next(filter(None, reasons), "")


def _deliver(connection: smtplib.SMTP, sender: str, address: str, title: str, text: str) -> str:
    """As `send`, to one address, whose failure does not keep others from their mail."""
    if not is_address(address):  # Python's parser of headers fails in many ways
        return UNWRITABLE
    try:
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = sender, address, title
        mail.set_content(text)
        connection.send_message(mail)
    except smtplib.SMTPNotSupportedError:  # of letters outside ASCII
        return UNWRITABLE
    except (OSError, ValueError) as error:
        return _in_words(error)
    return ""


class MailAnswers(io.RawIOBase):
    """What a mail server answers, up to a size and a time."""

    def __init__(self, stream: io.RawIOBase) -> None:
        self.stream, self.left, self.end = stream, MAX_ANSWERS, time.monotonic() + ANSWERS_SECONDS

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        size = self.stream.readinto(buffer)
        self.left -= size or 0
        if self.left < 0 or time.monotonic() > self.end:
            raise OSError("The mail server's answers have no end.")
        return size

    def close(self) -> None:
        self.stream.close()
        super().close()


class Bounded(smtplib.SMTP):
    """smtplib collects the lines of an answer without end, and its timeout begins again at each byte."""

    def getreply(self) -> tuple[int, bytes]:
        if self.sock and self.file is None:
            self.file = io.BufferedReader(MailAnswers(self.sock.makefile("rb", buffering=0)))
        return super().getreply()


class BoundedTLS(Bounded, smtplib.SMTP_SSL):
    """As `Bounded`, encrypted from the start."""


@contextmanager
def _connected(server: MailServer) -> Iterator[smtplib.SMTP]:
    context, place = ssl.create_default_context(), (server.host, server.port)
    if server.encryption == Encryption.tls:
        connection: smtplib.SMTP = BoundedTLS(*place, timeout=TIMEOUT_SECONDS, context=context)
    else:
        connection = Bounded(*place, timeout=TIMEOUT_SECONDS)
    with closing(connection):
        if server.encryption == Encryption.starttls:
            connection.starttls(context=context)
        if server.user:
            connection.login(server.user, server.password)
        yield connection
        with suppress(OSError):  # whatever the answer, what the server accepted is sent
            connection.docmd("QUIT")


def _in_words(error: Exception) -> str:
    """The kind of an error; never its text, which may quote an address."""
    words = {
        smtplib.SMTPAuthenticationError: "the mail server refused the name or the password",
        smtplib.SMTPRecipientsRefused: "the mail server refused a recipient",
        smtplib.SMTPSenderRefused: "the mail server refused the sender",
        smtplib.SMTPNotSupportedError: "the mail server offers no encryption, or no login",
        smtplib.SMTPException: "the mail server did not accept it",
        ssl.SSLError: "the mail server's certificate or encryption cannot be trusted",
        TimeoutError: "the mail server did not respond in time",
        OSError: "the mail server cannot be reached",
        ValueError: UNWRITABLE,
    }
    return next(sentence for kind, sentence in words.items() if isinstance(error, kind))


def watching(engine: Engine, server: MailServer) -> AbstractContextManager[None]:
    """Check regularly, in a thread, until the end of the context."""
    return repeated(Watch(engine, server).look, "News of studies", LOOK_SECONDS, log)

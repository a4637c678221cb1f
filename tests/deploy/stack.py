"""The whole of docs/deploy on loopback: PostgreSQL, two app processes, nginx with TLS, and annotators."""

from __future__ import annotations

import asyncio
import http.client
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp
import pytest
from helpers.studies import ROOT, absent
from sqlalchemy import Engine, func, select

from bench.client import Annotator, PageFailed
from bench.postgres import end_postgres, postgres_binaries, wait_for_postgres
from bench.server import PATIENCE, Server, free_port, start_server, wait_until
from bench.world import World, build_world
from triptych.storage import database, events
from triptych.storage.models import Assignment, AssignmentState, Rating, Slot, Study, Submission
from triptych.web.session import cookie_name

FILES = ROOT / "docs" / "deploy"
SECRET, TOKEN = "b7Jm2xQe0VtLr5KcYhWz8NdA4sGfUo1iPq3RvXk6Tj9MaCyE", "mN4rT8vZ1cX6bQ0sWe5yHu2jKo7lPa3dFg9iRtYxLqEz"
OWNER, APP = "the owner's own passphrase", "the app's own passphrase"
RATINGS = 15
ITEMS, RATERS = 600, 3  # fewer raters than annotators, so that one too many would show
GONE = (PageFailed, aiohttp.ClientError, ConnectionError, TimeoutError)
BACKOFF = 0.2  # as the workbench, a visitor who was not answered asks again after a moment


@dataclass
class Cluster:
    """A PostgreSQL server that can be stopped and started; it refuses root, so root lends it to another user."""

    folder: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def user(self) -> dict[str, Any]:
        return {"user": "postgres"} if os.geteuid() == 0 else {}

    def make(self) -> None:
        """A new cluster that asks everybody but its administrator for a password."""
        if self.user:
            shutil.chown(self.folder, **self.user)
        options = ("-U", "postgres", "-E", "UTF8", "--no-sync")
        make: list[str | Path] = [self.program("initdb"), "-D", self.folder / "data", *options]
        subprocess.run(make, check=True, capture_output=True, cwd="/", timeout=PATIENCE, **self.user)
        rules = "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
        (self.folder / "data" / "pg_hba.conf").write_text(rules)

    def program(self, name: str) -> Path:
        binaries = postgres_binaries()
        if binaries is None:
            absent("the PostgreSQL server (initdb)")
        return (binaries / "initdb").resolve().parent / name  # a link may lead to one program without the others

    def start(self) -> None:
        """Returns when it takes connections; one that runs is left alone."""
        if self.process is not None and self.process.poll() is None:
            return
        options = ("-h", "127.0.0.1", "-p", str(self.port))
        serve: list[str | Path] = [self.program("postgres"), "-D", self.folder / "data", "-k", self.folder, *options]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(serve, cwd="/", stderr=log, **self.user)
        wait_for_postgres(self.url("postgres", "postgres", driver="postgresql+psycopg"), self.process)

    def stop(self) -> None:
        """As `systemctl stop postgresql`: every connection is cut."""
        if self.process is not None and self.process.poll() is None:
            end_postgres(self.process, signal.SIGINT)

    def url(self, role: str, name: str = "triptych", password: str = "", driver: str = "postgresql") -> str:
        return f"{driver}://{role}:{password.replace(' ', '%20')}@127.0.0.1:{self.port}/{name}"

    def administering(self) -> dict[str, str]:
        """The environment in which PostgreSQL's programs act as its administrator, as `sudo -u postgres` does."""
        path = f"{self.program('psql').parent}:{os.environ['PATH']}"
        return {"PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": "postgres", "PATH": path}

    def psql(self, file: str, role: str, name: str, password: str = "", **env: str) -> None:
        """Runs one of the shipped SQL files."""
        url = self.url(role, name, password)
        run([self.program("psql"), "-q", "-v", "ON_ERROR_STOP=1", "-f", FILES / file, url], env)


def run(command: Sequence[Any], env: dict[str, str] | None = None) -> str:
    """The output of a command that must succeed in time."""
    together = {**os.environ, **(env or {})}
    ended = subprocess.run(command, cwd=ROOT, env=together, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def command(*words: str, **env: str) -> str:
    """`python -m triptych …` with this environment."""
    return run([sys.executable, "-m", "triptych", *words], env)


@dataclass
class Proxy:
    """nginx with the shipped file; only addresses, certificate and processes are those of this test."""

    folder: Path
    ports: Sequence[int]
    port: int = field(default_factory=free_port)
    plain: int = field(default_factory=free_port)
    more: str = ""  # directives of this test

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def certificate(self) -> Path:
        return self.folder / "cert.pem"

    @property
    def log(self) -> Path:
        return self.folder / "site.log"

    def site(self) -> str:
        text = (FILES / "nginx.conf").read_text()
        changes = {
            "listen 80;": f"listen 127.0.0.1:{self.plain};",
            "listen [::]:80;": "",
            "listen 443 ssl;": f"listen 127.0.0.1:{self.port} ssl;",
            "listen [::]:443 ssl;": "",
            "/var/log/nginx/triptych.log": str(self.log),
            "/etc/ssl/triptych/fullchain.pem": str(self.certificate),
            "/etc/ssl/triptych/privkey.pem": str(self.folder / "key.pem"),
            "127.0.0.1:8501": f"127.0.0.1:{self.ports[0]}",
            "127.0.0.1:8502": f"127.0.0.1:{self.ports[1]}",
        }
        for shipped, here in changes.items():
            assert text.count(shipped) == 1, f"{shipped!r} stands {text.count(shipped)} times in nginx.conf"
            text = text.replace(shipped, here)
        return text

    def write(self) -> Path:
        made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
        made += ["-addext", "subjectAltName=IP:127.0.0.1"]
        run([*made, "-keyout", self.folder / "key.pem", "-out", self.certificate])
        (self.folder / "site.conf").write_text(self.site())
        places = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temporary = "\n".join(f"{name}_temp_path {self.folder}/{name};" for name in places)
        main = self.folder / "nginx.conf"
        main.write_text(
            f"daemon off; pid {self.folder}/pid; error_log {self.folder}/error.log; worker_processes 1;\n"
            + ("user root;\n" if os.geteuid() == 0 else "")
            + "events { worker_connections 512; }\n"
            + f"http {{ {temporary}\n{self.more}\ninclude {self.folder}/site.conf; }}\n"
        )
        return main

    @contextmanager
    def running(self) -> Iterator[Proxy]:
        program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
        if program is None:
            absent("nginx")
        main = self.write()
        with subprocess.Popen([program, "-c", main, "-e", self.folder / "error.log"]) as process:
            try:
                server = Server(self.url, process, self.folder / "error.log")
                wait_until(lambda: self.get("/")[0] in (200, 502), server, "answer")
                yield self
            finally:
                server.stop(signal.SIGTERM)

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.certificate)

    def get(self, path: str, **headers: str) -> Answer:
        return get(f"{self.url}{path}", self.trust(), **headers)


class Answer(NamedTuple):
    status: int
    headers: Message
    text: str


def get(url: str, trust: ssl.SSLContext | None = None, **headers: str) -> Answer:
    """One request on a new connection; status 0 without an answer."""
    parts = urlsplit(url)
    connection: http.client.HTTPConnection
    if trust:
        connection = http.client.HTTPSConnection(parts.netloc, timeout=20, context=trust)
    else:
        connection = http.client.HTTPConnection(parts.netloc, timeout=20)
    with closing(connection):
        try:
            connection.request("GET", url.removeprefix(f"{parts.scheme}://{parts.netloc}"), headers=headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read().decode())
        except OSError:
            return Answer(0, Message(), "")


@dataclass
class Stack:
    """Everything that runs, and the study in it."""

    cluster: Cluster
    proxy: Proxy
    servers: list[Server]
    folder: Path
    engine: Engine
    world: World

    def env(self) -> dict[str, str]:
        return environment(self.cluster)

    def is_ready(self, number: int) -> bool:
        return get(f"{self.servers[number].url}/readyz")[0] == 200

    def start(self, number: int) -> None:
        """A new process in place of the old one; returns when it is ready."""
        port = self.proxy.ports[number]
        self.servers[number] = start_server(self.folder / f"home-{number}", self.env(), port)
        wait_until(lambda: self.is_ready(number), self.servers[number], "be ready")

    def visitor(self, number: int) -> Visitor:
        return Visitor(self, number)


def environment(cluster: Cluster) -> dict[str, str]:
    return {
        "TRIPTYCH_DATABASE_URL": cluster.url("triptych_app", password=APP),
        "TRIPTYCH_SECRET": SECRET,
        "TRIPTYCH_METRICS_TOKEN": TOKEN,
        "TRIPTYCH_LOG": "json",
        "TRIPTYCH_DEMO": "0",
        "STREAMLIT_SERVER_COOKIE_SECRET": SECRET,
        "TRIPTYCH_ADDRESS": "https://annotate.example.org",
        "TRIPTYCH_PROXIES": "127.0.0.1",
    }


@contextmanager
def running_stack(folder: Path, annotators: int = 8) -> Iterator[Stack]:
    """docs/deploying.md, step by step."""
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        # not below pytest's own folder, which every other pytest closes to all but its user
        cluster = Cluster(Path(stack.enter_context(TemporaryDirectory(prefix="triptych-deploy-"))))
        cluster.make()
        stack.callback(cluster.stop)
        cluster.start()
        cluster.psql("roles.sql", "postgres", "postgres", OWNER_PASSWORD=OWNER, APP_PASSWORD=APP)
        owner = cluster.url("triptych_owner", password=OWNER)
        command("data", "migrate", TRIPTYCH_DATABASE_URL=owner, TRIPTYCH_SECRET=SECRET)
        cluster.psql("rights.sql", "triptych_owner", "triptych", OWNER)
        for name, value in environment(cluster).items():
            patch.setenv(name, value)
        world = build_world(folder / "world", items=ITEMS, annotators=annotators, raters=RATERS)
        url = cluster.url("triptych_app", password=APP, driver="postgresql+psycopg")
        proxy = Proxy(folder, [free_port(), free_port()])
        made = Stack(cluster, proxy, [], folder, database.open_engine(url), world)
        stack.callback(made.engine.dispose)
        for number, port in enumerate(proxy.ports):
            made.servers.append(start_server(folder / f"home-{number}", made.env(), port))
            stack.callback(lambda number: made.servers[number].stop(), number)
        for number, server in enumerate(made.servers):
            wait_until(partial(made.is_ready, number), server, "be ready")
        stack.enter_context(proxy.running())
        yield made


@dataclass
class Journal:
    """What the servers acknowledged, and what they said when they could not."""

    submissions: set[str] = field(default_factory=set)
    drafts: dict[str, list[Any]] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    opened: int = 0


def _over_https(cookies: dict[str, str]) -> dict[str, str]:
    return {cookie_name(name, https=True): value for name, value in cookies.items()}


class Visitor(Annotator):
    """An annotator who comes through the proxy and, like the workbench, retries until answered."""

    def __init__(self, stack: Stack, number: int) -> None:
        world = stack.world
        super().__init__(stack.proxy.url, world.slug, world.rubric, _over_https(world.cookies[number]), number)
        self.trust = stack.proxy.trust()
        self.journal = Journal()
        self.done = 0

    async def __aenter__(self) -> Visitor:
        connector = aiohttp.TCPConnector(limit=0, ssl=self.trust)
        jar = aiohttp.CookieJar(unsafe=True)
        self.http = aiohttp.ClientSession(cookies=self.cookies, connector=connector, cookie_jar=jar)
        await self.look()
        return self

    async def look(self) -> None:
        """Runs the page, as its own timers do, until it shows a workbench; opens it again where the socket broke."""
        while True:
            try:
                if self.page is None or self.page.socket is None or self.page.socket.closed:
                    await self.open()
                    self.journal.opened += 1
                    self._check_draft()
                else:
                    await self.page.run()
                if self._workbenches():
                    return
                self.journal.messages += [element.alert.body for element in self.page.find("alert")]
            except GONE:
                if self.page.socket is not None:
                    await self.page.socket.close()
            await asyncio.sleep(BACKOFF)

    def _check_draft(self) -> None:
        """A draft that was acknowledged is on the page, or one sent after it."""
        sent = self.journal.drafts.get(self.view["work"]["token"]) if self.view else None
        if sent:
            assert self.view["draft"] in sent

    async def keep_draft(self, work: dict[str, Any], draft: dict[str, Any]) -> None:
        """Sends a draft until it is acknowledged."""
        sent = self.journal.drafts.setdefault(work["token"], [])
        sent.append(draft)
        while True:
            try:
                status, answer = await self.save_draft(work, draft)
            except (*GONE, aiohttp.ContentTypeError) as error:
                status, answer = getattr(error, "status", 0), {}
            if status == 200:
                self.journal.drafts[work["token"]] = [draft]
                return
            assert status == 0 or status >= 500, answer
            self.journal.statuses.append(status)
            if "message" in answer:
                self.journal.messages.append(answer["message"])
            await asyncio.sleep(BACKOFF)

    async def hand_in(self, message: dict[str, Any]) -> None:
        """Sends a submission until its receipt comes."""
        while True:
            with suppress(*GONE):
                await self.act(message)
            if self.view["work"]["receipt"] == message["submission"]:
                break
            if self.view["notice"]:
                self.journal.messages.append(self.view["notice"]["text"])
            await asyncio.sleep(BACKOFF)
        self.journal.submissions.add(message["submission"])
        self.seq, self.done = 0, self.done + 1

    async def annotate(self) -> None:
        """One item: a draft, a look at the page, another draft, then all of it."""
        work, answers = self.view["work"], self.answers(self.view)
        await self.keep_draft(work, {**answers, "note": "begun"})
        await self.look()
        await self.keep_draft(work, {**answers, "note": "nearly done"})
        await self.hand_in(self.submission({**self.view, "work": work}, answers))

    async def work(self, enough: asyncio.Event) -> None:
        while not enough.is_set():
            await self.annotate()


def check_stored(stack: Stack, visitors: Sequence[Visitor]) -> None:
    """Every acknowledged submission is stored once and whole; nothing is stored in part; the chain holds."""
    acknowledged = set().union(*(visitor.journal.submissions for visitor in visitors))
    with database.reading(stack.engine) as session:
        stored = {s.id: s.assignment_id for s in session.scalars(select(Submission))}
        assert not acknowledged - set(stored), "an acknowledged submission is lost"
        assert len(set(stored.values())) == len(stored)
        count = select(Rating.assignment_id, func.count()).group_by(Rating.assignment_id)
        assert dict(session.execute(count).all()) == dict.fromkeys(stored.values(), RATINGS)
        done = select(Assignment.id).where(Assignment.state == AssignmentState.submitted)
        assert set(session.scalars(done)) == set(stored.values())
        places = select(Slot.assignment_id, func.count()).group_by(Slot.assignment_id)
        assert set(dict(session.execute(places).all()).values()) == {3}
        raters = select(func.count()).where(Assignment.state == AssignmentState.submitted).group_by(Assignment.item_id)
        assert max(session.scalars(raters), default=0) <= RATERS
        assert events.first_broken(session, session.scalars(select(Study.id)).one()) is None


def metric(server: Server, name: str, labels: str = "") -> float:
    """One number of a process, 0 where it is not there."""
    status, _, text = get(f"{server.url}/metrics", Authorization=f"Bearer {TOKEN}")
    assert status == 200
    match = re.search(rf"^{name}{re.escape(labels)} (\S+)$", text, re.MULTILINE)
    return float(match[1]) if match else 0.0

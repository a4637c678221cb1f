"""Two app processes behind nginx on PostgreSQL, under load: kill -9, an outage of the database, rolling restarts."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from functools import partial

import aiohttp
import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import ProgrammingError
from stack import APP, FILES, OWNER, SECRET, Stack, Visitor, check_stored, command, get, metric, run, running_stack

from bench.client import our_headers
from bench.server import free_port, start_server
from triptych.people import accounts, logins
from triptych.storage import database, wiping
from triptych.storage.models import Person
from triptych.storage.unavailable import UNREACHABLE
from triptych.web.session import COOKIE, cookie_name

pytestmark = pytest.mark.deploy
VISITORS = 6
OUTAGE = 10.0


@pytest.fixture(scope="module")
def stack(tmp_path_factory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("deploy")) as made:
        yield made


Disturb = Callable[[list[Visitor]], Awaitable[None]]


async def _under_load(stack: Stack, disturb: Disturb) -> list[Visitor]:
    """People at work before, during and after a disturbance; each hands in two more items when it is over."""
    async with AsyncExitStack() as open_pages:
        visitors = [await open_pages.enter_async_context(stack.visitor(n)) for n in range(VISITORS)]
        enough = asyncio.Event()
        working = [asyncio.create_task(visitor.work(enough)) for visitor in visitors]
        disturbing = asyncio.create_task(_disturb_and_go_on(visitors, disturb))
        await asyncio.wait([disturbing, *working], return_when=asyncio.FIRST_COMPLETED)
        enough.set()
        await asyncio.gather(disturbing, *working)
        return visitors


async def _disturb_and_go_on(visitors: list[Visitor], disturb: Disturb) -> None:
    await until(lambda: all(visitor.done >= 1 for visitor in visitors), "everybody handed in an item")
    await disturb(visitors)
    before = [visitor.done for visitor in visitors]
    await until(lambda: all(v.done >= n + 2 for v, n in zip(visitors, before, strict=True)), "everybody went on")


async def until(holds: Callable[[], bool], what: str, patience: float = 60) -> None:
    end = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < end, f"Not in {patience} s: {what}."
        await asyncio.sleep(0.02)


def under_load(stack: Stack, disturb: Disturb) -> list[Visitor]:
    visitors = asyncio.run(asyncio.wait_for(_under_load(stack, disturb), 150))
    check_stored(stack, visitors)
    return visitors


def test_a_sign_in_through_the_proxy_holds_in_every_process(stack):
    with database.writing(stack.engine) as session:
        person = session.scalars(select(Person).where(Person.name == "Annotator 7")).one()
        ticket = logins.issue_sign_in_ticket(session, person)

    async def sign_in() -> tuple[int, str]:
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as http:
            headers = {"X-Triptych": "1", "X-Triptych-Ticket": ticket}
            options = {"ssl": stack.proxy.trust(), "headers": headers}
            async with http.post(f"{stack.proxy.url}/auth/ticket", **options) as answer:
                sent = answer.cookies[cookie_name(COOKIE, https=True)]
                assert sent["secure"]
                return answer.status, sent.value

    status, cookie = asyncio.run(sign_in())

    assert status == 200
    for server in stack.servers:
        assert asyncio.run(store_nothing(server.url, cookie)) == 400  # 401 would be a stranger


def test_one_login_always_reaches_the_same_process(stack):
    """By the name that the cookie has over https, with its hyphen, among cookies of other hosts."""
    label = '{route="page",status="404"}'

    def served(cookie: str) -> list[float]:
        before = [metric(server, "triptych_request_seconds_count", label) for server in stack.servers]
        for others in ("", f"{COOKIE}={cookie[-1]}; ", "x=y; z=w; "):
            stack.proxy.get("/media/none", Cookie=f"{others}{cookie}; last=1")
        after = [metric(server, "triptych_request_seconds_count", label) for server in stack.servers]
        return [now - then for now, then in zip(after, before, strict=True)]

    processes = set()
    for number in range(12):
        name = f"{('__Host-', '__Secure-')[number % 2]}{COOKIE}"
        counts = served(f"{name}=login-{number}")
        assert sorted(counts) == [0, 3]
        processes.add(counts.index(3))
    assert processes == {0, 1}


async def store_nothing(url: str, cookie: str) -> int:
    async with (
        aiohttp.ClientSession(cookies={COOKIE: cookie}) as http,
        http.post(f"{url}/desk/draft", json={}, headers=our_headers(url)) as answer,
    ):
        return answer.status


def test_a_draft_saved_at_one_process_shows_at_the_other(stack):
    async def move() -> None:
        draft = {"ratings": {}, "note": "begun at the first"}
        async with stack.world.annotator(stack.servers[0].url, 6) as first:
            status, _ = await first.save_draft(first.view["work"], draft)
            assert status == 200
        async with stack.world.annotator(stack.servers[1].url, 6) as second:
            assert second.view["draft"] == draft

    asyncio.run(move())


def test_annotators_of_a_killed_process_continue_at_the_other(stack):
    killed: list[int] = []

    async def kill(visitors: list[Visitor]) -> None:
        connected = [await asyncio.to_thread(metric, server, "triptych_connections") for server in stack.servers]
        busiest = connected.index(max(connected))
        before = sum(visitor.journal.opened for visitor in visitors)
        killed.append(busiest)
        stack.servers[busiest].kill()

        def all_moved() -> bool:
            return sum(visitor.journal.opened for visitor in visitors) >= before + connected[busiest]

        await until(all_moved, "those who were at it opened the page at the other")
        assert await asyncio.to_thread(metric, stack.servers[1 - busiest], "triptych_connections") == VISITORS

    visitors = under_load(stack, kill)
    stack.start(*killed)

    assert sum(visitor.journal.opened for visitor in visitors) > VISITORS


def test_a_database_outage_is_reported_and_survived_without_restart(stack, request):
    request.addfinalizer(stack.cluster.start)
    processes = [server.process.pid for server in stack.servers]

    async def stop_for_a_while(visitors: list[Visitor]) -> None:
        for visitor in visitors:
            visitor.journal.messages.clear()
            visitor.journal.statuses.clear()
        began = time.monotonic()
        await asyncio.to_thread(stack.cluster.stop)
        await until(lambda: all(visitor.journal.messages for visitor in visitors), "everybody was told")
        for server in stack.servers:
            assert (await asyncio.to_thread(get, f"{server.url}/healthz"))[0] == 200
            status, _, answer = await asyncio.to_thread(get, f"{server.url}/readyz")
            assert (status, json.loads(answer)["database"]) == (503, "does not answer")
            assert await asyncio.to_thread(metric, server, "triptych_database_up") == 0
        await until(lambda: time.monotonic() > began + OUTAGE, "ten seconds are over")
        await asyncio.to_thread(stack.cluster.start)

    visitors = under_load(stack, stop_for_a_while)

    sentences = {sentence for visitor in visitors for sentence in visitor.journal.messages}
    assert {sentence.replace("\\", "") for sentence in sentences} == {UNREACHABLE}
    assert {status for visitor in visitors for status in visitor.journal.statuses} <= {503}
    assert [server.process.pid for server in stack.servers] == processes
    assert all(server.process.poll() is None and stack.is_ready(n) for n, server in enumerate(stack.servers))


def test_a_rolling_restart_of_both_processes_under_load_loses_nothing(stack):
    ended: list[tuple[int, float]] = []

    async def restart(visitors: list[Visitor]) -> None:
        for number in range(len(stack.servers)):
            began = time.monotonic()
            stack.servers[number].process.terminate()
            code = await asyncio.to_thread(stack.servers[number].process.wait, 30)
            ended.append((code, time.monotonic() - began))
            await asyncio.to_thread(stack.start, number)

    visitors = under_load(stack, restart)

    assert {code for code, _ in ended} <= {0, -signal.SIGTERM}
    assert all(server.output().count('"message": "Stopped."') == 1 for server in stack.servers)
    assert max(seconds for _, seconds in ended) < 15
    assert not [status for visitor in visitors for status in visitor.journal.statuses if status >= 500]


def test_logs_are_json_lines_without_texts_or_addresses(stack):
    written = "".join(server.output() for server in stack.servers)
    lines = [json.loads(line) for line in written.splitlines() if line.startswith("{")]

    assert {"Started.", "Stopped."} <= {line["message"] for line in lines}
    assert "Traceback" not in written
    for secret in ("nearly done", "Annotator 1", "127.0.0.1:5", SECRET, APP, "parameters"):
        assert secret not in written.replace("http://127.0.0.1", "")
    assert "request:" not in stack.proxy.log.read_text()


def test_the_metrics_are_shown_with_the_token_only(stack):
    server = stack.servers[0]

    assert get(f"{server.url}/metrics")[0] == 401
    assert get(f"{server.url}/metrics", Authorization="Bearer wrong")[0] == 401
    assert metric(server, "triptych_annotations") >= VISITORS
    assert metric(server, "triptych_database_up") == 1
    assert metric(server, "triptych_transaction_seconds_count") > 0
    drafts = sum(
        metric(each, "triptych_request_seconds_count", '{route="/desk/draft",status="200"}') for each in stack.servers
    )
    assert drafts > 0


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/readyz", "/_stcore/metrics", "/_stcore/agent/mcp"])
def test_the_proxy_keeps_what_is_for_the_machine_to_itself(stack, path):
    assert stack.proxy.get(path)[0] == 404


def test_visitors_get_tls_and_the_headers_of_app_and_proxy(stack):
    status, headers, page = stack.proxy.get("/")

    assert status == 200
    assert "<title>" in page
    assert headers["Strict-Transport-Security"] == "max-age=31536000"
    assert "frame-ancestors 'self'" in headers["Content-Security-Policy"]
    assert f"wss://127.0.0.1:{stack.proxy.port}" in headers["Content-Security-Policy"]
    assert headers["Server"] == "nginx"
    plain = get(f"http://127.0.0.1:{stack.proxy.plain}/annotate?study=x")
    assert (plain[0], plain[1]["Location"]) == (301, "https://127.0.0.1/annotate?study=x")


@pytest.mark.parametrize(
    ("origin", "status"),
    [("https://annotate.example.org", 101), ("http://annotate.example.org", 403), ("https://evil.example", 403)],
)
def test_sockets_open_from_the_sites_own_pages_only(stack, origin, status):
    async def shake() -> int:
        headers = {"Host": "annotate.example.org", "Origin": origin}
        options = {"ssl": stack.proxy.trust(), "headers": headers, "protocols": ("streamlit",)}
        async with aiohttp.ClientSession() as http:
            try:
                async with http.ws_connect(f"{stack.proxy.url}/_stcore/stream", **options):
                    return 101
            except aiohttp.WSServerHandshakeError as refusal:
                return refusal.status

    assert asyncio.run(shake()) == status


def test_the_apps_role_can_change_neither_log_nor_tables(stack):
    for forbidden in (
        "UPDATE event SET actor = 'x'",
        "DELETE FROM event",
        "DROP TABLE rating",
        "CREATE TABLE more (id int)",
        "UPDATE alembic_version SET version_num = 'x'",
    ):
        with pytest.raises(ProgrammingError), stack.engine.begin() as connection:
            connection.execute(text(forbidden))


def guide(section: str) -> list[str]:
    """The commands of the administrator in a section of the guide."""
    text = (FILES.parent / "deploying.md").read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return re.findall(r"^sudo -u postgres (.+)$", text, re.MULTILINE)


def shell(line: str, env: dict[str, str]) -> None:
    run(["sh", "-ec", line], env)


def test_the_nightly_dump_keeps_thirty_days(stack, tmp_path):
    unit = (FILES / "triptych-backup.service").read_text()
    lines = re.findall(r"^ExecStart(?:Post)?=(.+)$", unit, re.MULTILINE)
    for days in (29, 32):
        (tmp_path / f"{days}.dump").touch()
        os.utime(tmp_path / f"{days}.dump", (time.time() - days * 86400,) * 2)
    env = {**stack.cluster.administering(), "STATE_DIRECTORY": str(tmp_path)}
    shell(lines[0].replace("%%", "%"), env)
    shell(lines[1].replace("*.dump", "'*.dump'"), env)  # systemd expands no pattern

    backups = sorted(path.name for path in tmp_path.iterdir())
    assert backups[0] == "29.dump"
    assert [re.fullmatch(r"triptych-\d{8}-\d{6}\.dump", name) is not None for name in backups[1:]] == [True]


def test_a_dump_restored_by_the_guide_holds_every_event(stack, tmp_path):
    cluster, dump = stack.cluster, tmp_path / "triptych.dump"
    env = cluster.administering()
    run([cluster.program("pg_dump"), "--format=custom", f"--file={dump}", "triptych"], env)
    restoring, naming = guide("Backup")[:2], guide("Backup")[2:]
    assert restoring[1].endswith("/var/lib/triptych-backup/triptych-….dump")
    shell(restoring[0], env)
    shell(restoring[1].replace("/var/lib/triptych-backup/triptych-….dump", str(dump)), env)
    restored = cluster.url("triptych_app", "restored", APP)
    assert "every row matches it" in command("data", "verify", TRIPTYCH_DATABASE_URL=restored, TRIPTYCH_SECRET=SECRET)

    shell("createdb shop", env)  # the stack's own database is in use
    for line in naming:
        shell(re.sub(r"\btriptych\b", "shop", line), env)
    shop = cluster.url("triptych_app", "shop", APP)
    assert "No problem found" in command("server", "doctor", **{**stack.env(), "TRIPTYCH_DATABASE_URL": shop})
    owner = database.open_engine(cluster.url("triptych_owner", "shop", OWNER, "postgresql+psycopg"))
    with owner.begin() as connection:
        connection.execute(text("CREATE TABLE of_a_later_version (id int)"))
    owner.dispose()


def test_erased_rows_are_wiped_by_the_administrators_command_only(stack):
    assert wiping.wipe(stack.engine, ["person"]) == wiping.Wiped.not_ours
    for line in guide("Erasing somebody"):
        shell(line, stack.cluster.administering())


def test_a_study_moves_between_a_machine_and_a_server(stack, tmp_path):
    small = f"sqlite:///{tmp_path / 'triptych.db'}"
    output = command("data", "move", small, "--study", stack.world.slug, **stack.env())

    assert "Every event chain is valid" in output
    assert "every row matches it" in command("data", "verify", TRIPTYCH_DATABASE_URL=small)

    cluster = stack.cluster
    shell("createdb -T template0 -O triptych_owner second", cluster.administering())
    owner = cluster.url("triptych_owner", "second", OWNER)
    output = command("data", "move", owner, TRIPTYCH_DATABASE_URL=small, TRIPTYCH_SECRET=SECRET)
    cluster.psql("rights.sql", "triptych_owner", "second", OWNER)
    second = {**stack.env(), "TRIPTYCH_DATABASE_URL": cluster.url("triptych_app", "second", APP)}
    assert "Every event chain is valid" in output
    assert OWNER not in output
    assert "every row matches it" in command("data", "verify", **second)
    assert "No problem found" in command("server", "doctor", **second)


def test_a_study_is_imported_with_the_rights_of_the_app(stack, tmp_path):
    command("study", "export", stack.world.slug, f"{tmp_path / 'study.zip'}", **stack.env())
    cluster = stack.cluster
    shell("createdb -T template0 -O triptych_owner third", cluster.administering())
    owner = cluster.url("triptych_owner", "third", OWNER)
    command("data", "migrate", TRIPTYCH_DATABASE_URL=owner, TRIPTYCH_SECRET=SECRET)
    cluster.psql("rights.sql", "triptych_owner", "third", OWNER)
    engine = database.open_engine(cluster.url("triptych_app", "third", APP, "postgresql+psycopg"))
    with database.writing(engine) as session:
        accounts.create_lead(session, "Dr Third", "a passcode of the third")
    engine.dispose()
    third = {**stack.env(), "TRIPTYCH_DATABASE_URL": cluster.url("triptych_app", "third", APP)}
    bring = partial(command, "study", "import", f"{tmp_path / 'study.zip'}", "Dr Third", **third)
    revoke = "REVOKE UPDATE ON ALL SEQUENCES IN SCHEMA public FROM triptych_app"  # as in an earlier rights.sql
    run([cluster.program("psql"), "-q", "-c", revoke, owner])

    with pytest.raises(AssertionError, match=r"must run docs/deploy/rights\.sql again: permission denied"):
        bring()
    cluster.psql("rights.sql", "triptych_owner", "third", OWNER)
    assert stack.world.slug in bring()
    assert "every row matches it" in command("data", "verify", **third)


def test_the_doctor_reports_a_wrong_password_and_nothing_else(stack):
    assert "PostgreSQL" in (output := command("server", "doctor", **stack.env()))
    assert "No problem found" in output
    wrong = {**stack.env(), "TRIPTYCH_DATABASE_URL": stack.cluster.url("triptych_app", password="wrong")}
    with pytest.raises(AssertionError, match="(?s)password authentication failed.*1 problem found"):
        command("server", "doctor", **wrong)


def test_the_example_environment_is_refused(stack, tmp_path, request):
    lines = (FILES / "environment.example").read_text().splitlines()
    example = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    server = start_server(tmp_path, example, free_port())
    request.addfinalizer(server.stop)

    assert server.process.wait(60) != 0
    assert "TRIPTYCH_SECRET is too easy to guess" in server.output()

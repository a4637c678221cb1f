"""Two app processes on one PostgreSQL with a hundred annotators: waiting times and errors."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path

from sqlalchemy import create_engine, func, select, text

from bench.client import Annotator
from bench.figures import Figure, at_most
from bench.load import work_until
from bench.options import Options
from bench.postgres import throw_away_postgres
from bench.server import Server, running_app
from bench.world import World, build_world
from triptych.storage import database, events
from triptych.storage.models import RATED, Assignment, Item, Study, Submission

ANNOTATORS, RATERS = 100, 3
WARM_UP = 15.0  # seconds


def two_processes(options: Options, home: Path) -> list[Figure]:
    """One second and one draft between items; annotators are assigned to the two processes in turn."""
    seconds = options.seconds(60)
    with _shared_database() as url:
        # a tenth more items than a hundred annotators without waiting times would fill
        items = round(1.1 * ANNOTATORS * (WARM_UP + seconds) / RATERS)
        world = build_world(home / "world", items=items, annotators=ANNOTATORS, raters=RATERS)
        with ExitStack() as stack:
            servers = [stack.enter_context(running_app(home / f"app{n}")) for n in range(2)]
            before, waited = asyncio.run(_work(world, servers, url, seconds))
        wrong = _wrong(url, len(before) + len(waited))
    note = (
        f"two app processes without a proxy, one PostgreSQL that waits for its disk, {ANNOTATORS} annotators for "
        f"{seconds:.0f} s on {items:,} items of {RATERS} raters, all on one machine; after "
        f"{WARM_UP:.0f} s of work and ANALYZE, which autovacuum runs within the first minute: plans made for empty "
        "tables read whole tables"
    )
    what = "100 annotators, two processes, PostgreSQL: submit → next item"
    faults = "… annotations lost, stored twice or beyond the limit"
    return [
        at_most(what, "ms", [1000 * wait for wait in waited], 250, by="p95", note=note),
        at_most(faults, "", [wrong], 0, note="counted in the database afterwards"),
    ]


@contextmanager
def _shared_database() -> Iterator[str]:
    """A database on a temporary server, with a secret, in the environment of processes started within this context."""
    with throw_away_postgres(durable=True) as server:
        admin = create_engine(f"{server}/postgres", isolation_level="AUTOCOMMIT")
        with admin.connect() as connection:
            connection.execute(text("CREATE DATABASE triptych"))
        admin.dispose()
        settings = {"TRIPTYCH_DATABASE_URL": f"{server}/triptych", "TRIPTYCH_SECRET": secrets.token_urlsafe(48)}
        before = {name: os.environ.get(name) for name in settings}
        os.environ.update(settings)
        try:
            yield settings["TRIPTYCH_DATABASE_URL"]
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value


async def _work(world: World, servers: list[Server], url: str, seconds: float) -> tuple[list[float], list[float]]:
    """Seconds from each submit to its answer: first with the new database, then after the warm-up."""
    async with AsyncExitStack() as stack:
        people = []
        for start in range(0, ANNOTATORS, 10):
            coming = [world.annotator(servers[n % 2].url, n) for n in range(start, start + 10)]
            people += await asyncio.gather(*(stack.enter_async_context(person) for person in coming))
        before = await _together(people, WARM_UP)
        await asyncio.to_thread(_analyze, url)
        return before, await _together(people, seconds)


async def _together(people: list[Annotator], seconds: float) -> list[float]:
    end = time.perf_counter() + seconds

    async def annotate_until_the_end(number: int) -> list[tuple[float, float]]:
        await asyncio.sleep(number / len(people))
        return await work_until(people[number], end, drafts=1, pause=1.0)

    done = await asyncio.gather(*(annotate_until_the_end(n) for n in range(len(people))))
    return [wait for pairs in done for _, wait in pairs]


def _analyze(url: str) -> None:
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("ANALYZE"))
    engine.dispose()


def _wrong(url: str, acknowledged: int) -> int:
    """Number of errors.

    Acknowledged submissions that are not stored or stored twice, items with too many raters, a broken chain.
    """
    engine = database.open_engine(url)
    with database.reading(engine) as session:
        stored = session.scalar(select(func.count()).select_from(Submission))
        done = select(Assignment.item_id, func.count()).where(Assignment.state.in_(RATED)).group_by(Assignment.item_id)
        raters = dict(session.execute(select(Item.id, Item.raters)).tuples().all())
        over = sum(count > raters[item] for item, count in session.execute(done))
        broken = events.first_broken(session, session.scalars(select(Study.id)).one()) is not None
    engine.dispose()
    return abs((stored or 0) - acknowledged) + over + broken

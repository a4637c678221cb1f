"""What happens once when the server starts, and until it stops."""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine

from triptych import database, host, people, settings
from triptych.database import reading, writing
from triptych.web.session import web_engine


@contextmanager
def running(address: str) -> Iterator[None]:
    """Holds the database for this server; prints the set-up link where there is no lead yet.

    `address` is where the app is reached, for the link. Raises UnsafeDatabase if another server uses the file.
    """
    # addresses of requests hold personal links; they have no place in a log
    logging.getLogger("uvicorn.access").setLevel(logging.WARNING)
    lock = database.lock_server(database.open_engine(settings.database_url()))
    engine = web_engine()
    if settings.wants_demo():
        from triptych import demo

        demo.load_demo(engine)
    link = setup_link(engine, address)
    if link:
        sys.stdout.write(f"\n  No lead account yet. Make it with this link, which works once:\n\n  {link}\n\n")
        sys.stdout.flush()
    host.send_at_once()
    # what is imported by now stays; a collector that walks it after every run costs a tenth of a second each
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        engine.dispose()
        if lock:
            lock.close()


def setup_link(engine: Engine, address: str) -> str | None:
    """A new one-time link for the first lead account; None if there is a lead."""
    with reading(engine) as session:
        if people.has_lead(session):
            return None
    with writing(engine) as session:
        return f"{address}/?setup={people.issue_setup_ticket(session)}"

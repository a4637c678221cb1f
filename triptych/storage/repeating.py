"""Work that a running server repeats in a separate thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from triptych.errors import TriptychError

STOP_SECONDS = 5.0  # time that a stopping server waits for work under way


@contextmanager
def repeated(work: Callable[[], None], name: str, seconds: float, log: logging.Logger) -> Iterator[None]:
    """Does the work at once, then every `seconds` until the block is left; an error does not end the repetition."""
    stopping = threading.Event()

    def run() -> None:
        while not stopping.is_set():
            try:
                work()
            except TriptychError as error:
                log.warning("%s: it failed and is tried again.", name, exc_info=error)
            except Exception as error:  # the next attempt may succeed; nothing else would report the failure
                log.error("%s: it failed and is tried again.", name, exc_info=error)
            stopping.wait(seconds)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(STOP_SECONDS)

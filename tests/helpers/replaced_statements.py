"""Statements that PostgreSQL cancels, refuses or never answers, in place of those that a program sends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, event, text

LOCK = 1
CANCELLED = "SELECT count(pg_cancel_backend(pg_backend_pid())) FROM generate_series(1, 9)"
TERMINATED = "SELECT count(pg_terminate_backend(pg_backend_pid())) FROM generate_series(1, 9)"
NOT_GRANTED = f"SELECT set_config('lock_timeout', '1', true), pg_advisory_xact_lock({LOCK})"
LOST_FILE = "SELECT pg_read_binary_file('/nowhere')"


@contextmanager
def replaced(engine: Engine, part: str, instead: str) -> Iterator[None]:
    """Whatever this process sends to PostgreSQL, `instead` replaces each statement that contains this part."""

    def chosen(connection: Connection, _cursor: Any, statement: str, parameters: Any, *_: Any) -> tuple[str, Any]:
        is_replaced = connection.dialect.name == "postgresql" and part in statement
        return (instead, {}) if is_replaced else (statement, parameters)

    with engine.connect() as other:
        other.execute(text(f"SELECT pg_advisory_lock({LOCK})"))
        event.listen(Engine, "before_cursor_execute", chosen, retval=True)
        try:
            yield
        finally:
            event.remove(Engine, "before_cursor_execute", chosen)
            other.invalidate()

"""Alembic's entry point; the caller hands over an open connection."""

from __future__ import annotations

from alembic import context

from triptych.storage.models import Base

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()

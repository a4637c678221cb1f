"""Events carry the rows they write, so that every table can be rebuilt from the log"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("event_detail", sa.Column("rows", sa.String(), nullable=True))

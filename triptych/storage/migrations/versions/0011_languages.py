"""The language that a person chose, and the one that an item was shown in"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("person", sa.Column("language", sa.String()))
    op.add_column("assignment", sa.Column("language", sa.String()))

"""Whether a highlight was marked by whole words or by letters"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("highlight", sa.Column("unit", sa.String()))

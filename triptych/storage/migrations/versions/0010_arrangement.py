"""How the responses were shown that an annotation judges: side by side, or one at a time"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("assignment", sa.Column("arrangement", sa.String()))

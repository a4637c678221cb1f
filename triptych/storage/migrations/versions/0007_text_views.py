"""How an annotator saw the texts of an item"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("assignment", sa.Column("text_view", sa.String(), nullable=True))

"""Which wording of the instructions an annotator has read"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("membership", sa.Column("instructions_version", sa.String(), nullable=True))

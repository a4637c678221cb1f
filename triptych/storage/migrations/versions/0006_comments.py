"""Comments between leads and an annotator"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from triptych.storage.models import Utc

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "comment",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("assignment_id", sa.Integer(), sa.ForeignKey("assignment.id", ondelete="CASCADE"), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
    )
    op.create_index("ix_comment_assignment_id", "comment", ["assignment_id"])

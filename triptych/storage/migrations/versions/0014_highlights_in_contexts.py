"""A highlight without a position is in the context of its item"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    with op.batch_alter_table("highlight") as highlight:
        highlight.alter_column("position", existing_type=sa.Integer(), nullable=True)
        # the slot no longer holds a row without a position to its assignment
        highlight.create_foreign_key(
            "fk_highlight_assignment", "assignment", ["assignment_id"], ["id"], ondelete="CASCADE"
        )

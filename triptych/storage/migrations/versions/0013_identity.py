"""How single sign-on names a person"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("person", sa.Column("identity", sa.String()))
    op.create_index("ix_person_identity", "person", ["identity"], unique=True)

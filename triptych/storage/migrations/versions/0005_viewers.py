"""Viewers, who look at a study and change nothing"""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    for table in ("person", "membership"):
        with op.batch_alter_table(table) as changed:
            changed.drop_constraint("ck_role_known", type_="check")
            changed.create_check_constraint("ck_role_known", "role IN ('annotator', 'lead', 'viewer')")

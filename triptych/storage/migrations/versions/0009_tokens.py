"""Tokens of leads' scripts, and what scripts were answered"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from triptych.storage.models import Utc

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "token",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id", ondelete="CASCADE"), nullable=False),
        sa.Column("study_id", sa.Integer(), sa.ForeignKey("study.id", ondelete="CASCADE"), nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("secret_hash", sa.String(), nullable=False, unique=True),
        sa.Column("may_write", sa.Boolean(), nullable=False),
        sa.Column("may_unblind", sa.Boolean(), nullable=False),
        sa.Column("created_at", Utc(), nullable=False),
        sa.Column("expires_at", Utc(), nullable=False),
        sa.Column("used_at", Utc(), nullable=True),
        sa.CheckConstraint("NOT may_unblind OR study_id IS NOT NULL", name="ck_unblinds_one_study"),
    )
    op.create_index("ix_token_person_id", "token", ["person_id"])
    op.create_index("ix_token_study_id", "token", ["study_id"])
    op.create_table(
        "stored_answer",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id", ondelete="CASCADE"), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("request_hash", sa.String(), nullable=False),
        sa.Column("answer", sa.JSON(), nullable=False),
        sa.Column("stored_at", Utc(), nullable=False),
        sa.UniqueConstraint("person_id", "key"),
    )
    op.create_index("ix_stored_answer_stored_at", "stored_answer", ["stored_at"])

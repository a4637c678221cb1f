"""Running a study: entry tests, checks among the items, explicit plans, workbooks, withdrawal"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from triptych.storage.models import Utc

revision = "0003"
down_revision = "0002"

OPEN_AT_SCREEN = sa.text("state = 'reserved' AND origin = 'web'")
ONCE = sa.text("purpose IN ('main', 'training', 'gold', 'attention') AND state <> 'expired'")
REPEATED = sa.text("repeat_of IS NOT NULL AND state <> 'expired'")
FINAL = sa.text("purpose = 'adjudication'")


def upgrade() -> None:
    _checks_among_items()
    _one_index("ux_one_live_reservation", ["study_id", "person_id"], OPEN_AT_SCREEN, replaced=True)
    _one_index("ux_one_main_per_person", ["item_id", "person_id"], ONCE, replaced=True)
    _one_index("ux_one_repeat", ["repeat_of"], REPEATED)
    _one_index("ux_one_final_value", ["item_id"], FINAL)
    for name, kind in (
        ("instructions_read_at", Utc()),
        ("turned_away_at", Utc()),
        ("turned_away_as", sa.String()),
        ("withdrawn_at", Utc()),
    ):
        op.add_column("membership", sa.Column(name, kind, nullable=True))
    _entry_tests()
    _plans_and_workbooks()


def _checks_among_items() -> None:
    with op.batch_alter_table("item") as item:
        item.drop_constraint("ck_item_purpose", type_="check")
        item.create_check_constraint("ck_item_purpose", "purpose IN ('main', 'training', 'gold', 'attention')")


def _one_index(name: str, columns: list[str], where: sa.TextClause, replaced: bool = False) -> None:
    if replaced:
        op.drop_index(name, "assignment")
    op.create_index(name, "assignment", columns, unique=True, sqlite_where=where, postgresql_where=where)


def _entry_tests() -> None:
    op.create_table(
        "entry_attempt",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("membership_id", sa.Integer(), sa.ForeignKey("membership.id", ondelete="CASCADE"), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("started_at", Utc(), nullable=False),
        sa.Column("finished_at", Utc(), nullable=True),
        sa.Column("asked", sa.Integer(), nullable=False),
        sa.Column("right", sa.Integer(), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=True),
        sa.CheckConstraint("(passed IS NULL) = (finished_at IS NULL)", name="ck_attempt_finished"),
        sa.CheckConstraint('"right" BETWEEN 0 AND asked', name="ck_right_of_asked"),
        sa.UniqueConstraint("membership_id", "number"),
    )
    op.create_table(
        "test_answer",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("attempt_id", sa.Integer(), sa.ForeignKey("entry_attempt.id", ondelete="CASCADE"), nullable=False),
        sa.Column("question", sa.String(), nullable=False),
        sa.Column("option", sa.String(), nullable=False),
        sa.Column("correct", sa.Boolean(), nullable=False),
        sa.Column("answered_at", Utc(), nullable=False),
        sa.UniqueConstraint("attempt_id", "question"),
    )


def _plans_and_workbooks() -> None:
    op.create_table(
        "planned_item",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("study_id", sa.Integer(), sa.ForeignKey("study.id", ondelete="CASCADE"), nullable=False),
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id", ondelete="CASCADE"), nullable=False),
        sa.Column("item_id", sa.Integer(), sa.ForeignKey("item.id", ondelete="CASCADE"), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.UniqueConstraint("study_id", "person_id", "item_id"),
    )
    op.create_table(
        "workbook",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("study_id", sa.Integer(), sa.ForeignKey("study.id", ondelete="CASCADE"), nullable=False),
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id", ondelete="CASCADE"), nullable=False),
        sa.Column("token", sa.String(), nullable=False, unique=True),
        sa.Column("made_at", Utc(), nullable=False),
        sa.Column("returned_at", Utc(), nullable=True),
        sa.Column("cancelled_at", Utc(), nullable=True),
    )
    op.create_index("ix_workbook_study_id", "workbook", ["study_id"])
    # in SQL: alembic would copy SQLite's table for a column with a key, which both databases add in place
    op.execute("ALTER TABLE assignment ADD COLUMN workbook_id INTEGER REFERENCES workbook (id)")

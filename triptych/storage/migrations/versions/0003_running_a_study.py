"""Running a study: entry tests, checks among the items, explicit plans, workbooks, withdrawal"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from triptych.storage.models import Utc

revision = "0003"
down_revision = "0002"

FREE = sa.text("taken < raters")
OPEN_AT_SCREEN = sa.text("state = 'reserved' AND origin = 'web'")
ONCE = sa.text("purpose IN ('main', 'training', 'gold', 'attention') AND state <> 'expired'")
REPEATED = sa.text("repeat_of IS NOT NULL AND state <> 'expired'")
FINAL = sa.text("purpose = 'adjudication'")


def item_before() -> sa.Table:
    """The table as 0001 made it: SQLite changes a constraint only by copying the table, and reflects none."""
    order = ["study_id", "purpose", "retired", "priority", "taken", "rank"]
    return sa.Table(
        "item",
        sa.MetaData(),
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("external_id", sa.String(), nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("context", sa.String(), nullable=False),
        sa.Column("meta", sa.JSON(), nullable=False),
        sa.Column("extra_texts", sa.JSON(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("raters", sa.Integer(), nullable=False),
        sa.Column("taken", sa.Integer(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("retired", sa.Boolean(), nullable=False),
        sa.Column("retired_reason", sa.String(), nullable=True),
        sa.CheckConstraint("purpose IN ('main', 'training')", name="ck_item_purpose"),
        sa.CheckConstraint("taken >= 0 AND taken <= raters", name="ck_never_over_assigned"),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("study_id", "external_id"),
        sa.Index("ix_item_free", *order, sqlite_where=FREE, postgresql_where=FREE),
        sa.Index("ix_item_next", *order),
    )


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
    with op.batch_alter_table("item", copy_from=item_before()) as item:
        item.drop_constraint("ck_item_purpose", type_="check")
        item.create_check_constraint("ck_item_purpose", "purpose IN ('main', 'training', 'gold', 'attention')")


def _one_index(name: str, columns: list[str], where: sa.TextClause, replaced: bool = False) -> None:
    if replaced:
        op.drop_index(name, "assignment")
    op.create_index(name, "assignment", columns, unique=True, sqlite_where=where, postgresql_where=where)


def _entry_tests() -> None:
    op.create_table(
        "entry_attempt",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("membership_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("started_at", Utc(), nullable=False),
        sa.Column("finished_at", Utc(), nullable=True),
        sa.Column("asked", sa.Integer(), nullable=False),
        sa.Column("right", sa.Integer(), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=True),
        sa.CheckConstraint("(passed IS NULL) = (finished_at IS NULL)", name="ck_attempt_finished"),
        sa.CheckConstraint('"right" BETWEEN 0 AND asked', name="ck_right_of_asked"),
        sa.ForeignKeyConstraint(["membership_id"], ["membership.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("membership_id", "number"),
    )
    op.create_table(
        "test_answer",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("attempt_id", sa.Integer(), nullable=False),
        sa.Column("question", sa.String(), nullable=False),
        sa.Column("option", sa.String(), nullable=False),
        sa.Column("correct", sa.Boolean(), nullable=False),
        sa.Column("answered_at", Utc(), nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["entry_attempt.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("attempt_id", "question"),
    )


def _plans_and_workbooks() -> None:
    op.create_table(
        "planned_item",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("study_id", "person_id", "item_id"),
    )
    op.create_table(
        "workbook",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("token", sa.String(), nullable=False),
        sa.Column("made_at", Utc(), nullable=False),
        sa.Column("returned_at", Utc(), nullable=True),
        sa.Column("cancelled_at", Utc(), nullable=True),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token"),
    )
    op.create_index("ix_workbook_study_id", "workbook", ["study_id"])
    # in SQL: alembic would copy SQLite's table for a column with a key, which both databases add in place
    op.execute("ALTER TABLE assignment ADD COLUMN workbook_id INTEGER REFERENCES workbook (id)")

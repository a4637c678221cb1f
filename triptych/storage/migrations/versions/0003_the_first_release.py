"""The tables of the first release, 0.1.0"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from triptych.storage.models import Utc, at_slot, partial_index

revision = "0003"
down_revision = None
NEXT_ITEM, FREE = ["study_id", "purpose", "retired", "priority", "taken", "rank"], sa.text("taken < raters")


def part_of(table: str, *, nullable: bool = False, unique: bool = False, index: bool = False) -> sa.Column[int]:
    """The number of the row with which a row goes."""
    parent = sa.ForeignKey(f"{table}.id", ondelete="CASCADE")
    return sa.Column(f"{table}_id", sa.Integer(), parent, nullable=nullable, unique=unique, index=index)


def upgrade() -> None:
    op.create_table(
        "failed_sign_in",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("account_hash", sa.String(), nullable=False, index=True),
        sa.Column("at", Utc(), nullable=False),
    )
    op.create_table(
        "person",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("pseudonym", sa.String(), nullable=False, unique=True),
        sa.Column("name", sa.String()),
        sa.Column("email", sa.String()),
        sa.Column("passcode_hash", sa.String()),
        sa.Column("created_at", Utc(), nullable=False),
        sa.Column("disabled_at", Utc()),
        sa.CheckConstraint("kind IN ('human', 'judge', 'simulated')", name="ck_kind_known"),
        sa.CheckConstraint("role IN ('annotator', 'lead')", name="ck_role_known"),
    )
    op.create_table(
        "rubric",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False, unique=True),
        sa.Column("yaml", sa.String(), nullable=False),
        sa.Column("loaded_at", Utc(), nullable=False),
    )
    op.create_table(
        "setting",
        sa.Column("key", sa.String(), primary_key=True),
        sa.Column("value", sa.String(), nullable=False),
    )
    op.create_table(
        "login",
        sa.Column("id", sa.Integer(), primary_key=True),
        part_of("person", index=True),
        sa.Column("secret_hash", sa.String(), nullable=False, unique=True),
        sa.Column("created_at", Utc(), nullable=False),
        sa.Column("expires_at", Utc(), nullable=False),
        sa.Column("revoked_at", Utc()),
    )
    op.create_table(
        "panel_identity",
        sa.Column("id", sa.Integer(), primary_key=True),
        part_of("person", index=True),
        sa.Column("panel", sa.String(), nullable=False),
        sa.Column("external_id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.UniqueConstraint("panel", "external_id"),
    )
    op.create_table(
        "study",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("slug", sa.String(), nullable=False, unique=True),
        sa.Column("series", sa.String(), nullable=False),
        sa.Column("round", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("access", sa.String(), nullable=False),
        sa.Column("demo", sa.Boolean(), nullable=False),
        sa.Column("rubric_id", sa.Integer(), sa.ForeignKey("rubric.id"), nullable=False),
        sa.Column("presentation", sa.String(), nullable=False),
        sa.Column("raters_per_item", sa.Integer(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("seed", sa.String(), nullable=False),
        sa.Column("item_count", sa.Integer(), nullable=False),
        sa.Column("design_hash", sa.String()),
        sa.Column("created_at", Utc(), nullable=False),
        sa.Column("opened_at", Utc()),
        sa.Column("paused_at", Utc()),
        sa.Column("unblinded_at", Utc()),
        sa.Column("event_number", sa.Integer(), nullable=False),
        sa.Column("event_hash", sa.String(), nullable=False),
        sa.CheckConstraint("access IN ('open', 'invited', 'panel')", name="ck_access_known"),
        sa.CheckConstraint("round IN ('pilot', 'main', 'expert', 'crowd')", name="ck_round_known"),
        sa.CheckConstraint("state IN ('draft', 'open', 'paused', 'closed')", name="ck_state_known"),
        sa.CheckConstraint("raters_per_item >= 1", name="ck_raters_per_item"),
        sa.UniqueConstraint("series", "round"),
    )
    op.create_table(
        "ticket",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("kind", sa.String(), nullable=False),
        part_of("person", nullable=True, index=True),
        sa.Column("secret_hash", sa.String(), nullable=False, unique=True),
        sa.Column("expires_at", Utc(), nullable=False),
        sa.Column("used_at", Utc()),
        sa.CheckConstraint("kind IN ('sign_in', 'setup')", name="ck_kind_known"),
    )
    op.create_table(
        "criterion",
        sa.Column("id", sa.Integer(), primary_key=True),
        part_of("study", index=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("level", sa.String(), nullable=False),
        sa.Column("about", sa.String(), nullable=False),
        sa.Column("low", sa.Float()),
        sa.Column("high", sa.Float()),
        sa.Column("step", sa.Float()),
        sa.CheckConstraint("about IN ('candidate', 'item')"),
        sa.UniqueConstraint("study_id", "key"),
    )
    op.create_table(
        "invitation",
        sa.Column("id", sa.Integer(), primary_key=True),
        part_of("study", index=True),
        part_of("person", index=True),
        sa.Column("secret_hash", sa.String(), nullable=False, unique=True),
        sa.Column("expires_at", Utc(), nullable=False),
        sa.Column("revoked_at", Utc()),
    )
    op.create_table(
        sa.quoted_name("item", quote=True),  # as in the files of that release, which stored files are compared with
        sa.Column("id", sa.Integer(), primary_key=True),
        part_of("study"),
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
        sa.Column("retired_reason", sa.String()),
        sa.CheckConstraint("purpose IN ('main', 'training', 'gold', 'attention')", name="ck_item_purpose"),
        sa.CheckConstraint("taken >= 0 AND taken <= raters", name="ck_never_over_assigned"),
        sa.UniqueConstraint("study_id", "external_id"),
    )
    op.create_index("ix_item_free", "item", NEXT_ITEM, sqlite_where=FREE, postgresql_where=FREE)
    op.create_index("ix_item_next", "item", NEXT_ITEM)
    op.create_table(
        "membership",
        sa.Column("id", sa.Integer(), primary_key=True),
        part_of("study", index=True),
        part_of("person", index=True),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("joined_at", Utc(), nullable=False),
        sa.Column("consent_version", sa.String()),
        sa.Column("consented_at", Utc()),
        sa.Column("instructions_read_at", Utc()),
        sa.Column("turned_away_at", Utc()),
        sa.Column("turned_away_as", sa.String()),
        sa.Column("withdrawn_at", Utc()),
        sa.Column("excluded_at", Utc()),
        sa.Column("excluded_reason", sa.String()),
        sa.CheckConstraint("role IN ('annotator', 'lead')", name="ck_role_known"),
        sa.UniqueConstraint("study_id", "person_id", "role"),
    )
    op.create_table(
        "system",
        sa.Column("id", sa.Integer(), primary_key=True),
        part_of("study"),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("blind_code", sa.Integer(), nullable=False),
        sa.UniqueConstraint("study_id", "blind_code"),
        sa.UniqueConstraint("study_id", "name"),
    )
    op.create_table(
        "workbook",
        sa.Column("id", sa.Integer(), primary_key=True),
        part_of("study", index=True),
        part_of("person"),
        sa.Column("token", sa.String(), nullable=False, unique=True),
        sa.Column("made_at", Utc(), nullable=False),
        sa.Column("returned_at", Utc()),
        sa.Column("cancelled_at", Utc()),
    )
    op.create_table(
        "assignment",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("token", sa.String(), nullable=False, unique=True),
        part_of("study"),
        part_of("item", index=True),
        part_of("person"),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("repeat_of", sa.Integer(), sa.ForeignKey("assignment.id")),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reserved_at", Utc(), nullable=False),
        sa.Column("expires_at", Utc(), nullable=False),
        sa.Column("submitted_at", Utc()),
        sa.Column("active_seconds", sa.Float(), nullable=False),
        sa.Column("reason", sa.String()),
        sa.Column("note", sa.String()),
        sa.Column("draft", sa.JSON()),
        sa.Column("draft_seq", sa.Integer(), nullable=False),
        sa.Column("pen", sa.String()),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("design_hash", sa.String()),
        sa.CheckConstraint("(purpose = 'repeat') = (repeat_of IS NOT NULL)", name="ck_repeat_of"),
        sa.CheckConstraint(
            "(state IN ('submitted', 'surplus', 'skipped', 'ignored')) = (submitted_at IS NOT NULL) OR state = 'withdrawn'",
            name="ck_submitted_has_time",
        ),
        sa.CheckConstraint("origin IN ('web', 'workbook', 'import', 'judge', 'simulated')", name="ck_origin_known"),
        sa.CheckConstraint(
            "purpose IN ('main', 'training', 'entry_test', 'attention', 'gold', 'repeat', 'adjudication')",
            name="ck_purpose_known",
        ),
        sa.CheckConstraint(
            "state IN ('reserved', 'submitted', 'surplus', 'skipped', 'ignored', 'expired', 'withdrawn')",
            name="ck_state_known",
        ),
        sa.Index("ix_assignment_expiry", "study_id", "state", "expires_at"),
        sa.Index("ix_assignment_person", "person_id", "study_id", "submitted_at"),
        partial_index(
            "ux_one_live_reservation", "study_id", "person_id", where="state = 'reserved' AND origin = 'web'"
        ),
        partial_index(
            "ux_one_main_per_person",
            "item_id",
            "person_id",
            where="purpose IN ('main', 'training', 'gold', 'attention') AND state <> 'expired'",
        ),
        partial_index("ux_one_repeat", "repeat_of", where="repeat_of IS NOT NULL AND state <> 'expired'"),
        partial_index("ux_one_final_value", "item_id", where="purpose = 'adjudication'"),
    )
    op.create_table(
        "candidate",
        sa.Column("id", sa.Integer(), primary_key=True),
        part_of("item"),
        part_of("system", index=True),
        sa.Column("text", sa.String()),
        sa.Column("turns", sa.JSON()),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.UniqueConstraint("item_id", "system_id"),
    )
    op.create_table(
        "option",
        sa.Column("id", sa.Integer(), primary_key=True),
        part_of("criterion", index=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("missing", sa.Boolean(), nullable=False),
        sa.UniqueConstraint("criterion_id", "key"),
    )
    op.create_table(
        "reference",
        sa.Column("id", sa.Integer(), primary_key=True),
        part_of("item"),
        sa.Column("position", sa.Integer()),
        part_of("criterion", index=True),
        sa.Column("accepted", sa.String(), nullable=False),
        sa.Column("close", sa.Float(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.UniqueConstraint("item_id", "position", "criterion_id"),
    )
    op.create_table(
        "turn",
        sa.Column("id", sa.Integer(), primary_key=True),
        part_of("item"),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("speaker", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.UniqueConstraint("item_id", "position"),
    )
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), primary_key=True),
        part_of("study"),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("assignment_id", sa.Integer(), sa.ForeignKey("assignment.id", ondelete="SET NULL")),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("previous_hash", sa.String(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.UniqueConstraint("study_id", "number"),
        sa.Index("ix_event_assignment", "assignment_id"),
    )
    op.create_table(
        "slot",
        sa.Column("assignment_id", sa.Integer(), sa.ForeignKey("assignment.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("position", sa.Integer(), primary_key=True),
        part_of("candidate", index=True),
        sa.Column("order_known", sa.Boolean(), nullable=False),
        sa.Column("set_aside", sa.String()),
        sa.UniqueConstraint("assignment_id", "candidate_id"),
    )
    op.create_table(
        "submission",
        sa.Column("id", sa.String(), primary_key=True),
        part_of("assignment", index=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("pen", sa.String(), nullable=False),
        sa.Column("received_at", Utc(), nullable=False),
        sa.Column("active_seconds", sa.Float(), nullable=False),
        sa.UniqueConstraint("assignment_id", "version"),
    )
    op.create_table(
        "event_detail",
        sa.Column("event_id", sa.Integer(), sa.ForeignKey("event.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("salt", sa.String(), nullable=False),
        sa.Column("old", sa.JSON()),
        sa.Column("new", sa.JSON()),
    )
    op.create_table(
        "highlight",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer()),
        sa.Column("start", sa.Integer()),
        sa.Column("end", sa.Integer()),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("quote", sa.String(), nullable=False),
        sa.Column("comment", sa.String(), nullable=False),
        sa.CheckConstraint(
            '(start IS NULL AND "end" IS NULL) OR (start >= 0 AND "end" > start)', name="ck_span_in_order"
        ),
        at_slot("fk_highlight_slot"),
        sa.Index("ix_highlight_assignment", "assignment_id"),
    )
    op.create_table(
        "rating",
        sa.Column("id", sa.Integer(), primary_key=True),
        part_of("assignment"),
        sa.Column("position", sa.Integer()),
        part_of("criterion", index=True),
        sa.Column("number", sa.Float()),
        sa.Column("option_id", sa.Integer(), sa.ForeignKey("option.id")),
        sa.Column("missing", sa.Boolean(), nullable=False),
        sa.CheckConstraint("missing OR (number IS NOT NULL) <> (option_id IS NOT NULL)", name="ck_one_value"),
        sa.CheckConstraint("number IS NULL OR number = number + 0", name="ck_number_is_a_number"),
        at_slot("fk_rating_slot"),
        sa.UniqueConstraint("assignment_id", "position", "criterion_id"),
        partial_index("ux_rating_about_item", "assignment_id", "criterion_id", where="position IS NULL"),
    )
    op.create_table(
        "explanation",
        sa.Column("id", sa.Integer(), primary_key=True),
        part_of("rating", unique=True),
        sa.Column("reasons", sa.JSON(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("words", sa.Integer(), nullable=False),
    )
    op.create_table(
        "snapshot",
        sa.Column("id", sa.Integer(), primary_key=True),
        part_of("study"),
        sa.Column("event_number", sa.Integer(), nullable=False),
        sa.Column("event_hash", sa.String(), nullable=False),
        sa.Column("scope", sa.JSON(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("made_at", Utc(), nullable=False),
        sa.Column("made_by", sa.String(), nullable=False),
        sa.Column("file", sa.LargeBinary(), nullable=False),
        sa.UniqueConstraint("study_id", "sha256"),
    )
    op.create_table(
        "entry_attempt",
        sa.Column("id", sa.Integer(), primary_key=True),
        part_of("membership"),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("started_at", Utc(), nullable=False),
        sa.Column("finished_at", Utc()),
        sa.Column("asked", sa.Integer(), nullable=False),
        sa.Column("right", sa.Integer(), nullable=False),
        sa.Column("passed", sa.Boolean()),
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
    op.create_table(
        "planned_item",
        sa.Column("id", sa.Integer(), primary_key=True),
        part_of("study"),
        part_of("person"),
        part_of("item"),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.UniqueConstraint("study_id", "person_id", "item_id"),
    )
    # in SQL: the column is then the last one, as in the files of that release
    op.execute("ALTER TABLE assignment ADD COLUMN workbook_id INTEGER REFERENCES workbook (id)")
